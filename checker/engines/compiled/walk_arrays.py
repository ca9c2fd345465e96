"""The arrays that the compiled loop of random walks works on, and what their entries mean."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

ARRIVED, AT_REST, ENDED, FINISHED = range(4)
"""Phases of a walker: its state is to be checked; its next step is to be chosen; its walk has ended, and what it showed
was not collected yet; there are no more walks for it."""

DEAD_END, LONGEST, OUTSIDE, REASONS = range(4)
"""Why a walk ended: there was no step to another state; it had as many steps as it may have; its state was outside of
`Spec.within`; and how many reasons there are."""

KEEPS = 4
"""States that each walker keeps between two meetings, for walks to begin at."""

WANTS = 8
"""Unknown paths that a walker notes at a time."""

IDLE = 1 << 24
"""Added to the tree of a step predicate that is wanted for a step that leads back to the same state."""

STEPS, BEGUN, FILLED, MET, COUNTERS = range(5)
"""What a thread counts: steps taken; walks begun; states noted for the sample; states arrived at; and how many counters
these are."""

SEEN = 2**14
"""States that a thread remembers having noted."""


class Learned(NamedTuple):
    """What is known of the spec.

    Attributes:
        pool, leaf_start, leaf_count: see `Forest` and `Tables`.
        begins, slots, numbers: for each outcome, where its changes begin; and of each change, the slot and the number.
        always, pairs, guards: see `Guards`.
        reads: for each slot, bits of the predicates that read it.
        base, hashes: see `Contents`.
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
        walk: the number of the walk.
        step: steps taken in it.
        phase: see `ARRIVED`.
        left: steps to take until all walkers meet again.
        touched: bits of the predicates that may say another thing of the state than of the one before.
        calm: bits of the step predicates that are known to show nothing of a step that changes nothing they read.
        parked: whether the walker waits for what it wants.
        fresh: whether the answers it was given are about the state it is in.
        wanted, wants: how many unknown paths it waits for; and of each the tree, the node and the number at its end.
        seen: for each predicate, the step of this walk that showed it first, -1 if none did.
        idle: for each predicate, the action instance of that step if it led back to the same state, else -1.
        trees, path: of the walk so far, the action instance of each step, and the hash of each state.
        rare, rare_step, rare_next, rare_visits: of the walk so far, the state with the least visited next state besides
            the one taken: the numbers of its slots' values, the steps to it, the hash of that next state, and how often
            that was visited; -1 if there is none.
        found: the number of such states that were kept since the walkers last met.
        kept, kept_step, kept_next, kept_trees, kept_path: these states, and the walks that led to them.
    """

    values: Any
    after: Any
    hashes: Any
    walk: Any
    step: Any
    phase: Any
    left: Any
    touched: Any
    calm: Any
    parked: Any
    fresh: Any
    wanted: Any
    wants: Any
    seen: Any
    idle: Any
    trees: Any
    path: Any
    rare: Any
    rare_step: Any
    rare_next: Any
    rare_visits: Any
    found: Any
    kept: Any
    kept_step: Any
    kept_next: Any
    kept_trees: Any
    kept_path: Any


ROWS = ("values", "after", "rare")
"""The arrays of walkers that have a column for each slot."""


class Answers(NamedTuple):
    """What was answered to single walkers, as it was not worth learning.

    Attributes:
        begins: for each walker, where its answers begin, and where the last end.
        trees: of each answer.
        start, count: of an action instance, its outcomes; of a predicate, `kernel.SHOWN` or `kernel.NOT_SHOWN`.
    """

    begins: Any
    trees: Any
    start: Any
    count: Any


class Sample(NamedTuple):
    """What a thread notes and counts.

    Attributes:
        counters: see `STEPS`.
        hashes, depths, by, degrees: of states whose hash is below the limit: that, the steps to it, the action instance
            that led there, and the steps from it.
        rows: the numbers of these states' slots' values; without columns if they are not wanted.
        met: the hashes of the states that walkers arrived at.
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
    met: Any
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
            whether to look for deadlocks; of 256 steps, those that are chosen among all; of 256 walks, those that begin
            at a rare state of the walker's last walk; and the number of walkers.
        initials, initial_hashes: the initial states.
        sought: bits of the predicates to evaluate.
        visits: how often states with a hash were arrived at; empty if all steps are to be chosen alike.
        limit: of the sample.
        starts, start_step, start_trees, start_path: states in the middle of earlier walks at which walks may begin; see
            `Walkers.kept`.
    """

    numbers: Any
    initials: Any
    initial_hashes: Any
    sought: Any
    visits: Any
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
        outcomes, trees, hashes, times: of each candidate for the next step, its outcome, its action instance, the hash
            of the state that it leads to, and how often that was visited.
    """

    left: Any
    touched: Any
    outcomes: Any
    trees: Any
    hashes: Any
    times: Any


