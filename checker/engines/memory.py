"""Measures the memory that a search uses, and determines its limits on memory.

A process that reaches a limit on memory may be killed without warning, or its allocations may fail. There are three
kinds of limits: the memory of the machine, the control groups of a container, and ``ulimit``. Engines check all of them
here, so that a search stops and reports its result before it reaches a limit.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import attrs

IN_BROWSER = sys.platform == "emscripten"
"""Whether Python runs in a browser (Pyodide), which has no processes, signals or threads, and measures no memory."""

if not IN_BROWSER:
    import resource

    import psutil

    _process = functools.cache(psutil.Process)  # to make the object takes longer than to ask it

MOST_IN_BROWSER = 2**31
"""The limit on memory in a browser, in bytes. As the memory that is used is not known there, a search needs a limit on
states.
"""

SHARE = 0.8
"""The fraction of the machine's free memory that a search may use by default."""

RESERVE = 2**25
"""The number of bytes that are kept free below a limit, for allocations between two checks and for the report."""

RESERVED_SHARE = 0.05
"""The fraction of a limit that is kept free, if this is more than `RESERVE` bytes."""

RESERVED_ADDRESSES = 0.5
"""The fraction of the free address space that is not reserved for states, if the address space is limited."""

LOOK_SECONDS, LOOK_SHARE = 1.0, 0.02
"""The minimum number of seconds between two measurements of the helpers' memory, and the maximum fraction of the time
that these measurements may take."""

_PROC = Path("/proc/self")


def used() -> int:
    """Return the resident memory of this process in bytes, or 0 if it cannot be measured."""
    return 0 if IN_BROWSER else int(_process(os.getpid()).memory_info().rss)


def described(size: float) -> str:
    """Format a number of bytes as text with a unit, for example ``1.5 GiB``."""
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


@attrs.frozen
class Ceiling:
    """A limit on memory.

    Attributes:
        size: the number of bytes that may be used.
        used: a function that returns how many bytes currently count towards the limit.
        reached: a phrase for the message when the limit is reached, for example "reached 2.0 GiB of memory".
        of_addresses: whether reserved address space counts towards the limit, even if nothing has been written to it.
    """

    size: int
    used: Callable[[], int]
    reached: str
    of_addresses: bool = False

    @property
    def free(self) -> int:
        """The number of bytes that may still be used."""
        return self.size - self.used()


class Memory:
    """The limits on the memory that a search may use.

    Parameters:
        most: the number of bytes that the process and its helpers may use, or None for most of the machine's free
            memory.
        helpers: a function that returns the process ids of this process's helper processes.
        proc: the folder of this process in the proc file system.

    Attributes:
        ceilings: the limits. The search must not exceed any of them.
    """

    def __init__(self, most: int | None, helpers: Callable[[], Sequence[int]] = tuple, proc: Path = _PROC) -> None:
        own = _Processes(helpers)
        if most is None and IN_BROWSER:
            most = MOST_IN_BROWSER
        if most is None:
            most = used() + int(SHARE * psutil.virtual_memory().available)
        self.ceilings = [
            Ceiling(most, own.used, f"reached {described(most)} of memory"),
            *(() if IN_BROWSER else (*control_groups(proc), *_of_the_process())),
        ]
        self._tightest = min(self.ceilings, key=lambda ceiling: ceiling.free)

    def exceeded(self, more: int = 0) -> str | None:
        """Check whether `more` additional bytes would exceed a limit. If so, return the `Ceiling.reached` phrase for
        this limit. Otherwise, return None.
        """
        try:
            return next((ceiling.reached for ceiling in self.ceilings if ceiling.free < more), None)
        except MemoryError:  # there is not even enough memory to measure
            return self._tightest.reached

    @property
    def scarcest(self) -> Ceiling:
        """The limit that leaves the least memory free."""
        try:
            return min(self.ceilings, key=lambda ceiling: ceiling.free)
        except MemoryError:
            return self._tightest

    @property
    def for_states(self) -> int:
        """The number of bytes of address space that a search may reserve for states when it starts."""
        return max(
            0,
            min(
                int((1 - RESERVED_ADDRESSES) * ceiling.free) if ceiling.of_addresses else used() + ceiling.free
                for ceiling in self.ceilings
            ),
        )


class _Processes:
    """Measures the memory of this process and its helper processes. A shared page is counted only once.

    Measuring shared pages is slow, so the helpers are measured only occasionally.
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
    """Measure a process's anonymous memory in two ways, and return both sizes in bytes.

    The first size counts a page that n processes share as 1/n of a page. The second size counts every page in full.
    Both sizes are 0 if the operating system does not provide them.
    """
    try:
        lines = [line.split() for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]]
        found = {name: 1024 * int(size) for name, size, _ in lines}
        return found["Pss_Anon:"], found["Anonymous:"]
    except (OSError, ValueError, KeyError):
        return 0, 0


def control_groups(proc: Path = _PROC) -> Iterator[Ceiling]:
    """Yield the memory limits of the control groups (version 1 and 2) that contain this process, and of all their
    parent groups.

    The mount points are read from ``mountinfo``; see `cgroups(7)` and `proc_pid_mountinfo(5)`. In some containers, only
    the container's own part of the hierarchy is mounted.
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
    """Return the number of bytes that a control group uses. Inactive file pages are not counted, because they can be
    reclaimed.
    """
    total = _number(folder / current) or 0
    try:
        statistics = dict(line.split(" ", 1) for line in (folder / "memory.stat").read_text().splitlines())
        return max(0, total - int(statistics[cache]))
    except (OSError, ValueError, KeyError):
        return total


def _number(path: Path) -> int | None:
    """Return the number in a file, or None if the file does not exist or contains no number."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


@functools.cache
def _physical() -> int:
    """Return the size of the machine's memory in bytes. A control group (version 1) with a limit of at least this size
    is effectively unlimited.
    """
    return int(psutil.virtual_memory().total)


def _of_the_process() -> Iterator[Ceiling]:
    """Yield the memory limits that ``ulimit -v`` and ``ulimit -d`` set for this process."""
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
    return int(getattr(_process(os.getpid()).memory_info(), kind, 0))
