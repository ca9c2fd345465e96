"""Real brokers: releases of Kafka from 0.10.2 on, started on this machine from their published jars.

Only the command line imports this package. It needs Linux, the extra ``brokers``, and a Java that the release runs on.

The proxy in front of the brokers begins with `frame`: what passes, and rules that select some of it. `proxy` has the
calls for other threads. Behind it, `connections` passes on bytes, `dialects` makes frames of them with the help of
`messages`, and `traffic` holds what the rules select. `recording` writes what has passed (see recording.md). `client`
and `zookeeper` send requests of this process.
"""
