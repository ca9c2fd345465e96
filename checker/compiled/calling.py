"""Calling: when to call a spec's functions on states, as the oracle does, instead of learning from calls of them.

To learn pays in large spaces of which much is alike. A small space is explored before anything is learned, or compiled.
In a large one, learning is given up where it turns out slower than calling: where nearly every call is a new one, as
when a state is one value that is never met again, or where the space is a long chain of levels of a few states each.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import attrs

from checker import oracle
from checker.budget import Budget
from checker.names import counted
from checker.progress import Progress
from checker.result import FIRST_VIOLATION, Limits, Result, Statistics
from checker.spec import Spec

S = TypeVar("S")

FEW, FEW_SECONDS = 1_000, 0.25
"""States, and seconds, up to which a space is explored by calls alone."""

FIRST_LOOK, LAST_LOOK = 0.5, 4.0
"""Seconds of a search between which it may be given up. Later, more would be lost than won."""

BEHIND = 0.8
"""A search that expands fewer states than this share of those that calling would have is behind."""

NARROW = 20
"""States a level, on average, that are not worth a round of compiled loops."""

HOPELESS = 0.5
"""Calls, as a share of those of the oracle, from which on learning cannot be much faster than calling."""


class GivenUp(Exception):
    """Learning is slower than calling.

    Attributes:
        statistics: the counts so far.
    """

    def __init__(self, statistics: Statistics) -> None:
        self.statistics = statistics
        super().__init__(statistics)


@attrs.frozen
class Outlook:
    """Whether a search should be given up.

    Attributes:
        rate: states that calling expands in a second.
    """

    rate: float

    def check(self, seconds: float, statistics: Callable[[], Statistics]) -> None:
        """Look at a search between two of its blocks.

        Parameters:
            seconds: how long it has taken since it last began anew.
            statistics: gives its counts so far.

        Raises:
            GivenUp: it should be.
        """
        if not FIRST_LOOK <= seconds <= LAST_LOOK:
            return
        now = statistics()
        if not 0 < now.expanded < BEHIND * self.rate * seconds:
            return
        learning = now.learning
        if now.expanded < NARROW * now.depth or (learning is not None and learning.share > HOPELESS):
            raise GivenUp(now)


def explore(
    spec: Spec[S],
    limits: Limits | None = None,
    progress: Progress | None = None,
    *,
    workers: int | None = None,
    checkpoint: Path | None = None,
    resume: Path | str | None = None,
    **settings: Any,
) -> Result:
    """Search a spec's states breadth-first, by learned transition tables where that pays.

    With a checkpoint, it is taken to pay.

    Parameters:
        spec, limits, progress: see `checker.oracle.explore`.
        workers, checkpoint, resume, settings: see `checker.compiled.search.explore`.

    Returns:
        The result: but for the time and the memory it takes, what `checker.oracle.explore` returns.

    Raises:
        SpecError, LeadlineError: see `checker.compiled.search.explore`.
    """
    limits, began, outlook = limits or Limits(), time.monotonic(), None
    if FEW and checkpoint is None and resume is None:
        first = _first(spec, limits)
        if isinstance(first, Result):
            return _of_this_engine(first, workers)
        outlook = first
    spent = time.monotonic() - began

    from checker.compiled import search, tables  # which load the compiler

    try:
        return search.explore(
            spec, limits, progress, workers=workers, checkpoint=checkpoint, resume=resume, outlook=outlook, spent=spent,
            **settings,
        )  # fmt: skip
    except GivenUp as given_up:
        now = given_up.statistics
    budget = Budget(limits)
    budget.started -= now.seconds
    result = oracle.explore(spec, limits, progress, budget)
    statistics = result.statistics
    calls = tables.calls_by_oracle(
        spec, statistics.expanded, statistics.distinct + statistics.outside, statistics.successors
    )
    statistics.calls = now.calls
    statistics.learning = now.learning and attrs.evolve(now.learning, called=calls, by_oracle=calls, memory=0)
    return _of_this_engine(result, workers)


def _first(spec: Spec[S], limits: Limits) -> Result | Outlook:
    """The result of a small search; of a larger one, how fast its first states are expanded by calling."""
    initials = spec.initials()
    begins = spec
    if len(initials) > FEW // 2:  # these are enough to see how long calls take
        begins = attrs.evolve(spec, initial_states=lambda _: initials[: FEW // 2])
    most = attrs.evolve(
        limits,
        max_states=min(FEW, limits.max_states or FEW),
        max_seconds=min(FEW_SECONDS, limits.max_seconds or FEW_SECONDS),
    )
    result = oracle.explore(begins, most)
    go_on: list[str | None] = [f"reached {counted(FEW, 'state')}", f"reached {FEW_SECONDS:g} seconds"]
    if begins is not spec:
        go_on += [None, FIRST_VIOLATION]
    if result.reason not in go_on:
        return attrs.evolve(result, spec=spec)
    return Outlook(result.statistics.expanded / max(result.statistics.seconds, 1e-3))


def _of_this_engine(result: Result, workers: int | None) -> Result:
    return attrs.evolve(result, engine="compiled", settings={} if workers is None else {"workers": workers})
