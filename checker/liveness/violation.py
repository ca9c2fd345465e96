"""The formulas that need no automaton: those about predicates of states that say that, at the beginning of a behaviour
or from some position on, something is true at once, something for ever, and something again and again.

``F (starts & G region & G F again)``, as logicians write it, is true of a behaviour if it comes to a state in `starts`,
stays in `region` from there on, and visits `again` infinitely often. All of this can be seen in the graph of states: an
automaton would have nothing to remember. The formulas of all kinds of properties except `Kind.TEMPORAL` are negations
of formulas of this form.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from typing import TypeVar

import attrs

from leadline.checker.formulas import Atom, Formula
from leadline.checker.liveness.automaton import TRUE, Core, core_of

Where = TypeVar("Where")
"""Some of the states: the set of their indices, or an array that says for each state whether it is among them."""


@attrs.frozen
class Violation:
    """A formula of this form.

    Attributes:
        atoms: the predicates in the formula.
        at_first: whether the behaviour begins with a state in `starts`.
        starts, region, again: see the docstring of the module. These formulas are about single states.
    """

    atoms: tuple[Atom, ...]
    at_first: bool
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
            every: all states.
        """
        starts, region, again = (_where(each, true, every) for each in (self.starts, self.region, self.again))
        return operator.and_(starts, region), region, again


def violation_of(formula: Formula) -> Violation | None:
    """Return a formula in this form, or None if it does not have it."""
    atoms = tuple(dict.fromkeys(formula.atoms))
    if any(of == "step" for of, _ in atoms):
        return None
    core, at_first = core_of(formula), True
    match core:
        case ("until", ("true",), inner):
            core, at_first = inner, False
    parts: dict[str, list[Core]] = {"starts": [], "region": [], "again": []}
    for each in _parts(core):
        match each:
            case ("release", ("false",), ("until", ("true",), part)):
                name = "again"
            case ("release", ("false",), part):
                name = "region"
            case part:
                name = "starts"
        if not _is_of_states(part):
            return None
        parts[name].append(part)
    if len(parts["again"]) > 1:
        return None
    return Violation(atoms, at_first, *(("and", *found) if found else TRUE for found in parts.values()))


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
