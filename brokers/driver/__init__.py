"""Replay a trace of the `kafka` family on real brokers.

Read in this order: `schedule` arranges the steps of a trace so that they can be made from outside, and `plan` says what
has to be done for each of them, both without brokers. `sight` is what can be seen of a state, in the model and on
brokers. `stage` sets brokers, proxies and a client up, and `observer` looks at them. `driver` makes the steps:
`frames` lets held frames through, `deeds` kills and starts processes, produces and elects, and `sessions` ends
sessions. `replay` is all of it, from the start of the brokers to what is left of the records.
"""
