"""How mistakes are made with the actions of both families: an action under other rules, or with another result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import attrs

from checker.action import Action

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
