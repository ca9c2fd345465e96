"""Convert the files of `kafka.request.logger` to a recording.

Reading order: `request`, `lines` and `text` read the requests; `records`, `states`, `lives` and `metadata_log` derive
what the files lack; `convert` writes the recording.
"""
