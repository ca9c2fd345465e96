"""How a broker reacts to a new leader epoch, which it learns from the controller."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.kafka.bounds import Bounds
from leadline.model.kafka.broker import BEHIND, CURRENT, KNOWN, SHUTTING_DOWN, UNKNOWN_OFFSET, UNTIL_EMPTY, Replica
from leadline.model.kafka.follower import next_request, truncated
from leadline.model.kafka.high_watermark import waiting, with_leader
from leadline.model.kafka.log_start import leads_with
from leadline.model.kafka.messages import Diverging, EpochRequest, FetchRequest, FetchResponse, OffsetOutOfRange
from leadline.model.kafka.protocols import Protocol
from leadline.model.kafka.state import P, Partition
from leadline.model.quorum import NO_EPOCH, brokers, epochs


@action(
    "broker {broker} learns that it is the leader for epoch {epoch}",
    broker=brokers,
    epoch=epochs,
    fair="weak each",
    effect="healing",
)
def become_leader(state: Partition, broker: int, epoch: int) -> Iterator[Partition]:
    """A broker accepts a request that names it as leader. It keeps its log, and does not know the followers' log end
    offsets yet.

    A broker that has just started receives the current ISR. Other brokers receive the ISR with which the epoch began.
    If the broker has led until now, producers that wait for acknowledgements of its earlier epochs continue to wait.
    """
    request = state.requests[epoch] if state.obeys(broker, epoch) else None
    if request is None or request.leader != broker:
        return
    just_started = state.replicas[broker].leader is None and state.is_current(epoch)
    isr = state.quorum.isr if just_started else request.isr
    assigned, metadata = None, CURRENT
    if state.bounds.moves:
        known = state.assignment.replicas if just_started else request.replicas
        assigned = frozenset(known or ())
        metadata = BEHIND if state.is_current(epoch) and known != state.assignment.replicas else CURRENT
    heard = _heard(state, broker, epoch)
    leading = leader_of(state, broker, epoch, isr, assigned, metadata)
    yield with_leader(heard, broker, leading)
    response = _still_truncates_by(state, broker)
    if heard.may("late_responses") and response is not None:
        leading = attrs.evolve(leading, late_response=response)
        yield with_leader(heard.having("late_responses"), broker, leading)


def leader_of(
    state: Partition,
    broker: int,
    epoch: int,
    isr: frozenset[int],
    assigned: frozenset[int] | None = None,
    metadata: str = CURRENT,
) -> Replica:
    """Return the replica of a broker that becomes the leader. Its high watermark has not advanced yet.

    Parameters:
        state: the state before the broker accepts the request.
        epoch, isr: the leader epoch and the ISR that the broker learns.
        assigned, metadata: see `Replica`.
    """
    before = state.replicas[broker]
    leading = attrs.evolve(
        before,
        epoch=epoch,
        leader=broker,
        isr=isr,
        remote_leos=_known_leos(state, broker, assigned),
        in_flight=None,
        proposal=None,
        waits_from=NO_EPOCH,
        last_epoch=KNOWN,
        empty_epoch=NO_EPOCH,
        assigned=assigned,
        metadata=metadata,
        old_answer=_waits_for_old_answer(state, broker),
        caught_up=frozenset(),
    )
    if state.bounds.starts:
        starts = before.remote_starts if before.leader == broker else (UNKNOWN_OFFSET,) * state.bounds.brokers
        leading = leads_with(state.rules_of(broker), attrs.evolve(leading, remote_starts=starts))
    return attrs.evolve(leading, waits_from=waiting(leading, _waited_from(state, broker)))


def _known_leos(state: Partition, broker: int, assigned: frozenset[int] | None) -> tuple[int, ...]:
    """Return what a broker that becomes the leader knows of the other brokers' log end offsets.

    A leader that leads on, without having heard of another leader in between, keeps them (`follower_leos`). It forgets
    those of brokers that have no replica any more (`Partition.updateAssignmentAndIsr`).
    """
    before, unknown = state.replicas[broker], (UNKNOWN_OFFSET,) * state.bounds.brokers
    if not state.rules_of(broker).keeps_leos or before.leader != broker:
        return unknown
    if assigned is None:
        return before.remote_leos
    return tuple(before.remote_leos[each] if each in assigned else UNKNOWN_OFFSET for each in brokers(state.bounds))


def _waits_for_old_answer(state: Partition, broker: int) -> bool:
    """Return whether a leader that begins another epoch mistakes the response to an `AlterPartition` request from an
    earlier epoch for the response to a newer one (KAFKA-12686).
    """
    replica = state.replicas[broker]
    if not state.rules_of(broker).drops_newer_proposals or replica.leader != broker:
        return False
    return replica.old_answer or (replica.proposal is not None and not replica.proposal.dropped)


def _waited_from(state: Partition, broker: int) -> int:
    """Return the first epoch whose producers may still be waiting for acknowledgements, or `NO_EPOCH` if there is none.
    The broker has led without interruption since that epoch.
    """
    replica = state.replicas[broker]
    if replica.leader != broker or state.bounds.acks != "all" or not state.rules_of(broker).acknowledges_earlier:
        return NO_EPOCH
    return replica.epoch if replica.waits_from == NO_EPOCH else replica.waits_from


def _still_truncates_by(state: Partition, broker: int) -> Diverging | None:
    """Return the diverging response that makes a broker truncate its log in a later epoch, or None (KAFKA-13207)."""
    response, late = state.replicas[broker].in_flight, state.rules_of(broker).truncates_late
    if not late or not isinstance(response, Diverging) or response.high_watermark is not None:
        return None
    return response


@action(
    "broker {broker} learns of the leader for epoch {epoch} and follows it",
    broker=brokers,
    epoch=epochs,
    fair="weak each",
    effect="healing",
)
def become_follower(state: Partition, broker: int, epoch: int) -> Iterator[Partition]:
    """A broker accepts a request that names a different broker as leader. It truncates its log, asks where to truncate,
    or fetches.

    Up to 2.0, a broker that already follows that leader continues to fetch without truncating (KAFKA-7164).

    A broker that is shutting down starts no fetcher (`ReplicaManager.makeFollowers`, and `applyLocalFollowersDelta` in
    KRaft).

    The broker may still handle a response to its previous request if the leader and the fetch offset are the same,
    because only the fetch offset links a response to its request. In 2.8.0, the broker also truncates after a diverging
    response from a previous leader (KAFKA-13207).
    """
    request = state.requests[epoch] if state.obeys(broker, epoch) else None
    if request is None or request.leader is None or request.leader == broker:
        return
    replica = state.replicas[broker]
    if state.bounds.moves and broker not in (request.replicas or ()):
        was_added_again = state.is_current(epoch) and broker in state.assignment.replicas
        if not was_added_again:
            return
    protocol, response = state.rules_of(broker), replica.in_flight
    follows_on = replica.leader == request.leader and protocol.follows_on(replica.epoch, epoch, request.elected)
    asking = follower_of(state, broker, epoch, request.leader, request.elected)
    if follows_on:
        yield state.with_replica(broker, asking)
        return
    heard = _heard(state, broker, epoch)
    yield heard.with_replica(broker, asking)
    if state.registrations[broker].status == SHUTTING_DOWN:
        return
    if not heard.may("late_responses"):
        return
    if replica.leader != request.leader:
        diverging = _still_truncates_by(state, broker)
        if diverging is not None:
            late = attrs.evolve(asking, late_response=diverging)
            yield heard.having("late_responses").with_replica(broker, late)
    elif isinstance(response, FetchResponse | Diverging | OffsetOutOfRange) and _fetches_on(protocol, replica, asking):
        yield heard.having("late_responses").with_replica(broker, attrs.evolve(asking, in_flight=response))


def follower_of(state: Partition, broker: int, epoch: int, leader: int, elected: bool) -> Replica:
    """Return the replica of a broker that follows a leader in a new epoch, with its next request in flight.

    Parameters:
        state: the state before the broker accepts the request.
        epoch, leader: the leader epoch and the leader that the broker learns.
        elected: whether the epoch began with an election.
    """
    replica, protocol = state.replicas[broker], state.rules_of(broker)
    if replica.leader == leader and protocol.follows_on(replica.epoch, epoch, elected):
        return _in_epoch(replica, epoch)
    following = replica.renewed(
        log=replica.log,
        high_watermark=replica.high_watermark,
        epoch=epoch,
        leader=leader,
        late_response=replica.late_response,
        empty_epoch=_remembered(state, broker),
        old_min_isr=replica.old_min_isr,
        dead_fetchers=replica.dead_fetchers,
    )
    if protocol.forgets_last_epoch and replica.log.end_offset > 0:
        following = attrs.evolve(following, last_epoch=UNTIL_EMPTY)
    following = truncated(protocol, following, protocol.truncates_first_to(following))
    if state.registrations[broker].status == SHUTTING_DOWN:
        return following
    return attrs.evolve(following, in_flight=next_request(protocol, following, asks=True))


def _remembered(state: Partition, broker: int) -> int:
    """Return the epoch without records that a broker remembers when it learns of another leader, or `NO_EPOCH`.

    A leader adds its epoch to its leader epoch cache when it is elected (KAFKA-7415). A restart removes the epoch, and
    so does a record or a later epoch at the same offset (`LeaderEpochFileCache`).
    """
    replica = state.replicas[broker]
    if not state.bounds.empty_epochs or replica.leader != broker:
        return replica.empty_epoch
    wrote = replica.log.last_epoch == replica.epoch
    return NO_EPOCH if wrote or not state.rules_of(broker).knows_from_election else replica.epoch


def _fetches_on(protocol: Protocol, before: Replica, asking: Replica) -> bool:
    """Return whether a follower continues to fetch from the same offset without first sending an
    `OffsetsForLeaderEpoch` request.

    With KIP-595, a follower with an empty log first truncates to its high watermark, and ignores responses until then.
    """
    request, end = asking.in_flight, before.log.end_offset
    ready = end > 0 or not protocol.fetches_with_epochs
    return ready and isinstance(request, FetchRequest) and request.offset == end


def _in_epoch(follower: Replica, epoch: int) -> Replica:
    """Return the replica of a follower that continues to fetch in a new epoch. Its in-flight request gets the new
    epoch.

    In releases in which followers continue to fetch, leaders do not check the epoch of a request.
    """
    request = follower.in_flight
    if isinstance(request, FetchRequest | EpochRequest):
        request = attrs.evolve(request, epoch=epoch)
    return attrs.evolve(follower, epoch=epoch, in_flight=request)


def _heard(state: P, broker: int, epoch: int) -> P:
    """Return the state after a broker has received a request. If the request was sent before the broker restarted, it
    is counted as a perturbation.
    """
    late = state.replicas[broker].leader is None and not state.is_current(epoch)
    return state.having("late_requests") if late else state


def brokers_that_may_leave(bounds: Bounds) -> range:
    """Return the brokers whose replica can be removed. By default, there are none."""
    return brokers(bounds) if bounds.reassignments else range(0)


@action(
    "broker {broker} learns that it has no replica in epoch {epoch} and deletes its log",
    broker=brokers_that_may_leave,
    epoch=epochs,
    fair="weak each",
    effect="healing",
)
def delete_replica(state: Partition, broker: int, epoch: int) -> Iterator[Partition]:
    """A broker deletes its log when it applies a record that does not list it as a replica (`TopicDelta.localChanges`).

    If the broker applies this record together with a record that adds it again, it keeps its log; see
    `become_follower`. If the broker has restarted since, it treats its log as stray and does not use it again
    (KAFKA-14616, KAFKA-15605).
    """
    request, replica = state.requests[epoch], state.replicas[broker]
    if not state.bounds.moves or request is None or not replica.up or replica.offline:
        return
    if replica.leader is None:
        is_stray = epoch == state.quorum.epoch and broker not in state.assignment.replicas
        if is_stray and replica.log.end_offset > 0:
            yield state.with_replica(broker, replica.renewed())
    elif epoch > replica.epoch and broker not in (request.replicas or ()):
        yield state.with_replica(broker, replica.renewed())
