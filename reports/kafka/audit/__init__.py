"""The reports on an audit of brokers' disks, for people and for programs."""
