"""Situations in which bugs do harm: witnesses on which the *holds* of releases without these bugs rests.

A search that never reaches the situation of a bug says nothing about it. Situations read no rules, so that releases
with a bug and without it reach the same ones. They read the records that were promised to clients only if the property
that the bug violates does, too: otherwise the search would have more states.
"""

from __future__ import annotations

from collections.abc import Iterator

from leadline.checker.properties import Property, step_witness, witness
from leadline.model.kafka.broker import ACTIVE, ANSWERED, BEHIND, FENCED, SHUTTING_DOWN, Replica
from leadline.model.kafka.messages import Diverging, FetchRequest
from leadline.model.kafka.state import Partition, Promise


def _committed(state: Partition) -> int:
    """Return the highest high watermark of any broker."""
    return max(replica.high_watermark for replica in state.replicas)


def _end(promises: tuple[Promise, ...]) -> int:
    """Return the offset after the records that were promised to clients."""
    return max((promise.offset + 1 for promise in promises), default=0)


def _followers(state: Partition) -> Iterator[tuple[int, Replica, Replica]]:
    """Yield each running follower with its replica, and with its leader's if that broker believes that it leads."""
    for broker, replica in enumerate(state.replicas):
        leader = replica.leader
        if leader is not None and leader != broker and state.believes_to_lead(leader):
            yield broker, replica, state.replicas[leader]


def _waits(leader: Replica) -> bool:
    """Return whether a record of a leader is not committed yet."""
    return leader.high_watermark < leader.log.end_offset


# --- logs and leaders ------------------------------------------------------------------------------------------


@witness("a broker leads in a later epoch than the one in which a record of its log was committed")
def leads_after_commit(state: Partition) -> bool:
    committed = _committed(state)
    return any(
        record.epoch < replica.epoch
        for _, replica in state.believed_leaders()
        for record in replica.log.between(0, committed)
    )


@witness("a leader has a record that is committed, but above its own high watermark")
def leader_below_committed(state: Partition) -> bool:
    committed = _committed(state)
    return any(each.high_watermark < committed <= each.log.end_offset for _, each in state.believed_leaders())


@witness("a broker starts, or can hear of a later leader, with a committed record above its own high watermark")
def follower_below_committed(state: Partition) -> bool:
    committed = _end(state.exposed)
    return any(
        each.up
        and each.leader != broker
        and (each.epoch != 0 or state.quorum.epoch > 0)
        and each.high_watermark < committed <= each.log.end_offset
        for broker, each in enumerate(state.replicas)
    )


@witness("a broker that was replaced believes that it leads, and a follower fetches from it or its successor")
def replaced_leader_fetched_from(state: Partition) -> bool:
    return any(
        isinstance(follower.in_flight, FetchRequest) and leader.epoch != follower.in_flight.epoch
        for _, follower, leader in _followers(state)
    )


@witness("two logs have different records at one offset")
def logs_differ(state: Partition) -> bool:
    return any(
        one.log.end_of_agreement_with(other.log) < min(one.log.end_offset, other.log.end_offset)
        for number, one in enumerate(state.replicas)
        for other in state.replicas[number + 1 :]
    )


@witness("no record of a leader has the epoch of the last record of its follower")
def follower_of_unknown_epoch(state: Partition) -> bool:
    return any(
        follower.log.last_epoch not in {record.epoch for record in leader.log.records}
        for _, follower, leader in _followers(state)
        if follower.log.records
    )


@witness("a follower's log is longer than that of its leader")
def follower_longer_than_leader(state: Partition) -> bool:
    return any(follower.log.end_offset > leader.log.end_offset for _, follower, leader in _followers(state))


@witness("a leader has not written in its epoch, and a member of the ISR asks it about a later one")
def leader_without_own_record(state: Partition) -> bool:
    return any(
        leader.epoch > 0 and leader.log.last_epoch != leader.epoch and broker in leader.isr and leader.log.records != ()
        for broker, _, leader in _followers(state)
    )


@witness(
    "a broker outside the ISR has the records below the high watermark of its leader, and not all from before it led"
)
def joins_between_watermark_and_epoch(state: Partition) -> bool:
    return any(
        broker not in leader.isr and leader.high_watermark <= follower.log.end_offset < leader.starts_own_epoch_at
        for broker, follower, leader in _followers(state)
    )


@witness("a follower outside the ISR has the records below the high watermark of its leader, which has some")
def caught_up_outside_isr(state: Partition) -> bool:
    return any(
        broker not in leader.isr and follower.log.end_offset >= leader.high_watermark > 0
        for broker, follower, leader in _followers(state)
    )


