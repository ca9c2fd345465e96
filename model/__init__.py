"""A model of partition replication in Kafka: the immutable state of a partition, and the actions that change it.

Specs that use the same class of states are a family: `atomic` is the smaller family, and `kafka` the detailed one.

Read in this order: `quorum`, `log` and `leadership`, which all families share; `atomic` and `kafka`; `rows` and
`history`, which describe states and traces for diagrams and tables; `mistakes`, which defines deliberately wrong rules;
and `disk`, which reads the data directories of brokers.
"""
