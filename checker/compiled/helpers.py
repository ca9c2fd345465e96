"""Helpers: processes that make calls beside this one, as only one thread of a process runs Python at a time.

A helper is forked from the search, so that it knows the spec whatever it is made of. Then only numbers and the
values of slots are exchanged. It answers nothing for a call at which anything out of the ordinary happens: the
search makes that call itself, and finds out. So a helper is never needed, and what is learned is never its fault.
"""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from checker.compiled.calls import Call, Caller, Job, Row
from checker.compiled.interrupts import interrupts_wait

MOST = 7
"""More helpers would wait for this process, which learns what all of them answer."""

WORTHWHILE = 8
"""Fewer calls are not worth sharing."""

STARTED_AFTER = 500
"""Calls after which a search is worth a helper."""


class Request(NamedTuple):
    """Calls to make.

    Attributes:
        values: the values that have been numbered since the last request, with their slots.
        looks_at_copies: see `Caller`.
        copyable: see `Domain`; of each slot.
        jobs: the calls.
    """

    values: list[tuple[int, list[Any]]]
    looks_at_copies: set[int]
    copyable: list[bool]
    jobs: list[Job]


class Answer(NamedTuple):
    """What a call gave, in values instead of numbers; see `Call`.

    Attributes:
        reads: the slots that were read, in order.
    """

    reads: list[int]
    copied: set[int]
    gave: list[list[tuple[int, Any]]] | bool


class Helper:
    """One process, seen from the search.

    Parameters:
        caller: the search's own, of which it gets a copy.
        others: the ends of the pipes to other helpers, which it has no use for.

    Attributes:
        pipe: this process's end of the pipe to it.
        has_gone: whether it was killed, or was no help, as there are values that cannot be pickled.
    """

    def __init__(self, caller: Caller[Any], others: Sequence[Connection]) -> None:
        self._caller, self._domains = caller, caller.layout.domains
        self._told = [len(domain.values) for domain in self._domains]
        self.has_gone = False
        self.pipe, end = multiprocessing.Pipe()
        context = multiprocessing.get_context("fork")
        self._process = context.Process(target=_serve, args=(end, [self.pipe, *others], caller), daemon=True)
        with interrupts_wait(), warnings.catch_warnings():
            # in a process with threads, Python warns of locks that these may hold; a helper takes none of them
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process.start()
        end.close()

    def ask(self, jobs: list[Job]) -> None:
        """Have it make some calls."""
        news = [
            (slot, domain.values[told:])
            for slot, (domain, told) in enumerate(zip(self._domains, self._told, strict=True))
            if told < len(domain.values)
        ]
        copyable = [domain.copyable for domain in self._domains]
        try:
            self.pipe.send(Request(news, self._caller.looks_at_copies, copyable, jobs))
        except Exception:
            self.has_gone = True
        for slot, values in news:
            self._told[slot] += len(values)

    def answers(self, count: int) -> list[Answer | None]:
        """What came of so many calls, in order; None where this process has to see for itself."""
        answers: list[Answer | None] = [None] * count
        if not self.has_gone:
            try:
                answers = self.pipe.recv()
            except Exception:
                self.has_gone = True
        return answers

    def end(self) -> None:
        """Let it go."""
        self.pipe.close()
        self._process.kill()
        self._process.join()


