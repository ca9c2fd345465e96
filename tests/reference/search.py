"""Breadth-first search of a spec by definition, and all that is to be reported of it."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

import attrs

from leadline.checker import Kind, Spec
from tests.reference import formulas, liveness
from tests.reference.semantics import Instance, Rules
from tests.reference.values import Key, Refused, key


class TooLarge(Exception):
    """The spec has more states than wanted."""


@attrs.define
class Answer:
    """What is so.

    Attributes:
        refused: why the spec is to be refused, or an empty string.
        doubtful: why the spec may be refused, although it need not be; see `Places.doubtful`.
        verdicts: for each property, ``holds``, ``violated`` or ``incomplete``.
        lengths: for each property, the number of states of its shortest trace, or None if it has none or if it is not
            determined, as for lassos.
        premises: for each property with a premise, whether the premise was true in some state.
        shown: for each witness and each property with a premise, the number of distinct states in which the witness or
            the premise is true.
        counts: distinct states, generated states and so on, by the names in `Statistics`.
        actions: for each action, its steps and the new states to which they led.
        instances: for each instance that took a step, its text, the states in which it is enabled, its steps and the
            new states to which they led.
    """

    refused: str = ""
    doubtful: str = ""
    verdicts: dict[str, str] = attrs.field(factory=dict)
    lengths: dict[str, int | None] = attrs.field(factory=dict)
    premises: dict[str, bool] = attrs.field(factory=dict)
    shown: dict[str, int] = attrs.field(factory=dict)
    counts: dict[str, Any] = attrs.field(factory=dict)
    actions: dict[str, tuple[int, int]] = attrs.field(factory=dict)
    instances: list[tuple[str, int, int, int]] = attrs.field(factory=list)

    @property
    def verdict(self) -> str:
        found = set(self.verdicts.values())
        return "violated" if "violated" in found else "incomplete" if "incomplete" in found else "holds"


class Search:
    """A search of all states of a spec.

    Attributes:
        states: the states, in the order in which they are found.
        depths: for each state, the number of states on a shortest path to it.
        steps: for each state, its steps: the instance, and the index of the next state.
        outside: the states for which `within` is false.
    """

    def __init__(self, spec: Spec[Any], most: int = 10_000) -> None:
        self.most = most
        self.rules = Rules(spec)
        self.states: list[Any] = []
        self.depths: list[int] = []
        self.steps: list[list[tuple[Instance, int]]] = []
        self.outside: set[int] = set()
        self.initials: list[int] = []
        self.generated = 0
        self.number: dict[Key, int] = {}
        self.levels: list[int] = []
        self.seen: dict[str, int] = {}
        self.new_by: Counter[Any] = Counter()
        self.expanded = 0

    def run(self, *, keep_going: bool = True) -> bool:
        """Search level by level. Without `keep_going`, stop after the first level with a violation.

        Returns:
            Whether all states were searched.
        """
        self.rules.read()
        for state in self.rules.initial_states():
            self.generated += 1
            self.initials.append(self._find(state, 1))
        found = list(self.initials)
        while found:
            level = [index for index in found if index not in self.outside]
            self.levels += [len(level)] if level else []
            if not keep_going and self._is_violated():
                return False
            found = [new for index in level for new in self._expand(index)]
        return True

    def _find(self, state: Any, depth: int) -> int:
        if len(self.states) >= self.most:
            raise TooLarge
        index = self.number[key(state)] = len(self.states)
        self.states.append(state)
        self.depths.append(depth)
        self.steps.append([])
        self.rules.places.add_state(state)
        if not self.rules.is_within(state):
            self.outside.add(index)
        for entry in self.rules.properties:
            name, item, _ = entry
            if item.kind is Kind.INVARIANT and not self.rules.is_true(entry, state):
                if not item.at_rest or self.rules.is_at_rest(state):
                    self._see(name, depth)
            elif item.kind is Kind.WITNESS and self.rules.is_true(entry, state):
                self._see(name, depth)
        return index

    def _expand(self, index: int) -> list[int]:
        state, found = self.states[index], []
        self.expanded += 1
        for instance, after in self.rules.steps(state):
            self.generated += 1
            made = key(after)
            if made not in self.number:
                found.append(self._find(after, self.depths[index] + 1))
                if found[-1] not in self.outside:
                    self.new_by[instance.identity] += 1
            target = self.number[made]
            self.steps[index].append((instance, target))
            for entry in self.rules.properties:
                name, item, _ = entry
                if item.kind in (Kind.STEP_INVARIANT, Kind.STEP_WITNESS):
                    is_true = self.rules.is_true(entry, state, after)
                    if is_true is (item.kind is Kind.STEP_WITNESS):
                        self._see(name, self.depths[index] + 1)
        if not self.steps[index] and self.rules.spec.check_deadlock and not self.rules.is_final(state):
            self._see("deadlock", self.depths[index])
        return found

    def _see(self, name: str, depth: int) -> None:
        self.seen[name] = min(depth, self.seen.get(name, depth))

    def _is_violated(self) -> bool:
        return "deadlock" in self.seen or any(
            name in self.seen and item.kind in (Kind.INVARIANT, Kind.STEP_INVARIANT)
            for name, item, _ in self.rules.properties
        )

    def answer(self, *, keep_going: bool = True) -> Answer:
        """Search, and return what is so."""
        made = Answer()
        try:
            self._judge(made, self.run(keep_going=keep_going))
            self._count(made)
        except Refused as refused:
            made.refused = str(refused)
        made.doubtful = self.rules.places.doubtful
        return made

    def _judge(self, made: Answer, exhausted: bool) -> None:
        rules = self.rules
        for entry in rules.properties:
            name, item, _ = entry
            made.lengths[name] = self.seen.get(name)
            if item.kind in LIVENESS:
                found = liveness.judge(self, entry) if exhausted else liveness.UNDECIDED
                made.verdicts[name], made.lengths[name] = found
            else:
                made.verdicts[name] = _verdict(
                    name in self.seen, item.kind in (Kind.WITNESS, Kind.STEP_WITNESS), exhausted
                )
            if item.at_rest or item.premise is not None:
                made.premises[name] = any(rules.premise(entry, state) for state in self.states)
            is_true = item.kind is Kind.TEMPORAL and made.verdicts[name] == "holds"
            if is_true and formulas.is_vacuous(self, item.formula, quiet=item.quiet):
                made.premises[name] = False
            within = [state for index, state in enumerate(self.states) if index not in self.outside]
            if item.kind is Kind.WITNESS:
                made.shown[name] = sum(rules.is_true(entry, state) for state in within)
            elif name in made.premises and item.kind is not Kind.TEMPORAL:
                made.shown[name] = sum(bool(rules.premise(entry, state)) for state in within)
        if rules.spec.check_deadlock:
            made.verdicts["deadlock"] = _verdict("deadlock" in self.seen, False, exhausted)
            made.lengths["deadlock"] = self.seen.get("deadlock")

    def _count(self, made: Answer) -> None:
        degrees = [len(self.steps[index]) for index in self._expanded()]
        made.counts = {
            "distinct": len(self.states) - len(self.outside),
            "outside": len(self.outside),
            "generated": self.generated,
            "depth": len(self.levels),
            "expanded": self.expanded,
            "queue": len(self.states) - len(self.outside) - self.expanded,
            "successors": sum(degrees),
            "out_degree_min": min(degrees, default=0),
            "out_degree_max": max(degrees, default=0),
            "deadlocks": degrees.count(0),
            "levels": tuple(self.levels),
        }
        taken, enabled = Counter[Any](), Counter[Any]()
        texts: dict[Any, str] = {}
        for steps in self.steps:
            here = {instance.identity: instance.name for instance, _ in steps}
            enabled.update(here.keys())
            taken.update(instance.identity for instance, _ in steps)
            texts |= here
        made.instances = sorted((texts[each], enabled[each], taken[each], self.new_by[each]) for each in taken)
        made.actions = {
            action.name: (
                sum(count for each, count in taken.items() if each[0] == number),
                sum(count for each, count in self.new_by.items() if each[0] == number),
            )
            for number, action in enumerate(self.rules.spec.actions)
        }

    def _expanded(self) -> list[int]:
        within = [index for index in range(len(self.states)) if index not in self.outside]
        return within[: self.expanded]

    @functools.cached_property
    def graph(self) -> liveness.Graph:
        """The graph of all states and steps, once the search is done."""
        return liveness.Graph(self)

    def where(self, predicate: Callable[[Any], bool]) -> set[int]:
        return {index for index, state in enumerate(self.states) if predicate(state)}


LIVENESS = (
    Kind.EVENTUALLY,
    Kind.ALWAYS_EVENTUALLY,
    Kind.EVENTUALLY_ALWAYS,
    Kind.LEADS_TO,
    Kind.RECOVERABLE,
    Kind.TEMPORAL,
)


def _verdict(seen: bool, is_witness: bool, exhausted: bool) -> str:
    if seen:
        return "holds" if is_witness else "violated"
    return "incomplete" if not exhausted else "violated" if is_witness else "holds"
