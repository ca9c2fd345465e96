"""Helper processes, which call a spec's functions in parallel. Threads cannot do this, because Python threads do not
run Python code in parallel.

A helper is forked from the process of the search. Therefore it has copies of all objects, including objects that cannot
be pickled. The processes exchange only the indices of slots, values and action instances. A value that is
found after the fork has no index in the helper. The helper returns None for a call that writes such a value, draws new
values from the state, finds a new member of a collection, or raises an exception. The search process then makes this
call itself. Helpers therefore save time, but do not change the result of a search.
"""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import operator
import os
import signal
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, TypeVar

from leadline.checker.engines.budget import ENDING
from leadline.checker.engines.learning.calls import Call, Caller, Job, Row
from leadline.checker.engines.learning.interrupts import interrupts_wait
from leadline.checker.observing.recording import Precision

MOST = 7
"""The maximum number of helpers. More helpers would wait for the search process, which learns from all results."""

RENEWED_AFTER = 300
"""The number of calls that may fail in the helpers because a value is missing. After more such calls, the helpers are
replaced by newly forked ones, which have all values."""

TO_LEARN = 0.15
"""The time that the search process needs to learn from a call, as a fraction of the duration of the call."""

ANSWERED_AT_ONCE = 16
"""The number of calls after which a helper sends their results. The search learns from these results while the helper
makes the next calls."""


S = TypeVar("S")


class Request(NamedTuple):
    """A request to a helper process to call functions of the spec.

    Attributes:
        precision: for each decision tree, the precision with which to record calls; see `Caller`.
        apart: for each decision tree, whether calls are divided; see `Caller`.
    """

    precision: list[Precision]
    apart: list[bool]
    jobs: list[Job]


class Helper:
    """A helper process, as seen by the search process.

    Parameters:
        caller: calls the spec's functions. The helper process uses a copy of it.
        others: the search process's ends of the pipes to the other helpers. The helper process inherits them and closes
            them.

    Attributes:
        pipe: the search process's end of the pipe to the helper.
        has_gone: whether the helper process ended before it was told to.
        seconds: the CPU seconds that the helper process had used when it last sent results.
    """

    def __init__(self, caller: Caller[Any], others: Sequence[Connection]) -> None:
        self._caller = caller
        self.has_gone, self.seconds = False, 0.0
        self.pipe, end = multiprocessing.Pipe()
        context = multiprocessing.get_context("fork")
        self._process = context.Process(target=_serve, args=(end, [self.pipe, *others], caller), daemon=True)
        with warnings.catch_warnings():
            # Python warns that other threads may hold locks during a fork; a helper acquires none of these locks
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process.start()
        end.close()

    @property
    def process(self) -> int:
        """The process id of the helper."""
        return self._process.pid or 0

    def ask(self, jobs: list[Job]) -> None:
        """Send calls to the helper process. Receive their results with `answers`."""
        try:
            self.pipe.send(Request(self._caller.precision, self._caller.apart, jobs))
        except OSError:
            self.has_gone = True

    def answers(self, count: int) -> Iterator[Call | None]:
        """Receive the results of calls that were sent with `ask`.

        Parameters:
            count: the number of calls.

        Yields:
            The result of each call, in order, or None if the search process must make the call itself.
        """
        while count:
            answers: list[Call | None] = [None] * count
            if not self.has_gone:
                try:
                    self.seconds, answers = self.pipe.recv()
                except (EOFError, OSError):
                    self.has_gone = True
            yield from answers
            count -= len(answers)

    def end(self) -> None:
        """End the helper process."""
        self.pipe.close()
        self._process.kill()
        self._process.join()


