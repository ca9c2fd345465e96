"""Temporal formulas by definition.

A position of a behaviour is a state, the step from it, and which of the temporal subformulas are true there. Whether
they are follows from the step and from which of them are true at the next position. So the behaviours of a graph are
the paths through all such positions, without those that promise something for ever (O. Lichtenstein and A. Pnueli,
1985).
The subformulas of a finite beginning are true, false or not known, and follow backwards from its end.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from leadline.checker import Formula
from tests.reference.semantics import returned

if TYPE_CHECKING:
    from leadline.checker import Trace
    from tests.reference.search import Search

Truth = bool | None
Position = tuple[int, tuple[Truth, ...]]


class Temporal:
    """The behaviours of a search in which formulas are true.

    Attributes:
        search: the search, with all states.
    """

    def __init__(self, search: Search) -> None:
        self.search = search
        self._known: dict[tuple[int, int, int | None], bool] = {}

    def exists(self, formula: Formula, *, quiet: bool, endless: bool, ignore_fairness: bool = False) -> bool:
        """Return whether a formula is true in some fair behaviour that stays among known states or, unless `endless`,
        after some beginning whatever follows.
        """
        parts = _temporal(formula)
        if not endless and self._is_decided(formula, parts):
            return True
        search, graph = self.search, self.search.graph
        states, positions = range(len(search.states)), list[Position]()
        positions += itertools.product(states, itertools.product((False, True), repeat=len(parts)))
        number = {position: place for place, position in enumerate(positions)}
        after: list[set[int]] = [set() for _ in positions]
        quietly: list[set[int]] = [set() for _ in positions]
        taken: dict[tuple[int, int], set[Any]] = {}
        for place, (index, values) in enumerate(positions):
            for target in (index, *graph.after[index]):
                for later in itertools.product((False, True), repeat=len(parts)):
                    if self._before(parts, index, target, later, values) != values:
                        continue
                    following = number[target, later]
                    after[place].add(following)
                    if target == index or target in graph.quiet[index]:
                        quietly[place].add(following)
                    conditions = set() if ignore_fairness else graph.taken.get((index, target), set())
                    kept = self._kept(parts, index, target, later, values)
                    taken[place, following] = conditions | {(False, ("kept", each)) for each in kept}
        promises = {(False, ("kept", each)) for each in range(len(parts))}
        made = copy.copy(graph)
        made.after, made.quiet, made.taken = after, quietly, taken
        made.enabled = [promises | (set() if ignore_fairness else graph.enabled[index]) for index, _ in positions]
        starts = {
            place
            for place, (index, values) in enumerate(positions)
            if index in search.initials and self._value(formula, parts, index, None, values)
        }
        reached, waiting = set(starts), list(starts)
        while waiting:
            for following in after[waiting.pop()] - reached:
                reached.add(following)
                waiting.append(following)
        inside = {place for place in reached if positions[place][0] not in graph.open}
        return any(
            len(found) > 1 or all(place in (quietly if quiet else after)[place] for place in found)
            for found in made.fair_sets(inside, quiet)
        )

    def _is_decided(self, formula: Formula, parts: Sequence[Formula]) -> bool:
        """Return whether some beginning shows by itself that a formula is true."""
        graph, size = self.search.graph, len(self.search.states)
        unknown: tuple[Truth, ...] = (None,) * len(parts)
        before: list[list[int]] = [[] for _ in range(size)]
        for index in range(size):
            for target in graph.after[index]:
                before[target].append(index)
        found = {(index, self._before(parts, index, None, unknown)) for index in range(size)}
        waiting = list(found)
        while waiting:
            target, later = waiting.pop()
            for index in before[target]:
                position = index, self._before(parts, index, target, later)
                if position not in found:
                    found.add(position)
                    waiting.append(position)
        return any(
            index in self.search.initials and self._value(formula, parts, index, None, values) is True
            for index, values in found
        )

    def _before(
        self,
        parts: Sequence[Formula],
        index: int,
        target: int | None,
        later: Sequence[Truth],
        values: Sequence[Truth] | None = None,
    ) -> tuple[Truth, ...]:
        """Return which subformulas are true at a position, given which are true at the next one.

        Parameters:
            parts: the temporal subformulas; smaller ones come first.
            index, target: the state, and the next state, or None if it is not known.
            later: which of them are true at the next position.
            values: which of them are assumed to be true at this position, if they are known.
        """
        found: list[Truth] = []
        for place, part in enumerate(parts):
            here = found if values is None else values
            first, last = (self._operand(part, at, parts, index, target, here) for at in (0, -1))
            match part.operator:
                case "always":
                    found.append(_both(first, later[place]))
                case "eventually":
                    found.append(_negated(_both(_negated(first), _negated(later[place]))))
                case "until":
                    goes_on = _both(first, later[place])
                    found.append(_negated(_both(_negated(last), _negated(goes_on))))
        return tuple(found)

    def _operand(
        self, part: Formula, at: int, parts: Sequence[Formula], index: int, target: int | None, values: Sequence[Truth]
    ) -> Truth:
        """Return what a temporal formula sees of its operand at a position."""
        is_each = part.operator == "always" or (part.operator == "until" and at == 0)
        true = self._value(part.operands[at], parts, index, target, values, lenient=is_each)
        if not is_each or not _is_of_steps(part.operands[-1]) or part.operator == "always":
            return true
        changes = None if target is None else target != index
        return _negated(_both(_negated(true), changes))

    def _kept(
        self, parts: Sequence[Formula], index: int, target: int, later: Sequence[Truth], values: Sequence[Truth]
    ) -> Iterator[int]:
        """Yield the subformulas that promise nothing from this position on, or keep their promise at it."""
        for place, part in enumerate(parts):
            last = self._operand(part, -1, parts, index, target, values)
            if part.operator == "always":
                if values[place] or not last:
                    yield place
            elif not values[place] or last:
                yield place

    def _value(
        self,
        formula: Formula,
        parts: Sequence[Formula],
        index: int,
        target: int | None,
        values: Sequence[Truth],
        lenient: bool = False,
    ) -> Truth:
        """Return whether a formula is true at a position. `lenient` says what a step is where the state stays."""
        if formula in parts:
            place = [each is formula for each in parts].index(True)
            return values[place] if place < len(values) else None
        match formula.operator:
            case "true":
                return True
            case "now":
                return self._called(formula, index, None)
            case "step":
                return None if target is None else lenient if target == index else self._called(formula, index, target)
        given = [
            self._value(each, parts, index, target, values, lenient is not _turns(formula, place))
            for place, each in enumerate(formula.operands)
        ]
        match formula.operator:
            case "not":
                return _negated(given[0])
            case "and":
                return _both(*given)
            case "or":
                return _negated(_both(*map(_negated, given)))
        return _negated(_both(given[0], _negated(given[1])))

    def _called(self, formula: Formula, index: int, target: int | None) -> bool:
        asked = id(formula.predicate), index, target
        if asked not in self._known:
            states = [self.search.states[each] for each in (index, target) if each is not None]
            self._known[asked] = returned(formula.predicate, *states)
        return self._known[asked]


def judge(search: Search, formula: Formula, *, quiet: bool, ignore_fairness: bool = False) -> str:
    """Return the verdict on a property that is a formula."""
    found = Temporal(search)
    options: Mapping[str, bool] = {"quiet": quiet, "ignore_fairness": ignore_fairness}
    if found.exists(Formula("not", (formula,)), endless=False, **options):
        return "violated"
    needed = [*left_sides(formula), *other_sides(formula)] or [Formula("true")]
    if search.graph.open and not all(found.exists(each, endless=True, **options) for each in needed):
        return "incomplete"
    return "holds"


def is_vacuous(search: Search, formula: Formula, *, quiet: bool) -> bool:
    """Return whether a formula that holds says nothing: the left side of an implication in it is never true."""
    found = Temporal(search)
    return not all(found.exists(each, quiet=quiet, endless=False) for each in left_sides(formula))


def not_violated(trace: Trace[Any], formula: Formula) -> str:
    """Return why a trace does not violate a formula, or an empty string. Without a loop, it has to whatever repeats."""
    if trace.loop is not None:
        return "the formula is true" if is_true(trace, formula) else ""
    places = range(len(trace.states))
    loops = [attrs.evolve(trace, loop=place) for place in places if trace.states[place] == trace.states[-1]]
    return "the trace does not decide the formula" if any(is_true(each, formula) for each in loops) else ""


def is_true(trace: Trace[Any], formula: Formula) -> bool:
    """Whether a formula is true in a lasso: each operator by its definition, at each position."""
    assert trace.loop is not None
    states = trace.states[:-1] if trace.loop < len(trace.states) - 1 else trace.states
    after = [*range(1, len(states)), trace.loop]

    def at(part: Formula, place: int, lenient: bool = False) -> bool:
        match part.operator:
            case "now" | "step":
                assert part.predicate is not None
                here, there = states[place], states[after[place]]
                if part.operator == "now":
                    return part.predicate(here)
                return lenient if here == there else part.predicate(here, there)
            case "not":
                return not at(part.operands[0], place, not lenient)
            case "and":
                return at(part.operands[0], place, lenient) and at(part.operands[1], place, lenient)
            case "or":
                return at(part.operands[0], place, lenient) or at(part.operands[1], place, lenient)
            case "implies":
                return not at(part.operands[0], place, not lenient) or at(part.operands[1], place, lenient)
        way = [place]
        while len(way) <= 2 * len(states):
            way.append(after[way[-1]])
        if part.operator == "always":
            return all(at(part.operands[0], each, lenient=True) for each in way)
        for each in way:
            if at(part.operands[-1], each):
                return True
            is_counted = not part.operands[-1].is_of_steps or states[each] != states[after[each]]
            if part.operator == "until" and is_counted and not at(part.operands[0], each, lenient=True):
                return False
        return False

    return at(formula, 0)


def left_sides(formula: Formula, *, is_inside: bool = False, is_negated: bool = False) -> Iterator[Formula]:
    """Yield what has to be true in some behaviour, for each implication."""
    operands = formula.operands
    if formula.operator == "implies" and not is_negated:
        yield Formula("eventually", (operands[0],)) if is_inside else operands[0]
    is_inside = is_inside or formula.operator in ("always", "eventually", "until")
    for place, each in enumerate(operands):
        yield from left_sides(each, is_inside=is_inside, is_negated=is_negated != _turns(formula, place))


def other_sides(formula: Formula, *, is_inside: bool = False, is_negated: bool = False) -> Iterator[Formula]:
    """Yield what has to be true in some behaviour, for each choice that is written in another way."""

    def choices(part: Formula, negated: bool) -> list[Formula]:
        """What must be false for a choice to matter, so that one of them is left."""
        if part.operator == "not":
            return choices(part.operands[0], not negated)
        if part.operator == ("and" if negated else "or"):
            return [each for operand in part.operands for each in choices(operand, negated)]
        return [part if negated else Formula("not", (part,))]

    found = choices(formula, is_negated)
    now = [each for each in found if not _temporal(each)]
    if len(found) > 1 and len(now) < len(found):
        for each in [_all(now)] if now else found:
            yield Formula("eventually", (each,)) if is_inside else each
    is_inside = is_inside or formula.operator in ("always", "eventually", "until")
    for place, operand in enumerate(formula.operands):
        yield from other_sides(operand, is_inside=is_inside, is_negated=is_negated != _turns(formula, place))


def _all(formulas: Sequence[Formula]) -> Formula:
    return formulas[0] if len(formulas) == 1 else Formula("and", (formulas[0], _all(formulas[1:])))


def _turns(formula: Formula, place: int) -> bool:
    """Whether a formula is true if one of its operands is false."""
    return formula.operator == "not" or (formula.operator == "implies" and place == 0)


def _temporal(formula: Formula) -> list[Formula]:
    parts = [part for each in formula.operands for part in _temporal(each)]
    return [*parts, formula] if formula.operator in ("always", "eventually", "until") else parts


def _is_of_steps(formula: Formula) -> bool:
    if formula.operator in ("always", "eventually", "until"):
        return False
    return formula.operator == "step" or any(map(_is_of_steps, formula.operands))


def _negated(truth: Truth) -> Truth:
    return None if truth is None else not truth


def _both(one: Truth, other: Truth) -> Truth:
    if one is False or other is False:
        return False
    return True if one and other else None
