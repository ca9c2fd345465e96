"""When brokers apply the records of the metadata log, and what else only KRaft has: settings and log directories."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterator

from leadline.brokers.conformance.context import Context
from leadline.brokers.conformance.controller import Notice
from leadline.brokers.conformance.frames import NEVER, NONE
from leadline.brokers.conformance.metadata import applied_by, settings
from leadline.brokers.conformance.partition import Announcement, PartitionRecording
from leadline.checker.conformance import Observation
from leadline.model.kafka.conformance.errors import REFUSED, said
from leadline.model.kafka.conformance.observer import Window
from leadline.model.kafka.state import Partition


def told_again(context: Context) -> set[Notice]:
    """Return the announcements whose leader epoch the broker has already learned of since its start, so that the record
    of the metadata log changes only the ISR or the replicas.
    """
    again: set[Notice] = set()
    learned: dict[tuple[int, int, int], float] = {}
    in_order = sorted(context.controller.told, key=_offset)
    for _, same_record in itertools.groupby(in_order, key=_offset):
        learned_now: dict[tuple[int, int, int], float] = {}
        for told in same_record:
            key, broker = (told.broker, told.epoch, told.leader), context.read.replica(told.broker)
            if context.processes.ended(broker, told.passed) <= learned.get(key, -NEVER):
                again.add(told)
            if told.assignment is None or broker in told.assignment.replicas:
                learned_now[key] = max(told.passed, learned.get(key, -NEVER), learned_now.get(key, -NEVER))
        learned |= learned_now
    return again


def _offset(told: Notice) -> int:
    return told.offset


Answered = dict[int | str, tuple[list[float], list[int]]]
"""The times at which leaders got answers to AlterPartition requests, in order, and the highest partition epoch in the
answers until then. Keyed by the id of the broker.
"""


def answered_changes(read: PartitionRecording) -> Answered:
    """Return the partition epochs that leaders know from answers."""
    answers = [each for each in read.answer.values() if each.api == "AlterPartition" and each.passed is not None]
    found: Answered = {}
    for answer in sorted(answers, key=lambda each: each.passed or 0.0):
        part = read.part(answer.body)
        if part is not None and answer.passed is not None:
            times, epochs = found.setdefault(answer.target, ([], []))
            times.append(answer.passed)
            epochs.append(max([part.get("PartitionEpoch", NONE), *epochs[-1:]]))
    return found


def applied(context: Context, told: Notice, leader: int, answered: Answered) -> Observation[Partition]:
    """Return the observation that a leader has applied a record of the metadata log about its partition."""
    read, dies = context.read, context.processes.dies(leader, told.passed)
    by = applied_by(read, told.broker, told.offset, told.passed)
    window = Window(told.passed, min(by, dies), (told.frame,))
    times, epochs = answered.get(told.broker, ([], []))
    heard = bisect.bisect_right(times, window.latest)
    may_know_more = heard > 0 and epochs[heard - 1] > told.partition_epoch  # from an answer about a later change
    change = read.epoch(told.epoch), read.isr(list(told.isr)), told.assignment
    return context.make.record_applied(window, leader, *change, may_know_more=may_know_more, optional=by >= dies)


def left(context: Context, told: Notice, broker: int, epoch: int) -> Iterator[Observation[Partition]]:
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
    raised = False
    for each in sorted(settings(context.read), key=lambda each: each.frame.arrived):
        if not raised:
            raised = True
            yield context.make.min_isr_raised(written(context, each))
        yield from at_broker(context, each, context.make.setting_applied)


def written(context: Context, record: Announcement) -> Window:
    """Return the period in which the controller wrote a record of the metadata log, by its first arrival."""
    before = (other.frame.arrived for other in context.read.metadata if other.offset < record.offset)
    arrived = record.frame.arrived
    return Window(min(max(before, default=0.0), arrived), arrived, (record.frame.number,))


def at_broker(
    context: Context, record: Announcement, observation: Callable[..., Observation[Partition]], *values: object
) -> Iterator[Observation[Partition]]:
    """Yield the observation that a broker applies a record of the metadata log, if the record reaches it."""
    broker, passed = context.read.replica(record.frame.target), record.frame.passed
    if broker is not None and passed is not None:
        dies = context.processes.dies(broker, passed)
        applied = applied_by(context.read, record.frame.target, record.offset, passed)
        window = Window(passed, min(applied, dies), (record.frame.number,))
        yield observation(window, broker, *values, optional=applied >= dies)


def directories_assigned(context: Context) -> Iterator[Observation[Partition]]:
    """Yield the observations that brokers tell the controller in which log directories their replicas are."""
    read = context.read
    for frame in read.frames:
        broker = read.replica(frame.source)
        if frame.api != "AssignReplicasToDirs" or not frame.request or broker is None or frame.passed is None:
            continue
        answer = read.answer.get(frame.number)
        if answer is not None and said(frame.api, answer.body.get("ErrorCode", 0)) == REFUSED:
            continue
        latest = read.end if answer is None else answer.arrived
        window = Window(frame.passed, max(latest, frame.passed), (frame.number,))
        yield context.make.directory_assigned(window, broker, optional=answer is None)
