"""The arrays that the compiled loop of random walks works on, and what their entries mean."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ARRIVED, AT_REST, ENDED, FINISHED = range(4)
"""Phases of a walker: its state is to be checked; its next step is to be chosen; its walk has ended, and what it showed
was not collected yet; there are no more walks for it, or it has expanded its state."""

DEAD_END, LONGEST, OUTSIDE, REASONS = range(4)
"""Why a walk ended: there was no step to another state; it had as many steps as it may have; its state was outside of
`Spec.within`; and how many reasons there are."""

WANTS = 64
"""Unknown paths that a walker notes at a time."""

STEPS, BEGUN, EXPANDED, LOOKED, FILLED, COUNTERS = range(6)
"""What a thread counts: steps taken; walks begun; states expanded; next states looked at; states noted for the sample;
and how many counters these are."""

CHILDREN = 2**11
"""Next states that a thread has room for, if no state has more."""

SEEN = 2**14
"""States that a thread remembers having noted."""


class Learned(NamedTuple):
    """What is known of the spec.

    Attributes:
        pool, leaf_start, leaf_count: see `Forest` and `TransitionTables`.
        begins, slots, numbers: for each outcome, where its changes begin; and of each change, the slot and the number.
        always, pairs, guards: see `EnabledIndex`.
        reads: for each slot, bits of the predicates that read it.
        base, hashes: see `SlotHashes`.
    """

    pool: Any
    leaf_start: Any
    leaf_count: Any
    begins: Any
    slots: Any
    numbers: Any
    always: Any
    pairs: Any
    guards: Any
    reads: Any
    base: Any
    hashes: Any


class Walkers(NamedTuple):
    """The walkers. All arrays have one entry, or one row, for each.

    Attributes:
        values, after: the numbers of the slots' values, before the step that is being checked and after it.
        hashes: of their states' contents.
        walk: the number of the walk; of a walker that expands states, its place among these.
        step: steps taken in it.
        phase: see `ARRIVED`.
        left: steps to take until all walkers meet again; 1 if it is to expand a state.
        calm: bits of the predicates that are known to show nothing of a state or step that changes nothing they read.
        parked: whether the walker waits for what it wants.
        fresh: whether the answers it was given are about the state it is in.
        wanted, wants: how many unknown paths it waits for; and of each the tree, the node and the number at its end,
            the outcome of the step that it is about, -1 if of none, and the hash of the state that it is about or that
            the step leads to.
        seen: for each predicate, the step of this walk that showed it first, -1 if none did.
        last_tree, last_hash: for each predicate, the action instance of that step and the hash of the state that it
            leads to, if the walk only looked at it; -1 if the walk took it.
        by: the action instance that led to its state; -1 at an initial state.
        trees, path: of the walk so far, the action instance of each step, and the hash of each state; only of walkers
            that walk.
    """

    values: Any
    after: Any
    hashes: Any
    walk: Any
    step: Any
    phase: Any
    left: Any
    calm: Any
    parked: Any
    fresh: Any
    wanted: Any
    wants: Any
    seen: Any
    last_tree: Any
    last_hash: Any
    by: Any
    trees: Any
    path: Any


ROWS = ("values", "after")
"""The arrays of walkers that have a column for each slot."""


class Answers(NamedTuple):
    """What was answered to single walkers, as it was not worth learning.

    Attributes:
        begins: for each walker, where its answers begin, and where the last end.
        trees, contents: of each answer, in order; and the hash of the state that it is about or that the step leads to.
        start, count: of an action instance, its outcomes; of a predicate, `kernel.SHOWN` or `kernel.NOT_SHOWN`.
    """

    begins: Any
    trees: Any
    contents: Any
    start: Any
    count: Any


class Sample(NamedTuple):
    """What a thread notes and counts.

    Attributes:
        counters: see `STEPS`.
        hashes, depths, by, degrees: of states whose hash is below the limit: that, the steps to it, the action instance
            that led there, and the steps from it.
        rows: the numbers of these states' slots' values; without columns if they are not wanted.
        taken, enabled: for each action instance, how often it was taken, and in how many states it was enabled.
        ends: for each reason and number of steps, the walks that ended so.
        seen, seen_order: the hash of a state noted lately, and with what: it is noted again only with less.
    """

    counters: Any
    hashes: Any
    depths: Any
    by: Any
    degrees: Any
    rows: Any
    taken: Any
    enabled: Any
    ends: Any
    seen: Any
    seen_order: Any


class Plan(NamedTuple):
    """What the walks are to do.

    Attributes:
        numbers: the seed, the number of walks and the most steps of each; the trees of the first state predicate and of
            the first step predicate; the number of predicates; whether the last state predicate is `Spec.within`;
            whether to look for deadlocks; whether to look at all next states, not only at the one chosen; of 256 walks,
            those that begin in the frontier; and the number of walkers that walk: the others expand states.
        initials, initial_hashes: the initial states.
        sought: bits of the predicates to evaluate.
        of_states: bits of the state predicates.
        limit: of the sample.
        starts, start_step, start_trees, start_path: states of the frontier at which walks may begin, and the steps to
            them.
    """

    numbers: Any
    initials: Any
    initial_hashes: Any
    sought: Any
    of_states: Any
    limit: Any
    starts: Any
    start_step: Any
    start_trees: Any
    start_path: Any


class Scratch(NamedTuple):
    """Room for what a thread works on.

    Attributes:
        left: bits of the action instances that may be enabled.
        touched: bits of the predicates that read what a step changes.
        outcomes, trees, hashes, outside: of each candidate for the next step, its outcome, its action instance, the
            hash of the state that it leads to, and whether that is outside of `Spec.within`.
        filled, rows, found, by, of: how many next states of expanded states there are; and of each, the numbers of its
            slots' values, the hash of its content, the action instance that led there, and the walker that expands the
            state before it.
    """

    left: Any
    touched: Any
    outcomes: Any
    trees: Any
    hashes: Any
    outside: Any
    filled: Any
    rows: Any
    found: Any
    by: Any
    of: Any


def new_scratch(groups: int, words: int, room: int, slots: int) -> Scratch:
    """Make room.

    Parameters:
        groups: the 64-bit words of the action instances.
        words: the 64-bit words of the predicates.
        room: the number of candidates.
        slots: of a state.
    """
    children = max(CHILDREN, room)
    return Scratch(
        left=np.zeros(groups, np.uint64),
        touched=np.zeros(words, np.uint64),
        outcomes=np.zeros(room, np.int64),
        trees=np.zeros(room, np.int64),
        hashes=np.zeros(room, np.uint64),
        outside=np.zeros(room, np.bool_),
        filled=np.zeros(1, np.int64),
        rows=np.zeros((children, slots), np.int32),
        found=np.zeros(children, np.uint64),
        by=np.zeros(children, np.int32),
        of=np.zeros(children, np.int64),
    )


(
    SEED, WALKS, LENGTH, FIRST_CHECK, FIRST_STEP, CHECKS, CONSTRAINED, DEADLOCKS, LOOKS, FROM_FRONTIER, WALKING, NUMBERS
) = range(12)  # fmt: skip
"""Places in `Plan.numbers`."""


def widened(rows: NDArray[Any], slots: int) -> NDArray[Any]:
    """Rows with all slots; in those that are new, all have 0."""
    return np.pad(rows, ((0, 0), (0, slots - rows.shape[1])))


def new_walkers(walking: int, expanding: int, slots: int, checks: int, words: int, most: int) -> Walkers:
    """Walkers of which none has begun.

    Parameters:
        walking, expanding: how many walk, and how many expand states.
        slots: of a state.
        checks: predicates, and one for deadlock.
        words: the 64-bit words of the predicates.
        most: the most steps of a walk.
    """
    count = walking + expanding
    return Walkers(
        values=np.zeros((count, slots), np.int64),
        after=np.zeros((count, slots), np.int64),
        hashes=np.zeros(count, np.uint64),
        walk=np.zeros(count, np.int64),
        step=np.zeros(count, np.int64),
        phase=np.full(count, ENDED, np.int64),
        left=np.zeros(count, np.int64),
        calm=np.zeros((count, words), np.uint64),
        parked=np.zeros(count, np.bool_),
        fresh=np.zeros(count, np.bool_),
        wanted=np.zeros(count, np.int64),
        wants=np.zeros((count, WANTS, 5), np.int64),
        seen=np.full((count, checks), -1, np.int64),
        last_tree=np.full((count, checks), -1, np.int64),
        last_hash=np.zeros((count, checks), np.uint64),
        by=np.full(count, -1, np.int64),
        trees=np.zeros((walking, most + 1), np.int32),
        path=np.zeros((walking, most + 1), np.uint64),
    )


def new_sample(notes: int, instances: int, longest: int, slots: int) -> Sample:
    """Room for what a thread notes.

    Parameters:
        notes: the most states that it meets between two meetings.
        instances: the action instances.
        longest: the most steps of a walk.
        slots: of a state; 0 if states are not wanted.
    """
    return Sample(
        counters=np.zeros(COUNTERS, np.int64),
        hashes=np.zeros(notes, np.uint64),
        depths=np.zeros(notes, np.int64),
        by=np.zeros(notes, np.int64),
        degrees=np.zeros(notes, np.int64),
        rows=np.zeros((notes, slots), np.int64),
        taken=np.zeros(instances, np.int64),
        enabled=np.zeros(instances, np.int64),
        ends=np.zeros((REASONS, longest + 1), np.int64),
        seen=np.zeros(SEEN, np.uint64),
        seen_order=np.zeros(SEEN, np.int64),
    )
