"""A suite of checks that answer readers' questions about articles on Kafka. `leadline answers` runs the suite."""
