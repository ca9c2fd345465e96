"""Real consumers of a group: Kafka's console consumer in Java, and clients of the Python registry in their own
environment. `record` starts brokers behind a proxy, and lets consumers join, leave and be killed meanwhile.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from leadline.brokers.artifacts import cache_folder, class_path, single_jar
from leadline.brokers.behind_proxy import ObservedCluster
from leadline.brokers.java import java_for
from leadline.brokers.pending import Refused
from leadline.brokers.processes import OwnedProcess
from leadline.brokers.recording import RecordingWriter
from leadline.brokers.releases import BrokerRelease

GROUP, TOPIC, PARTITIONS = "g", "t", 3
SESSION_MS, HEARTBEAT_MS, COMMIT_MS = 3000, 700, 700
SETTINGS = {
    "group.min.session.timeout.ms": "1000",
    "group.initial.rebalance.delay.ms": "500",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
}
CONSUMER_SETTINGS = {
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": str(HEARTBEAT_MS),
}
CLASSIC = {
    "session.timeout.ms": str(SESSION_MS),
    "heartbeat.interval.ms": str(HEARTBEAT_MS),
}
COMMITS = {"auto.commit.interval.ms": str(COMMIT_MS), "auto.offset.reset": "earliest"}
COOPERATIVE = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
FIRST_IN_TOOLS = (3, 5)
"""The first release whose console consumer is in another artifact than the broker."""

_KAFKA_PYTHON = """
import json, sys, signal
from kafka import KafkaConsumer
config = json.loads(sys.argv[3])
names = {name.replace('.', '_'): int(value) if value.isdigit() else value for name, value in config.items()}
consumer = KafkaConsumer(sys.argv[2], bootstrap_servers=sys.argv[1], **names)
def stop(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGTERM, stop)
try:
    while True:
        consumer.poll(100)
except KeyboardInterrupt:
    consumer.close()
"""
_LIBRDKAFKA = """
import json, sys, signal
from confluent_kafka import Consumer
consumer = Consumer({'bootstrap.servers': sys.argv[1], **json.loads(sys.argv[3])})
consumer.subscribe([sys.argv[2]])
def stop(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGTERM, stop)
try:
    while True:
        consumer.poll(0.1)
except KeyboardInterrupt:
    consumer.close()
"""


ASSIGNORS = {
    "java": {"range": "org.apache.kafka.clients.consumer.RangeAssignor", "cooperative": COOPERATIVE},
    "confluent-kafka": {"range": "range", "cooperative": "cooperative-sticky"},
    "kafka-python": {},
}
"""The names of assignors, for each client. kafka-python has its own default."""


def command_of(release: BrokerRelease, client: str, how: str) -> Callable[[int, str], list[str]]:
    """Return what returns the command of a consumer, given the port of a broker and the consumer's name.

    Parameters:
        client: "java", or the name of a client in the Python registry.
        how: "range" or "cooperative" with the classic protocol, or "consumer".
    """
    config = {"group.id": GROUP, **COMMITS, **({"group.protocol": "consumer"} if how == "consumer" else CLASSIC)}
    if how in ASSIGNORS[client]:
        config["partition.assignment.strategy"] = ASSIGNORS[client][how]
    if client == "java":
        return lambda port, _: java_command(release, port, TOPIC, config)
    return lambda port, _: python_command(client, port, TOPIC, config)


def java_command(release: BrokerRelease, port: int, topic: str, config: Mapping[str, str]) -> list[str]:
    """Return the command of Kafka's console consumer."""
    jars = [*class_path(release)]
    name = "kafka.tools.ConsoleConsumer"
    if release.version >= FIRST_IN_TOOLS:
        jars.append(single_jar(f"org.apache.kafka:kafka-tools:{release.number}"))
        name = "org.apache.kafka.tools.consumer.ConsoleConsumer"
    options = ["-Xms32m", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", ":".join(map(str, jars))]
    command = [str(java_for(release).path), *options, name, "--bootstrap-server", f"127.0.0.1:{port}"]
    command += ["--topic", topic]
    for each, value in config.items():
        command += ["--consumer-property", f"{each}={value}"]
    return command


def python_command(client: str, port: int, topic: str, config: Mapping[str, str]) -> list[str]:
    """Return the command of a client of the Python registry, which is installed in an environment of its own."""
    script = {"kafka-python": _KAFKA_PYTHON, "confluent-kafka": _LIBRDKAFKA}[client]
    return [str(python_of(client)), "-c", script, f"127.0.0.1:{port}", topic, json.dumps(dict(config))]


def python_of(client: str) -> Path:
    """Return the interpreter of an environment with a client, which is made once and kept beside the brokers' jars.

    Raises:
        subprocess.CalledProcessError: if the client cannot be installed.
    """
    folder = cache_folder() / f"python-{sys.version_info[0]}.{sys.version_info[1]}-{client}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", client], check=True, capture_output=True)
        (folder / "complete").touch()
    return python


class Consumers:
    """The running consumers of a group, which end when this process does."""

    def __init__(self, command: Callable[[str], list[str]], folder: Path) -> None:
        self._command, self._folder = command, folder
        self._running: dict[str, OwnedProcess] = {}

    def start(self, name: str) -> None:
        self._running[name] = OwnedProcess(name, self._command(name), self._folder / f"{name}.log", self._folder)

    def kill(self, name: str) -> None:
        self._running.pop(name).kill()

    def leave(self, name: str) -> None:
        assert self._running.pop(name).stop(30)

    def end(self) -> None:
        for process in self._running.values():
            process.kill()


@contextmanager
def observed(release: BrokerRelease, folder: Path, path: Path, brokers: int = 1) -> Iterator[ObservedCluster]:
    """A cluster behind a recording proxy, with a topic."""
    settings = SETTINGS | (CONSUMER_SETTINGS if release.version >= (4, 0) else {})
    with (
        RecordingWriter(path, release=release.name) as recording,
        ObservedCluster(release, folder, brokers, settings, recording) as cluster,
    ):
        cluster.start_processes(range(brokers), [])
        cluster.client.create_topic(0, TOPIC, [[0]] * PARTITIONS)
        yield cluster


def record(release: BrokerRelease, client: str, how: str, folder: Path, path: Path, seconds: float = 2.0) -> None:
    """Record a group that two consumers join, then a third one; one is killed, one leaves, and one starts again.

    Parameters:
        client, how: see `command_of`.
        seconds: how long to wait between these.
    """
    command = command_of(release, client, how)
    with ExitStack() as stack:
        cluster = stack.enter_context(observed(release, folder, path))
        port = cluster.cluster.ports.advertised[0]
        consumers = Consumers(lambda name: command(port, name), folder)
        stack.callback(consumers.end)

        def wait(times: float = 1) -> None:
            end = time.monotonic() + times * seconds
            while time.monotonic() < end:
                with suppress(Refused):  # a broker that does not know yet that it leads
                    for partition in range(PARTITIONS):
                        cluster.client.produce(0, TOPIC, b"x", partition=partition)
                time.sleep(0.2)

        consumers.start("one")
        consumers.start("two")
        wait(2)
        consumers.start("three")
        wait(2)
        consumers.kill("two")
        wait(2)
        consumers.leave("one")
        wait()
        consumers.start("four")
        wait(2)
        consumers.leave("three")
        consumers.leave("four")
