"""Memory: what a search uses, and what it may use.

Three kinds of limits end a process, or fail its allocations, without warning: the memory of the machine, the control
groups of a container, and ``ulimit``. All are known here, so that a search ends with a report before it reaches one.
"""

from __future__ import annotations

import functools
import os
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import attrs
import psutil

SHARE = 0.8
"""Share of the machine's free memory that a search may use by default."""

RESERVE = 2**25
"""Bytes kept free below a limit that would end the process: for growth between two checks, and for the report."""

RESERVED_SHARE = 0.05
"""Share of such a limit that is kept free, if that is more than `RESERVE`."""

RESERVED_ADDRESSES = 0.5
"""Share of a limited address space that is not reserved for states."""

LOOK_SECONDS, LOOK_SHARE = 1.0, 0.02
"""Seconds between two measurements of other processes' memory; share of the time that measuring may take."""

_PROC = Path("/proc/self")


def used() -> int:
    """Bytes of memory that this process has now."""
    return int(psutil.Process().memory_info().rss)


def described(size: float) -> str:
    """A number of bytes, for a person: ``1.5 GiB``."""
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


@attrs.frozen
class Ceiling:
    """A limit on memory.

    Attributes:
        size: bytes that may be used.
        used: returns the bytes that are used now, as this limit counts them.
        reached: that it was reached, for the end of a sentence.
        of_addresses: whether addresses that are only reserved count as used.
    """

    size: int
    used: Callable[[], int]
    reached: str
    of_addresses: bool = False

    @property
    def free(self) -> int:
        """Bytes that may still be used."""
        return self.size - self.used()


class Memory:
    """What a search may use.

    Parameters:
        most: bytes that the process and its helpers may use; None: most of what the machine has free.
        helpers: returns the ids of the processes that this one has forked to help it.
        proc: the folder in which the system describes this process.
    """

    def __init__(self, most: int | None, helpers: Callable[[], Sequence[int]] = tuple, proc: Path = _PROC) -> None:
        own = _Processes(helpers)
        if most is None:
            most = used() + int(SHARE * psutil.virtual_memory().available)
        self.ceilings = [
            Ceiling(most, own.used, f"reached {described(most)} of memory"),
            *control_groups(proc),
            *_of_the_process(),
        ]
        self._tightest = min(self.ceilings, key=lambda ceiling: ceiling.free)

    def exceeded(self, more: int = 0) -> str | None:
        """Which limit more bytes would exceed, for the end of a sentence; None if they would exceed none."""
        try:
            return next((ceiling.reached for ceiling in self.ceilings if ceiling.free < more), None)
        except MemoryError:  # there is not even enough to find out
            return self._tightest.reached

    @property
    def scarcest(self) -> Ceiling:
        """The limit that leaves the least."""
        try:
            return min(self.ceilings, key=lambda ceiling: ceiling.free)
        except MemoryError:
            return self._tightest

    @property
    def for_states(self) -> int:
        """Bytes of addresses that can be reserved at once, to be used as the search grows."""
        return max(
            0,
            min(
                int((1 - RESERVED_ADDRESSES) * ceiling.free) if ceiling.of_addresses else used() + ceiling.free
                for ceiling in self.ceilings
            ),
        )


class _Processes:
    """The memory of this process and its helpers. What they share counts once.

    The system takes long to find out what is shared, so that is measured only now and then.
    """

    def __init__(self, helpers: Callable[[], Sequence[int]]) -> None:
        self._helpers = helpers
        self._looked_at: Sequence[int] = ()
        self._more, self._next_look = 0, 0.0

    def used(self) -> int:
        own, helpers = used(), self._helpers()
        if not helpers:
            return own
        began = time.monotonic()
        if began > self._next_look or helpers != self._looked_at:
            shares = [_anonymous(process) for process in (os.getpid(), *helpers)]
            everything = sum(share for share, _ in shares)
            self._more, self._looked_at = max(0, everything - shares[0][1]), helpers
            ended = time.monotonic()
            self._next_look = ended + max(LOOK_SECONDS, (ended - began) / LOOK_SHARE)
        return own + self._more


