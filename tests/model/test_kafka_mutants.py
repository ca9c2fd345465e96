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
from checker.engines.compiled import explore
from invariants.catalog import CATALOG, KAFKA_PROPERTIES
from model.kafka import consume
from model.kafka.controller import controller_elects
from model.kafka.fetch import handle_fetch, park_fetch
from model.kafka.mistakes import (
    MISTAKES,
    elect_beside_the_isr,
    elect_in_the_same_epoch,
    mistake,
    smallest_without_maximum,
)
from model.kafka.protocols import anyone as anyone_may_join
from model.kafka.protocols import (
    at_the_high_watermark,
    end_only,
    nobody,
    nothing,
    own_high_watermark,
    the_answer_or_own_high_watermark,
    the_old_high_watermark,
    whatever_the_isr,
)
from model.kafka.readings import (
    the_leaders,
)
from model.kafka.state import Partition
from model.mistakes import and_then
from tests.tools.kafka_mutants import changed, of_release, release_with, replaced, wrong
from tests.tools.kafka_states import HW_TRUNCATION, KIP_101

OWN = ("acked_never_lost", "reads_not_taken_back", "isr_members_active")
"""What the KIPs' designs violate themselves: with acks=1, before KIP-207, before KIP-841."""

CHECKED = [item.name for item in KAFKA_PROPERTIES if not item.kind.is_witness and item.name not in OWN]
ISRS = ("weak_isr", "strong_isr")
PREFIX = ("follower_log_is_prefix",)
TWO: dict[str, Any] = {"max_epoch": 2}
THREE: dict[str, Any] = {"brokers": 3, "records": 1, "max_epoch": 2, "crashes": 1}
FETCHES = (handle_fetch, park_fetch)

NOT_OF_LOST_LOGS = ("weak_isr", "strong_isr", "remote_leo_not_ahead", "follower_log_is_prefix")
"""What any release violates between the crash of a broker that loses its log and the moment the controller notices."""

OF_RELEASES = [item.name for item in KAFKA_PROPERTIES if not item.kind.is_witness]
ONE = {"max_epoch": 2, "crashes": 1}
SMALL_ISR = {"min_insync_replicas": 2, "max_epoch": 2, "crashes": 1}
LOST_WITH_ELR = {"records": 1, "min_insync_replicas": 2, "max_epoch": 2, "crashes": 0, "lossy_crashes": 1}
THREE_BROKERS = {"brokers": 3, "records": 1, "max_epoch": 1, "crashes": 1}
JOINED = ("leader_candidates_complete", "isr_joined_with_all", "strong_isr")

