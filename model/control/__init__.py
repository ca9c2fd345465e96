"""The `control` family of specs, in which the controller is a process that can die or be replaced without noticing it.

Replication uses the functions and rules of the `kafka` family. Only the controller is modelled differently: brokers and
controllers have ZooKeeper sessions, and controllers read from ZooKeeper, write to it, and send requests to brokers.

Read the modules in this order. `bounds`, `protocols` and `state` define the state. `rules` is the table of the
controller's rules with their sources, and `releases` lists the rules of each release. `writes` defines what a
controller writes and sends, `controller` how it is elected and reacts, `delivery` how brokers handle its requests, and
`failures` what can fail. Finally, `actions` lists every action, and `drawing` describes states for diagrams and tables.
"""
