"""The audit: whether what must be true of Kafka is true of the disks of brokers.

A disk is a state that was reached. `model.disk` makes of it what properties look at, and the properties are those of
the specs, wherever these speak of logs, high watermarks, leader epochs and ISRs; `invariants.disk` adds what only disks
have. What a copy of disks cannot tell is left open, with the reason, and what Kafka does all the time is not called a
loss: compaction, retention, deletion, a topic that was made again.

Read in this order: `result` says what an audit finds; `partition` audits one partition; `explain` says what is known of
the cause; `remarks` says what is worth knowing and no fault; `cluster` audits all partitions, on several cores;
`moments` compares two moments of one cluster.
"""
