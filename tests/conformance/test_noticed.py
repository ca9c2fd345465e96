"""Recordings that are altered in ways that no number changed by one shows: in all copies, by a repeated frame, or by a
gap.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from leadline.brokers.conformance.reading import partitions_of
from leadline.brokers.recording import read_recording
from tests.conformance.test_recordings import RECORDINGS
from tests.conformance.written import Written
from tests.suite.command import call

Line = dict[str, Any]


def lines_of(name: str) -> list[Line]:
    return [json.loads(line) for line in (RECORDINGS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def is_noticed(lines: list[Line], name: str, folder: Path) -> bool:
    topic, partition = partitions_of(read_recording(RECORDINGS / f"{name}.jsonl"))[-1]
    lines[-1] = {**lines[-1], "lines": len(lines)}
    path = folder / "run.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return (
        call(
            "conform", str(path), "--spec", lines[0]["spec"], "--partition", f"{topic}-{partition}", folder=folder
        ).code
        != 0
    )


def records_of(lines: list[Line]) -> Iterator[tuple[int, Line]]:
    """Yield the offset and the body of each record of the metadata log about a partition."""
    for line in lines:
        for topic in (line.get("body") or {}).get("Responses") or () if line.get("source") == "controller" else ():
            for partition in topic["Partitions"]:
                for batch in (partition.get("Records") or {}).get("batches") or ():
                    for record in batch["records"] or ():
                        if record["value"]["record"] == "PartitionChangeRecord":
                            yield record["offset"], record["value"]["body"]


@pytest.mark.parametrize("field", ["EligibleLeaderReplicas", "LastKnownElr", "Isr"])
@pytest.mark.parametrize("name", ["KAFKA-15495-4.1.1", "findings/directory-assigned"])
def test_a_wrong_set_of_brokers_in_all_copies_of_a_record_is_noticed(name: str, field: str, tmp_path: Path) -> None:
    named = {offset for offset, body in records_of(lines_of(name)) if body.get(field)}
    assert named or field == "LastKnownElr"
    for wrong in sorted(named):
        lines = lines_of(name)
        for offset, body in records_of(lines):
            if offset == wrong:
                body[field] = [] if len(body[field]) > 1 else [1 - body[field][0]]
        assert is_noticed(lines, name, tmp_path), wrong


@pytest.mark.parametrize("name", ["KAFKA-13141-2.8.0", "KAFKA-14617-3.5.0", "KAFKA-15495-4.1.1"])
def test_every_repeated_frame_is_noticed(name: str, tmp_path: Path) -> None:
    whole = lines_of(name)
    places = [
        place
        for place, line in enumerate(whole)
        if line.get("event") == "frame"
        and line["body"] is not None
        and "zookeeper" not in (line["source"], line["target"])
    ]
    last = max(line["number"] for line in whole if line.get("event") == "frame")
    for place in random.Random(name).sample(places, 12):
        lines = lines_of(name)
        lines.insert(place + 1, {**lines[place], "number": last + 1})
        assert is_noticed(lines, name, tmp_path), lines[place]


def changed_partition(lines: list[Line], name: str, field: str, by: int) -> int:
    """Change a field of the partition in requests of a kind. Return how many there are."""
    found = 0
    for line in lines:
        if line.get("api") == "AlterPartition" and line["request"] is (name == "request"):
            for topic in line["body"].get("Topics") or ():
                for partition in topic["Partitions"]:
                    if not partition.get("ErrorCode"):
                        partition[field] += by
                        found += 1
    return found


@pytest.mark.parametrize("name", ["request", "response"])
@pytest.mark.parametrize("by", [-1, 1])
def test_a_wrong_partition_epoch_is_noticed(name: str, by: int, tmp_path: Path) -> None:
    lines = lines_of("KAFKA-14617-3.5.0")
    assert changed_partition(lines, name, "PartitionEpoch", by)
    assert is_noticed(lines, "KAFKA-14617-3.5.0", tmp_path)


def test_a_request_of_another_run_of_a_leader_is_noticed(tmp_path: Path) -> None:
    lines = lines_of("KAFKA-15495-4.0.2")
    asked = [line for line in lines if line.get("api") == "AlterPartition" and line["request"]]
    assert asked
    for line in asked:
        line["body"]["BrokerEpoch"] += 100
    assert is_noticed(lines, "KAFKA-15495-4.0.2", tmp_path)


def written() -> Written:
    run = Written()
    run.produce(("t", 0), 2)
    for _ in range(3):
        run.fetch(1, 0)
        run.fetch(2, 0)
    run.read(("t", 0), 0)
    return run


def first_batch(run: Written, source: object) -> Line:
    bodies = [line["body"] for line in run.lines if (line["source"], line["api"]) == (0, "Fetch")]
    wanted = [line["body"] for line in run.lines if line["target"] == source and line["body"] in bodies]
    parts = [each["Responses"][0]["Partitions"][0] for each in wanted]
    found: Line = next(each["Records"]["batches"][0] for each in parts if each["Records"])
    return found


def later(batch: Line) -> None:
    batch["records"][1]["offset"] += 1


def all_later(batch: Line) -> None:
    batch["first"] += 1
    batch["last"] += 1
    for record in batch["records"]:
        record["offset"] += 1


def without_epoch(batch: Line) -> None:
    batch |= {"magic": 2, "leader_epoch": -1}


@pytest.mark.parametrize("change", [later, all_later, without_epoch])
@pytest.mark.parametrize("reader", ["client", 1])
def test_a_gap_or_a_record_without_an_epoch_is_noticed(
    reader: object, change: Callable[[Line], None], tmp_path: Path
) -> None:
    run = written()
    path = run.save(tmp_path / "run.jsonl")
    assert call("conform", str(path), "--partition", "t-0", folder=tmp_path).code == 0
    change(first_batch(run, reader))
    path = run.save(tmp_path / "run.jsonl")
    assert call("conform", str(path), "--partition", "t-0", folder=tmp_path).code == 1
