"""Kafka's own classes as the judge of the `quorum` family: KafkaRaftClients of a release in one Java process.

`Controllers.java` runs the nodes without threads, sockets or time; `process` starts it and sends it commands.
`operations` says which commands make a step of the model, and `observed_state` defines the observable part of a state.
`plan` and `driver` replay traces; `walks` lets the real nodes walk at random, and checks that the model allows what
they do.
"""