WRONG: list[tuple[str, str, int, tuple[str, ...]]] = [
    # mistake, in what, states of the shortest counterexample, to what
    ("no-truncation", "rpc/kip-320", 9, PREFIX),
    ("truncation-one-too-few", "rpc/kip-320", 9, PREFIX),
    (
        "truncation-one-too-many",
        "rpc/kip-320",
        10,
        ("leader_candidates_complete", *ISRS, "remote_leo_not_ahead"),
    ),
    ("asks-once", "rpc/kip-320", 17, PREFIX),
    ("fetch-not-fenced", "rpc/kip-320", 11, ("epochs_monotonic_in_log",)),
    ("leads-from-high-watermark", "rpc/kip-320", 12, ("committed_never_lost", "leader_candidates_complete")),
    ("counts-what-was-sent", "rpc/kip-320", 3, ("remote_leo_not_ahead",)),
    ("hw-not-capped", "rpc/kip-320", 6, ("hw_within_log",)),
    ("hw-of-leader-alone", "rpc/kip-320", 2, ("leader_candidates_complete", *ISRS)),
    ("hw-of-caught-up", "rpc/kip-320", 2, ("leader_candidates_complete", *ISRS)),
    ("hw-may-fall", "rpc/kip-320", 10, ("hw_monotonic",)),
    ("isr-joins-anywhere", "rpc/kip-320", 4, ("leader_candidates_complete", "isr_joined_with_all", *ISRS)),
    ("isr-joins-one-below", "rpc/kip-320", 4, ("leader_candidates_complete", "isr_joined_with_all", *ISRS)),
    ("isr-written-by-zombie", "rpc/kip-320", 5, ("leader_in_isr",)),
    (
        "isr-shrunk-before-written",
        "rpc/kip-320",
        3,
        ("leader_candidates_complete", "quorum_in_maximal_isr", "strong_isr"),
    ),
    ("elects-beside-isr", "rpc/kip-320", 5, ("leader_in_isr",)),
    ("elects-in-same-epoch", "rpc/kip-320", 6, ("one_leader_per_epoch",)),
    ("leader-commits-its-log", "rpc/kip-320", 6, ISRS),
    ("leader-truncates", "rpc/kip-320", 9, ("committed_never_lost", "leader_candidates_complete")),
    ("leader-by-stale-request", "rpc/kip-320", 4, ("weak_isr",)),
    ("stamps-epoch-0", "rpc/kip-320", 5, ("leader_candidates_complete",)),
    ("follower-accepts-writes", "rpc/kip-320", 2, PREFIX),
    ("leader-forgets-isr", "rpc/kip-320", 5, ("quorum_in_maximal_isr",)),
    ("leads-on-after-restart", "rpc/kip-320", 5, ("leader_candidates_complete",)),
    ("maximal-isr-without-expansion", "kafka/4.1", 9, JOINED),
    ("maximal-isr-after-shrink", "kafka/4.1", 4, ("leader_candidates_complete", *ISRS)),
    ("partition-epoch-ignored", "kafka/4.1", 7, ("quorum_in_maximal_isr",)),
    ("broker-epochs-ignored", "kafka/4.1", 12, ("leader_candidates_complete", "isr_joined_with_all")),
    ("isr-joins-at-epoch-start", "kafka/4.1", 7, JOINED),
    ("diverging-fetch-taken-as-good", "kafka/4.1", 7, PREFIX),
    ("elr-kept-with-large-isr", "kafka/4.1", 5, ("quorum_in_maximal_isr",)),
    ("elr-with-isr", "kafka/4.1", 6, ("isr_and_elr_disjoint",)),
    ("elr-kept-after-unclean-shutdown", "kafka/4.1", 8, ("leader_candidates_complete",)),
]


@pytest.mark.parametrize(("name", "release", "states", "violated"), [pytest.param(*row, id=row[0]) for row in WRONG])
def test_mistake_is_found(name: str, release: str, states: int, violated: tuple[str, ...]) -> None:
    bounds = dict(mistake(name).bounds)
    asked = CHECKED if release == "rpc/kip-320" else asked_with(bounds)
    spec = wrong(name, release).with_bounds(bounds).with_properties(asked)
    assert killers(spec) == dict.fromkeys(violated, states)


def test_every_mistake_is_found_or_said_to_be_harmless() -> None:
    found = {row[0] for row in WRONG} | {"stranger-joins-isr"}  # which `VIOLATED_BY` has
    assert {each.name for each in MISTAKES if not each.harmless} == found


MUTANTS: list[tuple[str, Spec[Partition], dict[str, Any], int, tuple[str, ...]]] = [
    # mutant, spec, bounds that differ, states of the shortest counterexample, to what
    (
        "M1 truncate to the own high watermark",
        changed(asks_about=nothing, truncates_first_to=own_high_watermark),
        {},
        8,
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
        "M12 ISR grows before the own epoch is reached",
        changed(admits=at_the_high_watermark),
        THREE,
        12,
        ("leader_candidates_complete",),
    ),
    (
        "M18b unclean election",
        changed(),
        {"unclean_leader_election": True},
        6,
        ("leader_candidates_complete",),
    ),
]


