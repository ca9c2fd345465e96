"""What a spec's functions say: instances and their steps, predicates, initial states.

Only plain functions and declarations of a `Spec` are read: the functions of its actions and properties, domains, drawn
values, fairness and effects. What they return is checked here, by the rules of the documents.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterable, Iterator, Set
from typing import Any, NamedTuple

from leadline.checker import Action, Kind, Property, Spec
from tests.reference.values import Key, Places, Refused, key


class Instance(NamedTuple):
    """An action with the values of all its parameters.

    Attributes:
        action: the index of the action in the spec.
        values: a key for each value, in the order of `names`.
        name: the instance as text, for people. Two instances can have the same.
        arguments: the value of each parameter, keyed by its name.
    """

    action: int
    values: tuple[Key, ...]
    name: str
    arguments: dict[str, Any]

    @property
    def identity(self) -> tuple[int, tuple[Key, ...]]:
        return self.action, self.values


def with_values(name: str, arguments: dict[str, Any]) -> str:
    return f"{name}({', '.join(f'{parameter}={value}' for parameter, value in arguments.items())})"


class Rules:
    """The rules of one spec, and what was seen of its values."""

    def __init__(self, spec: Spec[Any]) -> None:
        self.spec = spec
        self.places = Places()
        self.conditions = [_fairness(spec, action) for action in spec.actions]
        self.groups = [(names, _parts(fair)) for names, fair in spec.fairness.items() if isinstance(names, tuple)]
        self.fixed: list[list[dict[str, Any]]] = []
        self.properties: list[tuple[str, Property, dict[str, Any]]] = []

    def read(self) -> None:
        """Read the values of all parameters that do not depend on the state.

        Raises:
            Refused: if they are not valid.
        """
        self.fixed = [self._fixed(action) for action in self.spec.actions]
        self.properties = [each for item in self.spec.properties for each in self._instances(item)]

    def _domain(self, owner: str, parameter: str, domain: Any) -> list[Any]:
        given = domain if isinstance(domain, Iterable) else domain(self.spec.bounds)
        if isinstance(given, Set):
            raise Refused(f"{owner}: the domain of {parameter} has no order")
        values = list(given)
        for value in values:
            self.places.add((owner, parameter), value)
        if len(set(map(key, values))) < len(values):
            raise Refused(f"{owner}: the domain of {parameter} has a value twice")
        return values

    def _fixed(self, action: Action[Any, ...]) -> list[dict[str, Any]]:
        """Return each combination of the values that do not depend on the state."""
        values = [self._domain(action.name, name, domain) for name, domain in action.domains.items()]
        return [dict(zip(action.domains, each, strict=True)) for each in itertools.product(*values)]

    def _instances(self, item: Property) -> Iterator[tuple[str, Property, dict[str, Any]]]:
        values = [self._domain(item.name, name, domain) for name, domain in item.domains.items()]
        for each in itertools.product(*values):
            arguments = dict(zip(item.domains, each, strict=True))
            yield (with_values(item.name, arguments) if arguments else item.name), item, arguments

    def initial_states(self) -> list[Any]:
        """Return the initial states, each once.

        Raises:
            Refused: if there are none, or if two are equal and not the same.
        """
        states: dict[Key, Any] = {}
        for state in self.spec.initial_states(self.spec.bounds):
            made = key(state)
            states.setdefault(made, state)
            self.places.add("initial states", state, is_whole=True)
        if not states:
            raise Refused("there is no initial state")
        if not any(self.is_within(state) for state in states.values()):
            raise Refused("within is false in every initial state")
        return list(states.values())

    def instances(self, state: Any) -> Iterator[Instance]:
        """Yield the instances of all actions with the values drawn from a state, each once, in order."""
        for number, action in enumerate(self.spec.actions):
            for fixed in self.fixed[number]:
                for drawn in self._drawn(action, state):
                    arguments = {**fixed, **drawn}
                    yield Instance(
                        number, tuple(map(key, arguments.values())), with_values(action.name, arguments), arguments
                    )

    def _drawn(self, action: Action[Any, ...], state: Any) -> Iterator[dict[str, Any]]:
        collections = []
        for name, values_of in action.drawn.items():
            values = values_of(state)
            if not isinstance(values, Iterable):
                raise Refused(f"{action.name}: the domain of {name} is not a collection")
            here = Places()
            distinct: dict[Key, Any] = {}
            for value in values:
                here.add(f"{action.name}: what {name} can be", value)
                distinct.setdefault(key(value), value)
            collections.append(list(distinct.values()))
            try:  # values that are equal and not the same in *different* states may be refused too
                for value in collections[-1]:
                    self.places.add((action.name, name), value)
            except Refused as refused:
                self.places.doubtful = str(refused)
        for combination in itertools.product(*collections):
            yield dict(zip(action.drawn, combination, strict=True))

    def steps(self, state: Any) -> Iterator[tuple[Instance, Any]]:
        """Yield the steps from a state, in order, whether or not they change it."""
        for instance in self.instances(state):
            for after in self.take(instance, state):
                yield instance, after

    def take(self, instance: Instance, state: Any) -> list[Any]:
        """Return the next states of a state by one instance."""
        action = self.spec.actions[instance.action]
        found = list(_all_of(action.function(state, **instance.arguments), action.name))
        for after in found:
            if type(after) is not type(state):
                raise Refused(f"{action.name} yields {after!r}")
        return [after for after in found if self.is_taken(state, after)]

    def is_taken(self, before: Any, after: Any) -> bool:
        allows = self.spec.within_step
        return allows is None or _as_bool(allows(before, after), "within_step")

    def leaves_out(self, state: Any, *, changing: bool) -> bool:
        """Return whether a step from a state is not taken, or a step that changes it."""
        own = key(state)
        return self.spec.within_step is not None and not all(
            self.is_taken(state, after) or (changing and key(after) == own)
            for instance in self.instances(state)
            for after in self.spec.actions[instance.action].function(state, **instance.arguments)
        )

    def conditions_of(self, instance: Instance) -> set[tuple[Any, ...]]:
        """Return the fairness conditions of an instance, each as (strong, actions, values)."""
        own, action = self.conditions[instance.action], self.spec.actions[instance.action].name
        found = set() if own is None else {(own[0], action, self._told_apart(instance, own[1]))}
        groups = {
            (fair[0], names, self._told_apart(instance, fair[1])) for names, fair in self.groups if action in names
        }
        return found | groups

    def _told_apart(self, instance: Instance, names: list[str] | None) -> tuple[Any, ...]:
        return instance.values if names is None else tuple((name, key(instance.arguments[name])) for name in names)

    def is_true(self, entry: tuple[str, Property, dict[str, Any]], *states: Any) -> bool:
        """Return whether a property is true, apart from its premise."""
        name, item, arguments = entry
        outcome = item.function(*states, **arguments)
        if item.kind in (Kind.INVARIANT, Kind.STEP_INVARIANT) and inspect.isgenerator(outcome):
            sentences = list(_all_of(outcome, name))
            if not all(isinstance(sentence, str) for sentence in sentences):
                raise Refused(f"{name} yields something that is no sentence")
            return not sentences
        return _as_bool(outcome, name)

    def premise(self, entry: tuple[str, Property, dict[str, Any]], state: Any) -> bool | None:
        """Return whether the premise of a property is true in a state, or None if it has no premise."""
        _, item, arguments = entry
        if item.at_rest:
            return self.is_at_rest(state)
        if item.premise is None:
            return None
        premise = item.premise.function if isinstance(item.premise, Property) else item.premise
        taken = list(inspect.signature(premise).parameters)[1:]
        return _as_bool(premise(state, **{name: arguments[name] for name in taken}), "a premise")

    def is_within(self, state: Any) -> bool:
        return self.spec.within is None or _as_bool(self.spec.within(state), "within")

    def is_final(self, state: Any) -> bool:
        return (self.spec.final is not None and _as_bool(self.spec.final(state), "final")) or self.leaves_out(
            state, changing=False
        )

    def is_open(self, state: Any) -> bool:
        if not self.is_within(state) or (self.spec.cut is not None and _as_bool(self.spec.cut(state), "cut")):
            return True
        return self.leaves_out(state, changing=True)

    def is_at_rest(self, state: Any) -> bool:
        """Return whether no step of a healing action changes a state, and the state is not open."""
        own = key(state)
        return not self.is_open(state) and not any(
            self.effect(instance) == "healing" and any(key(after) != own for after in self.take(instance, state))
            for instance in self.instances(state)
        )

    def effect(self, instance: Instance) -> str:
        return self.spec.actions[instance.action].effect


def _all_of(generator: Any, name: str) -> Iterator[Any]:
    """Yield what a generator yields.

    Raises:
        Refused: if it also returns something.
    """
    returned = yield from generator
    if returned is not None:
        raise Refused(f"{name} is a generator, and returns {returned!r}")


def returned(predicate: Any, *states: Any) -> bool:
    """Return what a predicate in a formula returns."""
    return _as_bool(predicate(*states), "a condition")


def _as_bool(outcome: object, name: str) -> bool:
    if type(outcome) is not bool:
        raise Refused(f"{name} returns {outcome!r} instead of True or False")
    return outcome


def _fairness(spec: Spec[Any], action: Action[Any, ...]) -> tuple[bool, list[str] | None] | None:
    """Return (whether it is strong, the parameters whose values are told apart), or None. None stands for all."""
    fair = spec.fairness.get(action.name, action.fair)
    return _parts(fair) if fair else None


def _parts(fair: str) -> tuple[bool, list[str] | None]:
    strength, _, each = fair.partition(" ")
    if not each:
        return strength == "strong", []
    names = each.removeprefix("each").strip()
    return strength == "strong", names.split(", ") if names else None
