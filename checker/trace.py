"""Traces: sequences of steps from an initial state, such as counterexamples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

import attrs

from leadline.checker.action import ActionInstance, Step
from leadline.checker.properties import Kind, Property
from leadline.checker.spec import Spec, as_tuple

S = TypeVar("S")


@attrs.frozen(eq=False)
class Trace(Generic[S]):
    """A sequence of steps from an initial state, and the property that it violates or satisfies.

    Attributes:
        spec: the spec, with its bounds.
        states: the states in order. There is at least one.
        instances: the action instances between the states. There is one action instance fewer than there are states.
        about: the property that the last state or step violates, or the witness that it satisfies. None if the trace
            was not recorded for a property.

    Raises:
        ValueError: if the number of action instances does not match the number of states.
    """

    spec: Spec[S]
    states: tuple[S, ...] = attrs.field(converter=as_tuple)
    instances: tuple[ActionInstance[S], ...] = attrs.field(converter=as_tuple)
    about: Property | None = None

    def __attrs_post_init__(self) -> None:
        if len(self.states) != len(self.instances) + 1:
            raise ValueError(
                f"{len(self.states)} states require {len(self.states) - 1} steps, not {len(self.instances)}"
            )

    def __len__(self) -> int:
        """Return the number of states, including the initial state, as TLC does."""
        return len(self.states)

    @property
    def steps(self) -> Iterator[Step[S]]:
        """An iterator over the steps, in order."""
        return (
            Step(before, instance, after)
            for before, instance, after in zip(self.states, self.instances, self.states[1:], strict=False)
        )

    @property
    def complaint(self) -> str:
        """The reason why the last state or step violates the property. Empty if the property gives no reason."""
        return next(iter(self.complaints), "")

    @property
    def complaints(self) -> list[str]:
        """The reasons why the last state or step violates the property: a sentence for each value that violates it."""
        if self.about is None:
            return []
        return list(filter(None, complaints_at_end(self.spec, self.about, self.states)))


def complaint_at_end(spec: Spec[S], item: Property, states: Sequence[S]) -> str | None:
    """Return the reason why the last state or step of a behaviour violates a property.

    Parameters:
        spec: the spec of the behaviour.
        item: the property.
        states: the states of the behaviour.

    Returns:
        The reason, or an empty string if the property does not give a reason. None if the property is not violated. For
        a witness, an empty string if the witness is satisfied, and None if it is not.
    """
    if item.kind is Kind.DEADLOCK:
        dead = spec.is_within(states[-1]) and next(spec.successors(states[-1]), None) is None
        return "no action is enabled" if dead else None
    if item.kind.of_steps and len(states) < 2:
        return None
    complaint = spec.complaint(item, *_end(item, states))
    if item.kind.is_witness:
        return "" if complaint is None else None
    return complaint


def complaints_at_end(spec: Spec[S], item: Property, states: Sequence[S]) -> list[str]:
    """Return all reasons why the last state or step of a behaviour violates a property. See `complaint_at_end`.

    Returns:
        At most `MOST_COMPLAINTS` sentences. Empty if the property is not violated.
    """
    first = complaint_at_end(spec, item, states)
    if first is None or item.kind.is_witness or item.kind is Kind.DEADLOCK:
        return [] if first is None else [first]
    return spec.complaints(item, *_end(item, states))


def _end(item: Property, states: Sequence[S]) -> Sequence[S]:
    """Return the states on which a property is checked: the last state, or the states before and after the last
    step.
    """
    return states[-2:] if item.kind.of_steps else states[-1:]
