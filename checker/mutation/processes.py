"""Calls functions in forked processes, several at the same time.

A forked process works on a copy of the caller's objects, so its changes do not affect the caller.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Generic, TypeVar

import attrs

from leadline.checker.engines.budget import ENDING
from leadline.checker.engines.learning.interrupts import interrupts_wait
from leadline.checker.errors import LeadlineError, SpecError, error_line

T = TypeVar("T")

Call = Callable[[], T]

GRACE_SECONDS = 10.0
"""The number of seconds that a process may take to stop after its time limit."""


@attrs.frozen
class Answer(Generic[T]):
    """The outcome of a call in a forked process.

    Attributes:
        found: the result of the call, or the `LeadlineError` that it raised. If the call raised a different exception,
            or if the process ended without a result, this is a sentence that describes the failure.
        seconds: the duration of the call in seconds.
        is_late: whether the process was killed because it exceeded the time limit.
    """

    name: str
    found: T | LeadlineError | str
    seconds: float
    is_late: bool


def answers(calls: Iterable[tuple[str, Call[T]]], workers: int, seconds: float) -> Generator[Answer[T]]:
    """Call functions in forked processes, and yield the outcome of each call as soon as it arrives.

    If the caller closes the generator, the running processes are killed.

    Parameters:
        calls: a (name, function) pair for each call.
        workers: the maximum number of processes that run at the same time.
        seconds: the time limit for each call, in seconds.
    """
    waiting, running = iter(calls), dict[Connection, Process[T]]()
    try:
        while True:
            while len(running) < workers and (call := next(waiting, None)):
                with interrupts_wait():  # Python ignores exceptions that are raised in its own functions during a fork
                    process = Process(*call)
                    running[process.pipe] = process
            if not running:
                return
            over = min(process.began for process in running.values()) + seconds
            wait(list(running), max(0.0, over - time.monotonic()))
            for process in list(running.values()):
                taken = time.monotonic() - process.began
                is_late = not process.has_answered and taken > seconds
                if process.has_answered or is_late:
                    found = f"the search did not end within {seconds:g} seconds" if is_late else process.answer()
                    del running[process.pipe]
                    process.end()
                    yield Answer(process.name, found, taken, is_late)
    finally:
        for process in running.values():
            process.end()


class Process(Generic[T]):
    """A forked process that makes one call and sends the result, or the error, to the caller.

    Attributes:
        pipe: the connection from which the answer is read.
        began: the time at which the process was started, as returned by `time.monotonic`.
    """

    def __init__(self, name: str, call: Call[T]) -> None:
        self.name, self.began = name, time.monotonic()
        self.pipe, end = multiprocessing.Pipe(duplex=False)
        context = multiprocessing.get_context("fork")
        self._process = context.Process(target=_run, args=(end, call), daemon=True)
        sys.stdout.flush()
        with warnings.catch_warnings():
            # Python warns about a fork while other threads may hold locks. The call does not use these locks.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process.start()
        end.close()

    @property
    def has_answered(self) -> bool:
        """Whether the process has sent an answer or has ended without an answer."""
        return self.pipe.poll()

    def answer(self) -> T | LeadlineError | str:
        """Return the result of the call, or the `LeadlineError` that it raised. If the call failed in any other way,
        return a sentence that describes the failure.
        """
        try:
            received: T | LeadlineError | str = self.pipe.recv()
        except (EOFError, OSError):
            self._process.join(GRACE_SECONDS)
            return f"the process ended with exit code {self._process.exitcode} and without an answer"
        return received

    def end(self) -> None:
        """If the process is still running, kill it and all processes that it started."""
        self.pipe.close()
        pid = self._process.pid
        if self._process.is_alive() and pid is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
            self._process.kill()
        self._process.join()


def _run(pipe: Connection, call: Call[T]) -> None:
    """Make the call in the forked process, and send the result or the error to the caller."""
    with suppress(OSError):
        os.setsid()  # Ctrl-C must reach only the parent, which ends this process
    for number in ENDING:
        signal.signal(number, signal.SIG_DFL)  # otherwise, a search would end with the result "interrupted"
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # the output of a spec is discarded
        os.dup2(nowhere, stream)
    answer: T | LeadlineError | str
    try:
        answer = call()
    except SpecError as error:
        answer = SpecError(str(error))
    except LeadlineError as error:
        answer = type(error)(str(error))
    except BaseException as error:
        answer = error_line(error)
    with suppress(OSError):
        pipe.send(answer)
    pipe.close()
