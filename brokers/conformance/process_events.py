"""Convert starts and ends of brokers to observations."""

from __future__ import annotations

import math
from collections.abc import Iterator

from leadline.brokers.conformance import zookeeper
from leadline.brokers.conformance.context import Context
from leadline.brokers.conformance.frames import NEVER
from leadline.brokers.conformance.processes import ProcessRun
from leadline.brokers.conformance.upgrading import stage_at
from leadline.brokers.messages.shutdown import asks_to_stop
from leadline.checker.conformance import Observation
from leadline.model.kafka.conformance.observer import Window
from leadline.model.kafka.state import Partition


def process_events(context: Context) -> Iterator[Observation[Partition]]:
    """Yield the observations of starts and ends of brokers."""
    read, make = context.read, context.make
    if not read.kraft:
        yield from zookeeper.resumptions(context)
    for broker, lives in context.processes.lives.items():
        for number, life in enumerate(lives):
            if number:
                fenced = context.unfenced(broker, life) is not None
                stage = stage_at(context, broker, life.begun[1])
                yield make.restarted(Window(*life.begun), broker, stage, early=life.early is not None, fenced=fenced)
            if life.early is not None:
                ended = lives[number - 1].ended
                fenced = _is_fenced(context, broker, ended, life.early)
                stage = stage_at(context, broker, life.early)
                yield make.started(Window(ended, life.early), broker, stage, fenced=fenced)
            yield from _lost_directory(context, broker, life)
            again = lives[number + 1].up if number + 1 < len(lives) else NEVER
            if read.kraft and life.kill is None and life.ended < NEVER:
                yield make.stopped(Window(_asked_last(context, broker, life), again), broker, optional=again == NEVER)
            if life.kill is not None:
                window = Window(life.kill[0], _elected_after(context, broker, life.kill[1], again))
                yield make.killed(window, broker, cut_to=life.cut_to, checkpoint=life.checkpoint)
    for frame in read.frames:
        stopping = read.replica(frame.source)
        asks = frame.api == "ControlledShutdown" and frame.request
        if stopping is not None and frame.passed is not None and asks:
            yield make.stopped(Window(frame.passed, math.inf, (frame.number,)), stopping, optional=True)


def _asked_last(context: Context, broker: int, life: ProcessRun) -> float:
    """Return the time of the last request with which a broker asked to shut down. When the broker gets the response,
    the controller has fenced it, and its process ends later (`BrokerLifecycleManager` in Kafka's code).
    """
    node = context.read.assignment[broker]
    asked = (
        each.passed
        for each in context.read.frames
        if each.source == node and each.request and asks_to_stop(each.api, each.body)
    )
    return max((at for at in asked if at is not None and life.up <= at <= life.ended), default=life.ended)


def _is_fenced(context: Context, broker: int, since: float, until: float) -> bool:
    """Return whether the controller fences a broker in a period."""
    return any(
        each.fenced and each.broker == broker and since < each.latest <= until for each in context.controller.fences
    )


def _elected_after(context: Context, broker: int, killed: float, until: float) -> float:
    """Return the time until which a killed broker may count as running. This is the time of the kill, or a later time
    if the controller elects the broker because it has not noticed the kill.

    In the model, only running brokers are elected. A killed broker does nothing that other processes could see, so the
    model can kill it after the election.
    """
    node = context.read.assignment[broker]
    decisions = context.controller.decisions
    elected = [each.latest for each in decisions if each.leader == node and killed < each.latest < until]
    return max([killed, *(math.nextafter(each, NEVER) for each in elected)])


def _lost_directory(context: Context, broker: int, life: ProcessRun) -> Iterator[Observation[Partition]]:
    """Yield the observation that a broker has lost the log directory of its replica after a run."""
    if life.lost is not None:
        at, event = life.lost
        yield context.make.directory_lost(Window(at, at), broker, replaced=event == "directory_replaced")
