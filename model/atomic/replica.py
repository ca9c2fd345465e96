"""The replica of one broker, for the `atomic` family."""

from __future__ import annotations

import attrs

from leadline.model.log import Log
from leadline.model.quorum import NO_EPOCH, BrokerId


@attrs.frozen(cache_hash=True)
class Replica:
    """The replica of one broker: its log, and the leader, leader epoch and ISR that the broker has learned.

    Attributes:
        log: the log of the replica.
        high_watermark: the offset below which the broker considers records committed.
        epoch: the leader epoch of the last request that the broker obeyed.
        leader: the leader that this request names, or None before the first request.
        isr: the latest ISR that the broker has learned.
    """

    log: Log = Log()
    high_watermark: int = 0
    epoch: int = NO_EPOCH
    leader: BrokerId | None = None
    isr: frozenset[BrokerId] = frozenset()
