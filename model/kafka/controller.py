"""The controller, which elects leaders. It notices failures late.

Its decisions can be based on outdated information. The controller considers a running broker dead if the broker's
session has expired. The controller can elect a leader before it notices that other brokers are down.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.kafka.broker import ACTIVE, FENCED
from leadline.model.kafka.state import PREFERRED, Partition
from leadline.model.quorum import Quorum, Request, brokers


@action("the controller notices that broker {broker} is down", broker=brokers)
def controller_notices_failure(state: Partition, broker: int) -> Iterator[Partition]:
    """The session of a broker expires some time after the broker has failed, and the controller reacts."""
    matters = broker == state.quorum.leader or _isr_without(state, broker) != state.quorum.isr
    if matters and not state.replicas[broker].up:
        yield from leaving(state, broker)


@action("the controller loses contact with broker {broker}, which is up", broker=brokers)
def session_expires(state: Partition, broker: int) -> Iterator[Partition]:
    """The session of a running broker expires after a long pause or a network failure.

    The broker does not notice that its session has expired.
    """
    if state.may("session_expiries") and state.considers_alive(broker):
        yield from leaving(state.having("session_expiries").with_registration(broker, FENCED), broker)


@action("the controller sees broker {broker} again", broker=brokers)
def session_resumes(state: Partition, broker: int) -> Iterator[Partition]:
    """A broker whose session has expired starts a new session.

    The broker is elected if there is no leader and the broker is eligible.
    """
    if state.registrations[broker].status == FENCED and state.replicas[broker].up:
        yield from led_again(state.with_registration(broker, ACTIVE))


def leaving(state: Partition, broker: int) -> Iterator[Partition]:
    """Yield the states after the controller has removed a failed or stopping broker from leadership and from the ISR.

    The failure of a leader does not begin a leader epoch, but the election that follows does. In most releases, an
    epoch also begins when a follower is removed from the ISR. In KRaft, an epoch also begins when a partition loses its
    leader, so that brokers learn that there is no leader. The model omits this case.

    Yields:
        The next states, or the given state if the quorum does not change.
    """
    quorum = state.quorum
    isr = _isr_without(state, broker)
    if broker == quorum.leader:
        after = with_quorum_isr(state, isr)
        yield from led_again(attrs.evolve(after, quorum=attrs.evolve(after.quorum, leader=None)))
    elif isr == quorum.isr:
        yield state
    elif quorum.leader is None or not state.protocol.epoch_for_removal:
        yield with_quorum_isr(state, isr)
    else:
        yield from new_epoch(state, quorum.leader, isr, elected=False)


def _isr_without(state: Partition, broker: int) -> frozenset[int]:
    """Return the ISR after a broker has been removed. If there is no ELR, the last member stays in the ISR."""
    isr = state.quorum.isr - {broker}
    return isr if isr or state.protocol.has_elr else state.quorum.isr


@action("the controller elects broker {broker}", broker=brokers)
def controller_elects(state: Partition, broker: int) -> Iterator[Partition]:
    """The controller elects a live member of the ISR if there is no leader, or the preferred leader at any time.
    With KIP-966, a live member of the ELR is elected if the ISR is empty, and the last known leader if the ELR is empty
    too.
    """
    if state.quorum.leader is None:
        yield from _elected(state, broker)
    elif state.quorum.leader != PREFERRED == broker and broker in state.quorum.isr and state.considers_alive(broker):
        yield from new_epoch(state, broker, state.quorum.isr)


def _elected(state: Partition, broker: int) -> Iterator[Partition]:
    quorum = state.quorum
    if quorum.isr:
        if broker in quorum.isr and state.considers_alive(broker):
            yield from new_epoch(state, broker, quorum.isr)
    elif quorum.elr:
        if broker in quorum.elr and state.considers_alive(broker):
            yield from new_epoch(state, broker, frozenset({broker}))
    elif broker == quorum.last_known_leader and _may_lead_again(state, broker):
        yield from new_epoch(state, broker, frozenset({broker}), clean=False)


def _may_lead_again(state: Partition, broker: int) -> bool:
    """Return whether the last known leader can be elected.

    Some releases require that the controller considers the broker alive. See the field `elects_last_known` of
    `leadline.model.kafka.protocols.Protocol`.
    """
    return state.protocol.elects_last_known == "fenced" or state.considers_alive(broker)


def led_again(state: Partition) -> Iterator[Partition]:
    """Yield the states after an election in the same step. If no broker is elected, yield the given state."""
    elected = []
    if state.quorum.leader is None and state.protocol.elects_at_once:
        elected = [after for broker in brokers(state.bounds) for after in _elected(state, broker)]
    yield from elected or [state]


@action("the controller elects broker {broker}, which is not in the ISR", broker=brokers)
def controller_elects_uncleanly(state: Partition, broker: int) -> Iterator[Partition]:
    """With `unclean.leader.election.enable`, the controller elects any live broker if no ISR or ELR member is alive."""
    quorum = state.quorum
    candidates = quorum.isr or quorum.elr
    if not state.bounds.unclean_leader_election or quorum.leader is not None or broker in candidates:
        return
    if state.considers_alive(broker) and not any(state.considers_alive(member) for member in sorted(candidates)):
        yield from new_epoch(state, broker, frozenset({broker}), clean=False)


@action("min.insync.replicas is updated")
def update_min_insync_replicas(state: Partition) -> Iterator[Partition]:
    """An update of `min.insync.replicas` clears the ELR, which was computed with the old value (KIP-966)."""
    if state.quorum.elr and state.may("min_isr_updates"):
        cleared = attrs.evolve(state.quorum, elr=frozenset())
        yield attrs.evolve(state.having("min_isr_updates"), quorum=cleared)


def with_quorum_isr(state: Partition, isr: frozenset[int]) -> Partition:
    """Return a state in which the quorum has the given ISR, and the ELR that results from it.

    If the ISR becomes empty, its last member becomes the last known leader (KIP-966).
    """
    quorum = attrs.evolve(state.quorum, isr=isr, elr=_elr(state, isr))
    if not isr and state.protocol.elects_last_known != "no":
        (last,) = state.quorum.isr
        quorum = attrs.evolve(quorum, last_known_leader=last)
    return attrs.evolve(state, quorum=quorum)


def _elr(state: Partition, isr: frozenset[int]) -> frozenset[int]:
    return state.protocol.eligible(state.quorum, isr, min(state.bounds.min_insync_replicas, state.bounds.brokers))


def new_epoch(
    state: Partition, leader: int, isr: frozenset[int], *, elected: bool = True, clean: bool = True
) -> Iterator[Partition]:
    """Begin the next leader epoch and announce it to the brokers.

    Parameters:
        state: the state before.
        leader, isr: the leader and ISR of the new epoch.
        elected: whether the epoch begins with an election. If not, the leader stays the same and the ISR becomes
            smaller.
        clean: whether the leader was in the ISR or ELR.

    Yields:
        The next state. If the bounds do not allow a further epoch, nothing is yielded.
    """
    epoch = state.quorum.epoch + 1
    if epoch > state.bounds.max_epoch:
        return
    requests = (*state.requests[:epoch], Request(leader, isr, elected), *state.requests[epoch + 1 :])
    elr = _elr(state, isr) if clean else frozenset()
    yield attrs.evolve(state, quorum=Quorum(leader, epoch, isr, elr), requests=requests)
