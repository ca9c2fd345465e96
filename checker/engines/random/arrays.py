"""The arrays that the compiled loop of a random search reads and writes, as named tuples.

A walker is a position in the state space. The loop moves it from state to state; see
`leadline.checker.engines.random.walkers`. An action instance is identified by its index, which is also the index of its
decision tree.

A set of predicates or of action instances is stored as bits, 64 per word. The hash of a state is computed from its
content; see `SlotHashes`.
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
"""The phases of a walker:

- `ARRIVED`: its state must be checked.
- `AT_REST`: its state has been checked, and its next step must be chosen.
- `ENDED`: its walk has ended, and its findings must be collected before it begins another walk.
- `FINISHED`: there are no more walks for it to take, or it has expanded its state.
"""

DEAD_END, LONGEST, OUTSIDE, REASONS = range(4)
"""The reasons why a walk ended. `DEAD_END`: no step leads to a different state. `LONGEST`: the walk has the maximum
number of steps. `OUTSIDE`: `Spec.within` is false for the walker's state. `REASONS` is the number of reasons."""

WANTS = 64
"""The maximum number of unknown paths that a walker stores before the functions of the spec are called."""

STEPS, BEGUN, EXPANDED, LOOKED, FILLED, COUNTERS = range(6)
"""The indices of the counters in `Sample.counters`. `STEPS` counts steps taken, `BEGUN` walks begun, `EXPANDED` states
expanded, `LOOKED` next states checked, and `FILLED` visited states recorded. `COUNTERS` is the number of
counters."""

CHILDREN = 2**11
"""The minimum number of next states that `Scratch` can hold."""

SEEN = 2**14
"""The number of entries of `Sample.seen`."""


