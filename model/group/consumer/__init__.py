"""The consumer protocol of KIP-848: ConsumerGroupHeartbeat, and assignments that the group coordinator computes."""
