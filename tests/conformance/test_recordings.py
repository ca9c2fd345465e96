"""Recordings of real brokers, trimmed, against the specs of their own release and of all others."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from leadline.brokers.conformance.check import check
from leadline.brokers.conformance.partition import NotFollowed, PartitionRecording, Seen, partitions_of, read_partition
from leadline.brokers.recording import read_recording
from leadline.checker.conformance import Answer
from leadline.model.kafka.releases import KRAFT, RELEASES, ZOOKEEPER, column_of

RECORDINGS = Path(__file__).parent / "recordings"

CONFORMS_TO = {
    "KIP-101-0.10.2.2": ["0.10.2"],
    "KIP-101-0.11.0.3": ["0.11", "2.0.0", "2.0.1", "2.1", "2.2", "2.4"],
    "KAFKA-13141-2.8.0": ["2.8"],
    "KAFKA-13141-2.8.2": ["2.8", "2.8.1", "3.0", "3.3-zk", "3.4.1-zk", "3.6-zk", "3.9-zk"],
    "KAFKA-14617-3.4.1": ["3.2-kraft", "3.3", "3.4.1"],
    "KAFKA-14617-3.5.0": ["3.5", "3.5.1"],
    "KAFKA-15495-4.0.2": ["3.6", "3.7", "3.8", "3.9", "4.0"],
}
"""The releases whose specs each recording conforms to. All others with the same kind of controller reject it."""

REJECTED_AT = {
    ("KIP-101-0.10.2.2", "kafka/0.11"): "broker 0 sends broker 2 a fetch request from offset 1",
    ("KIP-101-0.11.0.3", "kafka/0.10.2"): "broker 2 answers broker 0's question about epoch 0: it ends at 1",
    ("KAFKA-13141-2.8.0", "kafka/2.8.1"): "broker 1 proposes ISR 0 1",
    ("KAFKA-14617-3.4.1", "kafka/3.5"): "the controller answers broker 0's AlterPartition request: ISR 0 1",
    ("KAFKA-14617-3.5.0", "kafka/3.4.1"): "the controller answers broker 0's AlterPartition request: refused",
    ("KAFKA-15495-4.0.2", "kafka/4.1"): "the controller decides: no broker leads, ISR 0",
}
"""Where a recording of a bug is rejected by the releases that mended it, and one of these by a release with the bug."""


def read(name: str) -> PartitionRecording:
    return read_partition(read_recording(RECORDINGS / f"{name}.jsonl"), "t", 0)


def answer(recording: PartitionRecording, release: str) -> Answer:
    column = column_of(f"kafka/{release}")
    assert column is not None
    return check(recording, column).conformance.answer


@pytest.mark.parametrize("name", CONFORMS_TO)
def test_recordings_conform_to_the_releases_with_these_rules_only(name: str) -> None:
    recording = read(name)
    kind = KRAFT if recording.kraft else ZOOKEEPER
    results = {each.name: check(recording, each).conformance for each in RELEASES if each.controller == kind}
    found = [spec for spec, result in results.items() if result.answer is Answer.CONFORMS]
    assert found == [f"kafka/{release}" for release in CONFORMS_TO[name]]
    assert {result.answer for result in results.values()} <= {Answer.CONFORMS, Answer.REJECTED}
    for (recorded, spec), label in REJECTED_AT.items():
        rejection = results[spec].rejection if recorded == name else None
        if recorded == name:
            assert rejection is not None
            assert rejection.observation.label == label


def test_a_rejection_says_what_the_brokers_believe() -> None:
    column = column_of("kafka/2.8.1")
    assert column is not None
    rejection = check(read("KAFKA-13141-2.8.0"), column).conformance.rejection
    assert rejection is not None
    assert "broker 1 believes to lead in epoch 1 with ISR 1" in rejection.candidates[0].why
    assert "the logs diverge: epoch 0 ends at 0" in rejection.candidates[0].path[-1].label


# --- every number changed once ----------------------------------------------------------------------------------

FIELDS = {
    "Fetch": (
        "FetchOffset",
        "LastFetchedEpoch",
        "CurrentLeaderEpoch",
        "HighWatermark",
        "first",
        "leader_epoch",
        "EndOffset",
    ),
    "LeaderAndIsr": ("Leader", "LeaderEpoch"),
    "AlterPartition": ("LeaderEpoch", "LeaderId"),
    "Produce": ("BaseOffset",),
    "OffsetForLeaderEpoch": ("LeaderEpoch", "EndOffset"),
}


def changed(body: Any, names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Yield the body with one of the numbers under these names increased by one, for each, with the name."""
    if isinstance(body, dict):
        for name, value in body.items():
            if name in names and isinstance(value, int) and value >= 0:
                yield name, {**body, name: value + 1}
            for inner, other in changed(value, names):
                yield inner, {**body, name: other}
    elif isinstance(body, list):
        for place, value in enumerate(body):
            for inner, other in changed(value, names):
                yield inner, [*body[:place], other, *body[place + 1 :]]


def with_frame(recording: PartitionRecording, frame: Seen, body: Any) -> PartitionRecording:
    other = attrs.evolve(frame, body=body)
    frames = [other if each is frame else each for each in recording.frames]
    answers = {number: other if each is frame else each for number, each in recording.answer.items()}
    return PartitionRecording(
        recording.path,
        recording.topic,
        recording.partition,
        recording.about,
        frames,
        recording.events,
        recording.end,
        recording.assignment,
        recording.topic_ids,
        recording.configs,
        answer=answers,
    )


@pytest.mark.parametrize(
    ("name", "release", "unnoticed"),
    [
        # broker 1 has led in the epoch that it names, so that it may know it as an epoch without records (KAFKA-10706)
        ("KAFKA-13141-2.8.0", "2.8", {"Fetch.LastFetchedEpoch": 1}),
        ("KAFKA-14617-3.5.0", "3.5", {}),
    ],
)
def test_changed_numbers_are_noticed(name: str, release: str, unnoticed: dict[str, int]) -> None:
    recording = read(name)
    missed: Counter[str] = Counter()
    tried = 0
    for frame in recording.frames:
        relevant = (
            frame.source != "controller" and recording.part(frame.body) is not None
        ) or frame.api == "LeaderAndIsr"
        if not relevant or (frame.source == "client" and frame.api == "Fetch"):
            continue
        for field, body in changed(json.loads(json.dumps(frame.body)), FIELDS.get(frame.api, ())):
            tried += 1
            try:
                missed[f"{frame.api}.{field}"] += answer(with_frame(recording, frame, body), release) is Answer.CONFORMS
            except NotFollowed:
                continue
    assert tried > 30
    assert {field: number for field, number in missed.items() if number} == unnoticed


# --- what cannot be followed ------------------------------------------------------------------------------------


def test_partitions_are_found() -> None:
    for name in CONFORMS_TO:
        assert partitions_of(read_recording(RECORDINGS / f"{name}.jsonl")) == [("t", 0)]


def test_a_recording_without_the_topic_is_refused() -> None:
    recording = read_recording(RECORDINGS / "KAFKA-13141-2.8.0.jsonl")
    with pytest.raises(NotFollowed, match="does not include the creation of other-0"):
        read_partition(recording, "other", 0)
