"""Replay traces of Kafka specs on real brokers.

Read the modules in this order. `schedule` orders the steps of a trace so that real brokers can execute them, and `plan`
lists the operations for each step; neither needs brokers. `observed_state` defines the observable part of a state, in
the model and on brokers. `stage` starts brokers, proxies and a client, and `observer` observes them. `driver` executes
the steps: `frames` releases held frames, `operations` kills and starts processes, produces records and elects leaders,
and `sessions` ends sessions. `replay` performs the whole replay of a plan of any family, from starting the brokers to
copying the disks at the end.
"""
