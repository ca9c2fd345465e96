"""Observations: what a recorder saw of a step, and the window of time in which the step was taken."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import attrs

S = TypeVar("S")


def _no_reason(state: object) -> str:
    return "this is not possible here"


def _not_nan(instance: object, attribute: attrs.Attribute[float], value: float) -> None:
    if math.isnan(value):
        raise ValueError(f"{attribute.name} must be a time, not {value}")


@attrs.frozen(eq=False, kw_only=True)
class Observation(Generic[S]):
    """Something that was seen of a system, as a relation between states: one step, several steps, or none.

    Two observations are two objects, even if all their attributes are equal.

    Attributes:
        earliest, latest: the window, in any unit: the step was taken at `earliest` or later, and at `latest` or
            earlier. `latest` is infinite if nothing shows that the step was taken.
        label: a sentence for reports.
        apply: returns the states after the observation, with the result that was seen. There are none if the
            observation is not possible in the given state. An observation that changes nothing returns the state.
        why: returns why the observation is not possible in a state, and what is possible instead.
        touches: the names of the components that `apply` reads or writes, or None if it may read or write everything.
            Observations and hidden steps without a common component commute: the result is the same in both orders.
        optional: whether the step may also never have been taken, because its effect was not seen.
        source: where the observation comes from, for example a line of a recording. It is only shown.
        exercises: the names of the actions of which the observation is an instance.
    """

    earliest: float = attrs.field(validator=_not_nan)
    latest: float = attrs.field(validator=_not_nan)
    label: str
    apply: Callable[[S], Iterable[S]]
    why: Callable[[S], str] = _no_reason
    touches: frozenset[str] | None = None
    optional: bool = False
    source: object = None
    exercises: tuple[str, ...] = ()

    def __attrs_post_init__(self) -> None:
        if self.earliest > self.latest:
            raise ValueError(f"the window of {self.label!r} ends at {self.latest}, before it begins ({self.earliest})")


@attrs.frozen(eq=False)
class HiddenStep(Generic[S]):
    """A step that leaves no trace in a recording.

    Attributes:
        label: a sentence for reports.
        action: the name of the action.
        after: the state after the step.
        touches: the names of the components that the step reads or writes, or None for all. See `Observation.touches`.
    """

    label: str
    action: str
    after: S
    touches: frozenset[str] | None = None
