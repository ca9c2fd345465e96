"""Mistakes one can make with the rules of the `rpc` protocols: the checker finds each that does harm.

Each mutant is searched with every property but `acked_never_lost`, which the protocols violate themselves,
up to the level of the first violation. The numbers are from our own runs.
"""

from __future__ import annotations

from typing import Any

import pytest

from checker import Limits, Spec, Verdict
from checker.compiled import explore
from invariants.catalog import CATALOG, RPC_PROPERTIES
from model.rpc import consume
from model.rpc.controller import controller_elects
from model.rpc.crash import restart
from model.rpc.fetch import handle_fetch, park_fetch
from model.rpc.isr import shrink_isr
from model.rpc.leadership import become_leader
from model.rpc.produce import produce
from model.rpc.protocols import (
    HW_TRUNCATION,
    KIP_101,
    at_the_high_watermark,
    from_any_epoch,
    never,
    start_of_next_epoch,
    the_answer_or_own_high_watermark,
)
from model.rpc.readings import (
    fall_back_and_lead,
    isr_members_that_are_caught_up,
    keep_all,
    the_isr_and_all_that_fetch,
    the_leaders,
    the_old_high_watermark,
)
from model.rpc.state import Partition
from model.rpc.truncation import handle_epoch_request
from tests.mutants import and_then, under
from tests.rpc_mutants import (
    anyone,
    as_the_true_leader,
    changed,
    count_what_was_sent,
    count_who_is_out_of_range,
    elect_beside_the_isr,
    elect_in_the_same_epoch,
    go_on_leading,
    lead_by_a_stale_request,
    never_ask_again,
    one_below_the_high_watermark,
    one_too_few,
    one_too_many,
    only_in_the_leader,
    replaced,
    smallest_without_maximum,
    stamp_epoch_0,
    starting,
    the_leader_alone,
    write_to_a_follower,
)

CHECKED = [item.name for item in RPC_PROPERTIES if not item.kind.is_witness and item.name != "acked_never_lost"]
ISRS = ("weak_isr", "strong_isr")
PREFIX = ("follower_log_is_prefix",)
TWO: dict[str, Any] = {"max_epoch": 2}
THREE: dict[str, Any] = {"brokers": 3, "records": 1, "max_epoch": 2, "crashes": 1}
FETCHES = (handle_fetch, park_fetch)

