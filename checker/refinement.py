"""Refinement: a spec does only what a more abstract spec allows.

A mapping takes a state of the spec, and returns a state of the abstract spec. The spec refines the abstract spec if
each of its initial states is mapped to an initial state, each of its steps either to a step or to no change, and each
of its fair behaviours to a fair one. This is what TLA+ writes as ``Spec => Abstract!Spec``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import attrs

from leadline.checker.action import Action, ActionInstance, Step, fair_parameters
from leadline.checker.door import VALUES, admit, shown, wrong_state
from leadline.checker.errors import SpecError
from leadline.checker.formulas import always, implies, now, sometime, step
from leadline.checker.liveness.fairness import Condition, conditions_of
from leadline.checker.properties import Property, step_invariant, step_witness, temporal
from leadline.checker.spec import Spec, as_tuple
from leadline.checker.state import check_state, variables
from leadline.checker.support.inspection import is_a
from leadline.checker.support.messages import nearest
from leadline.checker.values import same

S = TypeVar("S")
A = TypeVar("A")


@attrs.frozen(eq=False)
class _Steps:
    """The steps that an abstract spec allows, as a predicate of a step of another spec.

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
        found, wanted = self.mapping(state), type(self.initials[0])
        if type(found) is not wanted:
            raise SpecError(f"the mapping to {self.name} must return a {wanted.__name__}, not {shown(found)}")
        return found

    def changes(self, before: object) -> Iterator[Any]:
        """Yield the states to which steps of the abstract spec change one of its states."""
        for instance in self.instances:
            for _, found in instance.steps(before):
                if type(found) is not type(before):
                    owner = f"action {instance} of {self.name}"
                    raise wrong_state(owner, instance.action.function, type(before), found)
                if not same(found, before):
                    yield found

    def leads(self, before: object, after: object) -> bool:
        """Return whether a step of the abstract spec changes one of its states to another."""
        return any(same(after, found) for found in self.changes(before))

    def beside(self, state: object, step: Step[Any] | None) -> dict[str, object]:
        """Return what reports show beside a state; see `Property.beside`: the abstract step, and the abstract state."""
        found = self.mapped(state)
        fields = {f"{self.name}.{field.name}": getattr(found, field.name) for field in variables(found)}
        return {self.name: None if step is None else self._counterpart(self.mapped(step.before), found)} | fields

    def _counterpart(self, before: object, after: object) -> str:
        """Return the name of the abstract step between two abstract states."""
        if same(before, after):
            return "nothing changes"
        found = (
            str(each) for each in self.instances if any(same(after, reached) for reached in each.successors(before))
        )
        return next(found, "no step leads here")

    def refuse(self, initial: object) -> str:
        """Return why the spec must not begin in a state, or an empty string if it may."""
        found = self.mapped(initial)
        check_state(found, self.initials[0])
        if any(same(found, each) for each in self.initials):
            return ""
        return f"it is mapped to {shown(found)}, in which {self.name} does not begin, as in {shown(self.initials[0])}"


@attrs.frozen(eq=False)
class _Allowed(_Steps):
    """Yields a reason if a step has no counterpart."""

    def __call__(self, before: object, after: object) -> Iterator[str]:
        one, other = self.mapped(before), self.mapped(after)
        if not same(one, other) and not self.leads(one, other):
            yield f"no step of {self.name} leads from {one} to {other}"


@attrs.frozen(eq=False)
class _Taken(_Steps):
    """Returns whether a step has a counterpart that changes the abstract state."""

    def __call__(self, before: object, after: object) -> bool:
        return self.leads(self.mapped(before), self.mapped(after))


@attrs.frozen(eq=False)
class _Enabled(_Steps):
    """Returns whether a step can change the abstract state. `of` names the actions."""

    of: str

    @property
    def __name__(self) -> str:
        return f"{self.of} of {self.name} is enabled"

    def __call__(self, state: object) -> bool:
        return any(True for _ in self.changes(self.mapped(state)))


