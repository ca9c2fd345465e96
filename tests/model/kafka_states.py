"""Hand-written states of the `kafka` family, with logs in the notation of traces: ``m0@0 ┃ m1@1``."""

from __future__ import annotations

from collections.abc import Iterable

from leadline.model.kafka.assignment import Assignment
from leadline.model.kafka.bounds import Bounds, Spent
from leadline.model.kafka.broker import ACTIVE, FENCED, UNKNOWN_OFFSET, Registration, Replica
from leadline.model.kafka.messages import FetchRequest, Message
from leadline.model.kafka.protocols import Protocol
from leadline.model.kafka.releases import DESIGNS, RELEASES
from leadline.model.kafka.state import Partition, Promise
from leadline.model.log import Record
from leadline.model.quorum import Quorum, Request
from tests.model.atomic_states import log

PROTOCOLS = HW_TRUNCATION, KIP_101, KIP_279, KIP_320 = tuple(column.protocol() for column in DESIGNS)
"""The KIPs' designs."""

OF_RELEASE = {column.name: column.protocol() for column in RELEASES}
"""The rules of each release."""

ROOMY = Bounds(brokers=3, records=9, max_epoch=3, crashes=9)
"""Bounds that keep no action of these states from being enabled."""


def leads(
    broker: int,
    drawn: str,
    *,
    epoch: int = 0,
    isr: Iterable[int] = (0, 1),
    remote: Iterable[int] = (),
    high_watermark: int | None = None,
) -> Replica:
    """The replica of a broker that believes it leads; what it knows of the others is in broker order."""
    below, _, above = drawn.partition("┃")
    watermark = log(below).end_offset if high_watermark is None else high_watermark
    leos = tuple(remote) or (UNKNOWN_OFFSET,) * 3
    return Replica(log(below + above), watermark, True, epoch, broker, frozenset(isr), leos)


def follows(
    leader: int,
    drawn: str,
    *,
    epoch: int = 0,
    in_flight: Message | None = None,
    high_watermark: int | None = None,
) -> Replica:
    """The replica of a broker that follows another one; by default it fetches from its log end on."""
    below, _, above = drawn.partition("┃")
    held = log(below + above)
    watermark = log(below).end_offset if high_watermark is None else high_watermark
    message = in_flight or FetchRequest(leader, epoch, held.end_offset)
    return Replica(held, watermark, True, epoch, leader, in_flight=message)


def down(drawn: str) -> Replica:
    """The replica of a broker that does not run."""
    below, _, above = drawn.partition("┃")
    return Replica(log(below + above), log(below).end_offset, up=False)


def told(cell: str, offset: int, epoch: int) -> Promise:
    """The response that a client got from the leader of an epoch: ``m0@0`` is at an offset."""
    (record,) = log(cell).records
    assert isinstance(record, Record)
    return Promise(record, offset, epoch)


def partition(
    *replicas: Replica,
    leader: int | None = 0,
    epoch: int = 0,
    isr: Iterable[int] = (0, 1),
    requests: dict[int, tuple[int | None, Iterable[int]]] | None = None,
    exposed: Iterable[Promise] = (),
    acked: Iterable[Promise] = (),
    deletable: int = 0,
    deleted: int = 0,
    elr: Iterable[int] = (),
    fenced: Iterable[int] = (),
    spent: Spent = Spent(),  # noqa: B008
    protocol: Protocol = KIP_320,
    bounds: Bounds = ROOMY,
) -> Partition:
    """The state with these replicas, this quorum, and these requests: leader and ISR by leader epoch.

    Brokers are registered as active, but for those that are fenced.
    """
    sent = {at: Request(who, frozenset(members)) for at, (who, members) in (requests or {}).items()}
    values = [record.value for each in replicas for record in each.log.records]
    return Partition(
        next_value=max(values, default=-1) + 1,
        exposed=tuple(exposed),
        acked=tuple(acked),
        deletable=deletable,
        deleted=deleted,
        spent=spent,
        quorum=Quorum(leader, epoch, frozenset(isr), frozenset(elr)),
        assignment=Assignment(tuple(range(bounds.brokers))),
        requests=tuple(sent.get(at) for at in range(bounds.max_epoch + 1)),
        registrations=tuple(Registration(FENCED if at in fenced else ACTIVE) for at in range(len(replicas))),
        late=(None,) * len(replicas),
        replicas=replicas,
        protocol=protocol,
        bounds=bounds,
    )
