"""Temporal formulas: what is true of whole behaviours. Linear temporal logic without "next".

A formula is true or false at each position of a behaviour: in a state, and for the step from it. `now` and `step` make
the smallest formulas, of a predicate of a state and of a step; a step is true or false only if it changes the state.
``&``, ``|``, ``~`` and `implies` combine formulas, and `always`, `eventually` and `until` say at which later positions
they are true.

Whether a formula is true must not depend on how long a behaviour stays in a state, because nothing in a model decides
this. Therefore, where the state stays the same, a `step`, or its negation, counts as true in `always` and on the left
of `until`, and as false in `eventually` and on the right of `until`. ``always(step(p))`` is ``[][p]_vars`` in TLA+, and
``eventually(step(p))`` is ``<><<p>>_vars``. See L. Lamport, "The Temporal Logic of Actions" (1994).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from leadline.checker.door import VERDICT, admit, name_of, shown
from leadline.checker.errors import SpecError

Atom = tuple[str, Callable[..., bool]]
"""A predicate of a state or of a step: ``"now"`` or ``"step"``, and the function."""


@attrs.frozen(eq=False)
class Formula:
    """A temporal formula. Combine formulas with ``&`` (and), ``|`` (or) and ``~`` (not).

    Attributes:
        operator: ``"now"`` or ``"step"`` for a predicate, or what combines the operands: ``"not"``, ``"and"``,
            ``"or"``, ``"implies"``, ``"always"``, ``"eventually"`` or ``"until"``.
        operands: the formulas that are combined.
        predicate: the predicate of a formula without operands.
    """

    operator: str
    operands: tuple[Formula, ...] = ()
    predicate: Callable[..., bool] | None = None

    def __and__(self, other: Statement) -> Formula:
        return Formula("and", (self, formula_of(other)))

    def __rand__(self, other: Statement) -> Formula:
        return Formula("and", (formula_of(other), self))

    def __or__(self, other: Statement) -> Formula:
        return Formula("or", (self, formula_of(other)))

    def __ror__(self, other: Statement) -> Formula:
        return Formula("or", (formula_of(other), self))

    def __invert__(self) -> Formula:
        return Formula("not", (self,))

    def __bool__(self) -> bool:
        raise SpecError(f"{self} is a formula, which is neither true nor false: combine formulas with &, | and ~")

    def __str__(self) -> str:
        if self.predicate is not None:
            name = name_of(self.predicate)
            return f"step({name})" if self.operator == "step" else name
        parts = [str(each) for each in self.operands]
        if self.operator in _SIGNS:
            return f"({f' {_SIGNS[self.operator]} '.join(parts)})"
        return f"~{parts[0]}" if self.operator == "not" else f"{self.operator}({', '.join(parts)})"

    @property
    def is_of_steps(self) -> bool:
        """Whether the formula depends on the step at its position: it contains a `step` outside of `always`,
        `eventually` and `until`.
        """
        return self.operator == "step" or (not self.is_temporal and any(each.is_of_steps for each in self.operands))

    @property
    def is_temporal(self) -> bool:
        """Whether the formula is about later positions: it is an `always`, an `eventually` or an `until`."""
        return self.operator in ("always", "eventually", "until")

    @property
    def has_temporal(self) -> bool:
        """Whether the formula is temporal, or contains a formula that is."""
        return self.is_temporal or any(each.has_temporal for each in self.operands)

    @property
    def atoms(self) -> Iterator[Atom]:
        """The predicates in the formula, from left to right. A predicate can occur several times."""
        if self.predicate is not None:
            yield self.operator, self.predicate
        for each in self.operands:
            yield from each.atoms


_SIGNS = {"and": "&", "or": "|"}

Statement = Formula | Callable[[Any], bool]
"""A formula, or a predicate of a state, which stands for ``now(predicate)``."""


def formula_of(given: Statement) -> Formula:
    """Convert a predicate of a state to a formula. Return a formula unchanged.

    Raises:
        SpecError: if the argument is neither.
    """
    return given if isinstance(given, Formula) else now(given)


def now(predicate: Callable[[Any], bool]) -> Formula:
    """Return the formula that a predicate is true in a state.

    Raises:
        SpecError: if the predicate is not a function of a state.

    Example:
        >>> def waits(state):
        ...     return state == "waiting"
        >>> str(always(implies(waits, always(waits))) | ~now(waits))
        '(always(implies(waits, always(waits))) | ~waits)'
    """
    return _of_predicate("now", predicate, ["state"])


def step(predicate: Callable[[Any, Any], bool]) -> Formula:
    """Return the formula that the step from a state changes it, and that a predicate is true of the states before and
    after the step.

    Raises:
        SpecError: if the predicate is not a function of two states.
    """
    return _of_predicate("step", predicate, ["before", "after"])


def _of_predicate(operator: str, predicate: Callable[..., bool], takes: list[str]) -> Formula:
    if type(predicate).__hash__ is None or not callable(predicate):
        raise SpecError(f"{operator}(...) needs a predicate of {' and '.join(takes)}, not {shown(predicate)}")
    admit(f"the condition {name_of(predicate)} of a formula", predicate, takes, VERDICT)
    return Formula(operator, predicate=predicate)


def implies(left: Statement, right: Statement) -> Formula:
    """Return the formula that `right` is true if `left` is. A property in which the left side is true in no behaviour
    is vacuous, and reports say so.
    """
    return Formula("implies", (formula_of(left), formula_of(right)))


def always(given: Statement) -> Formula:
    """Return the formula that another one is true now and at every later position."""
    return Formula("always", (formula_of(given),))


def until(given: Statement, end: Statement) -> Formula:
    """Return the formula that `end` is true now or later, and that `given` is true at every position before.

    If `end` is a formula of steps, `given` has to be true only where a step changes the state: ``until(p, step(q))``
    says that ``q`` is true of some step, and ``p`` before each earlier step.
    """
    return Formula("until", (formula_of(given), formula_of(end)))


def sometime(given: Statement) -> Formula:
    """Return the formula that another one is true now or at a later position. Users write `eventually`."""
    return Formula("eventually", (formula_of(given),))


def premises(formula: Formula) -> Iterator[tuple[Formula, Formula]]:
    """Yield what must be true in some behaviour for a formula not to be vacuous.

    Yields:
        For each `implies` in the formula that is not negated: its left side, and the formula that this is true at the
        beginning of a behaviour or, inside of `always`, `eventually` or `until`, at any position.
    """
    for part, is_first, negated in _parts(formula):
        if part.operator == "implies" and not negated:
            yield part.operands[0], part.operands[0] if is_first else sometime(part.operands[0])


def required(formula: Formula) -> Iterator[Formula]:
    """Yield what must be true in some behaviour without an open state for a formula that is true to say something.

    Yields:
        For each `implies`, what `premises` yields. For each other choice, such as ``~p | eventually(q)``, the opposite
        of those of its formulas that are about one position. If all are about later positions, the opposite of each.
    """
    for part, is_first, negated in _parts(formula):
        opposites: list[Formula] = []
        if part.operator == "implies" and not negated:
            opposites = [part.operands[0]]
        elif len(choices := _choices(part, negated)) > 1:
            against = [each if turned else ~each for each, turned in choices]
            plain = [each for each in against if not each.has_temporal]
            if len(plain) < len(against):
                opposites = [functools.reduce(operator.and_, plain)] if plain else against
        yield from opposites if is_first else map(sometime, opposites)


def _parts(formula: Formula, is_first: bool = True, negated: bool = False) -> Iterator[tuple[Formula, bool, bool]]:
    """Yield a formula and all formulas in it, from the outside in, each with whether it is about the beginning of a
    behaviour, and whether it is negated.
    """
    yield formula, is_first, negated
    for place, each in enumerate(formula.operands):
        turned = formula.operator == "not" or (formula.operator == "implies" and place == 0)
        yield from _parts(each, is_first and not formula.is_temporal, negated is not turned)


def _choices(formula: Formula, negated: bool) -> list[tuple[Formula, bool]]:
    """Return the formulas of which one must be true for a formula, or its negation, to be true, and which of them are
    negated.
    """
    match formula.operator, negated:
        case "not", _:
            return _choices(formula.operands[0], not negated)
        case ("or", False) | ("and", True):
            return [choice for each in formula.operands for choice in _choices(each, negated)]
    return [(formula, negated)]
