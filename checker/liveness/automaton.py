"""Translates temporal formulas to automata (nondeterministic Büchi automata).

A state of the automaton is a set of formulas that must be true from here on. To read a position of a behaviour, each
formula is divided into what must be true at this position and what must be true from the next one on: ``a until b`` is
true if ``b`` is, or if ``a`` is and ``a until b`` is true at the next position. Each way to divide all formulas is a
transition. An ``until`` may not be postponed for ever, so each must be fulfilled or absent again and again. They take
turns, so that one set of accepting states is enough. See R. Gerth, D. Peled, M. Vardi and P. Wolper, "Simple on-the-fly
automatic verification of linear temporal logic" (1995).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import attrs

from leadline.checker.errors import SpecError
from leadline.checker.formulas import Atom, Formula

Core = tuple[Any, ...]
"""A formula in which only atoms are negated: ``("literal", bit, is_true)``, or ``("and", a, b)``, ``("or", a, b)``,
``("until", a, b)`` or ``("release", a, b)``. ``a release b`` is the negation of ``(not a) until (not b)``: ``b`` is
true up to the first position at which ``a`` is true, and at this position, or for ever.
"""

_BRANCHING = ("or", "until", "release")

TRUE: Core = ("true",)
FALSE: Core = ("false",)

MOST_ATOMS = 62
"""The maximum number of predicates in a formula, because the loops store their truth in the bits of a word."""

MOST_WAYS, MOST_SETS = 1_000, 200
"""The maximum number of ways in which the formulas of a state of an automaton can be divided, and the maximum number of
sets of formulas. Most automata have less than ten of each.
"""


@attrs.frozen(order=True)
class Transition:
    """A transition of an automaton.

    Attributes:
        true, false: the bits that must be set, and those that must not be set, in the letter at a position.
        target: the number of the next state.
    """

    true: int
    false: int
    target: int


@attrs.frozen
class Automaton:
    """An automaton that accepts the behaviours in which a formula is true. It begins in state 0.

    It reads letters. Bit ``i`` of a letter says whether atom ``i`` is true at a position, and the bit after those of
    all atoms whether the step from this position changes the state.

    Attributes:
        accepting: the states of which one must be visited again and again.
        decided: for each state, the transitions after which nothing more is required, without a condition on the step.
            If the letter fits one of them, the automaton accepts whatever follows.
    """

    atoms: tuple[Atom, ...]
    transitions: tuple[tuple[Transition, ...], ...]
    accepting: frozenset[int]
    decided: tuple[tuple[Transition, ...], ...]

    @property
    def changes(self) -> int:
        """The bit of a letter that says whether the step changes the state."""
        return 1 << len(self.atoms)


def automaton_of(formula: Formula) -> Automaton:
    """Translate a formula.

    Raises:
        SpecError: if it has too many predicates, or if the automaton would be too large.
    """
    atoms = tuple(dict.fromkeys(formula.atoms))
    if len(atoms) > MOST_ATOMS:
        raise SpecError(f"a formula has {len(atoms)} different predicates: at most {MOST_ATOMS} are possible")
    core = core_of(formula)
    covers = _covers(frozenset([core]))
    untils = sorted({each for found in covers.values() for cover in found for each in cover.postponed}, key=repr)
    number: dict[tuple[frozenset[Core], int], int] = {(frozenset([core]), 0): 0}
    of_steps = 1 << len(atoms) | sum(1 << place for place, (kind, _) in enumerate(atoms) if kind == "step")
    transitions, decided = [], []
    waiting = [*number]
    for formulas, turn in waiting:
        found = set()
        for cover in covers[formulas]:
            after = turn % len(untils) if untils else 0
            while after < len(untils) and untils[after] not in cover.postponed:
                after += 1
            state = cover.following, after
            if state not in number:
                number[state] = len(number)
                waiting.append(state)
            found.add(Transition(cover.true, cover.false, number[state]))
        transitions.append(tuple(sorted(found)))
        free = [each for each in covers[formulas] if not each.following and not (each.true | each.false) & of_steps]
        decided.append(tuple(Transition(each.true, each.false, 0) for each in free))
    accepting = frozenset(place for (_, turn), place in number.items() if turn == len(untils))
    return Automaton(atoms, tuple(transitions), accepting, tuple(decided))


def core_of(formula: Formula) -> Core:
    """Return a formula with only atoms negated. The bits are those of `Automaton`."""
    return _Translation(tuple(dict.fromkeys(formula.atoms))).core(formula)


class _Translation:
    """Translates formulas to formulas in which only atoms are negated."""

    def __init__(self, atoms: tuple[Atom, ...]) -> None:
        self._bits = {atom: place for place, atom in enumerate(atoms)}
        self._changes: Core = ("literal", len(atoms), True)
        self._stays: Core = ("literal", len(atoms), False)

    def core(self, formula: Formula, negated: bool = False, staying: bool = False) -> Core:
        """Return a formula or its negation in this form.

        Parameters:
            staying: whether a step, or its negation, counts as true where the state stays the same.
        """
        operator, operands = formula.operator, formula.operands
        match operator:
            case "not":
                return self.core(operands[0], not negated, staying)
            case "always" | "eventually":
                if (operator == "always") is not negated:
                    return "release", FALSE, self.core(operands[0], negated, staying=True)
                return "until", TRUE, self.core(operands[0], negated, staying=False)
            case "until":
                given, end = operands
                first, last = self.core(given, negated, not negated), self.core(end, negated, negated)
                if end.is_of_steps:
                    first = ("and", self._changes, first) if negated else ("or", self._stays, first)
                return "release" if negated else "until", first, last
            case "implies":
                left = self.core(operands[0], not negated, staying)
                right = self.core(operands[1], negated, staying)
                return "and" if negated else "or", left, right
            case "and" | "or":
                parts = [self.core(each, negated, staying) for each in operands]
                return "and" if (operator == "and") is not negated else "or", *parts
        assert formula.predicate is not None
        literal: Core = "literal", self._bits[operator, formula.predicate], not negated
        if operator == "now":
            return literal
        return ("or", self._stays, literal) if staying else ("and", self._changes, literal)


@attrs.frozen
class _Cover:
    """A way to make all formulas of a state true.

    Attributes:
        true, false: the bits that must be set and not set in the letter at this position.
        following: the formulas that must be true at the next position.
        postponed: those of them that are an ``until`` that was not fulfilled here.
    """

    true: int = 0
    false: int = 0
    following: frozenset[Core] = frozenset()
    postponed: frozenset[Core] = frozenset()

    def is_within(self, other: _Cover) -> bool:
        """Return whether this cover requires nothing that another one does not require."""
        return (
            self.true & ~other.true == 0
            and self.false & ~other.false == 0
            and self.following <= other.following
            and self.postponed <= other.postponed
        )


def _covers(first: frozenset[Core]) -> dict[frozenset[Core], list[_Cover]]:
    """Return the covers of all sets of formulas that can be required at some position."""
    found: dict[frozenset[Core], list[_Cover]] = {}
    waiting = [first]
    while waiting:
        formulas = waiting.pop()
        if formulas not in found:
            ways = [*itertools.islice(_divided(sorted(formulas, key=repr), frozenset(), _Cover()), MOST_WAYS + 1)]
            if len(ways) > MOST_WAYS or len(found) == MOST_SETS:
                raise SpecError(
                    f"a formula needs an automaton with more than {MOST_SETS} sets of formulas, or {MOST_WAYS:,} ways "
                    "to divide one: leave out operands, or write several properties"
                )
            every = list(dict.fromkeys(way for way in ways if way is not None))
            found[formulas] = [
                each for each in every if not any(other != each and other.is_within(each) for other in every)
            ]
            waiting += [each.following for each in found[formulas]]
    return found


def _divided(waiting: list[Core], done: frozenset[Core], cover: _Cover) -> Iterator[_Cover | None]:
    """Yield the covers of some formulas, in addition to what a cover already requires. Yield None for each way that
    ends in a contradiction, so that these ways are counted, too.

    Parameters:
        done: the formulas that were divided before.
    """
    waiting = [each for each in waiting if each not in done]
    if not waiting:
        yield cover
        return
    place = next(
        (place for place, each in enumerate(waiting) if each[0] not in _BRANCHING), -1
    )  # a contradiction first
    formula, rest = waiting[place], [*waiting[:place], *waiting[place:][1:]]
    done |= {formula}
    ways: list[tuple[_Cover, list[Core]]] = []
    match formula:
        case ("literal", int(bit), is_true):
            true, false = (1 << bit, 0) if is_true else (0, 1 << bit)
            made = attrs.evolve(cover, true=cover.true | true, false=cover.false | false)
            if not made.true & made.false:
                ways = [(made, [])]
        case ("true",):
            ways = [(cover, [])]
        case ("and", *parts):
            ways = [(cover, parts)]
        case ("or", *parts):
            ways = [(cover, [part]) for part in parts]
        case ("until", first, last):
            later = attrs.evolve(cover, following=cover.following | {formula}, postponed=cover.postponed | {formula})
            ways = [(cover, [last]), (later, [first])]
        case ("release", last, every):
            later = attrs.evolve(cover, following=cover.following | {formula})
            ways = [(cover, [last, every]), (later, [every])]
    if not ways:
        yield None
    for made, parts in ways:
        yield from _divided([*rest, *parts], done, made)
