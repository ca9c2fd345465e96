"""Recordings of the findings on real brokers, trimmed: they conform to the model of their release, and not to the model
with the cure. Some of their controls conform to both.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leadline.brokers.conformance.not_followed import NotFollowed
from leadline.brokers.conformance.partition import PartitionRecording
from leadline.brokers.conformance.reading import read_partition
from leadline.brokers.recording import read_recording
from leadline.checker.conformance import Answer, Conformance
from leadline.model.kafka.releases import column_of
from leadline.model.kafka.state import Partition
from tests.conformance.checking import check

RECORDINGS = Path(__file__).parent / "recordings" / "findings"

FINDINGS = {
    "forgotten-proposal": (0, "kafka/4.3", "same_record=skipped", "broker 0 acknowledges the records below offset 2"),
    "eligible-without-a-replica": (1, "kafka/4.3", "elr_members=replicas", "the controller decides: broker 0 leads"),
    "setting-applied-late": (0, "kafka/4.3", "min_isr_setting=at-once", "broker 0 acknowledges the records below"),
    "directory-removed": (0, "kafka/4.3", "directories=any-lost", "the controller decides: broker 0 leads in epoch 1"),
    "directory-assigned": (0, "kafka/4.1", "directory_elr=kept", "the controller decides: no broker leads, ISR []"),
    "replicas-of-the-first-partition": (1, "kafka/4.3", "elr_min_isr=own", "the controller decides: broker 1 leads"),
    "override": (
        0,
        "kafka/4.3",
        "override=replaced",
        "the controller decides: broker 0 leads in epoch 0, ISR [0, 1], rep",
    ),
}
"""The partition, the spec of the release, the cure, and where the spec with the cure rejects the recording."""


def read(path: Path, partition: int) -> PartitionRecording:
    return read_partition(read_recording(path), "t", partition)


def checked(recording: PartitionRecording, spec: str) -> Conformance[Partition]:
    column = column_of(spec)
    assert column is not None
    return check(recording, column).conformance


@pytest.mark.parametrize("name", FINDINGS)
def test_a_finding_conforms_to_its_release_and_not_to_the_cure(name: str) -> None:
    partition, release, cure, label = FINDINGS[name]
    recording = read(RECORDINGS / f"{name}.jsonl", partition)
    assert checked(recording, release).answer is Answer.CONFORMS
    cured = checked(recording, f"{release}+{cure}")
    assert cured.answer is Answer.REJECTED
    assert cured.rejection is not None
    assert cured.rejection.observation.label.startswith(label)


def without_elr(path: Path) -> None:
    """Remove the ELR from a recording, as a recorder that does not know this field leaves it out."""
    lines = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r'"EligibleLeaderReplicas": \[[0-9, ]*\]', '"EligibleLeaderReplicas": null', lines))


def test_a_control_shows_a_wrong_elr_only_in_the_records(tmp_path: Path) -> None:
    path = tmp_path / "control.jsonl"
    shutil.copy(RECORDINGS / "eligible-without-a-replica-control.jsonl", path)
    assert checked(read(path, 1), "kafka/4.3").answer is Answer.CONFORMS
    assert checked(read(path, 1), "kafka/4.3+elr_members=replicas").answer is Answer.REJECTED
    without_elr(path)
    assert checked(read(path, 1), "kafka/4.3").answer is Answer.CONFORMS
    assert checked(read(path, 1), "kafka/4.3+elr_members=replicas").answer is Answer.CONFORMS


def test_min_insync_replicas_can_be_increased_in_every_release_with_kraft(tmp_path: Path) -> None:
    """The specs of releases have no step for it before 4.1, because only leaders use it. Brokers do it anyway."""
    shutil.copy(RECORDINGS / "setting-applied-late.jsonl", tmp_path / "late.jsonl")
    without_elr(tmp_path / "late.jsonl")
    recording = read(tmp_path / "late.jsonl", 0)
    rejection = checked(recording, "kafka/3.9").rejection
    assert rejection is not None
    assert rejection.observation.label == "the controller decides: broker 1 leads in epoch 1, ISR [1]"  # from the ELR
    assert any("increases min.insync.replicas" in step.label for step in rejection.candidates[0].path)


def altered(name: str, path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    lines = [json.loads(line) for line in (RECORDINGS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    for line in lines:
        change(line)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def test_a_leader_forgets_a_proposal_only_once_it_has_the_record(tmp_path: Path) -> None:
    """The acknowledgement that needs the forgotten proposal reaches the proxy before the record is passed."""

    def later(line: dict[str, Any]) -> None:
        if line.get("number") == 530:
            assert line["passed"] == 22.02929
            line["passed"] = 22.15

    recording = read(altered("forgotten-proposal", tmp_path / "run.jsonl", later), 0)
    rejection = checked(recording, "kafka/4.3").rejection
    assert rejection is not None
    assert rejection.observation.label == "broker 0 acknowledges the records below offset 2 (acks=all)"


def test_a_heartbeat_shows_that_a_leader_has_applied_a_record(tmp_path: Path) -> None:
    """If the leader has applied the record before it gets the answer, it cannot forget a later proposal."""

    def sooner(line: dict[str, Any]) -> None:
        if line.get("number") == 530:
            line["passed"] = line["arrived"]
        if line.get("number") == 554:
            assert (line["source"], line["body"]["CurrentMetadataOffset"]) == (0, 25)
            line["arrived"] = line["passed"] = 21.46

    recording = read(altered("forgotten-proposal", tmp_path / "run.jsonl", sooner), 0)
    assert (21.46, 25) in recording.applied[0]
    assert checked(recording, "kafka/4.3").answer is Answer.REJECTED


def test_a_reassignment_that_brokers_do_not_make_is_rejected(tmp_path: Path) -> None:
    """The second reassignment of the recording names a broker that is not added."""

    def not_added(line: dict[str, Any]) -> None:
        text = json.dumps(line)
        line.update(json.loads(text.replace('"AddingReplicas": [1]', '"AddingReplicas": [0]')))

    recording = read(altered("eligible-without-a-replica", tmp_path / "run.jsonl", not_added), 1)
    rejection = checked(recording, "kafka/4.3").rejection
    assert rejection is not None
    assert rejection.observation.label.endswith("replicas +0 1")
    assert "replicas 0 +1 (action reassign)" in rejection.candidates[0].why


@pytest.mark.parametrize("lines_before", [6, 20])
def test_a_process_that_is_asked_to_end_goes_on_until_its_last_frame(lines_before: int, tmp_path: Path) -> None:
    """A recorder may write `terminated` when it sends the signal, which is before the process ends."""
    lines = (RECORDINGS / "directory-removed.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if '"event": "terminated"' in line)
    ended, sooner = json.loads(lines.pop(place)), place - lines_before
    lines.insert(sooner, json.dumps({**ended, "time": json.loads(lines[sooner])["time"]}) + "\n")
    path = tmp_path / "run.jsonl"
    path.write_text("".join(lines), encoding="utf-8")
    assert checked(read(path, 0), "kafka/4.3").answer is Answer.CONFORMS


def test_a_setting_that_changes_otherwise_is_refused(tmp_path: Path) -> None:
    def from_three(line: dict[str, Any]) -> None:
        if line.get("api") == "CreateTopics":
            (topic,) = line["body"]["Topics"]
            for config in topic["Configs"]:
                config["Value"] = config["Value"].replace("1", "3")

    recording = read(altered("setting-applied-late", tmp_path / "run.jsonl", from_three), 0)
    with pytest.raises(
        NotFollowed, match=r"min\.insync\.replicas of t changes during the recording \(3, 2\): only one"
    ):
        checked(recording, "kafka/4.3")
