"""The `atomic` family of specs, in which a broker reads another broker's log in one step, without a network.

Only `LeaderAndIsr` requests can be in flight. This abstraction is taken from the public TLA+ specification of Kafka
replication (hachikuji/kafka-specification). These specs have the same number of states, the same depth and the same
shortest counterexamples as the TLA+ specification.

Read the modules in this order. `replica` and `state` define the state. `protocols` defines the rules in which the specs
differ, and `actions` defines the actions. `mistakes` defines deliberately wrong rules. `drawing` describes states for
diagrams and tables.
"""
