"""Leader epochs without records in the cache of a former leader (KAFKA-10706), and other ways to be stuck in 2.8."""

from __future__ import annotations

from typing import Any

import pytest

from leadline.checker import Limits, Spec
from leadline.checker.engines import oracle
from leadline.invariants.catalog import find
from leadline.model.kafka.messages import EpochRequest
from leadline.model.kafka.state import Partition


def release(name: str, **bounds: Any) -> Spec[Partition]:
    found = find(name)
    assert found is not None
    return found.with_bounds(bounds)


CLEAN = (
    *("produce(leader=0)", "handle_fetch(leader=0, follower=1)", "handle_fetch_response(follower=1)"),
    *("handle_fetch(leader=0, follower=2)", "handle_fetch_response(follower=2)"),
    # Broker 1 leaves the ISR and comes back, so epoch 1 begins with the same leader, which writes a record that broker
    # 1 does not get.
    *("session_expires(broker=1)", "become_leader(broker=0, epoch=1)", "become_follower(broker=2, epoch=1)"),
    *("handle_epoch_request(leader=0, follower=2)", "handle_epoch_response(follower=2)", "session_resumes(broker=1)"),
    *("become_follower(broker=1, epoch=1)", "handle_epoch_request(leader=0, follower=1)"),
    *("handle_epoch_response(follower=1)", "park_fetch(leader=0, follower=1)", "produce(leader=0)"),
    *("handle_fetch(leader=0, follower=2)", "handle_fetch_response(follower=2)"),
    # Broker 1 leads in epoch 2 and writes nothing. Broker 2 is elected without having heard of it.
    *("crash(broker=0)", "controller_notices_failure(broker=0)", "become_leader(broker=1, epoch=2)"),
    *("session_expires(broker=1)", "become_leader(broker=2, epoch=3)", "become_follower(broker=1, epoch=3)"),
    *("handle_epoch_request(leader=2, follower=1)", "handle_epoch_response(follower=1)"),
)


def ended(spec: Spec[Partition], steps: tuple[str, ...]) -> Partition:
    """The state after some steps. Of several next states, that in which broker 1 leads if there is a choice."""
    (state,) = spec.initials()
    for step in steps:
        after = [each for instance, each in spec.successors(state) if repr(instance) == step and each != state]
        assert after, (step, [repr(instance) for instance, _ in spec.successors(state)])
        state = next((each for each in after if each.quorum.leader == 1), after[0])
    return state


@pytest.mark.parametrize(("name", "remembers"), [("kafka/2.4", True), ("kafka/2.6.1", False)])
def test_clean_elections_lead_to_a_truncation_without_end(name: str, remembers: bool) -> None:
    bounds = {"brokers": 3, "max_epoch": 3, "crashes": 1, "session_expiries": 2, "empty_epochs": True}
    spec = release(name, **bounds)
    asked = ended(spec, CLEAN)
    assert asked.replicas[1].empty_epoch == (2 if remembers else -1)
    assert asked.replicas[1].in_flight == EpochRequest(leader=2, epoch=3, wanted=2 if remembers else 0)
    again = ended(spec, (*CLEAN, *CLEAN[-2:])) if remembers else None
    assert again in (asked, None)


@pytest.mark.parametrize("name", ["kafka/2.0.0", "kafka/2.4", "kafka/4.1"])
def test_a_restart_or_an_election_removes_the_epoch(name: str) -> None:
    spec = release(name, records=1, max_epoch=2, crashes=1, session_expiries=1, empty_epochs=True)
    search = oracle.OracleSearch(spec.with_properties([]), Limits())
    search.run()
    remembering = [(state, each) for state in search.arrivals for each in state.replicas if each.empty_epoch >= 0]
    assert bool(remembering) == (name != "kafka/2.0.0")
    for _, replica in remembering:
        assert replica.up
        assert replica.log.last_epoch is None or replica.log.last_epoch < replica.empty_epoch <= replica.epoch
    for state in search.arrivals:
        for broker, _ in state.believed_leaders():
            assert state.replicas[broker].empty_epoch < 0


@pytest.mark.parametrize("name", ["kafka/2.7", "kafka/2.8"])
def test_no_leader_asks_for_the_isr_that_it_has(name: str) -> None:
    """So KAFKA-12751, in which the controller has nothing to change, cannot be shown."""
    spec = release(name, records=1, crashes=0, session_expiries=1, isr_shrinks=1, max_epoch=2)
    search = oracle.OracleSearch(spec.with_properties([]), Limits())
    search.run()
    current = [
        (state, replica)
        for state in search.arrivals
        for broker, replica in enumerate(state.replicas)
        if replica.proposal is not None and replica.proposal.sent and state.is_true_leader(broker)
    ]
    assert current
    for state, replica in current:
        assert replica.proposal is not None
        assert replica.proposal.isr != state.quorum.isr
