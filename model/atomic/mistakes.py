"""Deliberately wrong rules for `atomic/kip-320`. Some of them are harmless.

Each mistake replaces rules of a `Protocol` or functions of actions. `leadline mutate atomic/kip-320` checks the spec
with each mistake in turn. The bounds of a harmful mistake are the smallest bounds within which it violates a property.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import attrs

from leadline.checker.action import Action
from leadline.model.atomic import protocols as does
from leadline.model.atomic.actions import (
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
    replicate,
)
from leadline.model.atomic.protocols import always, end_of_agreement, own_end
from leadline.model.atomic.replica import Replica
from leadline.model.atomic.state import Partition
from leadline.model.log import Log, Record
from leadline.model.mistakes import Mistake, Taken, and_then, changing, under
from leadline.model.quorum import NO_EPOCH, Quorum

AtomicAction = Action[Partition, ...]


def as_followers(state: Partition, leader: int, members: frozenset[int]) -> Partition:
    """Return a state in which the given brokers follow a leader in the leader's epoch."""
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
    """Return an action in which a leader advances its high watermark by one if `enough` returns True."""

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
    """Set the high watermark to the smallest log end offset of the ISR, even if this lowers the high watermark."""
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
    """Return an action in which a leader admits a follower at an offset other than the leader's high watermark.

    Parameters:
        watermark: a function that returns the offset that the follower must have reached. Its argument is the leader's
            high watermark.
    """

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


def isr_written_if(allowed: Callable[[Partition, int], bool]) -> dict[AtomicAction, Taken]:
    """Return actions in which brokers other than the true leader can also write the ISR, if `allowed` returns True."""

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
    """Remove any member from the ISR, even if it has caught up."""
    absent = changing(state, member, leader=None) if member != leader else state
    for successor in leader_shrinks_isr(absent, leader, member):
        yield successor.with_replica(member, state.replicas[member])


# --- elections and requests ---------------------------------------------------------------------------------


def elect_anyone(state: Partition, broker: int) -> Iterator[Partition]:
    """Elect any broker, even if it is not in the ISR (an unclean election), and add it to the ISR."""
    isr = state.quorum.isr | {broker}
    yield from controller_elects(attrs.evolve(state, quorum=attrs.evolve(state.quorum, isr=isr)), broker)


def elect_anyone_beside_the_isr(state: Partition, broker: int) -> Iterator[Partition]:
    for successor in elect_anyone(state, broker):
        yield state.announcing(attrs.evolve(successor.quorum, isr=state.quorum.isr))


def elect_in_the_same_epoch(state: Partition, broker: int) -> Iterator[Partition]:
    before = max(state.quorum.epoch - 1, NO_EPOCH)
    yield from controller_elects(attrs.evolve(state, quorum=attrs.evolve(state.quorum, epoch=before)), broker)


def shrink_in_the_same_epoch(state: Partition, broker: int) -> Iterator[Partition]:
    """Remove a follower from the ISR without a new leader epoch, as the controller has done since KAFKA-15021."""
    quorum = state.quorum
    if broker == quorum.leader:
        yield from controller_shrinks_isr(state, broker)
    elif broker in quorum.isr:
        yield state.announcing(attrs.evolve(quorum, isr=quorum.isr - {broker}))


def remove_the_leader_and_let_it_lead(before: Partition, after: Partition, broker: int) -> Partition:
    return attrs.evolve(after, quorum=attrs.evolve(after.quorum, leader=before.quorum.leader))


def starts_with(change: Callable[[Replica, int], dict[str, object]]) -> Taken:
    """Return an action in which a new leader changes fields of its replica.

    Parameters:
        change: a function that returns the changed fields. Its arguments are the replica and its broker.
    """

    def begin(before: Partition, after: Partition, broker: int, epoch: int) -> Partition:
        return changing(after, broker, **change(after.replicas[broker], broker))

    return and_then(become_leader, begin)


def lead_by_a_stale_request(state: Partition, broker: int, epoch: int) -> Iterator[Partition]:
    yield from become_leader(changing(state, broker, epoch=NO_EPOCH), broker, epoch)


def follow_by_a_stale_request(state: Partition, broker: int, epoch: int) -> Iterator[Partition]:
    yield from become_follower(changing(state, broker, epoch=NO_EPOCH), broker, epoch)


