"""Real brokers of many releases: they start, lose power, start again, and catch up. `make real` runs these tests."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from leadline.brokers.artifacts import class_path
from leadline.brokers.client import Client
from leadline.brokers.cluster import Cluster, nodes_of
from leadline.brokers.errors import BrokerError
from leadline.brokers.messages.jars import definitions_of
from leadline.brokers.ports import Ports
from leadline.brokers.releases import BrokerRelease, broker_release
from leadline.model.disk.batches import read_headers
from leadline.model.disk.directory import read_log_directory
from leadline.model.disk.files import LocalFiles

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(sys.platform != "linux", reason="real brokers run on Linux only"),
]

RELEASES = (
    *("0.10.2.2", "0.11.0.3", "1.0.2", "1.1.1", "2.0.1", "2.3.1", "2.4.1", "2.8.0", "2.8.1"),
    *("3.2.3", "3.2.3-kraft", "3.4.1", "3.4.1-zk", "3.5.2", "3.6.2", "3.9.1", "3.9.1-zk", "4.0.0", "4.1.1", "4.4.0"),
)
TOPIC = "topic"


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> BrokerRelease:
    """A release whose jars are there, or can be downloaded."""
    found = broker_release(request.param)
    try:
        class_path(found)
        definitions_of(found)
    except BrokerError as error:
        if "cannot be reached" not in str(error):
            raise
        pytest.skip(str(error))
    return found


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until a condition is true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition was not true in time"
        time.sleep(0.1)


def log_end(cluster: Cluster, broker: int) -> int:
    """The log end offset on a broker's disk."""
    (segment,) = read_log_directory(LocalFiles(), str(cluster.data_directory(broker) / f"{TOPIC}-0")).segments
    with LocalFiles().opened(segment[1]) as source:
        batches = read_headers(source).batches
    return int(batches[-1]["last"]) + 1 if len(batches) else 0


def create_topic(client: Client) -> None:
    """Create a topic with its leader on broker 0 as soon as three brokers are known."""
    wait_for(lambda: len(client.metadata(0)["Brokers"]) == 3 and client.metadata(0)["ControllerId"] >= 0)
    client.create_topic(client.metadata(0)["ControllerId"], TOPIC, [[0, 1, 2]])

    def is_led() -> bool:
        seen = client.partition(0, TOPIC)
        return seen is not None and (seen.leader, seen.isr, seen.error) == (0, {0, 1, 2}, 0)

    wait_for(is_led)


def test_a_broker_that_lost_power_fetches_what_it_lost(release: BrokerRelease, tmp_path: Path) -> None:
    ports = Ports.without_proxy(nodes_of(release, 3))
    settings = {} if release.kraft else {"zookeeper.session.timeout.ms": "6000"}
    with Cluster(release, tmp_path, brokers=3, ports=ports, settings=settings) as cluster:
        cluster.start()
        client = Client(definitions_of(release), ports.real)
        create_topic(client)
        assert [client.produce(0, TOPIC, value) for value in (b"a", b"b")] == [0, 1]
        assert [log_end(cluster, broker) for broker in (0, 1, 2)] == [2, 2, 2]
        cluster.kill(1)
        with pytest.raises(BrokerError, match="no batch that begins at offset 3"):
            cluster.cut_log(1, TOPIC, 0, 3)
        cluster.cut_log(1, TOPIC, 0, 1)
        assert log_end(cluster, 1) == 1
        cluster.pause(2)
        if release.kraft:
            state = cluster.controller_state(TOPIC, 0)
            assert state is not None
            assert (state.leader, state.replicas) == (0, (0, 1, 2))
        else:
            wait_for(lambda: "xpiring session" in cluster.log_file("zookeeper").read_text())
        cluster.resume(2)
        cluster.start_broker(1)
        wait_for(lambda: log_end(cluster, 1) == 2)
        assert [each.value for each in client.read(0, TOPIC).records] == [b"a", b"b"]


@pytest.mark.parametrize("release", ["0.10.2.2", "2.8.1"], indirect=True)
def test_a_broker_whose_id_is_registered_does_not_start_and_says_so(release: BrokerRelease, tmp_path: Path) -> None:
    with Cluster(release, tmp_path, brokers=1, ports=Ports.without_proxy(nodes_of(release, 1))) as cluster:
        cluster.start()
        cluster.kill(0)
        with pytest.raises(BrokerError, match=r"broker 0 of .* ended before it was ready .*(registered|NodeExists)"):
            cluster.start_broker(0)
