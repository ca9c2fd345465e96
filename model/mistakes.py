"""Deliberately wrong rules for both families of specs. A mistake changes rules or the results of actions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeVar

import attrs

from leadline.checker.action import Action

S = TypeVar("S")

Taken = Callable[..., Iterator[Any]]
"""The function of an action, which takes a state and the action's parameters, and yields the next states."""


def under(action: Action[Any, ...], **rules: object) -> Taken:
    """Return a function that executes an action under changed protocol rules.

    Parameters:
        rules: the fields of the protocol to change, and their values during the action.
    """

    def mutant(state: Any, *values: int) -> Iterator[object]:
        for successor in action(attrs.evolve(state, protocol=attrs.evolve(state.protocol, **rules)), *values):
            yield attrs.evolve(successor, protocol=state.protocol)

    return mutant


def and_then(action: Action[Any, ...], change: Callable[..., object]) -> Taken:
    """Return a function that executes an action and then replaces each next state.

    Parameters:
        change: a function that returns the state that replaces the next state. Its arguments are the state before the
            action, the next state and the action's parameters.
    """

    def mutant(state: Any, *values: int) -> Iterator[object]:
        for successor in action(state, *values):
            yield change(state, successor, *values)

    return mutant


def changing(state: S, broker: int, **fields: object) -> S:
    """Return the state with the given fields of a broker's replica changed."""
    changed: S = state.with_replica(broker, attrs.evolve(state.replicas[broker], **fields))  # type: ignore[attr-defined]
    return changed


@attrs.frozen(eq=False, kw_only=True)
class Mistake:
    """A deliberately wrong rule that the properties of a spec should detect.

    Attributes:
        name: the name of the mistake.
        sentence: a sentence that describes the wrong behaviour.
        source: the KIP or ticket that describes the right rule or reports the mistake, or an empty string.
        right: the values that fields of a `Protocol` must have for the mistake to be possible.
        wrong: the values to which the mistake changes fields of the protocol.
        actions: the actions that the mistake replaces, with their new functions.
        bounds: the bounds within which the mistake can violate a property, if they differ from the bounds of the spec.
        harmless: the reason why no property is violated within these bounds, or an empty string if a property is
            violated.
    """

    name: str
    sentence: str
    source: str = ""
    right: Mapping[str, object] = attrs.field(factory=dict)
    wrong: Mapping[str, object] = attrs.field(factory=dict)
    actions: Mapping[Action[Any, ...], Taken] = attrs.field(factory=dict)
    bounds: Mapping[str, int] = attrs.field(factory=dict)
    harmless: str = ""

    def concerns(self, protocol: object, actions: Collection[Action[Any, ...]]) -> bool:
        """Return whether the mistake is possible in a protocol with the given actions.

        The protocol must have the fields in `wrong` and the values in `right`, and the actions must include the actions
        that the mistake replaces.
        """
        if not all(hasattr(protocol, name) for name in (*self.wrong, *self.right)):
            return False
        is_right = all(getattr(protocol, name) == value for name, value in self.right.items())
        return is_right and set(self.actions) <= set(actions)

    def made_in(self, protocol: Any) -> Any:
        """Return the protocol with the wrong rules of the mistake."""
        return attrs.evolve(protocol, **self.wrong)

    def replacing(self, actions: Collection[Action[Any, ...]]) -> list[Action[Any, ...]]:
        """Return the actions, with their functions replaced by those of the mistake."""
        return [attrs.evolve(each, function=self.actions.get(each, each.function)) for each in actions]
