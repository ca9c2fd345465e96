"""What must be true of Kafka: properties, one file for each concern, and the catalog of shipped specs."""