class Helpers:
    """The helper processes of a search. They are started when there are enough calls to make.

    Parameters:
        caller: calls the spec's functions in the search process.
        count: the maximum number of helpers.

    Attributes:
        caller: calls the spec's functions in the search process.
    """

    def __init__(self, caller: Caller[Any], count: int) -> None:
        self.caller = caller
        self._count = min(count, MOST) if _can_fork() else 0
        self._running: list[Helper] = []
        self._known: list[int] = []
        self._made = self._missed = 0
        self._ended_seconds = 0.0
        self._busy = False

    @property
    def processes(self) -> list[int]:
        """The process ids of the running helpers."""
        return [helper.process for helper in self._running]

    @property
    def seconds(self) -> float:
        """The CPU seconds that all helper processes have used, including those that have ended."""
        return self._ended_seconds + sum(helper.seconds for helper in self._running)

    def make(self, jobs: list[Job]) -> Iterator[tuple[Job, Call]]:
        """Make calls in this process and in the helper processes, and yield their results.

        Parameters:
            jobs: the calls. Calls on the same state should be next to each other.

        Yields:
            Each call in `jobs`, with its reads and its result.

        Raises:
            SpecError, ShapeChanged, NotRecorded: see `Caller.make`.
        """
        if self._busy or any(helper.has_gone for helper in self._running):
            self._count = 0  # pipes may still hold results of an earlier request that was interrupted
            self.end()
        self._made += len(jobs)
        own, shares = self._shares(jobs)
        self._busy, asked_at = True, list(self.caller.precision)
        for helper, share in shares:
            helper.ask(share)
        for job in own:
            yield job, self.caller.make(*job)
        for helper, share in shares:
            for job, call in zip(share, helper.answers(len(share)), strict=True):
                if call is None or self._is_outdated(job[0], call, asked_at):
                    self._missed += 1
                    yield job, self.caller.make(*job)
                else:
                    yield job, call
        self._busy = False

    def _is_outdated(self, tree: int, call: Call, asked_at: Sequence[Precision]) -> bool:
        """Return whether the result of a call is invalid because precisions or slots have changed since the request.

        Parameters:
            tree: the index of the decision tree of the called function.
            asked_at: for each tree, the precision that the request contained.
        """
        new_members = self.caller.layout.slots > len(self._known)
        is_divided_otherwise = call.undivided != self.caller.undivided(tree)
        new_members = bool(call.enumerated) and new_members
        return asked_at[tree] != self.caller.precision[tree] or is_divided_otherwise or new_members

    def _shares(self, jobs: list[Job]) -> tuple[list[Job], list[tuple[Helper, list[Job]]]]:
        """Divide calls between this process and the helpers. Start the helpers if they are needed.

        Returns:
            The calls for this process, and a (helper, calls) pair for each helper in use.
        """
        tuning = self.caller.tuning
        if not self._count or len(jobs) < tuning.shared or self._made < tuning.helped_after:
            return jobs, []
        if self._missed > RENEWED_AFTER:
            self.end()
        if not self._running:
            self._start()
        if not self._running:
            return jobs, []
        own: list[Job] = []
        known: list[Job] = []
        for job in jobs:
            (known if self._is_known(job) else own).append(job)
        self._missed += len(own)
        count = len(self._running)
        weight = max(1 - count * TO_LEARN, 0) / (1 + TO_LEARN)  # relative to the number of calls of a helper
        first = min(max(int(len(jobs) * weight / (weight + count)) - len(own), 0), len(known))
        cuts = [first + (len(known) - first) * number // count for number in range(count + 1)]
        others = [known[begin:end] for begin, end in itertools.pairwise(cuts)]
        return own + known[:first], [pair for pair in zip(self._running, others, strict=True) if pair[1]]

    def _is_known(self, job: Job) -> bool:
        """Return whether all values in the states of a call had an index when the helpers were forked."""
        _, rows = job
        return all(len(row) <= len(self._known) and all(map(operator.lt, row, self._known)) for row in rows)

    def _start(self) -> None:
        with interrupts_wait(), suppress(OSError):  # the system may not be able to start more processes
            self._known = self.caller.layout.sizes()
            self._missed = 0
            while len(self._running) < self._count:
                self._running.append(Helper(self.caller, [helper.pipe for helper in self._running]))
        self._count = len(self._running)

    def end(self) -> None:
        """End all helper processes."""
        self._ended_seconds = self.seconds
        for helper in self._running:
            helper.end()
        self._running, self._busy = [], False


def _can_fork() -> bool:
    """Return whether this process can fork helpers. This is not possible on macOS or in daemonic processes."""
    can = sys.platform != "darwin" and "fork" in multiprocessing.get_all_start_methods()
    return can and not multiprocessing.current_process().daemon


def _serve(pipe: Connection, others: Sequence[Connection], caller: Caller[S]) -> None:
    """Run a helper process: make the requested calls and send their results until the pipe is closed.

    Parameters:
        pipe: the helper's end of the pipe.
        others: ends of pipes that the helper process has inherited and must close.
        caller: calls the spec's functions.
    """
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)  # the search handles these signals, and kills this process
    gc.freeze()  # a garbage collection would write to the memory pages shared with the search, and so copy them
    for other in others:
        other.close()  # otherwise, `recv` would not raise EOFError after the search has ended
    domains = caller.layout.domains
    known, numbered = [len(domain.values) for domain in domains], len(caller.numbered)
    try:
        while True:
            request: Request = pipe.recv()
            for first in range(0, len(request.jobs), ANSWERED_AT_ONCE):
                jobs = request.jobs[first : first + ANSWERED_AT_ONCE]
                answers = [_answer(caller, request, known, numbered, *job) for job in jobs]
                pipe.send((time.process_time(), answers))
    finally:
        os._exit(0)  # skip exit handlers, which must run only in the search process


def _answer(
    caller: Caller[S], request: Request, known: list[int], numbered: int, tree: int, rows: tuple[Row, ...]
) -> Call | None:
    """Make a call in a helper process. Return None if the search process must make the call itself.

    The search process must make the call itself if the call raises an exception, finds values or members that had no
    index when the helper was forked, or needs a lower precision.

    Parameters:
        caller: calls the spec's functions.
        request: contains the precision of each tree, and whether its calls are divided.
        known: for each slot, the number of its values when the helper was forked.
        numbered: the number of action instances that had a number when the helper was forked; see `Caller.numbered`.
        tree, rows: the call to make; see `Job`.
    """
    precision, caller.precision = request.precision, list(request.precision)
    if request.apart[tree]:
        caller.take_apart(tree)
    if caller.apart[tree] != request.apart[tree]:
        return None
    try:
        call: Call | None = caller.make(tree, rows)
    except BaseException:
        call = None
    if caller.layout.slots > len(known):
        caller.layout.forget(known)  # the search may assign these slots to different members
        return None
    if call is None or call.writes_beyond(known) or caller.precision != precision:
        return None
    if isinstance(call.gave, list) and any(label >= numbered for label, _ in call.gave):
        return None
    return call
