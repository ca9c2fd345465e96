"""Memory: what this process uses, and what it may use."""

from __future__ import annotations

from pathlib import Path

import psutil

SHARE = 0.8
"""Of the memory that is free, the share that a search takes if it is not told otherwise."""

_CGROUP = Path("/sys/fs/cgroup")


def used() -> int:
    """Bytes of memory that this process has now."""
    return int(psutil.Process().memory_info().rss)


def default_limit() -> int:
    """Bytes that this process may have, so that others are left in peace: what it has, and most of what is free.

    A container's own limit counts too; there the machine's free memory says nothing.
    """
    free = int(psutil.virtual_memory().available)
    try:
        limit, taken = ((_CGROUP / name).read_text().strip() for name in ("memory.max", "memory.current"))
        if limit != "max":
            free = min(free, max(0, int(limit) - int(taken)))
    except (OSError, ValueError):
        pass  # no such control group here
    return used() + int(SHARE * free)


def described(size: float) -> str:
    """A number of bytes, for a person: ``1.5 GiB``."""
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
