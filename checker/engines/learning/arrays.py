"""The arrays that compiled loops take, in named tuples: Numba takes no other classes."""

from __future__ import annotations

from typing import Any, NamedTuple


class Part(NamedTuple):
    """How far a loop is in a part of a block; see `BlockParts`.

    Attributes:
        cursor: see `kernel.INDEX`.
        last: where the part ends.
        waiting: the states that wait.
        unknown, rows: filled with unknown paths, and the numbers of the slots of the states that they were met with.
    """

    cursor: Any
    last: Any
    waiting: Any
    unknown: Any
    rows: Any


class Packed(NamedTuple):
    """The states, and where each slot has its bits; see `Store` and `Packing`."""

    states: Any
    outside: Any
    word: Any
    shift: Any
    mask: Any


class Learned(NamedTuple):
    """What is known of the actions; see `Forest` and `TransitionTables`."""

    pool: Any
    leaf_start: Any
    leaf_count: Any
    keep: Any
    put: Any


class Guarding(NamedTuple):
    """The action instances that are left; see `EnabledIndex`."""

    always: Any
    pairs: Any
    table: Any


class AnswerArrays(NamedTuple):
    """What is known of the states that wait besides what was learned; see `Answers`."""

    begins: Any
    trees: Any
    start: Any
    count: Any
    keep: Any
    put: Any


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

    begins: Any
    found: Any
    hashes: Any
    parents: Any
    trees: Any
    routes: Any
    regions: Any
    places: Any
    shown: Any


class Kept(NamedTuple):
    """The states that are kept, and how they were found; see `Store`."""

    states: Any
    parents: Any
    arrivals: Any
    outside: Any
    table: Any


class CountArrays(NamedTuple):
    """What `kernel.append` counts, for each part of a block.

    Attributes:
        counters: see `Store.counters`.
        counts: the steps and the new states of each action instance.
        dead: the first states without a next state, as many as there is room for.
        seen, seen_at: for each step predicate, how many steps were seen to show it, and which, by their places in the
            buffer. As many as there is room for.
    """

    counters: Any
    counts: Any
    dead: Any
    seen: Any
    seen_at: Any
