"""Replay traces of the `control` family, in which controllers die, on real brokers with ZooKeeper.

`schedule` searches for a trace whose steps real controllers can execute, and `plan` lists the steps; neither needs
brokers. `observed_state` defines the observable part of a state. `stage` starts brokers behind a proxy, and holds
messages to and from controllers. `driver` executes the steps.
"""
