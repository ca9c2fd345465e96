"""Run real Kafka brokers (0.10.2 and later) on this machine, from their published jars.

Only the command line imports this package. The package requires Linux, the optional dependencies ``brokers``, and a
Java version that the Kafka release supports.

To read the code of the proxy in front of the brokers, begin with `frame`, which defines frames and the rules that
select them. `proxy` is the interface that other threads use. `connections` forwards bytes, `dialects` uses `messages`
to decode them into frames, and `traffic` holds back the frames that the rules select. `recording` writes the frames to
a file (see recording.md). `client` and `zookeeper` send requests from this process.
"""
