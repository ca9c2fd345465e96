"""Paths: from states that traces lead to back to the initial states. For all engines that pack states."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

from leadline.checker.action import ActionInstance
from leadline.checker.spec import Spec

S = TypeVar("S")
P = TypeVar("P", bound=Hashable)
"""Where an engine keeps a state: its number, or its level and its number there."""


class Paths(Generic[S, P]):
    """Shortest paths to some states.

    Parameters:
        spec: the spec.
        state_at: reads the state at a place.
        level_of: the level of a place, from 1.
        steps_into: the steps into some states of one level, in order, from the level before: the place of the state
            before, the action instance, the place of the state after.
    """

    def __init__(
        self,
        spec: Spec[S],
        state_at: Callable[[P], S],
        level_of: Callable[[P], int],
        steps_into: Callable[[Sequence[P]], Sequence[tuple[P, int, P]]],
    ) -> None:
        self._spec, self._state_at, self._level_of, self._steps_into = spec, state_at, level_of, steps_into
        self._states: dict[P, S] = {}

    def target(self, place: P) -> S:
        """The state at a place. Paths will lead to it."""
        if place not in self._states:
            self._states[place] = self._state_at(place)
        return self._states[place]

    def know(self, place: P, state: S) -> None:
        """Note the state at a place, which need not be read any more."""
        self._states.setdefault(place, state)

    def arrivals(self) -> dict[S, list[tuple[S, ActionInstance[S]]]]:
        """The last steps of the shortest paths to the targets, and to the states on these paths."""
        found: dict[S, list[tuple[S, ActionInstance[S]]]] = {}
        for level in range(max(map(self._level_of, self._states), default=0), 0, -1):
            places = sorted(place for place in self._states if self._level_of(place) == level)  # type: ignore[type-var]
            found.update((self._states[place], []) for place in places)
            for before, tree, place in self._steps_into(places) if level > 1 and places else ():
                found[self._states[place]].append((self.target(before), self._spec.instances[tree]))
        return found
