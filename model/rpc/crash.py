"""Crash and restart: what is in memory is gone, log and high watermark stay on disk."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from checker.action import action
from model.log import Log
from model.quorum import brokers
from model.rpc.messages import FetchResponse
from model.rpc.state import Bounds, Partition, Replica


def followers_first(bounds: Bounds) -> range:
    """The brokers, the preferred leader last: in the articles' stories it is the follower that fails first."""
    return range(bounds.brokers - 1, -1, -1)


def offsets(bounds: Bounds) -> range:
    """The offsets that a log may have a record at."""
    return range(bounds.records)


@action("broker {broker} crashes", broker=followers_first)
def crash(state: Partition, broker: int) -> Iterator[Partition]:
    """A broker dies; its log and high watermark are on disk."""
    yield from _crashed(state, broker, state.replicas[broker].log)


@action("broker {broker} crashes when it has written fetched records", broker=followers_first)
def crash_after_append(state: Partition, broker: int) -> Iterator[Partition]:
    """A follower dies in the middle of a fetch response: after its log, and before its high watermark."""
    replica = state.replicas[broker]
    if isinstance(replica.in_flight, FetchResponse) and replica.in_flight.records:
        yield from _crashed(state, broker, Log((*replica.log.records, *replica.in_flight.records)))


@action("broker {broker} crashes and loses its log from offset {offset} on", broker=followers_first, offset=offsets)
def crash_losing_tail(state: Partition, broker: int, offset: int) -> Iterator[Partition]:
    """With `unflushed_loss`, a crash may lose the end of a log, from any offset on: it was in the page cache only."""
    log = state.replicas[broker].log
    if state.bounds.unflushed_loss and log.has(offset):
        yield from _crashed(state, broker, log.truncate_to(offset))


def _crashed(state: Partition, broker: int, log: Log) -> Iterator[Partition]:
    replica = state.replicas[broker]
    if replica.up and state.crashes < state.bounds.crashes:
        dead = Replica(log, min(replica.high_watermark, log.end_offset), up=False)
        yield attrs.evolve(state, crashes=state.crashes + 1).with_replica(broker, dead)


@action("broker {broker} starts again", broker=brokers)
def restart(state: Partition, broker: int) -> Iterator[Partition]:
    """A broker is back. A follower that was quick was never missed: it is in the ISR still.

    A leader was: it would go on in the same leader epoch with a log that may have lost its end, and give an
    offset twice under one epoch, which no protocol here would survive (Kafka rules it out by broker epochs,
    KIP-380). So it leads no more, and stays in the ISR.
    """
    replica = state.replicas[broker]
    if replica.up:
        return
    back = state.with_replica(broker, attrs.evolve(replica, up=True))
    if state.quorum.leader == broker:
        back = attrs.evolve(back, quorum=attrs.evolve(state.quorum, leader=None))
    yield back
