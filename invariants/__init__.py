"""The properties of Kafka replication, grouped by topic, and the catalog of shipped specs.

Read in this order: `view` defines the parts of a state that a property can read, in the model and on disks. `logs`,
`watermarks`, `durability`, `promises`, `leadership`, `followers` and `candidates` define the properties. `witnesses`
defines situations that must be reachable, and `disk` defines properties of disks only. `known` lists the expected
violations, and `catalog` lists the specs. `audit` checks the disks of brokers.
"""
