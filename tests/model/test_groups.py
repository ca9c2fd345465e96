"""Consumer groups with the classic protocol: the known bugs in the releases that have them, and in those that do not.

The figures are from our own runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from leadline.checker import Limits, Spec, Verdict
from leadline.checker.engines import ENGINES
from leadline.invariants.families.group import BY_DESIGN, GROUP, LIVENESS, PROPERTIES
from leadline.invariants.groups import BEFORE
from leadline.model.group.classic.assignors import assigned
from leadline.model.group.classic.bounds import Bounds
from leadline.model.group.classic.mistakes import MISTAKES, RIGHT_TOO, RULES_SHOWN_WITH
from leadline.model.group.classic.protocols import Protocol
from leadline.model.group.classic.rules import RULES
from leadline.model.group.classic.state import Classic, Member
from leadline.model.group.releases import COLUMNS
from leadline.model.kafka.published import PUBLISHED
from leadline.model.mistakes import Mistake
from leadline.reports.kafka.known_bugs import too_early
from leadline.reports.loading import load_spec
from tests.suite.samples import EVERY

SAFETY = [item.name for item in PROPERTIES if not item.kind.is_witness]
WITNESSES = [item.name for item in PROPERTIES if item.kind.is_witness]
STALLS = [item.name for item in LIVENESS]
NOTHING_FAILS = {"perturbations": 0}
NONE_OF_ANY_KIND = {"crashes": 0, "pauses": 0, "leaves": 0, "failovers": 0, "mutes": 0, "rejoins": 0}
COOPERATIVE = {"cooperative": True}


def only(**bounds: int) -> dict[str, int]:
    """Bounds in which only the given perturbations happen."""
    return (
        NONE_OF_ANY_KIND
        | {"perturbations": sum(bounds.get(kind, 0) for kind in (*NONE_OF_ANY_KIND, "delayed"))}
        | bounds
    )


def violated(
    spec: str | Spec[object], bounds: Mapping[str, int], properties: list[str]
) -> tuple[dict[str, int], tuple[int, int, int]]:
    """The lengths of the traces of the violated properties, and distinct states, generated states and depth."""
    found = load_spec(spec) if isinstance(spec, str) else spec
    result = ENGINES["oracle"](found.with_bounds(bounds).with_properties(properties), Limits(keep_going=True))
    assert result.exhausted
    counts = result.statistics
    traces = {item.property.name: len(item.traces[0]) for item in result.properties if item.traces}
    return traces, (counts.distinct, counts.generated, counts.depth)


# --- tickets: the releases that have the bug, and those that do not -----------------------------------------------

STUCK = ["stable_at_rest", "group_recovers", "completing_ends"]

TICKETS = {
    "KAFKA-9752": (
        only(crashes=1),
        STUCK,
        {
            "0.10.1": {},
            "2.1.1": {"stable_at_rest": 9, "group_recovers": 6, "completing_ends": 9},
            "2.4.1": {"stable_at_rest": 12, "group_recovers": 7, "completing_ends": 12},
            "2.5": {},
            "4.4.0": {},
        },
    ),
    "KAFKA-12890": (
        only(mutes=1),
        STUCK,
        {
            "2.6.0": {},
            "2.6.1": {"stable_at_rest": 8, "group_recovers": 7, "completing_ends": 8},
            "2.7": {"stable_at_rest": 8, "group_recovers": 7, "completing_ends": 8},
            "2.8": {"stable_at_rest": 8, "group_recovers": 7, "completing_ends": 8},
            "2.8.1": {},
            "3.0": {},
        },
    ),
    "KAFKA-12984": (
        only(pauses=1) | COOPERATIVE,
        ["assignment_disjoint", "one_owner_among_members"],
        {
            "2.4": {"assignment_disjoint": 19, "one_owner_among_members": 15},
            "2.8": {"assignment_disjoint": 19, "one_owner_among_members": 15},
            "2.7.2": {},
            "2.8.1": {},
            "3.0": {},
        },
    ),
    "KAFKA-13419": (
        only(failovers=1),
        ["member_id_kept"],
        {"2.8": {"member_id_kept": 12}, "3.1": {"member_id_kept": 12}, "3.2": {}, "4.4.0": {}},
    ),
    "KAFKA-14639": (
        only(rejoins=1, clients=3) | COOPERATIVE,
        ["one_owner_among_members"],
        {"2.8.1": {}, "3.4.0": {"one_owner_among_members": 23}, "3.4.1": {}},
    ),
}


@pytest.mark.parametrize(
    ("ticket", "release"),
    [
        (ticket, release)
        for ticket, (*_, known) in TICKETS.items()
        for release in known
        if EVERY or ticket != "KAFKA-14639"
    ],
)
def test_a_ticket_is_violated_where_it_was_and_holds_where_it_was_fixed(ticket: str, release: str) -> None:
    bounds, properties, known = TICKETS[ticket]
    assert violated(f"group/{release}", bounds, properties)[0] == known[release]


@pytest.mark.parametrize(("release", "owner"), [("3.4.0", 1), ("3.4.1", 2)])
def test_who_gets_a_partition_that_is_claimed_for_an_older_generation(release: str, owner: int) -> None:
    """KAFKA-14639: member 2 has missed a generation. Before the fix, its claim is not believed, and its partition is
    given away before it is revoked. The search for this takes seconds.
    """
    members = (
        Member(0, claims=frozenset({0}), claimed_since=2),
        Member(1, claimed_since=2),
        Member(2, claims=frozenset({1}), claimed_since=1),
    )
    column = GROUP.column_of(f"group/{release}")
    assert column is not None
    plan = assigned(members, Bounds(partitions=2, cooperative=True), column.protocol())
    assert [own for own, partitions in plan if 1 in partitions] == [owner]


@pytest.mark.parametrize(("release", "bounds"), [("2.8", only(pauses=1)), ("3.4.0", only(rejoins=1, clients=3))])
def test_an_eager_group_has_none_of_the_bugs_of_cooperative_ones(release: str, bounds: dict[str, int]) -> None:
    assert violated(f"group/{release}", bounds, ["assignment_disjoint", "one_owner_among_members"])[0] == {}


@pytest.mark.parametrize("rule", ["claims=highest-generation", "fenced_while_joining=gives-up"])
def test_either_of_two_fixes_ends_what_2_8_does_with_claims(rule: str) -> None:
    """KAFKA-12984 does not believe the claims, and KAFKA-12983 does not make them."""
    assert violated(f"group/2.8+{rule}", only(pauses=1) | COOPERATIVE, ["assignment_disjoint"])[0] == {}


def test_a_failover_forgets_the_timer_for_sync_requests() -> None:
    """Without a ticket: a new coordinator does not know who has not sent SyncGroup (GroupCoordinator.onGroupLoaded)."""
    assert violated("group/3.4.1", only(mutes=1), STALLS)[0] == {}
    found, _ = violated("group/3.4.1", only(mutes=1, failovers=1), STALLS)
    assert set(found) >= {"group_recovers"}


# --- commits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "transactional", "expected"),
    [("2.2", False, False), ("2.2", True, True), ("2.5", True, False), ("3.4.1", False, False)],
)
def test_a_late_commit_is_accepted_from_the_assignee_only(release: str, transactional: bool, expected: bool) -> None:
    """KIP-447 compares the generation of commits within transactions."""
    bounds = only(pauses=1, delayed=1) | {"transactional": transactional}
    assert bool(violated(f"group/{release}", bounds, ["commit_by_assignee"])[0]) == expected


# --- sizes, designs, witnesses ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "bounds", "counts"),
    [
        ("group/0.10.1", NOTHING_FAILS, (36, 44, 9)),
        ("group/3.4.1", NOTHING_FAILS, (45, 58, 11)),
        ("group/3.4.1", NOTHING_FAILS | COOPERATIVE, (77, 92, 18)),
        ("group/3.4.1", NOTHING_FAILS | COOPERATIVE | {"clients": 3}, (2_034, 3_297, 29)),
        ("group/3.4.1", {}, (3_447, 5_914, 24)),
    ],
)
def test_safety_holds_with_pinned_counts(spec: str, bounds: dict[str, int], counts: tuple[int, int, int]) -> None:
    assert violated(spec, bounds, SAFETY) == ({}, counts)


@pytest.mark.parametrize("static", [False, True])
def test_the_newest_release_settles_whatever_happens_once(static: bool) -> None:
    assert violated("group/3.4.1", {"static": static}, STALLS)[0] == {}


@pytest.mark.parametrize(("name", "cooperative"), [("group/2.8", False), ("group/3.0", True)])
def test_the_engines_agree(name: str, cooperative: bool) -> None:
    found = []
    for engine in ("oracle", "compiled"):
        spec = load_spec(name).with_bounds(only(failovers=1) | {"cooperative": cooperative})
        spec = spec.with_properties([*SAFETY, "group_recovers"])
        result = ENGINES[engine](spec, Limits(keep_going=True))
        counts = result.statistics
        verdicts = [(item.property.name, item.verdict, len(item.traces)) for item in result.properties]
        found.append((verdicts, counts.distinct, counts.generated, counts.depth))
    assert found[0] == found[1]


def test_what_is_violated_by_design_is_violated_in_the_newest_release() -> None:
    names = [item.name for item in BY_DESIGN]
    assert set(violated("group/3.4.1", only(pauses=1), names)[0]) == {"one_reader"}
    assert set(violated("group/3.4.1", only(failovers=1), names)[0]) == {"generation_known"}


def test_every_witness_is_reached() -> None:
    result = ENGINES["oracle"](load_spec("group/3.4.1").with_bounds(NOTHING_FAILS).with_properties(WITNESSES))
    assert [item.verdict for item in result.properties] == [Verdict.HOLDS] * len(WITNESSES)


def taken() -> dict[tuple[str, str], set[str]]:
    """The actions that take each transition of the coordinator's state in the newest release, without failovers."""
    spec: Spec[Classic] = GROUP.spec(COLUMNS[-1])
    frontier = list(spec.initials())
    seen, found = set(frontier), dict[tuple[str, str], set[str]]()
    while frontier:
        state = frontier.pop()
        for instance in spec.instances:
            if instance.action.name == "fail_over":
                continue
            for after in instance.successors(state):
                if state.group.state != after.group.state:
                    found.setdefault((state.group.state, after.group.state), set()).add(instance.action.name)
                if after not in seen:
                    seen.add(after)
                    frontier.append(after)
    return found


