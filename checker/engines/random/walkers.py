"""Random search with learned results: it takes random walks, and expands states in random order.

The search proceeds in rounds. A round expands a block of states with `Expander`, as a level of an exhaustive search is
expanded. Most of the states come from the frontier; those of their next states that were not found before join the
frontier. The other states are the ends of random walks, which begin at an initial state or at a state that the round
expands; then each walk takes one of the steps from its state. All next states are checked, except those that were found
before, which were checked then. In a uniform search, there are only walks, and only the steps that they take are
checked.

The next round depends on the seed, on the states of this round, and on the contents of their next states. It does not
depend on threads, on what has been learned, or on the order in which values were found. Each counterexample is
confirmed by calling the spec's functions. States that were found are recognized by their content hashes, so a collision
can hide a violation, but cannot show a wrong one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from leadline.checker.content import content
from leadline.checker.coverage import CoverageCounts
from leadline.checker.engines.compiled.expander import Expander
from leadline.checker.engines.compiled.kernel import FILLED
from leadline.checker.engines.learning.comparison import refuse_contradicted
from leadline.checker.engines.learning.interrupts import interrupts_wait
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.restart import CHANGES, Adjustments, Crowded
from leadline.checker.engines.learning.slot_hashes import SlotHashes
from leadline.checker.engines.learning.tables import TransitionTables
from leadline.checker.engines.learning.watch import Watch
from leadline.checker.engines.purity import Purity, leads_elsewhere
from leadline.checker.engines.random import kernel
from leadline.checker.engines.random.ahead import Ahead, ahead
from leadline.checker.engines.random.block import Block
from leadline.checker.engines.random.coverage import WalkCoverage
from leadline.checker.engines.random.distinct_estimate import StateSample
from leadline.checker.engines.random.frontier import Frontier, Reached
from leadline.checker.observing.nodes import ShapeChanged
from leadline.checker.properties import DEADLOCK, Kind, Property
from leadline.checker.result import ActionCount, Statistics, Verified, WalkCounts
from leadline.checker.settings import DEFAULT, Tuning
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace

S = TypeVar("S")
T = TypeVar("T")

FIRST, SHARE, MOST = 8, 16, 8192
"""If n steps have been taken so far, the next round takes n / `SHARE` steps, but at least `FIRST` and at most `MOST`.
The first rounds are short, so that a violation that is found early stops the search early."""

FEWEST, EXPANSIONS = 2, 3
"""`FEWEST` is the minimum number of walks in a round. The search expands `EXPANSIONS` times as many states as its walks
take steps, as soon as the frontier has so many."""

MOST_NEXT = 2**19
"""The approximate maximum number of next states in a round."""

FROM_FRONTIER = 192
"""Of every 256 walks, this number begin at a state that was taken from the frontier."""

DEAD_END, LONGEST, OUTSIDE, REASONS = range(4)
"""The reasons why a walk ended. `DEAD_END`: no step leads to a different state. `LONGEST`: the walk has the maximum
number of steps. `OUTSIDE`: `Spec.within` is false for the next state. `REASONS` is the number of reasons."""


class Next(NamedTuple):
    """The next states of the states of a block, and what the search does with them.

    Attributes:
        parents: for each next state, the index of its predecessor in the block.
        trees: for each next state, the index of the action instance that leads to it.
        hashes: for each next state, the hash of its content.
        degrees, moving: for each state of the block, the number of its steps, and of those that change it.
        enabled: for each action instance, the number of states of the block in which it is enabled.
        chosen: for each walk, the index of the next state that it goes to, or -1 if it ends.
        new: the indices of the next states that join the frontier.
        distances: the distances of these states, or None if the search does not use distances.
        known: in a uniform search, the hashes of the states or steps that were checked and need not be checked again.
    """

    states: NDArray[np.uint64]
    parents: NDArray[np.int64]
    trees: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    degrees: NDArray[np.int64]
    moving: NDArray[np.int64]
    enabled: NDArray[np.int64]
    chosen: NDArray[np.int64]
    new: NDArray[np.int64]
    distances: NDArray[np.float64] | None
    known: NDArray[np.uint64]


class Walks(Generic[S]):
    """A random search of one spec.

    Parameters:
        walks: the number of random walks.
        steps: the maximum number of steps in a walk.
        seed: the seed. Searches with the same seed take the same walks.
        watch: the object that checks the limits, and holds the threads and processes of the search.
        purity: the object that checks that the spec's functions are pure. It calls them again on some of the states.
        uniform: whether there are only random walks from initial states, of which only the steps taken are checked.
        coverage: whether to collect the coverage.
        tuning: internal sizes and limits.

    Attributes:
        traces: a trace for each invariant that is violated and for each witness that is satisfied.
        sampled: a sample of the distinct states.
        taken: for each action instance, the number of times that it was taken.
        enabled: for each action instance, the number of visited states in which it was enabled.
        ends: the number of walks that ended, by reason (see `DEAD_END`) and number of steps.
        steps: the number of steps taken, plus the number of states expanded.
        begun: the number of walks that have begun.
        expanded: the number of states expanded.
    """

    def __init__(
        self, spec: Spec[S], walks: int, steps: int, seed: int, watch: Watch, purity: Purity[S],
        *, uniform: bool = False, coverage: bool = False, tuning: Tuning = DEFAULT,
    ) -> None:  # fmt: skip
        self.spec, self._watch, self._purity, self._tuning = spec, watch, purity, tuning
        self._walks, self._length, self._covers = walks, steps, coverage
        self._initials = sorted(spec.initials(), key=_content)
        self._hashes_of_initials = np.array([*map(_content, self._initials)], np.uint64)
        self._adjustments, self._is_converted = Adjustments(), False
        self.expander = self._new_expander()
        self.begin(seed, uniform=uniform)

    def begin(self, seed: int, *, uniform: bool) -> None:
        """Discard all results and begin a new search with a different seed.

        The learned results are kept to save time. They do not change which walks the search takes.

        Parameters:
            seed, uniform: see `Walks`.
        """
        instances, words = len(self.spec.instances), self.expander.packing.words
        self._seed, self._uniform = np.uint64(seed % 2**64), uniform
        self.traces: dict[Property, Trace[S]] = {}
        self.sampled = StateSample()
        self._coverage = WalkCoverage(self.spec) if self._covers else None
        self.taken, self.enabled = np.zeros(instances, np.int64), np.zeros(instances, np.int64)
        self.ends = np.zeros((REASONS, self._length + 1), np.int64)
        self.steps = self.begun = self.expanded = self._looked = self._deepest = 0
        self._frontier = Frontier(seed, words)
        self._block = self._walking = self._frontier.take(0)  # the states of the round, and those of all walks
        self._numbers = np.zeros(0, np.int64)  # the number of each walk
        self._first = self._place = np.zeros(0, np.int64)  # see `_choose_block`
        self._inside: NDArray[np.int64] | None = None  # the initial states that satisfy `Spec.within`

    # The learned results.

    def _new_expander(self) -> Expander[S]:
        """Return an expander with new tables. If the adjustments do not fit the spec, change them and try again."""
        while True:
            try:
                tables = TransitionTables(
                    self.spec, self._initials, self._adjustments, purity=self._purity, tuning=self._tuning,
                    with_distance=self.spec.distance is not None,
                )  # fmt: skip
                break
            except CHANGES as change:
                self._adjustments = self._adjustments.after(change)
        self._hashes = SlotHashes(tables.layout)
        self._asked = np.zeros(2, np.int64)  # the states expanded and those checked since the tables are new
        packing = Packing(tables.layout.sizes())
        block = Block(packing, tables.instances, self._watch.workers, self._repacked)
        return Expander(tables, block, self._watch)

    @property
    def _store(self) -> Block:
        assert isinstance(self.expander.store, Block)
        return self.expander.store

    def _repacked(self, before: Packing, packing: Packing) -> None:
        self._frontier.states = before.repack(self._frontier.states, packing)

    def _adjusting(self, do: Callable[[], T]) -> T:
        """Call a function and return its result. If the function raises one of `CHANGES`, change the adjustments and
        call it again.

        Raises:
            StopSearch, KeyboardInterrupt, MemoryError, SpecError: see `round`.
        """
        while True:
            try:
                return do()
            except CHANGES as change:
                self._purity.check_again()
                while True:
                    before, self._adjustments = self.expander, self._adjustments.after(change)
                    try:
                        self._convert(before, self._new_expander())
                        break
                    except ShapeChanged as again:
                        change = again

    def _convert(self, before: Expander[S], expander: Expander[S]) -> None:
        """Convert the states of this round and of the frontier to the layout of a new expander."""
        layout, groups = expander.layout, [before.store.states[: len(self._first)], self._frontier.states]
        rows = [[layout.row(before.layout.state(before.packing.unpack(words))) for words in some] for some in groups]
        self._frontier.states = np.zeros((0, expander.packing.words), np.uint64)
        expander.learner.note_values()
        of_block, self._frontier.states = (expander.packing.pack_all(some) for some in rows)
        self.expander, self._is_converted = expander, True
        self._store.put(0, of_block, np.zeros(len(of_block), np.int64))

    # Rounds.

    def round(self) -> bool:
        """Run one round: expand a block of states, check the next states, and take a step of each walk.

        Returns:
            True if some walks have not ended yet.

        Raises:
            StopSearch, KeyboardInterrupt, MemoryError: if the search was stopped before the end of the round.
            SpecError: if an action or a property raised an exception or is not a pure function.
        """
        if self._inside is None:
            self._inside = self._adjusting(self._check_initials)
        if not len(self._inside):
            return False
        self._watch.pause()
        before = len(self.traces)
        alone = self._choose_block()
        found = self._adjusting(self._next)
        with interrupts_wait():
            self._go_on(found)
        last = self.steps + alone
        while len(self._numbers) == 1 and self.steps < last and len(self.traces) == before:
            self._walk_alone(last)
        return self.begun < self._walks or len(self._numbers) > 0

    def _walk_alone(self, last: int) -> None:
        """Take steps of the only walk, without expanding further states.

        Parameters:
            last: the number of steps at which the round ends.
        """
        self._watch.pause()
        self._expand_next(self._walking._replace(nodes=self._frontier.forget(self._walking.nodes)))
        steps = None if self._covers else self._adjusting(lambda: self._ahead(last))
        if steps is not None and len(steps.trees):
            with interrupts_wait():
                return self._follow(steps)
        found = self._adjusting(self._next)
        with interrupts_wait():
            return self._go_on(found)

    def _ahead(self, last: int) -> Ahead | None:
        """Take steps of the only walk that need no call; see `ahead`."""
        if self._is_converted:
            return None
        tables, steps = self.expander.tables, int(self._block.steps[0])
        return ahead(
            self.expander, (self._seed, int(self._numbers[0]), steps), min(last - self.steps, self._length - steps),
            self._block.hashes[0], self._frontier.known, self._hashing(), self._wanted(tables.state_checks),
            self._wanted(tables.step_checks), uniform=self._uniform,
        )  # fmt: skip

    def _follow(self, found: Ahead) -> None:
        """Count the steps of the only walk."""
        frontier, count, block = self._frontier, len(found.trees), self._block
        nodes = frontier.reach_in_turn(int(block.nodes[0]), found.trees, found.hashes[1:])
        way = frontier.at(found.states, np.concatenate([block.nodes, nodes]))
        self.sampled.add(kernel.mixed.py_func(way.hashes[:-1]), way.steps[:-1], way.trees[:-1], found.degrees)
        self.enabled += found.enabled
        self._count(self.taken, found.trees)
        self._deepest = max(self._deepest, int(way.steps[-2]))
        self._looked += count if self._uniform else found.looked
        self._asked += count, len(found.keys)
        self.steps += count
        if self._uniform:
            frontier.note(found.keys)
        self._block = self._walking = way.at(np.array([count]))

    def _check_initials(self) -> NDArray[np.int64]:
        """Check the initial states, add them to the frontier, and return the indices of those that satisfy
        `Spec.within`.
        """
        store, hashes = self._store, self._hashes_of_initials
        rows, none = self.expander.tables.rows, np.full(len(hashes), -1)
        store.put(0, store.packing.pack_all(rows), np.zeros(len(rows), np.int64))
        wanted = self._wanted(self.expander.tables.state_checks)
        shown, outside = self._checked(0, wanted, inherit=False)
        nodes = self._frontier.reach(none, none, hashes)
        for item, column in zip(self.expander.tables.state_checks, shown.T, strict=True):
            if column.any():
                self._confirm(item, self._frontier.path(int(nodes[np.flatnonzero(column)[0]])))
        inside = np.flatnonzero(~outside)
        if not self._uniform:
            places = inside[self._frontier.new_among(hashes[inside], none[inside], none[inside])]
            distances = None if self.spec.distance is None else self._distances(places)
            self._frontier.add(store.states[places], nodes[places], distances)
        return inside

    def _check_again(self) -> None:
        """Check the states of this round and of the frontier with new tables. Next states are not evaluated where they
        equal their predecessors in what a predicate has read, so it must have been called for the predecessors.
        """
        store, frontier, count = self._store, self._frontier, len(self._first)
        store.put(count, frontier.states, np.zeros(len(frontier), np.int64))
        shown, _ = self._checked(0, self._wanted(self.expander.tables.state_checks), inherit=False)
        nodes = np.concatenate([self._block.nodes[self._first], frontier.nodes])
        for item, column in zip(self.expander.tables.state_checks, shown.T, strict=True):
            if column.any():
                self._confirm(item, frontier.path(int(nodes[np.flatnonzero(column)[0]])))
        store.drop(count)
        self._is_converted = False

    def _choose_block(self) -> int:
        """Choose the states to be expanded in this round: those of all walks, and some of the frontier. Return the
        number of steps that are taken after that: if there is only one walk, it takes as many as others together.

        Equal states are expanded once, because in a small space most walks are together: `_first` has the place in the
        block of each different state, in the order of the store, and `_place` the place in the store of each state.
        """
        frontier = self._frontier
        if not len(self._numbers):
            self._walking = frontier.at(self.expander.store.states[:0], self._walking.nodes[:0])
        self._walking = self._walking._replace(nodes=frontier.forget(self._walking.nodes))
        # walks take the place of states to be expanded if there are not enough of these
        size = min(max(FIRST, self.steps // SHARE), MOST)
        wanted = max(FEWEST, size // (1 + EXPANSIONS), size - len(frontier))
        begins = max(0, min(wanted - len(self._numbers), self._walks - self.begun))
        coming = len(self._numbers) + begins
        alone = wanted - 1 if coming == 1 and self.begun + begins == self._walks else 0
        walked = self.steps - self.expanded + coming + alone
        at_once = max(1, min(MOST, MOST_NEXT // (self._looked // max(self.steps, 1) + 1)))
        taken = frontier.take(max(0, min(EXPANSIONS * walked - self.expanded, at_once)))
        if begins:
            self._begin_walks(begins, taken)
        self._expand_next(self._walking.followed_by(taken))
        return alone

    def _expand_next(self, block: Reached) -> None:
        """Put the states of a block into the store."""
        self._block, states = block, block.states
        _, self._first, self._place = np.unique(self._block.hashes, return_index=True, return_inverse=True)
        if (states[self._first[self._place]] != states).any():  # different states have the same hash
            self._first = self._place = np.arange(len(states))
        self._store.put(0, states[self._first], np.zeros(len(self._first), np.int64))

    def _begin_walks(self, count: int, taken: Reached) -> None:
        """Begin walks at random initial states, or at states that were taken from the frontier."""
        assert self._inside is not None
        randoms = np.zeros(count, np.uint64)
        kernel.starts(self._seed, self.begun, randoms)
        in_frontier = np.full(count, len(taken.nodes) > 0) & (randoms & np.uint64(255) < FROM_FRONTIER)
        bounds = np.where(in_frontier, max(len(taken.nodes), 1), len(self._inside)).astype(np.uint64)
        places = ((randoms >> np.uint64(32)) * bounds >> np.uint64(32)).astype(np.int64)
        initial, which = np.unique(self._inside[places[~in_frontier]], return_inverse=True)
        rows, none = self.expander.tables.rows, np.full(np.count_nonzero(~in_frontier), -1)
        states = self.expander.packing.pack_all([rows[place] for place in initial])[which]
        nodes = self._frontier.reach(none, none, self._hashes_of_initials[initial][which])
        begun = taken.at(places[in_frontier]).followed_by(self._frontier.at(states, nodes))
        self._walking = self._walking.followed_by(begun)
        self._numbers = np.concatenate([self._numbers, np.arange(self.begun, self.begun + count)])
        self.begun += count

    def _next(self) -> Next:
        """Compute the next states of the block, check them, and choose the next step of each walk."""
        expander, block, count, stored = self.expander, self._block, len(self._block.nodes), len(self._first)
        tables, store, walks = expander.tables, self._store, len(self._numbers)
        if expander.layout.crowded:
            raise Crowded(frozenset(expander.layout.crowded))
        store.drop(stored)  # the next states that an attempt left behind
        if self._is_converted:
            self._check_again()
        expander.earlier = self._asked[0]
        expander.learner.compare(store.states, 0, stored)
        of_states, of_steps = self._wanted(tables.state_checks), self._wanted(tables.step_checks)
        parts, buffers = expander.generate(0, stored, np.array(of_steps, np.bool_) & (not self._uniform))
        filled = parts.cursors[:, FILLED].tolist()

        def joined(arrays: NDArray[Any]) -> NDArray[Any]:
            return np.concatenate([array[:end] for array, end in zip(arrays, filled, strict=True)])

        found, packing = joined(buffers.found), store.packing
        parents, trees = joined(buffers.parents).astype(np.int64), joined(buffers.trees).astype(np.int64)
        hashes, moves = self._hashed(found, parents)
        parents, of = self._of_each(parents)
        found, trees, hashes, moves = found[of], trees[of], hashes[of], moves[of]
        on_way = block.steps[parents] < self._length
        allowed, chosen = moves & on_way, np.full(walks, -1)
        degrees, moving, enabled = (np.zeros(size, np.int64) for size in (count, count, tables.instances))
        kernel.count_steps(parents, trees, moves, degrees, moving, enabled)
        self._confirm_dead(np.flatnonzero(degrees == 0))
        judged = 0 if self._uniform else len(found)
        expander.learner.verification.actions(store.states, packing, np.arange(stored), judged)

        def choose() -> None:
            kernel.choose(self._seed, self._numbers, block.steps, parents, trees, hashes, allowed, chosen)

        if self._uniform:
            choose()
            idle = np.flatnonzero(on_way & ~moves)
            _, first = np.unique(parents[idle], return_index=True)
            places = np.concatenate([chosen[chosen >= 0], idle[first]])
            # of equal steps, or states if no property of steps is evaluated, only the first ever is checked
            keys = kernel.mixed.py_func(block.hashes[parents]) ^ hashes if any(of_steps) else hashes
        else:
            places, keys = np.flatnonzero(allowed), hashes
            for number, item in enumerate(tables.step_checks):
                self._confirm_first(
                    item, np.flatnonzero(joined(buffers.shown)[of, number] & on_way), parents, trees, hashes
                )
            of_steps = []
        places = places[~self._frontier.is_known(keys[places])]
        _, first, same = np.unique(keys[places], return_index=True, return_inverse=True)
        checked = places[first]
        store.put(stored, found[checked], self._place[parents[checked]])
        expander.earlier = self._asked[1] - stored
        shown, outside = self._checked(stored, [*of_states, *of_steps], inherit=True)
        self._asked += stored, len(checked)
        checks = itertools.islice((*tables.state_checks, *tables.step_checks), shown.shape[1])
        for item, column in zip(checks, shown.T, strict=True):
            self._confirm_first(item, places[column[same]], parents, trees, hashes)
        allowed[places[outside[same]]] = False
        new, distances, known = places[:0], None, hashes[:0]
        if self._uniform:
            known = keys[checked[~outside]]
            chosen[chosen >= 0] = np.where(allowed[chosen[chosen >= 0]], chosen[chosen >= 0], -1)
        else:
            choose()
            joining = np.flatnonzero(allowed[places] & (parents[places] >= walks))
            nodes = block.nodes[parents[places]]
            joining = joining[self._frontier.new_among(hashes[places][joining], nodes[joining], trees[places][joining])]
            new = places[joining]
            if self.spec.distance is not None:
                distances = self._distances(stored + same[joining])
        if store.packing is not packing:
            found = packing.repack(found, store.packing)
        self._look_at_sample()
        return Next(found, parents, trees, hashes, degrees, moving, enabled, chosen, new, distances, known)

    def _of_each(self, parents: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Give each state of the block the steps of the equal state that was expanded.

        Parameters:
            parents: for each step, the place of its state in the store.

        Returns:
            For each step from a state of the block, the index of the state in the block, and that of the step in
            `parents`. The steps of a state keep their order.
        """
        order = np.argsort(parents, kind="stable")
        begins = np.searchsorted(parents[order], np.arange(len(self._first) + 1))
        degrees = np.diff(begins)[self._place]
        ends = np.cumsum(degrees)
        shift = np.repeat(begins[self._place] - (ends - degrees), degrees)
        return np.repeat(np.arange(len(self._place)), degrees), order[shift + np.arange(len(shift))]

    def _wanted(self, checks: Sequence[Property]) -> list[bool]:
        """Return, for each property, whether it must still be evaluated."""
        return [item not in self.traces and item.kind is not Kind.CUT for item in checks]

    def _checked(
        self, first: int, wanted: Sequence[bool], *, inherit: bool
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Evaluate properties on the states of the store from index `first` on.

        Parameters:
            wanted: for each property, whether to evaluate it.
            inherit: whether all properties were evaluated on the predecessors of these states.

        Returns:
            For each state and property, whether the property is violated or the witness is satisfied; and for each
            state, whether it is outside of `Spec.within`.
        """
        store, of_states = self.expander.store, len(self.expander.tables.state_checks)
        outside = np.zeros(store.count - first, np.bool_)
        if not any(wanted) or not len(outside):
            return np.zeros((len(outside), len(wanted)), np.bool_), outside
        shown = self.expander.check(first, wanted, [inherit and number < of_states for number in range(len(wanted))])
        if self.spec.constraint is not None:
            outside, shown[:, of_states - 1] = shown[:, of_states - 1].copy(), False
        return shown, outside

    def _hashed(
        self, found: NDArray[np.uint64], parents: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Return, for each next state, the hash of its content, and whether it differs from its predecessor."""
        store, hashes, moves = self.expander.store, np.zeros(len(found), np.uint64), np.zeros(len(found), np.bool_)
        workers = self._watch.workers
        given = store.states, self._block.hashes[self._first], found, parents, *self._hashing()
        ends = len(found) * np.arange(workers.count + 1) // workers.count
        work = [(first, last, *given, hashes, moves) for first, last in itertools.pairwise(ends)]
        workers.run(kernel.hash_next, work, alone=len(found) < self._tuning.alone)
        return hashes, moves

    def _hashing(self) -> list[NDArray[Any]]:
        """Return the packing and the hashes of all values; see `kernel.hash_next`."""
        self._hashes.update()
        packing = self.expander.store.packing
        order = np.argsort(packing.word, kind="stable")
        begins = np.searchsorted(packing.word[order], np.arange(packing.words + 1))
        slots = (each[order] for each in (packing.word, packing.shift, packing.mask))
        return [*slots, begins, self._hashes.base[order], self._hashes.table]

    def _distances(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the result of `Spec.distance` for each of the given states of the store. Call the function only for
        states whose distance is not learned.

        Raises:
            StopSearch: if the time limit is exceeded, or the tables are full.
            SpecError: if the function raised an exception, is not pure, or did not return a finite number of at least
                0.
            ShapeChanged, NotRecorded: if the search must change its adjustments; see `Adjustments`.
        """
        expander, tree = self.expander, self.expander.tables.caller.distance_tree
        codes, distances = expander.leaves(indices, tree, 1)[:, 0], np.zeros(len(indices))
        distances[codes < 0] = expander.tables.distances[-codes[codes < 0] - 1]
        for place in np.flatnonzero(codes == 0).tolist():
            self._watch.pause()
            given = expander.learner.ask(tree, expander.row(int(indices[place])), int(self._asked[1]) + place)
            assert isinstance(given, float)
            distances[place] = given
        expander.learner.note_values()
        return distances

    def _go_on(self, found: Next) -> None:
        """Count the steps of a round, move the walks, and add new states to the frontier."""
        block, walks, frontier = self._block, len(self._numbers), self._frontier
        self.sampled.add(kernel.mixed.py_func(block.hashes), block.steps, block.trees, found.degrees)
        self.enabled += found.enabled
        goes, to = found.chosen >= 0, found.chosen[found.chosen >= 0]
        self._count(self.taken, found.trees[to])
        self._count(self.taken, block.trees[walks:][block.steps[walks:] > 0])
        reasons = np.full(walks, OUTSIDE)
        reasons[block.steps[:walks] == self._length] = LONGEST
        reasons[found.moving[:walks] == 0] = DEAD_END
        np.add.at(self.ends, (reasons[~goes], block.steps[:walks][~goes]), 1)
        self._deepest = max(self._deepest, int(block.steps.max(initial=0)))
        self._looked += len(to) if self._uniform else len(found.parents)
        self.expanded += len(block.nodes) - walks
        self.steps += len(to) + len(block.nodes) - walks
        before = np.concatenate([np.flatnonzero(goes), found.parents[found.new]])
        reached = np.concatenate([to, found.new])
        nodes = frontier.reach(block.nodes[before], found.trees[reached], found.hashes[reached])
        self._numbers, self._walking = self._numbers[goes], frontier.at(found.states[to], nodes[: len(to)])
        frontier.note(found.known)
        if not self._uniform:
            frontier.add(found.states[found.new], nodes[len(to) :], found.distances)
        self._block = self._walking

    @staticmethod
    def _count(counts: NDArray[np.int64], trees: NDArray[np.int64]) -> None:
        counts += np.bincount(trees, minlength=len(counts))

    # Results.

    def _confirm_first(
        self,
        item: Property,
        places: NDArray[np.int64],
        parents: NDArray[np.int64],
        trees: NDArray[np.int64],
        hashes: NDArray[np.uint64],
    ) -> None:
        """Build the trace of the first of the given next states or steps, which violate a property or satisfy a
        witness.

        Parameters:
            parents, trees, hashes: see `Next`.
        """
        if len(places):
            keys = hashes[places], trees[places], parents[places], self._block.steps[parents[places]]
            place = places[np.lexsort(keys)[0]]
            instances, path = self._frontier.path(int(self._block.nodes[parents[place]]))
            self._confirm(item, ([*instances, int(trees[place])], [*path, int(hashes[place])]))

    def _confirm_dead(self, dead: NDArray[np.int64]) -> None:
        """Build the trace of the first deadlocked state, if deadlocks are looked for and there is one.

        Parameters:
            dead: the indices of the states of the block that have no next state.
        """
        if self.spec.check_deadlock and DEADLOCK not in self.traces:
            for index in dead[np.argsort(self._block.steps[dead], kind="stable")].tolist():
                if not self.spec.is_final(self.expander.state(int(self._place[index]))):
                    return self._confirm(DEADLOCK, self._frontier.path(int(self._block.nodes[index])))
        return None

    def _confirm(self, item: Property, path: tuple[list[int], list[int]]) -> None:
        """Call the spec's functions to build a trace that violates an invariant or satisfies a witness.

        Parameters:
            path: the index of each step's action instance, and the hash of each state.

        Raises:
            SpecError: if an action is not pure, so that an action instance no longer leads to the recorded state.
            NotRecorded: if calls contradict the trace.
        """
        trees, hashes = path
        if item in self.traces or item.kind is Kind.CUT:
            return
        states, instances = [self._initials[self._hashes_of_initials.tolist().index(hashes[0])]], []
        for tree, hashed in zip(trees, hashes[1:], strict=True):
            instance = self.spec.instances[tree]
            successors = [after for after in self.spec.take(instance, states[-1]) if _content(after) == hashed]
            if not successors:
                raise leads_elsewhere(instance)
            states.append(successors[0])
            instances.append(instance)
        trace = Trace(self.spec, states, instances, item)
        refuse_contradicted(self.expander.tables, [trace])
        self.traces[item] = trace

    def _look_at_sample(self) -> None:
        """Count the coverage of the states of the block that are in the sample of distinct states."""
        if self._coverage is not None:
            hashes = kernel.mixed.py_func(self._block.hashes)
            places = np.flatnonzero(hashes <= np.uint64(self.sampled.limit)).tolist()
            self._coverage.look(
                hashes[places].tolist(), lambda place: self.expander.state(int(self._place[places[place]])), self._watch
            )

    @property
    def covered(self) -> CoverageCounts | None:
        """The coverage of the search so far, or None if it is not collected."""
        if self._coverage is None:
            return None
        self.sampled.settle()
        new = self.sampled.led_to(len(self.spec.instances))
        return self._coverage.covered(self.sampled, self.enabled, self.taken, new)

    @property
    def statistics(self) -> Statistics:
        """The statistics of the search so far."""
        self.sampled.settle()
        sampled, spec, tables = self.sampled, self.spec, self.expander.tables
        names = [instance.action.name for instance in spec.instances]
        actions = {action.name: ActionCount() for action in spec.actions}
        enabled = dict.fromkeys(actions, 0)
        new = sampled.led_to(len(names)).tolist()
        for name, taken, of_sample, states in zip(names, self.taken.tolist(), new, self.enabled.tolist(), strict=True):
            actions[name].generated += taken
            actions[name].distinct += sampled.scaled(of_sample)
            enabled[name] += states
        ended = np.flatnonzero(self.ends.any(axis=0))
        lengths = self.ends.sum(axis=0)[: ended.max() + 1].tolist() if len(ended) else []
        degrees = sampled.degrees
        return Statistics(
            distinct=sampled.distinct,
            outside=0,
            generated=self.steps + self.begun,
            depth=max(int(self._walking.steps.max(initial=0)), len(lengths) - 1, self._deepest) + (self.begun > 0),
            queue=None,
            expanded=sampled.distinct,
            successors=sampled.scaled(int(degrees.sum())),
            out_degree_min=int(degrees.min(initial=2**62)) if len(degrees) else 0,
            out_degree_max=int(degrees.max(initial=0)),
            deadlocks=sampled.scaled(int(np.count_nonzero(degrees == 0))),
            seconds=self._watch.budget.seconds,
            actions=actions,
            memory=tables.nbytes + self._frontier.nbytes + self.expander.store.bytes_used,
            calls=tables.calls,
            compared=tables.compared,
            whole_reads=tables.whole_reads(),
            verified=Verified(*self.expander.learner.verification.counts.tolist()),
            walked=WalkCounts(
                behaviours=self.begun,
                steps=self.steps - self.expanded,
                expanded=self.expanded,
                waiting=len(self._frontier) + self._frontier.given_up,
                is_exact=sampled.is_exact,
                lengths=tuple(lengths),
                depths=tuple(map(sampled.scaled, np.bincount(sampled.depths).tolist())),
                dead_ends=int(self.ends[DEAD_END].sum()),
                outside=int(self.ends[OUTSIDE].sum()),
                enabled=enabled,
            ),
        )


def _content(state: object) -> int:
    return content(type(state).__name__, state, is_part=True)
