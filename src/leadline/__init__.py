"""A property-based model checker for Kafka's partition replication.

`leadline.checker` contains the engines and the vocabulary for writing specs. `leadline.model` contains Kafka's
releases, `leadline.invariants` contains the properties, and `leadline.reports` contains the reports and the command
line. In the repository, these are top-level folders; the links beside this file combine them into one package.
"""
