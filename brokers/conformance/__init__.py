"""Convert recordings of real brokers to observations, and check them against the model.

- `frames` defines a frame, and `fields` checks the types of the fields that are read.
- `partition` numbers the brokers, epochs and records of a partition as in the model, and `reading` selects its frames
  and events.
- `exchanges` pairs fetch and produce requests with their responses.
- `zookeeper` and `kraft` find out what the `controller` decided and announced, `metadata` reads the metadata log, and
  `processes` finds out when brokers started and ended. `context` joins these.
- `decisions`, `announcements`, `metadata_applied`, `fetching`, `epochs`, `clients` and `process_events` convert frames
  and events to observations. `contradictions` finds what the states of the model do not show.
- `events` joins all observations, and `check` checks them against the specs of releases.
"""
