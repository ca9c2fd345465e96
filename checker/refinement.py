"""Refinement: a spec does only what a more abstract spec allows.

A mapping takes a state of the spec, and returns a state of the abstract spec. The spec refines the abstract spec if
each of its initial states is mapped to an initial state, and each of its steps either to a step or to no change. This
is the safety part of what TLA+ writes as ``Spec => Abstract!Spec``. The fairness of the abstract spec is not checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import attrs

from leadline.checker.action import ActionInstance
from leadline.checker.door import VALUES, admit
from leadline.checker.errors import SpecError
from leadline.checker.properties import Property, step_invariant, step_witness
from leadline.checker.spec import Spec
from leadline.checker.support.inspection import is_a
from leadline.checker.support.messages import nearest

S = TypeVar("S")
A = TypeVar("A")


@attrs.frozen(eq=False)
class _Steps:
    """The steps that an abstract spec allows, as predicates of a step of another spec.

    Attributes:
        name: the name of the abstract spec.
        initials: its initial states.
        instances: the instances of its actions, or of one of them.
        mapping: a function that takes a state, and returns a state of the abstract spec.
    """

    name: str
    initials: tuple[Any, ...]
    instances: tuple[ActionInstance[Any], ...]
    mapping: Callable[[Any], Any]

    def mapped(self, state: object) -> Any:
        found = self.mapping(state)
        wanted = type(self.initials[0])
        if type(found) is not wanted:
            raise SpecError(f"the mapping to {self.name} must return a {wanted.__name__}, not {found!r}")
        return found

    def refuse(self, initial: object) -> str:
        """Return why the spec must not begin in a state, or an empty string if it may."""
        found = self.mapped(initial)
        return "" if found in self.initials else f"it is mapped to {found}, in which {self.name} does not begin"


class _Allowed(_Steps):
    """Yields a reason if a step has no counterpart."""

    def __call__(self, before: object, after: object) -> Iterator[str]:
        one, other = self.mapped(before), self.mapped(after)
        if one != other and not _leads(self.instances, one, other):
            yield f"no step of {self.name} leads from {one} to {other}"


class _Taken(_Steps):
    """Returns whether a step has a counterpart that changes the abstract state."""

    def __call__(self, before: object, after: object) -> bool:
        one, other = self.mapped(before), self.mapped(after)
        return one != other and _leads(self.instances, one, other)


def _leads(instances: Iterable[ActionInstance[A]], before: A, after: A) -> bool:
    return any(found == after for instance in instances for _, found in instance.steps(before))


def refines(abstract: Spec[A], mapping: Callable[[S], A], *, never: Iterable[str] = ()) -> list[Property]:
    """Return the properties of a spec that refines another one.

    The first is a step invariant: each step is mapped to a step of the abstract spec, or to no change. The others are
    witnesses, one for each action of the abstract spec: some step is mapped to a step of this action. Otherwise, the
    spec would also refine it if it did nothing, and a mapping to a constant would be right. A spec whose initial state
    is not mapped to one of the abstract spec is refused.

    Parameters:
        abstract: the abstract spec, with its bounds. Its `within` has no effect.
        mapping: a function that takes a state of the spec, and returns a state of the abstract spec.
        never: the names of actions of the abstract spec that are known to have no counterpart.

    Raises:
        SpecError: if an argument is not valid.

    Example:
        ``Spec(..., properties=[safe, *refines(voting, votes_of)])``
    """
    if not is_a(abstract, Spec):
        raise SpecError(f"refines takes the abstract spec and a mapping, not {abstract!r}")
    admit(f"the mapping to {abstract.name}", mapping, ["state"], VALUES)
    actions = [action.name for action in abstract.actions]
    left_out = list(never)
    for name in left_out:
        if name not in actions:
            raise SpecError(f"refines: {abstract.name} has no action {name!r}{nearest(str(name), actions)}")
    owner = "refines_" + re.sub(r"\W+", "_", abstract.name)
    given = (abstract.name, tuple(abstract.initials()))
    allowed = _Allowed(*given, abstract.instances, mapping)
    found = [_named(owner, step_invariant(f"each step is one of {abstract.name}, or changes nothing in it"), allowed)]
    for action in abstract.actions:
        if action.name not in left_out:
            instances = tuple(each for each in abstract.instances if each.action is action)
            decorate = step_witness(f"a step is mapped to {action.name} of {abstract.name}")
            found.append(_named(f"{owner}_{action.name}", decorate, _Taken(*given, instances, mapping)))
    return found


def _named(name: str, decorate: Callable[[Any], Property], steps: _Steps) -> Property:
    return attrs.evolve(decorate(steps), name=name, initially=steps.refuse)
