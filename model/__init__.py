"""A model of replication in Kafka and of what it rests on: immutable states, and the actions that change them.

A family is a group of specs that use the same class of states. There are two families about replication: `atomic`,
which is smaller, and `kafka`, which is more detailed. `txn` is about transactions, `group` about consumer groups,
`control` about controllers that die, `raft` about KRaft's quorum, and `image` about images of its metadata log.

Read the modules in this order. `quorum`, `log` and `leadership` are shared by the families about replication.
The folders with the families come next. `rows` and `history` describe states and traces for diagrams and tables.
`rules` defines what a table of rules consists of, and `mistakes` deliberately wrong rules. `disk` reads the data
directories of brokers.
"""
