"""Recordings of real brokers, trimmed, against the specs of their own release and of all others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leadline.brokers.conformance.events import Events, release_of
from leadline.brokers.conformance.exchanges import fetches
from leadline.brokers.conformance.not_followed import NotFollowed
from leadline.brokers.conformance.partition import PartitionRecording
from leadline.brokers.conformance.reading import partitions_of, read_partition
from leadline.brokers.recording import read_recording
from leadline.checker.conformance import Answer
from leadline.model.kafka.releases import KRAFT, RELEASES, ZOOKEEPER, Column, column_of
from tests.conformance.checking import check

RECORDINGS = Path(__file__).parent / "recordings"

CONFORMS_TO = {
    "KIP-101-0.10.2.2": ["0.10.2"],
    "KIP-101-0.11.0.3": ["0.11", "2.0.0", "2.0.1", "2.1", "2.2", "2.4", "2.5", "2.6.1"],
    "KAFKA-13141-2.8.0": ["2.8"],
    "KAFKA-13141-2.8.2": ["2.8", "2.8.1", "3.0", "3.1", "3.3-zk", "3.4.1-zk", "3.6-zk", "3.9-zk"],
    "KAFKA-14617-3.4.1": ["3.2-kraft", "3.3", "3.4.1"],
    "KAFKA-14617-3.5.0": ["3.5", "3.5.1"],
    "KAFKA-15495-4.0.2": ["3.6", "3.7", "3.8", "3.9", "4.0"],
    "KAFKA-15495-3.9.1": ["3.6", "3.7", "3.8", "3.9", "4.0"],
    "KAFKA-15495-4.1.1": ["4.1", "4.3"],
    "walk-3.9.1": ["3.6", "3.7", "3.8", "3.9", "4.0", "4.1", "4.3"],
    "walk-4.1.1": ["3.6", "3.7", "3.8", "3.9", "4.0", "4.1", "4.3"],
}
"""The releases whose specs each recording conforms to. All others with the same kind of controller reject it."""

REJECTED_AT = {
    ("KIP-101-0.10.2.2", "kafka/0.11"): "broker 0 sends broker 2 a fetch request from offset 1",
    ("KIP-101-0.11.0.3", "kafka/0.10.2"): "broker 2 answers broker 0's question about epoch 0: it ends at 1",
    ("KAFKA-13141-2.8.0", "kafka/2.8.1"): "broker 1 proposes ISR [0, 1] to the controller",
    ("KAFKA-14617-3.4.1", "kafka/3.5"): "the controller accepts broker 0's AlterPartition request: ISR [0, 1]",
    ("KAFKA-14617-3.5.0", "kafka/3.4.1"): "the controller refuses broker 0's AlterPartition request",
    ("KAFKA-15495-4.0.2", "kafka/4.1"): "the controller decides: no broker leads, ISR [0]",
    ("KAFKA-15495-3.9.1", "kafka/4.1"): "the controller decides: no broker leads, ISR [0]",
    ("KAFKA-15495-4.1.1", "kafka/3.9"): "the controller accepts broker 0's AlterPartition request: ISR [0], eligible "
    "leader replicas (ELR) [1], but the answer never reaches broker 0",
    ("walk-3.9.1", "kafka/3.5.1"): "the controller accepts broker 1's AlterPartition request: ISR [1]",
}
"""Where a recording of a bug is rejected by the releases that fixed it, and one of these by a release with the bug."""


def read(name: str) -> PartitionRecording:
    return read_partition(read_recording(RECORDINGS / f"{name}.jsonl"), "t", 0)


def column(release: str) -> Column:
    found = column_of(f"kafka/{release}")
    assert found is not None
    return found


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


REJECTED_BY: dict[str, tuple[str, str | None]] = {
    "KIP-106-0.10.2.2": ("0.10.2", "0.11"),
    "KIP-106-0.11.0.3": ("0.11", "2.0.1"),
    "walk-0.10.2.2": ("0.10.2", "2.2"),
    "walk-0.10.2.2-1": ("0.10.2", "2.0.1"),
    "walk-0.11.0.3-1": ("0.11", "0.10.2"),
    "walk-0.11.0.3-4": ("0.11", "2.0.1"),
    "walk-2.8.0-1": ("2.8", "2.8.1"),
    "walk-2.8.0-2": ("2.8", None),
    "walk-2.8.0-3": ("2.8", "3.1"),
    "walk-2.8.0-4": ("2.8", "2.8.1"),
    "walk-3.4.1-1": ("3.4.1", "3.6"),
    "walk-3.4.1-2": ("3.4.1", "3.6"),
    "walk-3.9.1-1": ("3.9", "3.5"),
    "walk-3.9.1-2": ("3.9", "3.5"),
    "walk-4.1.1-1": ("4.1", "3.4.1"),
}
"""The release of each recording of a walk, or of a reproduction, and a release that rejects it, if there is one."""


def test_every_recording_of_a_walk_is_listed() -> None:
    assert sorted(REJECTED_BY) == sorted(path.stem for path in (RECORDINGS / "walks").glob("*.jsonl"))


@pytest.mark.parametrize("name", REJECTED_BY)
def test_walks_conform_to_their_release(name: str) -> None:
    """They showed what was read otherwise than brokers meant it: `model/recordings.md` lists it."""
    recording = read(f"walks/{name}")
    own, other = REJECTED_BY[name]
    assert check(recording, column(own), keeps_logs=False).conformance.answer is Answer.CONFORMS
    if other is not None:
        assert column(other).controller == (KRAFT if recording.kraft else ZOOKEEPER)
        assert check(recording, column(other), keeps_logs=False).conformance.answer is Answer.REJECTED


def test_a_rejection_says_what_the_brokers_believe() -> None:
    rejection = check(read("KAFKA-13141-2.8.0"), column("2.8.1")).conformance.rejection
    assert rejection is not None
    assert "broker 1 believes that it leads in epoch 1 with ISR [1]" in rejection.candidates[0].why
    assert "the logs diverge: on the leader, epoch 0 ends at offset 0" in rejection.candidates[0].path[-1].label


def test_a_broker_that_is_started_without_an_end_is_noticed(tmp_path: Path) -> None:
    """The second start of broker 0 is at its registration, although nothing says when the first run ended."""
    text = (RECORDINGS / "KIP-101-0.10.2.2.jsonl").read_text(encoding="utf-8")
    killed = '"event": "killed", "time": 17.049478, "node": 0'
    assert killed in text
    changed = tmp_path / "changed.jsonl"
    changed.write_text(text.replace(killed, killed.replace("killed", "other")), encoding="utf-8")
    rejection = check(read_partition(read_recording(changed), "t", 0), column("0.10.2")).conformance.rejection
    assert rejection is not None
    assert rejection.observation.earliest < 21.543829


def test_a_broker_may_fetch_before_it_is_registered() -> None:
    """Broker 2 starts again before its session has ended, fetches, and is refused until the session ends. What it
    is sent meanwhile must not change its log.
    """
    recording = read("walk-4.1.1")
    assert check(recording, column("4.1")).conformance.answer is Answer.CONFORMS
    early = [each for each in fetches(recording, 2) if 35 < each.frame.arrived < 53]
    assert early
    events = Events(recording, release_of(recording, column("4.1")))
    sent = [each for each in events.observations() if "broker 2 sends" in each.label]
    assert not [each for each in sent if 35 < each.latest < 53]


def test_an_answer_that_is_passed_to_a_killed_broker_is_lost(tmp_path: Path) -> None:
    """Broker 1 is killed, and starts again with a shorter log. Its next request does not show what it made of an answer
    that was passed to it in between.
    """
    lines = [json.loads(line) for line in (RECORDINGS / "KAFKA-14617-3.4.1.jsonl").read_text().splitlines()]
    killed = next(line["time"] for line in lines if line.get("event") == "killed")
    (lost,) = [line for line in lines if line.get("number") == 298]
    assert lost["passed"] is None
    lost["passed"] = killed + 0.001
    (tmp_path / "run.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    result = check(read_partition(read_recording(tmp_path / "run.jsonl"), "t", 0), column("3.4.1")).conformance
    assert result.answer is Answer.CONFORMS


# --- what cannot be followed ------------------------------------------------------------------------------------


def test_partitions_are_found() -> None:
    for name in CONFORMS_TO:
        assert partitions_of(read_recording(RECORDINGS / f"{name}.jsonl")) == [("t", 0)]


def test_a_recording_without_the_topic_is_refused() -> None:
    recording = read_recording(RECORDINGS / "KAFKA-13141-2.8.0.jsonl")
    with pytest.raises(NotFollowed, match="does not include the creation of other-0"):
        read_partition(recording, "other", 0)
