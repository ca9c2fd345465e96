"""The formulas that need no automaton: those about predicates of states that say that, at the beginning of a behaviour
or from some position on, something is true at once, something for ever, and something again and again.

``F (starts & G region & G F again)``, as logicians write it, is true of a behaviour if it comes to a state in `starts`,
stays in `region` from there on, and visits `again` infinitely often. All of this can be seen in the graph of states: an
automaton would have nothing to remember. The formulas of all kinds of properties except `Kind.TEMPORAL` are negations
of formulas of this form.

``F (before & F (...))`` is decided in the same way, from the states that a path through `before` reaches. The rules by
which other formulas get this form: ``F x & F y`` is ``F (x & y)`` if both are only about what is true for ever or again
and again from some position on, and ``F x & G F again`` is ``F (x & G F again)``.

A behaviour makes ``a | b`` true if it makes ``a`` or ``b`` true, and ``F (a | b)`` is ``F a | F b``. Therefore each of
these formulas can be decided by itself; see `alternatives`.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from typing import TypeVar

import attrs

from leadline.checker.formulas import Atom, Formula, sometime
from leadline.checker.liveness.automaton import FALSE, TRUE, Core, core_of

MOST_ALTERNATIVES = 16
"""The maximum number of formulas into which a conjunction of disjunctions is divided."""

Where = TypeVar("Where")
"""Some of the states: the set of their indices, or an array that says for each state whether it is among them."""


@attrs.frozen
class Violation:
    """A formula of this form.

    Attributes:
        at_first: whether the behaviour begins with a state in the first of `before`, or in `starts` if there is none.
        before, starts, region, again: see the docstring of the module. These formulas are about single states.
    """

    atoms: tuple[Atom, ...]
    at_first: bool
    before: tuple[Core, ...]
    starts: Core
    region: Core
    again: Core

    @property
    def is_beginning(self) -> bool:
        """Whether the formula is true of a behaviour as soon as it has reached a state in `starts`."""
        return self.region == self.again == TRUE

    def where(self, true: Sequence[Where], every: Where) -> tuple[Where, Where, Where]:
        """Return the states in `starts` and `region`, in `region`, and in `again`.

        Parameters:
            true: for each predicate, the states in which it is true.
        """
        starts, region, again = (_where(each, true, every) for each in (self.starts, self.region, self.again))
        return operator.and_(starts, region), region, again

    def where_before(self, true: Sequence[Where], every: Where) -> Iterator[Where]:
        """Yield the states in each of `before`. For the parameters, see `where`."""
        return (_where(each, true, every) for each in self.before)


def violation_of(formula: Formula) -> Violation | None:
    """Return a formula in this form, or None if it does not have it."""
    atoms = tuple(dict.fromkeys(formula.atoms))
    if any(of == "step" for of, _ in atoms):
        return None
    core, at_first, before = core_of(formula), True, list[Core]()
    again: list[Core] = []
    while True:
        starts, region, later = list[Core](), list[Core](), list[Core]()
        for each in _parts(core):
            match each:
                case ("release", ("false",), ("until", ("true",), part)):
                    again.append(part)
                case ("release", ("false",), part):
                    region.append(part)
                case ("until", ("true",), inner):
                    later.append(inner)
                    continue
                case part:
                    starts.append(part)
            if not _is_of_states(part):
                return None
        if not later:
            break
        if region or (len(later) > 1 and not all(map(_is_for_ever, later))):
            return None
        if starts:
            before.append(("and", *starts))
        elif not before:
            at_first = False
        core = ("and", *later)
    if len(again) > 1:
        return None
    return Violation(
        atoms, at_first, tuple(before), *(("and", *found) if found else TRUE for found in (starts, region, again))
    )


def alternatives(formula: Formula) -> list[Formula]:
    """Return formulas of which one is true of a behaviour if and only if the given formula is. All but one need no
    automaton, if there are several.
    """
    if violation_of(formula) is not None:
        return [formula]
    found = _alternatives(formula, negated=False)
    easy = [each for each in found if violation_of(each) is not None]
    hard = [each for each in found if violation_of(each) is None]
    return [*easy, *([functools.reduce(operator.or_, hard)] if hard else [])] if easy else [formula]


def _alternatives(formula: Formula, negated: bool) -> list[Formula]:
    """Return formulas of which one is true of a behaviour if and only if the given formula, or its negation, is."""
    operands = formula.operands
    if not formula.has_temporal:
        return [~formula if negated else formula]
    turned = [
        not negated if formula.operator == "implies" and place == 0 else negated for place in range(len(operands))
    ]
    match formula.operator, negated:
        case "not", _:
            return _alternatives(operands[0], not negated)
        case ("or" | "implies", False) | ("and", True):
            return [found for each in zip(operands, turned, strict=True) for found in _alternatives(*each)]
        case ("eventually", False) | ("always", True):
            return [sometime(found) for found in _alternatives(operands[0], negated)]
        case ("and", False) | ("or" | "implies", True):
            parts = [_alternatives(*each) for each in zip(operands, turned, strict=True)]
            if math.prod(map(len, parts)) <= MOST_ALTERNATIVES:
                return [functools.reduce(operator.and_, each) for each in itertools.product(*parts)]
    return [~formula if negated else formula]


def _is_for_ever(core: Core) -> bool:
    """Return whether a formula is only about what is true for ever, or again and again."""
    return all(each[:2] == ("release", FALSE) for each in _parts(core))


def _parts(core: Core) -> Iterator[Core]:
    """Yield the formulas that must all be true."""
    if core[0] == "and":
        for each in core[1:]:
            yield from _parts(each)
    else:
        yield core


def _is_of_states(core: Core) -> bool:
    return core[0] == "literal" or (core[0] in ("and", "or") and all(map(_is_of_states, core[1:])))


def _where(core: Core, true: Sequence[Where], every: Where) -> Where:
    match core:
        case ("literal", int(place), is_true):
            return true[place] if is_true else operator.xor(every, true[place])
        case (("and" | "or") as name, *parts):
            combine = operator.and_ if name == "and" else operator.or_
            return functools.reduce(combine, [_where(each, true, every) for each in parts])
    return every