class Learned(NamedTuple):
    """The recorded results of a spec's actions and predicates, as arrays for the compiled loop.

    Attributes:
        pool, leaf_start, leaf_count: see `Forest` and `TransitionTables`.
        begins: for each outcome (the set of changes that one step makes), the position of its first change in `slots`
            and `numbers`.
        slots, numbers: for each change, the slot and the index of its new value.
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

    A finding is a state or step that violates a property or, if the property is a witness, satisfies it.

    Attributes:
        values: the walker's state, given as the index of the value in each slot.
        after: the state after the step that is being checked, also given as the index of the value in each slot.
        hashes: the hash of the walker's state.
        walk: the index of the current walk. For a walker that expands states, its own index among such walkers.
        step: the number of steps from an initial state to the walker's state.
        phase: see `ARRIVED`.
        left: the number of steps that the walker still has to take in this round. Expanding a state counts as one step.
        calm: the set of predicates that are evaluated on a step only if the step changes a slot that they have read.
        parked: whether the walker is waiting for the results of calls.
        fresh: whether the walker's results in `Answers` belong to its current state.
        wanted: the number of paths in decision trees that the walker needs and that are not yet known. The walker waits
            for them.
        wants: for each of these paths, five numbers: the index of the decision tree; the last known node of the path;
            the index of the state's value in the slot of this node; the index of the outcome of the step that is being
            checked, or -1 if the function is called on the walker's state; and the hash of the state on which the
            function is called, or of the state after the step.
        seen: for each predicate, the number of steps from an initial state to the first finding for its property, or -1
            if there is none yet.
        last_tree: for each predicate, the index of the action instance of the finding's last step, if the walker
            checked this step without taking it. Otherwise -1.
        last_hash: for each predicate, the hash of the state after the finding's last step. It is ignored if the entry
            in `last_tree` is -1.
        by: the index of the action instance that led to the walker's state, or -1 for an initial state.
        trees: for each step of the walk, the index of its action instance. Walkers that expand states have no entry.
        path: for each state of the walk, its hash. Walkers that expand states have no entry.
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
    """Results of calls, called answers, that are stored for a single walker and not in the decision trees.

    Attributes:
        begins: for each walker, the index of its first answer. The last entry is the total number of answers.
        trees: for each answer, the index of the called function's decision tree.
        contents: for each answer, the hash of the state on which the function was called. For a call on a step, this is
            the hash of the state after the step.
        start: for each answer of an action instance, the index of its first outcome (the set of changes that one step
            makes). For each answer of a predicate, `SHOWN` or `NOT_SHOWN`.
        counts: for each answer of an action instance, the number of its outcomes. For each answer of a predicate, -1.
    """

    begins: Numbers
    trees: Numbers
    contents: Hashes
    start: Numbers
    counts: Numbers


class Sample(NamedTuple):
    """The counts of some walkers, and the states that they visited. `StateSample` is built from these arrays.

    Attributes:
        counters: see `STEPS`.
        hashes: for each sampled state, its mixed hash; see `kernel.mixed`.
        depths: for each sampled state, the number of steps from an initial state.
        by: for each sampled state, the index of the action instance that led to it, or -1 for an initial state.
        degrees: for each sampled state, the number of steps that begin in it.
        rows: for each sampled state, the index of the value in each slot. If only the hashes are needed, the array has
            no columns.
        taken: for each action instance, the number of times that it was taken.
        enabled: for each action instance, the number of visited states in which it was enabled.
        ends: for each reason and each number of steps, the number of walks that ended for this reason after this number
            of steps.
        seen: a hash table of the mixed hashes of recently sampled states.
        seen_order: for each entry of `seen`, a number that combines the depth and the action instance of the state. If
            the state is visited again, it is recorded again only if this number is smaller.
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
        initials: for each initial state, the index of the value in each slot.
        initial_hashes: for each initial state, its hash.
        sought: the set of predicates to evaluate.
        of_states: the set of all state predicates.
        limit: an array with one entry: the largest hash that a state can have to be in the sample of distinct states.
        starts: for each state of the frontier where walks may begin, the index of the value in each slot.
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
    """The working memory of one call to the loop.

    A candidate is a step that leads from the current state of a walker to a different state.

    Attributes:
        left: the set of action instances that may be enabled in the current state. Those that turn out not to be
            enabled are removed.
        touched: the set of predicates that have read at least one slot changed by the current step.
        outcomes: for each candidate, the index of its outcome.
        trees: for each candidate, the index of its action instance.
        hashes: for each candidate, the hash of the next state.
        outside: for each candidate, whether `Spec.within` is false for the next state.
        filled: an array with one entry: how many next states of expanded states are stored.
        rows: for each stored next state, the index of the value in each slot.
        found: for each stored next state, its hash.
        by: for each stored next state, the index of the action instance that leads to it.
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
    """Allocate the working memory for one call to the loop.

    Parameters:
        groups: the number of 64-bit words that represent a set of action instances.
        words: the number of 64-bit words that represent a set of predicates.
        room: the number of candidates for which to allocate memory; see `Scratch`.
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
    """Return a copy of the given rows with a column of zeros for each new slot.

    Parameters:
        rows: for each state, the index of the value in each slot.
        slots: the number of columns of the result.
    """
    return np.pad(rows, ((0, 0), (0, slots - rows.shape[1])))


def new_walkers(walking: int, expanding: int, slots: int, checks: int, words: int, most: int) -> Walkers:
    """Allocate the arrays of walkers that have not begun their first walk.

    Parameters:
        walking: the number of walkers that take random walks.
        expanding: the number of walkers that expand states.
        slots: the number of slots of a state.
        checks: the number of predicates, plus one for the deadlock check.
        words: the number of 64-bit words that represent a set of predicates.
        most: the maximum number of steps in a walk.
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
        notes: the maximum number of visited states that can be recorded in one round.
        instances: the number of action instances.
        longest: the maximum number of steps in a walk.
        slots: the number of slots of a state, or 0 if only the hashes of states are needed.
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
