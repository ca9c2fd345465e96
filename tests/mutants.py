"""How mutants are made, of the specs of both families: an action under other rules, or with another result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from checker import Action, Spec

Taken = Callable[..., Iterator[Any]]


def with_actions(spec: Spec[Any], functions: Mapping[Action[Any, Any], Taken]) -> Spec[Any]:
    """A spec with some actions replaced: same name and parameters, another function."""
    actions = [attrs.evolve(each, function=functions.get(each, each.function)) for each in spec.actions]
    return attrs.evolve(spec, actions=actions)


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


def changing(state: Any, broker: int, **fields: Any) -> Any:
    """The state with some fields of a broker's replica changed."""
    return state.with_replica(broker, attrs.evolve(state.replicas[broker], **fields))
