"""Helpers: processes that make calls beside this one, as only one thread of a process runs Python at a time.

A helper is forked from the search. So it has the very objects that the search has, whatever a spec is made of, and
nothing but the numbers of slots and values is exchanged: what has been numbered since the fork is unknown to it. It
answers nothing to a call that gives such a value, that shows a new member of a collection, or at which anything out of
the ordinary happens: the search makes that call itself, and finds out. So a helper is never needed.
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
"""Most helpers. More would wait for this process, which learns from all of their answers."""

TO_LEARN = 0.15
"""What it takes this process to learn from a call, whoever made it, where making one takes 1."""

ANSWERED_AT_ONCE = 16
"""Calls that a helper makes before it sends their outcomes, from which this process learns meanwhile."""


S = TypeVar("S")


class Request(NamedTuple):
    """Calls to make.

    Attributes:
        precision: see `Caller`.
        jobs: the calls.
    """

    precision: list[Precision]
    jobs: list[Job]


class Helper:
    """One process, seen from the search.

    Parameters:
        caller: the search's own, of which it gets a copy.
        others: the ends of the pipes to other helpers, which it has no use for.

    Attributes:
        pipe: this process's end of the pipe to it.
        has_gone: whether it was killed.
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
        """Its process id."""
        return self._process.pid or 0

    def ask(self, jobs: list[Job]) -> None:
        """Have it make some calls."""
        try:
            self.pipe.send(Request(self._caller.precision, jobs))
        except OSError:
            self.has_gone = True

    def answers(self, count: int) -> Iterator[Call | None]:
        """What comes of so many calls, in order; None where this process has to see for itself."""
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
        """Let it go."""
        self.pipe.close()
        self._process.kill()
        self._process.join()


class Helpers:
    """All of a search's helpers, started when there is much to learn.

    Parameters:
        caller: the search's own.
        count: the maximum number of them.

    Attributes:
        caller: as given.
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
        """Those that run, by their process ids."""
        return [helper.process for helper in self._running]

    def make(self, jobs: list[Job]) -> Iterator[tuple[Job, Call]]:
        """Make calls, together with the helpers.

        Parameters:
            jobs: the calls. Those of one state should follow one another.

        Yields:
            Each job, and what came of it.

        Raises:
            As `Caller.make`.
        """
        if self._busy or any(helper.has_gone for helper in self._running):
            self._count = 0  # what is answered now may be to calls that an interrupt or an error cut off
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
        """Whether the search has found out since a call was asked for what makes a difference to it."""
        new_members = self.caller.layout.slots > len(self._known)
        return asked_at[tree] != self.caller.precision[tree] or (bool(call.enumerated) and new_members)

    def _shares(self, jobs: list[Job]) -> tuple[list[Job], list[tuple[Helper, list[Job]]]]:
        """The calls for this process, and those for helpers, which are started when they first get some."""
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
        weight = max(1 - count * TO_LEARN, 0) / (1 + TO_LEARN)  # this process's share, where a helper's is 1
        first = min(max(int(len(jobs) * weight / (weight + count)) - len(own), 0), len(known))
        cuts = [first + (len(known) - first) * number // count for number in range(count + 1)]
        others = [known[begin:end] for begin, end in itertools.pairwise(cuts)]
        return own + known[:first], [pair for pair in zip(self._running, others, strict=True) if pair[1]]

    def _is_known(self, job: Job) -> bool:
        """Whether helpers know all values in the states of a job."""
        _, rows = job
        return all(len(row) <= len(self._known) and all(map(operator.lt, row, self._known)) for row in rows)

    def _start(self) -> None:
        with interrupts_wait(), suppress(OSError):  # no more processes to be had
            self._known = self.caller.layout.sizes()
            self._missed = 0
            while len(self._running) < self._count:
                self._running.append(Helper(self.caller, [helper.pipe for helper in self._running]))
        self._count = len(self._running)

    def end(self) -> None:
        """Let all of them go."""
        for helper in self._running:
            helper.end()
        self._running, self._busy = [], False


def _can_fork() -> bool:
    """Whether helpers can be had: forks are not safe on macOS, and processes of a pool must have none of their own."""
    can = sys.platform != "darwin" and "fork" in multiprocessing.get_all_start_methods()
    return can and not multiprocessing.current_process().daemon


def _serve(pipe: Connection, others: Sequence[Connection], caller: Caller[S]) -> None:
    """Answer requests until the search has gone."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)  # the search handles them, and ends this process
    gc.freeze()  # what is there now is shared with the search, and would be copied by a collection
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
        os._exit(0)  # with nothing of what the search does at its end


def _answer(
    caller: Caller[S], precision: list[Precision], known: list[int], tree: int, rows: tuple[Row, ...]
) -> Call | None:
    """A call; None if the search would find out more than that, or it gives values that have no numbers.

    Parameters:
        precision: how precisely the search records now.
        known: how many values of each slot had numbers at the fork.
    """
    caller.precision = list(precision)
    try:
        call: Call | None = caller.make(tree, rows)
    except BaseException:
        call = None
    if caller.layout.slots > len(known):
        caller.layout.forget(known)  # the search gives such slots to other members
        return None
    if call is None or call.writes_beyond(known) or caller.precision != precision:
        return None
    return call
