"""Mistakes in the rules of both families: actions with changed rules or changed results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeVar

import attrs

from leadline.checker.action import Action

S = TypeVar("S")

Taken = Callable[..., Iterator[Any]]
"""The function of an action: it takes a state and the parameters of the action, and yields the next states."""


def under(action: Action[Any, ...], **rules: object) -> Taken:
    """Return the function of an action, with changed rules of the protocol."""

    def mutant(state: Any, *values: int) -> Iterator[object]:
        for successor in action(attrs.evolve(state, protocol=attrs.evolve(state.protocol, **rules)), *values):
            yield attrs.evolve(successor, protocol=state.protocol)

    return mutant


def and_then(action: Action[Any, ...], change: Callable[..., object]) -> Taken:
    """Return an action whose results are replaced by `change(before, after, *parameters)`."""

    def mutant(state: Any, *values: int) -> Iterator[object]:
        for successor in action(state, *values):
            yield change(state, successor, *values)

    return mutant


def changing(state: S, broker: int, **fields: object) -> S:
    """Return the state with changed fields of a broker's replica."""
    changed: S = state.with_replica(broker, attrs.evolve(state.replicas[broker], **fields))  # type: ignore[attr-defined]
    return changed


@attrs.frozen(eq=False, kw_only=True)
class Mistake:
    """A wrong rule.

    Attributes:
        name: its name.
        sentence: the wrong behaviour.
        source: the KIP or ticket that has the right rule or reports the mistake; empty if there is none.
        right: the fields that a `Protocol` must have, with their values, so that the mistake is possible.
        wrong: the fields that it replaces, with its own values.
        actions: the actions that it replaces, with their new functions.
        bounds: the bounds, different from those of the spec, within which it can do harm.
        harmless: why it does no harm within these bounds; empty if it does harm.
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
        """Whether the mistake is possible: the protocol has the right rules, and the replaced actions exist."""
        is_right = all(getattr(protocol, name) == value for name, value in self.right.items())
        return is_right and set(self.actions) <= set(actions)

    def made_in(self, protocol: Any) -> Any:
        """The protocol with the wrong rules."""
        return attrs.evolve(protocol, **self.wrong)

    def replacing(self, actions: Collection[Action[Any, ...]]) -> list[Action[Any, ...]]:
        """The actions, some of them replaced by the mistake."""
        return [attrs.evolve(each, function=self.actions.get(each, each.function)) for each in actions]
