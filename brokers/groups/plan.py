"""Plan the replay of a trace of a consumer group on a broker. No broker is needed for planning.

A broker ends a join phase by itself, as soon as all members have joined. Therefore, the broker is compared with the
model's state after that step. A trace can be replayed only if its other steps have the same results when it comes
first. Only the first join phase of an empty group takes a while (`group.initial.rebalance.delay.ms`, KIP-134).
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterator

import attrs

from leadline.brokers.errors import NotExecutable
from leadline.brokers.groups.observed_state import AnyGroup, observed_state
from leadline.brokers.plans import ReplayPlan, Step, followed_in
from leadline.checker.action import Step as TraceStep
from leadline.checker.properties import Property
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace
from leadline.model.group.classic.state import EMPTY, PREPARING, Classic
from leadline.model.group.consumer.coordinator import refuses
from leadline.model.group.consumer.state import ConsumerGroup

BROKER = 0


class Operation(enum.Enum):
    """The operation that executes a step."""

    SEND = "send the request of the consumer, and read the response if the coordinator answers it"
    OWN = "nothing is sent"
    ITSELF = "the coordinator does it by itself"
    WAIT = "wait until the coordinator does it"
    FAIL_OVER = "kill the broker, and start it again"
    WITH_NEXT = "the next heartbeat subscribes to another topic, which does not exist"
    HOLD_COMMIT = "send an offset commit, and hold it"
    COMMIT_ARRIVES = "let the offset commit through, and read the response"
    COMMIT = "send an offset commit, and read the response"
    WRITE = "produce a record"
    READ = "fetch the record"


OPERATIONS = {
    **dict.fromkeys(("send_join", "send_sync", "send_heartbeat", "leave"), Operation.SEND),
    **dict.fromkeys(("restart", "resume", "crash", "pause", "mute", "rejoin"), Operation.OWN),
    **dict.fromkeys(("begin_reconciliation", "end_reconciliation"), Operation.OWN),
    **dict.fromkeys(("expire_session", "time_out_join", "time_out_sync", "time_out_rebalance"), Operation.WAIT),
    "expire_offsets": Operation.WAIT,
    "end_join_phase": Operation.ITSELF,
    "change_topics": Operation.WITH_NEXT,
    "fail_over": Operation.FAIL_OVER,
    "send_commit": Operation.HOLD_COMMIT,
    "commit_arrives": Operation.COMMIT_ARRIVES,
    "commit": Operation.COMMIT,
    "write_record": Operation.WRITE,
    "read_record": Operation.READ,
}

UNMADE = {
    "rebalance_classic": "leadline's consumers of one group have one protocol",
    "lose_commit": "the former coordinator resigns as soon as it begins to follow, and no frame lies between",
}


@attrs.frozen
class GroupsStep(Step[AnyGroup]):
    """A step of a plan.

    Attributes:
        operation: the operation that executes the step.
        shown: the state of the model that the broker is compared with: `after`, once the coordinator has ended the join
            phase, or `before` if the step is made with the next one.
        with_last: whether the step before is made with this one.
    """

    operation: Operation
    shown: AnyGroup
    with_last: bool = False

    @property
    def operations(self) -> Iterator[str]:
        """What is done, as text."""
        yield self.operation.value

    @property
    def remark(self) -> str:
        """The new state of the group, or an empty string if it does not change."""
        if not isinstance(self.after, Classic) or not isinstance(self.before, Classic):
            return ""
        state = self.after.group.state
        return "" if state == self.before.group.state else f"the group is {state}"

    @property
    def consumer(self) -> int:
        """The consumer of the step."""
        return int(self.instance.arguments["client"])


@attrs.frozen
class GroupsPlan(ReplayPlan[AnyGroup, GroupsStep]):
    """The plan of a replay.

    Attributes:
        rests: whether nothing changes the last state by itself. Then, the broker must stay in it for longer than all
            time-outs.
    """

    rests: bool = False

    @property
    def waits(self) -> frozenset[str]:
        """The names of the actions that the driver waits for. With any, and at rest, time-outs are short."""
        tried = (*self.steps, *([self.refused] if self.refused else []))
        return frozenset(step.instance.action.name for step in tried if step.operation is Operation.WAIT)

    @property
    def legend(self) -> str:
        return (
            "the driver sends the requests of the consumers, and holds delayed commits\nm0 is the member with id 0 of "
            "the model, - a member that the model does not have; frames have their numbers in the recording"
        )


def plan_of(trace: Trace[AnyGroup], expected: Spec[AnyGroup] | None = None) -> GroupsPlan:
    """Plan the replay of a trace.

    One step may be added: a commit that is still in flight arrives, so that the coordinator answers what properties ask
    of it. And if the trace is about states at rest, but the spec that executes it has another step to make, it is made.

    Parameters:
        expected: see `followed_in`.

    Raises:
        NotExecutable: if a broker cannot execute a step. The message names the step and the reason.
    """
    followed, refused, departs = followed_in(trace, expected)
    bounds = followed.states[0].bounds
    if getattr(bounds, "transactional", False):
        raise NotExecutable(1, "leadline has no producer that commits the offsets of a consumer group")
    if getattr(bounds, "any_target", False):
        raise NotExecutable(1, "brokers have no assignor that assigns anything")
    if getattr(bounds, "classic_members", 0):
        raise NotExecutable(1, UNMADE["rebalance_classic"])
    if expected is not None:
        departs = _first_seen(trace, followed)
    following = None if refused is not None else _next_by_itself(followed, trace.about, arrives=expected is None)
    if following is not None:
        followed, departs = following, departs or len(following) - 1
    steps = tuple(_planned(followed))
    last = followed.states[-1]
    tried = None
    if refused is not None and _operation(len(steps) + 1, refused.action.name) is Operation.WAIT:
        tried = GroupsStep(len(steps) + 1, refused, last, last, Operation.WAIT, last)
    rests = refused is None and followed.spec.is_at_rest(last)
    return GroupsPlan(steps, followed.states[0], tried, departs, followed, (BROKER,), rests)


def _first_seen(trace: Trace[AnyGroup], followed: Trace[AnyGroup]) -> int | None:
    """Return the number of the first step of a trace that a release does not make, or whose result can be told from
    that of the trace. None if there is none.
    """
    pairs = itertools.zip_longest(trace.states, followed.states)
    seen = (n for n, (one, other) in enumerate(pairs) if other is None or observed_state(one) != observed_state(other))
    return next(seen, None)


def _next_by_itself(trace: Trace[AnyGroup], about: Property | None, arrives: bool) -> Trace[AnyGroup] | None:
    """Return a trace with one more step: a commit in flight arrives, if that is wanted, or the coordinator or a
    consumer goes on, although nothing should happen in the group any more. None if there is no such step.
    """
    last, spec = trace.states[-1], trace.spec
    going_on = [each for each in spec.instances if each.action.name == "commit_arrives"] if arrives else []
    if any(item.at_rest for item in spec.checks) and (about is None or about.at_rest):
        going_on += spec.healing
    for each in going_on:
        for instance, after in spec.steps(each, last):
            if after != last:
                return Trace(spec, [*trace.states, after], [*trace.instances, instance])
    return None


def settled(spec: Spec[AnyGroup], state: AnyGroup) -> AnyGroup:
    """Return the state once the coordinator has ended a join phase in which it waits for nobody."""
    ends = (each for each in spec.instances if each.action.name == "end_join_phase")
    return next((after for each in ends for after in spec.take(each, state)), state)


def _planned(trace: Trace[AnyGroup]) -> Iterator[GroupsStep]:
    with_last = False
    first = False  # whether the group is in the join phase that begins when it is empty
    for number, (step, following) in enumerate(itertools.pairwise([*trace.steps, None]), start=1):
        assert step is not None
        name, operation = step.instance.action.name, _operation(number, step.instance.action.name)
        shown = step.after
        if isinstance(step.before, Classic) and isinstance(step.after, Classic):
            was, now = step.before.group.state, step.after.group.state
            first = now == PREPARING and (first or was == EMPTY)
            if first and operation is Operation.WAIT:
                raise NotExecutable(number, "the first join phase ends after a delay, and this takes longer")
            if not first:
                shown = settled(trace.spec, step.after)
                early = trace.spec.take(step.instance, settled(trace.spec, step.before))
                if name != "end_join_phase" and shown not in [settled(trace.spec, each) for each in early]:
                    raise NotExecutable(
                        number, "the coordinator ends the join phase as soon as all members have joined"
                    )
        if operation is Operation.WITH_NEXT:
            shown = step.before
            if following is None or not _is_heartbeat_of_member(following):
                raise NotExecutable(number, "the subscription of a member changes with its next heartbeat")
        yield GroupsStep(number, step.instance, step.before, step.after, operation, shown, with_last)
        with_last = operation is Operation.WITH_NEXT


def _is_heartbeat_of_member(step: TraceStep[AnyGroup]) -> bool:
    """Return whether the next step is a heartbeat of a member, and accepted."""
    if step.instance.action.name not in ("send_heartbeat", "fail_over") or not isinstance(step.before, ConsumerGroup):
        return False
    consumer = step.instance.arguments["client"]
    return step.before.has_joined(consumer) and not refuses(step.before, consumer)


def _operation(number: int, name: str) -> Operation:
    if name not in OPERATIONS:
        raise NotExecutable(number, UNMADE[name])
    return OPERATIONS[name]
