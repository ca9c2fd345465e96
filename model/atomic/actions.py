"""The actions of the `atomic` family of specs. All five protocols have the same actions.

The fairness is the same as in the public TLA+ specification (hachikuji/kafka-specification). It is strong for raising
the high watermark, expanding the ISR and writing, and weak for becoming leader or follower.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.atomic.state import Partition
from leadline.model.log import Record
from leadline.model.quorum import Quorum, brokers, epochs


@action("the controller elects broker {broker}", broker=brokers)
def controller_elects(state: Partition, broker: int) -> Iterator[Partition]:
    """The controller elects a member of the ISR, because a broker has failed or because leaders are rebalanced."""
    if broker in state.quorum.isr and broker != state.quorum.leader:
        yield from _new_epoch(state, broker, state.quorum.isr)


@action("the controller believes that broker {broker} failed and removes it from the ISR", broker=brokers)
def controller_shrinks_isr(state: Partition, broker: int) -> Iterator[Partition]:
    """The controller removes a broker that it considers failed from the ISR, even if the broker is running.

    If the broker was the leader, the partition has no leader afterwards. The last member of the ISR is not removed.
    """
    quorum = state.quorum
    if broker == quorum.leader:
        yield from _new_epoch(state, None, quorum.isr - {broker} or quorum.isr)
    elif broker in quorum.isr:
        yield from _new_epoch(state, quorum.leader, quorum.isr - {broker})


def _new_epoch(state: Partition, leader: int | None, isr: frozenset[int]) -> Iterator[Partition]:
    epoch = state.quorum.epoch + 1
    if epoch > state.bounds.max_epoch:
        return
    yield state.announcing(Quorum(leader, epoch, isr))


@action("broker {broker} learns that it is the leader for epoch {epoch}", broker=brokers, epoch=epochs, fair="weak")
def become_leader(state: Partition, broker: int, epoch: int) -> Iterator[Partition]:
    """A broker obeys a request that names it as leader. The broker's high watermark may be lower than that of the
    previous leader.
    """
    replica = state.replicas[broker]
    for request in state.sent_in(epoch):
        if request.leader == broker and epoch > replica.epoch:
            yield state.with_replica(broker, attrs.evolve(replica, epoch=epoch, leader=broker, isr=request.isr))


@action(
    "broker {broker} follows the leader of epoch {epoch}, truncating by its protocol's rule",
    broker=brokers,
    epoch=epochs,
    fair="weak",
)
def become_follower(state: Partition, broker: int, epoch: int) -> Iterator[Partition]:
    """A broker obeys a request that names another broker as leader, and truncates its log according to the protocol's
    rule.
    """
    replica = state.replicas[broker]
    for request in state.sent_in(epoch):
        if request.leader is None or request.leader == broker or epoch <= replica.epoch:
            continue
        leader = state.replicas[request.leader]
        if not state.protocol.trusts(leader, request.leader, epoch):
            continue
        offset = state.protocol.truncates_to(replica, leader.log)
        if offset > replica.log.end_offset:
            continue
        following = attrs.evolve(
            replica,
            log=replica.log.truncate_to(offset),
            high_watermark=min(offset, replica.high_watermark),
            epoch=epoch,
            leader=request.leader,
            isr=request.isr,
        )
        yield state.with_replica(broker, following)


@action("broker {follower} finds that it diverges from broker {leader} and truncates", leader=brokers, follower=brokers)
def truncate(state: Partition, leader: int, follower: int) -> Iterator[Partition]:
    """A follower detects that its log diverges, and truncates it. In most protocols, it already truncated its log when
    it became a follower.
    """
    source, target = state.replicas[leader], state.replicas[follower]
    if not follows(state, leader, follower) or not state.protocol.diverges(source.log, target.log):
        return
    offset = target.log.end_of_agreement_with(source.log)
    truncated = attrs.evolve(
        target, log=target.log.truncate_to(offset), high_watermark=min(offset, target.high_watermark)
    )
    yield state.with_replica(follower, truncated)


@action("a producer writes a record to broker {leader}", leader=brokers, fair="strong")
def leader_writes(state: Partition, leader: int) -> Iterator[Partition]:
    """A broker that believes it leads appends a record, even if it was deposed (a zombie leader)."""
    replica = state.replicas[leader]
    if not state.believes_to_lead(leader) or state.next_value == state.bounds.records:
        return
    if replica.log.end_offset < state.bounds.log_size:
        log = replica.log.append(Record(state.next_value, replica.epoch))
        written = state.with_replica(leader, attrs.evolve(replica, log=log))
        yield attrs.evolve(written, next_value=state.next_value + 1)


@action("broker {follower} fetches the next record from broker {leader}", leader=brokers, follower=brokers)
def replicate(state: Partition, leader: int, follower: int) -> Iterator[Partition]:
    """A follower appends the leader's record at the follower's log end offset, and adopts the leader's high
    watermark.
    """
    source, target = state.replicas[leader], state.replicas[follower]
    end = target.log.end_offset
    if source.log.has(end) and caught_up(state, leader, follower, end):
        log = target.log.append(source.log[end])
        watermark = min(source.high_watermark, log.end_offset)
        yield state.with_replica(follower, attrs.evolve(target, log=log, high_watermark=watermark))


@action(
    "broker {leader} raises its high watermark: every member of its own ISR has the record",
    leader=brokers,
    fair="strong",
)
def advance_high_watermark(state: Partition, leader: int) -> Iterator[Partition]:
    """A leader commits the record at its high watermark when every member of its own ISR has the record."""
    replica = state.replicas[leader]
    committed = replica.high_watermark + 1
    if state.believes_to_lead(leader) and all(caught_up(state, leader, member, committed) for member in replica.isr):
        yield state.with_replica(leader, attrs.evolve(replica, high_watermark=committed))


@action("broker {leader} removes broker {member}, which lags, from the ISR", leader=brokers, member=brokers)
def leader_shrinks_isr(state: Partition, leader: int, member: int) -> Iterator[Partition]:
    """The true leader removes an ISR member that has not caught up to the leader's log end offset."""
    replica = state.replicas[leader]
    if not state.is_true_leader(leader) or member == leader or member not in replica.isr:
        return
    if not caught_up(state, leader, member, replica.log.end_offset):
        yield _with_isr(state, leader, replica.isr - {member})


