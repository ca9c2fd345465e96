"""The model of Kafka: the immutable state of a partition, and the actions of each protocol version.

Read in this order: `quorum`, `log` and `leadership` are shared by all families of specs. `atomic` is the smaller
family, `kafka` the detailed one. `rows` and `history` describe states and traces for views; `mistakes` declares wrong
rules. `disk` reads the data directories of brokers.
"""
