"""The state of one partition, for the `rpc` family.

It is kept small. A follower has one request or response in flight. What has no meaning has one value: a
broker that is down knows nothing but its log and high watermark, a follower no ISR, no remote log end offsets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import attrs

from checker.bounds import bound
from checker.state import component, constant
from model.leadership import Leadership
from model.log import Log, Record
from model.quorum import NO_EPOCH, Quorum, Request
from model.rpc.messages import EpochRequest, EpochResponse, FetchRequest, Message

if TYPE_CHECKING:
    from model.rpc.protocols import Protocol

UNKNOWN_OFFSET = -1
"""The remote log end offset of a follower that has not fetched from this leader yet."""

PREFERRED = 0
"""The preferred leader: the first of the partition's replicas. It leads in epoch 0."""


@attrs.frozen
class Bounds:
    """What makes the state space finite, and the configuration, by Kafka's names.

    As in the `atomic` family, leader epochs are counted from 0 and `max_epoch` is the last one. Epoch 0
    has begun in the initial state, so that ``max_epoch=1`` is the one change of leader (or removal of a
    failed follower from the ISR by the controller, which takes an epoch too) that the articles need.
    """

    brokers: int = bound(2, "brokers, each with a replica of the partition", at_least=1, at_most=9)
    records: int = bound(2, "records that producers write in all", at_least=0, at_most=9)
    max_epoch: int = bound(1, "the last leader epoch; broker 0 leads in epoch 0", at_least=0, at_most=9)
    crashes: int = bound(2, "crashes of brokers in all", at_least=0, at_most=9)
    session_expiries: int = bound(0, "running brokers that the controller takes for failed", at_least=0, at_most=9)
    acks: str = bound("1", "when producers are told that a record is written", choices=("0", "1", "all"))
    min_insync_replicas: int = bound(1, "size of the ISR that acks=all needs", at_least=1, at_most=9)
    unclean_leader_election: bool = bound(False, "whether a broker outside the ISR may be elected")
    unflushed_loss: bool = bound(False, "whether a crash may lose the end of a log")


@attrs.frozen(cache_hash=True)
class Replica:
    """What one broker has and believes.

    Attributes:
        log: its records. On disk; the leader epoch cache is what they say (see `starts_own_epoch_at`).
        high_watermark: the offset below which it takes records for committed. On disk too.
        up: whether the broker runs.
        epoch: the leader epoch of the last request it obeyed since it started.
        leader: the leader which that request named; None before any.
        isr: the in-sync replicas as a leader knows them.
        remote_leos: the log end offset of each broker as a leader knows it.
        in_flight: a follower's request to its leader, or the response to it; None for all others.
    """

    log: Log = Log()
    high_watermark: int = 0
    up: bool = True
    epoch: int = NO_EPOCH
    leader: int | None = None
    isr: frozenset[int] = frozenset()
    remote_leos: tuple[int, ...] = ()
    in_flight: Message | None = None

    @property
    def starts_own_epoch_at(self) -> int:
        """Where a leader's own epoch starts: at its first record of that epoch, or where that will be.

        This is the entry that it makes in its leader epoch cache when it is elected.
        """
        return self.log.end_of_epoch(self.epoch - 1)

    @property
    def truncating(self) -> bool:
        """Whether a follower has asked where to truncate, and has not done so yet."""
        return isinstance(self.in_flight, EpochRequest | EpochResponse)


@attrs.frozen(cache_hash=True)
class Promise:
    """What a client was told of a record: ghost state, which no broker sees.

    Attributes:
        record: the record.
        offset: where it is in the log.
        epoch: the epoch of the leader that told.
    """

    record: Record
    offset: int
    epoch: int


@attrs.frozen(cache_hash=True)
class Partition(Leadership[Replica]):
    """The whole state: the quorum, the requests it sent, the replicas, what clients were told.

    Attributes:
        next_value: the value of the next record a producer writes.
        crashes: how many there were.
        session_expiries: how many running brokers the controller took for failed.
        exposed: the records that consumers could read so far, by offset.
        acked: the records that producers were told are written, by value.
        quorum: the true leader, leader epoch and ISR; no leader while the last one is known to have failed.
        requests: the `LeaderAndIsr` request of each leader epoch, None where none was sent yet. A
            request is never used up: it may arrive late, or never.
        replicas: one for each broker.
    """

    next_value: int
    crashes: int
    session_expiries: int
    exposed: tuple[Promise, ...]
    acked: tuple[Promise, ...]
    quorum: Quorum = component()
    requests: tuple[Request | None, ...] = component(each="epoch")
    replicas: tuple[Replica, ...] = component(each="broker")
    protocol: Protocol = constant()
    bounds: Bounds = constant()

    def has_to_truncate(self, broker: int) -> bool:
        """Whether a broker's log may still differ from its leader's, because it is not past its truncation."""
        return self.replicas[broker].truncating

    def obeys(self, broker: int, epoch: int) -> bool:
        """Whether a broker would obey the request of an epoch: only of a higher one than it knows.

        One that has just started knows none, and hears from the controller of the current leader only.
        """
        replica = self.replicas[broker]
        if not replica.up or epoch <= replica.epoch:
            return False
        return replica.leader is not None or (epoch == self.quorum.epoch and self.quorum.leader is not None)


def initial_states(bounds: Bounds, protocol: Protocol) -> Iterator[Partition]:
    """Broker 0 leads in epoch 0 and all brokers know it; every log is empty, and all followers have begun to fetch."""
    everyone = frozenset(range(bounds.brokers))
    remote_leos = tuple(UNKNOWN_OFFSET if broker == PREFERRED else 0 for broker in range(bounds.brokers))
    leading = Replica(epoch=0, leader=PREFERRED, isr=everyone, remote_leos=remote_leos)
    following = Replica(epoch=0, leader=PREFERRED, in_flight=FetchRequest(PREFERRED, epoch=0, offset=0))
    yield Partition(
        next_value=0,
        crashes=0,
        session_expiries=0,
        exposed=(),
        acked=(),
        quorum=Quorum(leader=PREFERRED, epoch=0, isr=everyone),
        requests=(Request(PREFERRED, everyone), *(None,) * bounds.max_epoch),
        replicas=(leading, *(following,) * (bounds.brokers - 1)),
        protocol=protocol,
        bounds=bounds,
    )
