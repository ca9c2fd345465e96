"""The arrays that the compiled loop of a random search reads and writes, as named tuples.

A walker is a position in the state space that the loop moves; see `leadline.checker.engines.random.walkers`. Evidence
for a property is a state or step that violates the invariant or satisfies the witness. An action instance is identified
by its number, which is also the index of its decision tree.

A set of predicates or of action instances is represented by bits, 64 in a word. The hash of a state is computed from
its content; see `SlotHashes`.
"""

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
"""The phases of a walker, a position in the state space that the loop moves:

- `ARRIVED`: its state must be checked.
- `AT_REST`: its state has been checked, and its next step must be chosen.
- `ENDED`: its walk has ended, and its evidence must be collected before it begins another walk.
- `FINISHED`: it has no more walks to take, or it has expanded its state.
"""

DEAD_END, LONGEST, OUTSIDE, REASONS = range(4)
"""The reasons why a walk ended: there was no step to a different state; the walk had the maximum number of steps; it
reached a state for which `Spec.within` is false. `REASONS` is the number of reasons."""

WANTS = 64
"""The maximum number of unknown paths that are stored for a walker before the calls are made."""

STEPS, BEGUN, EXPANDED, LOOKED, FILLED, COUNTERS = range(6)
"""The indices of the counters in `Sample.counters`: steps taken; walks begun; states expanded; next states checked;
states added to the sample. `COUNTERS` is the number of counters."""

CHILDREN = 2**11
"""The minimum number of next states for which `Scratch` has room."""

SEEN = 2**14
"""The number of entries of `Sample.seen`."""


class Learned(NamedTuple):
    """The results of a spec's actions and predicates that the search has recorded, as arrays for its compiled loop.

    Attributes:
        pool, leaf_start, leaf_count: see `Forest` and `TransitionTables`.
        begins: for each outcome (the set of changes that one step makes), the position of its first change in `slots`
            and `numbers`.
        slots, numbers: for each change, the slot and the number of its new value.
        always, pairs, guards: see `always`, `pairs` and `table` of `EnabledIndex`.
        reads: for each slot, the set of predicates that have read it.
        base, hashes: see `base` and `table` of `SlotHashes`.
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
    """The walkers of a random search. Each array has an entry or a row for each walker.

    Attributes:
        values: the walker's state, given as the number of the value in each slot.
        after: the state after the step that is being checked, in the same form.
        hashes: the hash of the walker's state.
        walk: the number of the current walk. For a walker that expands states, its index among the walkers that expand
            states.
        step: the number of steps from an initial state to the walker's state.
        phase: see `ARRIVED`.
        left: the number of steps that the walker still takes in this round. Expanding a state counts as one step.
        calm: the set of predicates that are skipped on a step that does not change any slot that they have read.
        parked: whether the walker is waiting for the results of calls.
        fresh: whether the walker's answers belong to its current state; see `Answers`.
        wanted: the number of unknown paths for which the walker is waiting.
        wants: for each of these paths: the index of the tree; the node and the value number at the end of the path; the
            number of the outcome that leads to the predicate's argument, or -1 if the function is called on the
            walker's state; and the hash of the state on which the function is called. If it is called on a step, this
            is the hash of the state after the step.
        seen: for each predicate, the number of steps of the walk up to the first evidence, or -1 if there is none.
        last_tree: for each predicate, the action instance of the last of these steps if the walk only checked this step
            without taking it, and otherwise -1.
        last_hash: for each predicate, the hash of the state after this last step.
        by: the action instance that led to the walker's state, or -1 for an initial state.
        trees: the action instance of each step of the walk. Walkers that expand states have no entry.
        path: the hash of each state of the walk. Walkers that expand states have no entry.
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
"""The attributes of `Walkers` that have a column for each slot."""


class Answers(NamedTuple):
    """The results of calls that are stored for a single walker instead of in the decision trees.

    Attributes:
        begins: for each walker, the index of its first answer. The last entry is the number of answers.
        trees: for each answer, the index of the tree of the called function.
        contents: for each answer, the hash of the state on which the function was called. For a call on a step, this is
            the hash of the state after the step.
        start: for each answer, the number of the first outcome of the action instance. For a predicate, it is `SHOWN`
            or `NOT_SHOWN`.
        counts: for each answer, the number of outcomes of the action instance. For a predicate, it is -1.
    """

    begins: Numbers
    trees: Numbers
    contents: Hashes
    start: Numbers
    counts: Numbers


