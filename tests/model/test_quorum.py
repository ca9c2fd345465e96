"""KRaft's quorum: the known bugs by release, sizes next to those of another reading, and mistakes that are noticed.

The figures are from our own runs, except those of `ANOTHER_READING`.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator
from typing import Any

import attrs
import pytest

from leadline.checker import Limits, Result, Spec, SpecError, Verdict, action, witness
from leadline.checker.engines import ENGINES
from leadline.invariants.families.quorum import PROPERTIES, QUORUM
from leadline.model.kafka.published import between
from leadline.model.mistakes import Mistake
from leadline.model.raft import elections
from leadline.model.raft.actions import delete_segments
from leadline.model.raft.bounds import nodes
from leadline.model.raft.drawing import rows
from leadline.model.raft.explanation import events
from leadline.model.raft.mistakes import MISTAKES, RIGHT_TOO, RULES_SHOWN_WITH
from leadline.model.raft.protocols import Protocol
from leadline.model.raft.releases import COLUMNS
from leadline.model.raft.replication import is_before_snapshot
from leadline.model.raft.rules import RULES
from leadline.model.raft.state import (
    CANDIDATE,
    DEAD,
    FOLLOWER,
    NONE,
    PROSPECTIVE,
    RESIGNED,
    UNATTACHED,
    Node,
    Quorum,
    Record,
)
from leadline.reports.loading import load_spec

SAFETY = [item.name for item in PROPERTIES if not item.kind.is_witness]
BASE = QUORUM.columns[-2]
ONE_EPOCH = {"max_epoch": 1, "values": 0}


def search(spec: str | Spec[Any], bounds: dict[str, int], properties: list[str]) -> Result:
    """Search until a property is violated."""
    found = load_spec(spec) if isinstance(spec, str) else spec
    return ENGINES["compiled"](found.with_bounds(bounds).with_properties(properties))


def lengths(result: Result) -> dict[str, int]:
    """The lengths of the traces of the violated properties. Without any, everything was searched."""
    found = {item.property.name: len(item.traces[0]) for item in result.properties if item.traces}
    assert found or result.exhausted
    return found


TICKETS: dict[str, tuple[dict[str, int], list[str], dict[str, dict[str, int]]]] = {
    "KAFKA-12181": (
        ONE_EPOCH | {"cuts": 1},
        ["followers_accepted"],
        {"2.8.2": {"followers_accepted": 7}, "3.0.0": {}},
    ),
    "KAFKA-14205: two leaders": (
        ONE_EPOCH | {"disks": 1},
        ["one_leader_per_epoch_of_quorum"],
        {"3.9.0": {"one_leader_per_epoch_of_quorum": 6}, "4.4.0": {"one_leader_per_epoch_of_quorum": 8}},
    ),
    "KAFKA-14205: a committed record is lost": (
        ONE_EPOCH | {"disks": 1},
        ["quorum_leader_complete"],
        {"3.9.0": {"quorum_leader_complete": 9}, "4.4.0": {"quorum_leader_complete": 10}},
    ),
    "KAFKA-14205, kraft.version 1": (
        ONE_EPOCH | {"disks": 1, "dynamic": True},
        ["one_leader_per_epoch_of_quorum", "quorum_leader_complete"],
        {"3.9.0": {}},
    ),
    "an unreadable quorum-state file": (
        ONE_EPOCH | {"files": 1},
        ["one_leader_per_epoch_of_quorum"],
        {"3.7.2": {"one_leader_per_epoch_of_quorum": 6}, "3.8.0": {}},
    ),
    "static voters changed on one node": (
        ONE_EPOCH | {"configurations": 2},
        ["one_leader_per_epoch_of_quorum"],
        {"3.7.2": {}, "3.8.0": {"one_leader_per_epoch_of_quorum": 6}},
    ),
    "KAFKA-17333": (
        {"max_epoch": 2, "values": 0, "restarts": 1},
        ["active_controller_complete"],
        {"3.7.0": {}, "3.7.1": {"active_controller_complete": 9}, "3.9.0": {}},
    ),
    "KAFKA-14238": (
        ONE_EPOCH | {"snapshots": 1},
        ["deleted_records_in_snapshot"],
        {"3.2.3": {"deleted_records_in_snapshot": 7}, "3.3.0": {}},
    ),
    "KAFKA-15312": (
        ONE_EPOCH | {"snapshots": 1, "power_losses": 1},
        ["deleted_records_in_snapshot"],
        {"3.5.1": {"deleted_records_in_snapshot": 10}, "3.5.2": {}},
    ),
    "KAFKA-15489": (
        ONE_EPOCH | {"early": 0, "deaths": 2},
        ["isolated_leader_resigns"],
        {"3.6.2": {"isolated_leader_resigns": 5}, "3.7.0": {}},
    ),
    "KAFKA-16164 (KIP-996)": (
        ONE_EPOCH | {"links": 2},
        ["isolated_voter_waits"],
        {"3.9.2": {"isolated_voter_waits": 4}, "4.0.0": {}},
    ),
    "a follower lacks the record that adds its leader": (
        {"max_epoch": 2, "values": 0, "nodes": 3, "observers": 1, "dynamic": True, "changes": 1, "restarts": 1},
        ["halts"],
        {"3.9.1": {"halts": 9}},
    ),
    "a former candidate restarts": (
        ONE_EPOCH | {"restarts": 1},
        ["halts"],
        {"3.9.2": {}, "4.0.0": {"halts": 10}},
    ),
}


@pytest.mark.parametrize(
    ("ticket", "release"), [(ticket, release) for ticket, (*_, known) in TICKETS.items() for release in known]
)
def test_a_ticket_is_violated_where_it_was_and_holds_where_it_was_fixed(ticket: str, release: str) -> None:
    bounds, properties, known = TICKETS[ticket]
    assert lengths(search(f"quorum/{release}", bounds, properties)) == known[release]


def test_the_earliest_snapshot_decides_who_gets_the_latest_one() -> None:
    """`validateOffsetAndEpoch` compares with the earliest snapshot, which remains until the log moves."""
    state: Any = load_spec("quorum/4.0").with_bounds({"snapshots": 2}).initials()[0]
    log = tuple(Record(epoch, 0) for epoch in (1, 1, 2, 2))
    follower = Node(log=log[:1])
    one = Node(log=log, high_watermark=4).with_snapshots((3,))
    both = one.with_snapshots((1, 3))
    assert [is_before_snapshot(state.protocol, each, follower) for each in (one, both)] == [True, False]
    moved = [after.nodes[0] for after in delete_segments.function(state.with_node(0, both), 0)]
    assert [(node.start, node.snapshots) for node in moved] == [(1, (1, 3)), (3, (3,))]
    (again,) = delete_segments.function(state.with_node(0, moved[0]), 0)
    assert again.nodes[0] == moved[1]


BOUND_TO_ANOTHER = ("time_out(own=2)", "ask_vote(own=2, other=1)", "begin_epoch(own=2, other=0)")


@pytest.mark.parametrize(("release", "role"), [("3.8", DEAD), ("3.9", UNATTACHED), ("4.0", UNATTACHED)])
def test_a_node_whose_voters_lack_its_leader_does_not_start_or_waits_for_it(release: str, role: str) -> None:
    """To 3.8, a node knows where its voters are only. Later, messages say where their sender is."""
    steps = BOUND_TO_ANOTHER if release < "4" else (*BOUND_TO_ANOTHER[:2], *BOUND_TO_ANOTHER[1:])
    spec: Spec[Quorum] = load_spec(f"quorum/{release}").with_bounds({"configurations": 1})  # type: ignore[assignment]
    instances = {str(instance): instance for instance in spec.instances}
    (state,) = spec.initials()
    for name in (*steps, "change_configuration(own=0, other=2)"):
        (state,) = instances[name].successors(state)
    assert (state.nodes[0].role, state.nodes[0].leader, state.nodes[0].unreachable) == (role, 2, True)
    told = list(instances["begin_epoch(own=2, other=0)"].successors(state))
    assert [after.nodes[0].role for after in told] == ([] if role == DEAD else [FOLLOWER])
    assert not list(instances["fetch(own=0, other=2)"].successors(state))


def test_a_leader_that_restarts_tells_others_that_it_led() -> None:
    spec: Spec[Quorum] = load_spec("quorum/3.9").with_bounds({"restarts": 1})  # type: ignore[assignment]
    instances = {str(instance): instance for instance in spec.instances}
    (state,) = spec.initials()
    for name in (*BOUND_TO_ANOTHER[:2], "restart(own=2)", "end_epoch(own=2, other=0)", "end_epoch(own=2, other=1)"):
        (state,) = instances[name].successors(state)
    assert [(node.role, node.leader) for node in state.nodes] == [(FOLLOWER, 2), (FOLLOWER, 2), (RESIGNED, 2)]


def test_the_explanation_names_the_belief_that_is_out_of_date() -> None:
    result = search("quorum/4.0", ONE_EPOCH | {"restarts": 1}, ["halts"])
    (trace,) = (trace for item in result.properties for trace in item.traces)
    told = [event.text for event in events(list(trace.steps))]
    assert told[-1].startswith("node 1 stops by itself: it voted for itself in epoch 1")
    assert "node 0 leads epoch 1, with the votes of [0, 2]" in told
    last = rows(trace.states[-1])
    assert {name: row.columns.get("role") for name, row in last.items()} == {
        "node 0": "leader",
        "node 1": "halted",
        "node 2": "unattached",
        "committed": None,
    }
    assert last["node 1"].columns["log"] == "L0@1"
    assert last["node 1"].columns["leader"] == "-", "a candidate forgets at its start that it followed a leader"


# --- sizes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "bounds", "counts"),
    [
        ("2.8", {"max_epoch": 2, "values": 0}, (1_977, 5_779, 15)),
        ("3.9.1", {"max_epoch": 2, "values": 0}, (2_139, 8_362, 13)),
        ("4.0", {"max_epoch": 1}, (908, 2_707, 14)),
        ("4.0", {"max_epoch": 2, "values": 0}, (6_158, 26_716, 17)),
        ("3.9.1", ONE_EPOCH | {"nodes": 5}, (24_237, 197_971, 15)),
    ],
)
def test_safety_holds_with_pinned_counts(release: str, bounds: dict[str, int], counts: tuple[int, int, int]) -> None:
    result = search(f"quorum/{release}", bounds, SAFETY)
    assert lengths(result) == {}
    assert (result.statistics.distinct, result.statistics.generated, result.statistics.depth) == counts


ANOTHER_READING: dict[str, tuple[dict[str, int], int]] = {
    "nothing": (ONE_EPOCH, 682),
    "a value": ({"max_epoch": 1, "values": 1}, 2_418),
    "a resignation": ({"max_epoch": 1, "values": 1, "resignations": 1}, 4_274),
}
"""States of a model that somebody else made of the same sources, up to the names of voters. It also remembers who has
refused a vote, gives an election up at once when a majority has refused, and begins elections in the last epoch, too.
"""
REFUSED = 100
"""Added to the voters that refused, to keep them in the same set."""


@action("", own=nodes, other=nodes)
def ask(state: Quorum, own: int, other: int) -> Iterator[Quorum]:
    """Ask for a vote or a pre-vote, as the other model does."""
    node = state.nodes[own]
    pre_vote = node.role == PROSPECTIVE
    if own == other or node.role not in (CANDIDATE, PROSPECTIVE) or {other, other + REFUSED} & node.granted:
        return
    asked, error, granted = elections.handle_vote(state, own, other, pre_vote=pre_vote)
    heard, counts = elections.answered(state.protocol, own, node, error, asked)
    state = state.with_node(other, asked).with_node(own, heard)
    if not counts or heard != node:
        yield state
        return
    known = node.granted | {other if granted else other + REFUSED}
    majority = state.bounds.nodes // 2 + 1
    won = granted and 1 + sum(each < REFUSED for each in known) >= majority
    lost = pre_vote and sum(each >= REFUSED for each in known) >= majority
    if won and pre_vote and node.epoch == state.bounds.max_epoch:
        yield state
        return
    state = state.with_node(own, attrs.evolve(node, granted=known))
    if won:
        state = elections.campaigning(state, own) if pre_vote else elections.leading(state, own)
    elif lost and not granted:
        state = state.with_node(own, node.entering(UNATTACHED if node.leader == NONE else FOLLOWER))
    yield state


@action("", own=nodes)
def time_out_always(state: Quorum, own: int) -> Iterator[Quorum]:
    """Let a timer pass, also in the last epoch."""
    node = state.nodes[own]
    if node.role in (UNATTACHED, FOLLOWER, CANDIDATE):
        yield state.with_node(own, node.entering(PROSPECTIVE))
    elif node.role == PROSPECTIVE:
        yield state.with_node(own, node.entering(UNATTACHED if node.leader == NONE else FOLLOWER))
    elif node.role == RESIGNED and node.epoch < state.bounds.max_epoch:
        yield state.with_node(own, elections.unattached(node, node.epoch + 1))


def canonical(state: Quorum) -> Hashable:
    """The state up to the names of voters, with records that are known by their epochs."""
    found = []
    for order in itertools.permutations(range(state.bounds.nodes)):
        names = {old: new for new, old in enumerate(order)} | {NONE: NONE}
        names |= {old + REFUSED: new + REFUSED for new, old in enumerate(order)}
        found.append(
            tuple(
                (
                    *(node.role, node.epoch, names[node.leader], names[node.vote], node.high_watermark, node.fetched),
                    tuple(record.epoch for record in node.log),
                    tuple(sorted(names[each] for each in node.granted)),
                    tuple(node.ends[old] for old in order) if node.ends else (),
                )
                for node in (state.nodes[old] for old in order)
            )
        )
    return min(found), state.values, state.spent, tuple(record.epoch for record in state.committed)


@pytest.mark.parametrize("name", ANOTHER_READING)
def test_sizes_are_those_of_another_reading_of_the_same_sources(name: str) -> None:
    bounds, expected = ANOTHER_READING[name]
    spec: Spec[Quorum] = QUORUM.spec(COLUMNS[-1]).with_bounds(bounds)
    replaced: dict[str, Any] = {"ask_vote": ask, "time_out": time_out_always}
    spec = attrs.evolve(spec, actions=[replaced.get(each.name, each) for each in spec.actions], optional=(), cut=None)
    frontier = list(spec.initials())
    seen = {canonical(state) for state in frontier}
    while frontier:
        state = frontier.pop()
        for instance in spec.instances:
            for after in instance.successors(state):
                form = canonical(after)
                if form not in seen:
                    seen.add(form)
                    frontier.append(after)
    assert len(seen) == expected


def test_the_engines_agree() -> None:
    found = []
    for engine in ("oracle", "compiled"):
        spec = load_spec("quorum/3.9").with_bounds(ONE_EPOCH | {"disks": 1})
        result = ENGINES[engine](spec.with_properties([*SAFETY, "quorum_recovers"]), Limits(keep_going=True))
        counts = result.statistics
        verdicts = [(item.property.name, item.verdict, len(item.traces)) for item in result.properties]
        found.append((verdicts, counts.distinct, counts.generated, counts.depth))
    assert found[0] == found[1]


# --- changes of voters --------------------------------------------------------------------------------------------

TWO_LEADERS_CHANGE_VOTERS = (
    *("time_out(own=0)", "ask_vote(own=0, other=1)", "ask_vote(own=0, other=2)", "change_voters(own=0, other=3)"),
    *("time_out(own=2)", "ask_vote(own=2, other=1)", "ask_vote(own=2, other=3)", "change_voters(own=2, other=0)"),
    *("begin_epoch(own=2, other=3)", *["fetch(own=3, other=2)"] * 3),
    *("begin_epoch(own=0, other=1)", "time_out(own=0)", "ask_vote(own=0, other=1)"),
)
"""Raft's bug: a leader changes the voters and commits nothing, the next one does so, too, and the first is elected."""
FOUR_NODES = {"nodes": 4, "max_epoch": 3, "values": 0, "dynamic": True, "changes": 2}


