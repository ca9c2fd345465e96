"""Decode and encode messages between brokers, controllers, ZooKeeper and clients.

To read this package, begin with `definitions`, which reads the definitions of Kafka's messages from a release's jars.
`fields` decodes and encodes values, `requests` reads requests, responses and records of the metadata log, `batches`
reads and writes batches of records, and `zookeeper` reads ZooKeeper's frames. `leader_and_isr`, `topics` and `shutdown`
read bodies whose form depends on the message or its version.
"""
