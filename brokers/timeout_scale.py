"""Extend time limits on a busy machine."""

from __future__ import annotations

import os

_MOST = 8.0


def timeout_scale() -> float:
    """Return the factor by which time limits are extended: the load per core, but at least 1 and at most 8.

    Without this factor, brokers on a busy machine would not start in time, and a follower whose requests are held would
    be removed from the ISR too early, because the steps take longer than the leader's `replica.lag.time.max.ms`.
    """
    return min(max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)), _MOST)
