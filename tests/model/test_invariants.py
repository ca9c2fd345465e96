"""The properties of the `atomic` family on hand-written states: accepted states, and sentences for others."""

from __future__ import annotations

import pytest

from leadline.checker import Property, Verdict
from leadline.checker.engines.oracle import explore
from leadline.invariants import durability, leadership, logs, watermarks, witnesses
from leadline.invariants.catalog import CATALOG
from leadline.invariants.families.atomic import PROPERTIES as ATOMIC_PROPERTIES
from leadline.model.atomic.actions import truncate
from leadline.model.atomic.protocols import KIP_320_FIRST_TRY
from leadline.model.atomic.replica import Replica
from leadline.model.atomic.state import Partition
from leadline.model.quorum import NO_EPOCH
from tests.model.atomic_states import partition, replica

BOTH = {0, 1}


def leads(broker: int, drawn: str, epoch: int = 0, isr: set[int] = BOTH, high_watermark: int | None = None) -> Replica:
    """A replica on a broker that takes itself for the leader."""
    return replica(drawn, epoch=epoch, leader=broker, isr=isr, high_watermark=high_watermark)


def follows(leader: int, drawn: str, epoch: int = 0, isr: set[int] = BOTH) -> Replica:
    """A replica on a broker that follows another one."""
    return replica(drawn, epoch=epoch, leader=leader, isr=isr)


def with_isr(isr: set[int], *replicas: Replica) -> Partition:
    """A state in which broker 0 leads by the quorum's word, with this ISR in the quorum."""
    return partition(*replicas, leader=0, epoch=0, isr=isr)


# --- durability -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "state",
    [
        with_isr(BOTH, leads(0, "m0@0 ┃ m1@0"), follows(0, "┃ m0@0")),
        with_isr(BOTH, leads(0, "m0@0 ┃"), follows(0, "m0@0 m1@0 ┃")),
        with_isr({0}, leads(0, "m0@0 ┃", isr={0}), follows(0, "┃")),
        with_isr(BOTH, follows(1, "m0@0 ┃"), follows(0, "┃")),
    ],
    ids=["uncommitted record", "longer follower", "follower outside the ISR", "nobody leads"],
)
@pytest.mark.parametrize("item", [durability.weak_isr, durability.strong_isr], ids=lambda item: item.name)
def test_isr_has_what_is_committed(item: Property, state: Partition) -> None:
    assert item(state)


@pytest.mark.parametrize(
    ("state", "weak", "strong"),
    [
        pytest.param(
            with_isr(BOTH, leads(0, "m0@0 m1@0 ┃"), follows(0, "m0@0 ┃")),
            "offset 1 is below the high watermark 2 of broker 0, which has m1@0 there; "
            "broker 1 of broker 0's own ISR has no record there",
            "offset 1 is below the high watermark 2 of broker 0, which has m1@0 there; "
            "broker 1 of the quorum's ISR has no record there",
            id="a member lacks a committed record",
        ),
        pytest.param(
            with_isr(BOTH, leads(0, "m0@0 ┃"), leads(1, "┃ m1@1", epoch=1)),
            "offset 0 is below the high watermark 1 of broker 0, which has m0@0 there; "
            "broker 1 of broker 0's own ISR has m1@1 there",
            "offset 0 is below the high watermark 1 of broker 0, which has m0@0 there; "
            "broker 1 of the quorum's ISR has m1@1 there",
            id="a member has another record",
        ),
        pytest.param(
            with_isr({0}, leads(0, "m0@0 ┃", isr=BOTH), follows(0, "┃")),
            "offset 0 is below the high watermark 1 of broker 0, which has m0@0 there; "
            "broker 1 of broker 0's own ISR has no record there",
            None,
            id="only the leader's own ISR has the member",
        ),
        pytest.param(
            with_isr(BOTH, leads(0, "m0@0 ┃", isr={0}), follows(0, "┃")),
            None,
            "offset 0 is below the high watermark 1 of broker 0, which has m0@0 there; "
            "broker 1 of the quorum's ISR has no record there",
            id="only the quorum's ISR has the member",
        ),
        pytest.param(
            with_isr({0}, leads(0, "m0@0", isr={0}, high_watermark=2), follows(0, "┃")),
            "offset 1 is below the high watermark 2 of broker 0, which has no record there; "
            "broker 0 of broker 0's own ISR has no record there",
            "offset 1 is below the high watermark 2 of broker 0, which has no record there; "
            "broker 0 of the quorum's ISR has no record there",
            id="the leader itself lacks the record",
        ),
    ],
)
def test_isr_lacks_what_is_committed(state: Partition, weak: str | None, strong: str | None) -> None:
    assert durability.weak_isr.complaint(state) == weak
    assert durability.strong_isr.complaint(state) == strong


