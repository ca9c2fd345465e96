"""Hypothesis stateful testing: any spec as a state machine, and a search with it.

Hypothesis draws steps, and the properties are checked after each. In a test suite Hypothesis shrinks what
it finds, by the user's settings; `fuzz` shortens it through the states it has seen, which is faster and
ends shorter.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import time
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import attrs
from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from checker.action import ActionInstance
from checker.audit import AUDITED, audit
from checker.errors import SpecError
from checker.oracle import OracleSearch
from checker.progress import PROGRESS_EVERY, Progress
from checker.properties import Kind, Property
from checker.result import ActionCount, Limits, PropertyResult, Result, Statistics, judge
from checker.spec import Spec
from checker.trace import Trace, complaint_at_end


class PropertyViolated(AssertionError):
    """A state machine met a violation. Its text is the trace; the trace itself is in `trace`."""

    def __init__(self, trace: Trace[Any]) -> None:
        self.trace = trace
        about = trace.about
        assert about is not None
        steps = [f"  {index}. {instance}" for index, instance in enumerate(trace.instances, start=1)]
        complaint = f" ({trace.complaint})" if trace.complaint else ""
        super().__init__("\n".join([f"{about.name} is violated: {about.sentence}{complaint}", *steps]))


CHOICES = 256
"""Orders of preference over a spec's action instances; a drawn number picks one of them."""

BURST = 20
"""The most steps that are drawn at once. What Hypothesis costs, it costs for each draw of its own."""

BURSTS = 10
"""Bursts in one example of `fuzz`; more where a behaviour may have more steps than fit in them."""


@attrs.frozen(eq=False, repr=False)
class Move:
    """A step that is possible now; without an instance, the beginning of another behaviour."""

    instance: ActionInstance[Any] | None
    state: Any

    def __repr__(self) -> str:
        return repr(self.instance) if self.instance else "begin"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))  # else Hypothesis prints an attrs value field by field, whatever its repr


@st.composite
def bursts(draw: st.DrawFn) -> list[Move]:
    """Some steps in a row, each enabled in the state that the one before it leads to."""
    machine: SpecMachine = draw(st.runner())
    moves: list[Move] = []
    for choice in draw(st.lists(st.integers(0, CHOICES - 1), min_size=1, max_size=BURST)):
        moves.append(machine.choose(choice, moves))
    return moves


class SpecMachine(RuleBasedStateMachine):
    """The base of the machines made by `state_machine`: behaviours of one spec, step by step.

    Where no action is enabled, or `longest` steps are taken, a behaviour has ended and another one
    begins: no step is wasted.
    """

    spec: ClassVar[Spec[Any]]
    longest: ClassVar[int | None] = None
    _preferences: ClassVar[list[list[ActionInstance[Any]]]]
    _expanded: ClassVar[dict[Any, dict[ActionInstance[Any], list[Any]]]]

    def __init__(self) -> None:
        super().__init__()
        self.states: list[Any] = []
        self.instances: list[ActionInstance[Any]] = []

    def enabled(self, state: Any) -> dict[ActionInstance[Any], list[Any]]:
        """The action instances enabled in a state, each with its next states."""
        if state not in self._expanded:
            if len(self._expanded) < AUDITED:
                audit(self.spec, state, self.spec.initials()[0])
            enabled: dict[ActionInstance[Any], list[Any]] = {}
            for instance, successor in self.spec.successors(state):
                if not _hashable(successor):
                    raise self.spec.unhashable(instance, successor)
                enabled.setdefault(instance, []).append(successor)
            self._expanded[state] = enabled
        return self._expanded[state]

    def visited(self, state: Any) -> bool:
        """Whether any behaviour of this class has visited a state."""
        return state in self._expanded

    def follow(self, state: Any, instances: Iterable[ActionInstance[Any]]) -> None:
        """Visit the states along some action instances, passing over those that are not enabled."""
        for instance in instances:
            successors = self.enabled(state).get(instance, [state])
            state = successors[0]
        self.enabled(state)

    def choose(self, choice: int, moves: list[Move]) -> Move:
        """The step that a drawn number stands for, after some moves.

        It is the first enabled one in an order of preference over all instances, so that it stays the
        same step when Hypothesis, shrinking, leaves out an earlier one that it does not depend on.
        """
        state = moves[-1].state if moves else self.states[-1]
        enabled = self.enabled(state)
        if not enabled or self._taken(moves) == self.longest:
            return Move(None, self.states[0])
        instance = next(instance for instance in self._preferences[choice] if instance in enabled)
        return Move(instance, enabled[instance][choice % len(enabled[instance])])

    def _taken(self, moves: list[Move]) -> int:
        """The steps of the present behaviour, after some moves."""
        since_begun = list(itertools.takewhile(lambda move: move.instance is not None, reversed(moves)))
        return len(since_begun) + (len(self.instances) if len(since_begun) == len(moves) else 0)

    @initialize(state=st.runner().flatmap(lambda machine: st.sampled_from(machine.spec.initials())))
    def begin(self, state: Any) -> None:
        self.states, self.instances = [state], []
        self._check()

    @rule(moves=bursts())
    def take(self, moves: list[Move]) -> None:
        for move in moves:
            if move.instance is None:
                self.begin(move.state)
            else:
                self.states.append(move.state)
                self.instances.append(move.instance)
                self._check()

    def _check(self) -> None:
        self.arrived()
        for item in self.spec.checks:
            if not item.kind.is_witness and self.shows(item):
                raise PropertyViolated(self.trace(item))

    def arrived(self) -> None:
        """Called when the behaviour has reached a state, before its properties are checked."""

    def trace(self, about: Property) -> Trace[Any]:
        """The behaviour so far, as evidence about a property."""
        return Trace(self.spec, self.states, self.instances, about)

    def shows(self, item: Property) -> bool:
        """Whether the last state or step violates a property (a witness: satisfies it)."""
        return complaint_at_end(self.spec, item, self.states[-2:]) is not None


