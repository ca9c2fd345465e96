"""Named tuples of arrays for compiled loops. Numba does not accept instances of ordinary classes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
"""An array of 64-bit words: packed states, hashes or bits."""

Numbers = NDArray[np.int64]
"""An array of counts, of positions or of the indices of values."""

Places = NDArray[np.uint32]
"""An array of small numbers, or of positions in an array that has fewer than 2 ** 32 entries."""

Nodes = NDArray[np.int32]
"""An array of nodes of decision trees, or of data that their leaves refer to; see `trees`."""

Flags = NDArray[np.bool_]
"""An array of booleans."""


class Part(NamedTuple):
    """The progress of a compiled loop in one part of a block of states. See `BlockParts`.

    Attributes:
        cursor: the position of the loop in the part; see `kernel.INDEX`.
        last: the index after the last state of the part.
        waiting: the indices of the deferred states. The loop processes them after the functions of the spec have been
            called.
        unknown: the unknown paths that the loop finds (an output); see `kernel.TREE`.
        rows: for each unknown path, a state with this path, as one value index per slot (an output). For a path of a
            step predicate, the row contains the states before and after a step.
    """

    cursor: Numbers
    last: np.int64
    waiting: Numbers
    unknown: Numbers
    rows: Numbers


class Packed(NamedTuple):
    """Packed states, and the position of each slot in them.

    Attributes:
        outside: for each state, whether `Spec.within` is false. The array is empty if the spec does not define
            `within`.
        word, shift, mask: see `Packing`.
    """

    states: Words
    outside: Flags
    word: Numbers
    shift: Words
    mask: Words


class Learned(NamedTuple):
    """The stored results of action instances. For the attributes, see `Forest` and `TransitionTables`."""

    pool: Nodes
    leaf_start: Nodes
    leaf_count: Nodes
    keep: Words
    put: Words
    labels: Places


class Guarding(NamedTuple):
    """The tables for looking up the action instances that may be enabled in a state. See `EnabledIndex`."""

    always: Words
    pairs: Numbers
    table: Words


class AnswerArrays(NamedTuple):
    """The results of calls that are used for a single state and not stored in decision trees. See `UnlearnedSteps`."""

    begins: Numbers
    trees: Numbers
    start: Numbers
    count: Any  # not `Numbers`, because the attribute hides the method `tuple.count`
    keep: Words
    put: Words
    labels: Places


class SuccessorArrays(NamedTuple):
    """The next states that were generated from one part of a block, or from all its parts; see `Buffers`.

    Attributes:
        begins: for each expanded state, the position of its first next state.
        found: the next states.
        hashes: for each next state, its hash.
        parents: for each next state, its predecessor.
        trees: for each next state, the index of the action instance that leads to it.
        labels: for each next state, the number of the action instance with its drawn values, or 0 if it has none; see
            `Outcome`. Empty if no action draws values.
        routes: the positions of the next states, grouped by the region of the hash table to which they belong.
        regions: for each region, the position in `routes` where its next states begin; followed by the end of the last
            region.
        places: for each next state, the position of its entry in the hash table, or -1 if the state is not new.
        shown: for each next state and each step predicate, the result of the predicate; see `kernel.SHOWN_BY_STEP`.
    """

    begins: Places
    found: Words
    hashes: Words
    parents: Places
    trees: Places
    labels: Places
    routes: Places
    regions: Numbers
    places: Numbers
    shown: NDArray[np.uint8]


class Kept(NamedTuple):
    """The stored states of a search, and the steps by which they were found. For the attributes, see `Store`."""

    states: Words
    parents: Places
    arrivals: NDArray[np.unsignedinteger]
    outside: Flags
    table: Words


class Numbered(NamedTuple):
    """Values that have numbers, in the order of their numbers.

    Attributes:
        values: the values, followed by room for others.
        numbers: a hash table of the numbers. An entry is a number plus one, or 0.
        used: the number of values, as an array of one entry.
    """

    values: Words
    numbers: Places
    used: Numbers


class CountArrays(NamedTuple):
    """The counts that `kernel.append` updates, separately for each part of a block.

    Attributes:
        counters: see `Store.counters`.
        counts: for each action instance, the number of its steps, and the number of those steps that led to a new
            state.
        dead: the first deadlocked states (states without a next state), as many as the array can hold.
        seen: for each step predicate, the number of steps that violate the invariant or satisfy the witness.
        seen_at: for each step predicate, the buffer positions of the first such steps, as many as the array can hold.
    """

    counters: Numbers
    counts: Numbers
    dead: Numbers
    seen: Numbers
    seen_at: Numbers
