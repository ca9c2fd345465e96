"""Replay traces of controllers that die on real brokers with ZooKeeper.

`schedule` searches for a trace whose steps real controllers can execute, and `plan` lists the steps; neither needs
brokers. `sight` defines the observable part of a state, and `observer` observes it. `stage` starts brokers behind a
proxy and holds back what controllers hear, and `replay` executes the steps.
"""
