"""Random search of a spec's behaviours, for state spaces that are too large to exhaust.

Behaviours are walked by the compiled engine. What violates a property is then shortened: steps are left out, and
bounded exhaustive searches look for a shorter counterexample, from the initial states and from the states along it.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

from checker.engines import ENGINES
from checker.engines.budget import Budget, LimitReached
from checker.engines.evidence import nothing_searched, premise_shown
from checker.engines.progress import Progress
from checker.engines.random.explored import VisitedStates
from checker.engines.random.shorten import IN_ORDER, shortened, shortened_along
from checker.engines.source import with_source
from checker.errors import SpecError
from checker.properties import Property
from checker.result import Limits, PropertyResult, Result, Stop, StopKind, judge
from checker.settings import RandomSettings
from checker.spec import Spec
from checker.trace import Trace, complaint_at_end

if TYPE_CHECKING:
    from checker.engines.compiled.walk_search import Sampling

MOST_STEPS = 1_000_000
"""The most steps that a behaviour can be allowed."""

MOST_EXAMPLES = 10**15
"""The most behaviours that can be asked for: more than any run has time for."""

FEWEST_AROUND, MOST_AROUND = 100_000, 1_000_000
"""States of the exhaustive search for shorter counterexamples: as many as steps were walked, but within these limits. A
number, not seconds, so that results can be repeated."""

MOST_ALONG = 50_000
"""States of the exhaustive searches from the states along the counterexamples that may not be shortest, together."""


def fuzz(
    spec: Spec[Any],
    *,
    examples: int = RandomSettings().examples,
    steps: int = RandomSettings().steps,
    seed_value: int = 0,
    progress: Progress | None = None,
    max_seconds: float | None = None,
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
        progress: called every so often with the counts so far.
        max_seconds: seconds after which the search ends; None: no limit. Shortening may take a little longer.
        workers: the number of threads; by default one for each core.
        uniform: choose all steps with the same probability. By default, most are chosen among those that lead to the
            states visited least, and many behaviours begin at a rare state of an earlier one.
        coverage: whether `Statistics.covered` is wanted. Then other processes make no calls.

    Returns:
        The result: violated, with shortened traces, or incomplete, since a sample proves nothing. Its
        counts are those of the search, `Statistics.walked` among them; ``depth`` is of the longest behaviour.

    Raises:
        SpecError: the spec misbehaved: an action or a property raised, or gave two different answers.
    """
    for name, value in (("examples", examples), ("steps", steps)):
        if value <= 0:
            raise SpecError(f"limit {name}={value} is out of range: it must be more than 0")
    for name, value, most in (("examples", examples, MOST_EXAMPLES), ("steps", steps, MOST_STEPS)):
        if value > most:
            raise SpecError(f"limit {name}={value} is out of range: it must be at most {most:,}")
    from checker.engines.compiled.walk_search import search_at_random  # importing the compiler takes a second

    settings: dict[str, Any] = {"examples": examples, "steps": steps, "seed": seed_value}
    settings |= {"uniform": True} if uniform else {}
    search = functools.partial(
        search_at_random,
        walks=examples,
        steps=steps,
        seed=seed_value,
        limits=Limits(max_seconds=max_seconds),
        progress=progress,
        workers=1 if coverage else workers,
        uniform=uniform,
        coverage=coverage,
    )
    walk = functools.partial(_result, search=search, settings=settings)
    return _shortened(with_source(spec, walk) if coverage else walk(spec))


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


def _shortened(result: Result) -> Result:
    """A result with its counterexamples shortened. The calls that this takes do not count as covered."""
    traces = {item.property: item.traces[0] for item in result.properties if item.traces}
    if all(item.kind.is_witness for item in traces):
        return result
    walked = result.statistics.walked
    with contextlib.suppress(KeyboardInterrupt):  # an interrupt leaves them as they are
        note = "there may be a shorter counterexample: shortening was interrupted"
        note = _shorten(result.spec, traces, walked.steps if walked else 0)
    properties = [
        attrs.evolve(item, traces=(traces[item.property],)) if item.traces else item for item in result.properties
    ]
    return attrs.evolve(result, properties=tuple(properties), note=note)


def _without_steps(trace: Trace[Any]) -> Trace[Any]:
    """A counterexample that is shortened by leaving out steps, within the memory that is free.

    Raises:
        SpecError: it is none: the walk that met it went through a state that differs from one of these.
    """
    item = trace.about
    assert item is not None
    if complaint_at_end(trace.spec, item, trace.states) is None:
        raise SpecError(f"the counterexample to {item.name} cannot be followed: states that differ have the same repr")
    with Budget(Limits()).enforced():
        return shortened(trace, VisitedStates(trace.spec))


def _shorten(spec: Spec[Any], traces: dict[Property, Trace[Any]], steps: int) -> str:
    """Shorten the counterexamples, and then look for shorter ones by exhaustive search.

    Parameters:
        traces: of each property; those that become shorter are replaced.
        steps: the steps that were walked to find them.

    Returns:
        What is known of their lengths.
    """
    violated = [item for item in traces if not item.kind.is_witness]
    for item in violated:
        traces[item] = _without_steps(traces[item])
    longest = max(len(traces[item]) for item in violated)
    states = min(max(FEWEST_AROUND, steps), MOST_AROUND)
    limits = Limits(depth=longest, max_states=states, keep_going=True)
    result = ENGINES["compiled"](spec.with_properties([item.name for item in violated]), limits, settings=IN_ORDER)
    for item in violated:
        for trace in result.of(item.name).traces:
            if len(trace) < len(traces[item]):
                traces[item] = attrs.evolve(trace, spec=spec)
    searched = result.statistics.depth

    def is_shortest(item: Property) -> bool:
        return bool(result.of(item.name).traces) or len(traces[item]) <= searched

    longer = [item for item in violated if not is_shortest(item)]
    for item in [] if result.interrupted else longer:
        found = shortened_along(traces[item], MOST_ALONG // len(longer))
        if len(found) < len(traces[item]):
            traces[item] = _without_steps(found)
    shortest = [item.name for item in violated if is_shortest(item)]
    longer = [item for item in violated if not is_shortest(item)]
    if not longer:
        return f"there is no shorter counterexample to {', '.join(shortest)}"
    lengths = ", ".join(f"{item.name} ({len(traces[item])} states)" for item in longer)
    also = f"; there is none to {', '.join(shortest)}" if shortest else ""
    return f"there may be a shorter counterexample to {lengths}: all states up to depth {searched} were searched{also}"
