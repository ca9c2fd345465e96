"""Mistakes one can make with the rules of the `kafka` family: the checker finds each that does harm.

Each mutant is searched with every property but those that the KIPs' designs violate themselves, up to the level of the
first violation. The numbers are from our own runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leadline.checker import Limits, Spec, Verdict
from leadline.checker.bounds import bounds_text
from leadline.checker.engines.compiled import explore
from leadline.invariants.catalog import CATALOG, mutations
from leadline.invariants.families.kafka import PROPERTIES as KAFKA_PROPERTIES
from leadline.model.kafka import consume
from leadline.model.kafka.fetch import handle_fetch, park_fetch
from leadline.model.kafka.mistakes import MISTAKES, mistake
from leadline.model.kafka.protocols import end_only, nothing, own_high_watermark, the_answer_or_own_high_watermark
from leadline.model.kafka.state import Partition
from leadline.reports.loading import shipped_spec
from leadline.reports.mutation import why_it_stays
from tests.documents.page_of_mutants import page
from tests.model.kafka_mutants import changed, wrong
from tests.suite.samples import sampled

FIRST = Limits()
"""Up to the level of the first violation."""

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
    ("fetch-not-fenced", "rpc/kip-320", 12, ("weak_isr",)),
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
    ("leader-commits-its-log", "rpc/kip-320", 5, ISRS),
    ("leader-truncates", "rpc/kip-320", 9, ("committed_never_lost", "leader_candidates_complete")),
    ("leader-by-stale-request", "rpc/kip-320", 4, ("weak_isr",)),
    ("stamps-epoch-0", "rpc/kip-320", 5, ("leader_candidates_complete",)),
    ("follower-accepts-writes", "rpc/kip-320", 2, PREFIX),
    ("leader-forgets-isr", "rpc/kip-320", 5, ("quorum_in_maximal_isr",)),
    ("leads-on-after-restart", "kafka/4.1", 8, ("leader_candidates_complete",)),
    ("maximal-isr-without-expansion", "kafka/4.1", 10, JOINED),
    ("maximal-isr-after-shrink", "kafka/4.1", 4, ("leader_candidates_complete", *ISRS)),
    ("partition-epoch-ignored", "kafka/4.1", 7, ("quorum_in_maximal_isr",)),
    ("broker-epochs-ignored", "kafka/4.1", 12, ("leader_candidates_complete", "isr_joined_with_all")),
    ("earlier-life-counted", "kafka/4.1", 12, ("isr_joined_with_all",)),
    ("isr-joins-at-epoch-start", "kafka/4.1", 7, JOINED),
    ("diverging-fetch-taken-as-good", "kafka/4.1", 7, PREFIX),
    ("elr-kept-with-large-isr", "kafka/4.1", 5, ("quorum_in_maximal_isr",)),
    ("elr-with-isr", "kafka/4.1", 6, ("isr_and_elr_disjoint", "leader_in_isr")),
    ("elr-kept-after-unclean-shutdown", "kafka/4.1", 8, ("leader_candidates_complete",)),
]


@pytest.mark.parametrize(
    ("name", "release", "states", "violated"), [pytest.param(*row, id=row[0]) for row in sampled(WRONG, 6)]
)
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
        "M18b unclean election",
        changed(),
        {"unclean_leader_election": True},
        6,
        ("leader_candidates_complete",),
    ),
]


@pytest.mark.parametrize(
    ("spec", "bounds", "states", "violated"), [pytest.param(*m[1:], id=m[0]) for m in sampled(MUTANTS, 2)]
)
def test_mutant_is_killed(
    spec: Spec[Partition], bounds: dict[str, Any], states: int, violated: tuple[str, ...]
) -> None:
    assert killers(spec.with_bounds(bounds).with_properties(CHECKED)) == dict.fromkeys(violated, states)


# --- Kafka's releases since 2.7 -------------------------------------------------------------------------------------

RULES: list[tuple[str, int, tuple[str, ...]]] = [
    # the rule's value in 4.1 and the other one, states of the shortest counterexample, to what
    ("truncation: fetch => high-watermark", 9, ("weak_isr", "remote_leo_not_ahead")),
    ("truncation: fetch => epoch-end", 19, PREFIX),
    ("epoch_cache: election => first-append", 5, PREFIX),
    ("same_leader: truncates => goes-on", 12, PREFIX),
    ("fencing: leader-epoch => none", 14, PREFIX),
    ("fetch_session: epoch-kept => epoch-dropped", 14, PREFIX),
    ("isr_join: epoch-start => high-watermark", 19, ("leader_candidates_complete", "strong_isr")),
    ("isr_eligibility: active-incarnation => any", 6, ("isr_members_active",)),
    ("isr_eligibility: active-incarnation => active", 12, ("leader_candidates_complete", "isr_joined_with_all")),
    ("diverging_fetch: ignored => counted", 9, ("remote_leo_not_ahead",)),
    ("diverging_hw: ignored => before-truncation", 10, ("follower_reads",)),
    ("late_diverging: ignored => truncates", 13, ("hw_monotonic",)),
    ("hw_gate: min-isr => none", 5, ("leader_candidates_complete",)),
    ("elr: on => off", 11, ("durable_as_promised",)),
    ("elr: on => on-unchecked", 8, ("leaders_elected_alive",)),
    ("bounce: noticed => missed", 7, ("leader_candidates_complete",)),
    ("bounce: noticed => followers-missed", 7, ("leader_candidates_complete",)),
    ("late_requests: refused => obeyed", 9, ("follower_log_is_prefix", "log_matching")),
    ("list_offsets: caught-up => at-any-time", 13, ("reads_not_taken_back",)),
]
"""What the other values of rules violate in 4.1, of what 4.1 keeps in the same bounds."""

OF_4_1 = {each.name: each for each in mutations("kafka/4.1")}


def changed_4_1(name: str, *properties: str) -> Spec[Partition]:
    """4.1 with another value of a rule or with a mistake, in the bounds in which it does harm."""
    return OF_4_1[name].made(CATALOG["kafka/4.1"].with_bounds(OF_4_1[name].bounds).with_properties(properties))


@pytest.mark.parametrize(("name", "states", "violated"), [pytest.param(*row, id=row[0]) for row in sampled(RULES, 6)])
def test_another_value_of_a_rule_is_found(name: str, states: int, violated: tuple[str, ...]) -> None:
    assert killers(changed_4_1(f"rule {name}", *violated)) == dict.fromkeys(violated, states)


def test_every_other_value_of_a_rule_is_found_or_said_to_be_harmless() -> None:
    harmful = {name for name, each in OF_4_1.items() if each.kind == "rule" and not each.harmless}
    assert harmful == {f"rule {row[0]}" for row in RULES}


def bounds_of(name: str) -> str:
    """The bounds of a mutant of 4.1, as the table has them."""
    return f"`{bounds_text(OF_4_1[name].bounds)}`" if OF_4_1[name].bounds else "default"


def test_the_table_of_mistakes_is_that_of_the_mutants() -> None:
    text = (Path(__file__).parents[2] / "model" / "releases.md").read_text()
    _, table = text.split("| mistake | bounds | shortest trace | violated |\n| --- | --- | --- | --- |\n")
    made = [(f"mistake {name}", states, found) for name, release, states, found in WRONG if release == "kafka/4.1"]
    rows = [
        f"| `{name}` | {bounds_of(name)} | {states} | {', '.join(f'`{each}`' for each in violated)} |"
        for name, states, violated in [*((f"rule {name}", states, found) for name, states, found in RULES), *made]
    ]
    assert table.partition("\n\n")[0].split("\n") == rows


def test_the_page_of_mutants_has_the_same_traces() -> None:
    rows = [("kafka/4.1", f"rule {name}", states, found) for name, states, found in RULES]
    rows += [(release, f"mistake {name}", states, found) for name, release, states, found in WRONG]
    for release, name, states, found in rows:
        assert page()[release].mutants[name].violated.items() >= dict.fromkeys(found, states).items(), name
    for name, mutant, _ in ALONE:
        assert mutant in page()["kafka/4.1"].alone[name]


def asked_with(bounds: dict[str, Any]) -> list[str]:
    """The properties that 4.1 keeps in some bounds of these."""
    left_out: tuple[str, ...] = NOT_OF_LOST_LOGS if "lossy_crashes" in bounds else ()
    if left_out and bounds["max_epoch"] and "min_insync_replicas" not in bounds:  # a broker without its log is elected
        left_out += (*OF_A_LOST_LOG, "leader_candidates_complete")
    return [name for name in OF_RELEASES if name not in left_out]


@pytest.mark.parametrize(
    "bounds",
    sampled(
        [
            LOST_WITH_ELR,
            ONE,
            {"crashes": 0, "session_expiries": 1},
            SMALL_ISR,
            {"crashes": 0, "shutdowns": 1},
            {**THREE_BROKERS, "crashes": 0, "min_insync_replicas": 2},
        ],
        2,
    ),
    ids=str,
)
def test_the_release_that_is_mutated_keeps_them(bounds: dict[str, Any]) -> None:
    result = explore(CATALOG["kafka/4.1"].with_bounds(bounds).with_properties(asked_with(bounds)))
    assert result.verdict is Verdict.HOLDS


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
    ("spec", "bounds", "states", "violated"), [pytest.param(*m[1:], id=m[0]) for m in sampled(WITHOUT_PREFIX, 2)]
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
        "OffsetsForLeaderEpoch not fenced: only fetching in another epoch does harm",
        wrong("epoch-request-not-fenced"),
        THREE,
        49_968,
    ),
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
]


@pytest.mark.parametrize(
    ("spec", "bounds", "distinct"), [pytest.param(*row[1:], id=row[0]) for row in sampled(HARMLESS, 4)]
)
def test_harmless_change_is_not_killed(spec: Spec[Partition], bounds: dict[str, Any], distinct: int) -> None:
    result = explore(spec.with_bounds(bounds).with_properties(CHECKED))
    assert (result.verdict, result.statistics.distinct) == (Verdict.HOLDS, distinct)


def test_reading_the_record_at_the_high_watermark_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Consumers that could read at the high watermark, not only below it, would read records that are lost later."""
    monkeypatch.setattr(
        consume, "readable", lambda leader: range(min(leader.high_watermark + 1, leader.log.end_offset))
    )
    spec = CATALOG["rpc/kip-320"].with_bounds({"max_epoch": 1}).with_properties(["committed_never_lost"])
    assert killers(spec) == {"committed_never_lost": 10}


