"""Recordings that were altered: each gets one clear answer."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.test_recordings import RECORDINGS
from tests.suite.command import Run, call

LINES = (RECORDINGS / "KAFKA-13141-2.8.0.jsonl").read_text(encoding="utf-8").splitlines()
FETCH = next(n for n, line in enumerate(LINES) if '"api": "Fetch"' in line and '"CurrentLeaderEpoch": 0' in line)
KILLED = next(n for n, line in enumerate(LINES) if '"event": "killed"' in line)
PRODUCE, PRODUCED = [n for n, line in enumerate(LINES) if '"api": "Produce"' in line][:2]
UNUSED = 1_000_000
"""A correlation id that no request of these recordings has."""


def conform(lines: list[str], *arguments: str, folder: Path) -> Run:
    """Check the recording with the given lines."""
    (folder / "run.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return call("conform", "run.jsonl", *arguments, folder=folder)


def counted(lines: list[str]) -> list[str]:
    """Return the lines, with their number in the last one."""
    return [*lines[:-1], json.dumps({**json.loads(lines[-1]), "lines": len(lines)})]


def with_line(place: int, line: str) -> list[str]:
    return [*LINES[:place], line, *LINES[place + 1 :]]


def without(*places: int) -> list[str]:
    return [line for place, line in enumerate(LINES) if place not in places]


REFUSED = {
    "empty": ([], "it is empty"),
    "another file": (['{"a": 1}'], "its first line does not contain 'leadline recording'"),
    "another version": (with_line(0, LINES[0].replace('"version": 1', '"version": 2')), "has version 2; expected 1"),
    "no last line": (LINES[:-1], "its last line is missing"),
    "a line is missing": (without(FETCH), f"it has {len(LINES) - 1} lines, but its last line says {len(LINES)}"),
    "two last lines": ([*LINES, LINES[-1]], f"it has {len(LINES) + 1} lines, but its last line says {len(LINES)}"),
    "half a line": (with_line(7, LINES[7][:40]), ":8: this line is not in the format of a recording"),
    "a number that is not JSON": (
        with_line(FETCH, LINES[FETCH].replace('"FetchOffset": 0', '"FetchOffset": NaN')),
        f":{FETCH + 1}: this line is not in the format of a recording",
    ),
    "no event": (with_line(7, '{"time": 3}'), ":8: this line does not contain an event and its time in seconds"),
    "a time in words": (
        with_line(7, '{"event": "killed", "node": 0, "time": "now"}'),
        ":8: this line does not contain an event and its time in seconds",
    ),
    "a fetch offset that is null": (
        with_line(FETCH, LINES[FETCH].replace('"FetchOffset": 0', '"FetchOffset": null')),
        f"frame {json.loads(LINES[FETCH])['number']}: FetchOffset is null; expected a whole number",
    ),
    "a fetch offset in words": (
        with_line(FETCH, LINES[FETCH].replace('"FetchOffset": 0', '"FetchOffset": "0"')),
        'FetchOffset is "0"; expected a whole number',
    ),
    "a broker's id in words": (
        with_line(FETCH, LINES[FETCH].replace('"source": 1', '"source": "1"')),
        'source is "1"; expected the id of a broker, or one of controller, zookeeper, client, unknown',
    ),
    "an ISR that is a number": (
        [line.replace('"Isr": [0, 1]', '"Isr": 0') for line in LINES],
        "Isr is 0; expected a list of broker ids",
    ),
    "a frame without a version": (
        with_line(FETCH, LINES[FETCH].replace('"version"', '"other"')),
        f"frame {json.loads(LINES[FETCH])['number']}: version is missing",
    ),
    "a fetch without an offset": (
        with_line(FETCH, LINES[FETCH].replace('"FetchOffset"', '"Other"')),
        f"frame {json.loads(LINES[FETCH])['number']}: FetchOffset is missing; see brokers/recording.md",
    ),
    "acks that no client may ask for": (
        with_line(PRODUCE, re.sub('"Acks": -?1', '"Acks": 2', LINES[PRODUCE])),
        f"frame {json.loads(LINES[PRODUCE])['number']}: Acks is 2; expected -1, 0 or 1",
    ),
    "a broker that is killed twice": (
        counted([*LINES[: KILLED + 1], LINES[KILLED], *LINES[KILLED + 1 :]]),
        "but nothing says that it was started after it was killed at",
    ),
    "a frame twice": (counted([*LINES[:-1], LINES[PRODUCE], LINES[-1]]), "is on two lines"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_a_recording_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    lines, message = REFUSED[name]
    assert lines != LINES
    run = conform(lines, "--spec", "kafka/2.8", folder=tmp_path)
    assert (run.code, run.out, len(run.err.splitlines())) == (2, "", 1)
    assert message in run.err


def test_a_compressed_recording_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl.gz").write_bytes(gzip.compress("\n".join(LINES).encode()))
    run = call("conform", "run.jsonl.gz", "--spec", "kafka/2.8", folder=tmp_path)
    assert (run.code, run.out) == (2, "")
    assert (
        run.err == "leadline: run.jsonl.gz cannot be read: it is not UTF-8 text, for example because it is compressed\n"
    )


@pytest.mark.parametrize(
    ("lines", "observation"),
    [
        (without(PRODUCE, PRODUCED), "sends broker 1 a fetch request from offset 1, last fetched epoch 0"),
        ([line for line in LINES if '"event": "killed"' not in line], "broker 0 registers after a start"),
        (
            with_line(FETCH, LINES[FETCH].replace('"FetchOffset": 0', '"FetchOffset": 3')),
            "sends broker 0 a fetch request from offset 3",
        ),
    ],
)
def test_what_is_missing_or_changed_is_explained(lines: list[str], observation: str, tmp_path: Path) -> None:
    run = conform(counted(lines), "--spec", "kafka/2.8", folder=tmp_path)
    assert (run.code, run.err) == (1, "")
    assert observation in run.out.split("why brokers")[0]


def test_invalid_acks_that_a_broker_refused_are_left_out(tmp_path: Path) -> None:
    """Brokers answer INVALID_REQUIRED_ACKS, and append nothing (`ReplicaManager.appendRecords`)."""
    answered = next(n for n, line in enumerate(LINES) if '"api": "Produce"' in line and '"request": false' in line)
    answer = json.loads(LINES[answered])
    frame = next(each for each in map(json.loads, LINES) if each.get("number") == answer["answers"])
    number = max(json.loads(line).get("number", 0) for line in LINES)
    sent = {"correlation": UNUSED}
    asked = {**frame, **sent, "number": number + 1, "body": {**frame["body"], "Acks": 2}}
    told = json.loads(re.sub('"ErrorCode": 0', '"ErrorCode": 21', json.dumps(answer)))
    told |= {**sent, "number": number + 2, "answers": number + 1}
    lines = [*LINES[: answered + 1], json.dumps(asked), json.dumps(told), *LINES[answered + 1 :]]
    run = conform(counted(lines), "--spec", "kafka/2.8", folder=tmp_path)
    assert (run.code, run.err) == (0, "")
    assert (
        "left out of the comparison: produce requests that are refused with INVALID_REQUIRED_ACKS (1 time)" in run.out
    )


def test_a_recording_without_answers_is_undecided_soon(tmp_path: Path) -> None:
    """Without answers, nearly everything is possible. Other values of rules are not tried."""
    text = (RECORDINGS / "walks" / "walk-2.8.0-1.jsonl").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if '"request": false' not in line]
    run = conform(counted(lines), "--spec", "kafka/2.8", "--max-states", "2000", folder=tmp_path)
    assert (run.code, run.err) == (3, "")
    assert "more than 2,000 states are possible at one observation" in run.out
    assert "which rule would explain it" not in run.out


def test_unknown_events_and_requests_are_left_out(tmp_path: Path) -> None:
    lines = counted([*LINES[:7], '{"event": "eclipse", "time": 1.0}', *LINES[7:]])
    run = conform(lines, "--spec", "kafka/2.8", folder=tmp_path)
    assert (run.code, run.err) == (0, "")


def test_a_proposal_of_a_broker_that_does_not_lead_is_explained(tmp_path: Path) -> None:
    """Broker 0 proposes what broker 1 did, although it follows."""
    lines = [
        line.replace('"source": 1', '"source": 0') if '"api": "AlterPartition"' in line else line for line in LINES
    ]
    run = conform(lines, "--spec", "kafka/2.8", folder=tmp_path)
    assert (run.code, run.err) == (1, "")
    assert "broker 0 proposes ISR [0, 1] to the controller" in run.out
    assert "- broker 0 follows broker 1 in epoch 1" in run.out


CONTRADICTED = {
    "a proposal that never reached the controller": (
        ("walks/walk-2.8.0-2", "2.8", 580, '"NewIsr": [0, 2, 1]', '"NewIsr": [0, 2]'),
        "broker 0 proposes ISR [0, 2] to the controller",
        "believes that it leads in epoch 1",
    ),
    "an announcement that never reached its broker": (
        ("walks/walk-2.8.0-2", "2.8", 518, '"Isr": [0, 2]', '"Isr": [0, 1]'),
        "the controller tells broker 2 that broker 0 leads in epoch 1 with ISR [0, 1]",
        "in this epoch, the ISR in ZooKeeper is [0, 2] or [0, 1, 2] (frame 515 begins the epoch)",
    ),
    "the leader in an announcement that never reached its broker": (
        ("walks/walk-2.8.0-2", "2.8", 597, '"Leader": 2', '"Leader": 0'),
        "the controller tells broker 1 that broker 0 leads in epoch 2 with ISR [2]",
        "in this epoch, broker 2 leads, as frame 595 writes to ZooKeeper",
    ),
    "an announcement of an epoch that begins later": (
        ("walks/walk-2.8.0-2", "2.8", 558, '"LeaderEpoch": 1', '"LeaderEpoch": 2'),
        "the controller tells broker 1 that broker 0 leads in epoch 2 with ISR [0, 2]",
        "this epoch begins later, with the write to ZooKeeper in frame 595",
    ),
    "another broker's copy of the metadata log": (
        ("KAFKA-15495-4.1.1", "4.1", 539, '"Isr": [0], "EligibleLeaderReplicas": [1]', '"Isr": [0, 1]'),
        '"Isr": [0]',
        "another record at this offset in frame 539",
    ),
}


@pytest.mark.parametrize("name", CONTRADICTED)
def test_what_the_controller_tells_one_broker_only_is_checked(name: str, tmp_path: Path) -> None:
    (recording, release, number, before, after), observation, reason = CONTRADICTED[name]
    lines = (RECORDINGS / f"{recording}.jsonl").read_text(encoding="utf-8").splitlines()
    place = next(n for n, line in enumerate(lines) if json.loads(line).get("number") == number)
    assert before in lines[place]
    lines[place] = lines[place].replace(before, after)
    run = conform(lines, "--spec", f"kafka/{release}", folder=tmp_path)
    assert (run.code, run.err) == (1, "")
    assert observation in run.out.split("why brokers")[0]
    assert reason in run.out.split("the steps before")[0]


@pytest.mark.parametrize(
    ("recording", "before", "after", "message"),
    [
        ("KAFKA-13141-2.8.0", '"Replicas": [0, 1]', '"Replicas": [1, 0]', "reassignments are not supported"),
        ("KAFKA-15495-4.1.1", '"Replicas": [0, 1]', '"Replicas": [0, 0]', "has two replicas on one broker: [0, 0]"),
        ("KAFKA-13141-2.8.0", '\\"isr\\":[', '\\"other\\":[', "data is not the state of a partition"),
        (
            "KAFKA-13141-2.8.0",
            '"event": "killed", "time": 47.931687, "node"',
            '"event": "killed", "time": 47.931687, "x"',
            "node is missing",
        ),
    ],
)
def test_what_the_model_lacks_is_refused_in_one_line(
    recording: str, before: str, after: str, message: str, tmp_path: Path
) -> None:
    lines = (RECORDINGS / f"{recording}.jsonl").read_text(encoding="utf-8").splitlines()
    places = [n for n, line in enumerate(lines) if before in line]
    assert places
    lines[places[0]] = lines[places[0]].replace(before, after)
    run = conform(lines, folder=tmp_path)
    assert (run.code, run.out, len(run.err.splitlines())) == (2, "", 1)
    assert message in run.err


def test_a_request_without_an_epoch_is_never_fenced(tmp_path: Path) -> None:
    """Leaders compare epochs only if a request contains one (KIP-320, `Partition.checkCurrentLeaderEpoch`)."""
    lines = (RECORDINGS / "KIP-101-0.10.2.2.jsonl").read_text(encoding="utf-8").splitlines()
    place = next(n for n, line in enumerate(lines) if json.loads(line).get("number") == 732)
    answer = json.loads(lines[place])
    answer["body"]["Responses"][0]["Partitions"][0]["ErrorCode"] = 74
    lines[place] = json.dumps(answer)
    run = conform(lines, "--spec", "kafka/0.10.2", folder=tmp_path)
    assert (run.code, run.err) == (1, "")
    assert "the request has no epoch" in run.out


def test_an_isr_that_grows_without_a_request_is_rejected(tmp_path: Path) -> None:
    """Only a leader asks the controller to let a broker into the ISR, and all its requests pass the recorder."""
    lines = (RECORDINGS / "walk-3.9.1.jsonl").read_text(encoding="utf-8").splitlines()
    asked = next(
        each
        for each in map(json.loads, lines)
        if each.get("api") == "AlterPartition" and each["request"] and len(_new_isr(each)) == 2
    )
    number = asked["number"]
    kept = [line for line in lines if number not in (json.loads(line).get("number"), json.loads(line).get("answers"))]
    assert len(kept) == len(lines) - 2
    run = conform(counted(kept), "--spec", "kafka/3.9", folder=tmp_path)
    assert run.code == 1
    assert "the controller decides: broker 1 leads in epoch 1, ISR [0, 1]" in run.out
    assert "broker 1 asked for it, but it sent no AlterPartition request" in run.out


def _new_isr(line: dict[str, Any]) -> list[object]:
    (partition,) = [each for topic in line["body"]["Topics"] for each in topic["Partitions"]]
    return list(partition["NewIsrWithEpochs"])


@pytest.mark.parametrize(("error", "part", "code"), [(77, 0, 0), (0, 6, 1)])
def test_a_request_that_is_refused_as_a_whole_is_sent_again(error: int, part: int, code: int, tmp_path: Path) -> None:
    """A leader with an outdated broker epoch (STALE_BROKER_EPOCH) repeats its proposal until it has a new one. After an
    error about the partition, it does not propose the same again.
    """
    lines = [json.loads(line) for line in (RECORDINGS / "walk-3.9.1.jsonl").read_text(encoding="utf-8").splitlines()]
    place, asked = next(
        (place, each)
        for place, each in enumerate(lines)
        if each.get("api") == "AlterPartition" and each["request"] and len(_new_isr(each)) == 2
    )
    answer = next(each for each in lines if each.get("answers") == asked["number"])
    number, at = asked["number"] - 2, asked["arrived"]
    assert not {number, number + 1} & {each.get("number") for each in lines}
    topics = [] if error else [{**asked["body"]["Topics"][0], "Partitions": [{"PartitionIndex": 0, "ErrorCode": part}]}]
    refused = {**answer, "number": number + 1, "answers": number, "body": {"ErrorCode": error, "Topics": topics}}
    others = {"time": asked["time"], "arrived": at, "passed": at, "correlation": UNUSED}
    lines[place:place] = [{**asked, "number": number, **others}, {**refused, **others}]
    run = conform(counted([json.dumps(each) for each in lines]), "--spec", "kafka/3.9", folder=tmp_path)
    assert run.code == code, run.out
