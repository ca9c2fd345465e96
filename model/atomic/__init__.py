"""Replication where another broker's log is read in one step: no requests in flight but `LeaderAndIsr`.

The abstraction of the public TLA+ specification of Kafka replication (hachikuji/kafka-specification),
whose state counts, depths and shortest counterexamples these specs have to the state.
"""
