"""A Hypothesis state machine that tests a spec.

Hypothesis draws steps of the spec, and the properties are checked after each step. When a property is violated,
Hypothesis shrinks the steps. The settings of the user's test suite apply.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, TypeVar

import attrs
from hypothesis import strategies as st
from hypothesis import target
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from leadline.checker.action import ActionInstance
from leadline.checker.engines.random.visited_states import VisitedStates
from leadline.checker.engines.set_order import check_order
from leadline.checker.errors import SpecError
from leadline.checker.liveness.refusal import refuse_liveness
from leadline.checker.properties import Property
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.checker.trace import Trace, complaint_at_end

__all__ = ["PropertyViolated", "state_machine"]

S = TypeVar("S")

Moves = dict[ActionInstance[object], list[object]]
"""The steps from a state: the next states of each action instance that is enabled."""


class PropertyViolated(AssertionError):
    """Raised when a state machine finds a violation. The message lists the steps.

    Attributes:
        trace: the trace that violates the property.
    """

    def __init__(self, trace: Trace[Any]) -> None:
        self.trace = trace
        about = trace.about
        assert about is not None
        taken = [step.instance for step in trace.steps]
        steps = [f"  {index}. {visible(repr(instance))}" for index, instance in enumerate(taken, start=1)]
        complaint = f" ({trace.complaint})" if trace.complaint else ""
        violated = visible(f"{about.name} is violated: it requires that {about.sentence}{complaint}")
        super().__init__("\n".join([violated, *steps]))


CHOICES = 256
"""The number of orders of preference of a spec's action instances. A byte that Hypothesis draws selects an order."""

MOST_AT_ONCE = 20
"""The maximum number of steps that are drawn at once."""


class Printer(Protocol):
    """The pretty-printer that Hypothesis passes to `_repr_pretty_`."""

    def text(self, text: str) -> None: ...


@attrs.frozen(eq=False, repr=False)
class Move:
    """A step of a behaviour, or the beginning of a new behaviour.

    Attributes:
        instance: the action instance of the step, or None for the beginning of a behaviour.
        state: the state after the step, or the initial state.
    """

    instance: ActionInstance[object] | None
    state: object

    def __repr__(self) -> str:
        return visible(repr(self.instance)) if self.instance else "begin"

    def _repr_pretty_(self, printer: Printer, cycle: bool) -> None:
        printer.text(repr(self))  # without this method, Hypothesis ignores the repr and prints all fields


@st.composite
def bursts(draw: st.DrawFn) -> list[Move]:
    """Draw several steps. Each step is enabled in the state to which the previous step leads.

    Each draw has an overhead in Hypothesis, so drawing several steps at once is faster.
    """
    machine: SpecMachine = draw(st.runner())
    moves: list[Move] = []
    state = machine.states[-1]
    for choice in draw(st.binary(min_size=1, max_size=MOST_AT_ONCE)):
        moves.append(machine.choose(choice, state))
        state = moves[-1].state
    return moves


