"""Liveness by definition.

A behaviour that violates a property stays, from some time on, in a strongly connected set of states that satisfies all
fairness conditions, or it stops in one state, which is such a set too. A condition is (strong, actions, values). It is
enabled in a state if one of its instances has a step that changes the state, and taken by a pair of different states if
one of its instances leads from the first to the second.
"""

from __future__ import annotations

import copy
import itertools
from typing import TYPE_CHECKING, Any

from leadline.checker import Kind, Property
from tests.reference import formulas
from tests.reference.values import key

if TYPE_CHECKING:
    from leadline.checker import Trace
    from tests.reference.search import Search

Entry = tuple[str, Property, dict[str, Any]]
UNDECIDED: tuple[str, int | None] = ("incomplete", None)


class Graph:
    """The pairs of different states between which there is a step.

    Attributes:
        after: for each state, the next states.
        quiet: the same by steps that are not perturbing.
        taken: for each pair, the conditions that it takes.
        enabled: for each state, the conditions that are enabled in it.
        open: the states that no violation may rest on.
    """

    def __init__(self, search: Search) -> None:
        rules, size = search.rules, len(search.states)
        self.after: list[set[int]] = [set() for _ in range(size)]
        self.quiet: list[set[int]] = [set() for _ in range(size)]
        self.healed_by: list[set[int]] = [set() for _ in range(size)]
        self.taken: dict[tuple[int, int], set[Any]] = {}
        self.enabled: list[set[Any]] = [set() for _ in range(size)]
        self.open = search.where(rules.is_open)
        for index, steps in enumerate(search.steps):
            for instance, target in steps:
                if target == index:
                    continue
                effect = rules.effect(instance)
                self.after[index].add(target)
                if effect != "perturbing":
                    self.quiet[index].add(target)
                if effect == "healing":
                    self.healed_by[index].add(target)
                conditions = rules.conditions_of(instance)
                self.taken.setdefault((index, target), set()).update(conditions)
                self.enabled[index] |= conditions

    def fair_sets(self, inside: set[int], quiet: bool) -> list[set[int]]:
        """Return the largest strongly connected sets in which a fair behaviour can stay for ever."""
        after, found, waiting = self.quiet if quiet else self.after, [], [inside]
        while waiting:
            for part in _components(waiting.pop(), after):
                taken: set[Any] = set()
                for index in part:
                    for target in after[index] & part:
                        taken |= self.taken[index, target]
                missing = set().union(*(self.enabled[index] for index in part)) - taken
                if any(not each[0] and all(each in self.enabled[index] for index in part) for each in missing):
                    continue  # a weak one: it is enabled in every state, also of each subset, and never taken
                strong = {each for each in missing if each[0]}
                if not strong:
                    found.append(part)
                else:  # no fair behaviour visits a state again and again in which one of these is enabled
                    waiting.append({index for index in part if not self.enabled[index] & strong})
        return found


def judge(search: Search, entry: Entry, *, ignore_fairness: bool = False) -> tuple[str, int | None]:
    """Return the verdict on a liveness property, and the length of the shortest trace if it is determined."""
    _, item, _ = entry
    rules, graph = search.rules, search.graph
    if item.kind is Kind.TEMPORAL:
        return formulas.judge(search, item.formula, quiet=item.quiet, ignore_fairness=ignore_fairness), None
    if ignore_fairness:
        graph = copy.copy(graph)
        graph.enabled = [set() for _ in graph.enabled]
    good = search.where(lambda state: rules.is_true(entry, state))
    everything = set(range(len(search.states)))
    if item.kind is Kind.RECOVERABLE:
        after = graph.healed_by if item.by_healing else graph.after
        lost = everything - _reach(good | graph.open, _reversed(after), everything)
        if lost:
            return "violated", min(search.depths[index] for index in lost)
        is_known = not graph.open or good == everything or _reach(good, _reversed(after), everything) > good
        return ("holds", None) if is_known else UNDECIDED
    region, starts = everything - good, everything
    if item.kind is Kind.EVENTUALLY:
        starts = set(search.initials)
    elif item.kind is Kind.EVENTUALLY_ALWAYS:
        region = everything
    elif item.kind is Kind.LEADS_TO:
        starts = search.where(lambda state: bool(rules.premise(entry, state)))
    lasting = _reach(starts & region, graph.after, region)
    for fair in graph.fair_sets(lasting - graph.open, item.quiet):
        if item.kind is not Kind.EVENTUALLY_ALWAYS or fair - good:
            return "violated", None
    applies = _reach(starts if item.kind is Kind.LEADS_TO else everything, graph.after, everything)
    is_known = not graph.open or bool(graph.fair_sets(applies - graph.open, item.quiet))
    return ("holds", None) if is_known else UNDECIDED


