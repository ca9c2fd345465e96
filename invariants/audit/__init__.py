"""The audit checks the properties of Kafka replication on the disks of brokers.

A disk is a state that was reached. `model.disk` reads it in the form that properties expect. The audit uses the
properties of the specs that concern logs, high watermarks, leader epochs and ISRs; `invariants.disk` adds those that
only disks have. If a copy of disks is not enough to decide a property, the audit reports it as undecided, with the
reason. Records that Kafka removes in normal operation (compaction, retention, deletion, a topic that was created again)
are not reported as lost.

Read in this order: `result` defines the result of an audit; `partition` audits one partition; `explain` adds likely
causes; `notes` adds information that is not a violation; `shapes` compares violations with traces of specs; `cluster`
audits all partitions, on several cores; `moments` compares two moments of one cluster; `spark` runs the audit on Spark.
"""