def new_scratch(groups: int, words: int, room: int) -> Scratch:
    """Make room.

    Parameters:
        groups: the 64-bit words of the action instances.
        words: the 64-bit words of the predicates.
        room: the number of candidates.
    """
    numbers = (np.zeros(room, np.int64) for _ in range(3))
    left, touched, hashes = (np.zeros(size, np.uint64) for size in (groups, words, room))
    outcomes, trees, times = numbers
    return Scratch(left, touched, outcomes, trees, hashes, times)


SEED, WALKS, LENGTH, FIRST_CHECK, FIRST_STEP, CHECKS, CONSTRAINED, DEADLOCKS, ROAMING, RETURNS, STRIDE, NUMBERS = range(
    12
)
"""Places in `Plan.numbers`."""


def new_walkers(count: int, slots: int, checks: int, words: int, most: int) -> Walkers:
    """Walkers of which none has begun.

    Parameters:
        count: how many.
        slots: of a state.
        checks: predicates, and one for deadlock.
        words: the 64-bit words of the predicates.
        most: the most steps of a walk.
    """
    return Walkers(
        values=np.zeros((count, slots), np.int64),
        after=np.zeros((count, slots), np.int64),
        hashes=np.zeros(count, np.uint64),
        walk=np.arange(count) - count,
        step=np.zeros(count, np.int64),
        phase=np.full(count, ENDED, np.int64),
        left=np.zeros(count, np.int64),
        touched=np.zeros((count, words), np.uint64),
        calm=np.zeros((count, words), np.uint64),
        parked=np.zeros(count, np.bool_),
        fresh=np.zeros(count, np.bool_),
        wanted=np.zeros(count, np.int64),
        wants=np.zeros((count, WANTS, 3), np.int64),
        seen=np.full((count, checks), -1, np.int64),
        idle=np.full((count, checks), -1, np.int64),
        trees=np.zeros((count, most + 1), np.int32),
        path=np.zeros((count, most + 1), np.uint64),
        rare=np.zeros((count, slots), np.int64),
        rare_step=np.zeros(count, np.int64),
        rare_next=np.zeros(count, np.uint64),
        rare_visits=np.full(count, -1, np.int64),
        found=np.zeros(count, np.int64),
        kept=np.zeros((count, KEEPS, slots), np.int64),
        kept_step=np.zeros((count, KEEPS), np.int64),
        kept_next=np.zeros((count, KEEPS), np.uint64),
        kept_trees=np.zeros((count, KEEPS, most + 1), np.int32),
        kept_path=np.zeros((count, KEEPS, most + 1), np.uint64),
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
        met=np.zeros(notes, np.uint64),
        taken=np.zeros(instances, np.int64),
        enabled=np.zeros(instances, np.int64),
        ends=np.zeros((REASONS, longest + 1), np.int64),
        seen=np.zeros(SEEN, np.uint64),
        seen_order=np.zeros(SEEN, np.int64),
    )