@pytest.mark.parametrize("after_commit", [True, False])
def test_voters_change_only_after_a_leader_has_committed_in_its_epoch(after_commit: bool) -> None:
    protocol = attrs.evolve(BASE.protocol(), changes_after_commit=after_commit)
    spec: Spec[Quorum] = QUORUM.spec(BASE, protocol).with_bounds(FOUR_NODES)
    instances = {str(instance): instance for instance in spec.instances}
    (state,) = spec.initials()
    for name in TWO_LEADERS_CHANGE_VOTERS:
        found = list(instances[name].successors(state))
        if after_commit and name.startswith("change_voters"):
            assert found == []
            return
        (state,) = found
    complete = next(item for item in spec.properties if item.name == "quorum_leader_complete")
    assert not complete(state)


def test_a_voter_is_added_and_removed() -> None:
    bounds = ONE_EPOCH | {"observers": 1, "dynamic": True, "changes": 2}
    spec: Spec[Quorum] = QUORUM.spec(BASE).with_bounds(bounds)
    voters = witness("the voters have changed twice")(twice_changed)
    result = ENGINES["compiled"](attrs.evolve(spec, properties=[*spec.properties, voters]))
    assert result.verdict is Verdict.HOLDS


def twice_changed(state: Quorum) -> bool:
    return sum(record.voters is not None for record in state.committed) > 1


