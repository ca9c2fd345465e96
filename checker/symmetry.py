"""Symmetry: a group of permutations of identities that leaves a spec as it is.

A spec says in `Spec.symmetric` which identities are interchangeable, for example brokers. Annotations say where states
hold them, and `component(each="broker")` says which tuples have an element for each of them. A permutation then makes
another state, action instance and property of each; see `Symmetry`. That the spec behaves in the same way in both
states is not assumed: searches check it, completely.

The group consists of the permutations that leave the set of initial states unchanged.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from leadline.checker.action import ActionInstance
from leadline.checker.errors import SpecError
from leadline.checker.identities import Known, Mover, Permutation, hints_of_function
from leadline.checker.parameters import domain_values
from leadline.checker.properties import Kind, Property
from leadline.checker.spec import Spec
from leadline.checker.state import check_shape
from leadline.checker.support.escapes import visible
from leadline.checker.values import key

S = TypeVar("S")

MOST_PERMUTATIONS = 5_040
"""The maximum number of permutations, because each of them is made of each state."""


class Symmetry(Generic[S]):
    """The permutations under which a spec is searched.

    Attributes:
        spec: the spec.
        group: the permutations, the one that changes nothing first.
        known: what annotations say about the identities.
        declared: the number of permutations that `Spec.symmetric` declares, of which `group` may be a part.

    Raises:
        SpecError: if the spec declares nothing symmetric, if there are too many permutations, or if none but the one
            that changes nothing leaves the set of initial states unchanged.
    """

    def __init__(self, spec: Spec[S]) -> None:
        if not spec.symmetric:
            raise SpecError(
                f"spec {spec.name} does not say what is symmetric: declare it, as in "
                'Spec(symmetric={"broker": brokers})'
            )
        self.spec = spec
        self._values = {
            kind: domain_values(f"spec {spec.name}: symmetric", kind, domain, spec.bounds)
            for kind, domain in spec.symmetric.items()
        }
        classes = {kind: frozenset(map(type, values)) for kind, values in self._values.items()}
        self.known = Known(classes, type(spec.initials()[0]))
        for kind, given in classes.items():
            if len(given) > 1:
                names = ", ".join(sorted(cls.__name__ for cls in given))
                raise SpecError(f"spec {spec.name}: symmetric[{kind!r}] has values of several classes: {names}")
        self.declared = math.prod(math.factorial(len(values)) for values in self._values.values())
        if self.declared > MOST_PERMUTATIONS:
            raise SpecError(
                f"spec {spec.name}: {self.declared:,} permutations of what is symmetric are too many: at most "
                f"{MOST_PERMUTATIONS:,} are possible, for example of 7 identities"
            )
        self._movers, self._family = functools.cache(self._movers_of), functools.cache(self._family_of)
        self.group = self._group()
        self._inverses = {self._key(each): each for each in self.group}
        self._instances = {instance: instance for instance in spec.instances}

    def _group(self) -> list[Permutation]:
        kinds = [
            [dict(zip(values, order, strict=True)) for order in itertools.permutations(values)]
            for values in self._values.values()
        ]
        every = [dict(zip(self._values, choice, strict=True)) for choice in itertools.product(*kinds)]
        initials = self.spec.initials()
        known, found = set(initials), list[Permutation]()
        for each in every:
            check_shape(self.state(each, initials[0]), initials[0])
            odd = next((state for state in initials if self.state(each, state) not in known), None)
            if odd is None:
                found.append(each)
        if len(found) == 1 and len(every) > 1 and odd is not None:
            raise SpecError(
                f"spec {self.spec.name} is not symmetric: {self.text(each)} makes of the initial state "
                f"{visible(str(odd))} the state {visible(str(self.state(each, odd)))}, which is not one"
            )
        return found

    def text(self, by: Permutation) -> str:
        """Return a permutation as text, such as ``broker 0 to 1, broker 1 to 0``."""
        moved = [f"{kind} {was} to {now}" for kind, values in by.items() for was, now in values.items() if was != now]
        return f"moving {', '.join(moved) or 'nothing'}"

    @staticmethod
    def _key(by: Permutation) -> tuple[tuple[object, ...], ...]:
        return tuple(tuple(values.values()) for values in by.values())

    def inverse(self, by: Permutation) -> Permutation:
        """Return the permutation that undoes a permutation of the group."""
        return self._inverses[
            tuple(
                tuple(dict(zip(values.values(), values, strict=True))[value] for value in values)
                for values in by.values()
            )
        ]

    def state(self, by: Permutation, state: S) -> S:
        """Return what a permutation makes of a state in canonical form, in canonical form."""
        moved: S = self.known.of_class(type(state)).move(state, by)
        return moved

    def instance(self, by: Permutation, instance: ActionInstance[S]) -> ActionInstance[S]:
        """Return what a permutation makes of an action instance, with the values that it draws.

        Raises:
            SpecError: if the spec has no such instance, because a domain is not symmetric.
        """
        action = instance.action
        movers = self._movers(action)
        values = tuple(
            movers[name].move(value, by) for name, value in zip(action.domains, instance.values, strict=True)
        )
        found = self._instances.get(ActionInstance(action, values))
        if found is None:
            raise SpecError(
                f"spec {self.spec.name} is not symmetric: {self.text(by)} makes {ActionInstance(action, values)} of "
                f"{instance.of_search}, and the domains of {action.name} do not allow it"
            )
        if instance.drawn is None:
            return found
        drawn = (movers[name].move(value, by) for name, value in zip(action.drawn, instance.drawn, strict=True))
        return ActionInstance(action, values, tuple(drawn), found.allows)

    def _movers_of(self, owner: Any) -> dict[str, Mover]:
        """Return the mover of each parameter of an action or property: an identity if its domain is the one in
        `Spec.symmetric`, and otherwise what its annotation says.
        """
        hints = hints_of_function(owner.function)
        found = {}
        for name, domain in {**owner.domains, **getattr(owner, "drawn", {})}.items():
            kinds = [kind for kind, values in self.spec.symmetric.items() if values is domain]
            place = f"{owner.name}({name})"
            if len(kinds) > 1 and name not in hints:
                raise SpecError(f"the values of {place} are those of {' and '.join(kinds)}: annotate it with one")
            is_sure = len(kinds) == 1
            found[name] = self.known.identities(kinds[0]) if is_sure else self.known.of_hint(hints.get(name), place)
        return found

    def check(self, by: Permutation, item: Property) -> Property:
        """Return what a permutation makes of a property: of an instance, the instance with the permuted values.

        Raises:
            SpecError: if the property has no such instance, because a domain is not symmetric.
        """
        if item.kind is Kind.PREMISE:
            owner = self._owners.get(item)
            return item if owner is None else self.spec.premise_of(self.check(by, owner)) or item
        if item.declared is None:
            return item
        movers = self._movers(item.declared)
        values = {name: movers[name].move(value, by) for name, value in item.arguments.items()}
        found = self._family(item.declared).get(_values(values))
        if found is None:
            raise SpecError(
                f"spec {self.spec.name} is not symmetric: {self.text(by)} makes of {item.name} one that the domains "
                f"of {item.declared.name} do not allow"
            )
        return found

    def _family_of(self, declared: Property) -> dict[object, Property]:
        chosen = {_values(item.arguments): item for item in self.spec.checks if item.declared is declared}
        return {_values(item.arguments): item for item in declared.instances(self.spec.bounds)} | chosen

    @functools.cached_property
    def _owners(self) -> dict[Property, Property]:
        """For each premise, a property that has it."""
        pairs = ((self.spec.premise_of(item), item) for item in self.spec.checks)
        return {premise: item for premise, item in pairs if premise is not None}

    def unmarked(self) -> str:
        """Return which parameter may be an identity although nothing says so, as text for messages."""
        found: dict[tuple[Any, str], set[object]] = {}
        taken = [(each.action, each.arguments) for each in self.spec.instances]
        for owner, arguments in (*taken, *((item.declared, item.arguments) for item in self.spec.checks)):
            for name, value in arguments.items():
                found.setdefault((owner, name), set()).add(value)
        for (owner, name), values in found.items():
            for kind, known in self._values.items():
                if values == set(known) and self._movers(owner)[name] in (self.known.anything, self.known.itself):
                    return f"; if {owner.name}({name}) is a {kind}, use the domain in Spec.symmetric, or annotate it"
        return ""

    def orbit(self, state: S) -> list[S]:
        """Return what each permutation of the group makes of a state, in the order of the group."""
        return [self.state(by, state) for by in self.group]


def _values(arguments: Mapping[str, object]) -> object:
    return key(tuple(arguments.values()))


def refused(symmetry: Symmetry[S], by: Permutation, state: S, what: str) -> SpecError:
    """Return the error for a spec that behaves otherwise in a state than in the one of which a permutation makes it.

    Parameters:
        by: the permutation.
        state: the state that it makes.
        what: what is so in this state only.
    """
    return SpecError(
        f"spec {symmetry.spec.name} is not symmetric: in {visible(str(state))}, {what}, unlike before "
        f"{symmetry.text(by)}{symmetry.unmarked()}"
    )
