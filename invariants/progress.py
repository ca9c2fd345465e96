"""Liveness properties of the `kafka` and `rpc` families. They describe the states that a partition must eventually
reach once failures stop.

The model assumes that every operation that Kafka retries eventually happens. Nothing guarantees that a producer writes,
or that a stopped broker restarts. The election of the preferred leader eventually happens, because Kafka repeats it
(``auto.leader.rebalance.enable``). The properties are *quiet*: they apply only to behaviours in which perturbing steps
eventually stop. Perturbing steps are, for example, crashes and removals of slow followers from the ISR. By default, the
model does not limit the number of these removals.

`RECOVERIES` asks of each whether repairs alone can lead there, from every reachable state: the work of running brokers
and of the controller, and restarts. This needs no fairness, and tells what is stuck from what is only late.
"""

from __future__ import annotations

import attrs

from leadline.checker.properties import Kind, Property, always_eventually, recoverable
from leadline.model.kafka.broker import ACTIVE
from leadline.model.kafka.controller import may_be_elected
from leadline.model.kafka.messages import Diverging
from leadline.model.kafka.state import Partition
from leadline.model.log import Log
from leadline.model.quorum import brokers


def _runs(state: Partition, broker: int) -> bool:
    """Return whether a broker has a replica and is running, and whether the controller knows that it is running."""
    replica, assigned = state.replicas[broker], state.assignment.replicas
    runs = replica.up and not replica.offline and state.registrations[broker].status == ACTIVE
    return runs and (not state.bounds.moves or broker in assigned)


def _assigned(state: Partition) -> frozenset[int]:
    """Return the brokers that have a replica of the partition."""
    return frozenset(state.assignment.replicas) if state.bounds.moves else frozenset(brokers(state.bounds))


def _true_leader(state: Partition) -> int | None:
    """Return the partition's leader if it knows that it leads. Otherwise, return None."""
    leader = state.quorum.leader
    return leader if leader is not None and state.is_true_leader(leader) else None


def _can_commit(state: Partition, leader: int) -> bool:
    """Return whether the leader may advance its high watermark, and all members of the ISR are running."""
    return state.rules_of(leader).may_raise(state.replicas[leader], state.bounds) and all(
        _runs(state, broker) for broker in sorted(state.quorum.isr)
    )


@always_eventually(
    "the partition has a leader that knows that it leads, unless no broker can be elected",
    quiet=True,
    source="KAFKA-1120; KIP-966",
)
def leader_known(state: Partition) -> bool:
    if state.quorum.leader is None:
        return not any(may_be_elected(state, broker) for broker in brokers(state.bounds))
    return _true_leader(state) is not None


@always_eventually(
    "every running broker with a replica knows the leader epoch, if the partition has a leader",
    quiet=True,
    source="hachikuji/kafka-specification; KIP-631",
)
def epoch_known(state: Partition) -> bool:
    quorum = state.quorum
    return quorum.leader is None or all(
        state.replicas[broker].epoch == quorum.epoch for broker in brokers(state.bounds) if _runs(state, broker)
    )


@always_eventually(
    "the leader's high watermark reaches its log end offset, while every broker of the ISR runs",
    quiet=True,
    source="KIP-497; KAFKA-13091; KAFKA-15021",
)
def all_committed_again(state: Partition) -> bool:
    leader = _true_leader(state)
    if leader is None or not _can_commit(state, leader):
        return True
    replica = state.replicas[leader]
    return replica.high_watermark == replica.log.end_offset


@always_eventually(
    "with acks=all, every record that the leader has written in its epoch is acknowledged, while every broker of the "
    "ISR runs and there are enough of them",
    quiet=True,
    source="KafkaProducer, acks=all; KIP-101",
)
def writes_answered(state: Partition) -> bool:
    leader = _true_leader(state)
    if state.bounds.acks != "all" or leader is None or not _can_commit(state, leader):
        return True
    replica = state.replicas[leader]
    if len(replica.maximal_isr) < state.rules_of(leader).min_isr(replica, state.bounds):
        return True
    written = [record for record in replica.log.records if record.epoch == replica.epoch]
    answered = [promise.record for promise in state.acked]
    return all(record in answered for record in written)


@always_eventually(
    "every running broker that has caught up with its leader is in the ISR",
    quiet=True,
    source="KIP-497; KAFKA-12686; KAFKA-12751",
)
def caught_up_in_isr(state: Partition) -> bool:
    leader = _true_leader(state)
    if leader is None:
        return True
    source = state.replicas[leader]
    return all(
        broker in state.quorum.isr
        for broker in brokers(state.bounds)
        if _runs(state, broker)
        and state.replicas[broker].leader == leader
        and state.replicas[broker].epoch == source.epoch
        and _has_all(state.replicas[broker].log, source.log)
    )


def _has_all(log: Log, leaders: Log) -> bool:
    """Return whether a follower's log ends where its leader's does, with the same records from both starts on."""
    end = leaders.end_offset
    return log.end_offset == end and all(own == other for _, own, other in log.beside(leaders, end))


@always_eventually(
    "every broker with a replica is in the ISR, unless one does not run or no broker can be elected",
    quiet=True,
    source="KIP-497; KAFKA-12686; KAFKA-12751",
)
def isr_full_when_quiet(state: Partition) -> bool:
    expected = _assigned(state)
    if not all(_runs(state, broker) for broker in sorted(expected)):
        return True
    if state.quorum.leader is None:
        return not any(may_be_elected(state, broker) for broker in brokers(state.bounds))
    return state.quorum.isr == expected


@always_eventually(
    "every running follower of the current leader has finished truncating its log",
    quiet=True,
    source="KIP-101; KIP-595; KAFKA-10706",
)
def truncation_ends(state: Partition) -> bool:
    leader = _true_leader(state)
    return leader is None or not any(
        state.replicas[broker].truncating or isinstance(state.replicas[broker].in_flight, Diverging)
        for broker in brokers(state.bounds)
        if state.replicas[broker].epoch == state.quorum.epoch
    )


@recoverable("every reassignment can come to an end", source="KIP-455; KAFKA-15665, KAFKA-19975")
def reassignments_end(state: Partition) -> bool:
    """Checks the controller's assignment. Each reassignment must end even if no other reassignment replaces it."""
    return not state.assignment.in_progress


@recoverable(
    "the partition can come back to a leader that knows that it leads, a full ISR, and a log that is committed to its "
    "end",
    source="KIP-497; KIP-966",
)
def can_recover(state: Partition) -> bool:
    leader = _true_leader(state)
    return (
        leader is not None
        and state.quorum.isr == _assigned(state)
        and state.replicas[leader].high_watermark == state.replicas[leader].log.end_offset
    )


def _recovery(item: Property) -> Property:
    """Return the property that repairs alone can lead to a state in which the given property is true."""
    return attrs.evolve(
        item,
        name=f"recoverable_{item.name}",
        kind=Kind.RECOVERABLE,
        sentence=f"repairs alone can lead to this from every state: {item.sentence}",
        quiet=False,
        by_healing=True,
    )


RECOVERIES = tuple(
    _recovery(item)
    for item in (
        leader_known,
        epoch_known,
        all_committed_again,
        writes_answered,
        caught_up_in_isr,
        isr_full_when_quiet,
        truncation_ends,
    )
)
"""For each property of progress, the property that repairs alone can lead to it."""
