"""Hypothesis stateful testing: any spec as a state machine.

Hypothesis draws steps, and the properties are checked after each step. In a test suite, Hypothesis shrinks the failing
behaviours with the user's own settings.
"""

from __future__ import annotations

import math
import random
from typing import Any, ClassVar, Protocol, TypeVar

import attrs
from hypothesis import strategies as st
from hypothesis import target
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from leadline.checker.action import ActionInstance
from leadline.checker.engines.random.visited_states import VisitedStates
from leadline.checker.properties import Property
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.checker.trace import Trace, complaint_at_end

__all__ = ["PropertyViolated", "state_machine"]

S = TypeVar("S")

Moves = dict[ActionInstance[object], list[object]]
"""The steps from a state: for each enabled action instance, the next states."""


class PropertyViolated(AssertionError):
    """A state machine found a violation. The text shows the steps of the trace; `trace` is the trace itself."""

    def __init__(self, trace: Trace[Any]) -> None:
        self.trace = trace
        about = trace.about
        assert about is not None
        steps = [f"  {index}. {visible(repr(instance))}" for index, instance in enumerate(trace.instances, start=1)]
        complaint = f" ({trace.complaint})" if trace.complaint else ""
        violated = visible(f"{about.name} is violated: {about.sentence}{complaint}")
        super().__init__("\n".join([violated, *steps]))


CHOICES = 256
"""The number of orders of preference over a spec's action instances; a drawn byte selects one of them."""


class Printer(Protocol):
    """The pretty-printer that Hypothesis passes to `_repr_pretty_`."""

    def text(self, text: str) -> None: ...


@attrs.frozen(eq=False, repr=False)
class Move:
    """A step that is possible now; without an instance, the first state of a new behaviour."""

    instance: ActionInstance[object] | None
    state: object

    def __repr__(self) -> str:
        return visible(repr(self.instance)) if self.instance else "begin"

    def _repr_pretty_(self, printer: Printer, cycle: bool) -> None:
        printer.text(repr(self))  # without this method, Hypothesis ignores the repr and prints all fields


@st.composite
def bursts(draw: st.DrawFn) -> list[Move]:
    """Consecutive steps: each is enabled in the state that the previous one leads to."""
    machine: SpecMachine = draw(st.runner())
    moves: list[Move] = []
    state, taken = machine.states[-1], len(machine.instances)
    for choice in draw(st.binary(min_size=machine.burst[0], max_size=machine.burst[1])):
        move = machine.choose(choice, state, taken)
        state, taken = move.state, taken + 1 if move.instance else 0
        moves.append(move)
    return moves


