"""One broker: what it has and believes, and what the controller knows about it."""

from __future__ import annotations

import attrs

from leadline.model.kafka.messages import EpochRequest, EpochResponse, Message, Proposal
from leadline.model.log import Log
from leadline.model.quorum import NO_EPOCH

UNKNOWN_OFFSET = -1
"""The remote log end offset of a follower that has not fetched from this leader yet."""


@attrs.frozen(cache_hash=True)
class Replica:
    """What one broker has and believes.

    Attributes:
        log: its records. On disk; the leader epoch cache is what they say (see `epochs`).
        high_watermark: the offset below which it takes records for committed. On disk too, as a checkpoint.
        up: whether the broker runs.
        epoch: the leader epoch of the last request it obeyed since it started.
        leader: the leader which that request named; None before any.
        isr: the in-sync replicas as a leader knows them: the ISR that it knows to be committed.
        remote_leos: the log end offset of each broker as a leader knows it.
        in_flight: a follower's request to its leader, or the response to it; None for all others.
        proposal: the ISR that a leader has asked for; None if it waits for no answer.
        stopped_cleanly: whether a broker that is down has left the file that says so (KIP-966).
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
        """Where a leader's own epoch starts: at its first record of that epoch, or where that will be."""
        return self.log.end_of_epoch(self.epoch - 1)

    @property
    def maximal_isr(self) -> frozenset[int]:
        """The ISR together with what is asked for: nobody in it is left behind, whatever the answer (KIP-497)."""
        return self.isr | self.proposal.isr if self.proposal is not None and self.proposal.awaited else self.isr

    @property
    def truncating(self) -> bool:
        """Whether a follower has asked where to truncate, and has not done so yet."""
        return isinstance(self.in_flight, EpochRequest | EpochResponse)


ACTIVE = "active"
FENCED = "fenced"
SHUTTING_DOWN = "shutting down"


@attrs.frozen(cache_hash=True)
class Registration:
    """A running broker as the controller knows it.

    Attributes:
        status: active; fenced (in ZooKeeper mode: its session has expired); or shutting down. Of a broker that
            is down it says active: whether its failure was noticed can be seen from the quorum.
    """

    status: str = ACTIVE