def _hashable(state: Any) -> bool:
    try:
        hash(state)
    except TypeError:
        return False
    return True


def state_machine(spec: Spec[Any]) -> type[SpecMachine]:
    """A Hypothesis state machine of a spec.

    Only enabled action instances are drawn; invariants, step invariants and, where asked for, the
    absence of deadlock are checked after each. Witnesses are not: one behaviour need not show them.

    Parameters:
        spec: the spec, with its bounds.

    Returns:
        A class. In pytest, ``TestLock = state_machine(spec).TestCase`` is a test; its ``settings``
        are Hypothesis's own.
    """
    name = "".join(part.capitalize() for part in spec.name.replace("/", " ").replace("-", " ").split())
    orders = [random.Random(choice).sample(spec.instances, len(spec.instances)) for choice in range(CHOICES)]
    members = {"spec": spec, "_preferences": orders, "_expanded": {}}
    return type(name if name.isidentifier() else "Machine", (SpecMachine,), members)


def fuzz(
    spec: Spec[Any],
    *,
    examples: int = 1000,
    steps: int = 50,
    seed_value: int = 0,
    progress: Progress | None = None,
) -> Result:
    """Search a spec's behaviours at random with Hypothesis, and shrink what violates a property.

    Parameters:
        spec: what to search.
        examples: behaviours to try.
        steps: the most steps in a behaviour.
        seed_value: the same seed searches the same behaviours.
        progress: called every so often with the counts so far.

    Returns:
        The result: violated, with the shrunk trace, or incomplete, since sampling proves nothing. Its
        counts are those of the search, up to the first violation; ``depth`` is of the longest behaviour.

    Raises:
        SpecError: the spec misbehaved: an action or a property raised, or gave two different answers.
    """
    for name, value in (("examples", examples), ("steps", steps)):
        if value <= 0:
            raise SpecError(f"limit {name}={value} is not possible: it must be more than 0")
    survey = _Survey(spec, progress)

    class Surveyed(state_machine(spec)):  # type: ignore[misc]
        longest = steps

        def arrived(self) -> None:
            survey.count(self)

    config = settings(
        max_examples=examples,
        stateful_step_count=max(BURSTS, -(-steps // BURST)),
        deadline=None,
        database=None,
        derandomize=False,
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        print_blob=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    reason = f"{examples:,} random behaviours of at most {steps} steps are only a sample"
    found: Trace[Any] | None = None
    try:
        run_state_machine_as_test(seed(seed_value)(Surveyed), settings=config)
    except PropertyViolated as violation:
        found = violation.trace
    except Flaky as error:
        raise SpecError(f"{spec.name} is not deterministic: the same steps gave different outcomes") from error
    except KeyboardInterrupt:
        reason = "interrupted"
    if found is not None:
        # Hypothesis would take ten times as long to shrink it, to something longer; an interrupt keeps it as it is
        with contextlib.suppress(KeyboardInterrupt):
            found = shortened(found, Surveyed())
    return survey.result(found, reason, {"examples": examples, "steps": steps, "seed": seed_value})


def shortened(trace: Trace[Any], machine: SpecMachine) -> Trace[Any]:
    """A short counterexample near one that was found.

    Steps are left out, one and two at a time, and the shortest counterexample is taken through all the
    states that any behaviour has visited, these and the search's own; and again, until that is no shorter.

    Parameters:
        trace: a counterexample that the machine met.
        machine: a machine of the class that met it; the class remembers the states visited.
    """
    while True:
        for left_out in range(1, min(2, len(trace.instances)) + 1):
            for kept in itertools.combinations(trace.instances, len(trace.instances) - left_out):
                machine.follow(trace.states[0], kept)
        shortest = _shortest_among_seen(trace, machine)
        if len(shortest) == len(trace):
            return shortest
        trace = shortest


def _shortest_among_seen(trace: Trace[Any], machine: SpecMachine) -> Trace[Any]:
    assert trace.about is not None
    about = trace.about

    def seen_successors(state: Any) -> Iterator[tuple[ActionInstance[Any], Any]]:
        if not machine.visited(state):
            if about.kind is Kind.DEADLOCK:  # it leads nowhere new, and must not be taken for a deadlock
                yield trace.spec.instances[0], state
            return
        for instance, successors in machine.enabled(state).items():
            for successor in successors:
                yield instance, successor

    spec = trace.spec.with_properties([about.name])
    (shortest,) = OracleSearch(spec, Limits(), successors=seen_successors).run().of(about.name).traces
    return attrs.evolve(shortest, spec=trace.spec)


class _Survey:
    """What a search has seen up to its first violation; what Hypothesis does to shrink it is not counted."""

    def __init__(self, spec: Spec[Any], progress: Progress | None) -> None:
        self.spec = spec
        self.progress = progress
        self.statistics = Statistics(actions={action.name: ActionCount() for action in spec.actions})
        self.shown: dict[Property, Trace[Any]] = {}
        self._seen: set[Any] = set()
        self._started = time.monotonic()

    def count(self, machine: SpecMachine) -> None:
        """Count the state a behaviour has just reached, and the step that led there."""
        if any(not item.kind.is_witness for item in self.shown):
            return
        statistics, state = self.statistics, machine.states[-1]
        enabled = machine.enabled(state)  # before anything is remembered: if it fails, it fails again
        new = state not in self._seen
        self._seen.add(state)
        statistics.generated += 1
        statistics.distinct += new
        statistics.depth = max(statistics.depth, len(machine.states))
        if new:
            statistics.count_expanded(sum(map(len, enabled.values())))
        if machine.instances:
            action = statistics.actions[machine.instances[-1].action.name]
            action.generated += 1
            action.distinct += new
        for item in self.spec.checks:
            if item not in self.shown and machine.shows(item):
                self.shown[item] = machine.trace(item)
        statistics.seconds = time.monotonic() - self._started
        if self.progress is not None and statistics.generated % PROGRESS_EVERY == 0:
            self.progress(statistics)

    def result(self, shrunk: Trace[Any] | None, reason: str, settings: dict[str, Any]) -> Result:
        """The result of the search, given the shrunk counterexample if there is one."""
        if shrunk is not None and shrunk.about is not None:
            self.shown = {item: trace for item, trace in self.shown.items() if item.kind.is_witness}
            self.shown[shrunk.about] = shrunk
        self.statistics.seconds = time.monotonic() - self._started
        return Result(
            spec=self.spec,
            engine="fuzz",
            exhausted=False,
            reason=reason,
            statistics=self.statistics,
            properties=tuple(
                PropertyResult(
                    item,
                    judge(item, item in self.shown, exhausted=False),
                    (self.shown[item],) if item in self.shown else (),
                )
                for item in self.spec.checks
            ),
            settings=settings,
        )
