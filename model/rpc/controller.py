"""The controller: it notices failures late, and elects leaders."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from checker.action import action
from model.quorum import Quorum, Request, brokers
from model.rpc.state import PREFERRED, Partition


@action("the controller notices that broker {broker} is down", broker=brokers)
def controller_notices_failure(state: Partition, broker: int) -> Iterator[Partition]:
    """The session of a broker that is down expires, late."""
    if not state.replicas[broker].up:
        yield from _taken_for_failed(state, broker)


@action("the controller loses sight of broker {broker}, which is up", broker=brokers)
def session_expires(state: Partition, broker: int) -> Iterator[Partition]:
    """The session of a broker that runs expires, by a long pause or a cut network; it does not know."""
    if state.replicas[broker].up and state.session_expiries < state.bounds.session_expiries:
        for after in _taken_for_failed(state, broker):
            yield attrs.evolve(after, session_expiries=state.session_expiries + 1)


def _taken_for_failed(state: Partition, broker: int) -> Iterator[Partition]:
    """A failed broker leaves the ISR, unless it is the last member; a failed leader leads no more.

    Removing a follower from the ISR takes a leader epoch, as in every Kafka with ZooKeeper; that a leader
    has failed takes one only with the election that follows.
    """
    quorum = state.quorum
    isr = quorum.isr - {broker} or quorum.isr
    if broker == quorum.leader or (quorum.leader is None and isr != quorum.isr):
        yield attrs.evolve(state, quorum=attrs.evolve(quorum, leader=None, isr=isr))
    elif isr != quorum.isr:
        yield from _new_epoch(state, quorum.leader, isr)


@action("the controller elects broker {broker}", broker=brokers)
def controller_elects(state: Partition, broker: int) -> Iterator[Partition]:
    """A live member of the ISR is elected: any when there is no leader, and the preferred one at any time."""
    quorum = state.quorum
    if quorum.leader is not None and (quorum.leader == PREFERRED or broker != PREFERRED):
        return
    if broker in quorum.isr and state.replicas[broker].up:
        yield from _new_epoch(state, broker, quorum.isr)


@action("the controller elects broker {broker}, which is not in the ISR", broker=brokers)
def controller_elects_uncleanly(state: Partition, broker: int) -> Iterator[Partition]:
    """With `unclean.leader.election.enable`, any live broker will do when no member of the ISR is up."""
    quorum = state.quorum
    if not state.bounds.unclean_leader_election or quorum.leader is not None or broker in quorum.isr:
        return
    if state.replicas[broker].up and not any(state.replicas[member].up for member in sorted(quorum.isr)):
        yield from _new_epoch(state, broker, frozenset({broker}))


def _new_epoch(state: Partition, leader: int | None, isr: frozenset[int]) -> Iterator[Partition]:
    """Begin the next leader epoch, and send the `LeaderAndIsr` request that says so."""
    epoch = state.quorum.epoch + 1
    if epoch > state.bounds.max_epoch:
        return
    requests = (*state.requests[:epoch], Request(leader, isr), *state.requests[epoch + 1 :])
    yield attrs.evolve(state, quorum=Quorum(leader, epoch, isr), requests=requests)
