"""Chooses between two ways of searching: with transition tables, or with direct calls as in the oracle.

Transition tables are faster in large state spaces, where the result of one call can be used for many similar states.
They require the compiler, which takes some time to load. A search therefore begins with direct calls, and continues
with them if the first levels show that the state space is small, or if few results can be reused, for example because a
state is a single value that never recurs; see `recurrence`. Otherwise, the search with direct calls pauses, and a
search with transition tables begins. If the second search makes too many calls, if a state takes more CPU time than
with direct calls (see `pace`), or if there are many levels with few states, it is abandoned, and the search with direct
calls continues where it paused.

The choice is based on counts and CPU times. Therefore it does not depend on the load of the machine.
"""

from __future__ import annotations

import contextlib
import logging
import math
import time
from collections.abc import Sequence
from typing import Generic, TypeVar

import attrs

from leadline.checker.engines import oracle
from leadline.checker.engines.budget import Budget
from leadline.checker.engines.compiled.direct import DirectSearch, search_class
from leadline.checker.engines.compiled.forecast import Forecast, SlowerThanCalling, expected_states, is_narrow
from leadline.checker.engines.evidence import nothing_searched
from leadline.checker.engines.oracle import OracleSearch
from leadline.checker.engines.progress import Progress
from leadline.checker.engines.run import within
from leadline.checker.errors import LeadlineError, SpecError
from leadline.checker.result import Limits, Result, Statistics
from leadline.checker.settings import CompiledSettings, Tuning
from leadline.checker.spec import Spec

S = TypeVar("S")

EARLY_SECONDS, EARLY = 0.25, 3
"""In the first `EARLY_SECONDS` of CPU time, forecasts are less reliable. A state space then counts as large only if
direct calls will probably take more than `EARLY` times `Tuning.small_seconds`."""

FEW_LEVELS, CERTAIN = 6, 100
"""A forecast from fewer than `FEW_LEVELS` levels can be wrong by a factor of ten or more. Until direct calls have taken
`Tuning.small_seconds`, a state space with so few levels counts as large only if they will probably take more than
`CERTAIN` times `Tuning.small_seconds`."""

LEFT_LATER = 10
"""The factor by which `is_narrow` multiplies the rate of direct calls after `Tuning.small_seconds`. It makes the search
less likely to stop direct calls late, which would waste the work already done."""

ENDING, ENDING_AFTER_PEAK, LATEST = 0.1, 1.0, 2
"""Direct calls also continue if the rest of the state space takes less than `ENDING` times `Tuning.small_seconds`. A
forecast can say this for ever, because each level is a little larger than expected. Therefore it is ignored after
`LATEST` times `Tuning.small_seconds`. If levels have begun to shrink, forecasts are reliable, and the rest may take
`ENDING_AFTER_PEAK` times `Tuning.small_seconds`: loading the compiled loops and learning again would take longer."""

AGAIN = 2
"""The factor by which the number of states must grow before the fraction of new calls is estimated again."""

_log = logging.getLogger("leadline")


def explore(
    spec: Spec[S],
    limits: Limits | None = None,
    progress: Progress | None = None,
    settings: CompiledSettings | None = None,
) -> Result:
    """Search a spec's states breadth-first, with learned transition tables if they are expected to save time.

    A search with a checkpoint always uses transition tables, and so does a search with `Tuning.in_order`, because
    direct calls do not sort the next states.

    Parameters:
        spec, limits, progress, settings: see `leadline.checker.engines.compiled.search.explore`.

    Returns:
        The same result as `leadline.checker.engines.oracle.explore`, except for the time and memory used.

    Raises:
        SpecError, LeadlineError: see `leadline.checker.engines.compiled.search.explore`.
    """
    limits, settings = limits or Limits(), settings or CompiledSettings()
    if limits.coverage and settings.resume is not None:
        raise SpecError("coverage cannot be collected for a resumed search: leave out coverage or resume")
    began, paused = time.monotonic(), None
    learns = settings.checkpoint is not None or settings.resume is not None or settings.tuning.in_order
    if settings.tuning.look_seconds and not learns:
        first = _first(spec, limits, progress, settings.tuning)
        if isinstance(first, Result):
            return _of_this_engine(first, settings)
        paused = first
    spent, forecast = time.monotonic() - began, None if paused is None else paused.forecast

    try:
        from leadline.checker.engines.compiled import search
        from leadline.checker.engines.learning import tables as tables  # these imports load the compiler
    except (ImportError, OSError, MemoryError) as error:  # for example, because of `ulimit -v`
        if settings.checkpoint is not None or settings.resume is not None:
            raise LeadlineError(f"checkpoints require Numba, which cannot be loaded: {error}") from error
        _log.warning("Numba cannot be loaded, so the search is not compiled and may be slower: %s", error)
        if paused is not None:
            return _of_this_engine(_continued(paused.search, progress), settings)
        return _of_this_engine(oracle.explore(spec, limits, progress, tuning=settings.tuning), settings)
    try:
        return _of_this_engine(search.explore(spec, limits, progress, settings, forecast, spent), settings)
    except SlowerThanCalling as given_up:
        now = given_up.statistics
    assert paused is not None  # without a forecast, a search is not given up
    result = _continued(paused.search, progress)
    statistics = result.statistics
    calls = tables.calls_by_oracle(
        spec, statistics.expanded, statistics.distinct + statistics.outside, statistics.successors
    )
    statistics.calls = now.calls
    statistics.learning = now.learning and attrs.evolve(now.learning, called=calls, by_oracle=calls, memory=0)
    return _of_this_engine(result, settings)


