"""Where the two families disagree about a property that both have, and why: the difference taken away, they agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from leadline.checker import Limits, Spec, Verdict
from leadline.checker.engines.compiled import explore
from leadline.invariants.catalog import CATALOG, find
from leadline.invariants.families.atomic import ATOMIC
from leadline.model.atomic import protocols as atomic_protocols
from leadline.model.atomic.replica import Replica as AtomicReplica
from leadline.model.kafka.controller import controller_elects
from leadline.model.kafka.state import Partition
from leadline.model.log import Log
from tests.model.kafka_mutants import replaced
from tests.model.kafka_states import KIP_279
from tests.specs.scenario import Scenario
from tests.suite.samples import EVERY, sampled

BOTH_HAVE = (
    "weak_isr",
    "strong_isr",
    "follower_log_is_prefix",
    "logs_prefix_consistent",
    "log_matching",
    "epochs_monotonic_in_log",
)
ATOMIC_TWO = {"brokers": 2, "log_size": 2, "records": 2, "max_epoch": 2}
RPC_TWO = {"brokers": 2, "records": 2, "max_epoch": 2, "crashes": 2}
ATOMIC_THREE = {"brokers": 3, "log_size": 1, "records": 1, "max_epoch": 1}
RPC_THREE = {"brokers": 3, "records": 1, "max_epoch": 1, "crashes": 1, "session_expiries": 1}


def violated(spec: Spec[Any], bounds: dict[str, int]) -> dict[str, int]:
    """What an exhaustive search finds violated: the states of the shortest trace by property."""
    result = explore(spec.with_bounds(bounds).with_properties(BOTH_HAVE), Limits(keep_going=True))
    assert result.exhausted
    return {item.property.name: len(item.traces[0]) for item in result.properties if item.verdict is Verdict.VIOLATED}


SAME: list[tuple[str, dict[str, int], dict[str, int]]] = [
    ("hw-truncation", ATOMIC_TWO, RPC_TWO),
    ("kip-320", ATOMIC_TWO, RPC_TWO),
    ("kip-320", ATOMIC_THREE, RPC_THREE),
]


@pytest.mark.parametrize(("protocol", "atomic_bounds", "rpc_bounds"), sampled(SAME[::-1], 3))
def test_families_agree(protocol: str, atomic_bounds: dict[str, int], rpc_bounds: dict[str, int]) -> None:
    one = violated(CATALOG[f"atomic/{protocol}"], atomic_bounds)
    other = violated(CATALOG[f"rpc/{protocol}"], rpc_bounds)
    assert set(one) == set(other)


# --- KIP-279 compares epochs, not records -----------------------------------------------------------------------


def by_questions_and_answers(follower: AtomicReplica, leader_log: Log) -> int:
    """KIP-279 as brokers do it: the leader's largest epoch up to the follower's last one, and so on down."""
    log = follower.log
    while log.end_offset:
        wanted = log.records[-1].epoch
        known = [record.epoch for record in leader_log.records if record.epoch <= wanted]
        epoch = max(known, default=wanted)
        offset = log.end_of_epoch(epoch)
        if offset == 0 or log[offset - 1].epoch == epoch:
            return min(leader_log.end_of_epoch(wanted), offset)
        log = log.truncate_to(offset)
    return 0


def test_kip_279_with_two_brokers_fails_in_rpc_only() -> None:
    """Unfenced, a broker fetches from the leader of epoch 2, and leads in epoch 1 after that: its epochs go down.

    Its question about the last one, 1, then hides the record of epoch 2 below it, which both have.
    """
    assert violated(CATALOG["atomic/kip-279"], ATOMIC_TWO) == {"epochs_monotonic_in_log": 10}
    assert violated(CATALOG["rpc/kip-279"], RPC_TWO) == {
        "weak_isr": 15,
        "strong_isr": 15,
        "epochs_monotonic_in_log": 11,
    }


def test_atomic_looks_at_both_logs_at_once_which_hides_it() -> None:
    asked = ATOMIC.spec(
        ATOMIC.columns[-1], attrs.evolve(atomic_protocols.KIP_279, truncates_to=by_questions_and_answers)
    )
    assert set(violated(asked, ATOMIC_TWO)) == {"weak_isr", "strong_isr", "epochs_monotonic_in_log"}


# --- KIP-101: when a leader's epoch begins -------------------------------------------------------------------------


def test_kip_101_keeps_another_log_in_rpc_only() -> None:
    """A new leader's epoch starts with its election here, as KIP-101 has it; in atomic, with its first record."""
    assert violated(CATALOG["atomic/kip-101"], ATOMIC_TWO) == {
        "weak_isr": 12,
        "strong_isr": 12,
        "epochs_monotonic_in_log": 10,
    }
    assert violated(CATALOG["rpc/kip-101"], RPC_TWO) == {
        "weak_isr": 13,
        "strong_isr": 13,
        "follower_log_is_prefix": 12,
        "logs_prefix_consistent": 14,
        "epochs_monotonic_in_log": 11,
    }