def _reach(starts: set[int], after: list[set[int]], inside: set[int]) -> set[int]:
    found = set(starts)
    waiting = list(starts)
    while waiting:
        for target in after[waiting.pop()]:
            if target in inside and target not in found:
                found.add(target)
                waiting.append(target)
    return found


def _components(inside: set[int], after: list[set[int]]) -> list[set[int]]:
    """Return the strongly connected components of a part of a graph (Kosaraju's algorithm)."""
    finished: list[int] = []
    entered: set[int] = set()
    for first in sorted(inside):
        waiting = [(first, False)]
        while waiting:
            index, is_done = waiting.pop()
            if is_done:
                finished.append(index)
            elif index not in entered:
                entered.add(index)
                waiting.append((index, True))
                waiting += [(target, False) for target in after[index] if target in inside]
    before = _reversed(after)
    left, found = set(inside), []
    for first in reversed(finished):
        if first in left:
            found.append(_reach({first}, before, left))
            left -= found[-1]
    return found


def _reversed(after: list[set[int]]) -> list[set[int]]:
    before: list[set[int]] = [set() for _ in after]
    for index, targets in enumerate(after):
        for target in targets:
            before[target].add(index)
    return before


def fault(search: Search, entry: Entry, trace: Trace[Any]) -> str:
    """Return why a trace is not a counterexample to a liveness property, or an empty string."""
    _, item, _ = entry
    graph = search.graph
    way = [search.number[key(state)] for state in trace.states]
    if item.kind is Kind.TEMPORAL:
        return formulas.not_violated(trace, item.formula) or (
            _unfair(graph, item, way[trace.loop :]) if trace.loop is not None else ""
        )
    good = search.where(lambda state: search.rules.is_true(entry, state))
    if item.kind is Kind.RECOVERABLE:
        after = graph.healed_by if item.by_healing else graph.after
        reached = _reach({way[-1]}, after, set(range(len(search.states))))
        return "it is recovered" if reached & (good | graph.open) else ""
    if trace.loop is None:
        return "it has no loop"
    if why := _unfair(graph, item, way[trace.loop :]):
        return why
    bad = [index not in good for index in way]
    if item.kind is Kind.EVENTUALLY:
        return "" if all(bad) else "it is true"
    if item.kind is Kind.EVENTUALLY_ALWAYS:
        return "" if any(bad[trace.loop :]) else "it stays true"
    if not all(bad[trace.loop :]):
        return "it is true again and again"
    if item.kind is Kind.ALWAYS_EVENTUALLY:
        return ""
    left = search.where(lambda state: bool(search.rules.premise(entry, state)))
    return "" if any(way[place] in left and all(bad[place:]) for place in range(len(way))) else "it is never due"


def _unfair(graph: Graph, item: Property, loop: list[int]) -> str:
    """Return why no behaviour can repeat a loop for ever, or an empty string."""
    if loop[0] != loop[-1]:
        return "its loop is not closed"
    pairs = {pair for pair in itertools.pairwise(loop) if pair[0] != pair[1]}
    if item.quiet and any(after not in graph.quiet[before] for before, after in pairs):
        return "its loop is not quiet"
    if set(loop) & graph.open:
        return "its loop has an open state"
    taken = set().union(*(graph.taken[pair] for pair in pairs))
    for condition in set().union(*(graph.enabled[index] for index in loop)) - taken:
        if condition[0] or all(condition in graph.enabled[index] for index in loop):
            return f"its loop is not fair: {condition}"
    return ""
