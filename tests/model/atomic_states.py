"""Hand-written states of the `atomic` family, with logs in the notation of traces: ``m0@0 ┃ m1@1``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from leadline.model.atomic.protocols import KIP_320, Protocol
from leadline.model.atomic.replica import Replica
from leadline.model.atomic.state import Bounds, Partition
from leadline.model.log import Log, Record
from leadline.model.quorum import NO_EPOCH, Quorum, Request

ROOMY = Bounds(brokers=3, log_size=9, records=9, max_epoch=3)
"""Bounds that keep no action of these states from being enabled."""


def log(text: str) -> Log:
    """Parse a log: ``m0@0 m1@1`` is record 0 of leader epoch 0, then record 1 of leader epoch 1."""
    return Log(tuple(Record(*map(int, cell.removeprefix("m").split("@"))) for cell in text.split()))


def replica(
    drawn: str,
    *,
    epoch: int = NO_EPOCH,
    leader: int | None = None,
    isr: Iterable[int] = (),
    high_watermark: int | None = None,
) -> Replica:
    """The replica with a given log, with ``┃`` at the high watermark unless it is given separately."""
    below, _, above = drawn.partition("┃")
    watermark = log(below).end_offset if high_watermark is None else high_watermark
    return Replica(log(below + above), watermark, epoch, leader, frozenset(isr))


def partition(
    *replicas: Replica,
    leader: int | None = None,
    epoch: int = NO_EPOCH,
    isr: Iterable[int] = (),
    requests: dict[int, tuple[int | None, Iterable[int]]] | None = None,
    protocol: Protocol = KIP_320,
    bounds: Bounds = ROOMY,
) -> Partition:
    """The state with these replicas, this quorum, and a request in some leader epochs: see `sent`."""
    values = [record.value for each in replicas for record in each.log.records]
    return Partition(
        next_value=max(values, default=-1) + 1,
        quorum=Quorum(leader, epoch, frozenset(isr)),
        requests=sent(requests or {}, bounds),
        replicas=replicas,
        protocol=protocol,
        bounds=bounds,
    )


def sent(requests: dict[int, tuple[int | None, Iterable[int]]], bounds: Bounds = ROOMY) -> tuple[Any, ...]:
    """The requests of a state, given the leader and the ISR of the one in each leader epoch."""
    made = {epoch: frozenset({Request(leader, frozenset(isr))}) for epoch, (leader, isr) in requests.items()}
    return tuple(made.get(epoch, frozenset()) for epoch in (*range(bounds.max_epoch + 1), NO_EPOCH))
