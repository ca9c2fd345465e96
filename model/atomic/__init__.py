"""Replication in which a broker reads another broker's log in one step: only `LeaderAndIsr` requests are in flight.

This is the abstraction of the public TLA+ specification of Kafka replication (hachikuji/kafka-specification). State
counts, depths and shortest counterexamples of these specs equal those of that specification.

Read in this order: `replica` and `state` define the state, `protocols` has the rules that differ, and `actions` the
actions. `mistakes` has wrong rules, and `drawing` describes states for views.
"""
