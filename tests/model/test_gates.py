"""Gates that are opened too early: a release that does at the old level what only the new level allows.

Each gate is opened wrongly in a mix in which this changes a verdict: a property is violated that holds with the gate
closed, or a loss is missing that the old level still has. For one gate, nothing does, and a reason says why.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence

import attrs
import pytest

from leadline.checker.engines import explore
from leadline.checker.errors import SpecError
from leadline.checker.result import Limits, Verdict
from leadline.invariants.catalog import find
from leadline.model.kafka.mixes import MixBounds, mix_of
from leadline.model.kafka.parties import GATE, RELEASE
from leadline.model.kafka.protocols import Protocol
from leadline.model.kafka.rules import RULES, TABLE
from leadline.model.kafka.state import Partition, initial_states

KNOWN = attrs.fields_dict(Protocol)
GATED = {rule.name for rule in RULES if any(value.opens for value in rule.values)}

ONE = {"records": 1, "max_epoch": 1, "crashes": 1, "acks": "all"}
ONE_LOSS = {**ONE, "crashes": 0, "lossy_crashes": 1, "missed_bounces": 0}
CONTROLLER = {"upgraded": "", "controller": "new"}
ALL = {"upgraded": "0-1", "controller": "new"}
CLEAN = {"unclean_leader_election": False}

HARM = [
    # KAFKA-15021, KAFKA-15109: old leaders wait for a follower that has left the ISR until their leader epoch changes
    ("shrink_epoch", "kafka/3.5.1..3.6", {**ONE, **CONTROLLER, "isr_shrinks": 0}, "all_committed_again"),
    # KIP-966: old leaders commit with fewer than min.insync.replicas members, and eligible leaders lack the record
    ("elr", "kafka/3.6..4.1", {**ONE, **CONTROLLER, "min_insync_replicas": 2}, "committed_never_lost"),
    # KIP-595: a follower that names its last epoch asks nothing else, and old leaders do not compare it
    ("truncation", "kafka/0.11..2.8.1", {**ONE, **CLEAN, "records": 2, "max_epoch": 2, "upgraded": "0"},
     "committed_never_lost"),
    # KIP-497: an old controller takes no proposals, and the ISR stays as it is
    ("isr_write", "kafka/2.6.1..2.7", {**ONE, **CLEAN, "upgraded": "0", "isr_shrinks": 1}, "all_committed_again"),
    # KIP-858: a broker goes on with an empty replica; so it does at the level of 3.7, where 3.7 violates this, too
    ("directories", "kafka/3.6..3.7",
     {**ONE, **CLEAN, "crashes": 0, "lost_directories": 1, "min_insync_replicas": 2, "upgraded": "1"}, "weak_isr"),
]  # fmt: skip
"""The gates whose wrong opening violates a property: the mix, its bounds, and the property."""

MISSED = [
    # KAFKA-1211: without the level, followers of the new release still truncate to their high watermark
    ("truncation", "kafka/0.10.2..0.11", {**ONE, **CLEAN, **ALL, "crashes": 2}, "committed_never_lost"),
    # KAFKA-6880: they do not name their leader epoch, so late requests are not fenced
    ("fencing", "kafka/2.0.1..2.1+fetch_session=epoch-kept",
     {**ONE, **ALL, "upgraded": "0-1-2", "brokers": 3, "max_epoch": 2, "missed_bounces": 0, "isr_shrinks": 0},
     "strong_isr"),
    # KAFKA-7235: the controller does not name broker epochs, so late requests are obeyed
    ("late_requests", "kafka/2.1..2.2",
     {**ONE_LOSS, **CLEAN, **ALL, "records": 2, "late_requests": 1, "isr_shrinks": 0}, "log_matching"),
    # KAFKA-14617: fetch requests do not name broker epochs, so a follower joins the ISR for an earlier run
    ("isr_eligibility", "kafka/3.4.1..3.5", {**ONE_LOSS, **ALL}, "isr_joined_with_all"),
]  # fmt: skip
"""The gates whose wrong opening hides a violation that there is while all run the new release at the old level."""

NOT_NOTICED = [
    # all properties hold or fail with both: what an operator is told of deleted records (KIP-107) is not in the model
    ("log_start", "kafka/0.10.2..0.11", {**ONE, **CLEAN, "deletes": 1, "missed_bounces": 0, "isr_shrinks": 0}),
]
"""The gate whose wrong opening no property notices, wherever the new release runs."""


def wrongly_opened(bounds: MixBounds, name: str, rule: str) -> Iterator[Partition]:
    """The initial state of a mix whose new release has the new value of a rule at the old level."""
    mix = mix_of(name)
    old, new, raised = mix.rules
    fields = [field for field in TABLE[rule].values[0].sets if KNOWN[field].metadata[GATE] != RELEASE]
    wrong = attrs.evolve(new, **{field: getattr(raised, field) for field in fields})
    runs = tuple(wrong if broker in bounds.new_brokers else old for broker in range(bounds.brokers))
    controller = wrong if bounds.controller == "new" else old
    yield from initial_states(bounds, attrs.evolve(controller, of_brokers=runs))


def verdicts(name: str, bounds: Mapping[str, object], properties: Sequence[str], rule: str = "") -> dict[str, Verdict]:
    """What a search says of a mix, with a gate of a rule opened wrongly if one is given."""
    spec = find(name)
    assert spec is not None
    spec = spec.with_bounds(bounds).with_properties(properties)
    if rule:
        spec = attrs.evolve(spec, initial_states=functools.partial(wrongly_opened, name=name, rule=rule))
    return {each.property.name: each.verdict for each in explore(spec, Limits(keep_going=True)).properties}


def test_every_gate_is_opened_wrongly() -> None:
    assert {rule for rule, *_ in (*HARM, *MISSED, *NOT_NOTICED)} == GATED


@pytest.mark.parametrize(("rule", "mix", "bounds", "prop"), HARM)
def test_a_gate_that_opens_too_early_does_harm(rule: str, mix: str, bounds: dict[str, object], prop: str) -> None:
    assert verdicts(mix, bounds, [prop]) == {prop: Verdict.HOLDS}
    assert verdicts(mix, bounds, [prop], rule) == {prop: Verdict.VIOLATED}


@pytest.mark.parametrize(("rule", "mix", "bounds", "prop"), MISSED)
def test_a_gate_that_opens_too_early_hides_a_loss(rule: str, mix: str, bounds: dict[str, object], prop: str) -> None:
    assert verdicts(mix, bounds, [prop]) == {prop: Verdict.VIOLATED}
    assert verdicts(mix, bounds, [prop], rule) == {prop: Verdict.HOLDS}


def test_an_old_leader_cannot_answer_a_request_that_it_does_not_know() -> None:
    bounds = {**ONE, **CLEAN, "upgraded": "0"}
    assert verdicts("kafka/0.10.2..0.11", bounds, ["committed_never_lost"]) == {"committed_never_lost": Verdict.HOLDS}
    with pytest.raises(SpecError, match="does not support OffsetsForLeaderEpoch"):
        verdicts("kafka/0.10.2..0.11", bounds, ["committed_never_lost"], "truncation")


@pytest.mark.parametrize(("rule", "mix", "bounds"), NOT_NOTICED)
@pytest.mark.parametrize("upgraded", ["0", "1", "0-1"])
def test_a_gate_that_no_property_notices(rule: str, mix: str, bounds: dict[str, object], upgraded: str) -> None:
    spec = find(mix)
    assert spec is not None
    every = [each.name for each in (*spec.checks, *spec.optional)]
    placed = {**bounds, "upgraded": upgraded}
    assert verdicts(mix, placed, every, rule) == verdicts(mix, placed, every)
