"""The budget: the time and the memory that a search may take.

An engine checks it between its own steps. A spec's code may run for ever, or take all memory, in one call: therefore
`Budget.enforced` watches from another thread, and interrupts the main thread as Ctrl-C does. Only Python code in the
main thread can be interrupted, not a call that never returns to the interpreter.

A spec may catch an interrupt, with a bare ``except`` for instance, and return as if nothing had happened. What such a
call returned is not what the spec says, so from then on the search is incomplete: see `Budget.swallowed`.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from leadline.checker.engines.memory import RESERVE, Memory
from leadline.checker.result import Limits, Stop, StopKind

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that ask a process to end."""

LOOK_SECONDS = 0.1
"""Seconds between two checks by the thread that watches."""

GRACE_SECONDS = 0.5
"""Seconds beyond the limit after which a search that has not ended by itself is interrupted."""

GRACE_BYTES = RESERVE // 2
"""Bytes beyond the limit at which a search that has not ended by itself is interrupted."""

AGAIN_SECONDS = 2.0
"""Seconds after which it is interrupted again, if the spec went on."""


class StopSearch(Exception):
    """Ends a search between two of its steps.

    Attributes:
        stop: why.
    """

    def __init__(self, stop: Stop) -> None:
        self.stop = stop
        super().__init__(stop)


class LimitReached(KeyboardInterrupt):
    """A limit was reached in the middle of a call. The text names the limit.

    Attributes:
        stop: which limit.
    """

    def __init__(self, stop: Stop) -> None:
        self.stop = stop
        super().__init__(stop)


def _stop(interrupt: KeyboardInterrupt) -> Stop:
    """Why a search was interrupted."""
    if isinstance(interrupt, LimitReached):
        return interrupt.stop
    return Stop(StopKind.INTERRUPT, str(interrupt) or "interrupted")


class Budget:
    """What a search may take, and has taken.

    Parameters:
        limits: the limits on time and memory count here; the others are the engine's business.
        helpers: returns the ids of the processes that this one has forked to help it.
        spent: seconds that the search has taken before.

    Attributes:
        started: when the search began, on the monotonic clock.
        memory: see `Memory`.
    """

    def __init__(self, limits: Limits, helpers: Callable[[], Sequence[int]] = tuple, spent: float = 0.0) -> None:
        self.started = time.monotonic() - spent
        self.memory = Memory(limits.max_memory, helpers)
        self._seconds = limits.max_seconds
        self._over = threading.Event()
        self._not_caught: list[KeyboardInterrupt] = []

    @property
    def swallowed(self) -> Stop | None:
        """Why the search was interrupted, if the exception never reached it; None otherwise."""
        return _stop(self._not_caught[0]) if self._not_caught else None

    def caught(self, interrupt: KeyboardInterrupt) -> Stop:
        """Note that an interrupt has reached the search.

        Returns:
            Why the search was interrupted.
        """
        if interrupt in self._not_caught:
            self._not_caught.remove(interrupt)
        return _stop(interrupt)

    @property
    def seconds(self) -> float:
        """Seconds since the search began."""
        return time.monotonic() - self.started

    def out_of_time(self, grace: float = 0.0) -> Stop | None:
        """Why the search must end, if its time is up; else None.

        Parameters:
            grace: seconds granted beyond the limit.
        """
        if self._seconds is None or self.seconds <= self._seconds + grace:
            return None
        return Stop(StopKind.TIME, f"reached {self._seconds:g} seconds")

    def out_of_memory(self, more: int = 0) -> Stop | None:
        """Why the search must end, if its memory is used up; else None.

        Parameters:
            more: bytes that are about to be taken.
        """
        reason = self.memory.exceeded(more)
        return None if reason is None else Stop(StopKind.MEMORY, reason)

    def memory_failed(self) -> Stop:
        """Why the search must end when Python could not get memory, or there is no room."""
        return Stop(StopKind.MEMORY, self.memory.scarcest.reached)

    @contextmanager
    def enforced(self) -> Iterator[None]:
        """Interrupt the main thread if a limit is exceeded before this ends, or before `relax` is called.

        In another thread, this does nothing. Where SIGALRM is in use already, nothing is interrupted.

        Raises:
            LimitReached: a limit was exceeded.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        with self._noted(), self._watched():
            yield

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """Note the interrupts that signals cause."""
        found = {int(number): signal.getsignal(number) for number in ENDING}
        before = {number: handler for number, handler in found.items() if callable(handler)}

        def handler(number: int, frame: FrameType | None) -> None:
            try:
                before[number](number, frame)
            except KeyboardInterrupt as interrupt:
                if interrupt not in self._not_caught:  # it is, if a second signal came within the handler of the first
                    self._not_caught.append(interrupt)
                raise

        for number in before:
            signal.signal(number, handler)
        try:
            yield
        finally:
            for number, own in before.items():
                signal.signal(number, own)

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Watch the limits from another thread."""
        if signal.getsignal(signal.SIGALRM) != signal.SIG_DFL:
            yield
            return
        self._over.clear()
        came, note = os.pipe()
        for end in (came, note):
            os.set_blocking(end, False)
        before = signal.set_wakeup_fd(note, warn_on_full_buffer=False)
        signal.signal(signal.SIGALRM, self._interrupt)
        watch = threading.Thread(target=self._watch, args=(came,), daemon=True)
        watch.start()
        try:
            yield
        finally:
            self.relax()
            watch.join()  # afterwards it sends nothing
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.set_wakeup_fd(before)
            os.close(came)
            os.close(note)

    def relax(self) -> None:
        """Interrupt nothing from now on: the search is at its end, and what it found must not be lost."""
        self._over.set()

    def _exceeded(self) -> Stop | None:
        return self.out_of_time(GRACE_SECONDS) or self.out_of_memory(-GRACE_BYTES)

    def _watch(self, came: int) -> None:
        """Interrupt the main thread when a limit is exceeded, and wake it when a signal came.

        The system may give a signal to any thread. Python then handles it in the main thread, but does not wake that
        from what it waits for.

        Parameters:
            came: a pipe to read the numbers of signals from.
        """
        main = threading.main_thread().ident
        assert main is not None
        while not self._over.wait(LOOK_SECONDS):
            if self._exceeded():
                signal.pthread_kill(main, signal.SIGALRM)
                self._over.wait(AGAIN_SECONDS)
            with suppress(BlockingIOError):
                if set(os.read(came, 64)) - {signal.SIGALRM}:
                    signal.pthread_kill(main, signal.SIGALRM)

    def _interrupt(self, *_: Any) -> None:
        stop = None if self._over.is_set() else self._exceeded()
        if stop:
            interrupt = LimitReached(stop)
            self._not_caught.append(interrupt)
            raise interrupt
