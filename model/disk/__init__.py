"""Functions that read the data directories of brokers as states, so that properties of the model can be checked on
disks.

Read the modules in this order. `files` and `remote` access file systems. `wire`, `batches` and `text` decode file
formats. `directory` finds the logs in a data directory. `log` represents one log. `metadata` replays the KRaft metadata
log. `partition` represents a partition on the disks of its brokers, and `cluster` represents all partitions of a
cluster. `log_table` builds tables that compare logs.
"""
