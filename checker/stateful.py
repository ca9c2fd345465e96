"""Hypothesis stateful testing: any spec as a state machine.

Hypothesis draws steps, and the properties are checked after each. In a test suite it shrinks what it finds,
by the user's own settings.
"""

from __future__ import annotations

import math
import random
from typing import Any, ClassVar

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


class PropertyViolated(AssertionError):
    """A state machine met a violation. Its text is the trace; the trace itself is in `trace`."""

    def __init__(self, trace: Trace[Any]) -> None:
        self.trace = trace
        about = trace.about
        assert about is not None
        steps = [f"  {index}. {visible(repr(instance))}" for index, instance in enumerate(trace.instances, start=1)]
        complaint = f" ({trace.complaint})" if trace.complaint else ""
        violated = visible(f"{about.name} is violated: {about.sentence}{complaint}")
        super().__init__("\n".join([violated, *steps]))


CHOICES = 256
"""Orders of preference over a spec's action instances; a drawn byte picks one of them."""


@attrs.frozen(eq=False, repr=False)
class Move:
    """A step that is possible now; without an instance, the beginning of another behaviour."""

    instance: ActionInstance[Any] | None
    state: Any

    def __repr__(self) -> str:
        return visible(repr(self.instance)) if self.instance else "begin"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))  # else Hypothesis prints an attrs value field by field, whatever its repr


@st.composite
def bursts(draw: st.DrawFn) -> list[Move]:
    """Some steps in a row, each enabled in the state that the one before it leads to."""
    machine: SpecMachine = draw(st.runner())
    moves: list[Move] = []
    state, taken = machine.states[-1], len(machine.instances)
    for choice in draw(st.binary(min_size=machine.burst[0], max_size=machine.burst[1])):
        move = machine.choose(choice, state, taken)
        state, taken = move.state, taken + 1 if move.instance else 0
        moves.append(move)
    return moves


class SpecMachine(RuleBasedStateMachine):
    """The base of the machines made by `state_machine`: behaviours of one spec, step by step.

    Where no action leads anywhere else, or `longest` steps are taken, a behaviour has ended and another one
    begins: no step is wasted. Steps that lead back to the same state are looked at, never taken.

    Attributes:
        longest: the most steps in a behaviour; None: no limit.
        burst: the fewest and the most steps drawn at once. What Hypothesis costs, it costs for each draw.
        sought: the properties whose evidence is looked for.
        visited: the states that any behaviour of the class has visited.
        states, instances: the behaviour so far.
    """

    spec: ClassVar[Spec[Any]]
    longest: ClassVar[int | None] = None
    burst: ClassVar[tuple[int, int]] = (1, 20)
    sought: ClassVar[list[Property]]
    visited: ClassVar[VisitedStates[Any]]
    _preferences: ClassVar[list[dict[ActionInstance[Any], int]]]
    _checked: ClassVar[set[Any]]
    _nearest_moves: ClassVar[dict[Any, dict[ActionInstance[Any], list[Any]]]]

    def __init__(self) -> None:
        super().__init__()
        self.states: list[Any] = []
        self.instances: list[ActionInstance[Any]] = []
        self._least_distance = math.inf

    def choose(self, choice: int, state: Any, taken: int) -> Move:
        """The step that a drawn number stands for, in a state to which so many steps were taken.

        It is the first enabled one in an order of preference over all instances, so that it stays the
        same step when Hypothesis, shrinking, leaves out an earlier one that it does not depend on. If the spec has a
        distance, the upper half of the numbers stands for steps that lead to the least distance.
        """
        enabled = self.moves(choice, state)
        if not enabled or taken == self.longest:
            return Move(None, self.states[0])
        instance = min(enabled, key=self._preferences[choice].__getitem__)
        return Move(instance, enabled[instance][choice % len(enabled[instance])])

    def moves(self, choice: int, state: Any) -> dict[ActionInstance[Any], list[Any]]:
        """The steps that a drawn number may stand for in a state, and where they lead."""
        guided = self.spec.distance is not None and choice >= CHOICES // 2
        return self._nearest(state) if guided else self.visited.steps(state).moves

    def _nearest(self, state: Any) -> dict[ActionInstance[Any], list[Any]]:
        """The steps from a state that lead to the least distance."""
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
    def begin(self, state: Any) -> None:
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
        """Look for evidence in the state and step that the behaviour has come to, once for each."""
        self.arrived()
        state, step = self.states[-1], tuple(self.states[-2:])
        if self.spec.distance is not None:
            self._least_distance = min(self._least_distance, self.spec.distance_of(state))
        if step not in self._checked:  # in an initial state it is no step, and nothing is done twice by that
            self._look_at(self.states, self.instances, steps=True)
            self._checked.add(step)
        if state not in self._checked:
            self._look_at(self.states, self.instances, steps=False)
            for instance in self.visited.steps(state).idle:
                self._look_at([*self.states, state], [*self.instances, instance], steps=True)
            self._checked.add(state)

    def _look_at(self, states: list[Any], instances: list[ActionInstance[Any]], *, steps: bool) -> None:
        for item in [item for item in self.sought if item.kind.of_steps == steps]:
            if complaint_at_end(self.spec, item, states) is not None:
                self.met(Trace(self.spec, states, instances, item))

    def teardown(self) -> None:
        """Give Hypothesis the least distance in the test case as a target."""
        if self._least_distance < math.inf:
            target(0 - self._least_distance, label="distance")  # reported as 0, not as -0

    def arrived(self) -> None:
        """Called when the behaviour has reached a state, before its properties are checked."""

    def met(self, trace: Trace[Any]) -> None:
        """Called with a behaviour that is evidence about a property that is sought."""
        raise PropertyViolated(trace)


def state_machine(spec: Spec[Any]) -> type[SpecMachine]:
    """A Hypothesis state machine of a spec.

    Only enabled action instances are drawn; invariants, step invariants and, where asked for, the
    absence of deadlock are checked after each. Witnesses are not: one behaviour need not show them.
    If the spec has a distance, about half of the steps go to the least distance, and the least distance in a test case
    is a target for Hypothesis: see `hypothesis.target`.

    Parameters:
        spec: the spec, with its bounds.

    Returns:
        A class. In pytest, ``TestLock = state_machine(spec).TestCase`` is a test; its ``settings``
        are Hypothesis's own.
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
