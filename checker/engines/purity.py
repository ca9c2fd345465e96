"""Checks that actions and properties are pure functions, and that states are compared by value.

A search calls each function once for each state and relies on the result. This module calls functions repeatedly and
compares the results. It finds many functions that draw random numbers, read a clock, store data between calls, change
the state that they receive, or depend on the iteration order of a set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import attrs

from leadline.checker.action import ActionInstance
from leadline.checker.bag import Bag
from leadline.checker.engines.verdicts import Predicate, predicate, verdict
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


@attrs.frozen(eq=False)
class Outcomes(Generic[S]):
    """The results of all actions and properties for a state.

    Attributes:
        steps: for each action instance, the rank and the next state of each step.
        verdicts: for each property of states, whether it is true.
        of_steps: for each property of steps, whether it is true, for each step of `steps`.
        distance: the value of `Spec.distance`, or None if it was not called.
    """

    steps: list[list[tuple[int, S]]]
    verdicts: list[bool]
    of_steps: list[list[bool]]
    distance: object

    def tally(self, verdicts: list[bool]) -> Counter[tuple[S, bool]]:
        """Count the pairs of a next state and the verdict on the step. The order of the steps then does not matter."""
        return Counter(zip((after for steps in self.steps for _, after in steps), verdicts, strict=True))


class Purity(Generic[S]):
    """Checks that the functions of a spec are pure, on a sample of the states that a search visits.

    Parameters:
        tuning: internal settings; see `Tuning.pure_states`.
        with_distance: whether to check `Spec.distance` too.
    """

    def __init__(self, spec: Spec[S], tuning: Tuning = DEFAULT, *, with_distance: bool = False) -> None:
        self.spec, self._most, self._with_distance = spec, tuning.pure_states, with_distance
        self._state_checks = [predicate(item) for item in spec.checks_of(*OF_STATES, Kind.FINAL)]
        self._step_checks = [predicate(item) for item in spec.checks_of(*OF_STEPS)]
        self._offered, self._next = 0, 0
        self._kept: list[tuple[S, Outcomes[S]]] = []

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
        copy, contents = fresh(state), key(state)
        once, of_twin = self._outcomes(state, copy), self._of_twin(copy, state)
        if self._difference(once, of_twin):
            self._compare(once, self._outcomes(state, fresh(state)), "the same state gave different {}")
        if key(state) != contents:
            raise SpecError("a constant of the state was changed: actions and properties must not change states")
        for twin in (_reordered(state, lambda items: frozenset(items[::-1])), _reordered(state, _from_set)):
            if twin is not state:
                self._compare(once, self._of_twin(twin, state), BY_ORDER)
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

    def _of_twin(self, twin: S, state: S) -> Outcomes[S]:
        """Return the results for an equal state. The functions have left the state itself unchanged, so what they do to
        an equal one is compared only once, after all calls.
        """
        found = self._outcomes(twin, twin)
        if twin != state:
            self._outcomes(fresh(state), state)  # names the function
            raise SpecError("a copy of a state was changed: actions and properties must not change states")
        return found

    def _outcomes(self, state: S, before: S) -> Outcomes[S]:
        """Return the results of all actions and properties for a state.

        Parameters:
            before: a copy of the state. An error is raised if the state differs from this copy, because a call has
                changed it.
        """
        steps: list[list[tuple[int, S]]] = []
        for instance in self.spec.instances:
            taken = self.spec.steps(instance, state)
            if before != state:
                raise SpecError(f"action {instance} changed the state that it was given: it must yield a new state")
            steps.append([(each.rank, after) for each, after in taken])
        verdicts = [self._holds(called, state) for called in self._state_checks]
        successors = [after for found in steps for _, after in found]
        of_steps = [[self._holds(called, state, after) for after in successors] for called in self._step_checks]
        if before != state:
            raise SpecError("a property changed the state that it was given: properties must not change states")
        is_measured = self._with_distance and self.spec.is_within(state)
        distance = self.spec.distance_of(state) if is_measured else None
        if before != state:
            raise SpecError("distance changed the state that it was given: it must not change states")
        return Outcomes(steps, verdicts, of_steps, distance)

    def _holds(self, called: Predicate, *states: S) -> bool:
        known = verdict(called, *states)
        return self.spec.complaint(called.item, *states) is None if known is None else known

    def _difference(self, once: Outcomes[S], again: Outcomes[S]) -> tuple[str, str] | None:
        """Return the name of a function that gave different results, and what the results are. None if there is none.

        Functions may yield their results in any order.
        """
        is_in_order = once.steps == again.steps
        if not is_in_order:
            for instance, ones, others in zip(self.spec.instances, once.steps, again.steps, strict=True):
                if Counter(ones) != Counter(others):
                    return f"action {instance}", "next states"
        for called, one, other in zip(self._state_checks, once.verdicts, again.verdicts, strict=True):
            if one != other:
                return called.item.owner, "verdicts"
        for called, found, found_again in zip(self._step_checks, once.of_steps, again.of_steps, strict=True):
            if found != found_again if is_in_order else once.tally(found) != again.tally(found_again):
                return called.item.owner, "verdicts"
        return None if once.distance == again.distance else ("distance", "values")

    def _compare(self, once: Outcomes[S], again: Outcomes[S], text: str) -> None:
        if found := self._difference(once, again):
            raise SpecError(f"{found[0]} is not deterministic: {text.format(found[1])}")


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