def follow_by_the_same_request_again(state: Partition, broker: int, epoch: int) -> Iterator[Partition]:
    """Let a follower obey the request for its current epoch a second time, as after a restart, and truncate again."""
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


# --- the table ----------------------------------------------------------------------------------------------


def _within(brokers: int, log_size: int, records: int, max_epoch: int) -> Mapping[str, int]:
    return {"brokers": brokers, "log_size": log_size, "records": records, "max_epoch": max_epoch}


_TWO = _within(2, 1, 1, 1)
_TWO_RECORDS = _within(2, 2, 2, 1)
_TWO_RECORDS_TWO_CHANGES = _within(2, 2, 2, 2)
_THREE = _within(3, 1, 1, 1)
_THREE_TWO_CHANGES = _within(3, 1, 1, 2)

MISTAKES = (
    Mistake(
        name="truncates-to-high-watermark",
        sentence="a new follower truncates to its own high watermark",
        source="KIP-101, KAFKA-1211",
        wrong={"truncates_to": does.own_high_watermark},
        bounds=_TWO_RECORDS_TWO_CHANGES,
    ),
    Mistake(
        name="truncates-by-any-broker",
        sentence="a new follower truncates to match the log of a broker that does not know yet that it leads",
        source="KIP-320",
        wrong={"trusts": does.any_broker},
        bounds=_THREE_TWO_CHANGES,
    ),
    Mistake(
        name="truncates-by-leader-of-any-epoch",
        sentence="a new follower truncates to match the log of a broker that leads in another epoch",
        source="KIP-320",
        wrong={"trusts": presumes_to_lead},
        bounds=_THREE_TWO_CHANGES,
    ),
    Mistake(
        name="no-truncation",
        sentence="a new follower keeps its whole log",
        source="KIP-101",
        wrong={"truncates_to": own_end},
        bounds=_TWO,
    ),
    Mistake(
        name="truncation-one-too-few",
        sentence="a new follower keeps one record too many",
        source="KIP-101",
        wrong={"truncates_to": one_too_many},
        bounds=_TWO,
    ),
    Mistake(
        name="truncation-one-too-many",
        sentence="a new follower drops one record too many",
        source="KIP-101",
        wrong={"truncates_to": one_too_few},
        bounds=_TWO,
    ),
    Mistake(
        name="truncates-to-shorter-end",
        sentence="a new follower truncates to the end of the shorter log, whatever the logs contain",
        source="KIP-101",
        wrong={"truncates_to": shorter_end},
        bounds=_TWO_RECORDS,
    ),
    Mistake(
        name="same-leader-not-truncated",
        sentence="a follower does not truncate if its new leader is the same as the old one",
        source="KAFKA-7164",
        actions={become_follower: skip_truncation_if_the_leader_is_the_same},
        bounds=_THREE_TWO_CHANGES,
    ),
    Mistake(
        name="fetch-not-fenced",
        sentence="a leader answers fetch requests from another leader epoch",
        source="KIP-320, KAFKA-7395",
        actions={replicate: under(replicate, follows=does.by_name)},
        bounds=_TWO_RECORDS_TWO_CHANGES,
    ),
    Mistake(
        name="hw-counts-other-epochs",
        sentence="followers in another leader epoch count towards the high watermark",
        source="KIP-320",
        actions={advance_high_watermark: under(advance_high_watermark, follows=does.by_name)},
        bounds=_THREE_TWO_CHANGES,
    ),
    Mistake(
        name="hw-counts-non-followers",
        sentence="ISR members that follow another leader count towards the high watermark",
        actions={advance_high_watermark: count_members_that_do_not_follow},
        bounds=_TWO_RECORDS,
    ),
    Mistake(
        name="hw-off-by-one",
        sentence="the high watermark advances when all ISR members have the records below it",
        actions={advance_high_watermark: raise_when(all_have_what_is_below)},
        bounds=_TWO,
    ),
    Mistake(
        name="hw-of-leader-alone",
        sentence="only the leader counts towards the high watermark",
        actions={advance_high_watermark: raise_when(leader_has_it)},
        bounds=_TWO,
    ),
    Mistake(
        name="hw-of-majority",
        sentence="the high watermark advances when a majority of the ISR has the next record",
        actions={advance_high_watermark: raise_when(majority_has_it)},
        bounds=_THREE,
    ),
    Mistake(
        name="hw-of-any",
        sentence="the high watermark advances when any member of the ISR has the next record",
        actions={advance_high_watermark: raise_when(any_member_has_it)},
        bounds=_TWO,
    ),
    Mistake(
        name="hw-not-capped",
        sentence="a follower adopts the leader's high watermark even if its own log is shorter",
        source="KAFKA-3919",
        actions={replicate: and_then(replicate, take_the_leaders_watermark)},
        bounds=_TWO_RECORDS,
    ),
    Mistake(
        name="isr-joins-before-epoch-start",
        sentence="a follower joins the ISR before the high watermark has reached the leader's epoch",
        source="KAFKA-7128",
        wrong={"admits": does.always},
        bounds=_THREE,
    ),
    Mistake(
        name="isr-joins-anywhere",
        sentence="a follower joins the ISR wherever its log ends",
        source="KAFKA-7128",
        actions={leader_expands_isr: admit_from(lambda watermark: 0)},
        bounds=_TWO,
    ),
    Mistake(
        name="isr-joins-one-below",
        sentence="a follower joins the ISR one record below the high watermark",
        source="KAFKA-7128",
        actions={leader_expands_isr: admit_from(lambda watermark: max(watermark - 1, 0))},
        bounds=_TWO,
    ),
    Mistake(
        name="isr-joins-from-other-epoch",
        sentence="a follower in another leader epoch joins the ISR",
        source="KIP-320",
        actions={leader_expands_isr: under(leader_expands_isr, follows=does.by_name)},
        bounds=_THREE_TWO_CHANGES,
    ),
    Mistake(
        name="isr-takes-non-followers",
        sentence="a broker that follows another leader joins the ISR",
        actions={leader_expands_isr: admit_who_does_not_follow},
        bounds=_TWO_RECORDS,
    ),
    Mistake(
        name="isr-written-by-zombie",
        sentence="a deposed leader writes the ISR: there is no compare-and-set",
        source="KIP-497, KAFKA-8836",
        actions=isr_written_if(lambda state, leader: state.believes_to_lead(leader)),
        bounds=_TWO,
    ),
    Mistake(
        name="isr-written-in-old-epoch",
        sentence="a leader writes the ISR although it does not know yet that it leads in a new epoch",
        source="KIP-497, KAFKA-8836",
        actions=isr_written_if(lambda state, leader: state.quorum.leader == leader),
        bounds=_TWO,
    ),
    Mistake(
        name="isr-shrunk-before-written",
        sentence="a leader uses the smaller ISR before it is written",
        source="KIP-497",
        actions={leader_shrinks_isr: and_then(leader_shrinks_isr, shrink_only_the_own_isr)},
        bounds=_TWO,
    ),
    Mistake(
        name="isr-grown-after-written",
        sentence="a leader does not use the larger ISR when it is written",
        source="KIP-497",
        actions={leader_expands_isr: and_then(leader_expands_isr, expand_only_the_quorums_isr)},
        bounds=_TWO,
    ),
    Mistake(
        name="elects-beside-isr",
        sentence="the controller elects a broker outside the ISR and does not change the ISR",
        actions={controller_elects: elect_anyone_beside_the_isr},
        bounds=_TWO,
    ),
    Mistake(
        name="elects-uncleanly",
        sentence="the controller elects a broker outside the ISR and adds it to the ISR",
        actions={controller_elects: elect_anyone},
        bounds=_TWO,
    ),
    Mistake(
        name="elects-in-same-epoch",
        sentence="an election does not begin a new leader epoch",
        source="KIP-101",
        actions={controller_elects: elect_in_the_same_epoch},
        bounds=_TWO,
    ),
    Mistake(
        name="leader-removed-leads-on",
        sentence="the controller removes the leader from the ISR, but the leader keeps leading",
        actions={controller_shrinks_isr: and_then(controller_shrinks_isr, remove_the_leader_and_let_it_lead)},
        bounds=_TWO,
    ),
    Mistake(
        name="leader-commits-its-log",
        sentence="a new leader sets its high watermark to its log end offset",
        actions={become_leader: starts_with(lambda own, _: {"high_watermark": own.log.end_offset})},
        bounds=_TWO_RECORDS_TWO_CHANGES,
    ),
    Mistake(
        name="leader-truncates",
        sentence="a new leader truncates its own log to its high watermark",
        source="KIP-101",
        actions={become_leader: starts_with(lambda own, _: {"log": own.log.truncate_to(own.high_watermark)})},
        bounds=_TWO,
    ),
    Mistake(
        name="leader-forgets-isr",
        sentence="a new leader starts with an ISR that has no other member",
        source="KIP-497",
        actions={become_leader: starts_with(lambda _, leader: {"isr": frozenset({leader})})},
        bounds=_TWO,
    ),
    Mistake(
        name="leader-by-stale-request",
        sentence="a request from an older leader epoch makes a broker the leader again",
        source="KIP-380, KAFKA-7235",
        actions={become_leader: lead_by_a_stale_request},
        bounds=_TWO,
    ),
    Mistake(
        name="follower-by-stale-request",
        sentence="a request from an older leader epoch makes a broker a follower again",
        source="KIP-380, KAFKA-7235",
        actions={become_follower: follow_by_a_stale_request},
        bounds=_THREE,
    ),
    Mistake(
        name="stamps-epoch-0",
        sentence="records are stamped with epoch 0",
        source="KIP-101",
        actions={leader_writes: and_then(leader_writes, stamp_epoch_0)},
        bounds=_TWO_RECORDS,
    ),
    Mistake(
        name="follower-accepts-writes",
        sentence="a follower accepts records from producers",
        actions={leader_writes: write_to_a_follower},
        bounds=_TWO,
    ),
    Mistake(
        name="follows-again",
        sentence="a follower applies the same request again, as after a restart",
        actions={become_follower: follow_by_the_same_request_again},
        bounds=_TWO_RECORDS_TWO_CHANGES,
        harmless="it truncates again to the point up to which its log matches its leader's",
    ),
    Mistake(
        name="follower-hw-never-falls",
        sentence="a follower's high watermark never decreases when it fetches",
        actions={replicate: and_then(replicate, keep_the_larger_watermark)},
        bounds=_TWO_RECORDS_TWO_CHANGES,
        harmless="the records below it are committed, and a leader has them too",
    ),
    Mistake(
        name="follower-hw-not-learned",
        sentence="a follower does not learn the leader's high watermark",
        actions={replicate: and_then(replicate, keep_the_own_watermark)},
        bounds=_TWO_RECORDS_TWO_CHANGES,
        harmless="no broker truncates to it, and a new leader's high watermark may be behind in any case",
    ),
    Mistake(
        name="follower-hw-kept",
        sentence="a follower keeps its high watermark when it truncates",
        actions={become_follower: and_then(become_follower, truncate_the_log_only)},
        bounds=_TWO_RECORDS_TWO_CHANGES,
        harmless="it never truncates below its high watermark",
    ),
    Mistake(
        name="hw-may-fall",
        sentence="the high watermark is the smallest log end offset of the ISR, even if it was higher before",
        actions={advance_high_watermark: smallest_end_offset},
        bounds=_TWO_RECORDS_TWO_CHANGES,
        harmless="it advances by several records at once, but never decreases, because no ISR member has a shorter log",
    ),
    Mistake(
        name="isr-shrinks-at-will",
        sentence="a leader removes members that have caught up from the ISR",
        actions={leader_shrinks_isr: remove_any_member},
        bounds=_TWO_RECORDS_TWO_CHANGES,
        harmless="a smaller ISR is safe if it is written",
    ),
    Mistake(
        name="isr-shrunk-in-same-epoch",
        sentence="the controller removes a follower from the ISR without a new leader epoch",
        source="KAFKA-15021",
        actions={controller_shrinks_isr: shrink_in_the_same_epoch},
        bounds=_TWO_RECORDS_TWO_CHANGES,
        harmless="only a change of leader needs a new leader epoch",
    ),
)
"""The wrong rules by topic: truncation, fetching, high watermark, ISR, controller, leadership and records.

The mistakes at the end do no harm.
"""
