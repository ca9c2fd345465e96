"""The survey: what a random search has counted and found."""

from __future__ import annotations

import time
from typing import Any

from checker.progress import PROGRESS_EVERY, Progress
from checker.properties import Property
from checker.result import ActionCount, PropertyResult, Result, Statistics, Stop, judge
from checker.spec import Spec
from checker.stateful import SpecMachine
from checker.trace import Trace


class Survey:
    """What behaviours have shown so far.

    Attributes:
        statistics: the counts; ``depth`` is of the longest behaviour, and there is no queue.
        behaviours: how many have begun.
        traces: for each property violated (a witness: satisfied), the behaviour that showed it.
    """

    def __init__(self, spec: Spec[Any], progress: Progress | None) -> None:
        self.spec = spec
        self.progress = progress
        self.statistics = Statistics(actions={action.name: ActionCount() for action in spec.actions}, queue=None)
        self.behaviours = 0
        self.traces: dict[Property, Trace[Any]] = {}
        self._seen: set[Any] = set()
        self._started = time.monotonic()

    def count(self, machine: SpecMachine) -> None:
        """Count the state that a behaviour has just reached, and the step that led there."""
        statistics, state = self.statistics, machine.states[-1]
        steps = machine.visited.steps(state)  # before anything is remembered: if it fails, it fails again
        new = state not in self._seen
        self._seen.add(state)
        self.behaviours += not machine.instances
        statistics.generated += 1
        statistics.distinct += new
        statistics.depth = max(statistics.depth, len(machine.states))
        if machine.instances:
            action = statistics.actions[machine.instances[-1].action.name]
            action.generated += 1
            action.distinct += new
        if new:
            statistics.count_expanded(len(steps))
            for instance in steps.idle:  # looked at now, never taken
                statistics.actions[instance.action.name].generated += 1
                statistics.generated += 1
        if self.progress is not None and statistics.generated % PROGRESS_EVERY == 0:
            statistics.seconds = time.monotonic() - self._started
            self.progress(statistics)

    def keep(self, trace: Trace[Any]) -> None:
        """Keep a behaviour as evidence about its property."""
        assert trace.about is not None
        self.traces[trace.about] = trace

    @property
    def violated(self) -> list[Property]:
        """The properties found violated, in the order of finding."""
        return [item for item in self.traces if not item.kind.is_witness]

    def result(self, stop: Stop, settings: dict[str, Any]) -> Result:
        """The result of the search: it proves nothing, whatever it has not found."""
        self.statistics.seconds = time.monotonic() - self._started
        return Result(
            spec=self.spec,
            engine="fuzz",
            stop=stop,
            statistics=self.statistics,
            properties=tuple(
                PropertyResult(
                    item,
                    judge(item, item in self.traces, exhausted=False),
                    (self.traces[item],) if item in self.traces else (),
                )
                for item in self.spec.checks
            ),
            settings=settings,
        )
