"""Mistakes in the rules of both families: an action under other rules, or with another result."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeVar

import attrs

from leadline.checker.action import Action

S = TypeVar("S")

Taken = Callable[..., Iterator[Any]]
"""What an action's function is: it takes a state and the action's parameters, and yields the next states."""


def under(action: Action[Any, Any], **rules: Any) -> Taken:
    """The action as it is under other rules."""

    def mutant(state: Any, *values: int) -> Iterator[Any]:
        for successor in action(attrs.evolve(state, protocol=attrs.evolve(state.protocol, **rules)), *values):
            yield attrs.evolve(successor, protocol=state.protocol)

    return mutant


def and_then(action: Action[Any, Any], change: Callable[..., Any]) -> Taken:
    """The action, and then its result changed, given the states before and after and the parameters."""

    def mutant(state: Any, *values: int) -> Iterator[Any]:
        for successor in action(state, *values):
            yield change(state, successor, *values)

    return mutant


def changing(state: S, broker: int, **fields: Any) -> S:
    """The state with some fields of a broker's replica changed."""
    changed: S = state.with_replica(broker, attrs.evolve(state.replicas[broker], **fields))  # type: ignore[attr-defined]
    return changed


@attrs.frozen(eq=False, kw_only=True)
class Mistake:
    """A wrong rule.

    Attributes:
        name: what it is called.
        sentence: what is done wrong.
        source: the KIP or ticket that says what is right, or that tells of the mistake; empty if it is our own.
        right: fields of a family's `Protocol` in which it can be made, with their values there.
        wrong: those that it replaces, with its own values.
        actions: the actions that it replaces, each with what is done instead.
        bounds: the bounds that differ from the spec's own, within which it can do harm.
        harmless: why it does no harm within these bounds; empty if it does.
    """

    name: str
    sentence: str
    source: str = ""
    right: Mapping[str, Any] = attrs.field(factory=dict)
    wrong: Mapping[str, Any] = attrs.field(factory=dict)
    actions: Mapping[Action[Any, Any], Taken] = attrs.field(factory=dict)
    bounds: Mapping[str, Any] = attrs.field(factory=dict)
    harmless: str = ""

    def concerns(self, protocol: Any, actions: Collection[Action[Any, Any]]) -> bool:
        """Whether it can be made in a protocol with these actions: it has the right rules, and the actions replaced."""
        is_right = all(getattr(protocol, name) == value for name, value in self.right.items())
        return is_right and set(self.actions) <= set(actions)

    def made_in(self, protocol: Any) -> Any:
        """A protocol with the wrong rules."""
        return attrs.evolve(protocol, **self.wrong)

    def replacing(self, actions: Collection[Action[Any, Any]]) -> list[Action[Any, Any]]:
        """The actions of a spec, with those replaced that are done wrong."""
        return [attrs.evolve(each, function=self.actions.get(each, each.function)) for each in actions]