LOST_AND_LEADS = {"acks": "all", "crashes": 0, "lossy_crashes": 1, "missed_bounces": 0, "isr_shrinks": 1}
"""The leader loses the end of its log and is elected again."""

ONE_DELETION = {"deletes": 1, "records": 1, "crashes": 2, "missed_bounces": 0, "isr_shrinks": 0}

# What no mutant above violates first: property, spec, bounds that differ, states of its shortest counterexample.
VIOLATED_BY: list[tuple[str, Spec[Any], dict[str, Any], int]] = [
    ("committed_never_lost", CATALOG["rpc/hw-truncation"], {}, 12),
    ("acked_never_lost", CATALOG["rpc/kip-320"], {}, 6),
    ("reads_monotonic", CATALOG["rpc/hw-truncation"], {}, 13),
    ("isr_within_replicas", wrong("stranger-joins-isr", "kafka/4.1"), {}, 4),
    ("logs_prefix_consistent", CATALOG["rpc/kip-101"], TWO, 14),
    ("epochs_monotonic_in_log", CATALOG["rpc/kip-279"], TWO, 11),
    ("brokers_keep_running", CATALOG["kafka/2.0.0"], LOST_AND_LEADS, 11),
    ("leader_hw_from_start", CATALOG["kafka/2.4"], ONE_DELETION | {"max_epoch": 1}, 16),
    ("deleted_not_read_again", CATALOG["kafka/4.3"], ONE_DELETION | {"max_epoch": 2}, 16),
    (
        "followers_go_on",
        shipped_spec("kafka/0.11+retention=high-watermark+response_start=after-records"),
        {"retentions": 1, "max_epoch": 0},
        8,
    ),
]


