"""Traces: sequences of steps from an initial state, such as counterexamples."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

import attrs

from leadline.checker.action import ActionInstance, Step
from leadline.checker.properties import Kind, Property
from leadline.checker.source.explain import false_condition
from leadline.checker.spec import Spec, as_tuple

S = TypeVar("S")


@attrs.frozen(eq=False)
class Trace(Generic[S]):
    """A sequence of steps from an initial state, and the property that it violates or satisfies.

    Attributes:
        spec: the spec, with its bounds.
        states: the states in order. There is at least one state.
        instances: the action instances between the states. There is one fewer than there are states. Values that are
            drawn from a state are added to an instance that lacks them; see `Spec.taken`.
        about: the property that the last state or step violates, or the witness that it satisfies. None if the trace
            was not recorded for a property.
        loop: for a lasso (a trace that ends in a loop), the index of the state where the loop begins, otherwise None.
            The last state is equal to this state, and the steps between them repeat for ever. If the index is that of
            the last state, no further steps are taken.

    Raises:
        ValueError: if the number of action instances does not match the number of states, or if `loop` is not the index
            of a state that is equal to the last state.
        SpecError: if an action that draws values from a state raised an exception.
    """

    spec: Spec[S]
    states: tuple[S, ...] = attrs.field(converter=as_tuple)
    instances: tuple[ActionInstance[S], ...] = attrs.field(converter=as_tuple)
    about: Property | None = None
    loop: int | None = None

    def __attrs_post_init__(self) -> None:
        if len(self.states) != len(self.instances) + 1:
            raise ValueError(
                f"{len(self.states)} states require {len(self.states) - 1} steps, not {len(self.instances)}"
            )
        if self.loop is not None and not 0 <= self.loop < len(self.states):
            raise ValueError(f"the loop cannot begin at state {self.loop}: the trace has {len(self.states)} states")
        if self.loop is not None and self.states[self.loop] != self.states[-1]:
            raise ValueError(f"the last state is not equal to state {self.loop}, at which the loop begins")
        steps = zip(self.instances, self.states, self.states[1:], strict=False)
        object.__setattr__(self, "instances", tuple(itertools.starmap(self.spec.taken, steps)))

    def __len__(self) -> int:
        """Return the number of states, including the initial state, as TLC does."""
        return len(self.states)

    @property
    def steps(self) -> Iterator[Step[S]]:
        """An iterator over the steps in order."""
        return map(Step, self.states, self.instances, self.states[1:])

    @property
    def loop_steps(self) -> list[Step[S]]:
        """The steps that repeat for ever. Empty if the trace does not end in a loop, or if the loop has no steps."""
        return [] if self.loop is None else list(self.steps)[self.loop :]

    @property
    def complaint(self) -> str:
        """The first reason why the last state or step violates the property, or an empty string if there is none."""
        return next(iter(self.complaints), "")

    @property
    def complaints(self) -> list[str]:
        """The reasons why the last state or step violates the property: a sentence for each value that violates it.

        If the property gives no reason, the sentence names the condition of the property that is false.
        """
        if self.about is None or self.about.kind.is_liveness:
            return []
        found = complaints_at_end(self.spec, self.about, self.states)
        if found == [""] and self.about.kind in (Kind.INVARIANT, Kind.STEP_INVARIANT):
            found = [false_condition(self.about.function, *_end(self.about, self.states))]
        return list(filter(None, found))


def complaint_at_end(spec: Spec[S], item: Property, states: Sequence[S]) -> str | None:
    """Return the reason why the last state or step of a behaviour violates a property.

    Parameters:
        spec: the spec of the behaviour.
        item: the property.
        states: the states of the behaviour.

    Returns:
        The reason, or an empty string if the property does not give a reason. None if the property is not violated. For
        a witness, an empty string if the witness is satisfied, and None if it is not. For a liveness property, None,
        because a single state cannot violate it.
    """
    if item.kind.is_liveness:
        return None  # what comes after the last state decides
    if item.kind is Kind.DEADLOCK:
        state = states[-1]
        dead = spec.is_within(state) and next(spec.successors(state), None) is None and not spec.is_final(state)
        return "no action is enabled" if dead else None
    if item.kind.of_steps and len(states) < 2:
        return None
    complaint = spec.complaint(item, *_end(item, states))
    if item.kind.is_witness:
        return "" if complaint is None else None
    return complaint


def complaints_at_end(spec: Spec[S], item: Property, states: Sequence[S]) -> list[str]:
    """Return all reasons why the last state or step of a behaviour violates a property.

    Returns:
        At most `MOST_COMPLAINTS` sentences. The list is empty if the property is not violated.
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