@pytest.mark.skipif(not EVERY, reason="EVERY=1 searches 30,000 states more of how epochs begin")
def test_kip_101_with_epochs_known_from_their_first_record_agrees_with_atomic() -> None:
    late = find("rpc/kip-101+epoch_cache=first-append")
    assert late is not None
    assert set(violated(late, RPC_TWO)) == set(violated(CATALOG["atomic/kip-101"], ATOMIC_TWO))


# --- elections beside a living leader ------------------------------------------------------------------------------


def elect_any_member(state: Partition, broker: int) -> Iterator[Partition]:
    """Any live member of the ISR is elected at any time, as in atomic; the old leader may stay a member."""
    if state.quorum.leader != broker:
        leaderless = attrs.evolve(state, quorum=attrs.evolve(state.quorum, leader=None))
        yield from controller_elects(leaderless, broker)


@pytest.mark.skipif(not EVERY, reason="EVERY=1 compares both families with three brokers")
@pytest.mark.parametrize("protocol", ["kip-101", "kip-279"])
def test_three_brokers_and_one_leader_change_fail_in_atomic_only(protocol: str) -> None:
    """KAFKA-7128 takes an old leader that lives on in the ISR, which here only a preferred election leaves there."""
    assert violated(CATALOG[f"atomic/{protocol}"], ATOMIC_THREE) == {"strong_isr": 12}
    assert violated(CATALOG[f"rpc/{protocol}"], RPC_THREE) == {}


def test_three_brokers_and_one_leader_change_fail_with_elections_at_any_time() -> None:
    spec = replaced({controller_elects: elect_any_member}, KIP_279)
    assert set(violated(spec, RPC_THREE | {"crashes": 0, "session_expiries": 0})) == {"strong_isr"}


PREFIX = "follower_log_is_prefix"
AFTER_THREE_CHANGES = (
    "crash(broker=0)",
    "restart(broker=0)",
    "controller_elects(broker=1)",
    "controller_elects(broker=0)",
    "become_leader(broker=0, epoch=2)",
    "become_leader(broker=1, epoch=1)",
    "produce(leader=1)",
    "session_expires(broker=0)",
    "controller_elects(broker=1)",
    "become_follower(broker=2, epoch=3)",
    "handle_fetch(leader=1, follower=2)",
    "handle_fetch_response(follower=2)",
    "become_follower(broker=1, epoch=2)",
    "handle_epoch_request(leader=0, follower=1)",
    "handle_epoch_response(follower=1)",
    "become_leader(broker=1, epoch=3)",
)
"""Broker 2 copies a zombie's record in epoch 3; the zombie truncates that record, and leads in epoch 3."""


def shortest(spec: Spec[Any], bounds: dict[str, int]) -> int | None:
    """The length of a shortest trace to a follower whose log is not a prefix of its leader's; None if none exists."""
    (found,) = explore(spec.with_bounds(bounds).with_properties([PREFIX])).properties
    return len(found.traces[0]) if found.traces else None


def test_kip_279_fetches_from_a_zombie_sooner_in_atomic() -> None:
    """In rpc, a leader has to expire and to be elected again (``EVERY=1``: 17 states, or 12 with elections at will)."""
    assert shortest(CATALOG["atomic/kip-279"], ATOMIC_THREE | {"max_epoch": 2}) == 10
    if EVERY:
        bounds = RPC_THREE | {"max_epoch": 2, "crashes": 0}
        assert shortest(replaced({controller_elects: elect_any_member}, KIP_279), bounds) == 12
        assert shortest(CATALOG["rpc/kip-279"], bounds) == 17


def test_kip_279_fetches_from_a_zombie_after_three_leader_changes_in_rpc() -> None:
    """A leader that starts again stays in the ISR. This is a shortest counterexample (in 1,192,264 states)."""
    spec = CATALOG["rpc/kip-279"].with_bounds(RPC_THREE | {"max_epoch": 3})
    scenario = Scenario(spec)
    for step in AFTER_THREE_CHANGES:
        assert PREFIX not in scenario.violations()
        scenario.play([step])
    assert PREFIX in scenario.violations()
