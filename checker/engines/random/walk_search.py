"""Random search until all walks have ended, every property is violated, or a limit is reached."""

from __future__ import annotations

import time
from typing import TypeVar

from leadline.checker.engines.budget import Budget
from leadline.checker.engines.learning.warm_up import compiled_ahead
from leadline.checker.engines.learning.watch import Watch
from leadline.checker.engines.learning.workers import Workers, usable_cores
from leadline.checker.engines.progress import PROGRESS_SECONDS, Progress
from leadline.checker.engines.purity import Purity
from leadline.checker.engines.random import kernel as kernel
from leadline.checker.engines.random.walkers import Walks
from leadline.checker.engines.run import attempt, conclude
from leadline.checker.observing.lazy import make_ordinary
from leadline.checker.properties import Property
from leadline.checker.result import Limits, Statistics, Stop
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace

S = TypeVar("S")

Sampling = tuple[Statistics, dict[Property, Trace[S]], Stop | None]
"""What a random search returns; see `search_at_random`."""


def search_at_random(
    spec: Spec[S],
    walks: int,
    steps: int,
    seed: int,
    limits: Limits,
    progress: Progress | None = None,
    *,
    workers: int | None = None,
    uniform: bool = False,
    coverage: bool = False,
) -> Sampling[S]:
    """Search behaviours of a spec at random.

    Parameters:
        spec, walks, steps, seed, uniform: see `Walks`.
        limits: the limits on time and memory count here, and `Limits.keep_going`: walk on when every property is
            violated.
        progress: called every so often with the counts so far.
        workers: the number of threads; by default one for each core.
        coverage: whether `Statistics.covered` is wanted.

    Returns:
        The counts; for each property that was shown violated (a witness: satisfied), the walk that showed it; and why
        the search ended early, None if all walks were made or every property is violated.

    Raises:
        SpecError: the spec misbehaved.
        LimitReached: before anything was searched.
    """
    compiled_ahead(_walk_once, kernel.walk)
    threads = Workers(workers or usable_cores())
    budget = Budget(limits, lambda: threads.processes)
    purity = Purity(spec, with_distance=spec.distance is not None and not uniform)
    breakable = [item for item in spec.checks if not item.kind.is_witness]
    try:
        with budget.enforced():
            search = Walks(spec, walks, steps, seed, Watch(budget, threads), purity, uniform=uniform, coverage=coverage)
            decided = bool(breakable) and not limits.keep_going

            def walk() -> None:
                reported_at = 0.0
                while search.round() and not (decided and all(item in search.traces for item in breakable)):
                    if progress is not None and time.monotonic() - reported_at > PROGRESS_SECONDS:
                        progress(search.statistics)
                        reported_at = time.monotonic()

            stop = attempt(budget, walk)
            if stop:
                attempt(budget, search.collect)  # what was shown since all walkers met
            stop = attempt(budget, purity.check_again) or stop
            stop = conclude(budget, stop)
    finally:
        threads.close()
        make_ordinary()
    statistics = search.statistics
    statistics.covered = search.covered
    if progress is not None and stop is None:
        progress(statistics)
    return statistics, search.traces, stop


def _walk_once(spec: Spec[S]) -> None:
    """Walk a small spec in this thread."""
    limits, threads = Limits(), Workers(1)
    try:
        search = Walks(spec, 2, 3, 0, Watch(Budget(limits), threads), Purity(spec))
        while search.round():
            pass
    finally:
        threads.close()
        make_ordinary()
