"""Images of the metadata log on real nodes: KAFKA-16583, and what snapshots lose. `make real` runs these tests."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from leadline.brokers.client import ELIGIBLE_REPLICAS, Client
from leadline.brokers.cluster import Cluster, nodes_of
from leadline.brokers.errors import BrokerError
from leadline.brokers.messages.jars import definitions_of
from leadline.brokers.ports import Ports
from leadline.brokers.releases import mixed_release
from leadline.model.kafka.rolls import NEW_RELEASE

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(sys.platform != "linux", reason="real brokers run on Linux only"),
]

SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "100"}


def cluster_of(name: str, folder: Path, settings: dict[str, str] | None = None) -> tuple[Cluster, Client]:
    release = mixed_release(name)
    ports = Ports.without_proxy(nodes_of(release, 2))
    cluster = Cluster(release, folder / name, brokers=2, ports=ports, settings=settings)
    return cluster, Client(definitions_of(release), ports.advertised)


def until(condition: Callable[[], bool]) -> None:
    for _ in range(100):
        if condition():
            return
        time.sleep(0.2)
    raise AssertionError("it has not come about within 20 seconds")


@pytest.mark.parametrize(("releases", "starts"), [("3.6.2..3.7.0", False), ("3.6.2..3.7.1", True)])
def test_a_broker_cannot_write_what_it_reads_of_a_reassignment_at_the_old_level(
    releases: str, starts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KAFKA-16583: all nodes run 3.6.2. A replica is added, and its broker restarts with the new release."""
    cluster, client = cluster_of(releases, tmp_path)
    with cluster:
        cluster.start()
        client.create_topic(0, "t", [[0]], {})
        client.reassign("controller", "t", [0, 1])
        until(lambda: len(isr_of(client)) == 2)
        cluster.stop(1)
        cluster.stages[1] = NEW_RELEASE
        if starts:
            cluster.start_broker(1)
        else:
            monkeypatch.setattr("leadline.brokers.cluster.START_SECONDS", 15.0)
            with pytest.raises(BrokerError):
                cluster.start_broker(1)
        log = cluster.log_file(1).read_text(encoding="utf-8")
        assert ("the directory assignment state of one or more replicas" in log) is not starts


def isr_of(client: Client) -> list[int]:
    view = client.partition(0, "t")
    return [] if view is None else list(view.isr)


@pytest.mark.parametrize(("lowered", "restarts", "leader"), [(True, True, None), (True, False, 1), (False, True, 1)])
def test_a_controller_that_starts_from_a_snapshot_has_no_elr_once_the_feature_is_lowered(
    lowered: bool, restarts: bool, leader: int | None, tmp_path: Path
) -> None:
    """Both members of the ISR have stopped cleanly, and are in the ELR. Then, the first one starts again."""
    cluster, client = cluster_of("4.1.1", tmp_path, SNAPSHOTS)
    with cluster:
        cluster.start()
        client.create_topic(0, "t", [[1, 0]], {"min.insync.replicas": "2"})
        cluster.stop(1)
        until(lambda: isr_of(client) == [0])
        cluster.stop(0)
        if lowered:
            client.set_feature("controller", ELIGIBLE_REPLICAS, 0)
        before = snapshots(cluster)
        for value in range(8):
            client.configure_topic("controller", "t", "retention.ms", str(10**9 + value))
            time.sleep(0.1)
        until(lambda: snapshots(cluster) > before)
        if restarts:
            cluster.stop("controller")
            cluster.start(["controller"])
        cluster.start_broker(1)
        until(lambda: client.partition(1, "t") is not None)
        time.sleep(1.0)
        found = client.partition(1, "t")
        assert found is not None
        assert found.leader == leader


def snapshots(cluster: Cluster) -> int:
    return len([*cluster.data_directory("controller").glob("__cluster_metadata-0/*.checkpoint")])