# --- high watermarks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("drawn", ["┃", "┃ m0@0", "m0@0 ┃"])
def test_high_watermark_up_to_the_log_end_is_within_the_log(drawn: str) -> None:
    assert watermarks.hw_within_log(partition(replica("┃"), replica(drawn)))


def test_high_watermark_beyond_the_log_end_is_named() -> None:
    state = partition(replica("┃"), replica("m0@0", high_watermark=2))
    assert watermarks.hw_within_log.complaint(state) == "broker 1 has high watermark 2, but its log ends at 1"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (leads(0, "m0@0 ┃"), leads(0, "m0@0 ┃")),
        (leads(0, "┃ m0@0"), leads(0, "m0@0 ┃")),
        (leads(0, "m0@0 ┃"), leads(0, "┃ m0@0", epoch=1)),
        (leads(0, "m0@0 ┃"), follows(1, "┃", epoch=1)),
        (leads(0, "m0@0 ┃"), follows(1, "┃")),
        (follows(1, "m0@0 ┃"), follows(1, "┃")),
        (follows(1, "m0@0 ┃"), leads(0, "┃ m0@0")),
    ],
    ids=[
        "stays",
        "advances",
        "leads in a later epoch",
        "follows",
        "follows in the same one",
        "a follower's",
        "leads now only",
    ],
)
def test_high_watermark_of_a_leader_goes_back_only_outside_its_epoch(before: Replica, after: Replica) -> None:
    assert watermarks.hw_monotonic(partition(before, replica("┃")), partition(after, replica("┃")))


def test_high_watermark_that_goes_back_in_a_leaders_epoch_is_named() -> None:
    before = partition(replica("┃"), leads(1, "m0@0 m1@2 ┃", epoch=2))
    after = partition(replica("┃"), leads(1, "m0@0 ┃ m1@2", epoch=2))
    complaint = watermarks.hw_monotonic.complaint(before, after)
    assert complaint == "broker 1, leading in epoch 2, moved its high watermark from 2 back to 1"


# --- logs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "state",
    [
        partition(leads(0, "m0@0 ┃ m1@0"), follows(0, "m0@0 ┃ m2@0")),
        partition(leads(0, "m0@0 m1@0 ┃"), follows(0, "┃ m2@0")),
        partition(leads(0, "┃ m0@0"), follows(0, "m1@0 ┃")),
        partition(leads(0, "m0@0 ┃"), follows(0, "m1@1 ┃", epoch=1)),
        partition(follows(2, "m0@0 ┃"), follows(1, "m1@1 ┃"), replica("┃")),
        partition(leads(0, "m0@0", high_watermark=2), follows(0, "m0@0 m1@0 ┃")),
        partition(leads(0, "m0@1 ┃", epoch=1), follows(0, "m1@0 ┃", epoch=1), protocol=KIP_320_FIRST_TRY),
        partition(follows(1, "m1@0 ┃", epoch=1), leads(1, "m0@1 ┃", epoch=1), protocol=KIP_320_FIRST_TRY),
    ],
    ids=[
        "different above a high watermark",
        "different above the follower's",
        "different above the leader's",
        "different epochs",
        "different leaders",
        "nothing there: hw_within_log says so",
        "a follower that has yet to truncate",
        "a follower that comes first and has yet to truncate",
    ],
)
def test_logs_agree_where_they_must(state: Partition) -> None:
    assert logs.logs_prefix_consistent(state)


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        (
            partition(leads(0, "m0@0 m1@1 ┃", epoch=2), follows(0, "m0@0 m2@0 ┃", epoch=2)),
            "at offset 1, below both high watermarks, broker 0 has m1@1 and broker 1 has m2@0",
        ),
        (
            partition(leads(0, "m0@0 ┃"), follows(0, "m1@0 ┃ m2@0"), follows(0, "m0@0 ┃")),
            "at offset 0, below both high watermarks, broker 0 has m0@0 and broker 1 has m1@0",
        ),
        (
            partition(leads(0, "┃"), follows(0, "m1@0 ┃"), follows(0, "m0@0 ┃")),
            "at offset 0, below both high watermarks, broker 1 has m1@0 and broker 2 has m0@0",
        ),
        (
            partition(leads(0, "m0@0 m1@1 ┃", epoch=1), follows(0, "m2@0 m1@1 ┃", epoch=1), protocol=KIP_320_FIRST_TRY),
            "at offset 0, below both high watermarks, broker 0 has m0@0 and broker 1 has m2@0",
        ),
    ],
    ids=["leader and follower", "with a log that is longer", "two followers", "past its truncation"],
)
def test_logs_that_differ_below_both_high_watermarks_are_named(state: Partition, complaint: str) -> None:
    assert logs.logs_prefix_consistent.complaint(state) == complaint


