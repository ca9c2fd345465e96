"""Handlers for the signals that end a process. As after Ctrl-C, a command can still report its results."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from leadline.reports.exit_codes import INCOMPLETE

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signal of Ctrl-C, the first signal of `docker stop`, Kubernetes, Slurm and CI, and that of a closed terminal."""

AGAIN_SECONDS = 1.0
"""The time in seconds after the first signal during which Ctrl-C is ignored."""


class Interrupt:
    """A signal handler that raises KeyboardInterrupt.

    Shells and terminals may send several signals at once. Only the first of them raises an exception, so that the
    others do not interrupt the report that follows. A later Ctrl-C raises another exception.
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


def leave(*_: object) -> None:
    """End the process at once, without an exception. This signal handler is used only while modules are imported."""
    os.write(2, b"leadline: interrupted\n")
    os._exit(INCOMPLETE)


@contextmanager
def handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Call a handler whenever a signal in `ENDING` arrives within a ``with`` block.

    Signals that the process ignores, such as SIGHUP under ``nohup``, are still ignored.
    """
    before = {}
    in_main = threading.current_thread() is threading.main_thread()  # only the main thread may set handlers
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
    """Make ``os._exit`` raise SystemExit in this process within a ``with`` block.

    A spec that calls ``os._exit`` must not end the process, because exit code 0 would mean that all properties hold.
    """
    own, leave_for_good = os.getpid(), os._exit

    def refused(status: int) -> NoReturn:
        if os.getpid() != own:
            leave_for_good(status)
        raise SystemExit(f"os._exit({status})")

    os._exit = refused
    try:
        yield
    finally:
        os._exit = leave_for_good