@witness("a follower has asked where to truncate, and its leader is down")
def asks_leader_that_is_down(state: Partition) -> bool:
    return any(
        each.truncating and each.leader is not None and not state.replicas[each.leader].up for each in state.replicas
    )


@witness("a follower fetches from an offset up to which its log is not that of its leader")
def fetches_while_diverging(state: Partition) -> bool:
    return any(
        isinstance(follower.in_flight, FetchRequest)
        and follower.in_flight.epoch == leader.epoch
        and leader.log.end_of_agreement_with(follower.log) < follower.in_flight.offset
        for _, follower, leader in _followers(state)
    )


@witness("a follower that diverges is told of a high watermark above its own")
def diverging_with_higher_watermark(state: Partition) -> bool:
    return any(
        isinstance(follower.in_flight, Diverging) and follower.high_watermark < leader.high_watermark
        for _, follower, leader in _followers(state)
    )


@witness("a broker is sent a diverging response, and is the next leader")
def diverging_and_elected(state: Partition) -> bool:
    return any(
        isinstance(each.in_flight, Diverging) and state.quorum.leader == broker
        for broker, each in enumerate(state.replicas)
    )


@witness("a leader goes on to a later epoch, and another broker has led in between")
def leads_again_without_hearing(state: Partition) -> bool:
    return any(
        state.quorum.leader == leader
        and any(each is not None and each.leader != leader for each in state.requests[replica.epoch + 1 :])
        for leader, replica in state.believed_leaders()
    )


@witness("a former leader knows an epoch in which it wrote nothing")
def former_leader_of_empty_epoch(state: Partition) -> bool:
    return any(
        each.empty_epoch >= 0 or (each.up and each.leader != broker and state.bounds.empty_epochs and each.epoch > 1)
        for broker, each in enumerate(state.replicas)
    )


# --- stops, and lost ends of logs ------------------------------------------------------------------------------


@witness("the leader is down, unnoticed, and the end of a log is lost")
def leader_down_with_lost_end(state: Partition) -> bool:
    leader = state.quorum.leader
    return leader is not None and not state.replicas[leader].up and state.spent.lossy_crashes > 0


@witness("the last member of the ISR has lost records that another broker has")
def last_member_lost_end(state: Partition) -> bool:
    quorum = state.quorum
    last = min(quorum.isr) if len(quorum.isr) == 1 else quorum.last_known_leader if not quorum.isr else None
    return last is not None and state.spent.lossy_crashes > 0 and _lacks(state, last)


def _lacks(state: Partition, broker: int) -> bool:
    return any(each.log.end_offset > state.replicas[broker].log.end_offset for each in state.replicas)


@witness("the end of a log is lost, and a running follower has not heard that its leader leads in a new epoch")
def leads_again_with_lost_end(state: Partition) -> bool:
    quorum = state.quorum
    return state.spent.lossy_crashes > 0 and any(
        each.up and each.leader == quorum.leader and each.epoch < quorum.epoch for each in state.replicas
    )


@witness("a broker has started that led in an earlier epoch, and has heard of no leader yet")
def earlier_leader_starts(state: Partition) -> bool:
    return any(
        each.up
        and each.leader is None
        and any(request is not None and request.leader == broker for request in state.requests[: state.quorum.epoch])
        for broker, each in enumerate(state.replicas)
    )


@witness("the ISR is empty, and the last known leader is not alive")
def last_known_leader_dead(state: Partition) -> bool:
    last = state.quorum.last_known_leader
    return last is not None and not state.quorum.isr and not state.considers_alive(last)


@witness("a log directory is lost, and a running broker lacks an acknowledged record")
def directory_lost_with_acknowledged(state: Partition) -> bool:
    return state.spent.lost_directories > 0 and any(
        each.up and each.log.end_offset < _end(state.acked) for each in state.replicas
    )


# --- the ISR ---------------------------------------------------------------------------------------------------


@witness("only brokers that the controller does not reach are in the ISR, and one of them believes that it leads")
def isr_cut_off(state: Partition) -> bool:
    return state.quorum.leader is None and any(
        broker in state.quorum.isr and state.registrations[broker].status == FENCED
        for broker, _ in state.believed_leaders()
    )


@witness("a broker that is fenced or shuts down has caught up with its leader outside the ISR")
def inactive_broker_caught_up(state: Partition) -> bool:
    return any(
        state.registrations[broker].status != ACTIVE
        and broker not in leader.isr
        and follower.log.end_offset >= leader.high_watermark
        for broker, follower, leader in _followers(state)
    )


