"""The audit, which checks the properties of Kafka replication on the disks of brokers.

The audit treats the data on brokers' disks like a state that a search has reached. `leadline.model.disk` reads it in
the form that properties expect. The audit uses those properties of specs that concern logs, high watermarks, leader
epochs and ISRs. `leadline.invariants.disk` adds properties that apply only to disks. If a copy of the disks is not
sufficient to decide a property, the audit reports the property as undecided, and gives the reason. Records that Kafka
removes in normal operation (by compaction or retention, or because their topic was deleted) are not reported as lost.

Read the modules in this order. `result` defines the result of an audit. `partition` audits one partition. `explain`
adds likely causes. `notes` adds useful information other than violations. `shapes` compares violations with traces of
specs. `cluster` audits all partitions, on several cores. `moments` compares two copies of a cluster. `spark` runs the
audit on Spark.
"""
