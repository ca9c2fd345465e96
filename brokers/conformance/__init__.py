"""Read recordings as observations of the model.

- `partition` selects the frames and events of one partition, and numbers its brokers, epochs and records as in the
  model.
- `events` turns frames and events into observations.
- `check` checks the observations against the specs of releases.
"""
