"""Convert recordings of real brokers to observations, and check them against the model.

- `fields` checks the types of the fields that are read.
- `partition` selects the frames and events of one partition, and numbers its brokers, epochs and records as in the
  model.
- `events` turns frames and events into observations.
- `check` checks the observations against the specs of releases.
"""
