"""The replica of one broker, for the `atomic` family."""

from __future__ import annotations

import attrs

from leadline.model.log import Log
from leadline.model.quorum import NO_EPOCH


@attrs.frozen(cache_hash=True)
class Replica:
    """The replica of one broker: its log, and the broker's knowledge of the partition.

    Attributes:
        log: the records.
        high_watermark: the offset below which it considers records committed.
        epoch: the leader epoch of the last request that it obeyed.
        leader: the leader named by that request; None before the first request.
        isr: the in-sync replicas that it knows.
    """

    log: Log = Log()
    high_watermark: int = 0
    epoch: int = NO_EPOCH
    leader: int | None = None
    isr: frozenset[int] = frozenset()
