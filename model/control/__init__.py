"""The `control` family of specs: the controller is a process that can die, and be replaced without knowing it.

Brokers replicate by the functions and rules of the `kafka` family. This family replaces its controller: brokers and
controllers have sessions with ZooKeeper, controllers read and write there, and send requests to brokers.

Read the modules in this order. `bounds`, `protocols` and `state` define the state. `rules` is the table of the
controller's rules with their sources, and `releases` lists the rules of each release. Then there is one module for each
concern: `writes` (what a controller writes and sends), `controller` (its election and its reactions), `delivery`
(how brokers handle its requests), and `failures`. Finally, `actions` lists every action, and `drawing` describes states
for diagrams and tables.
"""