@pytest.mark.parametrize(
    "state",
    [
        partition(leads(0, "m0@0 ┃ m1@0"), follows(0, "┃ m0@0"), follows(0, "m0@0 ┃ m1@0")),
        partition(leads(0, "┃ m0@0"), follows(0, "┃")),
        partition(leads(0, "┃"), follows(0, "┃ m0@0", epoch=1)),
        partition(leads(0, "┃", epoch=1), follows(0, "┃ m0@0")),
        partition(follows(2, "┃"), follows(0, "┃ m0@0"), leads(2, "┃")),
        partition(leads(0, "┃"), leads(1, "┃ m0@1", epoch=1), replica("┃ m0@0")),
        partition(leads(0, "m0@1 ┃", epoch=1), follows(0, "m1@0 ┃", epoch=1), protocol=KIP_320_FIRST_TRY),
    ],
    ids=[
        "a shorter and an equal one",
        "empty",
        "a later epoch than the leader's",
        "an earlier epoch than the leader's",
        "who is followed does not lead",
        "nobody is followed",
        "has yet to truncate",
    ],
)
def test_followers_log_may_be_a_prefix_of_its_leaders(state: Partition) -> None:
    assert logs.follower_log_is_prefix(state)


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        (
            partition(leads(0, "┃ m0@0"), follows(0, "┃ m0@0 m1@0 m2@0")),
            "broker 1 follows broker 0 in epoch 0, and has m1@0 at offset 1; the leader has no record there",
        ),
        (
            partition(follows(2, "┃ m0@0", epoch=2), replica("┃"), leads(2, "┃ m1@1 m2@2", epoch=2)),
            "broker 0 follows broker 2 in epoch 2, and has m0@0 at offset 0; the leader has m1@1 there",
        ),
        (
            partition(leads(0, "m0@0 m1@1 ┃", epoch=1), follows(0, "m2@0 m1@1 ┃", epoch=1), protocol=KIP_320_FIRST_TRY),
            "broker 1 follows broker 0 in epoch 1, and has m2@0 at offset 0; the leader has m0@0 there",
        ),
    ],
    ids=["longer", "another record", "past its truncation"],
)
def test_followers_log_that_is_no_prefix_of_its_leaders_is_named(state: Partition, complaint: str) -> None:
    assert logs.follower_log_is_prefix.complaint(state) == complaint


@pytest.mark.parametrize(
    "state",
    [
        partition(replica("m0@0 m1@1 ┃"), replica("m0@0 ┃ m1@1 m2@1")),
        partition(replica("┃ m0@0 m1@1"), replica("┃ m0@0 m2@2")),
        partition(replica("┃ m0@0"), replica("┃ m1@1 m2@1")),
        partition(replica("┃"), replica("┃ m0@0")),
    ],
    ids=["prefix", "same up to different epochs", "different epochs", "empty"],
)
def test_logs_match_where_their_epochs_do(state: Partition) -> None:
    assert logs.log_matching(state)


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        (
            partition(replica("┃ m0@0 m1@0"), replica("┃ m0@0 m2@0")),
            "brokers 0 and 1 both have a record of epoch 0 at offset 1, but at offset 1 m1@0 and m2@0",
        ),
        (
            partition(replica("┃"), replica("┃ m0@0 m2@2"), replica("┃ m1@1 m2@2")),
            "brokers 1 and 2 both have a record of epoch 2 at offset 1, but at offset 0 m0@0 and m1@1",
        ),
    ],
    ids=["other record", "other record before"],
)
def test_logs_that_do_not_match_are_named(state: Partition, complaint: str) -> None:
    assert logs.log_matching.complaint(state) == complaint


