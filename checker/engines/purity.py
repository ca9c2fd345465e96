"""Checks that actions and properties are pure functions, and that states are compared by value.

A search calls each function once for each state and relies on the result. This module calls functions repeatedly and
compares the results. It finds many functions that draw random numbers, read a clock, store data between calls, change
the state that they receive, or depend on the iteration order of a set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from leadline.checker.action import ActionInstance
from leadline.checker.bag import Bag
from leadline.checker.errors import SpecError
from leadline.checker.map import Map
from leadline.checker.properties import OF_STATES, OF_STEPS, Kind
from leadline.checker.settings import DEFAULT, Tuning
from leadline.checker.spec import Spec
from leadline.checker.state import check_state
from leadline.checker.values import copied, key, rule_of

S = TypeVar("S")

BY_IDENTITY = "its {} depend on the identity of objects; compare objects with == instead of `is`"
"""The error message for a function that gives different results for equal states made of different objects."""

LATER = "the same state later gave different {}"
"""The error message for a function that gives different results for the same state at different times."""

BY_ORDER = "it depends on the order in which a set, a Bag or a Map iterates"
"""The error message for a function that gives different results for equal states that iterate in different orders."""

ALWAYS, GROWTH = 30, 1.25
"""The number of states at the start of a search that are all tested, and the factor by which the number of states must
then grow before another one is tested. These tests take little time and find almost all functions that are not pure."""

KEPT = 16
"""The maximum number of states that are checked again when the search ends."""


class Purity(Generic[S]):
    """Checks that the functions of a spec are pure, on a sample of the states that a search visits.

    Parameters:
        tuning: internal settings; see `Tuning.pure_states`.
        with_distance: whether to check `Spec.distance` too.
    """

    def __init__(self, spec: Spec[S], tuning: Tuning = DEFAULT, *, with_distance: bool = False) -> None:
        self.spec, self._most, self._with_distance = spec, tuning.pure_states, with_distance
        self._state_checks = spec.checks_of(*OF_STATES, Kind.FINAL)
        self._step_checks = spec.checks_of(*OF_STEPS)
        self._offered, self._next = 0, 0
        self._kept: list[tuple[S, dict[str, object]]] = []

    def check(self, state: S) -> None:
        """Check a state of the search, if it belongs to the sample.

        Raises:
            SpecError: if an action or a property is not a pure function, or the state is not compared by value. The
                message names the action, the property or the part of the state.
        """
        self._offered += 1
        if self._offered <= self._next:
            return
        if self._most is not None and self._offered > self._most:
            return
        self._next = self._offered if self._offered < ALWAYS else int(GROWTH * self._offered)
        check_state(state, self.spec.initials()[0])
        before, contents = fresh(state), key(state)
        once, of_twin = self._outcomes(state, before), self._outcomes(fresh(state), before)
        if of_twin != once:
            self._compare(once, self._outcomes(state, before), "the same state gave different {}")
        if key(state) != contents:
            raise SpecError("a constant of the state was changed: actions and properties must not change states")
        for twin in (_reordered(state, lambda items: frozenset(items[::-1])), _reordered(state, _from_set)):
            if twin is not state:
                self._compare(once, self._outcomes(twin, before), BY_ORDER)
        self._compare(once, of_twin, BY_IDENTITY)  # last, because the sets of a copy can have another order
        if self._offered.bit_count() == 1 and len(self._kept) < KEPT:
            self._kept.append((state, once))

    def check_again(self) -> None:
        """Check some states again at the end of a search, to find functions that store data between calls.

        Raises:
            SpecError: if an action or a property is not a pure function. The message names it.
        """
        for state, once in self._kept:
            self._compare(once, self._outcomes(state, state), LATER)

    def _outcomes(self, state: S, before: S) -> dict[str, object]:
        """Return the results of all actions and properties for a state, keyed by name.

        Parameters:
            before: a copy of the state. An error is raised if the state differs from this copy, because a call has
                changed it.
        """
        outcomes: dict[str, Any] = {}
        steps: list[S] = []
        for instance in self.spec.instances:
            taken = self.spec.steps(instance, state)
            if before != state:
                raise SpecError(f"action {instance} changed the state that it was given: it must yield a new state")
            found = outcomes.setdefault(f"action {instance}", Counter[tuple[int, S]]())
            found.update((each.rank, after) for each, after in taken)
            steps += (after for _, after in taken)
        for item in self._state_checks:
            outcomes[f"{item.kind.value} {item.name}"] = self.spec.complaint(item, state) is None
        for item in self._step_checks:
            verdicts = Counter((after, self.spec.complaint(item, state, after) is None) for after in steps)
            outcomes[f"{item.kind.value} {item.name}"] = verdicts
        if before != state:
            raise SpecError("a property changed the state that it was given: properties must not change states")
        if self._with_distance and self.spec.is_within(state):
            outcomes["distance"] = self.spec.distance_of(state)
        if before != state:
            raise SpecError("distance changed the state that it was given: it must not change states")
        return outcomes

    def _compare(self, once: dict[str, object], again: dict[str, object], text: str) -> None:
        for name, outcome in once.items():
            if again[name] != outcome:
                what = "next states" if name.startswith("action ") else "values" if name == "distance" else "verdicts"
                raise SpecError(f"{name} is not deterministic: {text.format(what)}")


def leads_elsewhere(instance: ActionInstance[S]) -> SpecError:
    """Return the error for an action instance that returns different next states when it is called again."""
    return SpecError(f"action {instance} is not deterministic: {LATER.format('next states')}")


def fresh(value: Any) -> Any:
    """Return a copy of a value at every depth. Constants, and parts that cannot change, are shared with the value."""
    cls: type = type(value)
    if cls is frozenset:
        return frozenset([fresh(item) for item in value])
    if cls is Bag:
        return Bag.of({fresh(member): count for member, count in value.items()})
    if cls is Map:
        return Map({fresh(key): fresh(item) for key, item in value.items()})
    rule = rule_of(cls)
    if rule.is_tuple:
        return tuple.__new__(cls, [fresh(item) for item in value])
    names = [*rule.variables(value)]
    made = copied(value) if names or rule.names else value
    for name in names:
        object.__setattr__(made, name, fresh(getattr(value, name)))
    return made


def _from_set(items: list[object]) -> frozenset[object]:
    """Return a set of the given items. Its iteration order may differ from that of an equal set."""
    return frozenset(set(items))


def _reordered(value: Any, make: Callable[[list[object]], frozenset[object]]) -> Any:
    """Return an equal value whose sets iterate in a different order, or the value itself if there is no such value.

    Parameters:
        value: the value. Sets nested in attrs objects, tuples and other sets are reordered too.
        make: a function that returns a set of the given elements.
    """
    cls: type = type(value)
    if cls is Bag:
        reordered = [*value.items()][::-1]
        return value if len(reordered) < 2 else Bag.of(dict(reordered))
    if cls is Map:
        turned = {key: _reordered(item, make) for key, item in [*value.items()][::-1]}
        is_same = len(turned) < 2 and all(turned[key] is item for key, item in value.items())
        return value if is_same else Map(turned)
    if cls is frozenset:
        members = [_reordered(member, make) for member in value]
        made = make(members)
        return value if all(one is old for one, old in zip(made, value, strict=True)) else made
    rule = rule_of(cls)
    if rule.is_tuple:
        items = [_reordered(item, make) for item in value]
        return value if all(one is old for one, old in zip(items, value, strict=True)) else tuple.__new__(cls, items)
    changed = None
    for name in rule.variables(value):
        old = getattr(value, name)
        if (new := _reordered(old, make)) is not old:
            changed = changed or copied(value)
            object.__setattr__(changed, name, new)
    return changed or value