MUTANTS: list[tuple[str, Spec[Partition], dict[str, Any], int, tuple[str, ...]]] = [
    # mutant, spec, bounds that differ, states of the shortest counterexample, to what
    (
        "M1 truncate to the own high watermark",
        changed(asks=never),
        {},
        8,
        (*ISRS, "remote_leo_not_ahead"),
    ),
    ("M3 no truncation", changed(truncates_to=keep_all), {}, 9, PREFIX),
    ("M4a truncation keeps one too many", changed(truncates_to=one_too_many), {}, 9, PREFIX),
    (
        "M4b truncation drops one too many",
        changed(truncates_to=one_too_few),
        {},
        10,
        (*ISRS, "remote_leo_not_ahead"),
    ),
    (
        "one question, without the answer's epoch",
        changed(answers=start_of_next_epoch, truncates_to=the_answer_or_own_high_watermark),
        TWO,
        12,
        PREFIX,
    ),
    (
        "the follower does not ask again",
        changed(truncates_to=never_ask_again),
        {"max_epoch": 3, "records": 3},
        17,
        PREFIX,
    ),
    (
        "M7 fetch not fenced by epoch",
        replaced({action: under(action, accepts=from_any_epoch) for action in FETCHES}),
        TWO,
        11,
        ("epochs_monotonic_in_log",),
    ),
    (
        "a broker that got no answer falls back to its high watermark",
        replaced({become_leader: fall_back_and_lead.function}),
        {},
        12,
        ("committed_never_lost",),
    ),
    (
        "the leader counts what it has sent",
        replaced({handle_fetch: and_then(handle_fetch, count_what_was_sent)}),
        {},
        3,
        ("remote_leo_not_ahead",),
    ),
    ("M25 follower's high watermark not capped", changed(learns=the_leaders), {}, 6, ("hw_within_log",)),
    ("M11 high watermark needs only the leader", changed(counts=the_leader_alone), {}, 2, ISRS),
    (
        "high watermark counts who is in the ISR AND caught up",
        changed(counts=isr_members_that_are_caught_up),
        {},
        2,
        ISRS,
    ),
    (
        "high watermark without the maximum",
        replaced({action: and_then(action, smallest_without_maximum) for action in (*FETCHES, produce, shrink_isr)}),
        {},
        10,
        ("hw_monotonic",),
    ),
    ("M12 ISR grows before the own epoch is reached", changed(admits=at_the_high_watermark), THREE, 14, ISRS),
    ("M13 ISR grows whatever the high watermark is", changed(admits=anyone), {}, 4, ISRS),
    (
        "M13 ISR grows one below the high watermark",
        changed(admits=one_below_the_high_watermark),
        {},
        4,
        ISRS,
    ),
    (
        "M15a a zombie writes the ISR",
        replaced({action: as_the_true_leader(action) for action in (*FETCHES, shrink_isr)}),
        {"crashes": 0, "session_expiries": 1},
        5,
        ("leader_in_isr",),
    ),
    (
        "M16 leader shrinks its own ISR first",
        replaced({shrink_isr: and_then(shrink_isr, only_in_the_leader)}),
        {},
        3,
        ("strong_isr",),
    ),
    (
        "M18a election beside the ISR",
        replaced({controller_elects: elect_beside_the_isr}),
        {},
        5,
        ("leader_in_isr",),
    ),
    ("M18b unclean election", changed(), {"unclean_leader_election": True}, 7, ("committed_never_lost",)),
    (
        "M19 election without a new epoch",
        replaced({controller_elects: elect_in_the_same_epoch}),
        {"session_expiries": 1},
        6,
        ("one_leader_per_epoch",),
    ),
    (
        "M20 new leader takes its log end for committed",
        replaced({become_leader: starting(lambda own, _: {"high_watermark": own.log.end_offset})}),
        {},
        6,
        ISRS,
    ),
    (
        "M21 new leader truncates to its high watermark",
        replaced({become_leader: starting(lambda own, _: {"log": own.log.truncate_to(own.high_watermark)})}),
        {},
        9,
        ("committed_never_lost",),
    ),
    (
        "M22a stale request makes a leader",
        replaced({become_leader: lead_by_a_stale_request}),
        {},
        4,
        ("weak_isr",),
    ),
    (
        "M23 records stamped with epoch 0",
        replaced({produce: and_then(produce, stamp_epoch_0)}),
        {},
        6,
        ("reads_monotonic",),
    ),
    ("M24 follower accepts writes", replaced({produce: write_to_a_follower}), {}, 2, PREFIX),
    (
        "M26 new leader starts with itself as ISR",
        replaced({become_leader: starting(lambda _, leader: {"isr": frozenset({leader})})}),
        {},
        6,
        ("strong_isr",),
    ),
    (
        "a leader that is quickly back goes on in its epoch",
        replaced({restart: go_on_leading}),
        {},
        6,
        ("weak_isr",),
    ),
]


@pytest.mark.parametrize(("spec", "bounds", "states", "violated"), [pytest.param(*m[1:], id=m[0]) for m in MUTANTS])
def test_mutant_is_killed(
    spec: Spec[Partition], bounds: dict[str, Any], states: int, violated: tuple[str, ...]
) -> None:
    assert killers(spec.with_bounds(bounds).with_properties(CHECKED)) == dict.fromkeys(violated, states)


# What the mutants that follower_log_is_prefix finds first violate of the other properties: committed data is lost.
WITHOUT_PREFIX: list[tuple[str, Spec[Partition], dict[str, Any], int, tuple[str, ...]]] = [
    ("M3", changed(truncates_to=keep_all), {}, 11, ISRS),
    ("M4a", changed(truncates_to=one_too_many), {}, 11, ISRS),
    (
        "one question, without the answer's epoch",
        changed(answers=start_of_next_epoch, truncates_to=the_answer_or_own_high_watermark),
        TWO,
        13,
        ISRS,
    ),
    (
        "the follower does not ask again",
        changed(truncates_to=never_ask_again),
        {"max_epoch": 3, "records": 3},
        18,
        ISRS,
    ),
    ("M24", replaced({produce: write_to_a_follower}), {}, 3, ("log_matching",)),
]


@pytest.mark.parametrize(
    ("spec", "bounds", "states", "violated"), [pytest.param(*m[1:], id=m[0]) for m in WITHOUT_PREFIX]
)
def test_mutant_is_killed_by_other_properties_too(
    spec: Spec[Partition], bounds: dict[str, Any], states: int, violated: tuple[str, ...]
) -> None:
    others = [name for name in CHECKED if name not in PREFIX]
    assert killers(spec.with_bounds(bounds).with_properties(others)) == dict.fromkeys(violated, states)


