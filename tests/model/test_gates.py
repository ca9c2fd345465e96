"""Gates that are opened too early: a release that does at the old level what only the new level allows.

Each gate is opened wrongly in one mix. Either a property is violated there that holds with the gate closed, or a
reason says why nothing in the model can notice it.
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

IGNORED = "the old release does not look at the field"
CLOSED = "in Kafka, the old release closes the connection: nothing is replicated, and nothing is lost"

ONE = {"records": 1, "max_epoch": 1, "crashes": 1, "acks": "all"}
CONTROLLER = {"upgraded": "", "controller": "new"}
FOLLOWER: dict[str, object] = {"upgraded": "1"}

NOTICED = [
    # KAFKA-15021, KAFKA-15109: old leaders wait for a follower that has left the ISR until their leader epoch changes
    ("shrink_epoch", "kafka/3.5.1..3.6", {**ONE, **CONTROLLER, "isr_shrinks": 0}, "all_committed_again"),
    # KIP-966: old leaders commit with fewer than min.insync.replicas members, and eligible leaders lack the record
    ("elr", "kafka/3.6..4.1", {**ONE, **CONTROLLER, "min_insync_replicas": 2}, "committed_never_lost"),
]
"""The gates whose wrong opening violates a property: the mix, its bounds, and the property."""

NOT_NOTICED = [
    ("truncation", "kafka/0.11..2.0.0", FOLLOWER, CLOSED),
    ("truncation", "kafka/2.6.1..2.8.1", FOLLOWER, CLOSED),
    ("fencing", "kafka/2.0.1..2.1", FOLLOWER, IGNORED),
    ("isr_eligibility", "kafka/3.4.1..3.5", FOLLOWER, IGNORED),
    ("late_requests", "kafka/2.1..2.2", CONTROLLER, IGNORED),
    ("log_start", "kafka/0.10.2..0.11", FOLLOWER, IGNORED),
    ("isr_write", "kafka/2.6.1..2.7", {"upgraded": "0"}, CLOSED + "; the ISR stays as it is"),
    ("directories", "kafka/3.6..3.7", FOLLOWER, "a level adds failures, of directories one by one"),
]
"""The gates whose wrong opening no property notices, with a placement in which it matters, and the reason."""


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
    assert {rule for rule, *_ in (*NOTICED, *NOT_NOTICED)} == GATED


@pytest.mark.parametrize(("rule", "mix", "bounds", "prop"), NOTICED)
def test_a_gate_that_opens_too_early_is_noticed(rule: str, mix: str, bounds: dict[str, object], prop: str) -> None:
    assert verdicts(mix, bounds, [prop]) == {prop: Verdict.HOLDS}
    assert verdicts(mix, bounds, [prop], rule) == {prop: Verdict.VIOLATED}


def test_an_old_leader_cannot_answer_a_request_that_it_does_not_know() -> None:
    bounds = {**ONE, "upgraded": "0", "unclean_leader_election": False}
    assert verdicts("kafka/0.10.2..0.11", bounds, ["committed_never_lost"]) == {"committed_never_lost": Verdict.HOLDS}
    with pytest.raises(SpecError, match="does not support OffsetsForLeaderEpoch"):
        verdicts("kafka/0.10.2..0.11", bounds, ["committed_never_lost"], "truncation")


@pytest.mark.parametrize(("rule", "mix", "placement", "reason"), NOT_NOTICED)
def test_a_gate_that_does_no_harm_within_the_model(
    rule: str, mix: str, placement: dict[str, object], reason: str
) -> None:
    promises = ["committed_never_lost", "durable_as_promised", "log_matching"]
    bounds = {**ONE, **placement, "unclean_leader_election": False}
    assert verdicts(mix, bounds, promises, rule) == verdicts(mix, bounds, promises), reason
