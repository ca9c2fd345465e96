"""Recordings of real consumers of a group, trimmed, against the specs of their own release and of all others."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from leadline.brokers.conformance.groups.check import check_group, columns_for
from leadline.brokers.conformance.groups.reading import CONSUMER, read_group
from leadline.brokers.recording import read_recording
from leadline.checker.conformance import Answer
from leadline.reports.kafka.conformance.objects import SCHEMA
from tests.conformance.test_group_numbers import NAMES, RECORDINGS
from tests.suite.command import call

REJECTED = {
    "3.9.1": ["0.10.1", "2.1", "2.1.1"],
    "2.8.1": ["0.10.1", "2.1", "2.1.1"],
    "4.1.1": [],
    "4.3.0": ["3.7-consumer", "3.8-consumer", "3.9-consumer", "4.0-consumer", "4.2-consumer", "4.2.2-consumer"],
}
"""The releases that reject the recordings of a release: before KIP-394, and before target assignments were delayed."""


@pytest.mark.parametrize("name", NAMES)
def test_real_consumers_conform_to_their_release_and_all_that_do_the_same(name: str) -> None:
    read = read_group(read_recording(RECORDINGS / f"{name}.jsonl"), "g")
    assert (read.protocol == CONSUMER) == name.startswith("consumer")
    results = {column.short_name: check_group(read, column) for column in columns_for(read)}
    rejected = [each for each, checked in results.items() if checked.conformance.answer is not Answer.CONFORMS]
    assert rejected == REJECTED[name.rpartition("-")[2]]
    conforming = next(checked for each, checked in results.items() if each not in rejected)
    steps = conforming.conformance.behaviour
    expired = [step.label for step in steps if "session" in step.label and step.before != step.after]
    assert len(expired) == 1  # of the consumer that was killed
    assert conforming.notes == {}
    assert len(read.members) == 4


CONFORMS_TO = {
    "KAFKA-12890-2.8.0": ["2.6.1", "2.7.2", "2.8"],
    "KAFKA-12890-2.8.2": ["2.8.1", "3.0", "3.2", "3.4.1", "4.0", "4.2.2", "4.3", "4.3.1"],
    "KAFKA-16147-3.7.2": ["3.7-consumer"],
    "KAFKA-16249-3.7.2": ["3.7-consumer"],
}
"""What `leadline reproduce` recorded of bugs, and of a release without one: the specs it conforms to."""


@pytest.mark.parametrize("name", CONFORMS_TO)
def test_a_recording_of_a_bug_is_rejected_by_releases_without_it(name: str) -> None:
    read = read_group(read_recording(RECORDINGS / "bugs" / f"{name}.jsonl"), "g")
    results = {column.short_name: check_group(read, column).conformance.answer for column in columns_for(read)}
    assert [each for each, answer in results.items() if answer is Answer.CONFORMS] == CONFORMS_TO[name]
    assert Answer.UNDECIDED not in results.values()


def test_the_command_says_which_releases_a_group_conforms_to(tmp_path: Path) -> None:
    path = str(RECORDINGS / "range-java-2.8.1.jsonl")
    run = call("conform", path, "--json", "result.json", "--junit", "j.xml", "--html", "p.html", folder=tmp_path)
    assert (run.code, run.err) == (0, "")
    lines = [line.strip() for line in run.out.splitlines()]
    assert f"{path}: recorded from Kafka 2.8.1, group g with the classic protocol, member ids: 4" in lines
    assert any(
        line.startswith("the recording conforms to group/2.8.1: 146 observations, 5 hidden steps") for line in lines
    )
    assert "group/2.2 to group/4.3.1     conforms" in lines
    result = json.loads((tmp_path / "result.json").read_text())
    jsonschema.validate(result, json.loads(SCHEMA.read_text()))
    (group,) = result["groups"]
    assert (group["group"], group["protocol"], group["own"], len(group["members"])) == (
        "g",
        "classic",
        "group/2.8.1",
        4,
    )
    assert (result["partition"], result["specs"]) == (None, [])
    assert "conformance to group/2.8.1" in (tmp_path / "j.xml").read_text()
    assert "conforms to group/2.8.1" in (tmp_path / "p.html").read_text()


def test_a_group_that_cannot_be_followed_does_not_hide_the_others(tmp_path: Path) -> None:
    lines = (RECORDINGS / "range-java-2.8.1.jsonl").read_text(encoding="utf-8").splitlines()
    joins = {**json.loads(next(line for line in lines if '"JoinGroup"' in line)), "number": 900_000, "connection": 900}
    joins["body"] = {**joins["body"], "GroupId": "connect", "Protocols": [{"Name": "sessioned", "Metadata": "?"}]}
    last = {**json.loads(lines[-1]), "lines": len(lines) + 1}
    joins |= {"time": last["time"], "arrived": last["time"], "passed": last["time"]}
    text = "".join(f"{line}\n" for line in [*lines[:-1], json.dumps(joins), json.dumps(last)])
    (tmp_path / "run.jsonl").write_text(text, encoding="utf-8")
    run = call("conform", "run.jsonl", folder=tmp_path)
    assert (run.code, run.err) == (0, "")
    assert "the recording conforms to group/2.8.1" in run.out
    assert "not checked: group connect (the metadata of a member is not a consumer's subscription" in run.out
    run = call("conform", "run.jsonl", "--group", "connect", folder=tmp_path)
    assert run.code == 2
    assert "the metadata of a member is not a consumer's subscription" in run.err


def test_a_rejection_says_what_the_coordinator_would_have_answered(tmp_path: Path) -> None:
    path = str(RECORDINGS / "consumer-java-4.3.0.jsonl")
    run = call("conform", path, "--spec", "group/4.1-consumer", folder=tmp_path)
    assert (run.code, run.err) == (1, "")
    lines = [line.strip() for line in run.out.splitlines()]
    assert "member 1 joins, owns nothing, and is told epoch 2 and nothing" in lines
    assert "- it is told epoch 3 and nothing;" in lines


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--group", "h"], "has no member of a group 'h'"),
        (["--spec", "group/2.9"], "'group/2.9' is not a release with the classic protocol of group g"),
        (["--spec", "group/3.8-consumer"], "is not a release with the classic protocol of group g"),
        (["--group", "g", "--rules"], "--group cannot be combined with --partition, --rules"),
        (["--group", "g", "--spec", "kafka/2.8"], "--group cannot be combined with"),
    ],
)
def test_wrong_arguments_are_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    run = call("conform", str(RECORDINGS / "range-java-2.8.1.jsonl"), *arguments, folder=tmp_path)
    assert run.code == 2
    assert message in run.err
