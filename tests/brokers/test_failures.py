"""Why a process failed: the line of its log that says it."""

from __future__ import annotations

import pytest

from leadline.brokers.failures import reason

STARTING = "10:00:00.000 INFO starting (kafka.server.KafkaServer)\n"


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("", "it wrote nothing"),
        ("Unrecognized option: -XX:+Unknown\nError: Could not create it.\n", "Error: Could not create it."),
        (
            "Error: Could not load main class kafka.Kafka\nCaused by: java.lang.ClassNotFoundException: kafka.Kafka",
            "java.lang.ClassNotFoundException: kafka.Kafka",
        ),
        (
            'Exception in thread "main" java.lang.NoClassDefFoundError: a/B\n\tat kafka.Kafka.main(Kafka.scala)\n',
            "java.lang.NoClassDefFoundError: a/B",
        ),
        (f"{STARTING}10:00:00.100 ERROR Exiting. (kafka.Kafka$)\n", "Exiting."),
        (
            f"{STARTING}10:00:00.100 FATAL Fatal error (kafka.server.KafkaServer)\n"
            "java.lang.RuntimeException: id 0 is registered\n\tat kafka.A.b(A.scala:1)\n10:00:00.200 INFO end (a.B)\n",
            "Fatal error: java.lang.RuntimeException: id 0 is registered",
        ),
        (
            "10:00:00.100 ERROR not so bad (a.B)\njava.io.IOException: one\n"
            "10:00:00.200 ERROR Fatal error (a.B)\njava.lang.RuntimeException: two\n\tat a.B.c(B.java:1)\n"
            "Caused by: java.net.BindException: three\n\t... 7 more\n10:00:00.300 ERROR Exiting. (a.B)\n",
            "Fatal error: java.net.BindException: three",
        ),
        (
            "10:00:00.100 ERROR node exists (a.B)\n10:00:00.200 INFO stopping (a.B)\n"
            "10:00:00.300 WARN it was (a.B)\norg.a.KeeperException: x\n10:00:00.400 ERROR Exiting (a.B)\n",
            "node exists",
        ),
        (STARTING, STARTING.strip()),
    ],
)
def test_the_reason_is_found(log: str, said: str) -> None:
    assert reason(log) == said
