"""What Kafka does: immutable partition state and the transitions of each protocol version."""