def refines(
    abstract: Spec[A], mapping: Callable[[S], A], *, name: str = "", never: Iterable[str] = ()
) -> list[Property]:
    """Return the properties of a spec that refines another one.

    The first is a step invariant: each step is mapped to a step of the abstract spec, or to no change. It is followed
    by witnesses, one for each action of the abstract spec: some step is mapped to a step of this action. Otherwise, the
    spec would also refine it if it did nothing, and a mapping to a constant would be right. A spec whose initial state
    is not mapped to one of the abstract spec is refused.

    The others are liveness properties, one for each fairness condition of the abstract spec: in every fair behaviour of
    the spec, the condition is true of the mapped states. It is enabled in a state if one of its actions can change the
    mapped state, and taken by a step that is mapped to such a change.

    Parameters:
        abstract: the abstract spec, with its bounds. Its `within` and `within_step` have no effect.
        mapping: a function that takes a state of the spec, and returns a state of the abstract spec. Mapped states are
            compared as those of a spec are: with their types, at every depth, and their constants.
        name: the name of the step invariant, with which those of the other properties begin. By default, ``refines_``
            and the name of the abstract spec.
        never: the names of actions of the abstract spec to which no step is mapped. A step that only they allow
            violates the step invariant.

    Raises:
        SpecError: if an argument is not valid, if `never` names all actions, or if a fairness condition of the abstract
            spec is about each value that a parameter draws from the state.

    Example:
        ``Spec(..., properties=[safe, *refines(voting, votes_of)])``
    """
    if not is_a(abstract, Spec):
        raise SpecError(f"refines takes the abstract spec and a mapping, not {abstract!r}")
    admit(f"the mapping to {abstract.name}", mapping, ["state"], VALUES)
    actions = [action.name for action in abstract.actions]
    left_out = as_tuple([never] if isinstance(never, str) else never)
    for each in left_out:
        if not isinstance(each, str):
            raise SpecError(f"refines: never must have names of actions, not objects of type {type(each).__name__}")
        if each not in actions:
            raise SpecError(f"refines: {abstract.name} has no action {each!r}{nearest(each, actions)}")
    if set(actions) <= set(left_out):
        raise SpecError(f"refines: never names each action of {abstract.name}, so that nothing would be compared")
    owner = name or f"refines_{_word(abstract.name)}"
    given = (abstract.name, tuple(abstract.initials()))
    instances = tuple(attrs.evolve(each, allows=None) for each in abstract.instances)
    allowed = _Allowed(*given, tuple(each for each in instances if each.action.name not in left_out), mapping)
    decorate = step_invariant(f"each step is one of {abstract.name}, or changes nothing in it")
    found = [attrs.evolve(decorate(allowed), name=owner, initially=allowed.refuse)]
    for action in abstract.actions:
        if action.name not in left_out:
            taken = _Taken(*given, tuple(each for each in instances if each.action is action), mapping)
            decorate = step_witness(f"a step is mapped to {action.name} of {abstract.name}")
            found.append(attrs.evolve(decorate(taken), name=f"{owner}_{_word(action.name)}"))
    return [
        attrs.evolve(each, beside=allowed.beside)
        for each in (*found, *_fair(abstract, given, instances, mapping, owner))
    ]


def _fair(
    abstract: Spec[A],
    given: tuple[str, tuple[Any, ...]],
    instances: Iterable[ActionInstance[A]],
    mapping: Callable[[S], A],
    owner: str,
) -> Iterator[Property]:
    """Yield a liveness property for each fairness condition of the abstract spec."""
    parts: dict[Condition, list[ActionInstance[A]]] = {}
    for instance in instances:
        _refuse_drawn(abstract, instance.action)
        for condition in conditions_of(abstract, instance):
            parts.setdefault(condition, []).append(instance)
    for condition, own in parts.items():
        enabled = _Enabled(*given, tuple(own), mapping, condition.name)
        disabled = always(~now(enabled)) if condition.strong else ~now(enabled)
        formula = always(implies(enabled, sometime(disabled | step(_Taken(*given, tuple(own), mapping)))))
        rule = condition.rule if condition.strong else f"{condition.rule} from some time on"
        decorate = temporal(f"{condition.name} of {abstract.name} is taken again and again if it {rule}")
        found = decorate(functools.partial(lambda formula: formula, formula))
        yield attrs.evolve(found, name=f"{owner}_fair_{condition.name.replace(' or ', '_or_')}")


def _refuse_drawn(abstract: Spec[A], action: Action[A, ...]) -> None:
    """Check that no fairness condition is about each value that is drawn from the state: only a search of the abstract
    spec could list them.
    """
    of_groups = (fair for names, fair in abstract.fair_groups if action.name in names)
    for fair in (abstract.fair(action), *of_groups):
        of = fair_parameters(fair) or (action.drawn if fair.endswith(" each") else ())
        for drawn in action.drawn:
            if drawn in of:
                raise SpecError(
                    f"refines: {abstract.name} is {fair!r} for {action.name}, whose {drawn!r} is drawn from the state: "
                    "give it a fixed domain, or make the action fair as a whole"
                )


def _word(name: str) -> str:
    return re.sub(r"\W+", "_", name)
