"""Plan a replay: list the operations on real brokers for each step of a trace. No brokers are needed.

The driver holds back all replication traffic, and releases the frames of one step at a time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from leadline.brokers.driver.observed_state import observed_state
from leadline.brokers.driver.schedule import lags, schedule_of
from leadline.brokers.errors import NotExecutable
from leadline.brokers.plans import ReplayPlan, Step, followed_in
from leadline.brokers.ports import Node
from leadline.checker.action import ActionInstance
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace
from leadline.model.kafka.broker import Replica
from leadline.model.kafka.controller import may_be_elected
from leadline.model.kafka.crash import was_noticed
from leadline.model.kafka.mixes import NEW, MixBounds
from leadline.model.kafka.rolls import NEW_LEVEL, NEW_RELEASE, Rolling
from leadline.model.kafka.state import PREFERRED, Partition
from leadline.model.kafka.wire import FrameKind, OnTheWire, Operation, on_the_wire

_SECONDS = {Operation.START: 8.0, Operation.MOVE_CONTROLLER: 8.0, Operation.END_SESSION: 2.0, Operation.KILL: 1.0}
"""The maximum duration of a step with an operation on a busy machine, in seconds. All other steps take at most 1."""

_LEAST_LAG_SECONDS = 2.0

LEARNING = ("become_leader", "become_follower", "delete_replica")
"""The actions in which a broker learns of a leader epoch."""


@attrs.frozen
class PlannedStep(Step[Partition]):
    """A step of a plan.

    Attributes:
        wire: how brokers of the release execute the action.
        with_next: whether real brokers execute this step together with the next one, so that the state between the two
            cannot be observed.
    """

    wire: OnTheWire
    with_next: bool = False

    @property
    def remark(self) -> str:
        """The decision of the controller in this step, or an empty string if it decides nothing."""
        after = observed_state(self.after).quorum
        return "" if after == observed_state(self.before).quorum else str(after)

    @property
    def operations(self) -> Iterator[str]:
        """What is done on brokers, as text."""
        if self.wire.loses and self.loses_messages_of(self.broker):
            yield f"close the connection of broker {self.broker}'s message in flight"
        yield from (f"let through: {_named(self, kind)}" for kind in self.wire.passes)
        yield from (operation.value for operation in self.wire.does)
        if self.is_hidden:
            yield "hidden from the controller, until another broker becomes the controller"
        yield from (f"until held: {_named(self, kind)}" for kind in self.wire.leaves if is_awaited(self, kind))
        if self.with_next:
            yield "in one with the next step"

    @property
    def broker(self) -> int:
        """The broker of the step: the first of its parameters ``broker``, ``leader`` and ``follower`` that exists."""
        arguments = self.instance.arguments
        return int(arguments.get("broker", arguments.get("leader", arguments.get("follower", PREFERRED))))

    @property
    def follower(self) -> int | None:
        """The follower if the step is about a message between a follower and its leader, otherwise None."""
        arguments = self.instance.arguments
        if self.instance.action.name == "crash_after_append":
            return int(arguments["broker"])
        return arguments.get("follower")

    @property
    def is_hidden(self) -> bool:
        """Whether the step is a restart that the controller does not notice."""
        return Operation.START in self.wire.does and not was_noticed(self.before, self.broker)

    @property
    def elects(self) -> bool:
        """Whether the step elects a leader."""
        return self.after.quorum.leader is not None and self.after.quorum.epoch > self.before.quorum.epoch

    def end(self, role: str) -> int | None:
        """Return the broker that sends or receives a frame of the step, or None if it is the controller.

        Parameters:
            role: the sender or the receiver, as named in a `FrameKind`.
        """
        arguments = self.instance.arguments
        if role in arguments:
            return int(arguments[role])
        if role == "follower" and self.follower is not None:
            return self.follower
        if role == "leader" and self.follower is not None:
            return self.before.replicas[self.follower].leader
        return None

    def loses_messages_of(self, broker: int) -> bool:
        """Return whether the step loses the message that a broker has in flight."""
        if not self.wire.loses or broker != self.broker:
            return False
        return self.before.replicas[broker].in_flight != self.after.replicas[broker].in_flight


@attrs.frozen
class Plan(ReplayPlan[Partition, PlannedStep]):
    """The plan of a replay: its steps and the settings of the brokers. The order of the replicas decides which broker
    is elected.

    Attributes:
        controller: the kind of controller.
        lag_seconds: the lag time (`replica.lag.time.max.ms`) of each leader that removes a follower from the ISR, in
            seconds on an idle machine.
    """

    controller: str
    lag_seconds: Mapping[int, float]

    @property
    def fails_over(self) -> int:
        """The number of controller failovers. Each failover hides the restart of a broker, or is a step of its own."""
        return sum(map(_fails_over, self._tried))

    @property
    def _tried(self) -> list[PlannedStep]:
        return [*self.steps, *([self.refused] if self.refused is not None else [])]

    @property
    def holds_directories(self) -> bool:
        """Whether a broker reports the log directory of its replica to the controller in a separate step."""
        return any(action.name == "assign_directory" for action in self.trace.spec.actions)

    def late_learners(self, step: PlannedStep) -> list[int]:
        """Return the brokers that learn of the epoch that a step begins only after a later epoch has begun."""
        epoch = step.after.quorum.epoch
        later = (each for each in self.steps[step.number :] if each.before.quorum.epoch > epoch)
        return [
            each.broker for each in later if each.instance.action.name in LEARNING and epoch in each.instance.values[1:]
        ]

    def stages(self, *controllers: Node) -> dict[Node, int]:
        """Return how far each node is upgraded when it is first started.

        Parameters:
            controllers: the nodes that become the controller, one after the other.
        """
        *brokers, first = stages_in(self.start)
        later = [stages_in(step.after)[-1] for step in self._tried if _fails_over(step)]
        return dict(enumerate(brokers)) | dict(zip(controllers, [first, *later], strict=False))

    @property
    def legend(self) -> str:
        return (
            "all replication is held\nm0@1 is a record and its leader epoch, ┃ the high watermark; frames have their "
            "numbers in the recording"
        )


def _fails_over(step: PlannedStep) -> bool:
    return step.is_hidden or Operation.MOVE_CONTROLLER in step.wire.does


def stages_in(state: Partition) -> tuple[int, ...]:
    """Return how far each broker, and then the controller, is upgraded in a state, as indices into
    `leadline.model.kafka.mixes.STAGES`.
    """
    bounds = state.bounds
    if isinstance(state, Rolling):
        return (*state.stages, state.controller)
    if not isinstance(bounds, MixBounds):
        return (0,) * (bounds.brokers + 1)
    upgraded = NEW_LEVEL if bounds.level == NEW else NEW_RELEASE
    is_new = (*(broker in bounds.new_brokers for broker in range(bounds.brokers)), bounds.controller == NEW)
    return tuple(upgraded if new else 0 for new in is_new)


def plan_of(trace: Trace[Partition], controller: str, expected: Spec[Partition] | None = None) -> Plan:
    """Plan the replay of a trace.

    Parameters:
        trace: a trace of a Kafka spec.
        controller: the kind of controller that the release uses.
        expected: see `followed_in`.

    Raises:
        NotExecutable: if real brokers cannot execute a step. The message names the step and the reason.
    """
    followed, refused, departs = followed_in(schedule_of(trace, controller), expected)
    steps = _with_merged(
        PlannedStep(
            number, step.instance, step.before, step.after, _wire(step.instance, controller, step.before, step.after)
        )
        for number, step in enumerate(followed.steps, start=1)
    )
    for step in steps:
        _expect_no_election(step)
    last = followed.states[-1]
    tried = None
    if refused is not None:
        tried = PlannedStep(len(steps) + 1, refused, last, last, _wire(refused, controller, last, last))
    start = followed.states[0]
    return Plan(steps, start, tried, departs, followed, _assignment(steps, start), controller, _lags(steps))


def _with_merged(steps: Iterable[PlannedStep]) -> tuple[PlannedStep, ...]:
    """Mark the steps that real brokers execute together with the next step, and return all steps."""
    following = itertools.pairwise([*steps, None])
    return tuple(
        attrs.evolve(step, with_next=next_one is not None and _are_one(step, next_one))
        for step, next_one in following
        if step is not None
    )


def _are_one(step: PlannedStep, following: PlannedStep) -> bool:
    """Return whether real brokers execute two steps together."""
    if step.wire.before or following.wire.within:
        return True
    shrink = all(Operation.WAIT_FOR_LAG in each.wire.does for each in (step, following))
    return shrink and step.broker == following.broker


def _wire(instance: ActionInstance[Partition], controller: str, before: Partition, after: Partition) -> OnTheWire:
    exits = any(replica.up and not after.replicas[broker].up for broker, replica in enumerate(before.replicas))
    leader = instance.arguments.get("leader")
    proposal = None if leader is None else before.replicas[leader].proposal
    answers = proposal is not None and proposal.awaited and not proposal.sent
    rules = before.protocol if leader is None else before.rules_of(leader)
    return on_the_wire(instance.action.name, controller, rules, exits=exits, answers=answers)


# --- the order of the replicas ------------------------------------------------------------------------------


def _assignment(steps: Sequence[PlannedStep], start: Partition) -> tuple[int, ...]:
    """Return an order of the replicas that makes the controller elect the same leaders as in the trace.

    A controller elects the first replica in the assignment that is live and may be elected (KafkaController's
    OfflinePartitionLeaderElection, PartitionChangeBuilder).

    Raises:
        NotExecutable: if there is no such order. The message names an election with the wrong leader. Every order makes
            this election or an earlier one go wrong.
    """
    others = [broker for broker in range(len(start.replicas)) if broker != PREFERRED]
    worst: PlannedStep | None = None
    for order in itertools.permutations(others):
        wrong = next((step for step in steps if not _elected_first(step, (PREFERRED, *order))), None)
        if wrong is None:
            return (PREFERRED, *order)
        worst = wrong if worst is None or wrong.number > worst.number else worst
    if worst is None:
        return (PREFERRED,)
    raise NotExecutable(worst.number, "no order of the replicas makes the controllers elect these brokers one by one")


def _elected_first(step: PlannedStep, order: Sequence[int]) -> bool:
    """Return whether the broker that a step elects is the first broker in `order` that may be elected."""
    elected = step.after.quorum.leader
    chosen_by_controller = (
        Operation.ELECT_PREFERRED not in step.wire.does and Operation.ELECT_UNCLEANLY not in step.wire.does
    )
    if not step.elects or not chosen_by_controller or elected == step.before.quorum.leader:
        return True
    clean = step.before.quorum.isr | step.before.quorum.elr
    candidates = [broker for broker in order if _seems_alive(step.after, broker)]
    if elected in clean:
        candidates = [broker for broker in candidates if broker in clean]
    return not candidates or candidates[0] == elected


def _seems_alive(state: Partition, broker: int) -> bool:
    """Return whether a real controller considers a broker alive. Unlike the controller in the model, it may elect a
    broker whose failure it has not noticed.
    """
    is_unnoticed = not state.replicas[broker].up and not was_noticed(state, broker)
    return is_unnoticed or state.considers_alive(broker)


def _expect_no_election(step: PlannedStep) -> None:
    """Check a step after which the partition has no leader. A real controller elects one in the same decision.

    Raises:
        NotExecutable: if a real controller would elect a broker whose failure it has not noticed, or one that is not
            in the ISR.
    """
    before, after = step.before, step.after
    if after.quorum.leader is not None or step.with_next:
        return
    for broker, replica in enumerate(after.replicas):
        unnoticed = not before.replicas[broker].up and not was_noticed(before, broker)
        in_isr = broker in after.quorum.isr and broker != step.broker
        if before.quorum.leader is not None and in_isr and unnoticed:
            raise NotExecutable(
                step.number, f"the controller has not noticed that broker {broker} is down, and elects it"
            )
        if replica.up and may_be_elected(after, broker):
            raise NotExecutable(step.number, f"the controller elects broker {broker} at once")


# --- the time after which a follower lags -------------------------------------------------------------------


def _lags(steps: Sequence[PlannedStep]) -> dict[int, float]:
    """Return the lag time (`replica.lag.time.max.ms`) of each leader that removes a follower from the ISR, in seconds.

    The leader must not remove the follower too early. Therefore, this time exceeds the total duration of the preceding
    steps in which the follower lags.
    """
    lags: dict[int, float] = {}
    for step in steps:
        if Operation.WAIT_FOR_LAG in step.wire.does:
            leader, member = step.instance.values
            seconds = _LEAST_LAG_SECONDS + sum(_seconds(each) for each in _lagging(steps, step.number, leader, member))
            lags[leader] = max(seconds, lags.get(leader, 0.0))
    return lags


def _lagging(steps: Sequence[PlannedStep], number: int, leader: int, member: int) -> Sequence[PlannedStep]:
    """Return the steps in which a follower lags, before the leader removes it from the ISR."""
    for at in range(number - 1, 0, -1):
        before = steps[at - 1].before
        if not before.is_true_leader(leader) or not lags(before, leader, member):
            return steps[at : number - 1]
    return steps[: number - 1]


def _seconds(step: PlannedStep) -> float:
    return max([1.0, *(_SECONDS.get(operation, 1.0) for operation in step.wire.does)])


# --- the plan as text ---------------------------------------------------------------------------------------


def _named(step: PlannedStep, kind: FrameKind) -> str:
    source, target = (_end_text(step.end(role)) for role in (kind.source, kind.target))
    return f"{kind.api} {'request' if kind.request else 'response'}, {source} to {target}"


def _end_text(broker: int | None) -> str:
    return "the controller" if broker is None else f"broker {broker}"


def is_awaited(step: PlannedStep, kind: FrameKind) -> bool:
    """Return whether the sender and the receiver of a frame are running after a step, so that the frame can reach the
    proxy.
    """
    ends = [step.end(role) for role in (kind.source, kind.target)]
    replicas: list[Replica] = [step.after.replicas[broker] for broker in ends if broker is not None]
    return all(replica.up for replica in replicas)
