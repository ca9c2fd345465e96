"""The compiled search with symmetry: it expands and stores one state of each orbit; see `leadline.checker.symmetry`.

Actions are known to be symmetric because they are called under all permutations; see
`leadline.checker.engines.learning.symmetric_calls`. Predicates are evaluated in all states that permutations make of a
representative, and in all steps that they make of its steps. What they say must be permuted too.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TypeVar, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.compiled import orbit_loops
from leadline.checker.engines.compiled.block_parts import BlockParts
from leadline.checker.engines.compiled.buffers import Buffers
from leadline.checker.engines.compiled.expander import Expander
from leadline.checker.engines.compiled.kernel import FILLED, SHOWN_BY_STEP
from leadline.checker.engines.compiled.store import Store
from leadline.checker.engines.evidence import Sighting
from leadline.checker.engines.learning.arrays import Packed
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.symmetric_calls import SymmetricCaller
from leadline.checker.engines.learning.tables import TransitionTables
from leadline.checker.engines.learning.watch import Watch
from leadline.checker.properties import Kind, Property
from leadline.checker.result import OrbitCounts
from leadline.checker.symmetry import refused

S = TypeVar("S")

AT_ONCE = 2**18
"""The number of states or steps that are permuted at the same time."""


@attrs.define(eq=False)
class Twins:
    """States that a permutation makes of others, in place of a store, so that predicates are evaluated on them.

    Attributes:
        parents: for each state, the index of the state before it, if the states are those of steps.
    """

    store: Store
    states: NDArray[np.uint64]
    parents: NDArray[np.uint32]

    @property
    def count(self) -> int:
        """The number of states."""
        return len(self.states)

    @property
    def packing(self) -> Packing:
        """The packing of the search."""
        return self.store.packing

    @property
    def packed(self) -> Packed:
        """See `Store.packed`."""
        return self.store.packed._replace(states=self.states)

    @property
    def stored(self) -> int:
        """See `Store.stored`."""
        return self.store.stored

    def repack(self, packing: Packing) -> None:
        """Repack the states of the search and these."""
        self.states = self.store.packing.repack(self.states, packing)
        self.store.repack(packing)


class SymmetricExpander(Expander[S]):
    """Expands representatives. See `Expander`."""

    def __init__(self, tables: TransitionTables[S], store: Store, watch: Watch) -> None:
        super().__init__(tables, store, watch)
        self._caller = cast(SymmetricCaller[S], tables.caller)
        self.symmetry, self.permutations = self._caller.symmetry, self._caller.permutations
        checks: list[Property] = [*tables.state_checks, *tables.step_checks]
        places = {item: place for place, item in enumerate(checks)}
        self._checks = [
            [places.get(self.symmetry.check(by, item), -1) for item in checks] for by in self.symmetry.group
        ]
        self._counted = self._states = 0

    def generate(self, first: int, last: int, wanted: NDArray[np.bool_]) -> tuple[BlockParts, Buffers]:
        while True:
            parts, buffers = super().generate(first, last, np.zeros_like(wanted))
            buffers.shown[:] = 0
            packing = self.store.packing
            self._fit()
            if self.store.packing is packing and wanted.any():
                self._judge_all(parts, buffers, wanted)
                self._fit()
            if self.store.packing is packing:
                break
        permutations, places = self.permutations.arrays, (packing.word, packing.shift, packing.mask)
        self.workers.run(
            orbit_loops.make_least,
            [
                (parts.cursors[part], parts.ends[part], parts.ends[part + 1], buffers.of(part), permutations, *places)
                for part in range(len(parts.cursors))
            ],
            alone=last - first < self.tuning.alone,
        )
        return parts, buffers

    def learn(self, parts: BlockParts, states: int) -> list[int]:
        """See `Expander.learn`. What is learned is known of all states in the orbits, and takes as many calls."""
        return super().learn(parts, states * len(self.symmetry.group))

    def _fit(self) -> None:
        """Add bits for what permutations make of the values found so far."""
        self.permutations.extend()
        self.learner.note_values()

    def _judge_all(self, parts: BlockParts, buffers: Buffers, wanted: NDArray[np.bool_]) -> None:
        """Evaluate predicates on what permutations make of all steps of a block."""
        of_states, packing = len(self.tables.state_checks), self.store.packing
        evaluated = [*[False] * of_states, *wanted.tolist()]
        for part, filled in enumerate(parts.cursors[:, FILLED].tolist()):
            for begin in range(0, filled, AT_ONCE):
                some = slice(begin, min(begin + AT_ONCE, filled))
                befores, parents = np.unique(buffers.parents[part, some], return_inverse=True)
                states = np.concatenate([self.store.states[befores], buffers.found[part, some]])
                shown = self._in_all(states, parents.astype(np.uint32), len(befores), evaluated)
                if self.store.packing is not packing:
                    return
                buffers.shown[part, some] = np.where(shown[:, of_states:], SHOWN_BY_STEP, 0)

    def check(self, first: int, wanted: Sequence[bool], inherit: Sequence[bool]) -> NDArray[np.bool_]:
        count = self.store.count
        parts = []
        for begin in range(first, count, AT_ONCE):
            while True:
                packing = self.store.packing
                states = self.store.states[begin : min(begin + AT_ONCE, count)].copy()
                shown = self._in_all(states, np.zeros(0, np.uint32), 0, wanted)
                if self.store.packing is packing:
                    break
            parts.append(shown)
        return np.concatenate(parts)

    def _in_all(
        self, states: NDArray[np.uint64], parents: NDArray[np.uint32], first: int, wanted: Sequence[bool]
    ) -> NDArray[np.bool_]:
        """Evaluate predicates on what permutations make of states or steps, and check that they say the permuted.

        Parameters:
            states: the packed states; of steps, those before them, followed by those after them.
            parents: for each step, the index of the state before it.
            first: the index of the first state to check.
            wanted: for each predicate, whether to evaluate it.

        Returns:
            For each state or step and predicate, whether any permutation of it violates the property or satisfies the
            witness. Meaningless if the packing of the states has changed.
        """
        real, own = self.store, np.zeros((0, 0), np.bool_)
        every = np.zeros((len(states) - first, len(wanted)), np.bool_)
        before = np.concatenate([np.zeros(first, np.uint32), parents])
        for which in range(len(self.symmetry.group)):
            packing, twins = real.packing, np.zeros_like(states)
            self._fit()
            if real.packing is not packing:
                return every
            orbit_loops.permute(
                which, states, twins, self.permutations.arrays, packing.word, packing.shift, packing.mask
            )
            self.store, self.earlier = cast(Store, Twins(real, twins, before)), len(self.symmetry.group) * real.count
            try:
                shown = super().check(first, wanted, [False] * len(wanted))
            finally:
                self.store, self.earlier = real, 0
            if real.packing is not packing:
                return every
            own = shown if which == 0 else own
            self._compare(which, states, before, first, wanted, own, shown)
            every |= shown
        return every

    def _compare(
        self,
        which: int,
        states: NDArray[np.uint64],
        before: NDArray[np.uint32],
        first: int,
        wanted: Sequence[bool],
        own: NDArray[np.bool_],
        shown: NDArray[np.bool_],
    ) -> None:
        """Check that predicates say of permuted states or steps what the permuted predicates say of the first ones."""
        checks = (*self.tables.state_checks, *self.tables.step_checks)
        for place, target in enumerate(self._checks[which][: len(wanted)]):
            if target < 0 or not (wanted[place] and wanted[target]):
                continue
            differ = np.flatnonzero(own[:, place] != shown[:, target])
            if len(differ):
                index = first + int(differ[0])
                rows = [self.store.packing.unpack(states[index])]
                if first:
                    rows.insert(0, self.store.packing.unpack(states[before[index]]))
                twin: S = self.layout.state(self.permutations.row(which, rows[0]))
                says = bool(shown[differ[0], target]) == checks[target].kind.is_witness
                name = "within" if checks[place].kind is Kind.WITHIN else checks[target].name
                raise refused(self.symmetry, self.symmetry.group[which], twin, f"{name} is {str(says).lower()}")

    def is_final(self, index: int) -> bool:
        state, spec = self.state(index), self.tables.spec
        found = spec.is_final(state)
        for by, twin in zip(self.symmetry.group, self.symmetry.orbit(state), strict=True):
            if spec.is_final(twin) != found:
                raise refused(self.symmetry, by, twin, f"final is {str(not found).lower()}")
        return found

    def orbits(self, last: int) -> OrbitCounts:
        """Return the counts of the orbits of the states before an index."""
        packing = self.store.packing
        self._states += orbit_loops.states_in_orbits(
            self._counted, last, self.store.states, self.store.outside, self.permutations.arrays, packing.word,
            packing.shift, packing.mask,
        )  # fmt: skip
        self._counted = last
        return OrbitCounts(len(self.symmetry.group), self.symmetry.declared, self._states)

    def concrete(self, seen: dict[Property, list[Sighting[S]]]) -> dict[Property, list[Sighting[S]]]:
        """Return sightings in states and steps of which a predicate says what it says of some permutation of them."""
        return {item: [self._concrete(item, each) for each in sightings] for item, sightings in seen.items()}

    def _concrete(self, item: Property, seen: Sighting[S]) -> Sighting[S]:
        symmetry, steps = self.symmetry, [seen.step]
        if seen.step is not None:
            instance, end = seen.step
            steps = [step for step in symmetry.spec.steps(instance, seen.state) if end in symmetry.orbit(step[1])]
        for by, step in itertools.product(symmetry.group, steps):
            state = symmetry.state(by, seen.state)
            found = None if step is None else (symmetry.instance(by, step[0]).of_search, symmetry.state(by, step[1]))
            states = (state,) if found is None else (state, found[1])
            if (symmetry.spec.complaint(item, *states) is None) == item.kind.is_witness:
                return Sighting(state, found)
        return seen  # a deadlock
