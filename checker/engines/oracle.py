"""The oracle engine, a breadth-first search in plain Python that is simple enough to be obviously correct.

The other engines are tested against the oracle. A search that finds a violation completes the current level before it
ends, so it finds all shortest counterexamples.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Generic, TypeVar

from leadline.checker.action import ActionInstance
from leadline.checker.coverage import CoverageCounts, FieldValues, instance_coverage
from leadline.checker.engines.budget import Budget, StopSearch
from leadline.checker.engines.evidence import Sighting, property_results, states_shown
from leadline.checker.engines.progress import Progress, is_due
from leadline.checker.engines.purity import Purity
from leadline.checker.engines.run import attempt, conclude, within
from leadline.checker.errors import SpecError
from leadline.checker.liveness.graph import StateGraph
from leadline.checker.liveness.judged import Judged
from leadline.checker.places import Places
from leadline.checker.properties import Kind, Property
from leadline.checker.result import ActionCount, Limits, Result, Statistics, Stop, StopKind
from leadline.checker.settings import DEFAULT, Tuning
from leadline.checker.spec import Spec
from leadline.checker.support.messages import counted

if TYPE_CHECKING:
    from leadline.checker.traces.graph import Arrivals

S = TypeVar("S")

REPORTED_STATES = 500
"""The number of expanded states after which the progress is reported and the memory is checked."""


class OracleSearch(Generic[S]):
    """A breadth-first search. Use `explore` unless you need the states that were found.

    Parameters:
        spec, limits, progress, budget, tuning: see `explore`.
        look: a function that is called with this search before each state is expanded. It may raise an exception to
            pause the search. A further call to `run` continues the search.

    Attributes:
        arrivals: maps each state that was found to a list that contains the last step of every shortest path to this
            state. The states are in the order of discovery.
        sightings: maps each property to the states or steps that violate it, or that satisfy it if it is a witness or a
            premise.
        liveness: what was found out about each liveness property that was checked.
        levels: the number of states in each level that satisfy `Spec.within`, up to the level that is being expanded.
        frontier: the states of this level that have not been expanded, the next one last.
        level: the states of the next level that have been found.
        outside: the states that violate `Spec.within`.
        shown: the number of states that satisfy each property's predicate. Counted only for coverage.
        values: the values that the parts of the states have taken.
        purity: checks that the functions of the spec are pure.
        has_begun: whether the initial states have been found.
    """

    def __init__(
        self,
        spec: Spec[S],
        limits: Limits,
        progress: Progress | None = None,
        budget: Budget | None = None,
        look: Callable[[OracleSearch[S]], None] | None = None,
        tuning: Tuning = DEFAULT,
    ) -> None:
        self.spec = spec
        self.limits = limits
        self.budget = budget or Budget(limits)
        self.tuning = tuning
        self.progress = progress
        self.look = look
        self._published_at = 0.0
        self.statistics = Statistics(actions={action.name: ActionCount() for action in spec.actions})
        self.arrivals: dict[S, list[tuple[S, ActionInstance[S]]]] = {}
        self.sightings: dict[Property, list[Sighting[S]]] = {item: [] for item in spec.checks_and_premises}
        self._state_checks = spec.checks_of(Kind.INVARIANT, Kind.WITNESS, Kind.PREMISE)
        self._step_checks = spec.checks_of(Kind.STEP_INVARIANT, Kind.STEP_WITNESS)
        self._deadlock = spec.checks_of(Kind.DEADLOCK)
        self.liveness: dict[Property, Judged[S]] = {}
        self.level: list[S] = []
        self._in_level: set[S] = set()
        self.frontier: list[S] = []
        self.has_begun = False
        self.outside: set[S] = set()
        self.levels: list[int] = []
        self.shown: Counter[Property] = Counter()
        self._generated: Counter[ActionInstance[S]] = Counter()
        self._distinct: Counter[ActionInstance[S]] = Counter()
        self.purity = Purity(spec, tuning)
        self.values = Places(type(spec.initials()[0]).__name__)
        self._prepare()

    def _prepare(self) -> None:
        """Set what only a subclass needs."""

    def run(self) -> Result:
        """Search until no states are left to expand, a level with a violation is complete, or a limit is reached."""
        return self.ended(attempt(self.budget, self._search))

    def ended(self, stop: Stop | None) -> Result:
        """Return the result of a search that ends now.

        Parameters:
            stop: the reason why it ends, or None if no states are left to expand.
        """
        exhausted = stop is None
        if exhausted and self.spec.liveness:
            stop = attempt(self.budget, self._check_liveness)
        stop = attempt(self.budget, self.purity.check_again) or stop
        stop = conclude(self.budget, stop)
        if any(state not in self.arrivals for state in self.arrivals):
            raise SpecError("a state was changed after it was found: actions and properties must not change states")
        note = ""
        if self.limits.coverage:
            try:
                self.statistics.covered = self._covered()
            except (KeyboardInterrupt, MemoryError):
                note = "coverage was not counted: the search was stopped"
        self._publish()
        return Result(
            spec=self.spec,
            engine="oracle",
            stop=stop,
            statistics=self.statistics,
            note=note,
            properties=property_results(
                self.spec, self.sightings, self._steps_into(), self.limits, exhausted, self.liveness
            ),
        )

    def _steps_into(self) -> Arrivals[S]:
        """Return the last steps of the shortest paths to each state."""
        return self.arrivals

    def _covered(self) -> CoverageCounts:
        spec, within = self.spec, self._within(self.arrivals)
        enabled = Counter[ActionInstance[S]]()
        for state in within[: self.statistics.expanded]:
            taken = {instance for instance, _ in spec.successors(state)}
            enabled.update(taken | {instance.of_search for instance in taken})
        values = FieldValues()
        values.add_all(within)
        counted = dict.fromkeys(self._state_checks, 0) | self.shown
        return CoverageCounts(
            instances=instance_coverage(spec, enabled, self._generated, self._distinct),
            shown=states_shown(spec, counted),
            fields=values.fields,
        )

    def _search(self) -> Stop | None:
        if not self.has_begun:
            self.has_begun = True
            for state in self._initials():
                self.values.check(state)
                self._found(state, [])
                self.statistics.generated += 1
        while True:
            while self.frontier:
                self._look()
                self._expand(self.frontier.pop())
            if not self.level:
                return None
            frontier = self._within(self.level)
            self.level, self._in_level = [], set()
            if frontier:
                self.levels.append(len(frontier))
                self.statistics.depth += 1
            if stop := self.limits.stop_after(self._violated(), self.statistics.distinct):
                return stop
            if frontier and self.statistics.depth == self.limits.depth:
                return Stop(StopKind.DEPTH, f"reached depth {self.limits.depth}")
            self.frontier = frontier[::-1]

    def _initials(self) -> Iterable[S]:
        return self.spec.initials()

    def counted(self) -> list[list[int]]:
        """Return, for each action instance, the number of its steps, and the number of those steps that led to a new
        state. Counted only for coverage.
        """
        return [[self._generated[instance], self._distinct[instance]] for instance in self.spec.instances]

    def _within(self, states: Iterable[S]) -> list[S]:
        """Return the states for which `Spec.within` is true."""
        return [state for state in states if state not in self.outside] if self.outside else [*states]

    def _check_liveness(self) -> Stop | None:
        """Check the liveness properties, after all states have been found. See `leadline.checker.liveness.decide`."""
        from leadline.checker.liveness import decide  # it uses networkx, which takes a tenth of a second to import

        began = time.monotonic()
        self._pause()
        graph = StateGraph.of(self.spec, self.arrivals, self._pause)
        undecided = []
        for item in self.spec.liveness:
            self._pause()
            judged = decide.judged(graph, item)
            if judged is None:
                undecided.append(item)
            else:
                self.liveness[item] = judged
        self.statistics.liveness = decide.counts(graph, time.monotonic() - began)
        return decide.undecided(undecided)

    def _pause(self) -> None:
        """Raise an exception if a limit is exceeded while liveness properties are being checked."""
        waited = self.budget.seconds - self._published_at
        if is_due(waited):
            self.statistics.activity = "checking liveness"
            self._publish()
            self.statistics.activity = ""
        if stop := self.budget.swallowed or self.budget.out_of_time() or self.budget.out_of_memory():
            raise StopSearch(stop)

    def _look(self) -> None:
        """Report the progress and check the limits before a state is expanded."""
        waited = self.budget.seconds - self._published_at
        if self.statistics.expanded % REPORTED_STATES == 0 or is_due(waited):
            self._publish()
            if stop := self.budget.out_of_memory():
                raise StopSearch(stop)
        if stop := self.budget.swallowed or self.budget.out_of_time():
            raise StopSearch(stop)
        if self.look is not None:
            self.look(self)

    def _expand(self, state: S) -> None:
        self.purity.check(state)
        steps = 0
        for instance, successor in self.spec.successors(state):
            steps += 1
            self._step(state, instance, successor)
        if self._deadlock and not steps and not self.spec.is_final(state):
            self._see(self._deadlock[0], Sighting(state))
        self.statistics.count_expanded(steps)

    def _step(self, state: S, instance: ActionInstance[S], successor: S) -> None:
        count = self.statistics.actions[instance.action.name]
        self.values.check(successor, state)
        if successor not in self.arrivals:
            self._found(successor, [(state, instance.of_search)])
            count.distinct += successor not in self.outside
            if self.limits.coverage and successor not in self.outside:
                self._distinct.update({instance.of_search, self.spec.taken(instance.of_search, state, successor)})
        elif successor in self._in_level:
            self.arrivals[successor].append((state, instance.of_search))
        self.statistics.generated += 1
        count.generated += 1
        if self.limits.coverage:
            self._generated.update({instance, instance.of_search})
        self._judge_step(state, instance, successor)

    def _judge_step(self, state: S, instance: ActionInstance[S], successor: S) -> None:
        for item in self._step_checks:
            if self._shows(item, state, successor):
                self._see(item, Sighting(state, (instance.of_search, successor)))

    def _found(self, state: S, arrivals: list[tuple[S, ActionInstance[S]]]) -> None:
        if self.limits.max_states is not None and len(self.arrivals) == self.limits.max_states:
            raise StopSearch(Stop(StopKind.STATES, f"reached {counted(self.limits.max_states, 'state')}"))
        self.arrivals[state] = arrivals
        self.level.append(state)
        self._in_level.add(state)
        if self.spec.is_within(state):
            self.statistics.distinct += 1
        else:
            self.outside.add(state)
            self.statistics.outside += 1
        self._judge(state)
        if self.limits.coverage and state not in self.outside:
            self.shown.update(item for item in self._state_checks if self.spec.complaint(item, state) is None)

    def _judge(self, state: S) -> None:
        for item in self._state_checks:
            if self._shows(item, state):
                self._see(item, Sighting(state))

    def _shows(self, item: Property, *states: S) -> bool:
        """Return whether a state or step violates a property, or is the first to satisfy a witness or a premise."""
        if item.kind.is_witness:
            return not self.sightings[item] and self.spec.complaint(item, *states) is None
        return self.spec.complaint(item, *states) is not None

    def _see(self, item: Property, sighting: Sighting[S]) -> None:
        if len(self.sightings[item]) < self.limits.traces:
            self.sightings[item].append(sighting)

    def _violated(self) -> list[str]:
        return [item.name for item, seen in self.sightings.items() if seen and not item.kind.is_witness]

    def _publish(self) -> None:
        found = len(self._within(self.level))
        self.statistics.levels = tuple(filter(None, [*self.levels, found]))
        self.statistics.queue = self.statistics.distinct - self.statistics.expanded
        self.statistics.seconds = self._published_at = self.budget.seconds
        if self.progress is not None:
            self.progress(self.statistics)


def explore(
    spec: Spec[S],
    limits: Limits | None = None,
    progress: Progress | None = None,
    budget: Budget | None = None,
    tuning: Tuning = DEFAULT,
    kind: type[OracleSearch[S]] | None = None,
) -> Result:
    """Search a spec's states breadth-first.

    Parameters:
        limits: the limits of the search. By default, it stops at the first violation, or when most of the free memory
            is used.
        progress: a function that is called regularly with the current statistics.
        budget: the time and the memory that the search may use. By default, a budget is created from `limits`. Pass a
            budget if the time limit includes time that was spent before this call.
        tuning: internal settings of the engines.
        kind: the class of the search, such as `leadline.checker.engines.symmetric.SymmetricSearch`. By default,
            `OracleSearch`.

    Returns:
        The result of the search. If the search was interrupted (Ctrl-C) or reached a limit, the result is marked as
        incomplete and contains everything that was found up to that point.

    Raises:
        SpecError: if an action or a property raised an exception or is not a pure function, or a state is not hashable.
    """
    limits = limits or Limits()
    budget = budget or Budget(limits)
    search = kind or OracleSearch
    return within(budget, spec, "oracle", lambda: search(spec, limits, progress, budget, tuning=tuning).run())
