"""Reading recordings as observations of the model.

- `partition` selects what a recording says of one partition, and numbers brokers, epochs and records as the model does.
- `events` turns frames and events into observations.
- `check` follows them through the specs of releases.
"""
