"""Finds behaviours in which a formula is true, in the product of the graph of packed states and an automaton; see
`leadline.checker.liveness.product`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.budget import StopSearch
from leadline.checker.engines.compiled import graph_loops
from leadline.checker.engines.compiled.fair import BYTES_A_STATE, Arena
from leadline.checker.engines.compiled.lassos import shortest_lasso
from leadline.checker.engines.compiled.state_graph import PackedGraph, conditions_in
from leadline.checker.engines.learning.arrays import Flags
from leadline.checker.formulas import Atom
from leadline.checker.liveness.automaton import Automaton, Transition
from leadline.checker.result import Stop, StopKind
from leadline.checker.support.messages import counted

S = TypeVar("S")

BYTES_A_PAIR = 16
"""The number of bytes for each pair of a state and an automaton's state, in addition to the graph of the pairs."""


def behaviour_of(
    arena: Arena[S], automaton: Automaton, where: Mapping[Atom, Flags], *, quiet: bool, endless: bool
) -> tuple[list[int], list[int] | None] | None:
    """Return a fair behaviour that an automaton accepts, or None if there is none.

    Parameters:
        arena: the graph of all states and steps.
        automaton: the automaton of a formula.
        where: for each predicate of states in the formula, the states in which it is true.
        quiet, endless: see `leadline.checker.liveness.decide.behaviour_of`.

    Returns:
        The states of the stem, and those of the loop; see `Behaviour` in `leadline.checker.liveness.decide`.

    Raises:
        StopSearch: if the time or the memory is used up.
    """
    own, graph = len(automaton.transitions), arena.graph
    initials = len(graph.expander.tables.spec.initials())
    product = _Product(graph, automaton, where, [] if endless else automaton.decided)
    way = product.find(initials)
    if way:
        return product.states(way), None
    pairs = product.pairs[: product.count] // np.uint64(own)
    made = product.graph(pairs)
    of = np.append(pairs, np.uint64(0))
    is_pair = np.arange(len(of)) < product.count
    accepting = np.zeros(own, np.bool_)
    accepting[list(automaton.accepting)] = True
    again = np.append(accepting[product.pairs[: product.count] % np.uint64(own)], False)
    begun = np.arange(len(of)) < initials
    levels = np.array([0, initials], np.int64)
    found = Arena(made, arena.open[of] | ~is_pair, is_pair, levels).fair(begun, is_pair, again, quiet=quiet)
    if found is None:
        return None
    stem, loop = shortest_lasso(made, initials, *found)
    return product.states(stem), product.states(loop)


class _Product(Generic[S]):
    """The pairs of a state and an automaton's state that behaviours can reach; see `graph_loops.multiply`.

    Parameters:
        automaton, where: see `behaviour_of`.
        decided: the transitions after which the automaton accepts whatever follows, for each of its states. Empty if
            they do not matter.

    Attributes:
        count: the number of pairs.
        pairs: the pairs; see `graph_loops.multiply`.
    """

    def __init__(
        self,
        graph: PackedGraph[S],
        automaton: Automaton,
        where: Mapping[Atom, Flags],
        decided: Sequence[Sequence[Transition]],
    ) -> None:
        self._graph, self._watch, states = graph, graph.expander.watch, len(graph.settled)
        self._own = len(automaton.transitions)
        self._watch.pause()
        self._watch.need(states * self._own * BYTES_A_PAIR + states * 8)
        if states * self._own > graph_loops.MOST_STATES:
            found = f"{counted(states, 'state')} and an automaton with {counted(self._own, 'state')}"
            raise StopSearch(Stop(StopKind.MEMORY, f"found {found}, too many to check a formula"))
        letters, bits = np.zeros(states, np.uint64), {atom: 1 << place for place, atom in enumerate(automaton.atoms)}
        for atom, true in where.items():
            letters[true] |= np.uint64(bits[atom])
        checks, spec = graph.expander.tables.step_checks, graph.expander.tables.spec
        of_steps = {spec.condition(atom): bit for atom, bit in bits.items() if atom[0] == "step"}
        meaning = [of_steps.get(checks[place], 0) for place in conditions_in(graph.expander).tolist()]
        self._arguments = (
            *graph.rows, letters, graph.marks, np.array(meaning, np.uint64), np.uint64(automaton.changes),
            *_rows(automaton.transitions), *_rows(decided or [()] * self._own),
        )  # fmt: skip
        self._number = np.zeros(states * self._own, np.uint32)
        self.pairs = np.empty(states * self._own, np.uint64)
        self._before = np.empty(states * self._own, np.uint32)
        self._wait, self.count, self._steps = len(graph.instances), 0, 0

    def find(self, initials: int) -> list[int]:
        """Find all pairs.

        Returns:
            The pairs on a shortest path after which the automaton accepts whatever follows. If there is such a path,
            not all pairs were found. Otherwise an empty list.
        """
        self.pairs[:initials] = np.arange(initials) * self._own
        self._number[self.pairs[:initials]] = np.arange(initials) + 1
        self._before[:initials] = np.arange(initials)
        self.count = initials
        nothing = np.zeros(0, np.uint32), np.zeros(0, np.uint32), self._graph.rows[2][:0], np.zeros(0, np.bool_)
        self.count, self._steps, last = self._multiplied(*nothing)
        way = [last] if last >= 0 else []
        while way and self._before[way[-1]] != way[-1]:
            way.append(int(self._before[way[-1]]))
        return way[::-1]

    def graph(self, of: NDArray[np.uint64]) -> PackedGraph[S]:
        """Return the graph of the pairs, which has one more row for the steps that the automaton blocks.

        Parameters:
            of: the state of each pair.
        """
        if self._steps > graph_loops.MOST_STEPS:
            found = f"{counted(self._steps, 'step')} of the automaton"
            raise StopSearch(Stop(StopKind.MEMORY, f"found {found}, too many to check a formula"))
        label = self._graph.rows[2].dtype
        label = label if self._wait <= np.iinfo(label).max else np.dtype(np.uint32)
        self._watch.need(self._steps * (4 + label.itemsize) + self.count * (5 + BYTES_A_STATE))
        rows = np.zeros(self.count + 2, np.uint32), np.empty(self._steps, np.uint32), np.empty(self._steps, label)
        stops = np.zeros(self.count + 1, np.bool_)
        if self._steps:
            self._multiplied(*rows, stops)
        return attrs.evolve(
            self._graph,
            rows=rows,
            settled=np.append(self._graph.settled[of], False) & stops,
            bits=np.vstack([self._graph.bits, np.zeros((1, self._graph.bits.shape[1]), np.uint64)]),
            disturbing=np.append(self._graph.disturbing, False),
        )

    def states(self, way: Iterable[int]) -> list[int]:
        """Return the states of a path through the product. A state that stays the same is listed once."""
        return [index for index, _ in itertools.groupby(int(self.pairs[pair]) // self._own for pair in way)]

    def _multiplied(self, *outputs: object) -> tuple[int, int, int]:
        found = graph_loops.multiply(
            *self._arguments, self._number, self.pairs, self._before, self.count, self._wait, *outputs
        )
        self._watch.pause()
        count, steps, last = map(int, found)
        return count, steps, last


def _rows(transitions: Sequence[Sequence[Transition]]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Return where the transitions of each state begin, and all transitions; see `graph_loops.multiply`."""
    begins = np.cumsum([0, *map(len, transitions)])
    found = [(each.true, each.false, each.target) for row in transitions for each in row]
    return begins, np.array(found, np.uint64).reshape(-1, 3)
