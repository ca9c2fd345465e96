"""KRaft in finer steps: late records, reassignment and log directories, each by a behaviour written by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from leadline.checker import Spec
from leadline.checker.engines.compiled import explore
from leadline.checker.result import Verdict
from leadline.invariants.assignment import added_or_removed, completion_keeps_min_isr, reassignment_as_asked
from leadline.invariants.candidates import isr_within_replicas
from leadline.invariants.catalog import find
from leadline.invariants.promises import durable_as_promised
from leadline.model.kafka.assignment import (
    Assignment,
    changed_to,
    completed,
    reverted,
    when_all_are_in_sync,
    when_the_added_are_in_sync,
    when_the_added_are_in_sync_or_all,
)
from leadline.model.kafka.bounds import Bounds
from leadline.model.kafka.broker import ANSWERED, BEHIND, CURRENT, UNKNOWN_OFFSET, Replica
from leadline.model.kafka.drawing import rows
from leadline.model.kafka.high_watermark import smallest_leo
from leadline.model.kafka.reassign import targets
from leadline.model.kafka.state import Partition
from leadline.model.log import Record
from leadline.model.quorum import Quorum
from tests.model.kafka_states import OF_RELEASE

SAFE: Mapping[str, Any] = {"records": 1, "acks": "all", "min_insync_replicas": 2, "isr_shrinks": 1}
"""The settings with which Kafka promises that an acknowledged record survives."""

REPLICATED = (
    "produce(leader=0)",
    "handle_fetch(leader=0, follower=1)",
    "handle_fetch_response(follower=1)",
    "handle_fetch(leader=0, follower=1)",
)
"""A record is written, fetched by broker 1, and acknowledged."""


KRAFT: Mapping[str, bool] = {"replaces_added": False, "replaces_removed": False}
"""What a release with KRaft does with the set that a new reassignment leaves empty."""


def release(name: str, **bounds: Any) -> Spec[Partition]:
    spec = find(name)
    assert spec is not None
    return spec.with_bounds({**SAFE, **bounds})


def after(spec: Spec[Partition], *steps: str, start: Partition | None = None) -> Partition:
    """The state after steps. A step is the name of an action instance, and with ``/n`` its next state number n."""
    named = {repr(instance): instance for instance in spec.instances}
    (state,) = [start] if start is not None else spec.initials()
    for step in steps:
        name, _, number = step.partition("/")
        found = list(named[name].successors(state))
        assert found, f"{name} is not enabled"
        assert number or len(found) == 1, f"{name} has {len(found)} next states"
        state = found[int(number or 0)]
    return state


def enabled(spec: Spec[Partition], state: Partition, name: str) -> bool:
    named = {repr(instance): instance for instance in spec.instances}
    return bool(list(named[name].successors(state)))


def loses(state: Partition) -> bool:
    """Whether a leader lacks a record whose survival was promised."""
    return bool(list(durable_as_promised.complaints(state)))


# --- bounds ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["kafka/3.9-zk", "kafka/3.3", "kafka/4.3", "rpc/kip-320"])
def test_by_default_there_are_no_finer_steps(name: str) -> None:
    spec = release(name)
    finer = (
        "apply_record",
        "reassign",
        "cancel_reassignment",
        "delete_replica",
        "directory_fails",
        "directory_removed",
        "directory_replaced",
    )
    assert not [instance for instance in spec.instances if instance.action.name in finer]
    (state,) = spec.initials()
    assert state.assignment == Assignment((0, 1))
    assert all(replica.assigned is None for replica in state.replicas)


def test_fewer_replicas_than_brokers() -> None:
    (state,) = release("kafka/4.3", brokers=3, replicas=2).initials()
    assert state.quorum == Quorum(0, 0, frozenset({0, 1}))
    assert state.replicas[2] == Replica(), "it has no replica and no leader"
    assert state.replicas[0].remote_leos == (UNKNOWN_OFFSET, 0, UNKNOWN_OFFSET)


# --- late records -------------------------------------------------------------------------------------------------

ANSWER_BEFORE_RECORD = (
    "produce(leader=0)",
    "shrink_isr(leader=0, member=2)",
    "handle_alter_partition(leader=0)",
    "hear_isr(leader=0)/1",
    "handle_fetch(leader=0, follower=2)",
)
"""Broker 2 has left the ISR and is about to join it again; the leader has not applied the record of the first change.
"""

ACKNOWLEDGED_WITHOUT_2 = (
    "handle_fetch(leader=0, follower=1)",
    "handle_fetch_response(follower=1)",
    "handle_fetch(leader=0, follower=1)",
)


def test_a_leader_forgets_what_it_has_proposed_when_an_older_record_comes() -> None:
    spec = release("kafka/4.3", brokers=3, late_records=1)
    waiting = after(spec, *ANSWER_BEFORE_RECORD)
    assert waiting.replicas[0].metadata == ANSWERED
    assert waiting.replicas[0].maximal_isr == {0, 1, 2}
    forgot = after(spec, "apply_record(leader=0)", start=waiting)
    assert (forgot.replicas[0].metadata, forgot.replicas[0].maximal_isr) == (CURRENT, {0, 1})
    accepted = after(spec, "handle_alter_partition(leader=0)", start=forgot)
    assert accepted.quorum.isr == {0, 1, 2}, "the request was still on its way"


def test_a_record_is_lost_because_a_leader_has_forgotten_its_proposal() -> None:
    spec = release("kafka/4.3", brokers=3, late_records=1)
    steps = (*ANSWER_BEFORE_RECORD, "apply_record(leader=0)", "handle_alter_partition(leader=0)")
    state = after(spec, *steps, *ACKNOWLEDGED_WITHOUT_2, "crash(broker=0)/0")
    elections = [
        after(
            spec,
            f"controller_notices_failure(broker=0)/{number}",
            f"become_leader(broker={leader}, epoch=1)",
            start=state,
        )
        for number, leader in enumerate((1, 2))
    ]
    assert [loses(each) for each in elections] == [False, True]


def test_no_failure_is_needed_if_the_preferred_leader_has_left_and_joined() -> None:
    spec = release("kafka/4.3", brokers=3, late_records=1, reassignments=1, crashes=0)
    steps = (*ANSWER_BEFORE_RECORD, "apply_record(leader=0)", "handle_alter_partition(leader=0)")
    state = after(spec, *steps, *ACKNOWLEDGED_WITHOUT_2, "reassign(target=(2, 0, 1))", "controller_elects(broker=2)")
    assert loses(after(spec, "become_leader(broker=2, epoch=1)", start=state))


def test_a_leader_that_keeps_its_proposal_waits_for_the_joining_broker() -> None:
    spec = release("kafka/4.3+same_record=skipped", brokers=3, late_records=1)
    fetched = (*ACKNOWLEDGED_WITHOUT_2[:2], "park_fetch(leader=0, follower=1)")
    state = after(spec, *ANSWER_BEFORE_RECORD, "apply_record(leader=0)", *fetched)
    assert state.replicas[0].maximal_isr == {0, 1, 2}
    assert not state.acked


# --- reassignment: the assignment --------------------------------------------------------------------------------


def test_a_reassignment_adds_and_removes() -> None:
    moved = changed_to(Assignment((0, 1)), (2, 1), **KRAFT)
    assert moved == Assignment((2, 1, 0), frozenset({2}), frozenset({0}), frozenset({1, 2}), fewest=2)
    assert moved.final == {1, 2}
    assert reverted(moved) == Assignment((1, 0))


def test_an_assignment_is_drawn_with_what_is_added_and_removed() -> None:
    moved = changed_to(Assignment((0, 1)), (0, 2), **KRAFT)
    assert str(moved) == "0 +2 -1"
    assert str(changed_to(moved, (0, 1), **KRAFT)) == "0 1 +-2"
    (state,) = release("kafka/4.3", **TWO_OF_THREE).initials()
    drawn = rows(attrs.evolve(state, assignment=moved))
    roles = [drawn[f"broker {broker}"].columns["role"] for broker in range(3)]
    assert roles == ["leads", "follows 0 (removing)", "- (adding)"]
    assert drawn["controller"].columns["role"] == "leader: 0"
    assert drawn["controller"].columns["replicas"] == "0 2 1"
    assert "replicas: 0 2 1" in drawn["controller"].badges
    (ordinary,) = release("kafka/4.3").initials()
    assert "replicas" not in rows(ordinary)["controller"].columns


def test_an_override_keeps_the_sets_that_it_leaves_empty() -> None:
    moved = changed_to(Assignment((0, 1)), (0, 2), **KRAFT)
    back = changed_to(moved, (0, 1), **KRAFT)
    assert (back.adding, back.removing) == ({2}, {2}), "broker 2 is added and removed at once"
    more = changed_to(moved, (0, 1, 2), **KRAFT)
    assert (more.adding, more.removing, more.final) == ({2}, {1}, {0, 2}), "broker 1 is removed nevertheless"
    replaced = changed_to(moved, (0, 1, 2), replaces_added=True, replaces_removed=True)
    assert (replaced.adding, replaced.removing) == (set(), set())


@pytest.mark.parametrize(
    ("replicas", "target", "isr", "by_added", "by_all", "by_either"),
    [
        ((0, 1), (0, 2), (0, 1), False, False, False),
        ((0, 1), (0, 2), (1, 2), True, False, True),
        ((0, 1), (0, 2), (0, 2), True, True, True),
        ((0, 1, 2), (0, 3), (1, 2, 3), True, False, False),  # KAFKA-15665
        ((0, 1), (0, 1, 2), (0, 2), True, False, True),  # KAFKA-19975
        ((0, 1), (0,), (0, 1), True, True, True),
        ((0, 1), (0,), (1,), False, False, False),
    ],
)
def test_when_a_reassignment_completes(
    replicas: tuple[int, ...],
    target: tuple[int, ...],
    isr: tuple[int, ...],
    by_added: bool,
    by_all: bool,
    by_either: bool,
) -> None:
    moved = changed_to(Assignment(replicas), target, **KRAFT)
    rules = {
        when_the_added_are_in_sync: by_added,
        when_all_are_in_sync: by_all,
        when_the_added_are_in_sync_or_all: by_either,
    }
    for completes, expected in rules.items():
        done, rest = completed(moved, frozenset(isr), completes)
        assert done.in_progress != expected
        assert rest == (frozenset(isr) - moved.removing if expected else frozenset(isr))


@pytest.mark.parametrize(
    ("replicas", "target", "was", "joins", "below_in"),
    [
        ((0, 1, 2), (0, 3), (1, 2), 3, ["kafka/3.7"]),  # KAFKA-15665
        ((0, 1), (1, 2), (0,), 2, []),  # the ISR was as small before
        ((0, 1, 2), (3,), (0, 1, 2), 3, []),  # as the operator asks
    ],
)
def test_a_completion_that_leaves_too_small_an_isr(
    replicas: tuple[int, ...], target: tuple[int, ...], was: tuple[int, ...], joins: int, below_in: list[str]
) -> None:
    """Two replicas that replace two others can still be too few since 4.3, with min.insync.replicas=3."""
    assert _below(replicas, target, was, joins, min_isr=2) == below_in
    assert _below((0, 1, 2), (2, 3, 4), (0, 1, 3), 4, min_isr=3) == ["kafka/3.7", "kafka/4.3"]


def _below(
    replicas: tuple[int, ...], target: tuple[int, ...], was: tuple[int, ...], joins: int, *, min_isr: int
) -> list[str]:
    """The releases in which a reassignment completes with too small an ISR when a broker joins."""
    found = []
    for name in ("kafka/3.7", "kafka/3.8", "kafka/4.1", "kafka/4.3"):
        (first,) = release(name, brokers=5, replicas=len(replicas), min_insync_replicas=min_isr).initials()
        moved = changed_to(Assignment(replicas), target, **KRAFT)
        before = attrs.evolve(first, assignment=moved, quorum=attrs.evolve(first.quorum, isr=frozenset(was)))
        done, isr = completed(moved, frozenset({*was, joins}), OF_RELEASE[name].completes)
        now = attrs.evolve(before, assignment=done, quorum=attrs.evolve(first.quorum, isr=isr))
        found += [name] if list(completion_keeps_min_isr.complaints(before, now)) else []
    return found


def test_a_reassignment_waits_for_a_broker_that_is_added_and_removed_in_3_7_and_4_3_but_not_in_between() -> None:
    back = changed_to(changed_to(Assignment((0, 1)), (0, 2), **KRAFT), (0, 1), **KRAFT)
    for isr in (frozenset({0, 1}), frozenset({0, 1, 2})):
        ends = {
            name: completed(back, isr, OF_RELEASE[name].completes)[0]
            for name in ("kafka/3.7", "kafka/4.1", "kafka/4.3")
        }
        assert [not each.in_progress for each in ends.values()] == [False, True, False]


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("kafka/3.7", when_the_added_are_in_sync),
        ("kafka/3.8", when_all_are_in_sync),
        ("kafka/4.1", when_all_are_in_sync),
        ("kafka/4.3", when_the_added_are_in_sync_or_all),
    ],
)
def test_the_rule_of_a_release(name: str, rule: object) -> None:
    assert OF_RELEASE[name].completes is rule


def test_an_operator_asks_for_a_preferred_leader_and_a_set() -> None:
    assert targets(Bounds(brokers=2)) == []
    assert targets(Bounds(brokers=2, reassignments=1)) == [(0,), (0, 1), (1,), (1, 0)]


# --- reassignment: brokers ------------------------------------------------------------------------------------------

TWO_OF_THREE: Mapping[str, Any] = {
    "brokers": 3,
    "replicas": 2,
    "reassignments": 2,
    "cancellations": 1,
    "max_epoch": 2,
    "crashes": 2,
}

ADDED = (
    "reassign(target=(0, 1, 2))",
    "apply_record(leader=0)",
    "become_follower(broker=2, epoch=0)",
    "handle_fetch(leader=0, follower=2)",
    "handle_fetch_response(follower=2)",
    "park_fetch(leader=0, follower=2)",
    "handle_alter_partition(leader=0)",
)
"""Broker 2 is added and joins the ISR."""


def test_a_leader_that_does_not_know_of_a_reassignment_refuses_the_new_broker_and_is_refused() -> None:
    spec = release("kafka/4.3", **TWO_OF_THREE)
    state = after(spec, "produce(leader=0)", "reassign(target=(0, 1, 2))", "become_follower(broker=2, epoch=0)")
    assert state.replicas[0].metadata == BEHIND
    assert not enabled(spec, state, "handle_fetch(leader=0, follower=2)")
    refused = after(spec, "shrink_isr(leader=0, member=1)", "handle_alter_partition(leader=0)", start=state)
    assert refused.quorum.isr == {0, 1}
    assert not enabled(spec, refused, "hear_isr(leader=0)"), "the request waits for the record"
    told = after(spec, "apply_record(leader=0)", start=refused)
    assert (told.replicas[0].proposal, told.replicas[0].assigned) == (None, {0, 1, 2})


def test_an_addition_completes_without_a_leader_epoch_and_a_removal_begins_one() -> None:
    spec = release("kafka/4.3", **TWO_OF_THREE)
    grown = after(spec, *REPLICATED, *ADDED)
    assert grown.assignment == Assignment((0, 1, 2), fewest=2)
    assert (grown.quorum.epoch, grown.quorum.isr) == (0, {0, 1, 2})
    shrunk = after(spec, "reassign(target=(0, 2))", start=grown)
    assert shrunk.assignment == Assignment((0, 2))
    assert (shrunk.quorum.epoch, shrunk.quorum.leader, shrunk.quorum.isr) == (1, 0, {0, 2})
    deleted = after(spec, "delete_replica(broker=1, epoch=1)", start=shrunk)
    assert deleted.replicas[1] == Replica()
    assert not enabled(spec, shrunk, "become_follower(broker=1, epoch=1)")


def test_a_removed_leader_hands_over() -> None:
    spec = release("kafka/4.3", **TWO_OF_THREE)
    state = after(spec, *REPLICATED, *ADDED, "reassign(target=(1, 2))/1")
    assert (state.quorum.leader, state.quorum.isr, state.assignment.replicas) == (2, {1, 2}, (1, 2))


def test_a_broker_that_hears_of_both_at_once_keeps_its_log() -> None:
    spec = release("kafka/4.3", **{**TWO_OF_THREE, "reassignments": 3})
    state = after(spec, *REPLICATED, *ADDED, "reassign(target=(0, 2))", "reassign(target=(0, 1, 2))")
    kept = after(spec, "become_follower(broker=1, epoch=1)", start=state)
    assert kept.replicas[1].log.end_offset == 1
    deleted = after(spec, "delete_replica(broker=1, epoch=1)", "become_follower(broker=1, epoch=1)", start=state)
    assert deleted.replicas[1].log.end_offset == 0


ADDED_BROKER_CANCELLED = (
    *REPLICATED,
    "crash(broker=1)/0",
    "controller_notices_failure(broker=1)",
    *ADDED,
    "cancel_reassignment(request=0)",
)


def test_a_cancelled_replica_stays_in_the_elr_and_is_elected_without_its_log() -> None:
    spec = release("kafka/4.1", **TWO_OF_THREE)
    cancelled = after(spec, *ADDED_BROKER_CANCELLED)
    assert cancelled.assignment == Assignment((0, 1))
    assert (cancelled.quorum.isr, cancelled.quorum.elr, cancelled.quorum.epoch) == ({0}, {2}, 1)
    assert not isr_within_replicas.function(cancelled)
    again = after(
        spec, "delete_replica(broker=2, epoch=1)", "reassign(target=(0, 1, 2))", "crash(broker=0)/0", start=cancelled
    )
    state = after(spec, "controller_notices_failure(broker=0)", "become_leader(broker=2, epoch=2)", start=again)
    assert loses(state)
    assert state.spent.lossy_crashes == 0


def test_the_loss_is_gone_if_only_replicas_stay_in_the_elr() -> None:
    cancelled = after(release("kafka/4.1+elr_members=replicas", **TWO_OF_THREE), *ADDED_BROKER_CANCELLED)
    assert cancelled.quorum.elr == set()
    assert isr_within_replicas.function(cancelled)


def test_a_reassignment_that_is_accepted_and_ignored() -> None:
    spec = release("kafka/4.3", **TWO_OF_THREE)
    asked = after(spec, "reassign(target=(0, 2))")
    assert not list(reassignment_as_asked.complaints(asked))
    ignored = after(spec, "reassign(target=(0, 1, 2))", start=asked)
    assert list(reassignment_as_asked.complaints(ignored)) == [
        "an operator asked for the replicas 0 1 2, but the reassignment leads to 0 2"
    ]
    mended = release("kafka/4.3+override=replaced", **TWO_OF_THREE)
    replaced = after(mended, "reassign(target=(0, 2))", "reassign(target=(0, 1, 2))")
    assert not list(reassignment_as_asked.complaints(replaced))


def test_a_reassignment_that_adds_and_removes_a_broker_at_once() -> None:
    back = ("reassign(target=(0, 2))", "reassign(target=(0, 1))")
    both = after(release("kafka/4.3", **TWO_OF_THREE), *back)
    assert list(added_or_removed.complaints(both)) == ["broker 2 is being added and removed at once"]
    assert not list(reassignment_as_asked.complaints(both))
    replaced = after(release("kafka/4.3+override_added=replaced", **TWO_OF_THREE), *back)
    assert replaced.assignment == Assignment((0, 1)), "it completes at once"


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("kafka/4.3", Verdict.VIOLATED),
        ("kafka/4.1", Verdict.HOLDS),
        ("kafka/4.3+override_added=replaced", Verdict.HOLDS),
    ],
)
def test_a_reassignment_ends_unless_a_broker_is_added_and_removed_at_once(name: str, verdict: Verdict) -> None:
    bounds = {**TWO_OF_THREE, "records": 0, "crashes": 0, "isr_shrinks": 0, "reassignments": 2, "max_epoch": 1}
    spec = release(name, **{**bounds, "cancellations": 0}).with_properties(["reassignments_end"])
    (found,) = explore(spec).properties
    assert found.verdict is verdict


@pytest.mark.parametrize(
    ("targets_asked", "isr", "fewest"), [([(0, 2)], (0, 2), 2), ([(0,)], (0,), 1), ([(0,), (0, 1, 2)], (0, 1, 2), 1)]
)
def test_the_fewest_replicas_are_remembered(
    targets_asked: list[tuple[int, ...]], isr: tuple[int, ...], fewest: int
) -> None:
    state = Assignment((0, 1))
    for target in targets_asked:
        asked = changed_to(state, target, **KRAFT)
        state, _ = completed(asked, frozenset(target), when_all_are_in_sync)
    assert (state.replicas, state.fewest_replicas) == (isr, fewest)


# --- log directories ------------------------------------------------------------------------------------------------

DIRECTORY_GONE = (
    *REPLICATED,
    "begin_shutdown(broker=1)",
    "stop(broker=1)",
    "directory_removed(broker=1)",
    "restart(broker=1)",
)


def test_a_broker_without_its_directory_counts_as_stopped_cleanly() -> None:
    spec = release("kafka/4.3", lost_directories=1, shutdowns=1, crashes=1, max_epoch=1)
    back = after(spec, *DIRECTORY_GONE)
    assert (back.quorum.elr, back.replicas[1].log.end_offset) == ({1}, 0)
    state = after(spec, "crash(broker=0)/0", "controller_notices_failure(broker=0)", start=back)
    assert state.quorum.leader == 1
    assert loses(after(spec, "become_leader(broker=1, epoch=1)", start=state))


def test_a_broker_that_counts_as_stopped_uncleanly_leaves_the_elr() -> None:
    spec = release("kafka/4.3+directories=any-lost", lost_directories=1, shutdowns=1)
    assert after(spec, *DIRECTORY_GONE).quorum.elr == set()


def test_a_failed_directory_takes_the_replica_but_not_the_broker() -> None:
    spec = release("kafka/4.3", lost_directories=1)
    state = after(spec, *REPLICATED, "directory_fails(broker=0)")
    assert state.replicas[0] == Replica(offline=True)
    told = after(spec, "controller_notices_failure(broker=0)", start=state)
    assert (told.quorum.leader, told.quorum.isr, told.quorum.elr) == (1, {1}, {0})
    assert not told.may_elect(0)
    assert not enabled(spec, told, "become_follower(broker=0, epoch=1)"), "it has no replica until it restarts"
    assert not loses(after(spec, "become_leader(broker=1, epoch=1)", start=told))


def test_a_broker_with_one_directory_loses_it_as_a_whole() -> None:
    spec = release("kafka/3.6", lost_directories=1)
    assert not any(instance.action.name.startswith("directory") for instance in spec.instances)


def test_elections_in_the_order_of_the_replicas() -> None:
    ordered = release("kafka/4.3+election_order=replicas", brokers=3)
    state = after(ordered, "crash(broker=0)", "controller_notices_failure(broker=0)")
    assert state.quorum.leader == 1, "one next state: the first replica that is alive"


# --- min.insync.replicas, the ELR and late fetches -------------------------------------------------------------------

SHRUNK = (
    "raise_min_insync_replicas(request=0)",
    "produce(leader=0)",
    "shrink_isr(leader=0, member=1)",
    "handle_alter_partition(leader=0)",
)


def test_a_leader_that_has_not_applied_a_setting_acknowledges_alone() -> None:
    spec = release("kafka/4.3", min_isr_raises=1, max_epoch=1)
    shrunk = after(spec, *SHRUNK)
    assert shrunk.quorum.elr == {1}, "the controller uses the new value"
    assert after(spec, "hear_isr(leader=0)", start=shrunk).acked
    strict = after(spec, "apply_setting(broker=0)", "hear_isr(leader=0)", start=shrunk)
    assert not strict.acked
    at_once = release("kafka/4.3+min_isr_setting=at-once", min_isr_raises=1, max_epoch=1)
    assert not after(at_once, *SHRUNK, "hear_isr(leader=0)").acked


@pytest.mark.parametrize(("name", "elr"), [("kafka/4.3", set()), ("kafka/4.3+elr_min_isr=own", {1})])
def test_the_controller_counts_the_replicas_of_the_first_partition(name: str, elr: set[int]) -> None:
    spec = release(name, shutdowns=1, first_partition=1)
    assert after(spec, "begin_shutdown(broker=1)").quorum.elr == elr


@pytest.mark.parametrize(("name", "elr"), [("kafka/4.1", set()), ("kafka/4.1+directory_elr=kept", {1})])
def test_the_controller_clears_the_elr_when_it_is_told_of_a_directory(name: str, elr: set[int]) -> None:
    spec = release(name, lost_directories=1, shutdowns=1)
    back = after(spec, *DIRECTORY_GONE)
    is_told = any(instance.action.name == "assign_directory" for instance in spec.instances)
    assert is_told == (name == "kafka/4.1"), "otherwise it makes no difference"
    told = after(spec, "assign_directory(broker=1)", start=back) if is_told else back
    assert told.quorum.elr == elr


def test_an_update_clears_the_elr_and_the_last_known_leader() -> None:
    spec = release("kafka/4.3", min_isr_updates=1, crashes=1, shutdowns=1)
    down = after(spec, "begin_shutdown(broker=1)", "crash(broker=0)/0", "controller_notices_failure(broker=0)")
    assert (down.quorum.elr, down.quorum.last_known_leader) == ({0, 1}, 0)
    cleared = after(spec, "update_min_insync_replicas()", start=down)
    assert (cleared.quorum.elr, cleared.quorum.last_known_leader) == (set(), None)
    forgetful = release("kafka/4.3+last_known_leader=forgotten", crashes=1, shutdowns=1)
    down = after(forgetful, "begin_shutdown(broker=1)", "crash(broker=0)/0", "controller_notices_failure(broker=0)")
    assert down.quorum.last_known_leader is None


@pytest.mark.parametrize(("name", "counted"), [("kafka/4.3", False), ("kafka/4.3+late_fetch=counted", True)])
def test_a_fetch_of_an_earlier_life_is_refused(name: str, counted: bool) -> None:
    spec = release(name, brokers=3, late_fetches=1, crashes=1)
    steps = (*REPLICATED[:3], "delay_fetch(follower=1)", "crash(broker=1)/0", "controller_notices_failure(broker=1)")
    late = after(spec, *steps, "restart(broker=1)", "handle_late_fetch(leader=0, follower=1)")
    assert (late.replicas[0].remote_leos[1] == 1) == counted


# --- what leaders know of followers -----------------------------------------------------------------------------------


def test_the_high_watermark_waits_for_a_follower_outside_the_isr_that_has_caught_up() -> None:
    spec = release("kafka/4.3+hw_waits=caught-up", brokers=3, records=2, session_expiries=1, max_epoch=1)
    out = ("produce(leader=0)", "shrink_isr(leader=0, member=2)", "handle_alter_partition(leader=0)")
    fetched = ("handle_fetch(leader=0, follower=2)", "handle_fetch_response(follower=2)")
    state = after(spec, *out, "hear_isr(leader=0)", "session_expires(broker=0)/0", *fetched)
    assert state.replicas[0].caught_up == set(), "it did not have the record when it fetched"
    state = after(spec, "park_fetch(leader=0, follower=2)", start=state)
    waits = state.replicas[0]
    assert (waits.isr, waits.caught_up) == ({0, 1}, {2})
    ahead = attrs.evolve(waits, log=waits.log.append(Record(1, 0)), remote_leos=(2, 2, 1))
    assert smallest_leo(state, 0, ahead) == 1
    later = after(spec, "falls_behind(leader=0, follower=2)", start=state)
    assert later.replicas[0].caught_up == set()
    assert smallest_leo(later, 0, attrs.evolve(ahead, caught_up=frozenset())) == 2
    without = release("kafka/4.3+hw_waits=isr", brokers=3)
    assert not any(instance.action.name == "falls_behind" for instance in without.instances)


@pytest.mark.parametrize(("name", "known"), [("kafka/3.3", 1), ("kafka/3.3+follower_leos=forgotten", UNKNOWN_OFFSET)])
def test_a_leader_that_leads_on_keeps_what_it_knows_of_its_followers(name: str, known: int) -> None:
    spec = release(name, brokers=3, max_epoch=1)
    smaller = ("shrink_isr(leader=0, member=2)", "handle_alter_partition(leader=0)")
    replicated = (*REPLICATED[:3], "park_fetch(leader=0, follower=1)")
    state = after(spec, *replicated, *smaller, "become_leader(broker=0, epoch=1)")
    assert state.replicas[0].remote_leos[1] == known


def test_a_leader_forgets_the_log_end_of_a_broker_that_is_removed() -> None:
    """`Partition.updateAssignmentAndIsr` removes it, so that a broker that is added again has to fetch first."""
    spec = release("kafka/4.3", **TWO_OF_THREE)
    assert after(spec, *REPLICATED).replicas[0].remote_leos[1] == 1
    state = after(spec, *REPLICATED, "reassign(target=(0,))", "become_leader(broker=0, epoch=1)")
    assert state.replicas[0].remote_leos[1] == UNKNOWN_OFFSET


# --- without the bounds for KRaft -----------------------------------------------------------------------------------

BEFORE = {
    "kafka/2.4": (489, 20),
    "kafka/3.1": (1292, 25),
    "kafka/3.3": (931, 21),
    "kafka/3.6": (1531, 26),
    "kafka/3.9-zk": (1308, 24),
    "kafka/4.1": (1179, 24),
}
"""The number of states and the depth that the commit before the bounds for KRaft found. 2.8 is not here: two of its
rules were added later (`isr_answer` and `isr_pending`). So were `follower_leos=kept`, `hw_waits` other than `isr`,
`hw_checkpoint=older-or-newer` and `fetch_session=epoch-dropped`.
"""


@pytest.mark.parametrize("name", BEFORE)
def test_without_the_bounds_for_kraft_nothing_changes(name: str) -> None:
    bounds = {"acks": "all", "min_insync_replicas": 2, "records": 1, "max_epoch": 2, "crashes": 1, "isr_shrinks": 1}
    spec = find(f"{name}+follower_leos=forgotten+hw_waits=isr+hw_checkpoint=older+fetch_session=epoch-kept")
    assert spec is not None
    statistics = explore(spec.with_bounds({**bounds, "missed_bounces": 0})).statistics
    assert (statistics.distinct, statistics.depth) == BEFORE[name]
