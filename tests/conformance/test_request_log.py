"""`leadline record --request-log`: the files of a real cluster's request loggers, and what cannot be converted.

The files are from brokers 0 to 3 of Kafka 2.8.2. Broker 3 is the controller. The leader, broker 0, is killed after
three records, broker 1 is elected, and broker 0 starts again.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.suite.command import call

LOGS = Path(__file__).parent / "request_logs"
AT = "[2026-11-27 02:25:03,491]"
NOT_JSON = "the request is not in the JSON format that kafka.request.logger has used since Kafka 2.8"


def options(folder: Path = LOGS) -> list[str]:
    return [each for path in sorted(folder.glob("*.log")) for each in ("--request-log", f"{path.stem[-1]}={path}")]


def convert(target: Path, *more: str) -> Path:
    run = call("record", str(target), "--release", "2.8.2", *(more or options()), folder=target.parent)
    assert (run.code, run.err) == (0, "")
    return target


def test_the_files_of_a_cluster_conform_to_its_release(tmp_path: Path) -> None:
    path = convert(tmp_path / "run.jsonl")
    run = call("conform", str(path), "--json", "-", folder=tmp_path)
    told = json.loads(run.out)
    assert run.code == 0
    conforming = [each["spec"] for each in told["specs"] if each["answer"] == "conforms"]
    assert "kafka/2.8.1" in conforming
    assert {"kafka/0.10.2", "kafka/0.11", "kafka/2.4"}.isdisjoint(conforming)
    for word in ("become_leader", "crash", "restart", "handle_alter_partition", "produce"):
        assert word in run.out


def test_records_are_counted_by_offsets(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in convert(tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines()]
    frames = [each for each in lines if each.get("event") == "frame"]
    produced = [each for each in frames if each["api"] == "Produce" and each["request"]]
    assert len(produced) == 7
    values = [
        record["value"]
        for each in produced
        for record in each["body"]["TopicData"][0]["PartitionData"][0]["Records"]["batches"][0]["records"]
    ]
    assert len(set(values)) == len(values) == 7
    assert [(each["event"], each["node"]) for each in lines if "node" in each] == [("killed", 0), ("started", 0)]
    assert lines[0]["release"] == "2.8.2"
    assert lines[0]["begun"].startswith("2026-")


@pytest.mark.parametrize(
    ("changed", "by", "reason"),
    [
        ('"fetchOffset":2', '"fetchOffset":1', "fetches from offset 1"),
        ('"highWatermark":2', '"highWatermark":3', "high watermark 3"),
        ('"newIsr":[1,2,0]', '"newIsr":[1,0]', "proposes ISR 0 1"),
    ],
)
def test_a_changed_number_is_noticed(changed: str, by: str, reason: str, tmp_path: Path) -> None:
    count = 0
    for path in LOGS.glob("*.log"):
        text = path.read_text(encoding="utf-8")
        place = -1 if count else text.find(changed)
        count += place >= 0
        (tmp_path / path.name).write_text(text if place < 0 else text[:place] + text[place:].replace(changed, by, 1))
    assert count == 1
    run = call(
        "conform", str(convert(tmp_path / "run.jsonl", *options(tmp_path))), "--spec", "kafka/2.8.1", folder=tmp_path
    )
    assert run.code == 1
    assert reason in run.out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a file of kafka.request.logger: no line contains 'Completed request:'"),
        ("hello\n", "is not a file of kafka.request.logger: no line contains 'Completed request:'"),
        ("Completed request:{}\n", ":1: there is no time such as"),
        (
            f"{AT} TRACE Completed request:RequestHeader(apiKey=FETCH) -- {{a=1}},response:{{error_code=0}} from",
            ":1: the request is text, as Kafka 1.0 to 2.7 writes it, and only JSON is read. Up to 2.6, such files also",
        ),
        (
            f"{AT} TRACE Completed request:Name: FetchRequest; Version: 2; ReplicaId: 1 from connection 1",
            ":1: the request is text without its response, as Kafka up to 0.11 writes it, and not JSON",
        ),
        (
            f'{AT} DEBUG Completed request:{{"requestHeader":{{"requestApiKeyName":"METADATA"}}}}',
            "With KRaft, the controller's decisions are in the metadata log, of whose records request logs have only",
        ),
        (f"{AT} DEBUG Completed request:{{}}\n", f":1: {NOT_JSON}"),
        ((LOGS / "broker-0.log").read_text(encoding="utf-8").splitlines()[0], "has logged a LeaderAndIsr request"),
    ],
)
def test_other_files_are_refused_in_one_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "some.log"
    path.write_text(text, encoding="utf-8")
    run = call(
        "record", str(tmp_path / "run.jsonl"), "--release", "2.8.2", "--request-log", f"0={path}", folder=tmp_path
    )
    assert (run.code, run.out) == (2, "")
    assert message in run.err
    assert len(run.err.splitlines()) == 1
    assert not (tmp_path / "run.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "pass --broker for each broker, or --request-log"),
        (["--request-log", "0=a", "--broker", "0=h:1"], "--request-log cannot be combined with --broker"),
        (["--request-log", "a"], "must be ID=FILE"),
        (["--request-log", "0=missing.log"], "missing.log cannot be read: No such file"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    run = call("record", "run.jsonl", "--release", "2.8.2", *arguments, folder=tmp_path)
    assert (run.code, run.out) == (2, "")
    assert message in run.err
