"""Mistakes one can make with the rules of the `kafka` family: the checker finds each that does harm.

Each mutant is searched with every property but those that the KIPs' designs violate themselves, up to the level of the
first violation. The numbers are from our own runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from checker import Limits, Spec, Verdict
from checker.bounds import bounds_text
from checker.compiled import explore
from invariants.catalog import CATALOG, KAFKA_PROPERTIES
from model.kafka import consume
from model.kafka.controller import controller_elects
from model.kafka.crash import restart
from model.kafka.fetch import handle_fetch, park_fetch
from model.kafka.isr import handle_alter_partition, shrink_isr
from model.kafka.leadership import become_leader
from model.kafka.produce import produce
from model.kafka.protocols import anyone as anyone_may_join
from model.kafka.protocols import (
    at_the_high_watermark,
    end_only,
    from_any_epoch,
    never_diverges,
    nobody,
    nothing,
    own_high_watermark,
    the_active,
    the_answer_or_own_high_watermark,
    the_old_high_watermark,
    whatever_the_isr,
)
from model.kafka.readings import (
    fall_back_and_lead,
    isr_members_that_are_caught_up,
    keep_all,
    the_isr_and_all_that_fetch,
    the_leaders,
)
from model.kafka.state import Partition
from model.kafka.truncation import handle_epoch_request
from tests.kafka_mutants import (
    anyone,
    as_the_true_leader,
    at_the_start_of_the_epoch_only,
    changed,
    count_what_was_sent,
    count_who_is_out_of_range,
    elect_beside_the_isr,
    elect_in_the_same_epoch,
    even_if_the_isr_is_large_enough,
    go_on_leading,
    join_a_stranger,
    keep_the_elr,
    lead_by_a_stale_request,
    never_ask_again,
    of_release,
    one_below_the_high_watermark,
    one_too_few,
    one_too_many,
    only_in_the_leader,
    release_with,
    replaced,
    smallest_without_maximum,
    stamp_epoch_0,
    starting,
    the_leader_alone,
    whatever_the_partition_epoch,
    with_a_pending_shrink_taken_for_done,
    with_the_new_isr,
    without_the_pending_expansion,
    write_to_a_follower,
)
from tests.kafka_states import HW_TRUNCATION, KIP_101
from tests.mutants import and_then, under

OWN = ("acked_never_lost", "reads_not_taken_back", "isr_members_active")
"""What the KIPs' designs violate themselves: with acks=1, before KIP-207, before KIP-841."""

CHECKED = [item.name for item in KAFKA_PROPERTIES if not item.kind.is_witness and item.name not in OWN]
ISRS = ("weak_isr", "strong_isr")
PREFIX = ("follower_log_is_prefix",)
TWO: dict[str, Any] = {"max_epoch": 2}
THREE: dict[str, Any] = {"brokers": 3, "records": 1, "max_epoch": 2, "crashes": 1}
FETCHES = (handle_fetch, park_fetch)

