"""Mixes of two releases: who decides each rule, what opens it, and what a mix does that neither release does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import attrs
import pytest

from leadline.checker.action import ActionInstance
from leadline.checker.engines import oracle
from leadline.checker.errors import SpecError
from leadline.checker.result import Limits
from leadline.checker.spec import Spec
from leadline.invariants.catalog import find, mutations
from leadline.model.kafka import protocols as does
from leadline.model.kafka.bounds import Bounds
from leadline.model.kafka.mixes import Mix, mix_of, resolved
from leadline.model.kafka.parties import BROKER, CONTROLLER, FOLLOWER, GATE, LEADER, PARTY, RELEASE
from leadline.model.kafka.protocols import Protocol
from leadline.model.kafka.published import minor
from leadline.model.kafka.releases import RELEASES, Column, column_of
from leadline.model.kafka.rules import RULES
from leadline.model.kafka.state import Partition
from tests.suite.command import call

KNOWN = attrs.fields_dict(Protocol)
FIELDS = [name for name in KNOWN if name not in ("name", "summary", "of_brokers")]


def mixed(name: str, **bounds: object) -> Spec[Any]:
    spec = find(name)
    assert spec is not None
    return spec.with_bounds(bounds)


def release(name: str) -> Column:
    column = column_of(f"kafka/{name}")
    assert column is not None
    return column


def rules(of: str, at: str) -> Protocol:
    """The rules of a release at the level of another one."""
    return resolved(release(of), release(at))


def counts(spec: Spec[Any]) -> tuple[int, int, int]:
    statistics = oracle.explore(spec, Limits(keep_going=True)).statistics
    return statistics.distinct, statistics.generated, statistics.depth


# --- who decides --------------------------------------------------------------------------------------------------


def test_every_field_says_who_decides_it() -> None:
    assert {KNOWN[name].metadata[PARTY] for name in FIELDS} == {LEADER, FOLLOWER, BROKER, CONTROLLER}
    assert all(GATE in KNOWN[name].metadata for name in FIELDS)


def test_what_depends_on_a_level_says_which_one_opens_it() -> None:
    for rule in RULES:
        gated = any(KNOWN[field].metadata[GATE] != RELEASE for field in rule.values[0].sets)
        assert gated == any(value.opens for value in rule.values), rule.name
        assert not rule.values[0].opens, rule.name
        assert all(bool(value.opens) == bool(value.gate) for value in rule.values), rule.name


@pytest.mark.parametrize(
    "column", [*RELEASES, release("2.0+truncation=fetch"), release("4.0+elr=on-unchecked")], ids=str
)
def test_a_release_at_its_own_level_has_its_own_rules(column: Column) -> None:
    own, again = column.protocol(), resolved(column, column)
    assert {name: getattr(own, name) for name in FIELDS} == {name: getattr(again, name) for name in FIELDS}


def test_no_column_has_releases_on_both_sides_of_a_level() -> None:
    """The level of a column is that of its first release."""
    opens = {value.opens.partition("-")[0] for rule in RULES for value in rule.values if value.opens[:1].isdigit()}
    gates = [tuple(map(int, each.split(".")))[:2] for each in opens]
    for column in RELEASES:
        own = [gate for gate in gates if column.controller == "KRaft" or gate < (3, 0)]
        versions = [tuple(map(int, minor(version).split(".")))[:2] for version in column.versions]
        assert len({tuple(gate <= version for gate in own) for version in versions}) == 1, column.name


def test_a_field_of_a_request_depends_on_the_level_and_a_check_does_not() -> None:
    old_level = rules("2.1", at="2.0.0")
    assert old_level.accepts is does.from_own_epoch
    assert not old_level.names_epoch
    assert old_level.admits is does.at_the_start_of_the_epoch

    follower = rules("2.8", at="2.6.1")
    assert (follower.asks_about, follower.sends_last_epoch) == (does.last_epoch, does.nothing)
    assert follower.truncates_to is does.end_of_the_epoch_in_both
    assert (follower.answers, follower.diverges) == (does.epoch_and_end, does.by_last_epoch)
    assert not follower.in_flight
    assert follower.learns_before_truncating
    assert rules("2.8", at="2.7").sends_last_epoch is does.last_epoch, "2.7 has the level, its followers have no code"

    assert rules("3.9-zk", at="1.1").truncates_to is does.the_answer_or_own_high_watermark
    assert rules("3.9-zk", at="0.10.2").truncates_first_to is does.own_high_watermark
    assert (rules("0.11", at="0.10.2").carries_starts, rules("0.11", at="0.10.2").deletes_records) == (False, True)


def test_the_controller_decides_by_its_release_or_by_the_level() -> None:
    assert (rules("2.2", at="2.1").notices_bounces, rules("2.2", at="2.1").names_broker_epochs) == ("all", False)
    assert (rules("3.6", at="3.5").epoch_for_shrink, rules("3.6", at="3.5").waits_for_ineligible) == (True, False)
    judged = rules("3.5", at="3.4.1")
    assert (judged.may_join, judged.sends_incarnation) == (does.the_active_that_were_judged, False)
    assert rules("3.7", at="3.3").refuses_earlier_life
    assert (rules("3.7", at="3.6").has_directories, rules("3.8", at="3.7").has_directories) == (False, True)
    assert not rules("4.1", at="4.0").has_elr
    assert rules("4.1", at="4.0+elr=on-unchecked").elects_last_known == "alive"
    assert rules("4.0+elr=on-unchecked", at="4.0+elr=on-unchecked").elects_last_known == "fenced"


# --- the party that decides is asked ------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Only:
    """Rules of which only those of some parties may be read."""

    rules: Protocol
    parties: frozenset[str]
    of_brokers: tuple[Only, ...] = ()

    def __getattr__(self, name: str) -> object:
        party = KNOWN[name].metadata.get(PARTY)
        assert party is None or party in self.parties, f"{name} belongs to {party}"
        return getattr(self.rules, name)


def parties(instance: ActionInstance[Partition], broker: int) -> frozenset[str]:
    """The parties that a broker can be in a step, apart from the controller."""
    arguments = instance.arguments
    name = instance.action.name
    if name in ("restart", "crash", "crash_after_append", "crash_losing_tail", "stop", "begin_shutdown"):
        return frozenset({FOLLOWER if arguments["broker"] == broker else LEADER, BROKER})
    known = {BROKER}
    if broker in (arguments.get("follower"), arguments.get("member")):
        known.add(FOLLOWER)
    if broker == arguments.get("leader"):
        known.add(LEADER)
    if broker == arguments.get("broker"):
        known.add(LEADER if name == "become_leader" else FOLLOWER)
    return frozenset(known)


def reached(spec: Spec[Any], most: int) -> Iterator[Partition]:
    """The first states of a breadth-first search."""
    found = dict.fromkeys(spec.initials())
    queue = list(found)
    for state in queue:
        yield state
        for _, successor in spec.successors(state):
            if len(found) < most and successor not in found:
                found[successor] = None
                queue.append(successor)


WIDE = {
    "brokers": 2,
    "records": 2,
    "max_epoch": 2,
    "crashes": 1,
    "shutdowns": 1,
    "session_expiries": 1,
    "late_fetches": 1,
    "late_requests": 1,
    "late_responses": 1,
    "isr_shrinks": 1,
}
STARTS = {"deletes": 1, "retentions": 1}
KRAFT_ONLY = {"reassignments": 1, "lost_directories": 1, "min_isr_raises": 1, "late_records": 1, "min_isr_updates": 1}


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("kafka/0.10.2..2.8", STARTS),
        ("kafka/2.0.1..2.2", {"empty_epochs": True}),
        ("kafka/2.7..2.8", STARTS),
        ("kafka/2.8..3.9-zk", {}),
        ("kafka/3.4..3.6", {}),
        ("kafka/4.0+elr=on-unchecked..4.3", KRAFT_ONLY),
    ],
)
def test_every_step_asks_only_the_party_that_decides(name: str, bounds: dict[str, object]) -> None:
    spec = mixed(name, **WIDE, **bounds)
    enabled = set()
    for state in reached(spec, 800):
        plain = state.protocol
        brokers = [state.rules_of(broker) for broker in range(spec.bounds.brokers)]
        for instance in spec.instances:
            taken = list(instance.successors(state))
            guarded = Only(
                plain,
                frozenset({CONTROLLER}),
                tuple(Only(own, parties(instance, broker)) for broker, own in enumerate(brokers)),
            )
            again = instance.successors(attrs.evolve(state, protocol=cast(Protocol, guarded)))
            assert [attrs.evolve(each, protocol=plain) for each in again] == taken, instance
            enabled |= {instance.action.name for _ in taken[:1]}
    assert {"handle_fetch", "become_leader", "become_follower", "restart", "produce"} <= enabled


# --- mixes of equal releases --------------------------------------------------------------------------------------

SMALL = {"brokers": 2, "records": 1, "max_epoch": 2, "crashes": 1}


@pytest.mark.parametrize("mix", ["2.0..2.1", "2.6.1..2.8", "3.5..3.6", "4.0..4.1"])
def test_a_mix_with_one_release_everywhere_is_this_release(mix: str) -> None:
    old, _, new = mix.partition("..")
    pure = mixed(f"kafka/{old}", **SMALL)
    assert counts(mixed(f"kafka/{mix}", **SMALL, upgraded="")) == counts(pure)
    raised = mixed(f"kafka/{mix}", **SMALL, upgraded="0-1", controller="new", level="new")
    asked = {name: value for name, value in attrs.asdict(pure.bounds).items() if name in attrs.fields_dict(Bounds)}
    assert counts(raised) == counts(mixed(f"kafka/{new}", **asked))


def test_a_release_everywhere_is_one_object() -> None:
    mix = mix_of("kafka/2.0..2.1")
    assert mix.placed(attrs.evolve(mix.bounds, upgraded="")).of_brokers == ()
    placed = mix.placed(attrs.evolve(mix.bounds, upgraded="1"))
    assert [each.name for each in placed.of_brokers] == ["2.0", "2.1"]
    assert placed.name == "2.0"


# --- what cannot be mixed -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("kafka/2.1..2.0", "give the older release first"),
        ("kafka/2.8..3.9", "mixes ZooKeeper with KRaft, which is a migration"),
        ("kafka/3.2-kraft..4.0", "mixes with KRaft begin with 3.3"),
        ("kafka/2.0..", "unknown release 'kafka/' in a mix"),
        ("kafka/2.0..2.1..2.2", "unknown release"),
        ("control/2.0..2.1", "only releases of family kafka can be mixed"),
    ],
)
def test_a_pair_that_no_manual_has_is_refused(name: str, says: str) -> None:
    with pytest.raises(SpecError, match=says):
        find(name)


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        ({"upgraded": "2"}, "upgraded names different brokers"),
        ({"upgraded": "1-1"}, "upgraded names different brokers"),
        ({"upgraded": "all"}, "upgraded names different brokers"),
        ({"level": "new"}, "level=new only if"),
    ],
)
def test_a_placement_that_is_impossible_is_refused(bounds: dict[str, object], says: str) -> None:
    with pytest.raises(SpecError, match=says):
        mixed("kafka/2.0..2.1", **bounds)


def test_a_mix_has_a_family_and_no_column() -> None:
    spec = mixed("kafka/2.0..2.1")
    assert (spec.family.name, spec.column) == ("kafka", None)
    assert mutations("kafka/2.0..2.1") == []


def test_a_comparison_names_the_releases_of_a_mix(tmp_path: Path) -> None:
    run = call("diff", "kafka/2.7", "kafka/2.7..2.8.1", "-b", "records=1,max_epoch=1,crashes=0", folder=tmp_path)
    assert "rule of_brokers: () → 2.7, 2.8.1" in run.out


def test_every_documented_pair_is_a_mix() -> None:
    for line in ("ZooKeeper", "KRaft"):
        columns = [each for each in RELEASES if each.controller == line and each.suffix != "-kraft"]
        for position, old in enumerate(columns):
            for new in columns[position:]:
                assert isinstance(mix_of(f"{old.name}..{new.short_name}"), Mix)
