"""Mistakes one can make with the rules of `kip-320`: a rule changed, or an action replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from checker import Action, Spec
from invariants.catalog import atomic
from model.atomic.actions import (
    advance_high_watermark,
    become_follower,
    become_leader,
    caught_up,
    controller_elects,
    controller_shrinks_isr,
    follows,
    leader_expands_isr,
    leader_shrinks_isr,
    leader_writes,
)
from model.atomic.protocols import (
    KIP_320,
    Protocol,
    always,
    end_of_agreement,
    own_end,
)
from model.atomic.state import Partition, Replica
from model.log import Log, Record
from model.mistakes import Taken, and_then, changing, under
from model.quorum import NO_EPOCH, Quorum
from tests.tools.mutants import with_actions

AtomicAction = Action[Partition, Any]


# --- how mutants are made -----------------------------------------------------------------------------------


def changed(**rules: Any) -> Spec[Partition]:
    """`kip-320` with some rules changed."""
    return atomic(attrs.evolve(KIP_320, **rules))


def replaced(functions: dict[AtomicAction, Taken], base: Protocol = KIP_320) -> Spec[Partition]:
    """A protocol with some actions replaced: same name and parameters, another function."""
    return with_actions(atomic(base), functions)


def as_followers(state: Partition, leader: int, members: frozenset[int]) -> Partition:
    """The state as if these brokers followed a leader, in its epoch."""
    for member in members - {leader}:
        state = changing(state, member, leader=leader, epoch=state.replicas[leader].epoch)
    return state


# --- truncation ---------------------------------------------------------------------------------------------


def one_too_many(follower: Replica, leader_log: Log) -> int:
    return min(end_of_agreement(follower, leader_log) + 1, follower.log.end_offset)


def one_too_few(follower: Replica, leader_log: Log) -> int:
    return max(end_of_agreement(follower, leader_log) - 1, 0)


def shorter_end(follower: Replica, leader_log: Log) -> int:
    return min(follower.log.end_offset, leader_log.end_offset)


def presumes_to_lead(source: Replica, broker: int, epoch: int) -> bool:
    return source.leader == broker


def skip_truncation_if_the_leader_is_the_same(state: Partition, broker: int, epoch: int) -> Iterator[Partition]:
    same = any(request.leader == state.replicas[broker].leader for request in state.requests[epoch])
    yield from (under(become_follower, truncates_to=own_end) if same else become_follower)(state, broker, epoch)


# --- high watermark -----------------------------------------------------------------------------------------


def count_members_that_do_not_follow(state: Partition, leader: int) -> Iterator[Partition]:
    for successor in advance_high_watermark(as_followers(state, leader, state.replicas[leader].isr), leader):
        yield state.with_replica(leader, successor.replicas[leader])


def raise_when(enough: Callable[[Partition, int, Replica], bool]) -> Taken:
    """A leader raises its high watermark by one under another condition."""

    def mutant(state: Partition, leader: int) -> Iterator[Partition]:
        replica = state.replicas[leader]
        if state.believes_to_lead(leader) and enough(state, leader, replica):
            yield changing(state, leader, high_watermark=replica.high_watermark + 1)

    return mutant


def all_have_what_is_below(state: Partition, leader: int, replica: Replica) -> bool:
    return all(caught_up(state, leader, member, replica.high_watermark) for member in replica.isr)


def members_that_have_it(state: Partition, leader: int, replica: Replica) -> int:
    return sum(caught_up(state, leader, member, replica.high_watermark + 1) for member in replica.isr)


def leader_has_it(state: Partition, leader: int, replica: Replica) -> bool:
    return replica.log.has(replica.high_watermark)


def majority_has_it(state: Partition, leader: int, replica: Replica) -> bool:
    return leader_has_it(state, leader, replica) and 2 * members_that_have_it(state, leader, replica) > len(replica.isr)


def any_member_has_it(state: Partition, leader: int, replica: Replica) -> bool:
    return members_that_have_it(state, leader, replica) > 0


def smallest_end_offset(state: Partition, leader: int) -> Iterator[Partition]:
    """The high watermark is the smallest log end offset of the ISR, even if it was larger before."""
    replica = state.replicas[leader]
    if state.believes_to_lead(leader) and all(follows(state, leader, member) for member in replica.isr):
        smallest = min(state.replicas[member].log.end_offset for member in replica.isr)
        if smallest != replica.high_watermark:
            yield changing(state, leader, high_watermark=smallest)


def take_the_leaders_watermark(before: Partition, after: Partition, leader: int, follower: int) -> Partition:
    return changing(after, follower, high_watermark=after.replicas[leader].high_watermark)


def keep_the_larger_watermark(before: Partition, after: Partition, leader: int, follower: int) -> Partition:
    own = before.replicas[follower].high_watermark
    return changing(after, follower, high_watermark=max(own, after.replicas[follower].high_watermark))


def keep_the_own_watermark(before: Partition, after: Partition, leader: int, follower: int) -> Partition:
    return changing(after, follower, high_watermark=before.replicas[follower].high_watermark)


def truncate_the_log_only(before: Partition, after: Partition, broker: int, epoch: int) -> Partition:
    return changing(after, broker, high_watermark=before.replicas[broker].high_watermark)


# --- ISR ----------------------------------------------------------------------------------------------------


def admit_from(watermark: Callable[[int], int]) -> Taken:
    """A leader compares who joins with another offset than its high watermark."""

    def mutant(state: Partition, leader: int, joining: int) -> Iterator[Partition]:
        replica = state.replicas[leader]
        if state.protocol.admits(replica):
            lowered = changing(state, leader, high_watermark=watermark(replica.high_watermark))
            for successor in under(leader_expands_isr, admits=always)(lowered, leader, joining):
                yield changing(successor, leader, high_watermark=replica.high_watermark)

    return mutant


def admit_who_does_not_follow(state: Partition, leader: int, joining: int) -> Iterator[Partition]:
    for successor in leader_expands_isr(as_followers(state, leader, frozenset({joining})), leader, joining):
        yield successor.with_replica(joining, state.replicas[joining])


def writes_the_isr_if(allowed: Callable[[Partition, int], bool]) -> dict[AtomicAction, Taken]:
    """Leaders that are not the true one write the ISR too."""

    def mutant(action: AtomicAction) -> Taken:
        def taken(state: Partition, leader: int, other: int) -> Iterator[Partition]:
            pretended = Quorum(leader, state.replicas[leader].epoch, state.quorum.isr)
            if allowed(state, leader):
                for successor in action(attrs.evolve(state, quorum=pretended), leader, other):
                    yield attrs.evolve(successor, quorum=attrs.evolve(state.quorum, isr=successor.quorum.isr))

        return taken

    return {action: mutant(action) for action in (leader_shrinks_isr, leader_expands_isr)}


def shrink_only_the_own_isr(before: Partition, after: Partition, leader: int, member: int) -> Partition:
    return attrs.evolve(after, quorum=before.quorum)


def expand_only_the_quorums_isr(before: Partition, after: Partition, leader: int, joining: int) -> Partition:
    return after.with_replica(leader, before.replicas[leader])


def remove_any_member(state: Partition, leader: int, member: int) -> Iterator[Partition]:
    """A leader drops a member that is caught up too."""
    absent = changing(state, member, leader=None) if member != leader else state
    for successor in leader_shrinks_isr(absent, leader, member):
        yield successor.with_replica(member, state.replicas[member])


# --- elections and requests ---------------------------------------------------------------------------------


def elect_anyone(state: Partition, broker: int) -> Iterator[Partition]:
    """Unclean election: the new leader joins the ISR."""
    isr = state.quorum.isr | {broker}
    yield from controller_elects(attrs.evolve(state, quorum=attrs.evolve(state.quorum, isr=isr)), broker)


def elect_anyone_beside_the_isr(state: Partition, broker: int) -> Iterator[Partition]:
    for successor in elect_anyone(state, broker):
        yield state.announcing(attrs.evolve(successor.quorum, isr=state.quorum.isr))


def elect_in_the_same_epoch(state: Partition, broker: int) -> Iterator[Partition]:
    before = max(state.quorum.epoch - 1, NO_EPOCH)
    yield from controller_elects(attrs.evolve(state, quorum=attrs.evolve(state.quorum, epoch=before)), broker)


def shrink_in_the_same_epoch(state: Partition, broker: int) -> Iterator[Partition]:
    """The controller announces an ISR without a follower in no new leader epoch, as Kafka does since KAFKA-15021."""
    quorum = state.quorum
    if broker == quorum.leader:
        yield from controller_shrinks_isr(state, broker)
    elif broker in quorum.isr:
        yield state.announcing(attrs.evolve(quorum, isr=quorum.isr - {broker}))


def remove_the_leader_and_let_it_lead(before: Partition, after: Partition, broker: int) -> Partition:
    return attrs.evolve(after, quorum=attrs.evolve(after.quorum, leader=before.quorum.leader))


def starts_with(change: Callable[[Replica, int], dict[str, Any]]) -> Taken:
    """A new leader changes its replica."""

    def begin(before: Partition, after: Partition, broker: int, epoch: int) -> Partition:
        return changing(after, broker, **change(after.replicas[broker], broker))

    return and_then(become_leader, begin)


def lead_by_a_stale_request(state: Partition, broker: int, epoch: int) -> Iterator[Partition]:
    yield from become_leader(changing(state, broker, epoch=NO_EPOCH), broker, epoch)


def follow_by_a_stale_request(state: Partition, broker: int, epoch: int) -> Iterator[Partition]:
    yield from become_follower(changing(state, broker, epoch=NO_EPOCH), broker, epoch)


def follow_by_the_same_request_again(state: Partition, broker: int, epoch: int) -> Iterator[Partition]:
    """A broker that restarts is told once more, and truncates once more."""
    told = state.replicas[broker].epoch == epoch
    yield from become_follower(changing(state, broker, epoch=NO_EPOCH) if told else state, broker, epoch)


# --- records ------------------------------------------------------------------------------------------------


def stamp_epoch_0(before: Partition, after: Partition, leader: int) -> Partition:
    log = before.replicas[leader].log.append(Record(before.next_value, epoch=0))
    return changing(after, leader, log=log)


def write_to_a_follower(state: Partition, leader: int) -> Iterator[Partition]:
    named = state.replicas[leader].leader
    if named is not None:
        for successor in leader_writes(changing(state, leader, leader=leader), leader):
            yield changing(successor, leader, leader=named)
