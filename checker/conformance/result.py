"""The result of following a recording through a spec."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Generic, TypeVar

import attrs

from leadline.checker.conformance.observation import Observation

S = TypeVar("S")


class Answer(enum.Enum):
    """Whether a recording is a behaviour of a spec."""

    CONFORMS = "conforms"
    REJECTED = "does not conform"
    UNDECIDED = "undecided"


@attrs.frozen(eq=False)
class Taken(Generic[S]):
    """A step of a behaviour that explains a recording.

    Attributes:
        label: a sentence.
        observation: the observation that the step explains, or None for a hidden step.
        action: the name of a hidden step's action, or an empty string.
        before, after: the states before and after the step.
    """

    label: str
    observation: Observation[S] | None
    action: str
    before: S
    after: S


@attrs.frozen(eq=False)
class Candidate(Generic[S]):
    """A possible state at the moment at which an observation should be possible, and why it is not.

    Attributes:
        state: the state.
        path: the last steps that lead to it, oldest first.
        why: the reason, from `Observation.why`.
        early: the labels of the observations that were taken although their windows are still open.
    """

    state: S
    path: tuple[Taken[S], ...]
    why: str
    early: tuple[str, ...] = ()


@attrs.frozen(eq=False)
class Rejection(Generic[S]):
    """The first observation that no possible state explains.

    Attributes:
        observation: the observation.
        number: its number in the order of `Observation.latest`, from 1.
        before: the possible states after all earlier observations, without hidden steps or open observations.
        candidates: some of the states that are possible when the observation's window ends. Each has a different
            reason.
        states: the number of states that are possible then.
    """

    observation: Observation[S]
    number: int
    before: tuple[S, ...]
    candidates: tuple[Candidate[S], ...]
    states: int


@attrs.frozen(eq=False, kw_only=True)
class Conformance(Generic[S]):
    """The result of following a recording.

    Attributes:
        answer: whether the recording is a behaviour of the spec.
        observations: the number of observations that were explained.
        behaviour: the last steps of a behaviour that explains them, oldest first.
        hidden_steps: the number of hidden steps in this behaviour.
        actions: how often each action is exercised in this behaviour, by name.
        largest: the largest number of possible states after an observation.
        explored: the number of states that were looked at.
        rejection: what was not possible, if the recording was rejected or not decided at an observation.
        reason: why the recording is not decided, or an empty string.
    """

    answer: Answer
    observations: int
    behaviour: tuple[Taken[S], ...]
    hidden_steps: int
    actions: Mapping[str, int]
    largest: int
    explored: int
    rejection: Rejection[S] | None = None
    reason: str = ""
