"""Calling: when to call a spec's functions on states, as the oracle does, instead of learning from calls of them.

To learn pays in large spaces of which much is alike. A small space is explored before anything is learned, or compiled.
In a large one, learning is given up where it turns out slower than calling: where nearly every call is a new one, as
when a state is one value that is never met again, or where the space is a long chain of levels of a few states each.
"""

from __future__ import annotations

import gc
import logging
import time
from typing import TypeVar

import attrs

from checker.engines import oracle
from checker.engines.budget import Budget
from checker.engines.compiled.outlook import GivenUp, Outlook
from checker.engines.progress import Progress
from checker.result import FIRST_VIOLATION, Limits, Result, StopKind
from checker.settings import CompiledSettings
from checker.spec import Spec

S = TypeVar("S")

FEW, FEW_SECONDS = 1_000, 0.25
"""States, and seconds, up to which a space is explored by calls alone."""

_log = logging.getLogger("leadline")


def explore(
    spec: Spec[S],
    limits: Limits | None = None,
    progress: Progress | None = None,
    settings: CompiledSettings | None = None,
) -> Result:
    """Search a spec's states breadth-first, by learned transition tables where that pays.

    With a checkpoint, it is taken to pay.

    Parameters:
        spec, limits, progress, settings: see `checker.engines.compiled.search.explore`.

    Returns:
        The result: but for the time and the memory it takes, what `checker.engines.oracle.explore` returns.

    Raises:
        SpecError, LeadlineError: see `checker.engines.compiled.search.explore`.
    """
    limits, settings = limits or Limits(), settings or CompiledSettings()
    began, outlook = time.monotonic(), None
    if FEW and settings.checkpoint is None and settings.resume is None:
        first = _first(spec, limits)
        if isinstance(first, Result):
            return _of_this_engine(first, settings)
        outlook = first
    spent = time.monotonic() - began

    try:
        from checker.engines.compiled import search
        from checker.engines.compiled.learn import learned as tables  # which load the compiler
    except (ImportError, OSError, MemoryError) as error:  # as where `ulimit -v` leaves no room for it
        _log.warning("the compiler cannot be loaded, so states are explored by direct calls: %s", error)
        return _of_this_engine(_by_calls(spec, limits, progress, spent), settings)
    try:
        return _of_this_engine(search.explore(spec, limits, progress, settings, outlook, spent), settings)
    except GivenUp as given_up:
        now = given_up.statistics
    result = _by_calls(spec, limits, progress, now.seconds)
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
    if is_cut_short:
        gc.collect()  # what an interrupted call had made is held by the frames of the interrupt
    if is_cut_short or (begins is not spec and result.stop in (None, FIRST_VIOLATION)):
        return Outlook(result.statistics.expanded / max(result.statistics.seconds, 1e-3))
    return attrs.evolve(result, spec=spec)


def _by_calls(spec: Spec[S], limits: Limits, progress: Progress | None, spent: float) -> Result:
    return oracle.explore(spec, limits, progress, Budget(limits, spent=spent))


def _of_this_engine(result: Result, settings: CompiledSettings) -> Result:
    workers = settings.workers
    return attrs.evolve(result, engine="compiled", settings={} if workers is None else {"workers": workers})