class SpecMachine(RuleBasedStateMachine):
    """The base class of the state machines that `state_machine` returns. A machine runs behaviours of one spec.

    A behaviour ends when no action leads to a different state. Then the next behaviour begins at the same initial
    state, so that no random data from Hypothesis is wasted. A step that leads back to the same state is checked but not
    taken.

    Attributes:
        sought: the properties to check.
        visited: the states that behaviours of this class have visited.
        states: the states of the current behaviour.
        instances: the action instances of the current behaviour.
    """

    spec: ClassVar[Spec[object]]
    sought: ClassVar[list[Property]]
    visited: ClassVar[VisitedStates[object]]
    _preferences: ClassVar[list[dict[ActionInstance[object], int]]]
    _checked: ClassVar[set[object]]
    _nearest_moves: ClassVar[dict[object, Moves]]
    _refusal: ClassVar[Callable[[], str]]

    def __init__(self) -> None:
        super().__init__()
        if refusal := type(self)._refusal():
            raise SpecError(refusal)
        self.states: list[object] = []
        self.instances: list[ActionInstance[object]] = []
        self._least_distance = math.inf

    def choose(self, choice: int, state: object) -> Move:
        """Return the next step of a behaviour, or the beginning of a new behaviour if the behaviour has ended.

        `choice` selects an order of preference among the action instances. The first enabled action instance in this
        order takes the step. The same step is therefore still chosen when Hypothesis shrinks the behaviour and removes
        an earlier, independent step. If the spec has a distance, choices in the upper half of the range allow only
        steps that lead to the smallest distance.

        Parameters:
            choice: a number below `CHOICES`.
        """
        enabled = self.moves(choice, state)
        if not enabled:
            return Move(None, self.states[0])
        instance = min(enabled, key=self._preferences[choice].__getitem__)
        return Move(instance, enabled[instance][choice % len(enabled[instance])])

    def moves(self, choice: int, state: object) -> Moves:
        """Return the steps that `choice` allows from a state; see `choose`."""
        guided = self.spec.distance is not None and choice >= CHOICES // 2
        return self._nearest(state) if guided else self.visited.steps(state).moves

    def _nearest(self, state: object) -> Moves:
        """Return the steps from a state after which the distance is smallest; see `Spec.distance`."""
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
        """Check the properties for the last state and the last step of the behaviour, unless this has already been
        done.
        """
        state, step = self.states[-1], tuple(self.states[-2:])
        if self.spec.distance is not None:
            self._least_distance = min(self._least_distance, self.spec.distance_of(state))
        if step not in self._checked:  # for an initial state, `step` contains only the state
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
                raise PropertyViolated(Trace(self.spec, states, instances, item))

    def teardown(self) -> None:
        """Report the smallest distance in the test case to Hypothesis, so that Hypothesis tries to minimize the
        distance.
        """
        if self._least_distance < math.inf:
            target(0 - self._least_distance, label="distance")  # unlike `-x`, `0 - x` is not -0.0 for 0.0


def _refusal(spec: Spec[S]) -> str:
    """Return a message that says how a spec depends on the order of a set, or an empty string if the spec does not."""
    try:
        check_order(spec)
    except SpecError as error:
        return str(error)
    return ""


def state_machine(spec: Spec[S]) -> type[SpecMachine]:
    """Return a Hypothesis state machine for a spec.

    Hypothesis draws only steps that are enabled. After each step, the machine checks the invariants and the step
    invariants. If the spec requires it, the machine also checks for deadlocks. It does not check witnesses, because a
    single behaviour need not satisfy them. If the spec has a distance, about half of the steps lead to the smallest
    distance, and Hypothesis tries to minimize the smallest distance of a test case; see `hypothesis.target`.

    Parameters:
        spec: the spec, with its bounds.

    Returns:
        A subclass of `hypothesis.stateful.RuleBasedStateMachine`. For pytest to run it, assign its `TestCase` to a name
        in a test module, as in ``TestLock = state_machine(spec).TestCase``.

    Raises:
        SpecError: if the spec has a liveness property.
    """
    refuse_liveness(spec, "Hypothesis", "select others with `with_properties`, or use `assert_holds`")
    name = "".join(part.capitalize() for part in spec.name.replace("/", " ").replace("-", " ").split())
    orders = [random.Random(choice).sample(spec.instances, len(spec.instances)) for choice in range(CHOICES)]
    members = {
        "spec": spec,
        "sought": [item for item in spec.checks if not item.kind.is_witness],
        "visited": VisitedStates(spec),
        "_preferences": [{instance: place for place, instance in enumerate(order)} for order in orders],
        "_checked": set(),
        "_nearest_moves": {},
        "_refusal": staticmethod(functools.cache(functools.partial(_refusal, spec))),  # not while modules are imported
    }
    return type(name if name.isidentifier() else "Machine", (SpecMachine,), members)
