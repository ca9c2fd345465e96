"""Plan the replay of a trace of the `control` family. No brokers are needed.

If the property is about states at rest, the plan ends with the steps that the brokers take by themselves when nothing
is held any more. On a release with the bug, the brokers take no more steps, because the trace already ends at rest.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.brokers.control.schedule import path_to
from leadline.brokers.errors import NotExecutable
from leadline.brokers.plans import ReplayPlan, Step, followed_in
from leadline.checker.action import ActionInstance
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace
from leadline.model.control.state import Cluster
from leadline.model.control.wire import OnTheWire, on_the_wire

MOST_STATES = 20_000


@attrs.frozen
class ControlStep(Step[Cluster]):
    """A step of a plan.

    Attributes:
        wire: how brokers execute the action.
        heals: whether the brokers take the step by themselves, after the last step of the schedule.
        is_last: whether nothing is held after the step, and the brokers must come to rest.
    """

    wire: OnTheWire
    heals: bool = False
    is_last: bool = False

    @property
    def operations(self) -> Iterator[str]:
        """What is done on brokers, as text."""
        if self.heals or self.wire.alone:
            yield "brokers do it by themselves"
        else:
            yield from (operation.value for operation in self.wire.does)
            yield from (f"let through: {kind}" for kind in self.wire.passes)
            yield from (f"then held: {kind}" for kind in self.wire.holds)
        if self.is_last:
            yield "everything is let through, and the brokers come to rest"

    @property
    def remark(self) -> str:
        """The partition state that is written to ZooKeeper, or an empty string if it does not change."""
        quorum = self.after.quorum
        if quorum == self.before.quorum:
            return ""
        leads = "no leader" if quorum.leader is None else f"leader {quorum.leader}"
        return f"{leads}, epoch {quorum.epoch}, ISR {' '.join(map(str, sorted(quorum.isr)))}"


@attrs.frozen
class ControlPlan(ReplayPlan[Cluster, ControlStep]):
    """The plan of a replay. A step that the model does not allow ends it, and is not attempted.

    Attributes:
        rests: the states in which the brokers may come to rest after the last step. Empty if the property is not about
            states at rest.
    """

    rests: frozenset[Cluster]

    @property
    def legend(self) -> str:
        first = self.brokers
        return (
            "what controllers hear of brokers and of /controller is held, and so are their requests\n"
            f"controller 0 is broker {first}, controller 1 is broker {first + 1}, without replicas; c1 is controller "
            "epoch 1; frames have their numbers in the recording"
        )


def plan_of(trace: Trace[Cluster], expected: Spec[Cluster] | None = None) -> ControlPlan:
    """Plan the replay of a trace.

    Parameters:
        trace: a trace that a driver can execute; see `leadline.brokers.control.schedule.schedule_of`.
        expected: see `followed_in`.

    Raises:
        NotExecutable: if a driver cannot execute a step. The message names the step and the reason.
    """
    followed, _, departs = followed_in(trace, expected)
    healed, rests = followed, frozenset[Cluster]()
    if any(item.at_rest for item in trace.spec.checks):
        healed, rests = _healed(followed)
        departs = departs or (len(followed) if len(healed) > len(followed) else None)
    steps = tuple(
        ControlStep(
            number,
            step.instance,
            step.before,
            step.after,
            _wire(number, step.instance, step.before, heals=number >= len(followed)),
            number >= len(followed),
            bool(rests) and number == len(healed) - 1,
        )
        for number, step in enumerate(healed.steps, start=1)
    )
    start = healed.states[0]
    return ControlPlan(steps, start, None, departs, healed, start.assignment.replicas, rests)


def _wire(number: int, instance: ActionInstance[Cluster], before: Cluster, *, heals: bool) -> OnTheWire:
    wire = on_the_wire(instance.action.name, before.protocol)
    if wire.unmade and not heals:
        raise NotExecutable(number, wire.unmade)
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
            raise NotExecutable(len(trace), f"healing actions lead to more than {MOST_STATES:,} states")
    if not rests:
        raise NotExecutable(len(trace), "the model does not come to rest")
    states, taken = path_to(rests[0], came)
    whole = Trace(spec, (*trace.states, *states[1:]), (*trace.instances, *taken), trace.about)
    return whole, frozenset(rests)
