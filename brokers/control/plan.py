"""Plan the replay of a trace of the `control` family. No brokers are needed.

If the property is about states at rest, the plan ends with the steps that the brokers take by themselves when nothing
is held any more. On a release with the bug, the brokers take no more steps, because the trace already ends at rest.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.brokers.control.schedule import path_to
from leadline.brokers.errors import Unmakeable
from leadline.checker.action import ActionInstance
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace
from leadline.checker.traces.divergence import follow
from leadline.model.control.state import Cluster
from leadline.model.control.wire import OnTheWire, on_the_wire

MOST_STATES = 20_000


@attrs.frozen
class ControlStep:
    """A step of a plan.

    Attributes:
        number: the number of the step, from 1.
        wire: how brokers execute the action.
        before, after: the states of the model before and after the step.
        heals: whether the brokers take the step by themselves, after the last step of the schedule.
        is_last: whether nothing is held after the step, and the brokers must come to rest.
    """

    number: int
    instance: ActionInstance[Cluster]
    wire: OnTheWire
    before: Cluster
    after: Cluster
    heals: bool = False
    is_last: bool = False

    @property
    def sentence(self) -> str:
        """A description of the step."""
        return self.instance.sentence or repr(self.instance)

    @property
    def remark(self) -> str:
        """The partition state that is written to ZooKeeper, or an empty string if it does not change."""
        quorum = self.after.quorum
        if quorum == self.before.quorum:
            return ""
        leads = "no leader" if quorum.leader is None else f"leader {quorum.leader}"
        return f"{leads}, epoch {quorum.epoch}, ISR {' '.join(map(str, sorted(quorum.isr)))}"


@attrs.frozen
class ControlPlan:
    """The plan of a replay.

    Attributes:
        steps: the steps, in order.
        start: the first state.
        rests: the states in which the brokers may come to rest after the last step. Empty if the property is not about
            states at rest.
        departs: the number of the first step that leads to a different state than in the trace, or that is not in the
            trace. None if all steps lead to the states of the trace.
        trace: the states and steps of the plan, as a trace.
        refused: always None, because a step that the model does not allow ends the plan, and is not attempted.
    """

    steps: tuple[ControlStep, ...]
    start: Cluster
    rests: frozenset[Cluster]
    departs: int | None
    trace: Trace[Cluster]
    refused: None = None

    @property
    def brokers(self) -> int:
        """The number of brokers with a replica."""
        return len(self.start.replicas)

    @property
    def replicas(self) -> tuple[int, ...]:
        """The brokers with a replica, in the order of the assignment."""
        return self.start.assignment.replicas

    @property
    def legend(self) -> str:
        """Lines that say which messages are held, and explain the symbols in the reports of a replay."""
        first = self.brokers
        return (
            "what controllers hear of brokers and of /controller is held, and so are their requests\n"
            f"controller 0 is broker {first}, controller 1 is broker {first + 1}, without replicas; c1 is controller "
            "epoch 1; frames have their numbers in the recording"
        )

    @property
    def lines(self) -> list[str]:
        """The plan as text. Each step is followed by its operations."""
        return [line for step in self.steps for line in _lines(step)]


def plan_of(trace: Trace[Cluster], expected: Spec[Cluster] | None = None) -> ControlPlan:
    """Plan the replay of a trace.

    Parameters:
        trace: a trace that a driver can execute; see `leadline.brokers.control.schedule.schedule_of`.
        expected: the spec of the release that executes the trace, or None if the trace's spec has the same rules. If it
            is given, the plan consists of states of this spec, and ends before the first step that this spec does not
            allow.

    Raises:
        Unmakeable: if a driver cannot execute a step. The message names the step and the reason.
    """
    followed, departs = trace, None
    if expected is not None:
        parting = follow(trace, expected)
        followed = parting.second
        departs = parting.shared if parting.shared < len(trace) else None
    healed, rests = followed, frozenset[Cluster]()
    if any(item.at_rest for item in trace.spec.checks):
        healed, rests = _healed(followed)
        departs = departs or (len(followed) if len(healed) > len(followed) else None)
    steps = tuple(
        ControlStep(
            number,
            step.instance,
            _wire(number, step.instance, step.before, heals=number >= len(followed)),
            step.before,
            step.after,
            number >= len(followed),
            bool(rests) and number == len(healed) - 1,
        )
        for number, step in enumerate(healed.steps, start=1)
    )
    return ControlPlan(steps, healed.states[0], rests, departs, healed)


def _wire(number: int, instance: ActionInstance[Cluster], before: Cluster, *, heals: bool) -> OnTheWire:
    wire = on_the_wire(instance.action.name, before.protocol)
    if wire.unmade and not heals:
        raise Unmakeable(number, wire.unmade)
    return wire


def _healed(trace: Trace[Cluster]) -> tuple[Trace[Cluster], frozenset[Cluster]]:
    """Return the trace, extended until the brokers are at rest, and all states in which they can come to rest."""
    spec = trace.spec
    came: dict[Cluster, tuple[Cluster, ActionInstance[Cluster]] | None] = {trace.states[-1]: None}
    waiting, rests = list(came), []
    for state in waiting:  # a queue that grows during the loop
        if spec.is_at_rest(state):
            rests.append(state)
        for instance in spec.healing:
            for after in spec.take(instance, state):
                if after not in came:
                    came[after] = state, instance
                    waiting.append(after)
        if len(came) > MOST_STATES:
            raise Unmakeable(len(trace), f"healing actions lead to more than {MOST_STATES:,} states")
    if not rests:
        raise Unmakeable(len(trace), "the model does not come to rest")
    states, taken = path_to(rests[0], came)
    whole = Trace(spec, (*trace.states, *states[1:]), (*trace.instances, *taken), trace.about)
    return whole, frozenset(rests)


def _lines(step: ControlStep) -> Iterator[str]:
    yield f"{step.number}. {step.sentence}"
    if step.heals or step.wire.alone:
        yield "     brokers do it by themselves"
    else:
        yield from (f"     {deed.value}" for deed in step.wire.does)
        yield from (f"     let through: {kind}" for kind in step.wire.passes)
        yield from (f"     then held: {kind}" for kind in step.wire.holds)
    if step.is_last:
        yield "     everything is let through, and the brokers come to rest"
