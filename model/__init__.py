"""A model of partition replication and of transactions in Kafka: immutable states, and the actions that change them.

A family is a group of specs that use the same class of states. There are two families about replication: `atomic`,
which is smaller, and `kafka`, which is more detailed. The family `txn` is about transactions.

Read the modules in this order. `quorum`, `log` and `leadership` are shared by the families about replication.
`atomic`, `kafka` and `txn` are the families. `rows` and `history` describe states and traces for diagrams and tables.
`rules` defines what a table of rules consists of, and `mistakes` deliberately wrong rules. `disk` reads the data
directories of brokers.
"""