@witness("a broker that a leader has proposed for the ISR has lost records that are committed")
def proposed_broker_lost_end(state: Partition) -> bool:
    return any(
        state.replicas[broker].log.end_offset < leader.high_watermark
        for _, leader in state.believed_leaders()
        if leader.proposal is not None
        for broker in leader.proposal.isr - leader.isr
    )


@witness("a late fetch request has a higher offset than its follower has now")
def late_fetch_of_lost_end(state: Partition) -> bool:
    return any(
        late is not None and late.request.offset > replica.log.end_offset
        for late, replica in zip(state.late, state.replicas, strict=True)
    )


@witness("a leader whose ISR is smaller than min.insync.replicas has a record that no other broker has")
def record_below_min_isr(state: Partition) -> bool:
    least = state.bounds.min_insync_replicas
    return any(
        len(each.maximal_isr) < least
        and sum(other.log.end_offset >= each.log.end_offset > 0 for other in state.replicas) == 1
        for _, each in state.believed_leaders()
    )


@witness("a record waits for a broker that is being removed from the ISR, or that stops or has stopped")
def record_waits_for_removal(state: Partition) -> bool:
    stopping = {broker for broker, each in enumerate(state.registrations) if each.status == SHUTTING_DOWN}
    return any(
        _waits(leader) and (leader.proposal is not None or stopping or not all(each.up for each in state.replicas))
        for _, leader in state.believed_leaders()
    )


@witness("a leader has proposed an ISR, and the controller begins its next leader epoch")
def epoch_begins_with_pending_proposal(state: Partition) -> bool:
    return any(
        replica.proposal is not None and state.quorum.leader == leader and state.quorum.epoch > replica.epoch
        for leader, replica in state.believed_leaders()
    )


@witness("a leader has proposed an ISR, and has the record of an earlier change before it")
def earlier_record_with_pending_proposal(state: Partition) -> bool:
    return any(each.metadata == ANSWERED and each.proposal is not None for _, each in state.believed_leaders())


@witness("the ISR is smaller than min.insync.replicas, which has been raised, and the leader has an uncommitted record")
def small_isr_after_raise(state: Partition) -> bool:
    few = len(state.quorum.isr) < state.bounds.min_insync_replicas
    return state.spent.min_isr_raises > 0 and few and any(_waits(each) for _, each in state.believed_leaders())


# --- logs that do not start at 0 ---------------------------------------------------------------------------------


@witness("a leader's log starts beyond the end of its follower's log")
def leader_starts_beyond_log(state: Partition) -> bool:
    return any(leader.log.start_offset > follower.log.end_offset for _, follower, leader in _followers(state))


@witness("a broker leads in a later epoch than the first one, with a log that does not start at offset 0")
def leads_with_started_log(state: Partition) -> bool:
    return any(each.epoch > 0 and each.log.start_offset > 0 for _, each in state.believed_leaders())


@witness("a leader has deleted records, and has one that is not committed")
def deleted_beside_uncommitted(state: Partition) -> bool:
    return any(each.log.start_offset > 0 and _waits(each) for _, each in state.believed_leaders())


# --- reassignment ----------------------------------------------------------------------------------------------


@witness("the replicas have changed twice, and a replica lacks an acknowledged record")
def added_without_records(state: Partition) -> bool:
    return state.spent.reassignments + state.spent.cancellations > 1 and any(
        state.replicas[broker].log.end_offset < _end(state.acked) for broker in state.assignment.replicas
    )


@witness("a reassignment in progress is changed")
def reassignment_changed(state: Partition) -> bool:
    return state.assignment.in_progress and state.spent.reassignments > 1


@step_witness("the replicas that are being added are all in the ISR, and fewer than min.insync.replicas would be left")
def added_in_small_isr(before: Partition, after: Partition) -> bool:
    """A reassignment that adds no replicas may complete in the step in which it is requested."""
    assignment, left = after.assignment, after.quorum.isr - after.assignment.removing
    reassigns = assignment.in_progress or assignment != before.assignment
    return reassigns and assignment.adding <= left and len(left) < after.bounds.min_insync_replicas


@witness("the replicas have changed, and the leader has not applied the record")
def leader_behind_reassignment(state: Partition) -> bool:
    return any(each.metadata == BEHIND for _, each in state.believed_leaders())


@step_witness("a broker outside the ISR and the ELR is elected")
def elected_outside_isr(before: Partition, after: Partition) -> bool:
    leader = after.quorum.leader
    return leader not in (None, before.quorum.leader) and leader not in before.quorum.isr | before.quorum.elr


SITUATIONS = tuple(each for each in globals().values() if isinstance(each, Property))
"""Every witness of this module."""