@pytest.mark.parametrize(("spec", "bounds", "states", "violated"), [pytest.param(*m[1:], id=m[0]) for m in MUTANTS])
def test_mutant_is_killed(
    spec: Spec[Partition], bounds: dict[str, Any], states: int, violated: tuple[str, ...]
) -> None:
    assert killers(spec.with_bounds(bounds).with_properties(CHECKED)) == dict.fromkeys(violated, states)


# --- Kafka's releases since 2.7 -------------------------------------------------------------------------------------

# 4.1 keeps every property in these bounds, but for NOT_OF_LOST_LOGS where a log is lost.
RELEASE_MUTANTS: list[tuple[str, Spec[Partition], dict[str, Any], int, tuple[str, ...]]] = [
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
        "expansion without the epoch-start check (KAFKA-7128)",
        of_release("kafka/4.1", admits=at_the_high_watermark),
        {**THREE_BROKERS, "max_epoch": 2, "isr_shrinks": 0},
        19,
        ("leader_candidates_complete", "strong_isr"),
    ),
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
]


@pytest.mark.parametrize(
    ("spec", "bounds", "states", "violated"), [pytest.param(*m[1:], id=m[0]) for m in RELEASE_MUTANTS]
)
def test_mutant_of_a_release_is_killed(
    spec: Spec[Partition], bounds: dict[str, Any], states: int, violated: tuple[str, ...]
) -> None:
    assert killers(spec.with_bounds(bounds).with_properties(asked_with(bounds))) == dict.fromkeys(violated, states)


def test_the_table_of_mistakes_is_that_of_the_mutants() -> None:
    text = (Path(__file__).parents[2] / "model" / "README.md").read_text()
    _, table = text.split("| mistake | bounds | shortest trace | violated |\n| --- | --- | --- | --- |\n")
    made = [
        *(
            (f"`{name}`", dict(mistake(name).bounds), *found)
            for name, release, *found in WRONG
            if release == "kafka/4.1"
        ),
        *((name, bounds, *found) for name, _, bounds, *found in RELEASE_MUTANTS),
    ]
    rows = [
        f"| {name} | `{bounds_text(bounds)}` | {states} | {', '.join(f'`{each}`' for each in violated)} |"
        for name, bounds, states, violated in made
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
    ("M3", wrong("no-truncation"), {}, 11, ("leader_candidates_complete", *ISRS)),
    ("M4a", wrong("truncation-one-too-few"), {}, 11, ("leader_candidates_complete", *ISRS)),
    (
        "one question, without the answer's epoch",
        changed(answers=end_only, truncates_to=the_answer_or_own_high_watermark),
        TWO,
        13,
        ("leader_candidates_complete", *ISRS),
    ),
    (
        "the follower does not ask again",
        wrong("asks-once"),
        {"max_epoch": 3, "records": 3},
        18,
        ("leader_candidates_complete", *ISRS),
    ),
    ("M24", wrong("follower-accepts-writes"), {}, 3, ("log_matching",)),
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
        wrong("epoch-request-not-fenced"),
        THREE,
        49_968,
    ),
    ("the response carries the high watermark before the request", changed(tells=the_old_high_watermark), TWO, 35_470),
    (
        "the high watermark counts who is in the ISR OR fetches",
        wrong("hw-of-all-that-fetch"),
        THREE,
        42_253,
    ),
    (
        "a fetch offset out of range counts (KAFKA-13141): with fences there is none",
        wrong("counts-out-of-range"),
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
    ("quorum_in_maximal_isr", wrong("isr-shrunk-before-written"), {}, 3),
    ("isr_within_replicas", wrong("stranger-joins-isr", "kafka/4.1"), {}, 4),
    ("isr_and_elr_disjoint", wrong("elr-with-isr", "kafka/4.1"), {"min_insync_replicas": 2}, 6),
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
    ("log_matching", wrong("leads-on-after-restart"), {"lossy_crashes": 1}, 8),
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
