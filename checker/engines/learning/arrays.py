"""Named tuples of the arrays that are passed to compiled loops. Numba accepts no other classes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
"""An array of packed states or of hashes."""

Numbers = NDArray[np.int64]
"""An array of counts, of positions or of the numbers of values."""

Places = NDArray[np.uint32]
"""An array of positions in another array, which has fewer than 2 ** 32 entries."""

Nodes = NDArray[np.int32]
"""An array of tree nodes, or of data that the leaves of trees refer to; see `trees`."""

Flags = NDArray[np.bool_]


class Part(NamedTuple):
    """The progress of a loop in one part of a block; see `BlockParts`.

    Attributes:
        cursor: see `kernel.INDEX`.
        last: the position at which the part ends.
        waiting: the states that wait for calls.
        unknown, rows: filled with the unknown paths that the loop meets, and with the slot numbers of the states
            concerned.
    """

    cursor: Numbers
    last: np.int64
    waiting: Numbers
    unknown: Numbers
    rows: Numbers


class Packed(NamedTuple):
    """The packed states, and the position of each slot's bits; see `Store` and `Packing`."""

    states: Words
    outside: Flags
    word: Numbers
    shift: Words
    mask: Words


class Learned(NamedTuple):
    """What has been learned about the actions; see `Forest` and `TransitionTables`."""

    pool: Nodes
    leaf_start: Nodes
    leaf_count: Nodes
    keep: Words
    put: Words


class Guarding(NamedTuple):
    """The tables that show which action instances may be enabled in a state; see `EnabledIndex`."""

    always: Words
    pairs: Numbers
    table: Words


class AnswerArrays(NamedTuple):
    """The results of calls on waiting states that were not learned; see `Answers`."""

    begins: Numbers
    trees: Numbers
    start: Numbers
    count: Any  # which hides `tuple.count`
    keep: Words
    put: Words


class SuccessorArrays(NamedTuple):
    """The next states found in one part of a block or in all parts; see `Buffers`.

    Attributes:
        begins: for each state, the position of its first next state.
        found, hashes, parents, trees: each next state, its hash, its parent, and the action instance that leads to it.
        routes: the positions of the next states, grouped by the region of the table that they belong to.
        regions: the position in `routes` at which each region begins, and the position at which the last one ends.
        places: for each next state, its position in the table, or -1 if the state was already known.
        shown: a value for each next state and step predicate; see `kernel.SHOWN_BY_STEP`.
    """

    begins: Places
    found: Words
    hashes: Words
    parents: Places
    trees: Places
    routes: Places
    regions: Numbers
    places: Numbers
    shown: NDArray[np.uint8]


class Kept(NamedTuple):
    """The states that the search has stored, and how it found them; see `Store`."""

    states: Words
    parents: Places
    arrivals: NDArray[np.unsignedinteger]
    outside: Flags
    table: Words


class CountArrays(NamedTuple):
    """The counts that `kernel.append` makes, for each part of a block.

    Attributes:
        counters: see `Store.counters`.
        counts: the number of steps and of new states for each action instance.
        dead: the first states that have no next state, up to the size of the array.
        seen, seen_at: for each step predicate, the number of steps that show it, and the positions of these steps in
            the buffer, up to the size of the array.
    """

    counters: Numbers
    counts: Numbers
    dead: Numbers
    seen: Numbers
    seen_at: Numbers