class SpecMachine(RuleBasedStateMachine):
    """The base class of the machines that `state_machine` makes: behaviours of one spec, step by step.

    A behaviour ends when no action leads to another state, or after `longest` steps. Then a new behaviour begins, so
    that no drawn step is wasted. Steps that lead back to the same state are checked but not taken.

    Attributes:
        longest: the maximum number of steps in a behaviour; None: no limit.
        burst: the minimum and maximum number of steps that are drawn at once; the overhead of Hypothesis is per draw.
        sought: the properties to find evidence for.
        visited: the states that the behaviours of the class have visited.
        states, instances: the current behaviour.
    """

    spec: ClassVar[Spec[object]]
    longest: ClassVar[int | None] = None
    burst: ClassVar[tuple[int, int]] = (1, 20)
    sought: ClassVar[list[Property]]
    visited: ClassVar[VisitedStates[object]]
    _preferences: ClassVar[list[dict[ActionInstance[object], int]]]
    _checked: ClassVar[set[object]]
    _nearest_moves: ClassVar[dict[object, Moves]]

    def __init__(self) -> None:
        super().__init__()
        self.states: list[object] = []
        self.instances: list[ActionInstance[object]] = []
        self._least_distance = math.inf

    def choose(self, choice: int, state: object, taken: int) -> Move:
        """The step that `choice` selects in `state`, `taken` steps into the behaviour.

        It is the first enabled step in an order of preference over all instances. So it stays the same when Hypothesis
        shrinks the behaviour and leaves out an earlier, independent step. If the spec has a distance, the upper half of
        the numbers select steps that lead to the smallest distance.
        """
        enabled = self.moves(choice, state)
        if not enabled or taken == self.longest:
            return Move(None, self.states[0])
        instance = min(enabled, key=self._preferences[choice].__getitem__)
        return Move(instance, enabled[instance][choice % len(enabled[instance])])

    def moves(self, choice: int, state: object) -> Moves:
        """The steps that `choice` can select in a state."""
        guided = self.spec.distance is not None and choice >= CHOICES // 2
        return self._nearest(state) if guided else self.visited.steps(state).moves

    def _nearest(self, state: object) -> Moves:
        """The steps from a state that lead to the smallest distance."""
        if state not in self._nearest_moves:
            moves = self.visited.steps(state).moves
            distances = {after: self.spec.distance_of(after) for states in moves.values() for after in states}
            least = min(distances.values(), default=0.0)
            nearest = {
                instance: [after for after in states if distances[after] == least] for instance, states in moves.items()
            }
            self._nearest_moves[state] = {instance: states for instance, states in nearest.items() if states}
        return self._nearest_moves[state]

    @initialize(state=st.runner().flatmap(lambda machine: st.sampled_from(machine.spec.initials())))
    def begin(self, state: object) -> None:
        self.states, self.instances = [state], []
        self._look()

    @rule(moves=bursts())
    def take(self, moves: list[Move]) -> None:
        for move in moves:
            if move.instance is None:
                self.begin(move.state)
            else:
                self.states.append(move.state)
                self.instances.append(move.instance)
                self._look()

    def _look(self) -> None:
        """Look for evidence in the last state and step of the behaviour, once for each state and step."""
        self.arrived()
        state, step = self.states[-1], tuple(self.states[-2:])
        if self.spec.distance is not None:
            self._least_distance = min(self._least_distance, self.spec.distance_of(state))
        if step not in self._checked:  # in an initial state, it is only the state
            self._look_at(self.states, self.instances, steps=True)
            self._checked.add(step)
        if state not in self._checked:
            self._look_at(self.states, self.instances, steps=False)
            for instance in self.visited.steps(state).idle:
                self._look_at([*self.states, state], [*self.instances, instance], steps=True)
            self._checked.add(state)

    def _look_at(self, states: list[object], instances: list[ActionInstance[object]], *, steps: bool) -> None:
        for item in [item for item in self.sought if item.kind.of_steps == steps]:
            if complaint_at_end(self.spec, item, states) is not None:
                self.met(Trace(self.spec, states, instances, item))

    def teardown(self) -> None:
        """Report the smallest distance in the test case to Hypothesis as a target."""
        if self._least_distance < math.inf:
            target(0 - self._least_distance, label="distance")  # `0 -`, because plain negation would report 0 as -0

    def arrived(self) -> None:
        """Called when the behaviour has reached a state, before the properties are checked there."""

    def met(self, trace: Trace[object]) -> None:
        """Called with a behaviour that gives evidence for one of the properties in `sought`."""
        raise PropertyViolated(trace)


def state_machine(spec: Spec[S]) -> type[SpecMachine]:
    """A Hypothesis state machine of a spec.

    Only enabled action instances are drawn. After each step, the invariants, the step invariants and, if the spec asks
    for it, the absence of deadlock are checked. Witnesses are not, because a single behaviour need not satisfy them.
    If the spec has a distance, about half of the steps lead to the smallest distance, and the smallest distance in a
    test case is a target for Hypothesis; see `hypothesis.target`.

    Parameters:
        spec: the spec, with its bounds.

    Returns:
        A class. In pytest, ``TestLock = state_machine(spec).TestCase`` is a test, whose ``settings`` are those of
        Hypothesis.
    """
    name = "".join(part.capitalize() for part in spec.name.replace("/", " ").replace("-", " ").split())
    orders = [random.Random(choice).sample(spec.instances, len(spec.instances)) for choice in range(CHOICES)]
    members = {
        "spec": spec,
        "sought": [item for item in spec.checks if not item.kind.is_witness],
        "visited": VisitedStates(spec),
        "_preferences": [{instance: place for place, instance in enumerate(order)} for order in orders],
        "_checked": set(),
        "_nearest_moves": {},
    }
    return type(name if name.isidentifier() else "Machine", (SpecMachine,), members)
