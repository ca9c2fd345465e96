"""Execute the steps of a plan of a consumer group on a broker, and compare both after each step."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import attrs

from leadline.brokers import zookeeper
from leadline.brokers.behind_proxy import ObservedCluster
from leadline.brokers.driver.replay import BrokerDriver, Listener, Replay
from leadline.brokers.driver.step_report import Attempt
from leadline.brokers.driver.waiting import StepFailed, until, until_alike
from leadline.brokers.errors import BrokerError
from leadline.brokers.frame import Rule
from leadline.brokers.groups.classic import ClassicConsumers
from leadline.brokers.groups.consumer import HeartbeatingConsumers
from leadline.brokers.groups.observed_state import (
    AnyGroup,
    ObservedGroup,
    commit_code,
    differences,
    observed_state,
)
from leadline.brokers.groups.plan import BROKER, GroupsPlan, GroupsStep, Operation
from leadline.brokers.groups.requests import GROUP, TOPIC, Consumers, Timeouts, differs
from leadline.brokers.pending import Pending, Refused, Unanswered
from leadline.brokers.recording import RecordingWriter
from leadline.brokers.releases import BrokerRelease
from leadline.brokers.timeout_scale import timeout_scale
from leadline.brokers.traffic import Hold
from leadline.model.group.conformance.errors import said
from leadline.model.group.consumer.state import ConsumerGroup

READY_SECONDS = 60.0
STEP_SECONDS = 15.0
"""The time limit of a step until the broker has the state of the model, in seconds on an idle machine."""

OBSERVED_AGAIN_SECONDS = 0.2
SHORT = Timeouts(session=6.0, rebalance=9.0, first_join=2.0)
"""The time-outs in a plan that waits for one, on an idle machine. Brokers accept no shorter session time-out."""

LONG_SECONDS = 240.0
"""The session and the rebalance time-out in other plans. Brokers accept up to five minutes before 2.3."""

RETENTION_SECONDS = 60.0
"""The shortest `offsets.retention.minutes`."""

_OFFSETS = "__consumer_offsets"
_RETENTION = {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "1000"}


def _timeouts(plan: GroupsPlan, scale: float) -> Timeouts:
    """Return the time-outs for a plan: short ones only if the plan waits for them, or for nothing to happen."""
    joins = plan.waits & {"time_out_join", "time_out_sync", "time_out_rebalance"}
    session = SHORT.session * scale if plan.rests or "expire_session" in plan.waits else LONG_SECONDS
    rebalance = SHORT.rebalance * scale if plan.rests or joins else LONG_SECONDS
    return Timeouts(session, rebalance, SHORT.first_join * scale)


class GroupsDriver(BrokerDriver):
    """Executes the steps of a plan on a broker behind a proxy."""

    plan: GroupsPlan

    def __init__(
        self, plan: GroupsPlan, release: BrokerRelease, folder: Path, recording: RecordingWriter | None
    ) -> None:
        scale = timeout_scale()
        kind = HeartbeatingConsumers if isinstance(plan.start, ConsumerGroup) else ClassicConsumers
        self._timeouts = _timeouts(plan, scale)
        settings = kind.settings(release, self._timeouts) | (_RETENTION if "expire_offsets" in plan.waits else {})
        super().__init__(plan, ObservedCluster(release, folder / "cluster", 1, settings, recording))
        self._limit = STEP_SECONDS * scale
        self._proxy, self._client = self.cluster.proxy, self.cluster.client
        self._consumers: Consumers = kind(self._client, release, self._timeouts, self._limit)
        self._consumers.did = self._did
        self._late: tuple[Hold, Pending[int]] | None = None

    def start(self) -> None:
        """Start the cluster, and create the topic and the topic of committed offsets.

        Raises:
            BrokerError: if a process does not start, or the broker does not become the coordinator.
        """
        self.cluster.start_processes([BROKER], [])
        try:
            self._client.create_topic(BROKER, TOPIC, [[BROKER]] * self.plan.start.bounds.partitions)
            self._consumers.prepare()
            self._wait_for_coordinator()
        except (StepFailed, Refused, Unanswered) as error:
            raise BrokerError(f"cannot start the replay: {error}") from error

    def _wait_for_coordinator(self) -> None:
        limit = READY_SECONDS * self.cluster.timeout_scale
        until(self._is_ready, limit, "the broker does not become the coordinator")

    def _is_ready(self) -> bool:
        """Find the coordinator, and ask it about the group. Both are refused until it has loaded its partition. With
        KRaft, a broker that was restarted loads it twice: as leader of its last epoch, and again in the next one.
        """
        try:
            if self._client.ask(BROKER, "FindCoordinator", {"Key": GROUP}, version=0)["ErrorCode"]:
                return False
            if self.cluster.release.kraft:
                decided = self.cluster.cluster.controller_state(_OFFSETS, 0)
                view = self._client.partition(BROKER, _OFFSETS)
                if decided is None or view is None or view.leader_epoch != decided.leader_epoch:
                    return False
            self._consumers.described(self.plan.start)
        except (Refused, Unanswered):
            return False
        return True

    def begin(self) -> list[str]:
        """Wait until the broker is in the plan's first state. Return a sentence for each remaining difference."""
        return self._awaited(self.plan.start, self._limit)[1]

    def compared(self, step: GroupsStep, not_made: str) -> tuple[ObservedGroup, list[str], str]:
        """Wait until the broker is in the state of the model, and read the responses that have waited for it."""
        limit = 1.0 if not_made else self._limit
        if step.operation is Operation.WAIT and not not_made:
            limit += self._seconds(step)
        observed, found = self._awaited(step.shown, limit)
        if not found and not not_made:
            try:
                found = self._consumers.answers(step)
            except Unanswered as missing:
                found = [str(missing)]
        self._consumers.forget(step.shown)
        return observed, found, not_made

    def _awaited(self, state: AnyGroup, limit: float) -> tuple[ObservedGroup, list[str]]:
        """Wait until the broker is in the given state of the model. Return the last observation, and its differences
        from that state.
        """
        return until_alike(partial(self._observed, state), partial(differences, observed_state(state)), limit)

    def _observed(self, state: AnyGroup) -> ObservedGroup:
        """Observe the broker, and send the heartbeats that change nothing in the given state of the model."""
        time.sleep(OBSERVED_AGAIN_SECONDS)
        try:
            group, members = self._consumers.described(state)
            committed = self._consumers.committed(len(state.offsets.committed)) if state.offsets.committed else ()
        except Refused as refused:
            return ObservedGroup(f"not known: {refused}", ())
        return ObservedGroup(group, members, self._consumers.renew(state), committed)

    def attempt(self, step: GroupsStep) -> Attempt:
        """Wait for something that the model does not allow for longer than all time-outs."""
        seconds = 2 * self._seconds(step)
        found = self._watched(step.before, seconds)
        return Attempt(bool(found), (f"waited {seconds:.0f} seconds", *found))

    def _seconds(self, step: GroupsStep) -> float:
        """Return the time-out that a step waits for, in seconds."""
        others = {"expire_offsets": RETENTION_SECONDS, "expire_session": self._timeouts.session}
        return others.get(step.instance.action.name, self._timeouts.rebalance)

    def _watched(self, state: AnyGroup, seconds: float) -> list[str]:
        """Watch the broker for some time. Return the first differences from the given state of the model."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := differences(observed_state(state), self._observed(state)):
                return found
        return []

    def end(self, made: Replay, listener: Listener) -> Replay:
        """Watch a state that nothing changes for longer than all time-outs, and describe the end of the replay."""
        last = self.plan.trace.states[-1]
        told = []
        if self.plan.rests and made.steps and made.attempt is None:
            seconds = 2 * self._timeouts.rebalance
            told = [f"for {seconds:.0f} seconds, the broker stayed in this state"]
            if found := self._watched(last, seconds):
                changed = attrs.evolve(made.steps[-1], differences=tuple(found))
                return attrs.evolve(made, steps=(*made.steps[:-1], changed))
        observed = self._observed(last)
        told += [f"the group is {observed.group}", f"its members: {observed.text}"]
        told += [f"partition {number}: committed {offset}" for number, offset in enumerate(observed.committed)]
        return attrs.evolve(made, told=tuple(told))

    # --- steps --------------------------------------------------------------------------------------------------------

    def act(self, step: GroupsStep) -> str:
        """Execute a step. Return how a response differs from the model, or an empty string."""
        actions: dict[Operation, Callable[[GroupsStep], str]] = {
            Operation.SEND: self._consumers.send,
            Operation.FAIL_OVER: self._fail_over,
            Operation.HOLD_COMMIT: self._hold_commit,
            Operation.COMMIT_ARRIVES: self._release_commit,
            Operation.COMMIT: self._commit,
            Operation.WRITE: self._write,
            Operation.READ: self._read,
        }
        if step.operation in actions:
            return actions[step.operation](step)
        self._did.append(step.operation.value)
        return ""

    def _fail_over(self, step: GroupsStep) -> str:
        """Restart the broker. With ZooKeeper, its session must have ended before."""
        differs = self._consumers.fail_over(step)
        self.cluster.cluster.kill(BROKER)
        self._proxy.note("killed", node=BROKER)
        self._proxy.cut(BROKER)
        session = None if self.cluster.release.kraft else self._proxy.session(BROKER)
        if session is not None:
            zookeeper.close_session(self.cluster.cluster.ports.real["zookeeper"], session)
        self.cluster.cluster.start_broker(BROKER)
        self._proxy.note("started", node=BROKER)
        self._wait_for_coordinator()
        self._did.append("killed the broker, and started it again")
        return differs

    def _hold_commit(self, step: GroupsStep) -> str:
        late = step.after.late
        assert late is not None
        own = self._consumers.ids[late.member_id]
        hold = self._proxy.hold(Rule("client", BROKER, "OffsetCommit", True, lambda body: body["MemberId"] == own))
        pending = self._consumers.send_commit(late)
        frame = hold.wait(timeout=self._limit)
        self._did.append(f"{frame} is held, generation or epoch {late.epoch}")
        self._late = (hold, pending)
        return ""

    def _release_commit(self, step: GroupsStep) -> str:
        assert self._late is not None
        assert step.before.late is not None
        hold, pending = self._late
        hold.end()
        return self._committed(pending, commit_code(step.before, step.before.late))

    def _commit(self, step: GroupsStep) -> str:
        sent = step.before.commit_of(step.consumer)
        assert sent is not None
        return self._committed(self._consumers.send_commit(sent), commit_code(step.before, sent))

    def _committed(self, pending: Pending[int], expected: int) -> str:
        code = pending.result(self._limit)
        self._did.append(f"the response to OffsetCommit has {said(code)}")
        return differs(code, expected)

    def _write(self, step: GroupsStep) -> str:
        partition = step.instance.arguments["partition"]
        offset = self._client.produce(BROKER, TOPIC, b"record", partition=partition)
        self._did.append(f"produced a record to partition {partition}, at offset {offset}")
        return ""

    def _read(self, step: GroupsStep) -> str:
        partition = step.instance.arguments["partition"]
        position = step.before.clients[step.consumer].positions[partition]
        records = self._client.fetch(BROKER, TOPIC, position, partition=partition).records
        self._did.append(f"fetched {len(records)} records of partition {partition} from offset {position} on")
        return "" if records else f"partition {partition} has no record at offset {position}"
