"""Consumer groups on real brokers, with requests of a consumer that this file writes: known bugs, and commits."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from leadline.brokers.client import Client
from leadline.brokers.cluster import Cluster, nodes_of
from leadline.brokers.messages.jars import definitions_of
from leadline.brokers.pending import Pending, Unanswered
from leadline.brokers.ports import Ports
from leadline.brokers.releases import broker_release

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(sys.platform != "linux", reason="real brokers run on Linux only"),
]

GROUP, TOPIC = "g", "t"
VERSIONS = {
    "FindCoordinator": 0,
    "JoinGroup": 5,
    "SyncGroup": 3,
    "Heartbeat": 3,
    "OffsetCommit": 7,
    "DescribeGroups": 1,
}
ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS, MEMBER_ID_REQUIRED = 22, 25, 27, 79
NOT_READY = (14, 15, 16)
"""The coordinator is loading, not available, or another broker."""

TIMEOUT_SECONDS = 6
"""The session time-out, whose smallest value this is by default, and the rebalance time-out."""

SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
}


class Consumer:
    """A member of the group. Each request is sent when a test says so."""

    def __init__(self, client: Client, brokers: int = 1) -> None:
        self.client, self.broker, self.brokers = client, 0, brokers
        self.member_id, self.generation, self.leads = "", -1, False

    def ask(self, api: str, **body: Any) -> dict[str, Any]:
        """Send a request to the coordinator, and look for the coordinator until there is one."""
        end = time.monotonic() + 90
        while True:
            try:
                found = self.client.ask(self.broker, api, {"GroupId": GROUP, **body}, version=VERSIONS[api])
            except Unanswered:
                found = {"ErrorCode": NOT_READY[0]}
            codes = [
                found.get("ErrorCode", 0),
                *(each["Partitions"][0]["ErrorCode"] for each in found.get("Topics", ())),
            ]
            if not set(codes) & set(NOT_READY) or time.monotonic() > end:
                return found
            self.find()

    def find(self) -> None:
        time.sleep(0.2)
        for broker in range(self.brokers):
            try:
                found = self.client.ask(broker, "FindCoordinator", {"Key": GROUP}, version=0)
            except Unanswered:
                continue
            if found["ErrorCode"] == 0:
                self.broker = found["NodeId"]
                return

    def joining(self) -> dict[str, Any]:
        milliseconds = TIMEOUT_SECONDS * 1000
        return {
            "SessionTimeoutMs": milliseconds,
            "RebalanceTimeoutMs": milliseconds,
            "MemberId": self.member_id,
            "GroupInstanceId": None,
            "ProtocolType": "consumer",
            "Protocols": [{"Name": "range", "Metadata": b"\0\0\0\0\0\0\0\0\0\0"}],
        }

    def get_id(self) -> None:
        """Join without a member id, to be given one (KIP-394)."""
        found = self.ask("JoinGroup", **self.joining())
        assert found["ErrorCode"] == MEMBER_ID_REQUIRED
        self.member_id = found["MemberId"]

    def send_join(self) -> Pending[dict[str, Any]]:
        body = {"GroupId": GROUP, **self.joining()}
        return self.client.send(self.broker, "JoinGroup", body, dict, version=VERSIONS["JoinGroup"])

    def joined(self, pending: Pending[dict[str, Any]]) -> None:
        found = pending.result(TIMEOUT_SECONDS * 3)
        assert found["ErrorCode"] == 0
        self.generation, self.leads = found["GenerationId"], found["Leader"] == self.member_id

    @property
    def own(self) -> dict[str, Any]:
        return {"GenerationId": self.generation, "MemberId": self.member_id, "GroupInstanceId": None}

    def send_sync(self, *others: Consumer) -> Pending[dict[str, Any]]:
        """Send SyncGroup. A leader sends the assignment of all members, whose content brokers do not read."""
        plan = [{"MemberId": each.member_id, "Assignment": b"x"} for each in (self, *others)] if self.leads else []
        body = {"GroupId": GROUP, **self.own, "Assignments": plan}
        return self.client.send(self.broker, "SyncGroup", body, dict, version=VERSIONS["SyncGroup"])

    def heartbeat(self) -> int:
        return int(self.ask("Heartbeat", **self.own)["ErrorCode"])

    def commit(self, generation: int | None = None) -> int:
        own = {name: value for name, value in self.own.items() if name != "GenerationId"}
        own["GenerationIdOrMemberEpoch"] = self.generation if generation is None else generation
        partition = {"PartitionIndex": 0, "CommittedOffset": 1, "CommittedLeaderEpoch": -1, "CommittedMetadata": ""}
        found = self.ask("OffsetCommit", **own, Topics=[{"Name": TOPIC, "Partitions": [partition]}])
        return int(found["Topics"][0]["Partitions"][0]["ErrorCode"])

    def state(self) -> str:
        found = self.client.ask(self.broker, "DescribeGroups", {"Groups": [GROUP]}, version=VERSIONS["DescribeGroups"])
        return str(found["Groups"][0]["GroupState"])

    def codes(self, seconds: float, *others: Consumer) -> list[int]:
        """Send heartbeats for some time, others too, and return the different error codes of the responses."""
        found, end = list[int](), time.monotonic() + seconds
        while time.monotonic() < end and UNKNOWN_MEMBER_ID not in found:
            code = self.heartbeat()
            found += [] if found[-1:] == [code] else [code]
            for each in others:
                each.heartbeat()
            time.sleep(1)
        return found


@contextmanager
def group(release: str, folder: Path, brokers: int = 1) -> Iterator[tuple[Consumer, Consumer, Cluster]]:
    """Two consumers of a group in a new cluster, which have their member ids and have not joined."""
    of = broker_release(release)
    ports = Ports.without_proxy(nodes_of(of, brokers))
    settings = SETTINGS | {"offsets.topic.replication.factor": str(brokers)}
    with Cluster(of, folder, brokers=brokers, ports=ports, settings=settings) as cluster:
        cluster.start()
        client = Client(definitions_of(of), ports.advertised)
        one, other = Consumer(client, brokers), Consumer(client, brokers)
        one.find()
        one.get_id()
        one.joined(one.send_join())
        assert one.leads
        assert one.send_sync().result(30)["ErrorCode"] == 0
        other.broker = one.broker
        other.get_id()
        yield one, other, cluster


def rebalance(one: Consumer, other: Consumer) -> None:
    """Both consumers join the next generation."""
    waiting = other.send_join()
    while one.heartbeat() != REBALANCE_IN_PROGRESS:
        time.sleep(0.1)
    one.joined(one.send_join())
    other.joined(waiting)
    assert (one.leads, other.leads, one.generation, other.generation) == (True, False, 2, 2)


def test_a_commit_across_a_rebalance(tmp_path: Path) -> None:
    """Accepted in the join phase, refused in CompletingRebalance, and afterwards if its generation is over."""
    with group("2.8.1", tmp_path) as (one, other, _):
        one.client.create_topic(0, TOPIC, [[0]])
        assert one.commit() == 0
        waiting = other.send_join()
        while one.heartbeat() != REBALANCE_IN_PROGRESS:
            time.sleep(0.1)
        assert (one.state(), one.commit()) == ("PreparingRebalance", 0)
        one.joined(one.send_join())
        other.joined(waiting)
        assert (one.state(), one.commit(), one.commit(1)) == (
            "CompletingRebalance",
            REBALANCE_IN_PROGRESS,
            ILLEGAL_GENERATION,
        )
        following = other.send_sync()
        assert one.send_sync(other).result(30)["ErrorCode"] == following.result(30)["ErrorCode"] == 0
        assert (one.state(), one.commit(), one.commit(1)) == ("Stable", 0, ILLEGAL_GENERATION)


@pytest.mark.parametrize(("release", "is_stuck"), [("2.8.0", True), ("2.8.1", False)])
def test_a_leader_that_sends_heartbeats_and_no_assignment(release: str, is_stuck: bool, tmp_path: Path) -> None:
    """KAFKA-12890: the group stays in CompletingRebalance, or the leader is removed after the rebalance time-out, and
    the follower that waits is told to join again.
    """
    with group(release, tmp_path) as (one, other, _):
        rebalance(one, other)
        following = other.send_sync()
        assert one.codes(TIMEOUT_SECONDS * 4) == ([0] if is_stuck else [0, UNKNOWN_MEMBER_ID])
        if is_stuck:
            assert one.state() == "CompletingRebalance"
            with pytest.raises(Unanswered):
                following.result(1)
        else:
            assert following.result(1)["ErrorCode"] == REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(("release", "fails_over"), [("4.1.2", False), ("4.1.2", True), ("2.8.1", True)])
def test_a_failover_forgets_the_timer_for_sync_requests(release: str, fails_over: bool, tmp_path: Path) -> None:
    """The archive's "sync timer": without the failover, the consumer that sends no SyncGroup is removed."""
    with group(release, tmp_path, brokers=2) as (one, other, cluster):
        rebalance(one, other)
        assert one.send_sync(other).result(30)["ErrorCode"] == 0
        if fails_over:
            first = one.broker
            cluster.kill(first)
            while one.broker == first:
                one.find()
            other.broker = one.broker
        found = other.codes(TIMEOUT_SECONDS * 4, one)
        assert found == ([0] if fails_over else [0, UNKNOWN_MEMBER_ID])
        assert one.state() == ("Stable" if fails_over else "PreparingRebalance")
