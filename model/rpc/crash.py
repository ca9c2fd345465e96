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


@action("broker {broker} crashes", broker=followers_first)
def crash(state: Partition, broker: int) -> Iterator[Partition]:
    """A broker dies. It may die after it has written fetched records, and before it has moved its high watermark.

    With `unflushed_loss`, it may lose the end of its log from any offset on, which was only in the page cache.
    """
    replica = state.replicas[broker]
    if not replica.up or state.crashes == state.bounds.crashes:
        return
    logs = [replica.log]
    if isinstance(replica.in_flight, FetchResponse) and replica.in_flight.records:
        logs.append(Log((*replica.log.records, *replica.in_flight.records)))
    if state.bounds.unflushed_loss:
        logs += [replica.log.truncate_to(offset) for offset in range(replica.log.end_offset)]
    crashed = attrs.evolve(state, crashes=state.crashes + 1)
    for log in logs:
        dead = Replica(log, min(replica.high_watermark, log.end_offset), up=False)
        yield crashed.with_replica(broker, dead)


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
