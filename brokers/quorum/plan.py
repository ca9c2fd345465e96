"""Plan the replay of a trace of the `quorum` family on Kafka's classes. No Java is needed."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.brokers.errors import NotExecutable
from leadline.brokers.plans import ReplayPlan, Step, followed_in
from leadline.brokers.quorum.observed_state import observed_state
from leadline.brokers.quorum.operations import LOSSES, SENTENCES, UNMADE, not_shown, passing
from leadline.brokers.releases import BrokerRelease
from leadline.checker.spec import Spec
from leadline.checker.support.messages import counted
from leadline.checker.trace import Trace
from leadline.model.raft.state import Quorum


@attrs.frozen
class QuorumStep(Step[Quorum]):
    """A step of a plan.

    Attributes:
        shown: the state that the nodes are compared with: `after`, or the one after the next step if the nodes make
            both at once.
        is_made: whether the nodes have made the step together with the one before.
    """

    shown: Quorum
    is_made: bool = False

    @property
    def operations(self) -> Iterator[str]:
        """What is done to the nodes, as text."""
        yield "the node did it with the step before" if self.is_made else SENTENCES[self.instance.action.name]

    @property
    def remark(self) -> str:
        """How many records are committed, if the step commits some."""
        count = len(self.after.committed)
        return f"{counted(count, 'record')} committed" if count > len(self.before.committed) else ""


@attrs.frozen
class QuorumPlan(ReplayPlan[Quorum, QuorumStep]):
    """The plan of a replay."""

    @property
    def legend(self) -> str:
        return (
            "all messages are held, and clocks stand still\nL0@1 is the record with which node 0 begins epoch 1, m0@1 "
            "a record of epoch 1; HW is the high watermark, 0 if it is not known"
        )

    def cluster(self, release: BrokerRelease) -> str:
        """The nodes, as text."""
        return f"{self.brokers} KafkaRaftClients in one process"


def plan_of(trace: Trace[Quorum], expected: Spec[Quorum] | None = None) -> QuorumPlan:
    """Plan the replay of a trace.

    Parameters:
        expected: see `followed_in`.

    Raises:
        NotExecutable: if Kafka's classes cannot execute a step. The message names the step and the reason.
    """
    followed, refused, departs = followed_in(trace, expected)
    for number, step in enumerate(trace.steps, start=1):
        name, node = step.action, step.after.nodes[step.arguments["own"]]
        if name in UNMADE:
            raise NotExecutable(number, UNMADE[name])
        if name in (*LOSSES, "take_snapshot") and step.after.bounds.dynamic:
            raise NotExecutable(number, "losses and snapshots with kraft.version 1 are not compared")
        if reason := not_shown(name, step.before.nodes[step.arguments["own"]], node):
            raise NotExecutable(number, reason)
    steps = tuple(_planned(followed))
    last = followed.states[-1]
    tried = None if refused is None else QuorumStep(len(steps) + 1, refused, last, last, last)
    pairs = zip(trace.states, followed.states, strict=False)
    seen = next((at for at, (one, other) in enumerate(pairs) if observed_state(one) != observed_state(other)), None)
    both = [at for at in (departs, seen) if at is not None]
    return QuorumPlan(
        steps, followed.states[0], tried, min(both, default=None), followed, tuple(range(last.bounds.nodes))
    )


def _planned(trace: Trace[Quorum]) -> Iterator[QuorumStep]:
    passes = None
    for number, step in enumerate(trace.steps, start=1):
        made, passes = passes is not None, passing(step.instance, step.before, step.after)
        shown = step.after
        if passes is not None:
            following = trace.instances[number] if number < len(trace) - 1 else None
            if following is None or (following.action.name, following.arguments["own"]) != passes:
                raise NotExecutable(number, f"node {passes[1]} does not wait here: its next {passes[0]} comes at once")
            shown = trace.states[number + 1]
        yield QuorumStep(number, step.instance, step.before, step.after, shown, made)
