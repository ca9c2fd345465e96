"""Signals: those that ask a process to end do so as Ctrl-C does, with a report of what was found."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from leadline.reports.exit_codes import INCOMPLETE

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Ctrl-C; what `docker stop`, Kubernetes, Slurm and CI systems send first; a terminal that is closed."""

AGAIN_SECONDS = 1.0
"""Seconds after the first signal from which on Ctrl-C interrupts again."""


class Interrupt:
    """A signal handler that raises KeyboardInterrupt.

    Shells and terminals may send several signals at once, which must not cut off the report that the first one asks
    for. So it raises again only for a later Ctrl-C, which a person has pressed.
    """

    def __init__(self) -> None:
        self._first: float | None = None

    def __call__(self, number: int, _: FrameType | None) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first = now
        elif number != signal.SIGINT or now - self._first <= AGAIN_SECONDS:
            return
        raise KeyboardInterrupt


def leave(*_: Any) -> None:
    """End at once, while nothing has begun yet: libraries do not expect exceptions while they are loaded."""
    os.write(2, b"leadline: interrupted\n")
    os._exit(INCOMPLETE)


@contextmanager
def handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle the signals within this block, except those that are ignored, as SIGHUP is under ``nohup``."""
    before: dict[signal.Signals, Any] = {}
    in_main = threading.current_thread() is threading.main_thread()  # no other thread may set handlers
    for number in ENDING:
        found = signal.getsignal(number)
        if found in (signal.SIG_DFL, signal.default_int_handler) and in_main:
            before[number] = found
            signal.signal(number, handler)
    try:
        yield
    finally:
        for number, found in before.items():
            signal.signal(number, found)


@contextmanager
def no_exit() -> Iterator[None]:
    """Have ``os._exit`` raise SystemExit within this block, in this process.

    A spec that calls it must not end its checker, least of all with 0, which means that all properties hold.
    """
    own, leave_for_good = os.getpid(), os._exit

    def refused(status: int) -> Any:
        if os.getpid() != own:
            leave_for_good(status)
        raise SystemExit(f"os._exit({status})")

    os._exit = refused
    try:
        yield
    finally:
        os._exit = leave_for_good
