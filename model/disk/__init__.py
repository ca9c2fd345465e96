"""The data directories of brokers, read as states: what properties of the model can check on disks.

Read in this order: `files` and `remote` are file systems; `wire`, `batches` and `text` are file formats. `directory`
finds the logs in a data directory, `log` is one log, `metadata` replays the KRaft metadata log. `partition` is a
partition as the disks of its brokers have it, `cluster` is all of them. `log_table` compares logs for views.
"""
