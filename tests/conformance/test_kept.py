"""What a run of `--chaos` on 0.10.2.2 showed: leaders and announcements in a second leader epoch, with ZooKeeper."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leadline.brokers.conformance.check import Checks
from leadline.brokers.conformance.reading import read_partition
from leadline.brokers.recording import read_recording
from leadline.checker.conformance import Answer
from leadline.model.kafka.conformance.following import followed_release
from leadline.model.kafka.conformance.observations import Observations
from leadline.model.kafka.conformance.observer import Window
from tests.conformance.test_recordings import column

CONTROLLER, ZOOKEEPER = 3, "zookeeper"


class Written:
    """Writes a recording. A frame passes when it arrives, a millisecond after the one before."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def frame(self, source: Any, target: Any, api: str, body: dict[str, Any], answers: int | None = None) -> int:
        number, at = len(self.lines) + 1, (len(self.lines) + 1) / 1000
        ends = {"source": source, "target": target, "request": answers is None, "answers": answers, "connection": 1}
        times = {"time": at, "arrived": at, "passed": at}
        self.lines.append({"event": "frame", "number": number, "api": api, "version": 0, "body": body} | ends | times)
        return number

    def exchange(self, source: Any, target: Any, api: str, body: dict[str, Any], answer: dict[str, Any]) -> None:
        self.frame(target, source, api, answer, self.frame(source, target, api, body))

    def epoch(self, epoch: int, isr: list[int], *told: int) -> None:
        """The controller begins a leader epoch of broker 0, and tells brokers of it."""
        data = json.dumps({"leader": 0, "leader_epoch": epoch, "isr": isr})
        path = "/brokers/topics/t/partitions/0/state"
        self.exchange(CONTROLLER, ZOOKEEPER, "setData" if epoch else "create", {"path": path, "data": data}, {})
        state = {"PartitionIndex": 0, "Leader": 0, "LeaderEpoch": epoch, "Isr": isr, "Replicas": [0, 1, 2]}
        body = {"TopicStates": [{"TopicName": "t", "PartitionStates": [state]}]}
        for broker in told:
            self.exchange(CONTROLLER, broker, "LeaderAndIsr", body, {"ErrorCode": 0})

    def fetch(self, offset: int, records: list[dict[str, Any]]) -> None:
        """Broker 1 fetches. Its leader's high watermark is 0."""
        batches = {"batches": [{"first": 0, "last": 0, "leader_epoch": None, "records": records}]} if records else None
        told = {"Partition": 0, "ErrorCode": 0, "HighWatermark": 0, "Records": batches}
        asked = {"Topics": [{"Topic": "t", "Partitions": [{"Partition": 0, "FetchOffset": offset}]}]}
        self.exchange(1, 0, "Fetch", asked, {"Responses": [{"Topic": "t", "Partitions": [told]}]})

    def save(self, path: Path) -> Path:
        first = {"format": "leadline recording", "version": 1, "release": "0.10.2.2"}
        last = {"event": "end", "time": 1.0, "lines": len(self.lines) + 2}
        path.write_text("".join(json.dumps(each) + "\n" for each in (first, *self.lines, last)), encoding="utf-8")
        return path


def test_a_leader_keeps_what_it_knows_of_its_followers(tmp_path: Path) -> None:
    """Broker 2 leaves the ISR. In the next epoch, the leader acknowledges a record that broker 1 is known to have had,
    although that is down, too.
    """
    written = Written()
    written.epoch(0, [0, 1, 2], 0, 1, 2)
    records = [{"offset": 0, "key": None, "value": "m0"}]
    batches = {"batches": [{"first": 0, "last": 0, "leader_epoch": None, "records": records}]}
    part = {"Partition": 0, "Records": batches}
    produce = written.frame("client", 0, "Produce", {"Acks": -1, "Topics": [{"Topic": "t", "Partitions": [part]}]})
    written.fetch(0, records)
    written.fetch(1, [])
    for broker in (1, 2):
        written.lines.append({"event": "killed", "node": broker, "time": (len(written.lines) + 1) / 1000})
    written.epoch(1, [0, 1], 0)
    told = {"Partition": 0, "ErrorCode": 0, "BaseOffset": 0}
    written.frame(0, "client", "Produce", {"Responses": [{"Topic": "t", "Partitions": [told]}]}, produce)
    read = read_partition(read_recording(written.save(tmp_path / "run.jsonl")), "t", 0)
    checks = Checks(read)
    kept = checks.check(column("0.10.2"))
    forgotten = checks.check(column("0.10.2").with_rules({"follower_leos": "forgotten"})).conformance
    assert (kept.conformance.answer, forgotten.answer) == (Answer.CONFORMS, Answer.REJECTED)
    assert forgotten.rejection is not None
    assert "broker 0 acknowledges the records below offset 1" in forgotten.rejection.observation.label


@pytest.mark.parametrize(("broker", "known", "learns"), [(1, True, True), (1, False, False), (0, True, False)])
def test_a_follower_may_be_told_an_earlier_isr(broker: int, known: bool, learns: bool) -> None:
    release = followed_release(column("0.10.2"), 2)
    state = release.beginning(0, frozenset({0, 1}))
    told = Observations(release).learned(Window(0, 1), broker, 0, 0, frozenset({0}), optional=False, isr_is_known=known)
    assert bool(list(told.apply(state))) is learns
