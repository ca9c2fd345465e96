"""Known bugs and saved traces on real brokers: which schedule is replayed on which release, and how it is shown."""