class Sample(NamedTuple):
    """The counts of some walkers, and the visited states that are candidates for the `StateSample`.

    Attributes:
        counters: see `STEPS`.
        hashes: for each sampled state, its mixed hash; see `kernel.mixed`.
        depths: for each sampled state, the number of steps from an initial state.
        by: for each sampled state, the action instance of the last of these steps, or -1 for an initial state.
        degrees: for each sampled state, the number of steps that lead from it to a next state.
        rows: for each sampled state, the number of the value in each slot. There are no columns if states are not
            needed.
        taken: for each action instance, the number of times that it was taken.
        enabled: for each action instance, the number of visited states in which it was enabled.
        ends: the number of walks that ended, by reason and number of steps.
        seen: a hash table of the mixed hashes of recently sampled states.
        seen_order: for each entry of `seen`, a number that combines the depth and the action instance. A state is
            sampled again only with a smaller number.
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
    """The parameters of a random search.

    Attributes:
        numbers: see `SEED`.
        initials: the initial states, each as the number of the value in each slot.
        initial_hashes: the hashes of the initial states.
        sought: the set of predicates to evaluate.
        of_states: the set of all state predicates.
        limit: an array with one entry, the largest hash that the sample of distinct states accepts.
        starts: the states of the frontier at which walks may begin, each given as the number of the value in each slot.
        start_step, start_trees, start_path: the paths to these states; see `steps`, `trees` and `path` of `Starts`.
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
    """The working memory of one call of the loop.

    Candidates are the steps from the current state of a walker that change this state.

    Attributes:
        left: the set of action instances that may be enabled in the current state.
        touched: the set of predicates that have read a slot that the current step changes.
        outcomes: for each candidate, the number of its outcome.
        trees: for each candidate, its action instance.
        hashes: for each candidate, the hash of the next state.
        outside: for each candidate, whether `Spec.within` is false for the next state.
        filled: an array with one entry, the number of stored next states of expanded states.
        rows: for each stored next state, the number of the value in each slot.
        found: for each stored next state, its hash.
        by: for each stored next state, the action instance that leads to it.
        of: for each stored next state, the index of the walker that expanded its predecessor.
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
    """Allocate the working memory for one call of the loop.

    Parameters:
        groups: the number of 64-bit words of a set of action instances.
        words: the number of 64-bit words of a set of predicates.
        room: the maximum number of candidates that the memory can hold; see `Scratch`.
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
"""The indices of the entries of `Plan.numbers`:

- `SEED`: the seed of the search.
- `WALKS`, `LENGTH`: the number of walks, and the maximum number of steps of a walk.
- `FIRST_CHECK`, `FIRST_STEP`: the index of the tree of the first state predicate, and of the first step predicate.
- `CHECKS`: the number of predicates.
- `CONSTRAINED`: whether the last state predicate is `Spec.within`.
- `DEADLOCKS`: whether to look for deadlocks.
- `LOOKS`: whether to check all next states before a step is chosen, instead of only the state after the chosen step.
- `FROM_FRONTIER`: the number of walks out of 256 that begin at a state of the frontier.
- `WALKING`: the number of walkers that take random walks. The other walkers expand states.

`NUMBERS` is the number of entries.
"""


def widened(rows: NDArray[N], slots: int) -> NDArray[N]:
    """Return a copy of an array of states with additional columns for new slots, filled with zeros.

    Parameters:
        rows: for each state, the number of the value in each slot.
        slots: the number of columns of the result.
    """
    return np.pad(rows, ((0, 0), (0, slots - rows.shape[1])))


def new_walkers(walking: int, expanding: int, slots: int, checks: int, words: int, most: int) -> Walkers:
    """Allocate the arrays of walkers that have not begun their first walk.

    Parameters:
        walking: the number of walkers that take random walks.
        expanding: the number of walkers that expand states.
        slots: the number of slots of a state.
        checks: the number of predicates, plus one for the absence of deadlocks.
        words: the number of 64-bit words of a set of predicates.
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
    """Allocate the arrays of an empty sample.

    Parameters:
        notes: the maximum number of states that the walkers of the sample visit in a round.
        instances: the number of action instances.
        longest: the maximum number of steps of a walk.
        slots: the number of slots of a state, or 0 if the rows of states are not needed.
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
