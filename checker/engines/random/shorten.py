"""Shortens the counterexamples that a random search found, within the remaining time.

First, unnecessary steps are left out. Then an exhaustive search from the initial states looks for shorter
counterexamples. If the state space is too large to be searched to the depth of a counterexample, additional searches
begin at the states along this counterexample. For the invariant weak_isr with four brokers, logs of up to three
records, three records and three epochs, counterexamples then have 11 and 11 states instead of 12 and 13 for two seeds
of atomic/hw-truncation, and 15, 14 and 13 as before for three seeds of atomic/kip-101.

All searches along a counterexample together took about as long as the search from the initial states: about 30 seconds
on a busy machine.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

import attrs

from leadline.checker.engines import compiled
from leadline.checker.engines.budget import Budget, LimitReached, StopSearch
from leadline.checker.engines.progress import Progress, is_due
from leadline.checker.engines.random.leave_out import Keep, without_needless_steps
from leadline.checker.errors import SpecError
from leadline.checker.properties import Kind, Property
from leadline.checker.result import Limits, Result, Statistics, Stop, StopKind
from leadline.checker.settings import CompiledSettings, Tuning
from leadline.checker.spec import Spec
from leadline.checker.support.messages import counted
from leadline.checker.trace import Trace, complaint_at_end

S = TypeVar("S")

IN_ORDER = CompiledSettings(tuning=Tuning(in_order=True))
"""The settings of the exhaustive searches. With these settings, a search finds the same traces in every process."""

FEWEST_AROUND, MOST_AROUND = 100_000, 1_000_000
"""The lower and upper bound for the limit on the states that the exhaustive search from the initial states finds.
Within these bounds, the limit is the number of steps of the random search, where each expanded state counts as a step.
Unlike a time limit, a limit on the number of states makes the results reproducible."""

SHORTENING_SECONDS = 3.0
"""The number of seconds that are spent on shortening even if a random search has used up its time or was interrupted.
Without this time, counterexamples would be as long as the random behaviours."""

MOST_SECONDS = 60.0
"""The number of seconds after which shortening ends if the random search has no time limit."""

MOST_ALONG = 50_000
"""The maximum number of states that all exhaustive searches from the states along counterexamples may find together."""

WHY = {
    StopKind.TIME: "the time limit ended the shortening",
    StopKind.MEMORY: "there was no memory for more shortening",
    StopKind.INTERRUPT: "shortening was interrupted",
}


class Search(Protocol):
    """A function that runs an exhaustive search of a spec."""

    def __call__(self, spec: Spec[S], limits: Limits, /) -> Result: ...


def shortened(
    result: Result,
    limits: Limits,
    progress: Progress | None = None,
    workers: int | None = None,
) -> Result:
    """Shorten the traces that a random search found, and return the search's result with the shorter traces.

    The traces of witnesses are shortened only by leaving out steps. Calls to the spec's functions while traces are
    being shortened do not count towards the coverage.

    Parameters:
        result: the result of the random search.
        limits: the limits of the random search. ``max_seconds`` applies to the search and the shortening together, but
            leaving out steps may take `SHORTENING_SECONDS` in any case. Without it, shortening ends after
            `MOST_SECONDS`. ``max_memory`` applies to the search and
            to the shortening separately.
        progress: a function that is called regularly. `Statistics.activity` names the trace that is being shortened.
        workers: the number of threads for the exhaustive searches, or None for one thread per core.

    Raises:
        SpecError: if an action or a property raised an exception or is not a pure function.
    """
    shortening = _Shortening(result, limits, progress, workers)
    note = shortening.run()
    properties = [
        attrs.evolve(item, traces=(shortening.traces[item.property],)) if item.traces else item
        for item in result.properties
    ]
    return attrs.evolve(result, properties=tuple(properties), note=note)


class _Shortening:
    """Shortens the counterexamples of one result.

    Parameters:
        result, limits, progress, workers: see `shortened`.

    Attributes:
        traces: for each property that has a trace, the shortest trace found so far.
    """

    def __init__(self, result: Result, limits: Limits, progress: Progress | None, workers: int | None) -> None:
        self.traces: dict[Property, Trace[object]] = {
            item.property: item.traces[0] for item in result.properties if item.traces
        }
        self._spec, self._workers, self._progress = result.spec, workers, progress
        self._violated = [item for item in self.traces if not item.kind.is_witness]
        walked = result.statistics.walked
        self._steps = walked.steps + walked.expanded if walked else 0
        self._spent, self._began, self._reported_at = result.statistics.seconds, time.monotonic(), 0.0
        self._interrupted = result.interrupted
        self._memory = limits.max_memory
        self._is_limited = limits.max_seconds is not None
        self._seconds = MOST_SECONDS if limits.max_seconds is None else limits.max_seconds - self._spent
        if self._interrupted:  # the user wants the process to end soon
            self._seconds = 0.0
        self._shortest: set[Property] = set()
        self._depth = 0

    def run(self) -> str:
        """Shorten all traces.

        Returns:
            A remark that says whether there may be shorter counterexamples. It is empty if there are no
            counterexamples.
        """
        stop: Stop | None = None
        try:
            self._leave_out(self.traces)
            if self._violated:
                self._search_around()
            longer = self._longer
            for item in longer:
                self._search_along(item, MOST_ALONG // len(longer))
        except StopSearch as ended:
            stop = ended.stop
        except KeyboardInterrupt:  # an interrupt between two stages
            stop = Stop(StopKind.INTERRUPT, "interrupted")
        return self._note(stop)

    @property
    def _left(self) -> float:
        """The remaining time for shortening in seconds."""
        return self._seconds - (time.monotonic() - self._began)

    @property
    def _longer(self) -> list[Property]:
        """The properties for which there may be a shorter counterexample than the one found so far."""
        return [item for item in self._violated if item not in self._shortest and len(self.traces[item]) > self._depth]

    def _leave_out(self, items: Iterable[Property]) -> None:
        """Shorten the traces of the given properties by leaving out steps, within the limits on time and memory.

        Raises:
            StopSearch: if a limit was exceeded, or the user interrupted the search.
        """
        least = SHORTENING_SECONDS - (time.monotonic() - self._began)
        budget = Budget(Limits(max_seconds=max(self._left, least, 1e-3), max_memory=self._memory))
        try:
            with budget.enforced():
                for item in items:
                    _check_followed(self.traces[item])
                    keep = functools.partial(self._keep, budget, item)
                    keep(without_needless_steps(self.traces[item], keep))
        except KeyboardInterrupt as interrupt:
            raise StopSearch(budget.caught(interrupt)) from None
        except MemoryError:
            raise StopSearch(budget.memory_failed()) from None

    def _keep(self, budget: Budget, item: Property, trace: Trace[object]) -> None:
        """Store the shortest trace found so far, check the time limit, and report progress.

        Raises:
            LimitReached: if the time limit is exceeded, or the spec caught a KeyboardInterrupt. In the second case, the
                trace is not stored, because it may be incorrect.
        """
        if stop := budget.swallowed:
            raise LimitReached(stop)
        self.traces[item] = trace
        if stop := budget.out_of_time():
            raise LimitReached(stop)
        if is_due(time.monotonic() - self._reported_at):
            self._reported_at = time.monotonic()
            met = "is violated" if item in self._violated else "is shown"
            length = counted(len(trace), "state")
            self._report(f"{item.name} {met}; shortening its trace: {length}; Ctrl-C ends this", Statistics())

    def _report(self, activity: str, statistics: Statistics) -> None:
        if self._progress is not None:
            seconds = self._spent + time.monotonic() - self._began
            self._progress(attrs.evolve(statistics, seconds=seconds, activity=activity))

    def _searched(self, spec: Spec[S], limits: Limits) -> Result:
        """Run an exhaustive search of a spec within the remaining time.

        Raises:
            StopSearch: if there is no time left.
        """
        if self._left <= 0:
            raise StopSearch(Stop(StopKind.TIME, "the time limit was reached"))
        names = ", ".join(f"{item.name} ({counted(len(self.traces[item]), 'state')})" for item in spec.checks)
        report = functools.partial(self._report, f"looking for shorter counterexamples to {names}")
        limits = attrs.evolve(limits, max_seconds=self._left, max_memory=self._memory)
        return compiled.explore(spec, limits, report, attrs.evolve(IN_ORDER, workers=self._workers))

    def _search_around(self) -> None:
        """Search exhaustively from the initial states for shorter counterexamples.

        Raises:
            StopSearch: if the search was interrupted or exceeded the time limit.
        """
        names = [item.name for item in self._violated]
        longest = max(len(self.traces[item]) for item in self._violated)
        states = min(max(FEWEST_AROUND, self._steps), MOST_AROUND)
        limits = Limits(depth=longest, max_states=states, keep_going=True)
        result = self._searched(self._spec.with_properties(names), limits)
        self._depth = result.statistics.depth
        for item in self._violated:
            for trace in result.of(item.name).traces:
                self._shortest.add(item)
                if len(trace) < len(self.traces[item]):
                    self.traces[item] = attrs.evolve(trace, spec=self._spec)
        _check_finished(result)

    def _search_along(self, item: Property, most: int) -> None:
        """Search exhaustively from the states along a counterexample. If a search finds a shorter counterexample, leave
        out steps again.

        Parameters:
            most: the maximum number of states that these searches may visit in total.

        Raises:
            StopSearch: if a limit was exceeded, or the user interrupted the search.
        """
        before = len(self.traces[item])

        def keep(trace: Trace[object]) -> None:
            self.traces[item] = trace

        shorten_along(self.traces[item], most, self._searched, keep)
        if len(self.traces[item]) < before:
            self._leave_out([item])

    def _note(self, stop: Stop | None) -> str:
        """Return a remark that says whether there may be shorter counterexamples.

        Parameters:
            stop: the reason why the shortening ended early, or None if it was completed.
        """
        longer = self._longer
        shortest = ", ".join(item.name for item in self._violated if item not in longer)
        if not longer:
            return f"there is no shorter counterexample to {shortest}" if shortest else ""
        lengths = ", ".join(f"{item.name} ({counted(len(self.traces[item]), 'state')})" for item in longer)
        parts = [f"all states up to depth {self._depth} were searched"] if self._depth else []
        parts += [f"there is none to {shortest}"] if shortest else []
        if stop is not None:
            why = StopKind.INTERRUPT if self._interrupted else stop.kind
            is_over = why is StopKind.TIME and not self._is_limited
            parts.append(f"shortening ended after {MOST_SECONDS:.0f} seconds" if is_over else WHY[why])
        return f"there may be a shorter counterexample to {lengths}: {'; '.join(parts)}"


def _check_followed(trace: Trace[S]) -> None:
    """Check that a trace of a random search violates its invariant or satisfies its witness.

    Raises:
        SpecError: if the trace does neither, because the search confused different states that have the same repr.
    """
    item = trace.about
    assert item is not None
    if complaint_at_end(trace.spec, item, trace.states) is None:
        raise SpecError(f"the trace of {item.name} cannot be replayed, because two different states have the same repr")


def _check_finished(result: Result) -> None:
    """Check that an exhaustive search was not interrupted and did not exceed the time limit.

    Raises:
        StopSearch: if the search was interrupted or exceeded the time limit.
    """
    if result.stop is not None and result.stop.kind in (StopKind.TIME, StopKind.INTERRUPT):
        raise StopSearch(result.stop)


def shorten_along(trace: Trace[S], most: int, search: Search, keep: Keep[S]) -> None:
    """Shorten a counterexample by exhaustive searches from the states along it.

    The searches go through the states of the counterexample, from the last to the first. Each search begins at one of
    these states, and looks for a violation that is nearer to it than the end of the counterexample. This shortens
    counterexamples in state spaces that are too large to be searched from the initial states.

    Parameters:
        most: the maximum number of states that these searches may visit in total.
        search: a function that runs an exhaustive search.
        keep: a function that is called with each shorter counterexample.

    Raises:
        StopSearch: if a search was interrupted or exceeded the time limit.
    """
    item = trace.about
    assert item is not None
    spec = trace.spec.with_properties([item.name])
    for first in reversed(range(len(trace) - 2)):
        rest = len(trace) - first
        # a search does not expand states at its maximum depth, so finding a deadlock needs a depth of one more
        limits = Limits(depth=rest - (item.kind is not Kind.DEADLOCK), max_states=most)
        result = search(attrs.evolve(spec, initial_states=_only(trace.states[first])), limits)
        for end in result.of(item.name).traces:
            if len(end) < rest:
                states, instances = trace.states[:first] + end.states, trace.instances[:first] + end.instances
                trace = attrs.evolve(trace, states=states, instances=instances)
                keep(trace)
        _check_finished(result)
        most -= result.statistics.distinct + result.statistics.outside
        if most <= 0:
            break


def _only(state: S) -> Callable[[object], list[S]]:
    return lambda _: [state]
