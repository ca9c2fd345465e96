"""Plans of replays: the steps of a trace, and what brokers do in each. They are made without brokers.

Each family of specs that can be replayed has its own steps and plans.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

import attrs

from leadline.brokers.releases import BrokerRelease
from leadline.checker.action import ActionInstance
from leadline.checker.spec import Spec
from leadline.checker.support.messages import counted
from leadline.checker.trace import Trace
from leadline.checker.traces.divergence import follow

S = TypeVar("S")
T = TypeVar("T", bound="Step[Any]")


@attrs.frozen
class Step(abc.ABC, Generic[S]):
    """A step of a plan.

    Attributes:
        number: the number of the step in the schedule, from 1.
        before, after: the states of the model before and after the step.
    """

    number: int
    instance: ActionInstance[S]
    before: S
    after: S

    @property
    def sentence(self) -> str:
        """A description of the step."""
        return self.instance.sentence or repr(self.instance)

    @property
    @abc.abstractmethod
    def remark(self) -> str:
        """What the step decides, or an empty string."""

    @property
    @abc.abstractmethod
    def operations(self) -> Iterator[str]:
        """What is done on brokers, as text."""


@attrs.frozen
class ReplayPlan(abc.ABC, Generic[S, T]):
    """The plan of a replay.

    Attributes:
        steps: the steps, in order.
        start: the first state.
        refused: the step that follows the last one, if the model does not allow it and the replay attempts it. The
            attempt is expected to fail.
        departs: the number of the first step that leads to a different state than in the trace, because the rules of
            the release differ, or that is not in the trace. None if all steps lead to the states of the trace.
        trace: the states and steps of the plan, as a trace.
        replicas: the brokers with a replica, in the order of the assignment.
    """

    steps: tuple[T, ...]
    start: S
    refused: T | None
    departs: int | None
    trace: Trace[S]
    replicas: tuple[int, ...]

    @property
    def brokers(self) -> int:
        """The number of brokers with a replica."""
        return len(self.replicas)

    @property
    @abc.abstractmethod
    def legend(self) -> str:
        """Lines that say which messages are held, and explain the symbols in the reports of a replay."""

    def cluster(self, release: BrokerRelease) -> str:
        """What is started, as text."""
        kind = "a KRaft controller" if release.kraft else "ZooKeeper and a broker that is the controller"
        return f"{counted(self.brokers, 'broker')}, {kind}"

    @property
    def lines(self) -> list[str]:
        """The plan as text. Each step is followed by its operations."""
        found = list[str]()
        for step in self.steps:
            found += [f"{step.number}. {step.sentence}", *(f"     {each}" for each in step.operations)]
        return found


AnyStep = Step[Any]
AnyPlan = ReplayPlan[Any, Any]


def followed_in(trace: Trace[S], expected: Spec[S] | None) -> tuple[Trace[S], ActionInstance[S] | None, int | None]:
    """Return the behaviour of the release that executes a trace.

    Parameters:
        trace: a trace that brokers can execute.
        expected: the spec of the release, or None if the trace's spec has the same rules.

    Returns:
        The behaviour, which ends before the first step that the spec does not allow; this step, if there is one; and
        `ReplayPlan.departs`.
    """
    if expected is None:
        return trace, None, None
    parting = follow(trace, expected)
    return parting.second, parting.refused, parting.shared if parting.shared < len(trace) else None