@action("broker {leader} adds broker {joining} to the ISR", leader=brokers, joining=brokers, fair="strong")
def leader_expands_isr(state: Partition, leader: int, joining: int) -> Iterator[Partition]:
    """The true leader adds a broker to the ISR after the broker has reached the leader's high watermark."""
    replica = state.replicas[leader]
    if not state.is_true_leader(leader) or joining in replica.isr or not state.protocol.admits(replica):
        return
    if caught_up(state, leader, joining, replica.high_watermark):
        yield _with_isr(state, leader, replica.isr | {joining})


def _with_isr(state: Partition, leader: int, isr: frozenset[int]) -> Partition:
    """Let the true leader write an ISR to the quorum in the same epoch. No request is sent."""
    written = attrs.evolve(state, quorum=attrs.evolve(state.quorum, isr=isr))
    return written.with_replica(leader, attrs.evolve(state.replicas[leader], isr=isr))


def follows(state: Partition, leader: int, follower: int) -> bool:
    """Return whether a broker follows the given leader and the protocol's rule allows the leader to accept it."""
    return (
        state.believes_to_lead(leader)
        and state.replicas[follower].leader == leader
        and state.protocol.follows(state.replicas[leader], state.replicas[follower])
    )


def caught_up(state: Partition, leader: int, follower: int, offset: int) -> bool:
    """Return whether a follower has its leader's records below `offset`, as far as the protocol can tell.

    Return False if the broker does not follow this leader.
    """
    if not follows(state, leader, follower):
        return False
    source, target, last = state.replicas[leader].log, state.replicas[follower].log, offset - 1
    return offset == 0 or (source.has(last) and target.has(last) and state.protocol.agrees_at(source, target, last))


ACTIONS = (
    controller_elects,
    controller_shrinks_isr,
    become_leader,
    become_follower,
    truncate,
    leader_writes,
    replicate,
    advance_high_watermark,
    leader_shrinks_isr,
    leader_expands_isr,
)
