"""Specs: the input of every engine."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from numbers import Real
from typing import Any, Generic, TypeVar

import attrs

from leadline.checker.action import Action, ActionInstance, Step
from leadline.checker.bounds import NoBounds, bounds_text, change_bounds, describe_bounds
from leadline.checker.canonical import canonical
from leadline.checker.drawing import Drawing, Event, Message, Row
from leadline.checker.errors import LeadlineError, SpecError, raised
from leadline.checker.properties import DEADLOCK, Kind, Premise, Property, premise_property
from leadline.checker.state import check_shape, check_state, check_state_class
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import nearest

S = TypeVar("S")
T = TypeVar("T")

MOST_COMPLAINTS = 100
"""The largest number of sentences of a property that are shown for one state or step."""


def as_tuple(values: Iterable[object]) -> tuple[object, ...]:
    """Convert an iterable to a tuple; an attrs converter, so that callers can pass lists.

    Raises:
        SpecError: the value is not iterable.
    """
    if not isinstance(values, Iterable):
        raise SpecError(f"pass a list, even for one value: [{_name(values)}]")
    return tuple(values)


@attrs.frozen(kw_only=True, eq=False)
class Spec(Generic[S]):
    """Initial states, actions, properties and bounds.

    Attributes:
        name: the name of the spec on the command line: a catalog name, or ``path/to/file.py:name``.
        summary: one sentence on what the spec models.
        note: an explanation of the name, shown below the name of a run; empty for most specs.
        initial_states: a function of the bounds that returns the initial states.
        actions: the transition rules, with unique names.
        properties: the invariants, step invariants and witnesses to check.
        bounds: a frozen attrs value whose fields were declared with `bound`.
        check_deadlock: whether a state without a next state is a violation.
        within: a predicate of states that limits the search, like ``CONSTRAINT`` in TLC. A state for which it is false
            is outside: the state is generated, and all properties are checked for it and for the step into it, but it
            has no next states, does not count as a distinct state, and is not a deadlock.
        distance: a function that estimates how far a state is from a violation. It returns a finite number that is at
            least 0; smaller is nearer. It guides `leadline.checker.stateful.state_machine` and random searches, and
            never changes the result of an exhaustive search.
        drawing: describes how views display the states; by default, they show components and fields.

    Raises:
        SpecError: a part is invalid; the message names it.
    """

    name: str
    summary: str = ""
    note: str = ""
    initial_states: Callable[[Any], Iterable[S]]
    actions: tuple[Action[S, ...], ...] = attrs.field(converter=as_tuple)
    properties: tuple[Property, ...] = attrs.field(default=(), converter=as_tuple)
    bounds: Any = attrs.field(factory=NoBounds)
    check_deadlock: bool = False
    within: Callable[[S], bool] | None = None
    distance: Callable[[S], float] | None = None
    drawing: Drawing[S] | None = None

    def __attrs_post_init__(self) -> None:
        if not callable(self.initial_states):
            raise SpecError(f"spec {self.name}: initial_states must be a function of the bounds")
        for name, function in (("within", self.within), ("distance", self.distance)):
            if function is not None and not callable(function):
                raise SpecError(f"spec {self.name}: {name} must be a function of a state, not {function!r}")
        if not self.actions:
            raise SpecError(f"spec {self.name} has no actions")
        for action in self.actions:
            if not isinstance(action, Action):
                raise SpecError(f"spec {self.name}: {_name(action)} is not an action: decorate it with @action(...)")
        for item in self.properties:
            if not isinstance(item, Property):
                raise SpecError(f"spec {self.name}: {_name(item)} is not a property: decorate it with @invariant(...)")
        for kind, names in (
            ("actions", [action.name for action in self.actions]),
            ("properties", [item.name for item in self.checks]),
        ):
            for name in names:
                if names.count(name) > 1:
                    raise SpecError(f"spec {self.name}: two {kind} are called {name!r}")
        if not isinstance(self.drawing, Drawing | None):
            raise SpecError(f"spec {self.name}: drawing must be a Drawing, not {_name(self.drawing)}")
        if not (attrs.has(type(self.bounds)) and attrs.inspect(type(self.bounds)).is_frozen):
            raise SpecError(f"spec {self.name}: bounds must be a frozen attrs value, not {self.bounds!r}")
        for name, value, *_ in describe_bounds(self.bounds):
            if type(value) not in (int, bool, str):
                raise SpecError(f"spec {self.name}: bound {name} must be an int, a bool or a str, not {value!r}")

    @property
    def checks(self) -> tuple[Property, ...]:
        """The properties, and `DEADLOCK` if `check_deadlock` is set."""
        return (*self.properties, DEADLOCK) if self.check_deadlock else self.properties

    @functools.cached_property
    def _premises(self) -> dict[Premise, Property]:
        """Map the premise of each property, as it was passed to the decorator, to a property of kind `Kind.PREMISE`."""
        given = dict.fromkeys(item.premise for item in self.properties if item.premise is not None)
        return {premise: premise_property(premise) for premise in given}

    @property
    def premises(self) -> tuple[Property, ...]:
        """The distinct premises of the properties, as properties of kind `Kind.PREMISE`."""
        return tuple(self._premises.values())

    def premise_of(self, item: Property) -> Property | None:
        """The premise of a property, as in `premises`; None if the property has no premise."""
        return None if item.premise is None else self._premises[item.premise]

    @functools.cached_property
    def constraint(self) -> Property | None:
        """The predicate `within` as a property; None if the spec does not have one."""
        if self.within is None:
            return None
        name = getattr(self.within, "__name__", "within")
        return Property(name=name, kind=Kind.CONSTRAINT, sentence="", function=self.within, source="")

    def is_within(self, state: S) -> bool:
        """Whether `within` is true for a state. Raises SpecError: it raised an exception or did not return a bool."""
        return self.constraint is None or self.complaint(self.constraint, state) is None

    def distance_of(self, state: S) -> float:
        """The `distance` of a state. The spec must have one.

        Raises:
            SpecError: `distance` raised an exception, or returned something other than a finite number >= 0.
        """
        assert self.distance is not None
        function = self.distance
        distance = _guarded("distance", lambda: function(state))
        if not isinstance(distance, Real) or isinstance(distance, bool) or not 0 <= distance <= sys.float_info.max:
            try:
                what = repr(distance)
            except ValueError:  # see `sys.set_int_max_str_digits`
                what = "an int with thousands of digits"
            raise SpecError(f"distance must return a finite number that is at least 0, not {what}")
        return float(distance)

    @property
    def named_bounds(self) -> str:
        """The bounds in the notation of the option ``-b``, or ``no bounds``, for the end of a sentence."""
        return bounds_text(attrs.asdict(self.bounds)) or "no bounds"

    @functools.cached_property
    def instances(self) -> tuple[ActionInstance[S], ...]:
        """The instances of all actions, one for each combination of parameter values, in the spec's order.

        Raises:
            SpecError: a domain is invalid, or no action has a combination of parameter values.
        """
        found = tuple(instance for action in self.actions for instance in action.instances(self.bounds))
        if not found:
            names = ", ".join(action.name for action in self.actions)
            raise SpecError(
                f"no action can be taken: with {self.named_bounds}, every action has a parameter with an empty domain: "
                f"{names}"
            )
        return found

    def with_bounds(self, changes: Mapping[str, object]) -> Spec[S]:
        """Return the spec with some bounds changed. Raises SpecError: a name is unknown, or a value is not allowed."""
        return attrs.evolve(self, bounds=change_bounds(self.bounds, changes))

    def with_properties(self, names: Iterable[str]) -> Spec[S]:
        """Return the spec with only the named properties.

        Raises:
            SpecError: a name is not a property of this spec; the message suggests the nearest names.
        """
        wanted = list(dict.fromkeys(names))
        known = [item.name for item in self.checks]
        for name in wanted:
            if name not in known:
                raise SpecError(f"{self.name} has no property {name!r}{nearest(name, known)}")
        return attrs.evolve(
            self,
            properties=[item for item in self.properties if item.name in wanted],
            check_deadlock=self.check_deadlock and DEADLOCK.name in wanted,
        )

    @property
    def checks_and_premises(self) -> tuple[Property, ...]:
        """All properties that a search checks: `checks`, then `premises`."""
        return (*self.checks, *self.premises)

    def checks_of(self, *kinds: Kind) -> tuple[Property, ...]:
        """The properties of the given kinds, taken from `checks`, `premises` and `constraint`, in this order."""
        constraint = () if self.constraint is None else (self.constraint,)
        return tuple(item for item in (*self.checks_and_premises, *constraint) if item.kind in kinds)

    def initials(self) -> list[S]:
        """The distinct initial states.

        Raises:
            SpecError: there are no initial states, or one is not a valid state.
        """
        return list(self._initials)

    @functools.cached_property
    def _initials(self) -> tuple[S, ...]:
        returned = _guarded("initial_states", lambda: self.initial_states(self.bounds))
        if not isinstance(returned, Iterable):
            raise SpecError(f"spec {self.name}: initial_states must return a collection of states, not {returned!r}")
        if isinstance(returned, Set):
            raise SpecError(f"spec {self.name}: initial_states must return a list, not a set, which has no order")
        states = _guarded("initial_states", lambda: [state for state in returned])  # noqa: C416  # see `Action._values`
        if not states:
            raise SpecError(f"spec {self.name} has no initial state with {self.named_bounds}")
        check_state_class(type(states[0]))
        for state in states:
            check_state(state, states[0])
        return tuple(map(canonical, dict.fromkeys(states)))

    def take(self, instance: ActionInstance[S], state: S) -> list[S]:
        """The `canonical` next states of one action instance; empty if it is not enabled.

        Raises:
            SpecError: the action raised an exception, or yielded something that is not a valid next state.
        """
        try:
            successors = list(instance.successors(state))
        except (LeadlineError, KeyboardInterrupt, MemoryError):
            raise
        except BaseException as error:
            raise SpecError(f"action {instance} {raised(error)}") from error
        for successor in successors:
            if type(successor) is not type(state):
                raise SpecError(f"action {instance} must yield a {_name(type(state))}, not {successor!r}")
            try:
                check_shape(successor, state)
                if not _hashable(successor):
                    check_state(successor, state)  # raises an error that names the field
            except SpecError as error:
                raise SpecError(f"action {instance}: {error}") from error
            except RecursionError as error:
                raise SpecError(f"action {instance} yields a state that is nested too deeply to be hashed") from error
        return [canonical(successor, state) for successor in successors]

    def successors(self, state: S) -> Iterator[tuple[ActionInstance[S], S]]:
        """Yield every step from a state, as the action instance and the next state; none if the state is outside.

        See `take` and `within`.
        """
        if not self.is_within(state):
            return
        for instance in self.instances:
            for successor in self.take(instance, state):
                yield instance, successor

    def complaint(self, item: Property, *states: S) -> str | None:
        """The reason why a property is false for a state or step; None if it is true. See `Property.complaint`.

        Raises:
            SpecError: the predicate raised an exception.
        """
        return _guarded(f"{item.kind.value} {item.name}", lambda: item.complaint(*states))

    def complaints(self, item: Property, *states: S) -> list[str]:
        """At most `MOST_COMPLAINTS` reasons why a property is false for a state or step. See `Property.complaints`.

        Raises:
            SpecError: the predicate raised an exception.
        """
        return _guarded(
            f"{item.kind.value} {item.name}",
            lambda: list(itertools.islice(item.complaints(*states), MOST_COMPLAINTS)),
        )

    def rows(self, state: S) -> dict[str, Row]:
        """The rows of a state, from the drawing; empty if the spec has no drawing.

        Raises:
            SpecError: the drawing raised an exception, or returned a value of the wrong type.
        """
        rows = _guarded("the drawing's rows", lambda: dict(self.drawing.rows(state)) if self.drawing else {})
        for row in rows.values():
            _check_drawn("rows", row, Row)
        return {visible(name): row for name, row in rows.items()}

    def messages(self, state: S) -> list[Message]:
        """The messages in flight in a state, from the drawing. Raises SpecError: see `rows`."""
        return self._drawn_messages("messages", lambda drawing: drawing.messages(state))

    def arrivals(self, step: Step[S]) -> list[Message]:
        """The messages that arrive in a step, from the drawing. Raises SpecError: see `rows`."""
        return self._drawn_messages("arrivals", lambda drawing: drawing.arrivals(step))

    def events(self, steps: Sequence[Step[S]]) -> list[Event]:
        """The events that decided the outcome of a behaviour, from the drawing, in the order of the steps.

        Raises:
            SpecError: see `rows`; or an event refers to a state that the behaviour does not have.
        """
        events = _guarded("the drawing's events", lambda: list(self.drawing.events(steps)) if self.drawing else [])
        for event in events:
            _check_drawn("events", event, Event)
            if not 0 <= event.state <= len(steps):
                raise SpecError(
                    f"the drawing's events refer to state {event.state}, but the behaviour has only {len(steps)} steps"
                )
        return sorted(events, key=lambda event: event.state)

    def _drawn_messages(self, what: str, call: Callable[[Drawing[S]], Iterable[Message]]) -> list[Message]:
        messages = _guarded(f"the drawing's {what}", lambda: list(call(self.drawing)) if self.drawing else [])
        for message in messages:
            _check_drawn(what, message, Message)
        return messages


def _check_drawn(what: str, value: object, right: type) -> None:
    if not isinstance(value, right):
        raise SpecError(f"the drawing's {what} must be of class {right.__name__}, not {value!r}")


def _hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _guarded(what: str, call: Callable[[], T]) -> T:
    try:
        return call()
    except (LeadlineError, KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:
        raise SpecError(f"{what} {raised(error)}") from error


def _name(value: object) -> str:
    return getattr(value, "__name__", repr(value))
