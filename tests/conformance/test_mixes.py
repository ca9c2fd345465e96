"""Recordings of clusters of two releases, trimmed: they conform to the mixes that have their rules, and to no others.

The recorded replays are those of `tests/brokers/test_real_mixes.py`.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leadline.brokers.conformance.announcements import is_overtaken
from leadline.brokers.conformance.context import Context
from leadline.brokers.conformance.controller import Controller, Decision, Notice
from leadline.brokers.conformance.not_followed import NotFollowed
from leadline.brokers.conformance.partition import PartitionRecording
from leadline.brokers.conformance.processes import Processes, ProcessRun
from leadline.brokers.conformance.reading import read_partition
from leadline.brokers.recording import read_recording
from leadline.brokers.releases import mixed_release
from leadline.checker.conformance import Answer, Conformance
from leadline.checker.errors import LeadlineError, SpecError
from leadline.model.kafka.conformance.following import chain_of, followed_release
from leadline.model.kafka.conformance.observations import Observations
from leadline.model.kafka.conformance.observer import Window
from leadline.model.kafka.mixes import mix_of
from leadline.model.kafka.releases import RELEASES, ZOOKEEPER, column_of
from leadline.model.kafka.rolls import Rolling
from leadline.model.kafka.state import Partition
from leadline.reports.exit_codes import AS_EXPECTED, VIOLATED
from leadline.reports.kafka.conformance.report import conformance_report
from tests.conformance.checking import check

RECORDINGS = Path(__file__).parent / "recordings" / "mixes"
LOST, LOWERED = (RECORDINGS / f"{name}.jsonl" for name in ("lost-2.7.1..2.8.1", "elr-4.0.1..4.1.1"))
"""A record is lost that was acknowledged with acks=all; the ELR is lowered, and a broker that has lost one is elected.
"""


def conformance(read: PartitionRecording, mix: str) -> Conformance[Partition]:
    return check(read, mix_of(f"kafka/{mix}")).conformance


def label(path: Path, mix: str) -> str:
    """Where a mix rejects a recording, or an empty string if it conforms."""
    result = conformance(read_partition(read_recording(path), "t", 0), mix)
    assert result.answer in (Answer.CONFORMS, Answer.REJECTED)
    return "" if result.rejection is None else result.rejection.observation.label


def changed(path: Path, folder: Path, change: Callable[[Any], Any]) -> Path:
    """Write a recording with lines changed, or left out if there is None in their place."""
    first, *lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    kept = [line for line in map(change, lines) if line is not None]
    kept[-1]["lines"] = len(kept) + 1
    folder.joinpath(path.name).write_text("".join(json.dumps(line) + "\n" for line in (first, *kept)), encoding="utf-8")
    return folder / path.name


def test_the_loss_of_2_7_conforms_to_mixes_with_the_affected_release_only() -> None:
    read, conform = read_partition(read_recording(LOST), "t", 0), set()
    columns = [column for column in RELEASES if column.controller == ZOOKEEPER]
    for old, new in itertools.combinations(columns[5:], 2):
        if conformance(read, f"{old.short_name}..{new.short_name}").answer is Answer.CONFORMS:
            conform.add((old.short_name, new.short_name))
    news = [column.short_name for column in columns if column.versions[0] >= "2.8.0"]
    assert conform == {("2.7", new) for new in news}
    assert label(LOST, "2.7.2..2.8.1") == "broker 1 proposes ISR [0, 1] to the controller"


def test_a_recording_is_checked_against_the_mix_that_it_names() -> None:
    report = conformance_report(LOST, None, None)
    assert (report.exit_code, [each.column.name for each in report.checked]) == (AS_EXPECTED, ["kafka/2.7..2.8.1"])
    for wrong in ("kafka/2.7.2..2.8.1", "kafka/2.7", "kafka/2.8.1"):
        assert conformance_report(LOST, wrong, None).exit_code == VIOLATED
    with pytest.raises(LeadlineError, match=r"--rules requires one release, and kafka/2\.7\.\.2\.8\.1 is a mix of two"):
        conformance_report(LOST, None, None, rules=True)
    with pytest.raises(SpecError, match=r"unknown release 'kafka/2\.9' in a mix"):
        conformance_report(LOST, "kafka/2.7..2.9", None)


@pytest.mark.parametrize(
    ("stage", "rejected"),
    [
        ("old release", "broker 0 sends broker 1 a fetch request from offset 1, last fetched epoch 0"),
        ("new level", ""),  # the level makes no difference for the steps of this broker
    ],
)
def test_where_a_release_runs_is_read(stage: str, rejected: str, tmp_path: Path) -> None:
    def on_broker_0(line: Any) -> Any:
        return line | {"stage": stage} if (line["event"], line.get("node")) == ("runs", 0) else line

    assert label(changed(LOST, tmp_path, on_broker_0), "2.7..2.8.1") == rejected


@pytest.mark.parametrize("node", [0, 1, 2])
def test_a_recording_that_does_not_say_what_runs_is_refused(node: int, tmp_path: Path) -> None:
    """Node 2 is the controller."""

    def silent(line: Any) -> Any:
        return None if (line["event"], line.get("node")) == ("runs", node) else line

    with pytest.raises(NotFollowed, match=f"no event 'runs' says which release node {node} runs"):
        label(changed(LOST, tmp_path, silent), "2.7..2.8.1")


def test_the_level_is_read_from_the_metadata_log(tmp_path: Path) -> None:
    assert label(LOWERED, "4.0..4.1") == ""

    def raised(value: Any) -> Any:
        if isinstance(value, list):
            return [each for each in map(raised, value) if each is not None]
        if not isinstance(value, dict):
            return value
        record: Any = value.get("value")
        is_level = isinstance(record, dict) and record["record"] == "FeatureLevelRecord"
        lowers = is_level and record["body"]["FeatureLevel"] == 0
        return None if lowers else {name: raised(each) for name, each in value.items()}

    with_elr = "the controller decides: broker 1 leads in epoch 1, ISR [1]"
    assert label(changed(LOWERED, tmp_path, raised), "4.0..4.1") == with_elr


def test_a_request_that_waits_while_its_leader_begins_an_epoch_is_counted_once() -> None:
    """It was recorded in the first seconds of an upgrade of 2.4.1: broker 1 shuts down, and leaves the ISR."""
    read = read_partition(read_recording(RECORDINGS / "parked-2.4.1.jsonl"), "t", 0)
    answers = {}
    for name in ("2.4", "2.8"):
        column = column_of(f"kafka/{name}")
        assert column is not None
        answers[name] = check(read, column).conformance.answer
    assert answers == {"2.4": Answer.CONFORMS, "2.8": Answer.REJECTED}


@pytest.mark.parametrize(
    ("passed", "started", "epoch", "overtaken"),
    [(6.0, 3.0, 8, True), (4.0, 3.0, 8, False), (6.0, 0.5, 8, False), (6.0, 3.0, 9, False)],
)
def test_a_request_that_another_overtakes_may_be_left_out(
    passed: float, started: float, epoch: int, overtaken: bool
) -> None:
    """Epoch 8 begins at 1 s, and epoch 9 at 5 s."""
    begun = tuple(Decision(at, at, 0, number, (0,), 1) for number, at in ((8, 1.0), (9, 5.0)))
    processes = Processes({0: [ProcessRun((0.0, 0.0)), ProcessRun((started, started))]})
    read = PartitionRecording(read_recording(LOST), "t", 0)
    context = Context(read, Observations(CHAIN), Controller(begun, ()), processes)
    told = Notice(0, passed, passed, passed + 1, 0, epoch, (0,), 2)
    assert is_overtaken(context, told, 0) == overtaken


CHAIN = followed_release(chain_of("kafka/3.9..4.1..4.3"), 2)


@pytest.mark.parametrize(("stages", "begins"), [((3, 3, 3), True), ((3, 2, 3), False), ((2, 2, 2), False)])
def test_the_next_upgrade_of_a_chain_begins_when_the_last_one_is_finished(
    stages: tuple[int, ...], begins: bool
) -> None:
    """In 3.9..4.1, stage 3 has the new level and eligible leader replicas. A broker that is down starts in the next."""
    state = CHAIN.beginning(0, frozenset({0, 1}), stages)
    begin = Observations(CHAIN).upgrade_begins(Window(0.0, 0.0), 1)
    after = [each for each in begin.apply(state) if isinstance(each, Rolling)]
    assert [(each.controller, each.stages, each.protocol.name) for each in after] == ([(0, (0, 0), "4.1")] * begins)
    (down,) = CHAIN.take("crash", state, 1)
    assert bool([*begin.apply(down)]) == (stages[-1] == 3)


def test_an_upgrade_that_is_not_finished_is_not_followed_by_another(tmp_path: Path) -> None:
    lines = LOST.read_text(encoding="utf-8").splitlines()
    last = json.loads(lines[-1])
    event = {"event": "upgrade", "time": last["time"], "node": "client", "stage": "old release"}
    last["lines"] += 1
    two = tmp_path / "two.jsonl"
    two.write_text("\n".join([*lines[:-1], json.dumps(event), json.dumps(last), ""]), encoding="utf-8")
    read = read_partition(read_recording(two), "t", 0)
    result = check(read, chain_of("kafka/2.7..2.8.1..3.9-zk")).conformance
    assert result.rejection is not None
    assert result.rejection.observation.label == "the next upgrade begins, from 2.8.1"
    with pytest.raises(NotFollowed, match=r"has 2 upgrades, one after the other; expected kafka/2\.7\.\.2\.8\.1"):
        conformance(read, "2.7..2.8.1")


def test_features_that_a_mix_does_not_raise_are_refused() -> None:
    with pytest.raises(NotFollowed, match=r"a feature is raised or lowered that is the same in kafka/4\.1\.\.4\.3"):
        label(LOWERED, "4.1..4.3")


@pytest.mark.parametrize(
    ("name", "wrong"), [("3.9.1..4.1.1", "3.3..3.6"), ("2.7.2..2.8.1", "0.11..2.0.0"), ("2.7.2..2.8.1", "2.0.0..2.1")]
)
def test_what_leadline_record_writes_of_an_upgrade_conforms(name: str, wrong: str) -> None:
    """The whole upgrade was recorded by `leadline record`, in `tests/brokers/test_real_mixes.py`."""
    path = RECORDINGS / f"recorded-{name}.jsonl"
    report = conformance_report(path, None, None)
    assert (report.exit_code, [each.column.name for each in report.checked]) == (
        AS_EXPECTED,
        [chain_of(mixed_release(name).spec).name],
    )
    assert conformance_report(path, f"kafka/{wrong}", None).exit_code == VIOLATED


def test_a_level_that_rises_before_the_partition_is_created_is_refused(tmp_path: Path) -> None:
    def early(value: Any) -> Any:
        if isinstance(value, list):
            return [early(each) for each in value]
        if not isinstance(value, dict):
            return value
        if (value.get("Name"), value.get("FeatureLevel")) == ("metadata.version", 21):
            return value | {"FeatureLevel": 27}
        return {name: early(each) for name, each in value.items()}

    path = RECORDINGS / "recorded-3.9.1..4.1.1.jsonl"
    with pytest.raises(NotFollowed, match=r"metadata\.version changes before t-0 is created"):
        label(changed(path, tmp_path, early), "3.9..4.1")
