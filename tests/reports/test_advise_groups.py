"""`leadline advise --consumer-config`: by which known bugs a group gets stuck, or reads records twice."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from leadline.checker.engines.progress import Progress
from leadline.checker.errors import LeadlineError
from leadline.reports.document.markdown import markdown
from leadline.reports.kafka.advice.advice import Group, group_of
from leadline.reports.kafka.advice.decisions import Decider, Status
from leadline.reports.kafka.advice.groups import (
    FORGOTTEN,
    STUCK,
    TWICE,
    ConsumerGroup,
    GroupAdvice,
    advise_group,
    group_document,
    read_group,
)
from leadline.reports.kafka.bugs import GROUPS, read_archive
from tests.suite.command import call

ARCHIVE = read_archive()
EAGER = ""
COOPERATIVE = "partition.assignment.strategy=org.apache.kafka.clients.consumer.CooperativeStickyAssignor\n"
STATIC = "group.instance.id=c1\n"
CONSUMER = "group.protocol=Consumer\n"


def silent(title: str) -> AbstractContextManager[Progress]:
    return nullcontext(lambda statistics: None)


def given(folder: Path, text: str, brokers: str | None = None) -> ConsumerGroup:
    (folder / "consumer.properties").write_text(text)
    (folder / "server.properties").write_text(brokers or "")
    return read_group(folder / "consumer.properties", None if brokers is None else folder / "server.properties")


def advised(folder: Path, before: str, after: str, text: str, brokers: str | None = None) -> GroupAdvice:
    return advise_group(before, after, given(folder, text, brokers), ARCHIVE, Decider(ARCHIVE, 60, silent))


def possible(advice: GroupAdvice) -> dict[str, str]:
    """The bugs that are possible after the upgrade, with what they mean."""
    return {each.bug.ticket: each.harm for each in advice.findings if each.after.status is Status.POSSIBLE}


@pytest.mark.parametrize(
    ("text", "cooperative", "static"),
    [
        (EAGER, False, False),
        (COOPERATIVE + STATIC, True, True),
        ("partition.assignment.strategy=RangeAssignor, CooperativeStickyAssignor\ngroup.instance.id=\n", False, False),
    ],
)
def test_the_settings_of_consumers_are_read(tmp_path: Path, text: str, cooperative: bool, static: bool) -> None:
    """A group is cooperative if all assignors support that."""
    group = given(tmp_path, text)
    assert (group.cooperative, group.static) == (cooperative, static)


def test_what_a_group_of_each_release_can_suffer(tmp_path: Path) -> None:
    timer = "no ticket: sync timer"
    stalls = {"KAFKA-12890": STUCK, "KAFKA-13419": STUCK, timer: STUCK}
    assert possible(advised(tmp_path, "2.8.0", "2.8.0", EAGER)) == stalls
    assert possible(advised(tmp_path, "2.8.1", "2.8.1", EAGER)) == {"KAFKA-13419": STUCK, timer: STUCK}
    assert possible(advised(tmp_path, "4.4.0", "4.4.0", EAGER)) == {timer: STUCK}
    assert possible(advised(tmp_path, "2.6.0", "2.6.0", EAGER)) == {"KAFKA-13419": STUCK}
    assert possible(advised(tmp_path, "2.1.1", "2.1.1", EAGER)) == {"KAFKA-9752": STUCK, "KAFKA-13419": STUCK}
    twice = advised(tmp_path, "2.8.0", "2.8.0", COOPERATIVE)
    assert possible(twice)["KAFKA-12984"] == TWICE
    sides = {each.bug.ticket: each.side for each in twice.findings}
    assert (sides["KAFKA-12984"], sides["KAFKA-12890"]) == ("consumers", "brokers")


def test_what_a_group_with_the_consumer_protocol_can_suffer(tmp_path: Path) -> None:
    response, own = "no ticket: lost response", "no ticket: own instance"
    both = {"KAFKA-20634": FORGOTTEN, response: TWICE}
    early = {"KAFKA-16147": TWICE, "KAFKA-16249": STUCK, "KAFKA-20634": FORGOTTEN}
    assert possible(advised(tmp_path, "3.7.0", "3.7.0", CONSUMER)) == early
    assert possible(advised(tmp_path, "4.1.2", "4.1.2", CONSUMER)) == both
    assert possible(advised(tmp_path, "4.2.1", "4.2.1", CONSUMER)) == both
    upgrade = advised(tmp_path, "4.3.0", "4.4.0", CONSUMER + STATIC)
    assert possible(upgrade) == {response: TWICE, own: STUCK}
    text = markdown(group_document(upgrade))
    assert "with the consumer protocol" in text
    assert "static members (consumer.properties:2)" in text


@pytest.mark.parametrize(
    ("remote", "assignors", "status", "reason"),
    [
        ("", None, Status.AVOIDED, "no assignor other than UniformAssignor (the default: UniformAssignor)"),
        ("group.remote.assignor=uniform\n", "my.Own", Status.AVOIDED, "UniformAssignor (consumer.properties:2)"),
        ("", "my.Own,uniform", Status.POSSIBLE, "if the assignor other than UniformAssignor assigns so (server.prop"),
    ],
)
def test_a_bug_that_needs_another_assignor(
    tmp_path: Path, remote: str, assignors: str | None, status: Status, reason: str
) -> None:
    brokers = None if assignors is None else f"group.consumer.assignors={assignors}\n"
    advice = advised(tmp_path, "4.4.0", "4.4.0", CONSUMER + remote, brokers)
    (found,) = [each for each in advice.findings if each.bug.ticket == "no ticket: outdated commit"]
    assert found.after.status is status
    assert reason in found.after.reason


@pytest.mark.parametrize(
    ("brokers", "in_java"),
    [
        (None, None),
        ("group.coordinator.rebalance.protocols=classic, Consumer\n", True),
        ("group.coordinator.new.enable=true\n", True),
        ("group.coordinator.new.enable=true\nzookeeper.connect=z:2181\n", False),
        ("group.coordinator.rebalance.protocols=classic\nprocess.roles=broker\n", False),
    ],
)
def test_which_coordinator_brokers_have(tmp_path: Path, brokers: str | None, in_java: bool | None) -> None:
    assert given(tmp_path, EAGER, brokers).in_java is in_java


def test_a_placeholder_is_refused(tmp_path: Path) -> None:
    said = r"server.properties:1: group.coordinator.new.enable=\$\{JAVA\} is a placeholder"
    with pytest.raises(LeadlineError, match=said):
        given(tmp_path, EAGER, "group.coordinator.new.enable=${JAVA}\n")


def test_a_classic_group_with_the_coordinator_in_java(tmp_path: Path) -> None:
    advice = advised(tmp_path, "3.9.2", "4.2.2", EAGER, "group.coordinator.new.enable=true\n")
    groups = {each.bug.ticket: group_of(each.before, each.after) for each in advice.findings}
    assert groups["KAFKA-20634"] is Group.FIXED
    asked = "pass the file of a broker with --config"
    said, other = markdown(group_document(advice)), advised(tmp_path, "3.9.2", "3.9.2", EAGER)
    assert ("| coordinator | in Java (server.properties:1) |" in said, asked in said) == (True, False)
    assert "KAFKA-20634" not in {each.bug.ticket for each in other.findings}
    assert asked in markdown(group_document(other))


def test_what_must_coincide_is_said(tmp_path: Path) -> None:
    said = markdown(group_document(advised(tmp_path, "4.4.0", "4.4.0", EAGER)))
    assert "sync timer: possible (if 2 things coincide)" in said
    assert "must coincide: failovers of the group coordinator, and consumers that send heartbeats and hold up" in said
    assert "must coincide" not in markdown(group_document(advised(tmp_path, "3.7.0", "3.7.0", CONSUMER)))


def test_a_bug_that_the_settings_avoid_names_them(tmp_path: Path) -> None:
    (found,) = [
        each for each in advised(tmp_path, "2.8.0", "2.8.0", EAGER).findings if each.bug.ticket == "KAFKA-12984"
    ]
    assert found.after.status is Status.AVOIDED
    assert found.after.reason == (
        "avoided by the settings: no CooperativeStickyAssignor (the default: RangeAssignor decides)"
    )
    assert found.after.command.startswith("leadline explore group/2.8.0 -b ")


def test_a_violation_that_the_fix_does_not_end_has_another_cause(tmp_path: Path) -> None:
    """A cooperative group of static members has these in all releases."""
    advice = advised(tmp_path, "2.4.1", "2.4.1", COOPERATIVE + STATIC)
    undecided = {
        each.bug.ticket: each.after.reason for each in advice.findings if each.after.status is Status.UNDECIDED
    }
    said = "but with the fix, too: there is another cause, and what fails in this search is enough for no ticket: "
    assert undecided.keys() == {"KAFKA-9752", "KAFKA-12984"}
    assert undecided["KAFKA-9752"].endswith(f"{said}unclaimed partition")
    assert undecided["KAFKA-12984"].endswith(f"{said}late static member")


def test_an_upgrade(tmp_path: Path) -> None:
    advice = advised(tmp_path, "2.8.0", "3.9.1", EAGER)
    groups = {each.bug.ticket: group_of(each.before, each.after) for each in advice.findings}
    assert groups["KAFKA-12890"] is groups["KAFKA-13419"] is Group.FIXED
    assert groups["no ticket: sync timer"] is Group.STAYS
    said = markdown(group_document(advice))
    assert f"{STUCK}: KAFKA-12890: fixed" in said
    assert f"{TWICE}: KAFKA-12984: avoided" in said


def test_releases_are_compared_by_their_order_and_not_by_their_rules(tmp_path: Path) -> None:
    """2.8.0 has the rules of 2.6.1, and 2.7.2 in between has others."""
    advice = advised(tmp_path, "2.7.2", "2.8.0", EAGER)
    assert [column.name for column in advice.columns] == ["group/2.7.2", "group/2.8.0"]
    with pytest.raises(LeadlineError, match=r"--to 2\.7\.2 is older than --from 2\.8\.0: choose a newer release"):
        advised(tmp_path, "2.8.0", "2.7.2", EAGER)


@pytest.mark.parametrize(
    ("release", "text", "error"),
    [
        (
            "2.3.0",
            COOPERATIVE,
            "--from 2.3.0 does not have a setting of the consumers: Kafka has cooperative=true since",
        ),
        ("9.9", EAGER, "--from 9.9: expected a release from 0.10.1.0 on, such as 4.3.1"),
        ("2.8+claims=all", EAGER, "--from 2.8+claims=all: expected a release"),
        (
            "2.8",
            "partition.assignment.strategy=my.Own\n",
            "consumer.properties:1: .* has the unknown assignor 'my.Own'",
        ),
        (
            "4.0",
            "group.protocol=streams\n",
            "consumer.properties:1: group.protocol=streams: expected classic or consumer",
        ),
        ("3.6.2", CONSUMER, "--from 3.6.2: expected a release from 3.7.0 on"),
        (
            "4.0",
            CONSUMER + COOPERATIVE,
            "consumer.properties:2: partition.assignment.strategy cannot be set with group.protocol=consumer",
        ),
    ],
)
def test_what_cannot_be_advised_on_is_refused(tmp_path: Path, release: str, text: str, error: str) -> None:
    with pytest.raises(LeadlineError, match=error.replace("+", r"\+")):
        advised(tmp_path, release, release, text)


def test_the_command(tmp_path: Path) -> None:
    given(tmp_path, STATIC)
    run = call("advise", "--from", "2.8.0", "--consumer-config", "consumer.properties", "--json", "-", folder=tmp_path)
    told = json.loads(run.out)
    assert (run.code, told["settings"]["static"]) == (0, True)
    assert {each["ticket"] for each in told["bugs"]} == {
        bug.ticket for bug in ARCHIVE.of_family(GROUPS).bugs if "group/2.8" in bug.affected
    }
    both = call("advise", "--from", "2.8.0", "--consumer-config", "a", "--topic-config", "b", folder=tmp_path)
    assert (both.code, "--topic-config cannot be used with --consumer-config" in both.err) == (2, True)
