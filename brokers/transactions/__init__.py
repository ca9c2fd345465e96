"""Replay traces of transaction specs on a real broker.

One broker leads all partitions and is the transaction coordinator. The requests of producers pass through a proxy,
which holds each of them until the step of the model that handles it. A late request is a frame that is held until after
the producer has sent another request or given up. The coordinator executes its own steps immediately.

Read the modules in this order. `observed_state` defines the observable part of a state, in the model and on the broker.
`plan` lists what to do in each step; it needs no broker. `requests` encodes the requests of a producer, and `observer`
reads logs and asks the coordinator. `driver` starts the broker, and executes the steps.
"""
