"""When brokers apply the records of the metadata log, and what else only KRaft has: settings and log directories."""

from __future__ import annotations

from collections.abc import Iterator

from leadline.brokers.conformance.context import Context
from leadline.brokers.conformance.controller import Told
from leadline.brokers.conformance.frames import NONE
from leadline.brokers.conformance.metadata import applied_by, settings
from leadline.checker.conformance import Observation
from leadline.model.kafka.conformance.observer import Window
from leadline.model.kafka.state import Partition


def is_told_again(context: Context, told: Told) -> bool:
    """Return whether a broker has already learned of a leader epoch since its start, so that a record of the metadata
    log changes only the ISR or the replicas.
    """
    broker = context.read.replica(told.broker)
    ended = context.processes.ended(broker, told.passed)
    return any(
        each.broker == told.broker and ended <= each.passed and each.offset < told.offset
        for each in context.controller.told
        if (each.epoch, each.leader) == (told.epoch, told.leader)
        if each.assignment is None or broker in each.assignment.replicas
    )


def applied(context: Context, told: Told, leader: int) -> Observation[Partition]:
    """Return the observation that a leader has applied a record of the metadata log about its partition."""
    read, dies = context.read, context.processes.dies(leader, told.passed)
    by = applied_by(read, told.broker, told.offset, told.passed)
    window = Window(told.passed, min(by, dies), (told.frame,))
    may_know_more = _hears_of_a_later_change(context, told, window.latest)
    change = read.epoch(told.epoch), read.isr(list(told.isr)), told.assignment
    return context.make.record_applied(window, leader, *change, may_know_more=may_know_more, optional=by >= dies)


def _hears_of_a_later_change(context: Context, told: Told, until: float) -> bool:
    """Return whether a leader may have got an answer about a later change than a record describes."""
    read = context.read
    answers = (
        answer
        for answer in read.answer.values()
        if (answer.api, answer.target) == ("AlterPartition", told.broker)
        if answer.passed is not None and answer.passed <= until
    )
    parts = filter(None, (read.part(answer.body) for answer in answers))
    return any(part.get("PartitionEpoch", NONE) > told.partition_epoch for part in parts)


def left(context: Context, told: Told, broker: int, epoch: int) -> Iterator[Observation[Partition]]:
    """Yield the observation that a broker deletes its replica, if the record removes it.

    If a later record gives the broker a replica again, it may apply both records at once, and then deletes nothing.
    """
    of_broker = [each for each in context.controller.told if each.broker == told.broker]
    earlier = [each for each in of_broker if each.offset < told.offset]
    known = max(earlier, key=lambda each: each.offset, default=None)
    if known is None or known.assignment is None or broker not in known.assignment.replicas:
        return
    dies = context.processes.dies(broker, told.passed)
    by = applied_by(context.read, told.broker, told.offset, told.passed)
    latest = min(by, dies)
    again = any(
        each.offset > told.offset
        and each.passed <= latest
        and each.assignment is not None
        and broker in each.assignment.replicas
        for each in of_broker
    )
    window = Window(told.passed, latest, (told.frame,))
    yield context.make.replica_deleted(window, broker, epoch, optional=again or by >= dies)


def setting_changes(context: Context) -> Iterator[Observation[Partition]]:
    """Yield the observations of an increase of `min.insync.replicas`, by the operator and then at each broker."""
    read, raised = context.read, False
    for each in sorted(settings(read), key=lambda each: each.frame.arrived):
        if not raised:
            raised = True
            before = (other.frame.arrived for other in read.metadata if other.offset < each.offset)
            earliest = min(max(before, default=0.0), each.frame.arrived)
            yield context.make.min_isr_raised(Window(earliest, each.frame.arrived, (each.frame.number,)))
        broker, passed = read.replica(each.frame.target), each.frame.passed
        if broker is not None and passed is not None:
            dies = context.processes.dies(broker, passed)
            applied = applied_by(read, each.frame.target, each.offset, passed)
            window = Window(passed, min(applied, dies), (each.frame.number,))
            yield context.make.setting_applied(window, broker, optional=applied >= dies)


def directories_assigned(context: Context) -> Iterator[Observation[Partition]]:
    """Yield the observations that brokers tell the controller in which log directories their replicas are."""
    read = context.read
    for frame in read.frames:
        broker = read.replica(frame.source)
        if frame.api != "AssignReplicasToDirs" or not frame.request or broker is None or frame.passed is None:
            continue
        answer = read.answer.get(frame.number)
        latest = read.end if answer is None else answer.arrived
        window = Window(frame.passed, max(latest, frame.passed), (frame.number,))
        yield context.make.directory_assigned(window, broker, optional=answer is None)