def test_a_release_without_kraft_version_1_refuses_it() -> None:
    with pytest.raises(SpecError, match="since 3"):
        search("quorum/3.8", {"dynamic": True}, SAFETY)


# --- liveness -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("release", ["2.8", "3.9.1", "4.0"])
def test_a_leader_is_possible_again_after_a_death(release: str) -> None:
    bounds = ONE_EPOCH | {"early": 0, "deaths": 1}
    assert lengths(search(f"quorum/{release}", bounds, ["quorum_recovers"])) == {}


def test_no_leader_is_possible_without_a_majority() -> None:
    bounds = ONE_EPOCH | {"early": 0, "deaths": 2}
    assert "quorum_recovers" in lengths(search("quorum/4.0", bounds, ["quorum_recovers"]))


# --- mutants ------------------------------------------------------------------------------------------------------

KILLED_BY: dict[str, set[str]] = {
    "older-epoch-committed": {"quorum_leader_complete"},
    "commits-at-epoch-start": {"quorum_leader_complete"},
    "shorter-log-elected": {"quorum_leader_complete"},
    "two-votes": {"one_leader_per_epoch_of_quorum", "quorum_log_matching"},
    "file-not-written": {"one_leader_per_epoch_of_quorum", "quorum_log_matching", "halts"},
    "leader-resumes": {"quorum_log_matching"},
    "acknowledged-unflushed": {"quorum_leader_complete"},
    "two-changes": {"quorum_leader_complete"},
    "watermark-inherited": {"announced_watermark_monotonic"},
    "uncommitted-in-snapshot": {"snapshots_committed"},
}


