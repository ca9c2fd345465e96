"""Evaluates a temporal formula on a behaviour by the definition of the formula, without an automaton.

A lasso decides each formula. A trace without a loop is the beginning of many behaviours: it decides a formula if the
formula is true or false whatever follows, as far as each of its parts shows that by itself. Truth is therefore one of
True, False and None, which means that it is not known yet.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Generic, TypeVar

from leadline.checker.formulas import Formula
from leadline.checker.trace import Trace

S = TypeVar("S")

Truth = bool | None


def truth(trace: Trace[S], formula: Formula) -> Truth:
    """Return whether a formula is true at the beginning of a behaviour.

    Parameters:
        trace: a lasso, or a trace without a loop, the last step of which is not known.
        formula: a formula of the trace's spec, whose predicates are called.
    """
    return _Word(trace).of(formula)[0]


class _Word(Generic[S]):
    """A behaviour as a sequence of positions: states, and the steps from them."""

    def __init__(self, trace: Trace[S]) -> None:
        self._spec = trace.spec
        steps: list[tuple[S, S] | None] = [*itertools.pairwise(trace.states)]
        if trace.loop is None:
            steps.append(None)  # it is not known
        elif trace.loop == len(trace.states) - 1:
            steps.append((trace.states[-1], trace.states[-1]))  # nothing happens any more
        self._states, self._steps, self._loop = trace.states[: len(steps)], steps, trace.loop
        self._changes: list[Truth] = [None if each is None else each[0] != each[1] for each in steps]

    def of(self, formula: Formula, staying: bool = False) -> list[Truth]:
        """Return whether a formula is true at each position.

        Parameters:
            staying: whether steps count as true where the state stays the same.
        """
        if formula.predicate is not None:
            return self._predicate(formula, staying)
        operands = formula.operands
        match formula.operator:
            case "always":
                false = [_not(each) for each in self.of(operands[0], staying=True)]
                return [_not(each) for each in self._until([True] * len(false), false)]
            case "eventually":
                end = self.of(operands[0])
                return self._until([True] * len(end), end)
            case "until":
                given = self.of(operands[0], staying=True)
                if operands[1].is_of_steps:
                    given = [_or(_not(here), each) for here, each in zip(self._changes, given, strict=True)]
                return self._until(given, self.of(operands[1]))
            case "not":
                return [_not(each) for each in self.of(operands[0], not staying)]
        turned = formula.operator == "implies"
        pairs = zip(self.of(operands[0], staying is not turned), self.of(operands[1], staying), strict=True)
        match formula.operator:
            case "and":
                return [_and(*each) for each in pairs]
            case "or":
                return [_or(*each) for each in pairs]
        return [_or(_not(left), right) for left, right in pairs]

    def _predicate(self, formula: Formula, staying: bool) -> list[Truth]:
        assert formula.predicate is not None
        item, spec = self._spec.condition((formula.operator, formula.predicate)), self._spec
        if formula.operator == "now":
            return [spec.complaint(item, state) is None for state in self._states]
        return [
            None if step is None else staying if step[0] == step[1] else spec.complaint(item, *step) is None
            for step in self._steps
        ]

    def _until(self, given: Sequence[Truth], end: Sequence[Truth]) -> list[Truth]:
        """Return where `end` is true now or later, and `given` is true at every position before."""
        found: list[Truth] = [None if self._loop is None else False] * len(end)
        for _ in range(1 if self._loop is None else 2):  # the second time, it is known what follows the last position
            following = None if self._loop is None else found[min(self._loop, len(end) - 1)]
            for place in reversed(range(len(end))):
                following = found[place] = _or(end[place], _and(given[place], following))
        return found


def _not(truth: Truth) -> Truth:
    return None if truth is None else not truth


def _or(one: Truth, other: Truth) -> Truth:
    return True if one or other else False if one is False and other is False else None


def _and(one: Truth, other: Truth) -> Truth:
    return _not(_or(_not(one), _not(other)))
