"""A model of partition replication in Kafka: the immutable state of a partition, and the actions that change it.

A family is a group of specs that use the same class of states. There are two families: `atomic`, which is smaller, and
`kafka`, which is more detailed.

Read the modules in this order. `quorum`, `log` and `leadership` are shared by all families. `atomic` and `kafka` are
the families. `rows` and `history` describe states and traces for diagrams and tables. `mistakes` defines deliberately
wrong rules. `disk` reads the data directories of brokers.
"""
