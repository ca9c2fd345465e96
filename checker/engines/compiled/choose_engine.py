"""Calling: when to call a spec's functions on states, as the oracle does, instead of learning from calls of them.

To learn pays in large spaces of which much is alike, and needs the compiler, which takes some time to load. So a search
begins with calls, and ends with them if the space is small, or probably small as far as its first levels show. In a
large one, learning is given up where it turns out slower than calling: where nearly every call is a new one, as when a
state is one value that is never met again, or where the space is a long chain of levels of a few states each.
"""

from __future__ import annotations

import logging
import math
import time
from typing import TypeVar

import attrs

from leadline.checker.engines import oracle
from leadline.checker.engines.budget import Budget
from leadline.checker.engines.compiled.forecast import Forecast, SlowerThanCalling, expected_states, is_narrow
from leadline.checker.engines.evidence import nothing_searched
from leadline.checker.engines.progress import Progress
from leadline.checker.engines.run import within
from leadline.checker.errors import LeadlineError, SpecError
from leadline.checker.result import Limits, Result, Statistics
from leadline.checker.settings import CompiledSettings, Tuning
from leadline.checker.spec import Spec

S = TypeVar("S")

EARLY_SECONDS, EARLY = 0.25, 3
"""CPU seconds before which a space is large only if calls will probably take this many times
`Tuning.small_seconds`: little is known of it."""

LEFT_LATER = 10
"""Factor on what counts as narrow after `Tuning.small_seconds`: a search by calls that is left so late has
lost much work."""

_log = logging.getLogger("leadline")


def explore(
    spec: Spec[S],
    limits: Limits | None = None,
    progress: Progress | None = None,
    settings: CompiledSettings | None = None,
) -> Result:
    """Search a spec's states breadth-first, by learned transition tables where that pays.

    With a checkpoint, it is taken to pay; and with `Tuning.in_order`, as calls are made in another order.

    Parameters:
        spec, limits, progress, settings: see `leadline.checker.engines.compiled.search.explore`.

    Returns:
        The result: but for the time and the memory it takes, what `leadline.checker.engines.oracle.explore` returns.

    Raises:
        SpecError, LeadlineError: see `leadline.checker.engines.compiled.search.explore`.
    """
    limits, settings = limits or Limits(), settings or CompiledSettings()
    if limits.coverage and settings.resume is not None:
        raise SpecError("coverage needs the whole search: leave out resume")
    began, forecast = time.monotonic(), None
    learns = settings.checkpoint is not None or settings.resume is not None or settings.tuning.in_order
    if settings.tuning.look_seconds and not learns:
        first = _first(spec, limits, progress, settings.tuning)
        if isinstance(first, Result):
            return _of_this_engine(first, settings)
        forecast = first
    spent = time.monotonic() - began

    try:
        from leadline.checker.engines.compiled import search
        from leadline.checker.engines.learning import tables as tables  # which load the compiler
    except (ImportError, OSError, MemoryError) as error:  # as where `ulimit -v` leaves no room for it
        if settings.checkpoint is not None or settings.resume is not None:
            raise LeadlineError(f"checkpoints need the compiler, which cannot be loaded: {error}") from error
        _log.warning("the compiler cannot be loaded, so states are explored by direct calls: %s", error)
        return _of_this_engine(_by_calls(spec, limits, progress, spent), settings)
    try:
        return _of_this_engine(search.explore(spec, limits, progress, settings, forecast, spent), settings)
    except SlowerThanCalling as given_up:
        now = given_up.statistics
    result = _by_calls(spec, limits, progress, now.seconds)
    statistics = result.statistics
    calls = tables.calls_by_oracle(
        spec, statistics.expanded, statistics.distinct + statistics.outside, statistics.successors
    )
    statistics.calls = now.calls
    statistics.learning = now.learning and attrs.evolve(now.learning, called=calls, by_oracle=calls, memory=0)
    return _of_this_engine(result, settings)


class _Large(Exception):
    """The space is probably large.

    Attributes:
        forecast: how fast its first states were expanded.
    """

    def __init__(self, statistics: Statistics, tuning: Tuning) -> None:
        self.forecast = _forecast(statistics, tuning)
        super().__init__(self.forecast)


def _forecast(statistics: Statistics, tuning: Tuning) -> Forecast:
    return Forecast(statistics.expanded / max(statistics.seconds, 1e-3), tuning)


def _first(spec: Spec[S], limits: Limits, progress: Progress | None, tuning: Tuning) -> Result | Forecast:
    """The result of a small search; of a larger one, how fast its first states are expanded by calling."""
    before = Budget(limits)
    initials = within(before, spec, "oracle", spec.initials)
    if isinstance(initials, Result):
        return initials
    if before.swallowed:  # they may not be what the spec says
        return nothing_searched(spec, "oracle", before.swallowed)
    began, look = time.monotonic(), _Look(progress, tuning)
    try:
        if len(initials) > tuning.sample and limits.depth != 1:  # with 1, none of them is to be expanded
            begins = attrs.evolve(spec, initial_states=lambda _: initials[: tuning.sample])
            result = oracle.explore(begins, attrs.evolve(limits, depth=2, coverage=False), look=look)
            if result.interrupted:
                return attrs.evolve(result, spec=spec)
            # the first states take longer than others
            if look.seconds / tuning.sample * len(initials) > 2 * tuning.small_seconds:
                return _forecast(result.statistics, tuning)
        budget = Budget(limits, spent=time.monotonic() - began)
        return oracle.explore(spec, limits, budget=budget, look=look)
    except _Large as large:
        return large.forecast


class _Look:
    """Decides now and then whether a search by calls goes on.

    Parameters:
        progress: called with the counts of a search that takes long.
        tuning: when to decide, and what is small.
    """

    def __init__(self, progress: Progress | None, tuning: Tuning) -> None:
        self._progress, self._tuning, self._began = progress, tuning, time.thread_time()

    @property
    def seconds(self) -> float:
        """CPU seconds since the first state was expanded."""
        return time.thread_time() - self._began

    def __call__(self, statistics: Statistics) -> None:
        """Decide by its counts so far.

        Raises:
            _Large: the space is probably large.
        """
        if not statistics.expanded:
            self._began = time.thread_time()
        elif self.seconds >= self._tuning.look_seconds:
            if not _is_small(statistics, self.seconds, self._tuning):
                raise _Large(statistics, self._tuning)
            if self.seconds > self._tuning.small_seconds and self._progress is not None:  # before, nobody waits for it
                self._progress(statistics)


def _is_small(statistics: Statistics, seconds: float, tuning: Tuning) -> bool:
    """Whether a search by calls will probably be over soon, or calling is the better way for another reason.

    Parameters:
        statistics: its counts so far.
        seconds: CPU seconds since the first of them was expanded.
        tuning: what is small.
    """
    rate = statistics.expanded / seconds
    if is_narrow(statistics, rate if seconds < tuning.small_seconds else LEFT_LATER * rate, tuning):
        return True
    states = expected_states(statistics)
    if seconds < EARLY_SECONDS:
        return states == math.inf or states <= EARLY * tuning.small_seconds * rate
    return states <= tuning.small_seconds * rate


def _by_calls(spec: Spec[S], limits: Limits, progress: Progress | None, spent: float) -> Result:
    return oracle.explore(spec, limits, progress, Budget(limits, spent=spent))


def _of_this_engine(result: Result, settings: CompiledSettings) -> Result:
    workers = settings.workers
    return attrs.evolve(result, engine="compiled", settings={} if workers is None else {"workers": workers})