MUTANTS: list[tuple[str, Spec[Partition], dict[str, Any], int, tuple[str, ...]]] = [
    # mutant, spec, bounds that differ, states of the shortest counterexample, to what
    (
        "M1 truncate to the own high watermark",
        changed(asks_about=nothing, truncates_first_to=own_high_watermark),
        {},
        8,
        ("leader_candidates_complete", *ISRS, "remote_leo_not_ahead"),
    ),
    ("M3 no truncation", changed(truncates_to=keep_all), {}, 9, PREFIX),
    ("M4a truncation keeps one too many", changed(truncates_to=one_too_many), {}, 9, PREFIX),
    (
        "M4b truncation drops one too many",
        changed(truncates_to=one_too_few),
        {},
        10,
        ("leader_candidates_complete", *ISRS, "remote_leo_not_ahead"),
    ),
    (
        "one question, without the answer's epoch",
        changed(answers=end_only, truncates_to=the_answer_or_own_high_watermark),
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
        ("committed_never_lost", "leader_candidates_complete"),
    ),
    (
        "the leader counts what it has sent",
        replaced({handle_fetch: and_then(handle_fetch, count_what_was_sent)}),
        {},
        3,
        ("remote_leo_not_ahead",),
    ),
    ("M25 follower's high watermark not capped", changed(learns=the_leaders), {}, 6, ("hw_within_log",)),
    (
        "M11 high watermark needs only the leader",
        changed(counts=the_leader_alone),
        {},
        2,
        ("leader_candidates_complete", *ISRS),
    ),
    (
        "high watermark counts who is in the ISR AND caught up",
        changed(counts=isr_members_that_are_caught_up),
        {},
        2,
        ("leader_candidates_complete", *ISRS),
    ),
    (
        "high watermark without the maximum",
        replaced({action: and_then(action, smallest_without_maximum) for action in (*FETCHES, produce, shrink_isr)}),
        {},
        10,
        ("hw_monotonic",),
    ),
    (
        "M12 ISR grows before the own epoch is reached",
        changed(admits=at_the_high_watermark),
        THREE,
        12,
        ("leader_candidates_complete",),
    ),
    (
        "M13 ISR grows whatever the high watermark is",
        changed(admits=anyone),
        {},
        4,
        ("leader_candidates_complete", "isr_joined_with_all", *ISRS),
    ),
    (
        "M13 ISR grows one below the high watermark",
        changed(admits=one_below_the_high_watermark),
        {},
        4,
        ("leader_candidates_complete", "isr_joined_with_all", *ISRS),
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
        ("leader_candidates_complete", "quorum_in_maximal_isr", "strong_isr"),
    ),
    (
        "M18a election beside the ISR",
        replaced({controller_elects: elect_beside_the_isr}),
        {},
        5,
        ("leader_in_isr",),
    ),
    (
        "M18b unclean election",
        changed(),
        {"unclean_leader_election": True},
        6,
        ("leader_candidates_complete",),
    ),
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
        ("committed_never_lost", "leader_candidates_complete"),
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
        5,
        ("leader_candidates_complete",),
    ),
    ("M24 follower accepts writes", replaced({produce: write_to_a_follower}), {}, 2, PREFIX),
    (
        "M26 new leader starts with itself as ISR",
        replaced({become_leader: starting(lambda _, leader: {"isr": frozenset({leader})})}),
        {},
        5,
        ("quorum_in_maximal_isr",),
    ),
    (
        "a leader that is quickly back goes on in its epoch",
        replaced({restart: go_on_leading}),
        {"crashes": 0, "lossy_crashes": 1},
        5,
        ("leader_candidates_complete",),
    ),
]


@pytest.mark.parametrize(("spec", "bounds", "states", "violated"), [pytest.param(*m[1:], id=m[0]) for m in MUTANTS])
def test_mutant_is_killed(
    spec: Spec[Partition], bounds: dict[str, Any], states: int, violated: tuple[str, ...]
) -> None:
    assert killers(spec.with_bounds(bounds).with_properties(CHECKED)) == dict.fromkeys(violated, states)


# --- Kafka's releases since 2.7 -------------------------------------------------------------------------------------

NOT_OF_LOST_LOGS = ("weak_isr", "strong_isr", "remote_leo_not_ahead", "follower_log_is_prefix")
"""What any release violates between the crash of a broker that loses its log and the moment the controller notices."""

OF_RELEASES = [item.name for item in KAFKA_PROPERTIES if not item.kind.is_witness]
ONE = {"max_epoch": 2, "crashes": 1}
SMALL_ISR = {"min_insync_replicas": 2, "max_epoch": 2, "crashes": 1}
LOST_WITH_ELR = {"records": 1, "min_insync_replicas": 2, "max_epoch": 2, "crashes": 0, "lossy_crashes": 1}
THREE_BROKERS = {"brokers": 3, "records": 1, "max_epoch": 1, "crashes": 1}
JOINED = ("leader_candidates_complete", "isr_joined_with_all", "strong_isr")

