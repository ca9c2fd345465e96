"""What is reported about Kafka only: known bugs, advice, audits, recordings and runs of real brokers."""

HUNTED = ("kafka/4.1", "kafka/4.3")
"""The specs of a hunt that names none."""
