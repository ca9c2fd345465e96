"""What was found out about a liveness property."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import attrs

from leadline.checker.formulas import Formula, premises
from leadline.checker.properties import Kind, Property
from leadline.checker.trace import Trace

S = TypeVar("S")


@attrs.frozen(eq=False)
class Judged(Generic[S]):
    """What was found out about a liveness property whose check has finished.

    Attributes:
        trace: a counterexample, or None if the property is true.
        never: for a formula that is true, the left side of an `implies` in it that is true in no behaviour, as text. An
            empty string if there is none.
    """

    trace: Trace[S] | None = None
    never: str = ""


def conclude(
    item: Property,
    trace: Trace[S] | None,
    judges_nothing: Callable[[Property], bool],
    behaviour_of: Callable[[Formula], object | None],
) -> Judged[S] | None:
    """Return what was found out about a property, or None if it is undecided.

    Parameters:
        trace: a counterexample, or None.
        judges_nothing: a function that returns whether a property without a counterexample is undecided.
        behaviour_of: a function that returns a behaviour in which a formula is true, or None.
    """
    if trace is not None:
        return Judged(trace)
    if judges_nothing(item):
        return None
    if item.kind is not Kind.TEMPORAL:
        return Judged()
    never = (left for left, formula in premises(item.formula) if behaviour_of(formula) is None)
    return Judged(never=str(next(never, "")))
