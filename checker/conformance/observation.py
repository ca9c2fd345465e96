"""Observations. An observation is what a recorder saw of a step, with the time window of the step."""

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
    """Something that a recorder saw of a system: one step, several steps, or no step. An observation is a relation
    between states.

    Observations are compared by identity, even if all their attributes are equal.

    Attributes:
        earliest, latest: the time window of the step, in any unit. Both ends are included. `latest` is infinite if
            nothing shows that the step was taken.
        label: a sentence for reports.
        apply: a function that takes a state, and returns the possible states after the observation. It returns no state
            if the observation is not possible in the given state. It returns the same state if nothing changes.
        why: a function that explains why the observation is not possible in a state, and what is possible instead.
        touches: the names of the components that `apply` reads or writes, or None if it may read or write any
            component. Observations and hidden steps without a common component have the same result in either order.
        checks: whether the observation leaves every state in which it is possible as it is.
        optional: whether the step may be missing from the behaviour, because its effect was not seen.
        source: the origin of the observation, for example a line of a recording. It is only used in reports.
        exercises: the names of the actions that the observation covers.
    """

    earliest: float = attrs.field(validator=_not_nan)
    latest: float = attrs.field(validator=_not_nan)
    label: str
    apply: Callable[[S], Iterable[S]]
    why: Callable[[S], str] = _no_reason
    touches: frozenset[str] | None = None
    checks: bool = False
    optional: bool = False
    source: object = None
    exercises: tuple[str, ...] = ()

    def __attrs_post_init__(self) -> None:
        if self.earliest > self.latest:
            raise ValueError(
                f"the time window of {self.label!r} ends at {self.latest}, before it begins ({self.earliest})"
            )


@attrs.frozen(eq=False)
class HiddenStep(Generic[S]):
    """A step that is not recorded.

    Attributes:
        label: a sentence for reports.
        action: the name of the action.
        after: the state after the step.
        touches: the names of the components that the step reads or writes, or None if it may read or write any
            component; see `Observation.touches`.
    """

    label: str
    action: str
    after: S
    touches: frozenset[str] | None = None