# 4.1 keeps every property in these bounds, but for NOT_OF_LOST_LOGS where a log is lost.
RELEASE_MUTANTS: list[tuple[str, Spec[Partition], dict[str, Any], int, tuple[str, ...]]] = [
    (
        "maximal ISR without the pending expansion",
        of_release("kafka/4.1", counts=without_the_pending_expansion),
        ONE,
        9,
        JOINED,
    ),
    (
        "maximal ISR with a pending shrink taken for done",
        of_release("kafka/4.1", counts=with_a_pending_shrink_taken_for_done),
        ONE,
        4,
        ("leader_candidates_complete", *ISRS),
    ),
    (
        "a controller that ignores the partition epoch",
        release_with("kafka/4.1", {handle_alter_partition: whatever_the_partition_epoch}),
        THREE_BROKERS,
        7,
        ("quorum_in_maximal_isr",),
    ),
    (
        "a controller that ignores broker epochs",
        of_release("kafka/4.1", may_join=the_active),
        LOST_WITH_ELR,
        12,
        ("leader_candidates_complete", "isr_joined_with_all"),
    ),
    (
        "a controller that ignores fencing",
        of_release("kafka/4.1", may_join=anyone_may_join),
        {"crashes": 0, "session_expiries": 1},
        6,
        ("isr_members_active",),
    ),
    (
        "a controller that ignores shutdowns",
        of_release("kafka/4.1", may_join=anyone_may_join),
        {"crashes": 0, "shutdowns": 1},
        6,
        ("isr_members_active",),
    ),
    (
        "expansion without the high watermark check",
        of_release("kafka/4.1", admits=at_the_start_of_the_epoch_only),
        ONE,
        7,
        JOINED,
    ),
    (
        "expansion without the epoch-start check (KAFKA-7128)",
        of_release("kafka/4.1", admits=at_the_high_watermark),
        {**THREE_BROKERS, "max_epoch": 2, "isr_shrinks": 0},
        19,
        ("leader_candidates_complete", "strong_isr"),
    ),
    ("a diverging fetch taken as good", of_release("kafka/4.1", diverges=never_diverges), ONE, 7, PREFIX),
    (
        "a diverging fetch counted",
        of_release("kafka/4.1", counts_diverging=True),
        ONE,
        9,
        ("remote_leo_not_ahead",),
    ),
    (
        "last replica standing: no ELR",
        of_release("kafka/4.1", has_elr=False, eligible=nobody, elects_last_known="no"),
        LOST_WITH_ELR,
        10,
        ("leader_candidates_complete",),
    ),
    (
        "high watermark not gated by min.insync.replicas",
        of_release("kafka/4.1", may_raise=whatever_the_isr),
        SMALL_ISR,
        5,
        ("leader_candidates_complete",),
    ),
    (
        "ELR kept when the ISR is large enough",
        of_release("kafka/4.1", eligible=even_if_the_isr_is_large_enough),
        {**THREE_BROKERS, "crashes": 0, "min_insync_replicas": 2},
        5,
        ("quorum_in_maximal_isr",),
    ),
    (
        "ELR not reduced by the new ISR",
        of_release("kafka/4.1", eligible=with_the_new_isr),
        SMALL_ISR,
        6,
        ("isr_and_elr_disjoint",),
    ),
    (
        "ELR kept by a broker that registers uncleanly",
        release_with("kafka/4.1", {restart: keep_the_elr}),
        LOST_WITH_ELR,
        8,
        ("leader_candidates_complete",),
    ),
]


@pytest.mark.parametrize(
    ("spec", "bounds", "states", "violated"), [pytest.param(*m[1:], id=m[0]) for m in RELEASE_MUTANTS]
)
def test_mutant_of_a_release_is_killed(
    spec: Spec[Partition], bounds: dict[str, Any], states: int, violated: tuple[str, ...]
) -> None:
    assert killers(spec.with_bounds(bounds).with_properties(asked_with(bounds))) == dict.fromkeys(violated, states)


def test_the_table_of_mistakes_is_that_of_the_mutants() -> None:
    text = (Path(__file__).parent.parent / "model" / "README.md").read_text()
    _, table = text.split("| mistake | bounds | shortest trace | violated |\n| --- | --- | --- | --- |\n")
    rows = [
        f"| {name} | `{bounds_text(bounds)}` | {states} | {', '.join(f'`{each}`' for each in violated)} |"
        for name, _, bounds, states, violated in RELEASE_MUTANTS
    ]
    assert table.partition("\n\n")[0].split("\n") == rows


def asked_with(bounds: dict[str, Any]) -> list[str]:
    """The properties that 4.1 keeps in some bounds of these."""
    return [name for name in OF_RELEASES if "lossy_crashes" not in bounds or name not in NOT_OF_LOST_LOGS]


@pytest.mark.parametrize(
    "bounds",
    [
        ONE,
        SMALL_ISR,
        LOST_WITH_ELR,
        {**THREE_BROKERS, "crashes": 0, "min_insync_replicas": 2},
        {"crashes": 0, "session_expiries": 1},
        {"crashes": 0, "shutdowns": 1},
    ],
    ids=str,
)
def test_the_release_that_is_mutated_keeps_them(bounds: dict[str, Any]) -> None:
    result = explore(CATALOG["kafka/4.1"].with_bounds(bounds).with_properties(asked_with(bounds)))
    assert result.verdict is Verdict.HOLDS


def test_durability_is_what_last_replica_standing_breaks_in_the_end() -> None:
    spec = of_release("kafka/4.1", has_elr=False, eligible=nobody, elects_last_known="no")
    bounds = {**LOST_WITH_ELR, "records": 2}
    assert killers(spec.with_bounds(bounds).with_properties(["durable_as_promised"])) == {"durable_as_promised": 11}


