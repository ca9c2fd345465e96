"""The arrays that compiled loops take, in named tuples: Numba takes no other classes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
"""Bits of packed states, and hashes."""

Numbers = NDArray[np.int64]
"""Counts, positions, and numbers of values."""

Places = NDArray[np.uint32]
"""Positions in arrays of fewer than 2 ** 32 entries."""

Nodes = NDArray[np.int32]
"""The trees, and what their leaves refer to; see `trees`."""

Flags = NDArray[np.bool_]


class Part(NamedTuple):
    """How far a loop is in a part of a block; see `BlockParts`.

    Attributes:
        cursor: see `kernel.INDEX`.
        last: where the part ends.
        waiting: the states that wait.
        unknown, rows: filled with unknown paths, and the numbers of the slots of the states that they were met with.
    """

    cursor: Numbers
    last: np.int64
    waiting: Numbers
    unknown: Numbers
    rows: Numbers


class Packed(NamedTuple):
    """The states, and where each slot has its bits; see `Store` and `Packing`."""

    states: Words
    outside: Flags
    word: Numbers
    shift: Words
    mask: Words


class Learned(NamedTuple):
    """What is known of the actions; see `Forest` and `TransitionTables`."""

    pool: Nodes
    leaf_start: Nodes
    leaf_count: Nodes
    keep: Words
    put: Words


class Guarding(NamedTuple):
    """The action instances that are left; see `EnabledIndex`."""

    always: Words
    pairs: Numbers
    table: Words


class AnswerArrays(NamedTuple):
    """What is known of the states that wait besides what was learned; see `Answers`."""

    begins: Numbers
    trees: Numbers
    start: Numbers
    count: Any  # which hides `tuple.count`
    keep: Words
    put: Words


class SuccessorArrays(NamedTuple):
    """The next states of a part of a block, or of all parts; see `Buffers`.

    Attributes:
        begins: for each state, where its next states begin.
        found, hashes, parents, trees: of each next state: itself, its hash, its parent and the action instance.
        routes: the places of the next states, by the region of the table they belong to.
        regions: where those of each region begin there, and where the last end.
        places: for each next state, where in the table it was entered, or -1 if it was known.
        shown: for each next state and step predicate: see `kernel.SHOWN_BY_STEP`.
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
    """The states that are kept, and how they were found; see `Store`."""

    states: Words
    parents: Places
    arrivals: NDArray[np.unsignedinteger]
    outside: Flags
    table: Words


class CountArrays(NamedTuple):
    """What `kernel.append` counts, for each part of a block.

    Attributes:
        counters: see `Store.counters`.
        counts: the steps and the new states of each action instance.
        dead: the first states without a next state, as many as there is room for.
        seen, seen_at: for each step predicate, how many steps were seen to show it, and which, by their places in the
            buffer. As many as there is room for.
    """

    counters: Numbers
    counts: Numbers
    dead: Numbers
    seen: Numbers
    seen_at: Numbers