def test_every_transition_of_the_coordinators_table_is_taken_as_the_guide_says() -> None:
    """Kafka's table has Dead, too, which a group enters when it is unloaded or deleted."""
    found = taken()
    assert set(found) == {(before, after) for after, sources in BEFORE.items() for before in sources}
    guide = (Path(__file__).parents[2] / "model" / "groups.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| (\w+) \| ((?:`\w+`(?:, )?)+) \|$", guide, re.MULTILINE)
    assert {(before, after): set(re.findall(r"\w+", actions)) for before, after, actions in rows} == found


# --- mutants ------------------------------------------------------------------------------------------------------

KILLED_BY: dict[str, set[str]] = {
    "given-before-revoked": {"one_owner_among_members"},
    "members-not-awaited": {"one_owner_among_members"},
    "fenced-keeps-partitions": {"one_owner_among_members"},
    "generations-not-compared": {"commit_by_assignee"},
    "commits-in-completing": set(),
}


@pytest.mark.parametrize("mistake", MISTAKES, ids=[each.name for each in MISTAKES])
def test_a_mistake_is_noticed(mistake: Mistake) -> None:
    spec = GROUP.with_mistake(mistake, COLUMNS[-1]).with_bounds(COOPERATIVE)
    result = ENGINES["oracle"](spec.with_bounds(mistake.bounds).with_properties(SAFETY))
    assert {item.property.name for item in result.properties if item.traces} == KILLED_BY[mistake.name]
    assert (result.verdict is Verdict.HOLDS) == bool(mistake.harmless)