class Helpers:
    """All of a search's helpers, started when there is much to learn.

    Parameters:
        caller: the search's own.
        count: how many there may be.
    """

    def __init__(self, caller: Caller[Any], count: int) -> None:
        self.caller = caller
        self._count = min(count, MOST) if "fork" in multiprocessing.get_all_start_methods() else 0
        self._running: list[Helper] = []
        self._made = 0
        self._busy = False

    def make(self, jobs: list[Job]) -> Iterator[tuple[int, Call]]:
        """Make calls, together with the helpers.

        Parameters:
            jobs: the calls. Those of one state should follow one another.

        Yields:
            The tree of each, and what came of it.

        Raises:
            As `Caller.make`.
        """
        if self._busy or any(helper.has_gone for helper in self._running):
            self.end()  # what is answered now may be to calls that an interrupt or an error cut off
        self._made += len(jobs)
        shares = self._shares(jobs)
        self._busy = True
        helped = list(zip(self._running, shares[1:], strict=False))
        for helper, share in helped:
            helper.ask(share)
        for tree, rows in shares[0]:
            yield tree, self.caller.make(tree, rows)
        for helper, share in helped:
            for (tree, rows), answer in zip(share, helper.answers(len(share)), strict=True):
                if answer is None or (answer.copied and tree in self.caller.looks_at_copies):
                    yield tree, self.caller.make(tree, rows)
                else:
                    yield tree, self._call(rows, answer)
        self._busy = False

    def _shares(self, jobs: list[Job]) -> list[list[Job]]:
        """The calls for this process, and then those for each helper; helpers are started for the first."""
        if not self._count or len(jobs) < WORTHWHILE or self._made < STARTED_AFTER:
            return [jobs]
        if not self._running:
            self._start()
        cuts = [len(jobs) * number // (self._count + 1) for number in range(self._count + 2)]
        return [jobs[first:last] for first, last in itertools.pairwise(cuts)]

    def _start(self) -> None:
        gc.freeze()  # what is there now is shared with the helpers, and would be copied by a collection
        with suppress(OSError):  # no more processes to be had
            while len(self._running) < self._count:
                self._running.append(Helper(self.caller, [helper.pipe for helper in self._running]))
        self._count = len(self._running)
        if not self._running:
            gc.unfreeze()

    def _call(self, rows: Sequence[Row], answer: Answer) -> Call:
        """What a helper answered, in the search's numbers."""
        numbers = list(itertools.chain(*rows))
        reads, domains = {slot: numbers[slot] for slot in answer.reads}, self.caller.layout.domains
        if isinstance(answer.gave, bool):
            return Call(reads, answer.copied, answer.gave)
        steps = [{slot: domains[slot].number(_same(value)) for slot, value in step} for step in answer.gave]
        return Call(reads, answer.copied, steps)

    def end(self) -> None:
        """Let all of them go, and start none again."""
        for helper in self._running:
            helper.end()
        if self._running:
            gc.unfreeze()
        self._running, self._count, self._busy = [], 0, False


def _same(value: Any) -> Any:
    """A value from another process, so that ``is`` finds it as before: as None and enum members are, so are names."""
    return sys.intern(value) if type(value) is str else value


def _serve(pipe: Connection, others: Sequence[Connection], caller: Caller[Any]) -> None:
    """Answer requests until the search has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the search sees to it
    for other in others:
        other.close()  # so that the pipe ends with the search
    domains = caller.layout.domains
    numbers = [list(range(len(domain.values))) for domain in domains]
    try:
        while True:
            request: Request = pipe.recv()
            for slot, values in request.values:
                numbers[slot] += [domains[slot].number(_same(value)) for value in values]
            for domain, copyable in zip(domains, request.copyable, strict=True):
                domain.copyable = copyable
            pipe.send(list(_answers(caller, request, numbers)))
    finally:
        os._exit(0)  # with nothing of what the search does at its end


def _answers(caller: Caller[Any], request: Request, numbers: list[list[int]]) -> Iterator[Answer | None]:
    """The answer to each call of a request.

    Parameters:
        numbers: for each slot, its values' numbers in this process, by those in the search.
    """
    domains = caller.layout.domains
    last: tuple[Row, Row] = ((), ())
    for tree, rows in request.jobs:
        if last[0] is not rows[0]:  # what follows one another is often of one state
            last = rows[0], [own[number] for own, number in zip(numbers, rows[0], strict=True)]
        after = [[own[number] for own, number in zip(numbers, row, strict=True)] for row in rows[1:]]
        call = _made(caller, request, tree, (last[1], *after))
        if call is None:
            yield None
        elif isinstance(call.gave, bool):
            yield Answer(list(call.reads), call.copied, call.gave)
        else:
            steps = [[(slot, domains[slot].values[number]) for slot, number in step.items()] for step in call.gave]
            yield Answer(list(call.reads), call.copied, steps)


def _made(caller: Caller[Any], request: Request, tree: int, rows: tuple[Row, ...]) -> Call | None:
    """A call, made as the search would make it; None if it would learn more than what the call gave."""
    caller.looks_at_copies = set(request.looks_at_copies)
    try:
        call = caller.make(tree, rows)
    except BaseException:
        return None
    return call if caller.looks_at_copies == request.looks_at_copies else None