@pytest.mark.parametrize("mistake", MISTAKES, ids=[each.name for each in MISTAKES])
def test_a_mistake_is_noticed(mistake: Mistake) -> None:
    found = lengths(search(QUORUM.with_mistake(mistake, BASE), dict(mistake.bounds), SAFETY))
    assert set(found) == KILLED_BY[mistake.name]


OTHERS = [(rule.name, other.name) for rule in RULES for other in rule.others(BASE.values[rule.name])]


@pytest.mark.parametrize(("rule", "value"), OTHERS)
def test_another_value_of_a_rule_is_noticed_or_does_no_harm(rule: str, value: str) -> None:
    bounds = dict(RULES_SHOWN_WITH[rule, value])
    found = lengths(search(QUORUM.spec(BASE.with_rules({rule: value})), bounds, SAFETY))
    assert bool(found) != ((rule, value) in RIGHT_TOO)


# --- the table of rules -------------------------------------------------------------------------------------------


def test_rules_set_the_fields_of_a_protocol_once() -> None:
    fields = [field for rule in RULES for field in rule.values[0].sets]
    assert len(fields) == len(set(fields))
    assert set(fields) <= set(Protocol.__annotations__)


def test_every_published_release_with_kraft_is_a_name() -> None:
    assert all(QUORUM.find(f"quorum/{version}") is not None for version in between("2.8.0", "4.4.0"))
    assert QUORUM.find("quorum/2.7") is None
    names = [name for column in QUORUM.columns for name in (column.name, *column.aliases)]
    assert len(names) == len(set(names))
