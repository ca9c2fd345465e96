"""Defers signals, such as the one that Ctrl-C sends, until a critical section has ended.

A call to a compiled loop in the main thread is also a critical section, because the first call compiles the loop. If a
signal handler raised an exception in Python code that the compiler calls, the exception would be lost.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from leadline.checker.engines.budget import ENDING

_waiting = 0
"""The id of the process that is within such a block, or 0. A process that was forked there defers signals until it has
handlers of its own.
"""


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Return a context manager that defers signals until its ``with`` block ends. Such blocks can be nested.

    Only signals that have a Python handler are deferred, such as the SIGINT of Ctrl-C. All other signals take effect
    immediately.
    """
    global _waiting
    if _waiting == os.getpid() or threading.current_thread() is not threading.main_thread():
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
    _waiting = os.getpid()
    try:
        for number in before:
            signal.signal(number, wait)
        yield
    finally:
        _waiting = 0
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(came):
            before[number](number, None)
