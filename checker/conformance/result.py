"""The result of checking a recording against a spec."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Generic, TypeVar

import attrs

from leadline.checker.conformance.observation import Observation

S = TypeVar("S")


class Answer(enum.Enum):
    """The answer to the question of whether a recording is a behaviour of a spec."""

    CONFORMS = "conforms"
    REJECTED = "does not conform"
    UNDECIDED = "undecided"


@attrs.frozen(eq=False)
class Taken(Generic[S]):
    """A step of a behaviour that explains a recording.

    Attributes:
        label: a sentence that describes the step.
        observation: the observation that the step explains, or None for a hidden step.
        action: the name of the action if the step is hidden, otherwise an empty string.
        before, after: the states before and after the step.
    """

    label: str
    observation: Observation[S] | None
    action: str
    before: S
    after: S


@attrs.frozen(eq=False)
class Candidate(Generic[S]):
    """A state in which an observation should be possible, and the reason why it is not possible.

    Attributes:
        path: the last steps on the path to the state, in order.
        why: the reason, as `Observation.why` returns it.
        early: the labels of the observations that precede the state although their time windows are still open.
    """

    state: S
    path: tuple[Taken[S], ...]
    why: str
    early: tuple[str, ...] = ()


@attrs.frozen(eq=False)
class Rejection(Generic[S]):
    """The first observation that no possible state explains.

    Attributes:
        number: its position in the order of `Observation.latest`, from 1.
        before: the possible states after all earlier observations, before any further hidden steps or observations.
        candidates: some of the states that are possible at the end of the observation's window, each with a different
            reason.
        states: the number of states that are possible at that time.
    """

    observation: Observation[S]
    number: int
    before: tuple[S, ...]
    candidates: tuple[Candidate[S], ...]
    states: int


@attrs.frozen(eq=False, kw_only=True)
class Conformance(Generic[S]):
    """The result of checking a recording.

    Attributes:
        answer: whether the recording is a behaviour of the spec.
        observations: the number of observations that were explained.
        behaviour: the last steps, in order, of a behaviour that explains these observations.
        hidden_steps: the number of hidden steps in the whole behaviour.
        actions: how often each action occurs in this behaviour, keyed by action name.
        largest: the largest number of possible states after an observation.
        explored: the number of states that the search visited.
        rejection: the observation that was not possible, or None if there is none.
        reason: why the answer is undecided, or an empty string.
        cut_matters: whether an observation or a hidden step depended on a part of a state that was removed. If the
            answer is undecided, a search that removes nothing may then find another answer.
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
    cut_matters: bool = False
