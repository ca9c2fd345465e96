"""Random search, for state spaces that are too large to search exhaustively.

First, `leadline.checker.engines.random.walkers` takes random walks and expands states in random order. Then
`leadline.checker.engines.random.shorten` shortens the counterexamples: it leaves out steps, and runs exhaustive
searches for shorter counterexamples, from the initial states and from the states along each counterexample.
"""

from __future__ import annotations

import functools
import logging
import time
from typing import TypeVar

import attrs
import numpy as np

from leadline.checker.engines.budget import Budget
from leadline.checker.engines.compiled import kernel
from leadline.checker.engines.evidence import premise_shown
from leadline.checker.engines.learning.warm_up import compiled_ahead
from leadline.checker.engines.learning.watch import Watch
from leadline.checker.engines.learning.workers import Workers, usable_cores
from leadline.checker.engines.progress import Progress, is_due
from leadline.checker.engines.purity import Purity
from leadline.checker.engines.random.shorten import shortened
from leadline.checker.engines.random.walkers import Walks
from leadline.checker.engines.run import attempt, conclude, within
from leadline.checker.errors import SpecError
from leadline.checker.liveness.refusal import refuse_liveness
from leadline.checker.observing.lazy import make_ordinary
from leadline.checker.observing.line_coverage import with_source
from leadline.checker.properties import Property
from leadline.checker.result import Limits, PropertyResult, Result, Stop, StopKind, judge
from leadline.checker.settings import RandomSettings
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted

S = TypeVar("S")

_log = logging.getLogger("leadline")


def fuzz(
    spec: Spec[S],
    limits: Limits | None = None,
    progress: Progress | None = None,
    settings: RandomSettings | None = None,
) -> Result:
    """Run a random search of a spec, and shorten the counterexamples that it finds.

    The search ends when all random walks have ended, or when every property that is not a witness is violated. A random
    search cannot show that a witness is violated.

    Parameters:
        limits: the limits of the search, by default `Limits()`. ``max_seconds`` applies to the search and the
            shortening together (see `leadline.checker.engines.random.shorten`). If ``keep_going`` is set, the search
            continues even if every property is violated. If ``coverage`` is set, the search uses only one thread.
            ``depth``, ``max_states`` and ``traces`` are not supported.
        progress: a function that is called regularly with the current statistics. While counterexamples are being
            shortened, `Statistics.activity` describes the current work.
        settings: the settings of random search, such as the number of behaviours and the seed.

    Returns:
        The result. The verdict on an invariant without a violation is ``INCOMPLETE``, because a random sample cannot
        prove that the invariant holds. The statistics describe the search and not the shortening. They include
        `Statistics.walked`. `Statistics.depth` is the length of the longest behaviour or the depth of the deepest
        expanded state, whichever is greater.

    Raises:
        SpecError: if an action or a property raised an exception or is not a pure function, or a limit is not
            supported.
    """
    limits, settings = limits or Limits(), settings or RandomSettings()
    _check_limits(limits)
    if limits.coverage:
        settings = attrs.evolve(settings, workers=1)  # calls in other processes would not be counted
        result = with_source(spec, lambda fresh: _searched(fresh, limits, progress, settings))
    else:
        result = _searched(spec, limits, progress, settings)
    if not any(item.traces for item in result.properties):
        return result
    return shortened(result, limits, progress, settings.workers)


def _check_limits(limits: Limits) -> None:
    """Raise `SpecError` if a limit is set that random search does not support."""
    if limits.depth is not None:
        raise SpecError(f"random search does not support the limit depth={limits.depth}: set RandomSettings.steps")
    if limits.max_states is not None:
        raise SpecError(
            f"random search does not support the limit max_states={limits.max_states}: set RandomSettings.examples"
        )
    if limits.traces != 1:
        raise SpecError(f"random search finds only one trace for each property: leave out traces={limits.traces}")


def _searched(spec: Spec[S], limits: Limits, progress: Progress | None, settings: RandomSettings) -> Result:
    """Run the search, and return its result. The counterexamples have not been shortened yet."""
    compiled_ahead(_walk_once, kernel.expand)
    refuse_liveness(spec, "a random search", "leave them out with --safety, or use `leadline explore`")
    workers = Workers(settings.workers or usable_cores())
    budget = Budget(limits, lambda: workers.processes)
    search = functools.partial(_walked, spec, limits, progress, settings, budget, workers)
    try:
        return attrs.evolve(within(budget, spec, "random", search), settings=settings.shown)
    finally:
        workers.close()
        make_ordinary()


def _walked(
    spec: Spec[S],
    limits: Limits,
    progress: Progress | None,
    settings: RandomSettings,
    budget: Budget,
    workers: Workers,
) -> Result:
    """Search until all walks have ended, every property that is not a witness is violated, or a limit is reached."""
    purity = Purity(spec, settings.tuning, with_distance=spec.distance is not None and not settings.uniform)
    walks = Walks(
        spec, settings.examples, settings.steps, settings.seed, Watch(budget, workers), purity,
        uniform=settings.uniform, coverage=limits.coverage, tuning=settings.tuning_used,
    )  # fmt: skip
    sought = [item for item in spec.checks if not item.kind.is_witness]
    can_be_decided, told = bool(sought) and not limits.keep_going, set[Property]()

    def tell() -> None:  # at once, since the rest of the search and the shortening may take minutes
        for item in [each for each in sought if each in walks.traces and each not in told]:
            told.add(item)
            length = counted(len(walks.traces[item]), "state")
            _log.info(visible(f"{spec.name}: {item.name} is violated; its trace of {length} is shortened later"))

    def walk() -> None:
        reported_at = 0.0
        while walks.round() and not (can_be_decided and all(item in walks.traces for item in sought)):
            if progress is not None and is_due(time.monotonic() - reported_at):
                progress(walks.statistics)
                reported_at = time.monotonic()
            tell()
        tell()

    stop = attempt(budget, walk)
    stop = attempt(budget, purity.check_again) or stop
    result = _result(walks, conclude(budget, stop), settings.steps)
    if progress is not None and stop is None:
        progress(result.statistics)
    return result


def _result(walks: Walks[S], stop: Stop | None, most_steps: int) -> Result:
    """Return the result of a search that has ended.

    Parameters:
        stop: the reason why the search ended early, or None if all walks were completed.
        most_steps: the maximum number of steps in a walk.
    """
    spec, traces, statistics = walks.spec, walks.traces, walks.statistics
    statistics.covered = walks.covered
    sample = f"{walks.begun:,} random behaviours of at most {most_steps} steps are only a sample"
    return Result(
        spec=spec,
        engine="random",
        stop=stop or Stop(StopKind.SAMPLE, sample),
        statistics=statistics,
        properties=tuple(
            PropertyResult(
                item,
                judge(item, item in traces, exhausted=False),
                (traces[item],) if item in traces else (),
                premise_shown(spec, item, traces),
            )
            for item in spec.checks
        ),
    )


def _walk_once(spec: Spec[S]) -> None:
    """Run a short random search of a spec in the current thread, so that Numba compiles the loops."""
    workers = Workers(1)
    try:
        for count in (1, 2):  # a single walk has a loop of its own
            walks = Walks(spec, count, 3, 0, Watch(Budget(Limits()), workers), Purity(spec))
            while walks.round():
                pass
        walks.expander.leaves(np.zeros(1, np.int64), 0, 1)  # used only for calls that are not learned
    finally:
        workers.close()
        make_ordinary()
