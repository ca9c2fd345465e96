"""The position of a compiled search: the states searched so far, and the evidence found."""

from __future__ import annotations

from typing import TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.learning.tables import TransitionTables

S = TypeVar("S")


@attrs.define
class Position:
    """The position of a search. Together with the states in a `Store`, it is enough to continue the search.

    Attributes:
        counts: shape (action instances, 2): the number of steps generated, and of new states among them.
        seen: for each state predicate, the states that give evidence: they violate an invariant or satisfy a witness.
        steps_seen: for each step predicate, the steps that give evidence: the state before, the action instance, and
            the slot numbers of the state after.
        dead: the first states that have no next state.
        next: the first state that is not expanded.
        checked: the first state on which the state predicates are not evaluated.
        level_end: the end of the level that is being expanded.
        levels: the first state of each level that was begun.
        outside: for each level, the number of its states outside of `Spec.within`.
        seconds: the wall-clock seconds of earlier runs.
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
        """Return the position of a search that has not begun.

        Parameters:
            tables: the tables of the search.
        """
        return cls(
            counts=np.zeros((tables.instances, 2), np.int64),
            seen=[[] for _ in tables.state_checks],
            steps_seen=[[] for _ in tables.step_checks],
        )