# Change, spec, bounds that differ, distinct states. Those of kip-320 are 28,735 with two brokers, and 48,323 with
# three: what has as many changed nothing that can be reached.
HARMLESS: list[tuple[str, Spec[Partition], dict[str, Any], int]] = [
    (
        "OffsetsForLeaderEpoch not fenced: it is fetching in another epoch that does the harm",
        replaced({handle_epoch_request: under(handle_epoch_request, accepts=from_any_epoch)}),
        THREE,
        48_931,
    ),
    ("the response carries the high watermark before the request", changed(tells=the_old_high_watermark), TWO, 33_372),
    (
        "the high watermark counts who is in the ISR OR fetches",
        changed(counts=the_isr_and_all_that_fetch),
        THREE,
        41_716,
    ),
    (
        "a fetch offset out of range counts (KAFKA-13141): with fences there is none",
        replaced({handle_fetch: and_then(handle_fetch, count_who_is_out_of_range)}),
        TWO,
        28_735,
    ),
    (
        "M12 ISR grows before the own epoch is reached, with two brokers",
        changed(admits=at_the_high_watermark),
        TWO,
        28_735,
    ),
]


@pytest.mark.parametrize(("spec", "bounds", "distinct"), [pytest.param(*row[1:], id=row[0]) for row in HARMLESS])
def test_harmless_change_is_not_killed(spec: Spec[Partition], bounds: dict[str, Any], distinct: int) -> None:
    result = explore(spec.with_bounds(bounds).with_properties(CHECKED))
    assert (result.verdict, result.statistics.distinct) == (Verdict.HOLDS, distinct)


def test_reading_the_record_at_the_high_watermark_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Consumers that could read at the high watermark, not only below it, would read what is lost later."""
    monkeypatch.setattr(
        consume, "readable", lambda leader: range(min(leader.high_watermark + 1, leader.log.end_offset))
    )
    spec = CATALOG["rpc/kip-320"].with_bounds({"max_epoch": 1}).with_properties(["committed_never_lost"])
    assert killers(spec) == {"committed_never_lost": 10}


# Property, spec, bounds that differ, states of its shortest counterexample: searched alone.
VIOLATED_BY: list[tuple[str, Spec[Partition], dict[str, Any], int]] = [
    ("committed_never_lost", CATALOG["rpc/hw-truncation"], {}, 12),
    ("acked_never_lost", CATALOG["rpc/kip-320"], {}, 6),
    ("reads_monotonic", CATALOG["rpc/hw-truncation"], {}, 13),
    ("weak_isr", CATALOG["rpc/hw-truncation"], {}, 8),
    ("strong_isr", CATALOG["rpc/hw-truncation"], {}, 8),
    ("hw_within_log", changed(HW_TRUNCATION, learns=the_leaders), {}, 6),
    (
        "hw_monotonic",
        replaced({action: and_then(action, smallest_without_maximum) for action in FETCHES}, HW_TRUNCATION),
        {},
        9,
    ),
    ("follower_log_is_prefix", CATALOG["rpc/kip-101"], TWO, 12),
    ("logs_prefix_consistent", CATALOG["rpc/kip-101"], TWO, 14),
    ("log_matching", replaced({restart: go_on_leading}), {"unflushed_loss": True}, 8),
    ("epochs_monotonic_in_log", CATALOG["rpc/kip-279"], TWO, 11),
    ("leader_in_isr", replaced({controller_elects: elect_beside_the_isr}, KIP_101), {}, 5),
    (
        "one_leader_per_epoch",
        replaced({controller_elects: elect_in_the_same_epoch}, KIP_101),
        {"session_expiries": 1},
        6,
    ),
    ("remote_leo_not_ahead", CATALOG["rpc/hw-truncation"], {}, 8),
]


@pytest.mark.parametrize(("name", "spec", "bounds", "states"), [pytest.param(*row, id=row[0]) for row in VIOLATED_BY])
def test_property_is_violated_by_a_shipped_protocol_or_a_wrong_one(
    name: str, spec: Spec[Partition], bounds: dict[str, Any], states: int
) -> None:
    assert killers(spec.with_bounds(bounds).with_properties([name])) == {name: states}


def test_no_property_is_vacuous() -> None:
    assert [row[0] for row in VIOLATED_BY] == [item.name for item in RPC_PROPERTIES if not item.kind.is_witness]


def killers(spec: Spec[Partition]) -> dict[str, int]:
    """What a search finds violated, up to the level of the first violation: the trace's states by property."""
    return {
        item.property.name: len(item.traces[0])
        for item in explore(spec, Limits()).properties
        if item.verdict is Verdict.VIOLATED
    }
