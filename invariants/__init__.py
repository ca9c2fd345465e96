"""The properties of Kafka replication, grouped by subject, and the catalog of shipped specs.

Read the modules in this order. `view` defines the parts of a state that a property can read, in the model and on disks.
`logs`, `watermarks`, `durability`, `promises`, `leadership`, `followers` and `candidates` define the properties of
specs. `witnesses` defines situations that must be reachable. `disk` defines properties that apply only to disks.
`known` defines groups of specs that are expected to violate certain properties. `catalog` lists the specs. `audit`
checks the disks of brokers.
"""
