"""Every message of a release round trips, and all that real brokers say is decoded. `make real` runs these tests."""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from leadline.brokers import zookeeper
from leadline.brokers.artifacts import class_path
from leadline.brokers.client import Client
from leadline.brokers.cluster import Cluster, nodes_of
from leadline.brokers.errors import BrokerError
from leadline.brokers.frame import Rule
from leadline.brokers.messages.definitions import Definitions
from leadline.brokers.messages.fields import decode, encode
from leadline.brokers.messages.jars import definitions_of
from leadline.brokers.pending import Refused, Unanswered
from leadline.brokers.ports import Node, Ports, free_ports
from leadline.brokers.proxy import Proxy
from leadline.brokers.recording import RecordingWriter, read_recording
from leadline.brokers.releases import BrokerRelease, broker_release
from leadline.model.disk.wire import Wire
from tests.brokers.test_messages import check_with_kio, kio_classes, some_body

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(sys.platform != "linux", reason="real brokers run on Linux only"),
]

SECONDS = 60.0


def release_of(name: str) -> tuple[BrokerRelease, Definitions]:
    """A release, and its definitions. Without the jars and the registry, the test is skipped."""
    release = broker_release(name)
    try:
        class_path(release)
        return release, definitions_of(release)
    except BrokerError as error:
        if "cannot be reached" not in str(error):
            raise
        pytest.skip(str(error))


@pytest.mark.parametrize("name", ["3.0.0-kraft", "3.9.1", "4.1.1"])
def test_every_message_of_a_release_round_trips(name: str) -> None:
    (_, definitions), rng, count = release_of(name), random.Random(0), 0
    assert definitions.records
    for messages in (definitions.requests, definitions.responses, definitions.records):
        for message in messages.values():
            for version in range(message.versions.first, message.versions.last + 1):
                body = some_body(message.fields, version, rng)
                assert decode(message, version, Wire(encode(message, version, body))) == body, (message.name, version)
                count += 1
    assert count > 500


def test_kio_agrees_with_the_definitions_of_its_release() -> None:
    (_, definitions), rng = release_of("4.1.1"), random.Random(0)
    for entity in kio_classes():
        messages = definitions.requests if entity.__type__.name == "request" else definitions.responses
        check_with_kio(entity, messages[int(entity.__api_key__)], rng)


def until(what: str, condition: Callable[[], bool]) -> None:
    """Wait until a condition is true. Requests that are refused or not answered are asked again."""
    end, last = time.monotonic() + SECONDS, ""
    while time.monotonic() < end:
        try:
            if condition():
                return
        except (Refused, Unanswered) as error:
            last = str(error)
        time.sleep(0.1)
    raise TimeoutError(f"{what}: not in {SECONDS:g} seconds; {last}")


def proxied(proxy: Proxy, release: BrokerRelease, brokers: int) -> Ports:
    """Ports of a cluster in which everything goes through the proxy."""
    nodes = nodes_of(release, brokers)
    real = free_ports(nodes)
    advertised: dict[Node, int] = {n: proxy.listen(n, real[n]) for n in nodes if n != "zookeeper"}
    ids = [node for node in nodes if isinstance(node, int)]
    watched = {} if release.kraft else {each: proxy.listen("zookeeper", real["zookeeper"], client=each) for each in ids}
    return Ports(real, advertised, watched)


@pytest.mark.parametrize("name", ["0.10.2.2", "2.8.0", "3.9.1", "4.1.1"])
def test_all_that_brokers_say_is_decoded_and_attributed(name: str, tmp_path: Path) -> None:
    release, definitions = release_of(name)
    path = tmp_path / "run.jsonl"
    with RecordingWriter(path, release=name) as writer, Proxy(definitions, writer) as proxy:
        ports = proxied(proxy, release, 3)
        with Cluster(release, tmp_path / "cluster", brokers=3, ports=ports) as cluster:
            proxy.attribute(cluster.pids)
            cluster.start()
            use(cluster, proxy, Client(definitions, ports.advertised))
    frames = [event for event in read_recording(path).events() if event["event"] == "frame"]
    assert Counter(frame["undecoded"] for frame in frames) == {None: len(frames)}
    assert "unknown" not in {party for frame in frames for party in (frame["source"], frame["target"])}
    assert '"undecoded": "' not in path.read_text()  # no record either
    assert [event for event in read_recording(path).events() if event.get("plain")] == []
    fetches = {(frame["source"], frame["target"]) for frame in frames if frame["api"] == "Fetch" and frame["request"]}
    assert {(0, 1), (2, 1)} <= fetches
    assert len(frames) > 300


def use(cluster: Cluster, proxy: Proxy, client: Client) -> None:
    """Create a topic, write and read it, hold a follower, and kill the leader."""
    until("brokers are known", lambda: all(len(client.metadata(n)["Brokers"]) == 3 for n in range(3)))
    until("a controller is known", lambda: client.metadata(0)["ControllerId"] >= 0)
    client.create_topic(client.metadata(0)["ControllerId"], "t", [[1, 2, 0]])
    until("the topic is led", lambda: (p := client.partition(1, "t")) is not None and p.leader == 1 and not p.error)
    assert client.produce(1, "t", b"r0") == 0
    hold = proxy.hold(Rule(source=2, target=1, api="Fetch", request=True))
    hold.wait(timeout=SECONDS)
    held = client.send_produce(1, "t", b"r1")
    with pytest.raises(Unanswered, match="timed out"):
        held.result(1.0)
    hold.end()
    until("all is read", lambda: [r.value for r in client.read(1, "t").records] == [b"r0", b"r1"])
    assert client.list_offset(1, "t") == 2
    cluster.kill(1)
    proxy.cut(1)
    if not cluster.release.kraft:
        session = proxy.session(1)
        assert session is not None
        assert zookeeper.close_session(cluster.ports.real["zookeeper"], session)
        assert zookeeper.read(cluster.ports.real["zookeeper"], "/brokers/ids/1") is None
    until("2 is elected", lambda: (p := client.partition(0, "t")) is not None and p.leader == 2)
    until("it leads", lambda: client.produce(2, "t", b"r2") == 2)
    cluster.start_broker(1)
    until("1 is back", lambda: (p := client.partition(2, "t")) is not None and p.isr == {0, 1, 2})