@pytest.mark.parametrize(
    ("name", "spec", "bounds", "states"), [pytest.param(*row, id=row[0]) for row in sampled(VIOLATED_BY, 2)]
)
def test_property_is_violated_by_a_shipped_protocol_or_a_wrong_one(
    name: str, spec: Spec[Partition], bounds: dict[str, Any], states: int
) -> None:
    assert killers(spec.with_bounds(bounds).with_properties([name])) == {name: states}


OF_A_LOST_LOG = ("committed_never_lost", "acked_never_lost", "reads_not_taken_back", *NOT_OF_LOST_LOGS[:3])
"""What 4.1 itself violates where as many brokers lose their log as the ISR needs."""

# Properties, a mutant of 4.1 that each alone finds, however far the search goes on, and what is not asked of it.
ALONE: list[tuple[str, str, tuple[str, ...]]] = [
    ("durable_as_promised", "rule elr: on => off", (*OF_A_LOST_LOG, "leader_candidates_complete")),
    ("reads_not_taken_back", "rule list_offsets: caught-up => at-any-time", ()),
    ("follower_reads", "rule diverging_hw: ignored => before-truncation", ()),
    ("leader_candidates_complete", "mistake elr-kept-after-unclean-shutdown", NOT_OF_LOST_LOGS[:3]),
    (
        "isr_joined_with_all",
        "mistake earlier-life-counted",
        (*OF_A_LOST_LOG, "leader_candidates_complete"),
    ),
    ("isr_members_active", "rule isr_eligibility: active-incarnation => any", ()),
    ("hw_within_log", "mistake hw-not-capped", ()),
    (
        "follower_log_is_prefix",
        "rule same_leader: truncates => goes-on",
        (*OF_A_LOST_LOG, "leader_candidates_complete", "reads_monotonic"),
    ),
    ("leaders_elected_alive", "rule elr: on => on-unchecked", ()),
]


@pytest.mark.parametrize(("name", "mutant", "left_out"), [pytest.param(*row, id=row[0]) for row in sampled(ALONE, 2)])
def test_property_alone_finds_a_mutant(name: str, mutant: str, left_out: tuple[str, ...]) -> None:
    asked = [each for each in OF_RELEASES if each not in left_out]
    assert list(killers(changed_4_1(mutant, *asked), Limits(keep_going=True))) == [name]


def test_every_property_alone_finds_a_mutant_or_says_why_it_stays() -> None:
    silent = {item.name for item in KAFKA_PROPERTIES if not item.kind.is_witness and not why_it_stays(item)}
    assert silent <= {row[0] for row in ALONE}


def test_no_property_is_vacuous() -> None:
    found = {name for row in WRONG for name in row[3]} | {name for row in RULES for name in row[2]}
    assert found | {row[0] for row in VIOLATED_BY} == set(OF_RELEASES)


def killers(spec: Spec[Partition], limits: Limits = FIRST) -> dict[str, int]:
    """The properties that a search finds violated, up to the level of the first violation, with trace lengths."""
    return {
        item.property.name: len(item.traces[0])
        for item in explore(spec, limits).properties
        if item.verdict is Verdict.VIOLATED
    }
