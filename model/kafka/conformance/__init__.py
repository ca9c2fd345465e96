"""Checks whether the specs of releases allow the behaviour in recordings of real brokers.

- `following` prepares a spec: bounds are lifted, and it says which steps leave no trace.
- `observations` says what each kind of frame and event is in the model.
- `words` puts states in words, for reasons.

How recordings are read is in `leadline.brokers.conformance`.
"""
