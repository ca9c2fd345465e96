"""Reading recordings as observations of the model.

- `partition` selects the frames and events of one partition, and converts brokers, epochs and records to the model's.
- `events` turns frames and events into observations.
- `check` checks the observations against the specs of releases.
"""
