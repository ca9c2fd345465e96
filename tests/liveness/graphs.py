"""Random small graphs as specs, and a second, naive way to decide liveness properties on them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import attrs

from leadline.checker import (
    Kind,
    Property,
    Spec,
    Verdict,
    action,
    always_eventually,
    eventually,
    eventually_always,
    leads_to,
    recoverable,
)
from leadline.checker.action import FAIRNESS, Action

GROUPS = ("weak", "strong", "weak each instance", "strong each instance")
"""The fairness of a group of actions."""


@attrs.frozen
class Node:
    at: int


@attrs.frozen
class Drawn:
    """A random graph: the initial states, and the steps of two instances of each of three actions.

    `fair` and `effects` are those of the actions. `p` and `q` are the states in which two predicates are true, and
    `cut` those in which a bound blocks a step. `group` has the numbers of two actions, and their fairness as one.
    """

    size: int
    initials: tuple[int, ...]
    steps: tuple[tuple[dict[int, tuple[int, ...]], ...], ...]
    fair: tuple[str, ...]
    effects: tuple[str, ...]
    p: frozenset[int]
    q: frozenset[int]
    cut: frozenset[int]
    group: tuple[int, int, str] | None = None


def drawn(seed: int, most: int = 5) -> Drawn:
    chance = random.Random(seed)
    size = chance.randint(1, most)
    density = chance.choice([0.15, 0.3, 0.5])

    def some(likely: float) -> frozenset[int]:
        return frozenset(index for index in range(size) if chance.random() < likely)

    def step_table() -> dict[int, tuple[int, ...]]:
        return {
            index: tuple(chance.randrange(size) for _ in range(chance.choice([1, 1, 2])))
            for index in range(size)
            if chance.random() < density
        }

    effects = tuple(chance.choice(["", "", "healing", "perturbing"]) for _ in range(3))
    fair = tuple("" if effect == "perturbing" else chance.choice(list(FAIRNESS)) for effect in effects)
    can_be_fair = [number for number, effect in enumerate(effects) if effect != "perturbing"]
    group = None
    if len(can_be_fair) > 1 and seed % 2:
        one, other = random.Random(seed).sample(can_be_fair, 2)
        group = (one, other, random.Random(seed).choice(GROUPS))
    return Drawn(
        size=size,
        initials=tuple(sorted({chance.randrange(size) for _ in range(chance.choice([1, 1, 2]))})),
        steps=tuple((step_table(), step_table()) for _ in range(3)),
        fair=fair,
        effects=effects,
        p=some(0.5),
        q=some(0.4),
        cut=some(0.1) if chance.random() < 0.3 else frozenset(),
        group=group,
    )


def spec_of(graph: Drawn, *, draws: bool = False) -> Spec[Node]:
    """The graph as a spec. If `draws` is set, the actions draw their instances from the state."""
    return Spec(
        name="graph",
        initial_states=lambda bounds: [Node(index) for index in graph.initials],
        actions=[_action(graph, number, draws) for number in range(3)],
        properties=properties_of(graph),
        cut=(lambda state: state.at in graph.cut) if graph.cut else None,
        fairness=group_of(graph, "instance"),
    )


def group_of(graph: Drawn, parameter: str) -> dict[Any, str]:
    """The fairness of a group of actions `move0` to `move2` with the given parameter."""
    if graph.group is None:
        return {}
    one, other, fair = graph.group
    return {(f"move{one}", f"move{other}"): fair.replace("instance", parameter)}


def properties_of(graph: Drawn) -> list[Property]:
    """Properties of states with an attribute `at`, one of each kind."""

    def p(state: Any) -> bool:
        return state.at in graph.p

    def q(state: Any) -> bool:
        return state.at in graph.q

    return [
        attrs.evolve(make(q), name=f"{make(q).kind.name}_{number}".lower())
        for number, make in enumerate(
            (
                eventually("q"),
                eventually("q", quiet=True),
                always_eventually("q"),
                always_eventually("q", quiet=True),
                eventually_always("q"),
                eventually_always("q", quiet=True),
                leads_to("q", after=p),
                leads_to("q", after=p, quiet=True),
                recoverable("q"),
                recoverable("q", by_healing=True),
            )
        )
    ]


def _action(graph: Drawn, number: int, draws: bool) -> Action[Node, [int]]:
    def move(state: Node, instance: int) -> Iterator[Node]:
        for after in graph.steps[number][instance].get(state.at, ()):
            yield Node(after)

    def here(state: Node) -> list[int]:
        return [instance for instance in (1, 0) if state.at in graph.steps[number][instance]]

    move.__name__ = f"move{number}"
    instances = here if draws else range(2)
    fair = graph.fair[number]
    fair = fair.replace("each", "each instance") if number == 1 else fair  # which means the same
    return action("", fair=fair, effect=graph.effects[number], instance=instances)(move)


def expected(graph: Drawn, item: Property) -> Verdict:
    """The verdict on a property. It is undecided if no behaviour to which it applies stays among the known states.

    A behaviour visits some set of states infinitely often, and takes some of the steps in it infinitely often. All sets
    are tried, each with all the steps in it, since taking more of them satisfies more conditions.
    """
    edges = {
        (before, after, number, instance)
        for number, instances in enumerate(graph.steps)
        for instance, table in enumerate(instances)
        for before, targets in table.items()
        for after in targets
        if before != after
    }
    pairs = {(before, after) for before, after, _, _ in edges}
    reach = _closure(graph.size, pairs)
    reached = {state for state in range(graph.size) if any(reach[first][state] for first in graph.initials)}
    if item.kind is Kind.RECOVERABLE:
        allowed = {(b, a) for b, a, number, _ in edges if not item.by_healing or graph.effects[number] == "healing"}
        by = _closure(graph.size, allowed)
        if not all(any(by[state][good] for good in graph.q | graph.cut) for state in reached):
            return Verdict.VIOLATED
        is_known = any(by[state][good] for state in reached - graph.q for good in graph.q)
        return Verdict.HOLDS if is_known or reached <= graph.q or not reached & graph.cut else Verdict.INCOMPLETE
    starts = reached & graph.p if item.kind is Kind.LEADS_TO else reached
    applies = {after for after in reached if any(reach[before][after] for before in starts)}
    is_known, false = not reached & graph.cut, reached - graph.q
    without = _closure(graph.size, {(before, after) for before, after in pairs if {before, after} <= false})
    begun = {
        Kind.EVENTUALLY: false & set(graph.initials),
        Kind.LEADS_TO: false & graph.p,
        Kind.ALWAYS_EVENTUALLY: false,
        Kind.EVENTUALLY_ALWAYS: reached,
    }[item.kind]
    for size in range(1, graph.size + 1):
        for chosen in map(set, itertools.combinations(sorted(reached - graph.cut), size)):
            if item.kind is Kind.EVENTUALLY_ALWAYS:
                is_counterexample = bool(chosen & false)
            else:
                is_counterexample = chosen <= false and any(without[s][t] for s in begun for t in chosen)
            if (is_counterexample or (not is_known and chosen <= applies)) and _is_possible(
                graph, edges, chosen, item.quiet
            ):
                is_known = True
                if is_counterexample:
                    return Verdict.VIOLATED
    return Verdict.HOLDS if is_known else Verdict.INCOMPLETE


def _is_possible(graph: Drawn, edges: set[tuple[int, int, int, int]], chosen: set[int], quiet: bool) -> bool:
    """Whether some fair behaviour visits exactly the chosen states infinitely often."""
    inside = {
        edge
        for edge in edges
        if {edge[0], edge[1]} <= chosen and not (quiet and graph.effects[edge[2]] == "perturbing")
    }
    reach = _closure(graph.size, {(before, after) for before, after, _, _ in inside})
    if not all(reach[before][after] for before in chosen for after in chosen):
        return False
    declared = [({number}, fair) for number, fair in enumerate(graph.fair)]
    if graph.group is not None:
        one, other, fair = graph.group
        declared.append(({one, other}, fair))
    for numbers, fair in declared:
        for instances in [{0, 1}] if fair in ("weak", "strong") else [{0}, {1}] if fair else []:
            enabled = {before for before, _, n, i in edges if n in numbers and i in instances and before in chosen}
            taken = any(n in numbers and i in instances for _, _, n, i in inside)
            if not taken and (enabled if fair.startswith("strong") else enabled == chosen):
                return False
    return True


def _closure(size: int, pairs: set[tuple[int, int]]) -> list[list[bool]]:
    reach = [[before == after or (before, after) in pairs for after in range(size)] for before in range(size)]
    for middle, before, after in itertools.product(range(size), repeat=3):
        reach[before][after] = reach[before][after] or (reach[before][middle] and reach[middle][after])
    return reach
