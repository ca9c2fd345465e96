"""Random search of a spec's behaviours, for state spaces that are too large to exhaust.

Behaviours are walked by the compiled engine. What violates a property is then shortened: steps are left out, and
bounded exhaustive searches look for a shorter counterexample, from the initial states and from the states along it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

from leadline.checker.engines.budget import LimitReached
from leadline.checker.engines.evidence import nothing_searched, premise_shown
from leadline.checker.engines.progress import Progress
from leadline.checker.errors import SpecError
from leadline.checker.observing.line_coverage import with_source
from leadline.checker.result import Limits, PropertyResult, Result, Stop, StopKind, judge
from leadline.checker.settings import RandomSettings
from leadline.checker.spec import Spec

if TYPE_CHECKING:
    from leadline.checker.engines.random.walk_search import Sampling

MOST_STEPS = 1_000_000
"""The most steps that a behaviour can be allowed."""

MOST_EXAMPLES = 10**15
"""The most behaviours that can be asked for: more than any run has time for."""


def fuzz(
    spec: Spec[Any],
    *,
    examples: int = RandomSettings().examples,
    steps: int = RandomSettings().steps,
    seed_value: int = 0,
    progress: Progress | None = None,
    max_seconds: float | None = None,
    keep_going: bool = False,
    workers: int | None = None,
    uniform: bool = False,
    coverage: bool = False,
) -> Result:
    """Search a spec's behaviours at random, and shorten what violates a property.

    After a violation the search continues for the other properties, unless all are violated.

    Parameters:
        spec: what to search.
        examples: the number of behaviours.
        steps: the most steps in a behaviour.
        seed_value: the same seed searches the same behaviours, whatever the number of workers.
        progress: called every so often with the counts so far; then with what is being shortened.
        max_seconds: seconds of the search and the shortening together; None: no limit. See `LEAST_SECONDS` in
            `leadline.checker.engines.random.shorten`.
        keep_going: continue until all behaviours are searched, even if every property is violated.
        workers: the number of threads; by default one for each core.
        uniform: only walk from initial states, and check only the steps taken. By default, most steps expand states in
            random order; see `leadline.checker.engines.random.frontier`.
        coverage: whether `Statistics.covered` is wanted. Then there is one thread.

    Returns:
        The result: violated, with shortened traces, or incomplete, since a sample proves nothing. Its counts are those
        of the search, `Statistics.walked` among them; ``depth`` is of the longest behaviour, or of the deepest state
        that was expanded.

    Raises:
        SpecError: the spec misbehaved: an action or a property raised, or gave two different answers.
    """
    for name, value in (("examples", examples), ("steps", steps)):
        if value <= 0:
            raise SpecError(f"limit {name}={value} is out of range: it must be more than 0")
    for name, value, most in (("examples", examples, MOST_EXAMPLES), ("steps", steps, MOST_STEPS)):
        if value > most:
            raise SpecError(f"limit {name}={value} is out of range: it must be at most {most:,}")
    from leadline.checker.engines.random.walk_search import search_at_random  # importing the compiler takes a second

    settings: dict[str, Any] = {"examples": examples, "steps": steps, "seed": seed_value}
    settings |= {"uniform": True} if uniform else {}
    workers = 1 if coverage else workers  # calls that other processes make would not count
    search = functools.partial(
        search_at_random,
        walks=examples,
        steps=steps,
        seed=seed_value,
        limits=Limits(max_seconds=max_seconds, keep_going=keep_going),
        progress=progress,
        workers=workers,
        uniform=uniform,
        coverage=coverage,
    )
    walk = functools.partial(_result, search=search, settings=settings)
    result = with_source(spec, walk) if coverage else walk(spec)
    if not any(item.traces for item in result.properties):
        return result
    from leadline.checker.engines.random.shorten import shortened  # importing Hypothesis takes a tenth of a second

    return shortened(result, max_seconds, workers, progress)


def _result(spec: Spec[Any], search: Callable[[Spec[Any]], Sampling[Any]], settings: dict[str, Any]) -> Result:
    """The result of a random search, with the counterexamples that it met.

    Parameters:
        spec: what to search.
        search: `search_at_random` with all its other arguments.
        settings: those of the run.
    """
    try:
        statistics, traces, stop = search(spec)
    except LimitReached as limit:  # before there was anything to report
        return attrs.evolve(nothing_searched(spec, "fuzz", limit.stop), settings=settings)
    begun = statistics.walked.behaviours if statistics.walked else 0
    most = settings["steps"]
    sample = Stop(StopKind.SAMPLE, f"{begun:,} random behaviours of at most {most} steps are only a sample")
    return Result(
        spec=spec,
        engine="fuzz",
        stop=stop or sample,
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
        settings=settings,
    )
