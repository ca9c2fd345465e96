"""Properties of Kafka replication, one file for each concern, and the catalog of shipped specs.

Read in this order: `view` says what a property can ask of a state, in the model and on disks. `logs`, `watermarks`,
`durability`, `promises`, `leadership`, `followers` and `candidates` have the properties, `witnesses` what should be
reachable, and `disk` the properties of disks alone. `known` lists violations that are expected, `catalog` the specs.
`audit` checks the disks of brokers.
"""
