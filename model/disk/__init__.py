"""Read the data directories of brokers as states, so that properties of the model can be checked on disks.

Read in this order: `files` and `remote` are file systems; `wire`, `batches` and `text` are file formats. `directory`
finds the logs in a data directory, `log` is one log, `metadata` replays the KRaft metadata log. `partition` is a
partition on the disks of its brokers, and `cluster` is all partitions. `log_table` compares logs for views.
"""
