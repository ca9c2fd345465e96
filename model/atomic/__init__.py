"""The `atomic` family of specs, in which a broker reads another broker's log in one step, without a network between.

Only `LeaderAndIsr` requests can be in flight. This is the abstraction of the public TLA+ specification of Kafka
replication (hachikuji/kafka-specification). The number of states, the depth and the shortest counterexamples of these
specs equal those of that specification.

Read in this order: `replica` and `state` define the state; `protocols` defines the rules in which the specs differ, and
`actions` the actions; `mistakes` defines deliberately wrong rules; `drawing` describes states for diagrams and tables.
"""
