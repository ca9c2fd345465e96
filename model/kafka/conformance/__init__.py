"""Checks whether the specs of releases allow the behaviour that was recorded from real brokers.

- `following` prepares a spec: it removes the bounds, and finds the hidden steps, which leave no network frame in a
  recording.
- `observer` and `seen` define what all kinds of observations share.
- `fetches`, `epochs`, `decisions`, `isr`, `metadata_log`, `clients`, `failures` and `upgrades` convert each kind of
  frame and event to an observation of the model. `observations` joins them.
- `window` cuts the beginning of logs out of states, so that memory does not grow with a recording.
- `words` describes states in words, for explanations.

`leadline.brokers.conformance` reads the recordings.
"""
