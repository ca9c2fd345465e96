"""Helper processes, which make calls in parallel, as only one thread of a process runs Python at a time.

A helper is forked from the search. So it has the same objects as the search, whatever a spec is made of, and the
processes exchange only the numbers of slots and values. A helper does not know values that were numbered after the
fork. It returns None for a call that gives such a value, that shows a new member of a collection, or in which anything
unusual happens. The search then makes that call itself. So a helper only saves time.
"""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import operator
import os
import signal
import sys
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
"""The maximum number of helpers. More would wait for this process, which learns from all of their answers."""

TO_LEARN = 0.15
"""The time that this process takes to learn from a call, as a fraction of the time to make a call."""

ANSWERED_AT_ONCE = 16
"""The number of calls that a helper makes before it sends their results. This process learns from them meanwhile."""


S = TypeVar("S")


class Request(NamedTuple):
    """A request to make calls.

    Attributes:
        precision: see `Caller`.
        jobs: the calls.
    """

    precision: list[Precision]
    jobs: list[Job]


class Helper:
    """A helper process, as the search sees it.

    Parameters:
        caller: the caller of the search. The helper gets a copy.
        others: the search's ends of the pipes to the helpers started before. The new helper closes its copies.

    Attributes:
        pipe: the search's end of the pipe to the helper.
        has_gone: whether the helper was killed.
    """

    def __init__(self, caller: Caller[Any], others: Sequence[Connection]) -> None:
        self._caller = caller
        self.has_gone = False
        self.pipe, end = multiprocessing.Pipe()
        context = multiprocessing.get_context("fork")
        self._process = context.Process(target=_serve, args=(end, [self.pipe, *others], caller), daemon=True)
        with warnings.catch_warnings():
            # in a process with threads, Python warns of locks that these may hold; a helper takes none of them
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process.start()
        end.close()

    @property
    def process(self) -> int:
        """The process id of the helper."""
        return self._process.pid or 0

    def ask(self, jobs: list[Job]) -> None:
        """Ask the helper to make calls."""
        try:
            self.pipe.send(Request(self._caller.precision, jobs))
        except OSError:
            self.has_gone = True

    def answers(self, count: int) -> Iterator[Call | None]:
        """Receive the results of the given number of calls, in order. None means that the search must make the call."""
        while count:
            answers: list[Call | None] = [None] * count
            if not self.has_gone:
                try:
                    answers = self.pipe.recv()
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
    """The helper processes of a search. They are started when there is enough work to share.

    Parameters:
        caller: the caller of the search.
        count: the maximum number of helpers.

    Attributes:
        caller: the caller of the search.
    """

    def __init__(self, caller: Caller[Any], count: int) -> None:
        self.caller = caller
        self._count = min(count, MOST) if _can_fork() else 0
        self._running: list[Helper] = []
        self._known: list[int] = []
        self._made = self._missed = 0
        self._busy = False

    @property
    def processes(self) -> list[int]:
        """The process ids of the running helpers."""
        return [helper.process for helper in self._running]

    def make(self, jobs: list[Job]) -> Iterator[tuple[Job, Call]]:
        """Make calls in this process and in the helpers.

        Parameters:
            jobs: the calls. Calls on the same state should be adjacent.

        Yields:
            Each job with its call.

        Raises:
            The exceptions of `Caller.make`.
        """
        if self._busy or any(helper.has_gone for helper in self._running):
            self._count = 0  # an answer may now belong to an earlier request that an interrupt or an error ended
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
        """Whether the search has learned something since it asked for a call that makes the result invalid."""
        new_members = self.caller.layout.slots > len(self._known)
        return asked_at[tree] != self.caller.precision[tree] or (bool(call.enumerated) and new_members)

    def _shares(self, jobs: list[Job]) -> tuple[list[Job], list[tuple[Helper, list[Job]]]]:
        """Divide calls between this process and the helpers, which are started when they first get calls."""
        tuning = self.caller.tuning
        if not self._count or len(jobs) < tuning.shared or self._made < tuning.helped_after:
            return jobs, []
        if self._missed > tuning.renewed_after:
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
        """Whether helpers know all values in the states of a job."""
        _, rows = job
        return all(len(row) <= len(self._known) and all(map(operator.lt, row, self._known)) for row in rows)

    def _start(self) -> None:
        with interrupts_wait(), suppress(OSError):  # no more processes can be started
            self._known = self.caller.layout.sizes()
            self._missed = 0
            while len(self._running) < self._count:
                self._running.append(Helper(self.caller, [helper.pipe for helper in self._running]))
        self._count = len(self._running)

    def end(self) -> None:
        """End all helpers."""
        for helper in self._running:
            helper.end()
        self._running, self._busy = [], False


def _can_fork() -> bool:
    """Whether helpers can be started. Forks are not safe on macOS, and daemon processes must not have children."""
    can = sys.platform != "darwin" and "fork" in multiprocessing.get_all_start_methods()
    return can and not multiprocessing.current_process().daemon


def _serve(pipe: Connection, others: Sequence[Connection], caller: Caller[S]) -> None:
    """Answer requests until the search closes the pipe."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)  # the search handles them, and ends this process
    gc.freeze()  # the objects are in memory shared with the search, which a garbage collection would copy
    for other in others:
        other.close()  # so that the pipe ends with the search
    domains = caller.layout.domains
    known = [len(domain.values) for domain in domains]
    try:
        while True:
            request: Request = pipe.recv()
            for first in range(0, len(request.jobs), ANSWERED_AT_ONCE):
                jobs = request.jobs[first : first + ANSWERED_AT_ONCE]
                pipe.send([_answer(caller, request.precision, known, *job) for job in jobs])
    finally:
        os._exit(0)  # skips the cleanup that the search does at its end


def _answer(
    caller: Caller[S], precision: list[Precision], known: list[int], tree: int, rows: tuple[Row, ...]
) -> Call | None:
    """Return a call, or None if it gives unnumbered values or the search would learn more from making it itself.

    Parameters:
        precision: the precision with which the search records now, for each tree.
        known: the number of values of each slot that had numbers at the fork.
    """
    caller.precision = list(precision)
    try:
        call: Call | None = caller.make(tree, rows)
    except BaseException:
        call = None
    if caller.layout.slots > len(known):
        caller.layout.forget(known)  # the search may assign these slots to different members
        return None
    if call is None or call.writes_beyond(known) or caller.precision != precision:
        return None
    return call
