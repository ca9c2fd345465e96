"""Interrupts that wait until what must not be done by halves is done.

Calls of compiled loops in the main thread must not be interrupted either: the first call compiles the loop, and
what is raised while the compiler calls back into Python is lost.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_waiting = False


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt at the end of this, if it comes within; nested, at the outermost's."""
    global _waiting
    if _waiting or threading.current_thread() is not threading.main_thread():
        yield  # only the main thread is ever interrupted
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    _waiting = True
    try:
        yield
    finally:
        _waiting = False
        signal.signal(signal.SIGINT, before)
        if came:
            raise KeyboardInterrupt
