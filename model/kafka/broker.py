"""The state of one broker: its replica, and its registration with the controller."""

from __future__ import annotations

from typing import Any, Self

import attrs

from leadline.model.kafka.messages import Diverging, EpochRequest, EpochResponse, Message, Proposal
from leadline.model.log import Log
from leadline.model.quorum import NO_EPOCH

UNKNOWN_OFFSET = -1
"""The remote log end offset of a follower that has not fetched from the leader yet."""

CURRENT = "current"
ANSWERED = "answered"
BEHIND = "behind"

KNOWN = "known"
UNTIL_EMPTY = "until an empty response"
FORGOTTEN = "forgotten"


@attrs.frozen(cache_hash=True)
class Replica:
    """The replica of one broker: its log on disk, and the state that the broker keeps in memory.

    Attributes:
        log: the log, which is on disk. The leader epoch cache is derived from it (see `epochs`).
        high_watermark: the offset below which the broker considers records committed. The broker writes it to a
            checkpoint on disk.
        up: whether the broker is running.
        epoch: the leader epoch of the last request that the broker obeyed since it started.
        leader: the leader that this request names, or None before the first request.
        isr: for a leader, the latest committed ISR that it has learned. Empty for a follower.
        remote_leos: for a leader, the log end offset that it stores for each broker. Empty for a follower.
        in_flight: for a follower, its request to its leader or the response to the request. None for all other brokers.
        proposal: the ISR that a leader has proposed to the controller in an `AlterPartition` request, or None if the
            leader can send another request.
        stopped_cleanly: whether a broker that is down has left a clean shutdown file (KIP-966).
        newest_checkpoint: the highest high watermark that can be on disk, if it is above `high_watermark`; otherwise 0.
        waits_from: for a leader, its first earlier epoch with a record that is at or above the high watermark and is
            still waiting to be acknowledged, or `NO_EPOCH` if there is none.
        late_response: a diverging response that the broker is still handling although it has learned of a later epoch.
        last_epoch: whether a follower knows the epoch of its last record, which it sends in fetch requests: `KNOWN`,
            `FORGOTTEN`, or `UNTIL_EMPTY` if it forgets the epoch when the next response is empty (KAFKA-15510).
        empty_epoch: for a follower, the last epoch in its leader epoch cache if it led in this epoch and wrote nothing;
            otherwise `NO_EPOCH`. The epoch starts at the log end offset (KAFKA-10706).
        old_answer: for a leader, whether it still waits for the response to its `AlterPartition` request from an
            earlier leader epoch. This response will drop a newer request (KAFKA-12686).
        assigned: for a leader, the latest replicas of the partition that it has learned. None for a follower, or if
            every broker always has a replica.
        metadata: how far a leader has applied the metadata log: `CURRENT`; `ANSWERED` if it knows its ISR from the
            response to an `AlterPartition` request but has not yet applied the record of the same change; or `BEHIND`
            if the controller has changed the replicas but the leader has not yet applied the record of this change.
        offline: whether the log directory of a running broker has failed. The broker has no replica until it restarts.
        old_min_isr: whether the broker uses `OLD_MIN_ISR` as `min.insync.replicas`, because an operator has not
            increased the setting yet or the broker has not applied the increase yet.
        caught_up: for a leader, the followers outside the ISR that have caught up within `replica.lag.time.max.ms`.
            Always empty if the high watermark does not wait for them (`hw_waits`).
        remote_starts: for a leader, the log start offset that it stores for each broker. Empty for a follower, and if
            the start of a log cannot move.
        deleting: for a leader, the offset of a DeleteRecords request that it has not answered yet; otherwise 0.
        dead_fetchers: the leaders from which the broker cannot fetch until it restarts, because the thread that
            fetches from them has died (`fetch_failure`).
    """

    log: Log = Log()
    high_watermark: int = 0
    up: bool = True
    epoch: int = NO_EPOCH
    leader: int | None = None
    isr: frozenset[int] = frozenset()
    remote_leos: tuple[int, ...] = ()
    in_flight: Message | None = None
    proposal: Proposal | None = None
    stopped_cleanly: bool = False
    newest_checkpoint: int = 0
    waits_from: int = NO_EPOCH
    late_response: Diverging | None = None
    last_epoch: str = KNOWN
    empty_epoch: int = NO_EPOCH
    old_answer: bool = False
    assigned: frozenset[int] | None = None
    metadata: str = CURRENT
    offline: bool = False
    old_min_isr: bool = False
    caught_up: frozenset[int] = frozenset()
    remote_starts: tuple[int, ...] = ()
    deleting: int = 0
    dead_fetchers: frozenset[int] = frozenset()

    def renewed(self, **fields: Any) -> Self:
        """Return the replica with the given fields, and all other fields of `Replica` at their defaults, as when its
        broker starts again. Fields that a subclass adds keep their values.
        """
        return attrs.evolve(self, **{**_DEFAULTS, **fields})

    @property
    def starts_own_epoch_at(self) -> int:
        """The start offset of the leader's epoch: the offset of the first record in this epoch, or else the log end
        offset.
        """
        return self.log.end_of_epoch(self.epoch - 1)

    @property
    def last_known_epoch(self) -> int | None:
        """The last epoch in a follower's leader epoch cache, or None if the cache is empty."""
        return self.log.last_epoch if self.empty_epoch == NO_EPOCH else self.empty_epoch

    @property
    def maximal_isr(self) -> frozenset[int]:
        """The maximal ISR (KIP-497): the union of the ISR and the proposed ISR.

        The maximal ISR contains the committed ISR, whether or not the controller accepts the proposal.
        """
        return self.isr | self.proposal.isr if self.proposal is not None and self.proposal.awaited else self.isr

    @property
    def truncating(self) -> bool:
        """Whether a follower has asked where to truncate but has not truncated yet."""
        return isinstance(self.in_flight, EpochRequest | EpochResponse)


_DEFAULTS: dict[str, Any] = {field.name: field.default for field in attrs.fields(Replica)}

ACTIVE = "active"
FENCED = "fenced"
SHUTTING_DOWN = "shutting down"


@attrs.frozen(cache_hash=True)
class Registration:
    """The registration of a broker with the controller.

    Attributes:
        status: `ACTIVE`, `FENCED` or `SHUTTING_DOWN`. With ZooKeeper, `FENCED` means that the broker's session has
            expired. The status is meaningful only while the broker is running, and is `ACTIVE` otherwise. The quorum
            shows whether the controller has noticed the failure of a broker.
        moved: whether the broker's replica is in a log directory that the controller does not know yet. Always false if
            this makes no difference.
    """

    status: str = ACTIVE
    moved: bool = False
