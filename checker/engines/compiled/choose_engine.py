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
from leadline.checker.errors import LeadlineError
from leadline.checker.result import Limits, Result, Statistics
from leadline.checker.settings import CompiledSettings
from leadline.checker.spec import Spec

S = TypeVar("S")

LOOK_SECONDS = 0.12
"""CPU seconds of calls before the size of the space is forecast; 0: the search begins with learning."""

SMALL_SECONDS = 2.0
"""CPU seconds. A space is small if calls will probably explore all of it in this time."""

EARLY_SECONDS, EARLY = 0.25, 3
"""CPU seconds before which a space is large only if calls will probably take this many times `SMALL_SECONDS`: little is
known of it."""

LEFT_LATER = 10
"""Factor on what counts as narrow after `SMALL_SECONDS`: a search by calls that is left so late has lost much work."""

SAMPLE = 2_000
"""Initial states. If there are more, calls on this many show first how long they take."""

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
    began, forecast = time.monotonic(), None
    learns = settings.checkpoint is not None or settings.resume is not None or settings.tuning.in_order
    if LOOK_SECONDS and not learns:
        first = _first(spec, limits, progress)
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

    def __init__(self, statistics: Statistics) -> None:
        self.forecast = _forecast(statistics)
        super().__init__(self.forecast)


def _forecast(statistics: Statistics) -> Forecast:
    return Forecast(statistics.expanded / max(statistics.seconds, 1e-3))


def _first(spec: Spec[S], limits: Limits, progress: Progress | None) -> Result | Forecast:
    """The result of a small search; of a larger one, how fast its first states are expanded by calling."""
    before = Budget(limits)
    initials = within(before, spec, "oracle", spec.initials)
    if isinstance(initials, Result):
        return initials
    if before.swallowed:  # they may not be what the spec says
        return nothing_searched(spec, "oracle", before.swallowed)
    began, look = time.monotonic(), _Look(progress)
    try:
        if len(initials) > SAMPLE and limits.depth != 1:  # with 1, none of them is to be expanded
            begins = attrs.evolve(spec, initial_states=lambda _: initials[:SAMPLE])
            result = oracle.explore(begins, attrs.evolve(limits, depth=2, coverage=False), look=look)
            if result.interrupted:
                return attrs.evolve(result, spec=spec)
            if look.seconds / SAMPLE * len(initials) > 2 * SMALL_SECONDS:  # the first states take longer than others
                return _forecast(result.statistics)
        budget = Budget(limits, spent=time.monotonic() - began)
        return oracle.explore(spec, limits, budget=budget, look=look)
    except _Large as large:
        return large.forecast


class _Look:
    """Decides now and then whether a search by calls goes on.

    Parameters:
        progress: called with the counts of a search that takes long.
    """

    def __init__(self, progress: Progress | None) -> None:
        self._progress, self._began = progress, time.thread_time()

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
        elif self.seconds >= LOOK_SECONDS:
            if not _is_small(statistics, self.seconds):
                raise _Large(statistics)
            if self.seconds > SMALL_SECONDS and self._progress is not None:  # before, nobody waits for it
                self._progress(statistics)


def _is_small(statistics: Statistics, seconds: float) -> bool:
    """Whether a search by calls will probably be over soon, or calling is the better way for another reason.

    Parameters:
        statistics: its counts so far.
        seconds: CPU seconds since the first of them was expanded.
    """
    rate = statistics.expanded / seconds
    if is_narrow(statistics, rate if seconds < SMALL_SECONDS else LEFT_LATER * rate):
        return True
    states = expected_states(statistics)
    if seconds < EARLY_SECONDS:
        return states == math.inf or states <= EARLY * SMALL_SECONDS * rate
    return states <= SMALL_SECONDS * rate


def _by_calls(spec: Spec[S], limits: Limits, progress: Progress | None, spent: float) -> Result:
    return oracle.explore(spec, limits, progress, Budget(limits, spent=spent))


def _of_this_engine(result: Result, settings: CompiledSettings) -> Result:
    workers = settings.workers
    return attrs.evolve(result, engine="compiled", settings={} if workers is None else {"workers": workers})