# What the mutants that follower_log_is_prefix finds first violate of the other properties: committed data is lost.
WITHOUT_PREFIX: list[tuple[str, Spec[Partition], dict[str, Any], int, tuple[str, ...]]] = [
    ("M3", changed(truncates_to=keep_all), {}, 11, ("leader_candidates_complete", *ISRS)),
    ("M4a", changed(truncates_to=one_too_many), {}, 11, ("leader_candidates_complete", *ISRS)),
    (
        "one question, without the answer's epoch",
        changed(answers=end_only, truncates_to=the_answer_or_own_high_watermark),
        TWO,
        13,
        ("leader_candidates_complete", *ISRS),
    ),
    (
        "the follower does not ask again",
        changed(truncates_to=never_ask_again),
        {"max_epoch": 3, "records": 3},
        18,
        ("leader_candidates_complete", *ISRS),
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
        49_968,
    ),
    ("the response carries the high watermark before the request", changed(tells=the_old_high_watermark), TWO, 35_470),
    (
        "the high watermark counts who is in the ISR OR fetches",
        changed(counts=the_isr_and_all_that_fetch),
        THREE,
        42_253,
    ),
    (
        "a fetch offset out of range counts (KAFKA-13141): with fences there is none",
        replaced({handle_fetch: and_then(handle_fetch, count_who_is_out_of_range)}),
        TWO,
        33_127,
    ),
    (
        "M12 ISR grows before the own epoch is reached, with two brokers",
        changed(admits=at_the_high_watermark),
        TWO,
        33_127,
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
    ("durable_as_promised", CATALOG["kafka/2.8"], {"acks": "all"}, 12),
    ("reads_monotonic", CATALOG["rpc/hw-truncation"], {}, 13),
    ("reads_not_taken_back", CATALOG["rpc/kip-320"], TWO, 9),
    ("follower_reads", CATALOG["kafka/3.0"], {}, 10),
    ("leader_candidates_complete", CATALOG["rpc/hw-truncation"], {}, 8),
    ("isr_joined_with_all", CATALOG["kafka/3.3"], {"max_epoch": 1, "crashes": 0, "lossy_crashes": 1}, 12),
    ("quorum_in_maximal_isr", replaced({shrink_isr: and_then(shrink_isr, only_in_the_leader)}), {}, 3),
    ("isr_within_replicas", release_with("kafka/4.1", {handle_alter_partition: join_a_stranger}), {}, 4),
    ("isr_and_elr_disjoint", of_release("kafka/4.1", eligible=with_the_new_isr), {"min_insync_replicas": 2}, 6),
    ("isr_members_active", CATALOG["kafka/3.0"], {"max_epoch": 1, "crashes": 0, "shutdowns": 1}, 6),
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
    ("log_matching", replaced({restart: go_on_leading}), {"lossy_crashes": 1}, 8),
    ("epochs_monotonic_in_log", CATALOG["rpc/kip-279"], TWO, 11),
    ("leader_in_isr", replaced({controller_elects: elect_beside_the_isr}, KIP_101), {}, 5),
    (
        "one_leader_per_epoch",
        replaced({controller_elects: elect_in_the_same_epoch}, KIP_101),
        {"session_expiries": 1},
        6,
    ),
    (
        "leaders_elected_alive",
        release_with("kafka/4.0+elr=on-unchecked", {}),
        {"min_insync_replicas": 2, "crashes": 3},
        8,
    ),
    ("remote_leo_not_ahead", CATALOG["rpc/hw-truncation"], {}, 8),
]


@pytest.mark.parametrize(("name", "spec", "bounds", "states"), [pytest.param(*row, id=row[0]) for row in VIOLATED_BY])
def test_property_is_violated_by_a_shipped_protocol_or_a_wrong_one(
    name: str, spec: Spec[Partition], bounds: dict[str, Any], states: int
) -> None:
    assert killers(spec.with_bounds(bounds).with_properties([name])) == {name: states}


def test_no_property_is_vacuous() -> None:
    checked = {item.name for item in KAFKA_PROPERTIES if not item.kind.is_witness}
    assert {row[0] for row in VIOLATED_BY} == checked


def killers(spec: Spec[Partition]) -> dict[str, int]:
    """What a search finds violated, up to the level of the first violation: the trace's states by property."""
    return {
        item.property.name: len(item.traces[0])
        for item in explore(spec, Limits()).properties
        if item.verdict is Verdict.VIOLATED
    }
