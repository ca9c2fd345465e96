"""Several partitions, records, batches and members of an ISR at once, and consumers' reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.written import Written
from tests.suite.command import Run, call

T0, T1 = ("t", 0), ("t", 1)
PARTITIONS = "t-0", "t-1"


def a_run() -> Written:
    """Two partitions: batches of several records, consumers, and both followers of t-0 leave its ISR at once."""
    run = Written()
    run.produce(T0, 2, 1)
    run.produce(T1, 1, 3)
    for leader in (0, 1, 0, 1):
        for follower in sorted({0, 1, 2} - {leader}):
            run.fetch(follower, leader)
    run.read(T0, 0)
    run.read(T1, 2)
    run.change_isr(T0, [0])
    run.produce(T0, 1, 2)
    run.produce(T1, 2)
    run.read(T0, 1)
    run.fetch(1, 0)
    run.fetch(2, 1)
    run.fetch(1, 0)
    run.change_isr(T0, [0, 1])
    run.fetch(1, 0)
    run.read(T0, 3, broker=1)
    return run


def conform(run: Written, folder: Path, *arguments: str) -> Run:
    run.save(folder / "run.jsonl")
    return call("conform", "run.jsonl", "--spec", "kafka/3.9", *arguments, folder=folder)


def frames(run: Written, api: str, source: object, target: object) -> list[dict[str, Any]]:
    return [line for line in run.lines if (line["api"], line["source"], line["target"]) == (api, source, target)]


def asked(frame: dict[str, Any]) -> Any:
    return frame["body"]["Topics"][0]["Partitions"][0]


def told(frame: dict[str, Any]) -> Any:
    return frame["body"]["Responses"][0]["Partitions"][0]


@pytest.mark.parametrize("partition", PARTITIONS)
def test_each_partition_conforms(partition: str, tmp_path: Path) -> None:
    run = conform(a_run(), tmp_path, "--partition", partition)
    assert (run.code, run.err) == (0, "")


def test_a_recording_of_several_partitions_asks_for_one(tmp_path: Path) -> None:
    run = conform(a_run(), tmp_path)
    assert (run.code, run.out) == (2, "")
    assert "has several partitions: pass --partition with one of t-0, t-1" in run.err


def both_leave_but_one_is_named(run: Written) -> None:
    asked(frames(run, "AlterPartition", 0, "controller")[0])["NewIsr"] = [0, 2]


def an_offset_inside_a_batch(run: Written) -> None:
    asked(frames(run, "Fetch", 2, 0)[1])["FetchOffset"] = 1


def the_last_record_of_a_batch_is_missing(run: Written) -> None:
    told(frames(run, "Fetch", 0, 1)[0])["Records"]["batches"][0]["records"].pop()


def a_batch_is_missing(run: Written) -> None:
    told(frames(run, "Fetch", 0, 1)[0])["Records"]["batches"].pop()


def a_consumer_reads_another_record(run: Written) -> None:
    told(frames(run, "Fetch", 0, "client")[0])["Records"]["batches"][0]["records"][1]["value"] = "other"


def a_consumer_is_told_more(run: Written) -> None:
    told(frames(run, "Fetch", 0, "client")[0])["HighWatermark"] = 4


def a_follower_tells_a_consumer_more(run: Written) -> None:
    told(frames(run, "Fetch", 1, "client")[-1])["HighWatermark"] = 5


ALTERED: dict[Callable[[Written], None], str] = {
    both_leave_but_one_is_named: "the controller accepts broker 0's AlterPartition request: ISR [0]",
    an_offset_inside_a_batch: "from offset 1",
    the_last_record_of_a_batch_is_missing: "broker 0 answers broker 1's fetch request from offset 0",
    a_batch_is_missing: "(m0@0 m1@0, high watermark 0), then fetches from offset 3",
    a_consumer_reads_another_record: "broker 0 sends a consumer m0@0 m6@0 m2@0 from offset 0",
    a_consumer_is_told_more: "broker 0 tells a consumer that its high watermark is 4",
    a_follower_tells_a_consumer_more: "broker 1 tells a consumer that its high watermark is 5",
}
"""Changes of t-0, and the observation that is not possible afterwards."""


@pytest.mark.parametrize("alter", ALTERED)
def test_a_change_is_noticed_in_its_partition_only(alter: Callable[[Written], None], tmp_path: Path) -> None:
    run = a_run()
    alter(run)
    found = conform(run, tmp_path, "--partition", "t-0")
    assert (found.code, found.err) == (1, "")
    assert ALTERED[alter] in found.out.split("why brokers")[0]
    assert conform(run, tmp_path, "--partition", "t-1").code == 0
