"""One broker: its replica, and its registration with the controller."""

from __future__ import annotations

import attrs

from leadline.model.kafka.messages import EpochRequest, EpochResponse, Message, Proposal
from leadline.model.log import Log
from leadline.model.quorum import NO_EPOCH

UNKNOWN_OFFSET = -1
"""The remote log end offset of a follower that has not fetched from the leader yet."""


@attrs.frozen(cache_hash=True)
class Replica:
    """The replica of one broker: its log, and what the broker believes.

    Attributes:
        log: the records, on disk. The leader epoch cache is derived from them (see `epochs`).
        high_watermark: the offset below which it considers records committed; also on disk, as a checkpoint.
        up: whether the broker is running.
        epoch: the leader epoch of the last request that it obeyed since it started.
        leader: the leader named by that request; None before the first request.
        isr: a leader's committed ISR, as far as it knows; empty for a follower.
        remote_leos: for a leader, the log end offset of each broker as far as it knows.
        in_flight: a follower's request to its leader, or the response to it; None for other brokers.
        proposal: the ISR that a leader has proposed to the controller; None if it awaits no response.
        stopped_cleanly: whether a broker that is down has left a clean shutdown file (KIP-966).
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

    @property
    def starts_own_epoch_at(self) -> int:
        """The start offset of a leader's own epoch: the offset of its first record in it, or of the next record."""
        return self.log.end_of_epoch(self.epoch - 1)

    @property
    def maximal_isr(self) -> frozenset[int]:
        """The union of the ISR and the proposed one: it contains the committed ISR, whatever the response (KIP-497)."""
        return self.isr | self.proposal.isr if self.proposal is not None and self.proposal.awaited else self.isr

    @property
    def truncating(self) -> bool:
        """Whether a follower has asked where to truncate but has not truncated yet."""
        return isinstance(self.in_flight, EpochRequest | EpochResponse)


ACTIVE = "active"
FENCED = "fenced"
SHUTTING_DOWN = "shutting down"


@attrs.frozen(cache_hash=True)
class Registration:
    """A running broker as the controller knows it.

    Attributes:
        status: `ACTIVE`; `FENCED` (with ZooKeeper: its session has expired); or `SHUTTING_DOWN`. A broker that is down
            is always `ACTIVE`: the quorum shows whether the controller has noticed its failure.
    """

    status: str = ACTIVE