def test_epochs_that_stay_or_go_up_are_monotonic() -> None:
    assert logs.epochs_monotonic_in_log(partition(replica("┃"), replica("┃ m0@0 m1@0 m2@2")))


def test_epochs_that_go_down_are_named() -> None:
    state = partition(replica("┃ m0@0"), replica("┃ m0@0 m1@2 m2@1"))
    assert logs.epochs_monotonic_in_log.complaint(state) == "broker 1 has m2@1 after m1@2"


@pytest.mark.parametrize(
    ("state", "distance"),
    [
        (partition(replica("┃"), replica("┃ m0@0 m1@0")), 1),
        (partition(replica("m0@0 ┃ m1@1"), replica("m0@0 ┃")), 1),
        (partition(replica("m0@0 ┃ m1@1"), replica("┃"), replica("m0@0 ┃ m2@0")), 0),
        (partition(replica("┃ m0@0"), replica("┃ m1@1 m2@1")), 0),
    ],
    ids=["empty", "prefix", "other record at the end", "other record at the start"],
)
def test_logs_diverge_where_they_hold_other_records_at_an_offset(state: Partition, distance: int) -> None:
    assert logs.distance_to_divergence(state) == distance


# --- leadership -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "state",
    [
        partition(replica("┃"), replica("┃"), isr=BOTH),
        partition(replica("┃"), replica("┃"), leader=1, epoch=0, isr={1}),
        partition(leads(0, "┃", isr={0}), follows(0, "┃", isr={1}), leader=1, epoch=1, isr={1}),
    ],
    ids=["no leader", "only member", "a zombie is in its own ISR, a follower need not be in the one it knows"],
)
def test_leader_is_in_the_isr(state: Partition) -> None:
    assert leadership.leader_in_isr(state)


@pytest.mark.parametrize(
    ("state", "complaint"),
    [
        (
            partition(replica("┃"), replica("┃"), leader=0, epoch=0, isr={1}),
            "the quorum's leader is broker 0, the quorum's ISR holds broker 1",
        ),
        (partition(replica("┃"), leader=0, epoch=0), "the quorum's leader is broker 0, the quorum's ISR holds nobody"),
        (partition(leads(0, "┃", isr={1}), replica("┃")), "broker 0 leads, its own ISR holds broker 1"),
        (partition(leads(0, "┃", isr=set())), "broker 0 leads, its own ISR holds nobody"),
    ],
    ids=["quorum", "quorum, empty", "believed leader", "believed leader, empty"],
)
def test_leader_outside_the_isr_is_named(state: Partition, complaint: str) -> None:
    assert leadership.leader_in_isr.complaint(state) == complaint


def test_leaders_of_different_epochs_and_followers_of_the_same_one_are_no_rivals() -> None:
    assert leadership.one_leader_per_epoch(partition(leads(0, "┃", epoch=0), leads(1, "┃", epoch=1)))
    assert leadership.one_leader_per_epoch(partition(leads(0, "┃"), follows(0, "┃"), follows(0, "┃")))


def test_two_leaders_of_one_epoch_are_named() -> None:
    state = partition(leads(0, "┃", epoch=1), leads(1, "┃", epoch=2), leads(2, "┃", epoch=1))
    assert leadership.one_leader_per_epoch.complaint(state) == "brokers 0 and 2 both lead in epoch 1"


# --- witnesses --------------------------------------------------------------------------------------------