def _anonymous(process: int) -> tuple[int, int]:
    """Bytes of anonymous memory of a process: with shared pages divided among those who share them, and in full.

    Both are 0 if they are not known.
    """
    try:
        lines = [line.split() for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]]
        found = {name: 1024 * int(size) for name, size, _ in lines}
        return found["Pss_Anon:"], found["Anonymous:"]
    except (OSError, ValueError, KeyError):
        return 0, 0


def control_groups(proc: Path = _PROC) -> Iterator[Ceiling]:
    """The limits of the control groups that this process is in, of both versions, and of those around them.

    A group's files are where `proc_pid_mountinfo(5)` says that its hierarchy is mounted; in a container, that may be
    only its own part of the hierarchy. See `cgroups(7)`.
    """
    try:
        memberships = [line.split(":", 2) for line in (proc / "cgroup").read_text().splitlines()]
        mounts = [line.split() for line in (proc / "mountinfo").read_text().splitlines()]
    except OSError:
        return
    names: tuple[str, ...]
    for mount in mounts:
        kind, options = mount[mount.index("-") + 1], mount[-1].split(",")
        if kind == "cgroup2":
            paths = [path for number, controllers, path in memberships if not controllers]
            names, cache, current = ("memory.max", "memory.high"), "inactive_file", "memory.current"
        elif kind == "cgroup" and "memory" in options:
            paths = [path for number, controllers, path in memberships if "memory" in controllers.split(",")]
            names, cache, current = ("memory.limit_in_bytes",), "total_inactive_file", "memory.usage_in_bytes"
        else:
            continue
        root, place = Path(mount[3]), Path(mount[4])
        for path in paths:
            group = Path(path)
            below = group.relative_to(root).parts if group.is_relative_to(root) else ()
            folders = [place.joinpath(*below[:depth]) for depth in range(len(below), -1, -1)]
            for folder in folders:
                for name in names:
                    limit = _number(folder / name)
                    if limit is not None and limit < _physical():
                        yield Ceiling(
                            limit - max(RESERVE, int(RESERVED_SHARE * limit)),
                            functools.partial(_used_by_group, folder, current, cache),
                            f"memory came close to the control group's limit of {described(limit)}",
                        )


def _used_by_group(folder: Path, current: str, cache: str) -> int:
    """Bytes that a control group uses. Inactive pages of files do not count: the system drops them first."""
    total = _number(folder / current) or 0
    try:
        statistics = dict(line.split(" ", 1) for line in (folder / "memory.stat").read_text().splitlines())
        return max(0, total - int(statistics[cache]))
    except (OSError, ValueError, KeyError):
        return total


def _number(path: Path) -> int | None:
    """The number in a file; None if there is none, as in ``max``."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


@functools.cache
def _physical() -> int:
    """Bytes of memory that the machine has. A larger limit means none: version 1 writes that as a large number."""
    return int(psutil.virtual_memory().total)


def _of_the_process() -> Iterator[Ceiling]:
    """The limits that ``ulimit -v`` and ``ulimit -d`` set."""
    for number, what in ((resource.RLIMIT_AS, "address-space"), (resource.RLIMIT_DATA, "data-segment")):
        limit, _ = resource.getrlimit(number)
        if limit != resource.RLIM_INFINITY:
            yield Ceiling(
                limit - max(RESERVE, int(RESERVED_SHARE * limit)),
                functools.partial(_addresses, "vms" if number == resource.RLIMIT_AS else "data"),
                f"memory came close to the {what} limit of {described(limit)}",
                of_addresses=True,
            )


def _addresses(kind: str) -> int:
    return int(getattr(psutil.Process().memory_info(), kind, 0))
