"""Replay traces of group specs on a real broker, which is the group coordinator.

The driver plays the consumers: what they own, revoke and read is the model's, and what the coordinator answers is
compared with it. Therefore, only bugs of the coordinator can be shown. Heartbeats that change nothing are sent whenever
the broker is observed, so that sessions expire only where the model says so. A delayed commit is a frame that the proxy
holds, and a failover of the coordinator is a restart of the broker, which reads the group from `__consumer_offsets`.

Read the modules in this order. `observed_state` defines the observable part of a state, in the model and on the broker.
`plan` lists what to do in each step; it needs no broker. `requests` sends what both protocols share, `classic` and
`consumer` what consumers of either send. `driver` starts the broker, and executes the steps.
"""
