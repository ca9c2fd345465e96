"""Position: how far a compiled search is."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray


@attrs.define
class Position:
    """How far a search is. With the states in its `Store`, this is all that it needs to continue.

    Attributes:
        counts: shape (action instances, 2): steps generated, and new states among them.
        seen: for each state predicate, the states that were seen to show it.
        steps_seen: for each step predicate, the steps: the state before, the action instance, the slot
            numbers of the state after.
        dead: the first states without a next state.
        next: the first state that was not expanded.
        checked: the first state on which the state predicates were not evaluated.
        level_end: the end of the level that is being expanded.
        levels: the first state of each level, as far as they were begun.
        outside: for each level, its states outside of `Spec.within`.
        seconds: wall-clock seconds of earlier runs.
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
