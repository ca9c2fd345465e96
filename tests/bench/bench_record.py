"""What recording costs: ``python -m tests.bench.bench_record``.

It starts real brokers, with and without `leadline record` in front of them. ``make figures`` puts the table into
`reports/pages/figures.md`.
"""

from __future__ import annotations

import argparse
import secrets
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from leadline.brokers.client import Client
from leadline.brokers.cluster import Cluster, nodes_of
from leadline.brokers.messages.batches import write_batch
from leadline.brokers.messages.definitions import Definitions
from leadline.brokers.messages.jars import definitions_of
from leadline.brokers.messages.requests import RequestHeader, write_request
from leadline.brokers.pending import Refused, Unanswered
from leadline.brokers.ports import Node, Ports, free_ports
from leadline.brokers.releases import BrokerRelease, broker_release
from tests.bench.machine import print_section

BROKERS = 3
REQUESTS = 500
BATCHES, RECORDS, IN_FLIGHT = 1_000, 100, 8
VALUE = b"x" * 100
SETTINGS = {"replica.fetch.max.bytes": str(2**20), "max.incremental.fetch.session.cache.slots": "1000"}

TEXT = f"""\
`python -m tests.bench.bench_record`. Three brokers of Kafka 3.9.1 with a KRaft controller, and one producer, all on
this machine, without a proxy and with `leadline record` in front of all processes. Latency: {REQUESTS} requests of one
record each with acks=all, one after the other. Throughput: {BATCHES:,} batches of {RECORDS} records of {len(VALUE)}
bytes with acks=all, {IN_FLIGHT} in flight; each record passes three times, and is decoded and hashed each time. Memory
is that of `leadline record` at the end.
"""


class _Producer:
    """Produces over one connection, and reads as little of the answers as possible."""

    def __init__(self, definitions: Definitions, port: int, version: int) -> None:
        self._definitions, self._version = definitions, version
        self._connection = socket.create_connection(("127.0.0.1", port), 60)
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def request(self, values: list[bytes]) -> bytes:
        header = RequestHeader(self._definitions.keys["Produce"], self._version, 1, "bench")
        part = {"Index": 0, "Records": write_batch(values, int(time.time() * 1000), magic=2)}
        body = {
            "Acks": -1,
            "TimeoutMs": 30_000,
            "TransactionalId": None,
            "TopicData": [{"Name": "t", "PartitionData": [part]}],
        }
        return write_request(self._definitions, header, body)

    def send(self, frame: bytes) -> None:
        self._connection.sendall(frame)

    def receive(self) -> None:
        (size,) = struct.unpack(">i", self._exactly(4))
        self._exactly(size)

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self._connection.recv(count - len(data))
            if not part:
                raise ConnectionError("the broker has closed the connection")
            data += part
        return data


def measured(definitions: Definitions, ports: dict[Node, int]) -> tuple[float, float, float]:
    """Return the median latency and its 99th percentile in milliseconds, and the records a second."""
    client = Client(definitions, ports)
    end = time.monotonic() + 120
    while time.monotonic() < end:
        with suppress(Refused, Unanswered):
            client.create_topic(0, "t", [[*range(BROKERS)]], {})
            break
        time.sleep(0.5)
    for _ in range(20):
        with suppress(Refused, Unanswered):
            client.produce(0, "t", b"first")
        time.sleep(0.2)
    producer = _Producer(definitions, ports[0], client.version(0, "Produce"))
    frame, taken = producer.request([VALUE]), []
    for _ in range(REQUESTS):
        began = time.perf_counter()
        producer.send(frame)
        producer.receive()
        taken.append((time.perf_counter() - began) * 1000)
    frame = producer.request([VALUE] * RECORDS)
    began = time.perf_counter()
    for number in range(BATCHES + IN_FLIGHT):
        if number < BATCHES:
            producer.send(frame)
        if number >= IN_FLIGHT:
            producer.receive()
    seconds = time.perf_counter() - began
    return statistics.median(taken), statistics.quantiles(taken, n=100)[98], BATCHES * RECORDS / seconds


@contextmanager
def recorded(release: BrokerRelease, real: dict[Node, int], folder: Path) -> Iterator[tuple[dict[Node, int], int]]:
    """Start `leadline record` in front of a cluster. Yield the ports of the proxies, and the process id."""
    first = 20_000 + secrets.randbelow(10_000)
    brokers = [option for b in range(BROKERS) for option in ("--broker", f"{b}=127.0.0.1:{real[b]}")]
    command = [str(Path(sys.executable).with_name("leadline")), "record", str(folder / "run.jsonl")]
    command += ["--release", release.name, "--controller", f"100=127.0.0.1:{real['controller']}", *brokers]
    process = subprocess.Popen([*command, "--first-port", str(first)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        while not process.stdout.readline().startswith("recording"):
            if process.poll() is not None:
                raise RuntimeError("leadline record has ended")
        yield {**{b: first + b for b in range(BROKERS)}, "controller": first + BROKERS}, process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def row(release: BrokerRelease, *, records: bool) -> str:
    """Measure a cluster, with or without a recorder, and return a row of the table."""
    definitions = definitions_of(release)
    with tempfile.TemporaryDirectory() as name:
        folder, nodes = Path(name), nodes_of(release, BROKERS)
        real = free_ports(nodes)
        if not records:
            with Cluster(release, folder, brokers=BROKERS, ports=Ports(real, real), settings=SETTINGS) as cluster:
                cluster.start()
                median, most, speed = measured(definitions, real)
            return f"| none | {median:.1f} | {most:.1f} | {speed:,.0f} | | |"
        with recorded(release, real, folder) as (advertised, pid):
            ports = Ports(real, advertised)
            with Cluster(release, folder / "c", brokers=BROKERS, ports=ports, settings=SETTINGS) as cluster:
                cluster.start()
                median, most, speed = measured(definitions, advertised)
                memory = psutil.Process(pid).memory_info().rss / 2**20
        size = (folder / "run.jsonl").stat().st_size / 2**20
        return f"| `leadline record` | {median:.1f} | {most:.1f} | {speed:,.0f} | {memory:,.0f} | {size:,.0f} |"


def main() -> int:
    """Print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--release", default="3.9.1")
    release = broker_release(parser.parse_args().release)
    print_section("Recording a cluster", TEXT)
    print("| proxy | latency, ms | 99th percentile, ms | records a second | memory, MiB | recording, MiB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for records in (False, True):
        print(row(release, records=records), flush=True)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
