"""Defers Ctrl-C while a critical section runs.

Calls of compiled loops in the main thread must not be interrupted either: the first call compiles the loop, and
an exception raised while the compiler calls back into Python is lost.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from leadline.checker.engines.budget import ENDING

_waiting = False


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Defer signals until the end of this block; if blocks are nested, until the end of the outermost one.

    Only signals with a handler in Python are deferred, such as Ctrl-C. Signals without one keep their default effect.
    """
    global _waiting
    if _waiting or threading.current_thread() is not threading.main_thread():
        yield  # only the main thread is ever interrupted
        return
    came: list[int] = []

    def wait(number: int, frame: FrameType | None) -> None:
        if _waiting:
            came.append(number)
        else:  # an interrupt came while handlers were restored, before this one was
            before[number](number, frame)

    handlers = {number: signal.getsignal(number) for number in (*ENDING, signal.SIGALRM)}
    before = {int(number): handler for number, handler in handlers.items() if callable(handler)}
    _waiting = True
    try:
        for number in before:
            signal.signal(number, wait)
        yield
    finally:
        _waiting = False
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(came):
            before[number](number, None)
