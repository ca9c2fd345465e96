"""Defers signals such as Ctrl-C while a critical section runs.

Calls of compiled loops in the main thread are critical sections too: the first call compiles the loop, and an exception
that is raised while the compiler calls back into Python is lost.
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
    """Return a context manager that defers signals until its block ends. Nested blocks have no further effect.

    Only signals that have a handler in Python are deferred, such as Ctrl-C. Other signals keep their default effect.
    """
    global _waiting
    if _waiting or threading.current_thread() is not threading.main_thread():
        yield  # Python runs signal handlers only in the main thread
        return
    came: list[int] = []

    def wait(number: int, frame: FrameType | None) -> None:
        if _waiting:
            came.append(number)
        else:  # the signal arrived after the block, while the handlers were being restored
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
