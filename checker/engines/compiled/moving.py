"""Moves a search from Python objects into packed states, and back. The search continues at the state where it was.

A search has two forms: `DirectSearch`, whose states are objects, and `CompiledSearch`, whose states are packed words.
`Moved` holds all that a search has found so far, in neither form. Moving is exact because nothing is computed: each
state, the first step to it, each count and each violation found are handed over as they are, and both forms expand
states in the same order.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from typing import Generic, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.compiled import kernel
from leadline.checker.engines.compiled.direct import DirectSearch, Found
from leadline.checker.engines.compiled.position import Position
from leadline.checker.engines.evidence import Sighting
from leadline.checker.engines.oracle import OracleSearch
from leadline.checker.properties import OF_STATES, OF_STEPS, Kind

S = TypeVar("S")

StepsSeen = list[tuple[int, int, S]]
"""Steps, each given as the index of the state before it, the action instance, and the state after it."""


@attrs.frozen(kw_only=True, eq=False)
class Moved(Generic[S]):
    """All that a search has found so far.

    Attributes:
        states: the states in the order of discovery. The index of a state is its position in this list.
        parents, arrivals: for each state, its predecessor and the action instance of the first step to it. Both are 0
            for an initial state.
        outside: for each state, whether it violates `Spec.within`.
        counters: the counters of `kernel.append`.
        at: the position of the search. `Position.steps_seen` is empty.
        steps_seen: for each predicate on steps, the steps that violate the property or satisfy the witness.
        shown: for each predicate on states, the number of states that satisfy it. Counted only for coverage.
        made: the number of calls that have been made in earlier forms of the search.
    """

    states: Sequence[S]
    parents: NDArray[np.uint32]
    arrivals: NDArray[np.uint32]
    outside: NDArray[np.bool_]
    counters: NDArray[np.int64]
    at: Position
    steps_seen: Sequence[StepsSeen[S]]
    shown: NDArray[np.int64]
    made: int


def of_objects(search: OracleSearch[S], made: int) -> Moved[S]:
    """Return what a search with objects has found, before it expands its next state.

    Parameters:
        search: the search. It must have states left to expand in the current level.
        made: the number of calls that it has made.
    """
    spec, now = search.spec, search.statistics
    trees = {instance: tree for tree, instance in enumerate(spec.instances)}
    numbers, parents, arrivals, levels = dict[S, int](), list[int](), list[int](), list[int]()
    for state, steps in search.arrivals.items():
        before, instance = steps[0] if steps else (None, None)
        parents.append(0 if before is None else numbers[before])
        arrivals.append(0 if instance is None else trees[instance])
        levels.append(0 if before is None else levels[parents[-1]] + 1)
        numbers[state] = len(numbers)
    outside = np.fromiter((state in search.outside for state in numbers), np.bool_, len(numbers))
    begins = [bisect.bisect_left(levels, level) for level in range(now.depth + 1)]
    counters = np.zeros(kernel.COUNTERS, np.int64)
    following = numbers[search.frontier[-1]]
    counters[kernel.STATES], counters[kernel.EXPANDED] = len(numbers), following
    counters[kernel.DEADLOCKS] = now.deadlocks
    counters[kernel.FEWEST], counters[kernel.MOST] = now.out_degree_min if now.expanded else -1, now.out_degree_max
    of_states, of_steps = spec.checks_of(*OF_STATES), spec.checks_of(*OF_STEPS)
    seen = search.sightings
    at = Position(
        counts=np.array(search.counted(), np.int64).reshape(len(spec.instances), 2),
        seen=[[numbers[each.state] for each in seen.get(item, ())] for item in of_states],
        steps_seen=[],
        dead=[numbers[each.state] for item in spec.checks_of(Kind.DEADLOCK) for each in seen[item]],
        next=following,
        checked=len(numbers),
        level_end=begins[-1],
        levels=begins[:-1],
        outside=[int(part.sum()) for part in np.split(outside, begins[1:])] if outside.any() else [],
    )
    return Moved(
        states=[*numbers],
        parents=np.array(parents, np.uint32),
        arrivals=np.array(arrivals, np.uint32),
        outside=outside,
        counters=counters,
        at=at,
        steps_seen=[
            [(numbers[each.state], trees[each.step[0]], each.step[1]) for each in seen.get(item, ()) if each.step]
            for item in of_steps
        ],
        shown=np.array([search.shown[item] for item in of_states], np.int64),
        made=made,
    )


def to_objects(before: OracleSearch[S], moved: Moved[S]) -> DirectSearch[S]:
    """Return a search with objects that continues where a packed search was, between two blocks of states.

    Only the first step to each state is known, so `Limits.traces` must be 1.

    Parameters:
        before: the search with objects before its states were packed.
        moved: what the search has found.
    """
    spec, at, states = before.spec, moved.at, moved.states
    search = DirectSearch(spec, before.limits, before.progress, before.budget, before.look, before.tuning)
    search.purity = before.purity
    begins = [*at.levels, at.level_end]
    instances, initials = spec.instances, begins[1] if len(begins) > 1 else len(states)
    for index, (state, parent, arrival) in enumerate(zip(states, moved.parents, moved.arrivals, strict=True)):
        found = Found(state)
        found.level = bisect.bisect_right(begins, index) - 1
        if index >= initials:
            found.append((states[parent], instances[arrival]))
        search.arrivals[state] = found
        search.values.check(state, states[parent])
    search.outside.update(states[index] for index in np.flatnonzero(moved.outside).tolist())
    is_within = ~moved.outside
    search.levels += [int(is_within[first:last].sum()) for first, last in itertools.pairwise(begins)]
    search.frontier += [states[at.next + index] for index in np.flatnonzero(is_within[at.next : at.level_end])[::-1]]
    search.level += states[at.level_end :]
    search.has_begun = True
    search.counted()[:] = at.counts.tolist()
    now, steps = search.statistics, int(at.counts[:, 0].sum())
    now.distinct, now.outside = int(is_within.sum()), int(moved.outside.sum())
    now.expanded, now.depth = int(is_within[: at.next].sum()), len(at.levels)
    now.generated, now.successors = steps + initials, steps
    now.out_degree_min = max(int(moved.counters[kernel.FEWEST]), 0)
    now.out_degree_max, now.deadlocks = int(moved.counters[kernel.MOST]), int(moved.counters[kernel.DEADLOCKS])
    for item, places in zip(spec.checks_of(*OF_STATES), at.seen, strict=True):
        if item in search.sightings:
            search.sightings[item] += [Sighting(states[place]) for place in places]
    for item, seen in zip(spec.checks_of(*OF_STEPS), moved.steps_seen, strict=True):
        if item in search.sightings:
            search.sightings[item] += [
                Sighting(states[before], (instances[tree], after)) for before, tree, after in seen
            ]
    for item in spec.checks_of(Kind.DEADLOCK):
        search.sightings[item] += [Sighting(states[place]) for place in at.dead]
    return search
