"""Fuzzing: a search of a spec's behaviours at random, with Hypothesis."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.errors import Flaky
from hypothesis.stateful import run_state_machine_as_test

from checker.action import ActionInstance
from checker.budget import Budget
from checker.errors import SpecError
from checker.progress import Progress
from checker.result import Limits, Result, Stop, StopKind
from checker.shorten import shortened, shortest_among
from checker.spec import Spec
from checker.stateful import Move, state_machine
from checker.survey import Survey
from checker.trace import Trace

BURST = 200
"""Steps drawn at once: many, since nothing is to be shrunk by leaving some out."""

ROAMING = 4
"""One step in so many is any step; the others go where the search has been least often."""


class _NothingLeft(BaseException):
    """Every property is violated. Not an Exception, so that Hypothesis ends at once, as for Ctrl-C."""


def fuzz(
    spec: Spec[Any],
    *,
    examples: int = 300,
    steps: int = 50,
    seed_value: int = 0,
    progress: Progress | None = None,
) -> Result:
    """Search a spec's behaviours at random with Hypothesis, and shorten what violates a property.

    After a violation the search goes on for the other properties, as long as there are any.

    Parameters:
        spec: what to search.
        examples: examples of Hypothesis, each of some hundred steps, in one behaviour or more.
        steps: the most steps in a behaviour.
        seed_value: the same seed searches the same behaviours.
        progress: called every so often with the counts so far.

    Returns:
        The result: violated, with shortened traces, or incomplete, since sampling proves nothing. Its
        counts are those of the search; ``depth`` is of the longest behaviour.

    Raises:
        SpecError: the spec misbehaved: an action or a property raised, or gave two different answers.
    """
    for name, value in (("examples", examples), ("steps", steps)):
        if value <= 0:
            raise SpecError(f"limit {name}={value} is not possible: it must be more than 0")
    survey = Survey(spec, progress)
    breakable = [item for item in spec.checks if not item.kind.is_witness]

    arrivals: Counter[Any] = Counter()

    class Surveyed(state_machine(spec)):  # type: ignore[misc]
        longest = steps
        burst = (BURST, BURST)
        sought = [*spec.checks]  # noqa: RUF012  # each is looked for until it is met

        def moves(self, choice: int, state: Any) -> dict[ActionInstance[Any], list[Any]]:
            """Mostly, those to the states that were come to least often; all of them now and then."""
            moves: dict[ActionInstance[Any], list[Any]] = super().moves(choice, state)
            if choice % ROAMING == 0 or not moves:
                return moves
            least = min(arrivals[after] for afters in moves.values() for after in afters)
            rare = {
                instance: [after for after in afters if arrivals[after] == least] for instance, afters in moves.items()
            }
            return {instance: afters for instance, afters in rare.items() if afters}

        def choose(self, choice: int, state: Any, taken: int) -> Move:
            move: Move = super().choose(choice, state, taken)
            arrivals[move.state] += 1
            return move

        def arrived(self) -> None:
            survey.count(self)

        def met(self, trace: Trace[Any]) -> None:
            survey.keep(trace)
            self.sought.remove(trace.about)  # type: ignore[arg-type]
            if breakable and len(survey.violated) == len(breakable):
                raise _NothingLeft

    config = settings(
        max_examples=examples,
        stateful_step_count=1 + -(-steps // BURST),  # the first is the beginning
        deadline=None,
        database=None,
        derandomize=False,
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        print_blob=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    stop, budget = None, Budget(Limits())
    try:
        with budget.enforced():
            run_state_machine_as_test(seed(seed_value)(Surveyed), settings=config)
    except _NothingLeft:
        pass
    except Flaky as error:
        raise SpecError(f"{spec.name} is not deterministic: the same steps gave different outcomes") from error
    except KeyboardInterrupt as interrupt:
        stop = budget.caught(interrupt)
    with contextlib.suppress(KeyboardInterrupt):  # an interrupt leaves them as they are
        for item in survey.violated:
            survey.traces[item] = shortened(survey.traces[item], Surveyed.visited)
        survey.traces.update(shortest_among(Surveyed.visited, spec.checks))
    sample = f"{survey.behaviours:,} random behaviours of at most {steps} steps are only a sample"
    stop = budget.swallowed or stop or Stop(StopKind.SAMPLE, sample)
    return survey.result(stop, {"examples": examples, "steps": steps, "seed": seed_value})
