"""Calling: when to call a spec's functions on states, as the oracle does, instead of learning from calls of them.

To learn pays in large spaces of which much is alike. A small space is explored before anything is learned, or compiled.
In a large one, learning is given up where it turns out slower than calling: where nearly every call is a new one, as
when a state is one value that is never met again, or where the space is a long chain of levels of a few states each.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import attrs

from checker import oracle
from checker.budget import Budget
from checker.progress import Progress
from checker.result import FIRST_VIOLATION, Limits, Result, Statistics, StopKind
from checker.settings import CompiledSettings
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
    settings: CompiledSettings | None = None,
) -> Result:
    """Search a spec's states breadth-first, by learned transition tables where that pays.

    With a checkpoint, it is taken to pay.

    Parameters:
        spec, limits, progress, settings: see `checker.compiled.search.explore`.

    Returns:
        The result: but for the time and the memory it takes, what `checker.oracle.explore` returns.

    Raises:
        SpecError, LeadlineError: see `checker.compiled.search.explore`.
    """
    limits, settings = limits or Limits(), settings or CompiledSettings()
    began, outlook = time.monotonic(), None
    if FEW and settings.checkpoint is None and settings.resume is None:
        first = _first(spec, limits)
        if isinstance(first, Result):
            return _of_this_engine(first, settings)
        outlook = first
    spent = time.monotonic() - began

    from checker.compiled import search, tables  # which load the compiler

    try:
        return search.explore(spec, limits, progress, settings, outlook, spent)
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
    return _of_this_engine(result, settings)


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
    is_cut_short = result.stop is not None and (
        (result.stop.kind is StopKind.STATES and most.max_states != limits.max_states)
        or (result.stop.kind is StopKind.TIME and most.max_seconds != limits.max_seconds)
    )
    if is_cut_short or (begins is not spec and result.stop in (None, FIRST_VIOLATION)):
        return Outlook(result.statistics.expanded / max(result.statistics.seconds, 1e-3))
    return attrs.evolve(result, spec=spec)


def _of_this_engine(result: Result, settings: CompiledSettings) -> Result:
    workers = settings.workers
    return attrs.evolve(result, engine="compiled", settings={} if workers is None else {"workers": workers})
