"""What an audit of brokers' disks found, for people and for programs."""
