"""What one broker has and believes, for the `atomic` family."""

from __future__ import annotations

import attrs

from leadline.model.log import Log
from leadline.model.quorum import NO_EPOCH


@attrs.frozen(cache_hash=True)
class Replica:
    """What one broker has and believes.

    Attributes:
        log: its records.
        high_watermark: the offset below which it takes records for committed.
        epoch: the leader epoch of the last request it obeyed.
        leader: the leader which that request named; None before any.
        isr: the in-sync replicas it knows.
    """

    log: Log = Log()
    high_watermark: int = 0
    epoch: int = NO_EPOCH
    leader: int | None = None
    isr: frozenset[int] = frozenset()