@attrs.frozen
class _Paused(Generic[S]):
    """A search with direct calls that has been paused.

    Attributes:
        search: the search.
        forecast: a forecast that is based on the speed at which direct calls expanded the first states.
    """

    search: OracleSearch[S]
    forecast: Forecast


def _continued(search: OracleSearch[S], progress: Progress | None) -> Result:
    """Continue a search with direct calls to its end."""
    search.look, search.progress = None, progress
    return within(search.budget, search.spec, "oracle", search.run)


class _Large(Exception):
    """Raised when transition tables are expected to be faster than direct calls.

    Attributes:
        forecast: a forecast that is based on the speed at which direct calls expanded the first states.
    """

    def __init__(self, forecast: Forecast) -> None:
        self.forecast = forecast
        super().__init__(forecast)


def _first(spec: Spec[S], limits: Limits, progress: Progress | None, tuning: Tuning) -> Result | _Paused[S]:
    """Search a spec with direct calls. Return the result, or the paused search if transition tables are expected to be
    faster.
    """
    budget = Budget(limits, tuning=tuning)
    initials = within(budget, spec, "oracle", spec.initials)
    if isinstance(initials, Result):
        return initials
    if budget.swallowed:  # the spec caught an interrupt, so the states may be wrong
        return nothing_searched(spec, "oracle", budget.swallowed)
    look = _Look[S](progress, tuning)
    search = search_class(limits)(spec, limits, budget=budget, look=look, tuning=tuning)
    try:
        if len(initials) > tuning.sample and limits.depth != 1:  # a search with depth 1 expands no state
            sample = initials[: tuning.sample]
            begins = attrs.evolve(spec, initial_states=lambda _: sample)
            first_levels = attrs.evolve(limits, depth=2, coverage=False)
            with contextlib.suppress(SpecError):  # the error may be about the sample alone; else it is raised again
                of_sample = DirectSearch(begins, first_levels, look=look, tuning=tuning)
                result = within(of_sample.budget, begins, "oracle", of_sample.run)
                if result.interrupted:
                    return attrs.evolve(result, spec=spec)
                # twice the limit, because the first states take longer than others
                if look.seconds / tuning.sample * len(initials) > 2 * tuning.small_seconds:
                    look.choose(of_sample)
        return within(budget, spec, "oracle", search.run)
    except _Large as large:
        return _Paused(search, large.forecast)


class _Look(Generic[S]):
    """Decides whether a search with direct calls should continue. The search calls this object regularly.

    Parameters:
        progress: a function that is called with the current statistics if the search takes a long time.
        tuning: internal settings, including the time of the first decision, and the CPU time below which a state space
            counts as small.
    """

    def __init__(self, progress: Progress | None, tuning: Tuning) -> None:
        self._progress, self._tuning, self._began = progress, tuning, time.thread_time()
        self._next = 0

    @property
    def seconds(self) -> float:
        """The number of CPU seconds since the first state was expanded."""
        return time.thread_time() - self._began

    def __call__(self, search: OracleSearch[S]) -> None:
        """Decide whether the search with direct calls should continue.

        Raises:
            _Large: if the state space is probably large, and transition tables are expected to be faster.
        """
        statistics = search.statistics
        if not statistics.expanded:
            self._began = time.thread_time()
        elif self.seconds >= self._tuning.look_seconds:
            if not _is_small(statistics, self.seconds, self._tuning):
                self.choose(search)
            # a shorter search does not report its progress
            if self.seconds > self._tuning.small_seconds and self._progress is not None:
                self._progress(statistics)

    def choose(self, search: OracleSearch[S]) -> None:
        """Decide whether a large state space should be searched with direct calls.

        Raises:
            _Large: if transition tables are expected to be faster.
        """
        expanded, began = search.statistics.expanded, time.thread_time()
        if expanded < self._next:
            return
        forecast = Forecast(expanded / max(self.seconds, 1e-3), self._tuning)
        if _learning_pays(search.spec, [*search.arrivals][:expanded], self._tuning):
            raise _Large(forecast)
        self._next = AGAIN * expanded
        self._began += time.thread_time() - began


def _learning_pays(spec: Spec[S], states: Sequence[S], tuning: Tuning) -> bool:
    """Estimate from the states found so far whether enough results can be reused."""
    try:
        from leadline.checker.engines.compiled import recurrence  # it loads NumPy, which direct calls do not need
    except (ImportError, OSError, MemoryError):
        return True
    return recurrence.learning_pays(spec, states, tuning)


def _is_small(statistics: Statistics, seconds: float, tuning: Tuning) -> bool:
    """Return whether direct calls will probably be faster than transition tables.

    Parameters:
        statistics: the current statistics of the search.
        seconds: the number of CPU seconds since the first state was expanded.
        tuning: internal settings, including the CPU time below which a state space counts as small.
    """
    rate = statistics.expanded / seconds
    if is_narrow(statistics, rate if seconds < tuning.small_seconds else LEFT_LATER * rate, tuning):
        return True
    states, small = expected_states(statistics), tuning.small_seconds * rate
    is_vague = statistics.depth < FEW_LEVELS
    if seconds < EARLY_SECONDS:
        return is_vague or states == math.inf or states <= EARLY * small
    if is_vague and seconds < tuning.small_seconds:
        return states == math.inf or states <= CERTAIN * small
    known = statistics.levels[: statistics.depth]
    ending = ENDING_AFTER_PEAK if known and known[-1] < max(known) else ENDING
    is_ending = seconds < LATEST * tuning.small_seconds and states - statistics.expanded <= ending * small
    return states <= small or is_ending


def _of_this_engine(result: Result, settings: CompiledSettings) -> Result:
    workers = settings.workers
    return attrs.evolve(result, engine="compiled", settings={} if workers is None else {"workers": workers})
