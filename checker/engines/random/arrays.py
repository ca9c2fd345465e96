"""The arrays that the compiled loop of random walks works on, and what their entries mean."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
ShortNumbers = NDArray[np.int32]
Hashes = NDArray[np.uint64]
Bits = NDArray[np.uint64]
Flags = NDArray[np.bool_]
N = TypeVar("N", bound=np.generic)

ARRIVED, AT_REST, ENDED, FINISHED = range(4)
"""The phases of a walker: its state must be checked; its next step must be chosen; its walk has ended, but its evidence
is not collected yet; there are no more walks for it, or it has expanded its state."""

DEAD_END, LONGEST, OUTSIDE, REASONS = range(4)
"""The reasons why a walk ended: there was no step to a different state; the walk had the maximum number of steps; its
state was outside of `Spec.within`. The last constant is the number of reasons."""

WANTS = 64
"""The number of unknown paths that a walker can note before they are learned."""

STEPS, BEGUN, EXPANDED, LOOKED, FILLED, COUNTERS = range(6)
"""The counters of a thread: steps taken; walks begun; states expanded; next states inspected; states noted for the
sample. The last constant is the number of counters."""

CHILDREN = 2**11
"""The number of next states that a thread has room for, unless a state has more."""

SEEN = 2**14
"""The number of noted states that a thread remembers."""


class Learned(NamedTuple):
    """Everything that has been learned about the spec.

    Attributes:
        pool, leaf_start, leaf_count: see `Forest` and `TransitionTables`.
        begins, slots, numbers: for each outcome, the position of its first change; for each change, slot and number.
        always, pairs, guards: see `EnabledIndex`.
        reads: for each slot, bits of the predicates that read it.
        base, hashes: see `SlotHashes`.
    """

    pool: ShortNumbers
    leaf_start: ShortNumbers
    leaf_count: ShortNumbers
    begins: Numbers
    slots: ShortNumbers
    numbers: ShortNumbers
    always: Bits
    pairs: Numbers
    guards: Bits
    reads: Bits
    base: Numbers
    hashes: Hashes


class Walkers(NamedTuple):
    """The walkers. Each array has an entry or a row for each walker.

    Attributes:
        values, after: the numbers of the slots' values, before the step that is being checked and after it.
        hashes: the hash of the content of its state.
        walk: the number of its walk; for a walker that expands states, its index among these.
        step: the number of steps taken in the walk.
        phase: see `ARRIVED`.
        left: the number of steps until all walkers meet again; 1 if the walker must expand a state.
        calm: bits of the predicates that give no evidence for a state or step that changes nothing they read.
        parked: whether the walker waits for unknown paths.
        fresh: whether its answers are about the state it is in.
        wanted, wants: the number of unknown paths that it waits for; and for each path the tree, the node and the
            number at its end, the outcome of the step that it is about (-1: no step), and the hash of the state that it
            is about or that the step leads to.
        seen: for each predicate, the first step of this walk that gave evidence; -1: none did.
        last_tree, last_hash: for each predicate, the action instance of that step and the hash of the state that it
            leads to, if the walk only looked at the step; -1 if the walk took it.
        by: the action instance that led to its state; -1 at an initial state.
        trees, path: the action instance of each step of the walk, and the hash of each state; only for walkers that
            walk.
    """

    values: Numbers
    after: Numbers
    hashes: Hashes
    walk: Numbers
    step: Numbers
    phase: Numbers
    left: Numbers
    calm: Bits
    parked: Flags
    fresh: Flags
    wanted: Numbers
    wants: Numbers
    seen: Numbers
    last_tree: Numbers
    last_hash: Hashes
    by: Numbers
    trees: ShortNumbers
    path: Hashes


ROWS = ("values", "after")
"""The arrays of walkers that have a column for each slot."""


class Answers(NamedTuple):
    """The results of calls made for single walkers, because the calls were not worth learning.

    Attributes:
        begins: the index of each walker's first answer; the last entry is the number of answers.
        trees: the tree of each answer.
        contents: for each answer, the hash of the state that it describes, or of the next state of the step.
        start, counts: the outcomes of an action instance. For a predicate, `start` is `SHOWN` or `NOT_SHOWN`, and
            `counts` is -1.
    """

    begins: Numbers
    trees: Numbers
    contents: Hashes
    start: Numbers
    counts: Numbers


class Sample(NamedTuple):
    """The states that a thread notes, and its counts.

    Attributes:
        counters: see `STEPS`.
        hashes, depths, by, degrees: for each state whose hash is below the limit, the hash, the number of steps to the
            state, the action instance that led there, and the number of steps from it.
        rows: the numbers of the slots' values of these states; without columns if they are not wanted.
        taken, enabled: for each action instance, how often it was taken, and in how many states it was enabled.
        ends: for each reason and number of steps, the number of walks that ended in this way.
        seen, seen_order: the hashes of recently noted states, and the depth and action instance noted with each. A
            state is noted again only with a smaller depth and action instance.
    """

    counters: Numbers
    hashes: Hashes
    depths: Numbers
    by: Numbers
    degrees: Numbers
    rows: Numbers
    taken: Numbers
    enabled: Numbers
    ends: Numbers
    seen: Hashes
    seen_order: Numbers


class Plan(NamedTuple):
    """The task of the walkers.

    Attributes:
        numbers: the seed; the number of walks; the maximum number of steps of each; the trees of the first state
            predicate and of the first step predicate; the number of predicates; whether the last state predicate is
            `Spec.within`; whether to look for deadlocks; whether to look at all next states instead of the chosen one;
            the number of walks out of 256 that begin in the frontier; and the number of walkers that walk, while the
            rest expand states.
        initials, initial_hashes: the initial states.
        sought: bits of the predicates to evaluate.
        of_states: bits of the state predicates.
        limit: one entry: the largest hash in the sample.
        starts, start_step, start_trees, start_path: states of the frontier at which walks may begin, and the steps to
            them.
    """

    numbers: Numbers
    initials: Numbers
    initial_hashes: Hashes
    sought: Bits
    of_states: Bits
    limit: Hashes
    starts: Numbers
    start_step: Numbers
    start_trees: ShortNumbers
    start_path: Hashes


class Scratch(NamedTuple):
    """The working memory of a thread.

    Attributes:
        left: bits of the action instances that may be enabled.
        touched: bits of the predicates that read what a step changes.
        outcomes, trees, hashes, outside: for each candidate for the next step, its outcome, its action instance, the
            hash of the state that it leads to, and whether that state is outside of `Spec.within`.
        filled, rows, found, by, of: the number of next states of expanded states; and for each of these, the numbers of
            its slots' values, the hash of its content, the action instance that led there, and the walker that expands
            the state before it.
    """

    left: Bits
    touched: Bits
    outcomes: Numbers
    trees: Numbers
    hashes: Hashes
    outside: Flags
    filled: Numbers
    rows: ShortNumbers
    found: Hashes
    by: ShortNumbers
    of: Numbers


def new_scratch(groups: int, words: int, room: int, slots: int) -> Scratch:
    """Allocate the working memory of a thread.

    Parameters:
        groups: the number of 64-bit words of the action instances.
        words: the number of 64-bit words of the predicates.
        room: the number of candidates.
        slots: the number of slots of a state.
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
"""The indices of the entries of `Plan.numbers`."""


def widened(rows: NDArray[N], slots: int) -> NDArray[N]:
    """Return the rows widened to the given number of slots. The new slots are 0."""
    return np.pad(rows, ((0, 0), (0, slots - rows.shape[1])))


def new_walkers(walking: int, expanding: int, slots: int, checks: int, words: int, most: int) -> Walkers:
    """Return walkers that have not begun.

    Parameters:
        walking, expanding: the number of walkers that walk, and of walkers that expand states.
        slots: the number of slots of a state.
        checks: the number of predicates plus one, for deadlock.
        words: the number of 64-bit words of the predicates.
        most: the maximum number of steps of a walk.
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
    """Return an empty sample.

    Parameters:
        notes: the maximum number of states that the thread meets between two meetings.
        instances: the number of action instances.
        longest: the maximum number of steps of a walk.
        slots: the number of slots of a state; 0 if states are not wanted.
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
