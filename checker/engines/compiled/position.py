"""The position of a compiled search: the states that it has processed, and the violations and satisfied witnesses found
so far."""

from __future__ import annotations

from typing import TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.learning.tables import TransitionTables

S = TypeVar("S")


@attrs.define
class Position:
    """The position of a search. Together with the states in a `Store`, it is sufficient to continue the search.

    States are given as indices in the store.

    Attributes:
        counts: for each action instance, the number of its steps, and the number of those steps that led to a new
            state. The shape is (action instances, 2).
        seen: for each predicate on states, the first states that violate the property or satisfy the witness.
        steps_seen: for each predicate on steps, the first steps that violate the property or satisfy the witness. Each
            step is given as the state before the step, the action instance, and the state after the step as one value
            index per slot.
        dead: the first deadlocked states (states without a next state).
        next: the first state that has not been expanded.
        checked: the first state on which the predicates have not been evaluated.
        level_end: the first state after the current level.
        levels: the first state of each level, up to the current level.
        outside: for each level, the number of its states that violate the constraint `Spec.within`.
        seconds: the number of wall-clock seconds used by earlier runs.
    """

    counts: NDArray[np.int64]
    seen: list[list[int]]
    steps_seen: list[list[tuple[int, int, list[int]]]]
    dead: list[int] = attrs.field(factory=list)
    next: int = 0
    checked: int = 0
    level_end: int = 0
    levels: list[int] = attrs.field(factory=list)
    outside: list[int] = attrs.field(factory=list)
    seconds: float = 0.0

    @classmethod
    def at_start(cls, tables: TransitionTables[S]) -> Position:
        """Return the position of a search that has not begun."""
        return cls(
            counts=np.zeros((tables.instances, 2), np.int64),
            seen=[[] for _ in tables.state_checks],
            steps_seen=[[] for _ in tables.step_checks],
        )

    def copied(self, steps_seen: list[list[tuple[int, int, list[int]]]]) -> Position:
        """Return a copy with the given steps.

        Parameters:
            steps_seen: see `Position`.
        """
        return attrs.evolve(
            self, counts=self.counts.copy(), seen=[[*places] for places in self.seen], steps_seen=steps_seen,
            dead=[*self.dead], levels=[*self.levels], outside=[*self.outside],
        )  # fmt: skip
