"""Convert what brokers learn from the controller to observations."""

from __future__ import annotations

import bisect
from collections.abc import Iterator

from leadline.brokers.conformance import metadata_applied, zookeeper
from leadline.brokers.conformance.context import Context
from leadline.brokers.conformance.controller import Notice
from leadline.brokers.conformance.first_fetches import FirstFetches
from leadline.brokers.conformance.frames import NEVER
from leadline.brokers.conformance.not_followed import NotFollowed
from leadline.checker.conformance import Observation
from leadline.model.kafka.conformance.observer import Window
from leadline.model.kafka.state import Partition


def learned(context: Context, fetched: FirstFetches) -> Iterator[Observation[Partition]]:
    """Yield the observations that brokers learn of leader epochs, and apply records of the metadata log.

    Raises:
        NotFollowed: if an announcement names a broker without a replica.
    """
    read = context.read
    written = () if read.kraft else zookeeper.written_epochs(read)  # `contradictions` checks all ISRs of these
    again = metadata_applied.told_again(context) if read.kraft else set()
    answered, received = metadata_applied.answered_changes(read), _received(context)
    for told in context.controller.told:
        if told.leader < 0:
            context.notes["leader epochs without a leader, which the model does not number"] += 1
            continue
        broker, leader, epoch = read.replica(told.broker), read.replica(told.leader), read.epoch(told.epoch)
        if broker is None or leader is None or epoch is None:
            raise NotFollowed(
                f"frame {told.frame} names broker {told.leader} as leader, but that broker has no replica"
            )
        if told.assignment is not None and broker not in told.assignment.replicas:
            yield from metadata_applied.left(context, told, broker, epoch)
            continue
        if told not in again:
            dies = context.processes.dies(broker, told.passed)
            latest = fetched.shown.get(told, NEVER) if read.kraft else told.answered
            sent = told.sent if _is_first(context, told, received[told.broker]) else told.passed
            window = Window(sent, min(latest, dies), (told.frame,))
            is_known = read.kraft or told.epoch in written  # records of the metadata log are compared, too
            known = leader, epoch, read.isr(list(told.isr))
            optional = latest >= dies or is_overtaken(context, told, broker)
            yield context.make.learned(window, broker, *known, optional=optional, isr_is_known=is_known)
        if broker == leader and (told in again or told.assignment is not None):
            yield metadata_applied.applied(context, told, broker, answered)


def _received(context: Context) -> dict[int, list[float]]:
    """Return the times of the announcements to each broker, in order."""
    found: dict[int, list[float]] = {}
    for told in sorted(context.controller.told, key=lambda each: each.passed):
        found.setdefault(told.broker, []).append(told.passed)
    return found


def _is_first(context: Context, told: Notice, received: list[float]) -> bool:
    """Return whether an announcement is the first one that a broker receives after a start. `received` contains the
    times of all announcements to the broker.

    In the model, such a broker learns only of the current epoch. If another epoch begins before the announcement
    arrives, the broker learns of the announced epoch when the controller sends it. No other process can notice the
    difference.
    """
    start = context.processes.started(context.read.replica(told.broker), told.passed)
    none_before = bisect.bisect_left(received, start) >= bisect.bisect_left(received, told.passed)
    return none_before and told.sent >= start


def is_overtaken(context: Context, told: Notice, broker: int) -> bool:
    """Return whether a broker has started since an epoch began, and the controller had begun a later one when it sent
    the epoch (ZooKeeper): a request that waited in the controller's queue for the broker. The later epoch follows it at
    once. In the model, a broker that starts is sent the latest epoch only.
    """
    if context.read.kraft:
        return False
    started = context.processes.started(broker, told.passed)
    begun = [each.latest for each in context.controller.decisions if each.epoch == told.epoch]
    later = any(each.epoch > told.epoch and each.latest < told.passed for each in context.controller.decisions)
    return later and bool(begun) and max(begun) < started
