"""Convert what brokers learn from the controller to observations."""

from __future__ import annotations

from collections.abc import Iterator

from leadline.brokers.conformance import applying, zookeeper
from leadline.brokers.conformance.context import Context
from leadline.brokers.conformance.controller import Told
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
            yield from applying.left(context, told, broker, epoch)
            continue
        is_again = read.kraft and applying.is_told_again(context, told)
        if not is_again:
            dies = context.processes.dies(broker, told.passed)
            latest = fetched.shown.get(told, NEVER) if read.kraft else told.answered
            sent = told.sent if _is_first(context, told) else told.passed
            window, is_known = Window(sent, min(latest, dies), (told.frame,)), told.epoch in written
            known = leader, epoch, read.isr(list(told.isr))
            yield context.make.learned(window, broker, *known, optional=latest >= dies, isr_is_known=is_known)
        if broker == leader and (is_again or told.assignment is not None):
            yield applying.applied(context, told, broker)


def _is_first(context: Context, told: Told) -> bool:
    """Return whether an announcement is the first one that a broker receives after a start.

    In the model, such a broker learns only of the current epoch. If another epoch begins before the announcement
    arrives, the broker learns of the announced epoch when the controller sends it. No other process can notice the
    difference.
    """
    start = context.processes.started(context.read.replica(told.broker), told.passed)
    return (
        not any(each.broker == told.broker and start <= each.passed < told.passed for each in context.controller.told)
        and told.sent >= start
    )
