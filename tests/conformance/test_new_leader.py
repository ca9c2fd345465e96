"""A leader's request completes a reassignment, and makes another broker the leader: its answer is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance import written
from tests.conformance.written import CONTROLLER, Written
from tests.suite.command import call

NEW_LEADER_ELECTED, FENCED_LEADER_EPOCH = 108, 74
FROM, TO = [0, 1], [1, 2]


def moved(folder: Path, error: int, *, elects: bool = True) -> Path:
    """A partition that moves from brokers 0 and 1 to 1 and 2, while broker 0 leads."""
    recording = Written()
    part = {"PartitionId": 0, "TopicId": "T"}
    recording.produce(("t", 0), 1)
    change = {"Replicas": [1, 2, 0], "AddingReplicas": [2], "RemovingReplicas": [0]}
    recording._announce(("PartitionChangeRecord", {**part, **change}))
    for _ in range(3):
        recording.fetch(1, 0)
        recording.fetch(2, 0)
    asked = {"PartitionIndex": 0, "LeaderEpoch": 0, "NewIsr": [0, 1, 2]}
    topic = {"TopicId": "T", "Partitions": [asked]}
    number = recording._frame(0, CONTROLLER, "AlterPartition", {"Topics": [topic]})
    if elects:
        done = {"Replicas": TO, "AddingReplicas": [], "RemovingReplicas": [], "Isr": TO, "Leader": 1}
        recording._announce(("PartitionChangeRecord", {**part, **done}))
    told = {"PartitionIndex": 0, "ErrorCode": error}
    answer = {"Topics": [{"TopicId": "T", "Partitions": [told]}]}
    recording._frame(CONTROLLER, 0, "AlterPartition", answer, number)
    return recording.save(folder / "moved.jsonl")


@pytest.fixture(autouse=True)
def two_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(written, "REPLICAS", {("t", 0): tuple(FROM)})


def test_the_answer_says_that_the_request_was_accepted(tmp_path: Path) -> None:
    run = call("conform", str(moved(tmp_path, NEW_LEADER_ELECTED)), folder=tmp_path)
    assert run.code == 0, run.out + run.err


@pytest.mark.parametrize("error", [FENCED_LEADER_EPOCH, 42])
def test_with_another_error_nobody_has_asked_for_the_change(tmp_path: Path, error: int) -> None:
    run = call("conform", str(moved(tmp_path, error)), folder=tmp_path)
    assert run.code == 1, run.out + run.err


def test_without_a_new_leader_the_error_refuses_the_request(tmp_path: Path) -> None:
    run = call("conform", str(moved(tmp_path, NEW_LEADER_ELECTED, elects=False)), folder=tmp_path)
    assert run.code == 1, run.out + run.err
    assert "refuses broker 0's AlterPartition request" in run.out
