"""Replaying a trace of the `kafka` family on real brokers.

Read in this order: `schedule` arranges the steps of a trace so that they can be made from outside, and `plan` says what
has to be done for each of them, both without brokers. `sight` is what can be seen of a state, in the model and on
brokers. `stage` sets brokers, proxies and a client up, `observer` looks at them, and `driver` makes the steps.
"""