def test_a_record_is_committed_when_a_believed_leaders_high_watermark_has_moved() -> None:
    assert witnesses.record_committed(partition(leads(0, "m0@0 ┃"), follows(0, "┃ m0@0")))
    assert not witnesses.record_committed(partition(leads(0, "┃ m0@0"), follows(0, "┃ m0@0")))
    assert not witnesses.record_committed(partition(follows(1, "m0@0 ┃"), follows(0, "┃")))


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ((leads(0, "┃"), replica("┃")), (leads(0, "┃"), leads(1, "┃", epoch=1)), True),
        ((leads(0, "┃"), replica("┃")), (leads(0, "┃"), leads(1, "┃")), False),
        ((leads(0, "┃"), leads(1, "┃", epoch=1)), (leads(0, "┃"), leads(1, "┃", epoch=1)), False),
        ((leads(0, "┃"), replica("┃")), (leads(0, "┃"), follows(0, "┃")), False),
        ((replica("┃"), replica("┃")), (leads(0, "┃"), replica("┃")), False),
        ((replica("┃"), leads(1, "┃", epoch=1)), (leads(0, "┃"), leads(1, "┃", epoch=1)), False),
    ],
    ids=[
        "another leads",
        "another leads in the same epoch",
        "both led before",
        "another follows",
        "the first leader",
        "an earlier leader, late",
    ],
)
def test_leader_changes_when_a_broker_begins_to_lead_in_a_later_epoch(
    before: tuple[Replica, ...], after: tuple[Replica, ...], changes: bool
) -> None:
    assert witnesses.leader_changes(partition(*before), partition(*after)) is changes


def test_log_is_truncated_when_it_ends_earlier_than_before() -> None:
    long, short = partition(replica("┃"), replica("┃ m0@0 m1@0")), partition(replica("┃"), replica("┃ m0@0"))
    assert witnesses.log_truncated(long, short)
    assert not witnesses.log_truncated(short, long)
    assert not witnesses.log_truncated(short, short)


@pytest.mark.parametrize(
    ("before", "after", "rejoins"),
    [({0}, {0, 1}, True), ({0, 1}, {0}, False), ({0}, {0}, False), ({0}, {1, 2}, False)],
    ids=["grows", "shrinks", "stays", "is replaced"],
)
def test_broker_rejoins_when_the_quorums_isr_grows(before: set[int], after: set[int], rejoins: bool) -> None:
    three = (replica("┃"),) * 3
    assert witnesses.broker_rejoins_isr(partition(*three, isr=before), partition(*three, isr=after)) is rejoins


ATOMIC = [name for name in CATALOG if name.startswith("atomic/")]
WITNESSES = [item for item in ATOMIC_PROPERTIES if item.kind.is_witness]


@pytest.mark.parametrize("name", ATOMIC)
def test_every_witness_is_reached_in_every_protocol(name: str) -> None:
    result = explore(CATALOG[name].with_properties([item.name for item in WITNESSES]))
    assert len(result.properties) == len(WITNESSES) == 4
    for item in result.properties:
        (trace,) = item.traces
        assert item.verdict is Verdict.HOLDS
        assert item.property(*trace.states[-2:] if item.property.kind.of_steps else trace.states[-1:])


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("record_committed", {"records": 0}),
        ("log_truncated", {"records": 0}),
        ("leader_changes", {"max_epoch": 0}),
        ("broker_rejoins_isr", {"brokers": 1}),
    ],
)
@pytest.mark.parametrize("spec", ATOMIC)
def test_witness_is_not_reached_where_the_bounds_forbid_it(spec: str, name: str, bounds: dict[str, int]) -> None:
    result = explore(CATALOG[spec].with_bounds(bounds).with_properties([name]))
    assert result.of(name).verdict is Verdict.VIOLATED
    assert result.of(name).traces == ()


def test_every_property_holds_in_the_initial_state() -> None:
    (state,) = CATALOG["atomic/kip-320"].initials()
    assert state.quorum.epoch == NO_EPOCH
    for item in ATOMIC_PROPERTIES:
        assert item(*[state] * (2 if item.kind.of_steps else 1)) is not item.kind.is_witness


def test_every_property_says_where_it_comes_from() -> None:
    for item in ATOMIC_PROPERTIES:
        assert item.kind.is_witness or "seed" in item.source or "KIP-" in item.source


def test_only_the_protocol_that_truncates_while_fetching_has_that_action() -> None:
    atomic = {name: spec for name, spec in CATALOG.items() if name.startswith("atomic/")}
    assert [name for name, spec in atomic.items() if truncate in spec.actions] == ["atomic/kip-320-first-try"]
    assert {len(spec.actions) for spec in atomic.values()} == {9, 10}
