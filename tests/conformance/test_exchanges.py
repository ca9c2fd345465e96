"""Recordings are read as a stream: the same observations, in an order of their own, in memory that does not grow."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest

from leadline.brokers.conformance.events import Events, release_of
from leadline.brokers.conformance.exchanges import fetches
from leadline.brokers.conformance.frames import frames_around
from leadline.brokers.conformance.not_followed import NotFollowed
from leadline.brokers.conformance.partition import PartitionRecording
from leadline.brokers.conformance.reading import read_partition
from leadline.brokers.recording import read_recording
from leadline.checker.conformance import Answer
from leadline.model.kafka.releases import Column, column_of
from tests.conformance.checking import check
from tests.conformance.long import long_recording


def column(name: str) -> Column:
    found = column_of(name)
    assert found is not None
    return found


def read(path: Path) -> PartitionRecording:
    return read_partition(read_recording(path), "t", 0)


def written(path: Path, rounds: int, *, records: int = 0, sessions: bool = False) -> PartitionRecording:
    long_recording(path, rounds, records=records, batch=10, sessions=sessions)
    return read(path)


@pytest.mark.parametrize("sessions", [False, True])
def test_recordings_of_another_recorder_conform(tmp_path: Path, sessions: bool) -> None:
    recording = written(tmp_path / "long.jsonl", 30, records=20, sessions=sessions)
    checked = check(recording, column("kafka/3.9"))
    assert checked.conformance.answer is Answer.CONFORMS
    assert checked.observations == checked.conformance.observations == 145


def test_what_a_session_leaves_out_is_filled_in(tmp_path: Path) -> None:
    with_sessions = written(tmp_path / "with.jsonl", 5, sessions=True)
    without = written(tmp_path / "without.jsonl", 5)
    assert any(not each.frame.body["Topics"] for each in fetches(with_sessions))
    assert any(not each.answer.body["Responses"] for each in fetches(with_sessions) if each.answer)
    for one, other in zip(fetches(with_sessions), fetches(without), strict=True):
        assert one.part == other.part
        assert one.told is not None
        assert other.told is not None
        for field in ("ErrorCode", "HighWatermark", "Records"):
            assert one.told[field] == other.told[field]


def test_a_partition_that_leaves_a_session_is_not_fetched(tmp_path: Path) -> None:
    path = tmp_path / "forgotten.jsonl"
    long_recording(path, 3, sessions=True)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    asked = [each for each in lines if each.get("api") == "Fetch" and each["source"] == 1 and each["request"]]
    asked[-1]["body"] |= {"Topics": [], "ForgottenTopicsData": [{"Topic": "t", "Partitions": [0]}]}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert asked[-1]["number"] not in {each.frame.number for each in fetches(read(path), 1)}


def test_a_high_watermark_that_a_session_does_not_repeat_is_followed(tmp_path: Path) -> None:
    """What two answers of a session say is taken away: the leader would have had to tell of its new high watermark."""
    path = tmp_path / "silent.jsonl"
    long_recording(path, 6, sessions=True)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    told = [each for each in lines if each.get("api") == "Fetch" and each["target"] == 2 and not each["request"]]
    assert [bool(each["body"]["Responses"]) for each in told[-2:]] == [True, False]
    told[-2]["body"]["Responses"] = []
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert check(read(path), column("kafka/3.9")).conformance.answer is Answer.REJECTED


def test_frames_that_were_held_are_in_order_of_arrival(tmp_path: Path) -> None:
    """Lines are in the order in which frames passed: a request that was held is in a later line."""
    path = tmp_path / "held.jsonl"
    long_recording(path, 5)
    before = [each.frame.number for each in fetches(read(path))]
    first, *lines, last = path.read_text(encoding="utf-8").splitlines()
    frames = [json.loads(line) for line in lines]
    (held,) = [each for each in frames if each["number"] == before[2]]
    (answer,) = [each for each in frames if each["answers"] == before[2]]
    for number, frame in enumerate((held, answer)):
        frame |= {"time": 9.0 + number, "passed": 9.0 + number}
    frames.sort(key=lambda each: each["time"])
    path.write_text("\n".join([first, *map(json.dumps, frames), last, ""]), encoding="utf-8")
    recording = read(path)
    assert recording.delay > 8
    assert [each.frame.number for each in fetches(recording)] == before
    assert all(each.answer is not None for each in fetches(recording))
    begins = [each.earliest for each in Events(recording, release_of(recording, column("kafka/3.9"))).observations()]
    assert begins == sorted(begins)


def test_a_response_before_its_request_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "early.jsonl"
    long_recording(path, 2)
    first, *lines, last = path.read_text(encoding="utf-8").splitlines()
    lines[-1], lines[-2] = lines[-2], lines[-1]
    path.write_text("\n".join([first, *lines, last, ""]), encoding="utf-8")
    with pytest.raises(NotFollowed, match="is on an earlier line"):
        read(path)


def test_memory_does_not_grow_with_the_number_of_frames(tmp_path: Path) -> None:
    def peak(rounds: int) -> int:
        long_recording(tmp_path / "long.jsonl", rounds)
        tracemalloc.start()
        try:
            recording = read(tmp_path / "long.jsonl")
            count = sum(1 for _ in Events(recording, release_of(recording, column("kafka/3.9"))).observations())
            assert count > 4 * rounds
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(50)  # what is imported and cached
    small, large = peak(50), peak(500)
    assert large - small < 500 * 300  # the numbers of records


def test_frames_around_are_found_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "around.jsonl"
    long_recording(path, 5)
    recording = read_recording(path)
    numbers = [each.number for each in frames_around(recording, (20,), 0.0, 2, ())]
    assert numbers == [18, 19, 20, 21, 22]
    assert all(each.api != "Produce" for each in frames_around(recording, (21,), 0.0, 9, ("Produce",)))
    assert [each.number for each in frames_around(recording, (), 0.0105, 0, ())] == [10]


@pytest.mark.parametrize(("base", "answer"), [(0, Answer.CONFORMS), (-1, Answer.REJECTED), (1, Answer.REJECTED)])
def test_a_refused_record_with_an_offset_was_appended(base: int, answer: Answer, tmp_path: Path) -> None:
    """A record that waits for acknowledgements is refused when its leader is deposed, but it is in the log."""
    path = tmp_path / "refused.jsonl"
    long_recording(path, 3)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    told = next(each for each in lines if each.get("api") == "Produce" and not each["request"])
    told["body"]["Responses"][0]["PartitionResponses"][0] |= {"ErrorCode": 6, "BaseOffset": base}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert check(read(path), column("kafka/3.9")).conformance.answer is answer
