"""A suite of checks that answer readers' questions about articles on Kafka. `leadline check answers` runs the suite."""
