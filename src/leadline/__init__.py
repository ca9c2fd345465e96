"""A property-based model checker for Kafka's partition replication.

`leadline.checker` has the vocabulary for specs and the engines, `leadline.model` Kafka's releases,
`leadline.invariants` the properties, and `leadline.reports` the reports and the command line. In the repository these
are folders at the top; the links beside this file make them one package.
"""
