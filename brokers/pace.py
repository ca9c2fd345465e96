"""How much more time than on an idle machine things take."""

from __future__ import annotations

import os

_MOST = 8.0


def pace() -> float:
    """Return the factor by which time limits are longer than on an idle machine: the running processes for each core.

    Without it, brokers on a busy machine would not start in time, and a follower that is held would leave the ISR
    before its step, because the steps before take longer than the leader's lag.
    """
    return min(max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)), _MOST)
