"""The product of a state graph and an automaton: a graph whose states are pairs of a state and an automaton's state."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import attrs

from leadline.checker.action import ActionInstance, action
from leadline.checker.bounds import NoBounds
from leadline.checker.liveness.automaton import Automaton, Transition
from leadline.checker.liveness.graph import StateGraph

S = TypeVar("S")


@action("nothing happens")
def wait(state: Any) -> Iterator[Any]:
    yield state


(WAIT,) = wait.instances(NoBounds())
"""The action instance of a move of the automaton while the state stays the same."""


@attrs.frozen(eq=False)
class Product(Generic[S]):
    """The pairs that behaviours can reach.

    A state can stay the same while the automaton moves. This is a step of the product without a fairness condition.

    Attributes:
        graph: the graph of the pairs. The fairness conditions that are enabled in a pair are those of its state,
            whether or not the automaton has a transition for the step.
        of: for each pair, the index of its state.
        accepting: the pairs of which one must be visited again and again.
        decided: the states on a shortest path after which the automaton accepts whatever follows, or None.
    """

    graph: StateGraph[S]
    of: list[int]
    accepting: set[int]
    decided: list[int] | None = None

    @classmethod
    def of_graph(cls, graph: StateGraph[S], automaton: Automaton, *, endless: bool) -> Product[S]:
        """Build the product.

        Parameters:
            endless: whether to go on from pairs in which the automaton accepts whatever follows. If not, the product
                ends at the first of them.
        """
        letters = _Letters(graph, automaton)
        pairs = dict.fromkeys((index, 0) for index in graph.initials)
        number = {pair: place for place, pair in enumerate(pairs)}
        waiting, before = [*number], [-1] * len(number)
        steps: list[list[tuple[ActionInstance[S], int]]] = []
        initials, stops = list(number.values()), set()

        def found(pair: tuple[int, int], place: int) -> int:
            if pair not in number:
                number[pair] = len(number)
                waiting.append(pair)
                before.append(place)
            return number[pair]

        for place, (index, state) in enumerate(waiting):
            here = letters.of_state[index]
            if not endless and any(_fits(each, here) for each in automaton.decided[state]):
                way = [place]
                while before[way[-1]] >= 0:
                    way.append(before[way[-1]])
                return cls(graph, [], set(), _without_waiting([waiting[each][0] for each in reversed(way)]))
            steps.append([])
            for instance, target in ((WAIT, index), *graph.steps[index]):
                letter = here if target == index else letters.of_step(index, target)
                for each in automaton.transitions[state]:
                    if _fits(each, letter):
                        steps[-1].append((instance, found((target, each.target), place)))
            if (WAIT, place) in steps[-1]:
                stops.add(place)
        of = [index for index, _ in waiting]
        made = attrs.evolve(
            graph,
            states=[graph.states[index] for index in of],
            initials=initials,
            steps=steps,
            open_states={place for place, index in enumerate(of) if index in graph.open_states},
            conditions={**graph.conditions, WAIT: ()},
            enabled=[graph.enabled[index] for index in of],
            stops=stops,
        )
        accepting = {place for place, (_, state) in enumerate(waiting) if state in automaton.accepting}
        return cls(made, of, accepting)

    def without_waiting(self, way: list[int]) -> list[int]:
        """Return the states of a path through the product. A state that stays the same is listed once."""
        return _without_waiting([self.of[place] for place in way])


def _without_waiting(way: list[int]) -> list[int]:
    return [index for index, _ in itertools.groupby(way)]


def _fits(transition: Transition, letter: int) -> bool:
    return not transition.true & ~letter and not transition.false & letter


class _Letters(Generic[S]):
    """The letters of states and steps; see `Automaton`.

    Attributes:
        of_state: for each state, the letter at which nothing happens.
    """

    def __init__(self, graph: StateGraph[S], automaton: Automaton) -> None:
        self._graph, self._changes = graph, automaton.changes
        atoms = [(1 << place, graph.spec.condition(atom)) for place, atom in enumerate(automaton.atoms)]
        self._of_steps = [(bit, item) for bit, item in atoms if item.kind.of_steps]
        of_states = [(bit, item) for bit, item in atoms if not item.kind.of_steps]
        complaint = graph.spec.complaint
        self.of_state = [sum(bit for bit, item in of_states if complaint(item, each) is None) for each in graph.states]
        self._known: dict[tuple[int, int], int] = {}

    def of_step(self, index: int, target: int) -> int:
        """Return the letter of a step between two different states."""
        if (index, target) not in self._known:
            complaint, states = self._graph.spec.complaint, (self._graph.states[index], self._graph.states[target])
            true = sum(bit for bit, item in self._of_steps if complaint(item, *states) is None)
            self._known[index, target] = self.of_state[index] | self._changes | true
        return self._known[index, target]