@pytest.mark.parametrize(
    ("rule", "value", "noticed"),
    [
        ("transactional_commit", "anyone", {"commit_by_assignee"}),
        ("illegal_generation", "forgets-id", {"member_id_kept"}),
        ("sync_timer", "none", {"stable_at_rest"}),
        ("fenced_while_joining", "keeps", {"one_owner_among_members"}),
        ("offset_expiry", "each-commit", {"acknowledged_offsets_kept"}),
        ("lost_commit", "acknowledged", {"acknowledged_offsets_kept"}),
        *((rule, value, set()) for rule, value in RIGHT_TOO),
    ],
)
def test_the_old_rule_of_a_bug_is_noticed(rule: str, value: str, noticed: set[str]) -> None:
    """A new member that is gone is removed by the timer for SyncGroup requests, and claims that are not made may be
    believed: of two fixes, either is enough.
    """
    bounds = RULES_SHOWN_WITH.get((rule, value), {})
    spec = GROUP.spec(COLUMNS[-1].with_rules({rule: value}))
    assert set(violated(spec, bounds, SAFETY)[0]) == noticed


# --- the table of rules -------------------------------------------------------------------------------------------


def test_rules_set_the_fields_of_a_protocol_once() -> None:
    fields = [field for rule in RULES for field in rule.values[0].sets]
    assert len(fields) == len(set(fields))
    assert set(fields) <= set(Protocol.__annotations__)


def test_every_published_release_is_a_name() -> None:
    assert all(GROUP.find(f"group/{version}") is not None for version in PUBLISHED)
    names = [name for column in COLUMNS for name in (column.name, *column.aliases)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("release", "setting", "said"),
    [
        ("2.3", "cooperative", "Kafka has cooperative=true since 2.4.0"),
        ("2.2.1", "static", "Kafka has static=true since 2.3.0"),
        ("2.4", "cooperative", ""),
        ("2.3.0+claims=newest", "static", ""),
    ],
)
def test_a_setting_that_a_release_does_not_have_is_named(release: str, setting: str, said: str) -> None:
    assert too_early(load_spec(f"group/{release}").with_bounds({setting: True})) == said


def test_groups_that_change_their_protocol_are_too_early_for_3_7() -> None:
    said = [too_early(load_spec(f"group/3.{each}-consumer").with_bounds({"classic_members": 1})) for each in (7, 8)]
    assert said == ["Kafka has classic_members=1 since 3.8.0", ""]
