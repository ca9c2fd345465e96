"""Making the steps of a plan on real brokers, one by one, and comparing each with the model."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import attrs

from leadline.brokers import zookeeper
from leadline.brokers.client import PREFERRED, UNCLEAN, Pending, Refused, Unanswered
from leadline.brokers.driver.observer import Observer, payload
from leadline.brokers.driver.plan import Plan, PlannedStep, is_awaited
from leadline.brokers.driver.reading import Read, read_from
from leadline.brokers.driver.sight import Sight, differences, is_seen_as, sight_of, told
from leadline.brokers.driver.stage import PARTITION, TOPIC, Stage, asks_about_an_epoch, epochs_of_request, partition_of
from leadline.brokers.errors import BrokerError
from leadline.brokers.frame import Frame, Rule
from leadline.brokers.ports import Node
from leadline.brokers.traffic import Hold
from leadline.model.disk.text import HIGH_WATERMARKS
from leadline.model.kafka.messages import FetchRequest, FetchResponse
from leadline.model.kafka.wire import CONTROLLER, Deed, FrameKind
from leadline.model.quorum import NO_EPOCH

STEP_SECONDS = 15.0
"""How long a step may take until what is seen equals the model."""

SLOW_SECONDS = 60.0
"""How long a step may take in which a process starts or a session ends."""

REFUSED_SECONDS = 4.0
"""How long a step that the model does not allow is tried."""

_POLL_SECONDS = 0.02
_CONTROLLER_SECONDS = 2.0
"""How long a controller gets to react to what ZooKeeper tells it."""

_IDLE_FETCHES = 20
_PREFERRED_ELECTION = "/admin/preferred_replica_election"
_FIRST_WITH_ELECT_LEADERS = (2, 2)

T = TypeVar("T")


class NotMade(Exception):
    """A step could not be made: a frame did not come, or a process did not start."""


@attrs.frozen
class StepReport:
    """What the brokers did in a step.

    Attributes:
        step: the step of the plan.
        did: what was done and seen, a line each: frames, files, processes.
        sight: what was seen after the step.
        differences: how that differs from the model. Empty if the step was made as in the model.
        not_made: why the step could not be made, or an empty string.
        seconds: how long the step took.
    """

    step: PlannedStep
    did: tuple[str, ...]
    sight: Sight
    differences: tuple[str, ...] = ()
    not_made: str = ""
    seconds: float = 0.0

    @property
    def is_as_in_model(self) -> bool:
        """Whether the step was made, and nothing that can be seen differs from the model."""
        return not self.differences and not self.not_made


@attrs.frozen
class Attempt:
    """An attempt at a step that the model does not allow.

    Attributes:
        made: whether the brokers made the step nevertheless.
        did: what was done and seen, a line each.
    """

    made: bool
    did: tuple[str, ...]


@attrs.define
class Produced:
    """A record that was sent to a leader.

    Attributes:
        value: the value of the record in the model.
        leader: the broker that it was sent to.
        outcome: ``waiting``, ``acknowledged at offset 3``, or why it was not acknowledged.
        offset: the offset, once it is acknowledged.
    """

    value: int
    leader: int
    outcome: str = "waiting"
    offset: int | None = None


class Driver:
    """Makes the steps of a plan on a stage."""

    def __init__(self, stage: Stage, plan: Plan) -> None:
        self.stage, self.plan = stage, plan
        self.observer = Observer(stage)
        self.produced: list[Produced] = []
        self.reads: list[Read] = []
        self._sessions = set(stage.replicas)
        self._alive: dict[int, threading.Event] = {}
        self._threads = ThreadPoolExecutor(thread_name_prefix="driver")
        self._did: list[str] = []
        self._deeds: dict[Deed, Callable[[PlannedStep], None]] = {
            Deed.PRODUCE: self._produce,
            Deed.KILL: self._kill,
            Deed.CUT_LOG: self._cut_log,
            Deed.SET_CHECKPOINT: self._set_checkpoint,
            Deed.START: self._start,
            Deed.TERMINATE: self._terminate,
            Deed.WAIT_FOR_EXIT: self._wait_for_exit,
            Deed.END_SESSION: self._end_session,
            Deed.HOLD_SESSION: self._hold_session,
            Deed.RESUME_SESSION: self._resume_session,
            Deed.WAIT_FOR_LAG: self._wait_for_lag,
            Deed.ELECT_PREFERRED: self._elect_preferred,
            Deed.ELECT_UNCLEANLY: self._elect_uncleanly,
        }

    def begin(self) -> list[str]:
        """Return how the stage differs from the first state of the plan. Empty if it does not."""
        self.observer.numbers.append(self.observer.decision().epoch)
        return self._awaited_differences(sight_of(self.plan.start), STEP_SECONDS)[1]

    def close(self) -> None:
        """End what runs beside the driver."""
        for each in self._alive.values():
            each.set()
        self._threads.shutdown(wait=False, cancel_futures=True)

    # --- a step -------------------------------------------------------------------------------------------------

    def make(self, step: PlannedStep) -> StepReport:
        """Make a step, and wait until what is seen equals the model.

        Returns:
            The report. If the step could not be made, or something differs from the model, the report says so.
        """
        began, self._did = time.monotonic(), []
        limit = self._limit(step)
        not_made = ""
        try:
            self._act(step, limit)
        except (NotMade, BrokerError, Unanswered, Refused, TimeoutError, OSError) as error:
            not_made = str(error)
        if step.with_next and not not_made:
            return StepReport(step, tuple(self._did), self.observer.sight(), (), "", time.monotonic() - began)
        if step.after.quorum.epoch > step.before.quorum.epoch and not not_made:
            self._number_epoch(step, limit)
        sight, found = self._awaited_differences(sight_of(step.after), 1.0 if not_made else limit)
        self._did += _files(step, sight)
        if not found and not not_made:
            self._read(step)
        return StepReport(step, tuple(self._did), sight, tuple(found), not_made, time.monotonic() - began)

    def _read(self, step: PlannedStep) -> None:
        """Read as a consumer after a step that made records readable, or after which a broker leads."""
        if step.after.exposed == step.before.exposed and step.instance.action.name != "become_leader":
            return
        read = read_from(self.stage, step.broker if step.follower is None else step.instance.values[0], step.number)
        if read is not None:
            self.reads.append(read)
            self._did.append(str(read))

    def bring_back(self, broker: int) -> None:
        """Start a broker after the last step. It may fail: what is left is asked of the others then."""
        try:
            if broker in self._sessions:
                self._end(broker)
            self.stage.cluster.start_broker(broker)
        except (BrokerError, OSError):
            return
        self.stage.proxy.note("started", node=broker)
        self.observer.down.discard(broker)

    def await_acknowledgements(self) -> None:
        """Wait shortly for the acknowledgements that are still to come."""
        end = time.monotonic() + 1.0
        while time.monotonic() < end and any(record.outcome == "waiting" for record in self.produced):
            time.sleep(_POLL_SECONDS)

    def attempt(self, step: PlannedStep) -> Attempt:
        """Try a step that the model does not allow."""
        self._did = []
        before = self.observer.sight()
        try:
            self._act(step, REFUSED_SECONDS)
        except (NotMade, BrokerError, Unanswered, Refused, TimeoutError, OSError) as error:
            return Attempt(False, (*self._did, str(error)))
        time.sleep(1.0)
        after = self.observer.sight()
        logs = [[replica.log for replica in sight.replicas] for sight in (before, after)]
        made = step.is_hidden or bool(step.wire.passes) or before.quorum != after.quorum or logs[0] != logs[1]
        return Attempt(made, (*self._did, f"the controller: {after.quorum}"))

    def _limit(self, step: PlannedStep) -> float:
        if Deed.WAIT_FOR_LAG in step.wire.does:
            return 2.5 * self.plan.lag_seconds.get(step.broker, 0.0) + STEP_SECONDS
        slow = {Deed.START, Deed.END_SESSION, Deed.WAIT_FOR_EXIT, Deed.RESUME_SESSION}
        return SLOW_SECONDS if slow & {*step.wire.does} else STEP_SECONDS

    def _act(self, step: PlannedStep, limit: float) -> None:
        action = step.instance.action.name
        if step.loses_messages_of(step.broker) and Deed.KILL not in step.wire.does:
            self._lose_messages_of(step.broker)
        if action in ("become_leader", "become_follower"):
            self._learn(step, limit)
        elif action in ("handle_fetch", "park_fetch"):
            self._fetch(step, limit)
        else:
            for kind in step.wire.passes:
                self._let_through(self._frame(step, kind, limit))
        for deed in step.wire.does:
            self._deeds[deed](step)
        self._end_proposals(step, limit)
        for kind in step.wire.leaves:
            if is_awaited(step, kind) and action not in ("handle_fetch", "park_fetch"):
                self._await_left(step, kind, limit)

    def _end_proposals(self, step: PlannedStep, limit: float) -> None:
        """Let through what is held of proposals that leaders have given up in a step.

        A leader sends its next proposal only after the response to the last one.
        """
        for leader in self.stage.replicas:
            given_up = step.before.replicas[leader].proposal and step.after.replicas[leader].proposal is None
            if not given_up or not self._is_up(leader):
                continue
            request = self.stage.held("AlterPartition", True, leader, self.stage.controller)
            if request is not None:
                self._let_through(request)
            responses = partial(self.stage.held, "AlterPartition", False, self.stage.controller, leader)
            answer = responses()
            if request is not None:
                answer = self._until(responses, limit, f"no response to broker {leader}'s AlterPartition request came")
            if answer is not None:
                self._let_through(answer)

    def _await_left(self, step: PlannedStep, kind: FrameKind, limit: float) -> None:
        """Wait for a frame that a step leaves. A follower may ask about an epoch where it usually fetches."""
        kinds = [kind]
        if kind.api == "Fetch" and kind.request:
            kinds.append(attrs.evolve(kind, api="OffsetForLeaderEpoch"))
        found = self._first_held(step, kinds, limit)
        self._did.append(f"held: {self._told(found)}")

    # --- frames -------------------------------------------------------------------------------------------------

    def _node(self, step: PlannedStep, role: str) -> Node:
        broker = None if role == CONTROLLER else step.end(role)
        return self.stage.controller if broker is None else broker

    def _frame(self, step: PlannedStep, kind: FrameKind, limit: float) -> Frame:
        return self._first_held(step, [kind], limit)

    def _first_held(self, step: PlannedStep, kinds: Sequence[FrameKind], limit: float) -> Frame:
        def found() -> Frame | None:
            frames = (
                self.stage.held(kind.api, kind.request, self._node(step, kind.source), self._node(step, kind.target))
                for kind in kinds
            )
            return next((frame for frame in frames if frame is not None), None)

        kind = kinds[0]
        ends = " to ".join(_named(self._node(step, role)) for role in (kind.source, kind.target))
        what = f"no {kind.api} {'request' if kind.request else 'response'} came from {ends} in {limit:.0f} s"
        return self._until(found, limit, what)

    def _until(self, found: Callable[[], T | None], limit: float, what: str) -> T:
        end = time.monotonic() + limit
        while True:
            value = found()
            if value is not None and value is not False:
                return value
            if time.monotonic() > end:
                raise NotMade(what)
            time.sleep(_POLL_SECONDS)

    def _let_through(self, frame: Frame) -> None:
        self.stage.release_frame(frame)
        self._did.append(f"let through: {self._told(frame)}")

    def _told(self, frame: Frame) -> str:
        """Return a frame as text."""
        message = self.observer.message(frame) if _is_replication(frame) else None
        ends = f"{_named(frame.source)} to {_named(frame.target)}"
        kind = "request" if frame.request else "response"
        what = told(message) if message is not None else f"{frame.api} {kind}"
        return f"{what}, {ends} (frame {frame.number})"

    def _lose_messages_of(self, broker: int) -> None:
        """Close the connection of the message that a follower has in flight."""
        frame = self.observer.frame_in_flight(broker)
        if frame is not None:
            self.stage.drop(frame)
            self._did.append(f"dropped: {self._told(frame)}")

    def _fetch(self, step: PlannedStep, limit: float) -> None:
        """Let a follower's fetch request through, until the response is the one of the model.

        A request that waits in the leader for too long is answered without news. The follower then sends it again,
        which the model leaves out.
        """
        request, response = step.wire.passes[0], FrameKind("Fetch", False, "leader", "follower")
        follower, parks = step.follower, step.instance.action.name == "park_fetch"
        if follower is None:
            raise ValueError(f"{step.instance} has no follower")
        wanted = None if parks else step.after.replicas[follower].in_flight
        known = step.before.replicas[follower].high_watermark
        for _ in range(_IDLE_FETCHES):
            answer = self.stage.held("Fetch", False, self._node(step, "leader"), follower)
            if answer is None:
                self._ask_in_vain(step, limit)
                self._let_through(self._frame(step, request, limit))
                answer = self._frame(step, response, limit)
            message = self.observer.message(answer)
            if message is None:
                raise NotMade(f"broker {self._node(step, 'leader')} answers broker {follower}'s fetch with an error")
            if wanted is not None and is_seen_as(wanted, message):
                self._did.append(f"held: {self._told(answer)}")
                return
            if isinstance(message, FetchResponse) and not message.records and message.high_watermark <= known:
                self._let_through(answer)
                self._frame(step, request, limit)
                if parks:
                    return
                continue
            self._did.append(f"held: {self._told(answer)}")
            return

    def _ask_in_vain(self, step: PlannedStep, limit: float) -> None:
        """Let through a follower's request about no epoch, if it sends one before it fetches."""
        kinds = [FrameKind(api, True, "follower", "leader") for api in ("Fetch", "OffsetForLeaderEpoch")]
        frame = self._first_held(step, kinds, limit)
        if frame.api == "OffsetForLeaderEpoch" and frame.body and not asks_about_an_epoch(frame.body):
            self._let_through(frame)

    def _learn(self, step: PlannedStep, limit: float) -> None:
        """Let a broker learn of a leader epoch."""
        broker, epoch = step.instance.values
        if epoch >= len(self.observer.numbers):
            raise NotMade(f"epoch {epoch} has not begun")
        number = self.observer.numbers[epoch]
        if self.stage.release.kraft:
            self._learn_from_metadata(step, broker, number, limit)
        else:
            frame = self._until(lambda: self._request_of(broker, number), limit, f"no request of epoch {epoch} came")
            self.stage.known[broker] = number
            self._let_through(frame)
            answered = Rule(target=self.stage.controller, source=broker, api="LeaderAndIsr", request=False)
            self.stage.proxy.wait(answered, after=frame.number, timeout=limit, passed=True)
        if step.instance.action.name == "become_leader":
            self._until(lambda: self._leads(broker, number), limit, f"broker {broker} does not lead in epoch {epoch}")
        elif self._is_up(step.after.requests[epoch].leader):
            kinds = [FrameKind(api, True, "broker", "leader") for api in ("Fetch", "OffsetForLeaderEpoch")]
            leader = step.after.replicas[broker].leader
            self._until(lambda: self._asks(broker, leader, kinds), limit, f"broker {broker} does not fetch")

    def _is_up(self, broker: int | None) -> bool:
        return broker is not None and broker not in self.observer.down

    def _asks(self, broker: int, leader: int | None, kinds: Sequence[FrameKind]) -> Frame | None:
        if leader is None:
            return None
        frames = (self.stage.held(kind.api, True, broker, leader) for kind in kinds)
        return next((frame for frame in frames if frame is not None), None)

    def _request_of(self, broker: int, number: int) -> Frame | None:
        """Return the held LeaderAndIsr request of an epoch, or None. Requests of earlier epochs block it."""
        frame = self.stage.held("LeaderAndIsr", True, self.stage.controller, broker)
        if frame is None or frame.body is None:
            return None
        return frame if number in epochs_of_request(frame.body) else None

    def _learn_from_metadata(self, step: PlannedStep, broker: int, number: int, limit: float) -> None:
        if self.stage.known[broker] >= number:
            return  # the broker has read the metadata log when it started
        epochs = self.observer.epochs_at()

        def found() -> Frame | None:
            frame = self.stage.held("Fetch", False, "controller", broker)
            if frame is None or frame.body is None:
                return None
            news = {epochs.get(offset) for offset, _ in self.stage.changes_in(frame.body)}
            if number in news:
                return frame
            self.stage.drop(frame)  # the broker will fetch what comes later together with it
            return None

        frame = self._until(found, limit, f"no metadata about epoch {step.instance.values[1]} came")
        self.stage.known[broker] = number
        self._let_through(frame)

    def _leads(self, broker: int, number: int) -> bool:
        """Return whether a broker answers a consumer as the leader of an epoch."""
        wanted = {"Partition": PARTITION, "CurrentLeaderEpoch": number, "FetchOffset": 0, "PartitionMaxBytes": 1}
        body: dict[str, Any] = {"ReplicaId": -1, "MaxWaitMs": 0, "MinBytes": 0, "MaxBytes": 1}
        version = self.stage.client.version(broker, "Fetch")
        if version < 3:
            del body["MaxBytes"]
        if version < 9:
            del wanted["CurrentLeaderEpoch"]
        body["Topics"] = [{"Topic": TOPIC, "Partitions": [wanted]}]
        try:
            answer = self.stage.client.ask(broker, "Fetch", body, timeout=5)
        except Unanswered:
            return False
        return partition_of(answer).get("ErrorCode") == 0

    # --- deeds --------------------------------------------------------------------------------------------------

    def _produce(self, step: PlannedStep) -> None:
        leader, value = step.broker, step.before.next_value
        acks = -1 if step.before.bounds.acks == "all" else 1
        sent = self.stage.client.send_produce(leader, TOPIC, payload(value), acks=acks, timeout_ms=600_000)
        record = Produced(value, leader)
        self.produced.append(record)
        self._threads.submit(self._await_acknowledgement, record, sent)
        self._did.append(f"produced m{value} to broker {leader}, acks={step.before.bounds.acks}")

    def _await_acknowledgement(self, record: Produced, sent: Pending[int]) -> None:
        try:
            record.offset = sent.result(600.0)
            record.outcome = f"acknowledged at offset {record.offset}"
        except (Unanswered, Refused) as error:
            record.outcome = f"not acknowledged: {error}"

    def _wait_for_lag(self, step: PlannedStep) -> None:
        """Wait until the leader removes a follower from the ISR. Other followers fetch in the meantime, without news.

        Up to 2.0, a leader also removes a follower that has every record but does not fetch.
        """
        leader, member = step.instance.values
        others = [broker for broker in self.stage.replicas if self._has_all(step, leader, broker, member)]
        end = time.monotonic() + self._limit(step)
        while time.monotonic() < end and not self._has_shrunk(leader, member):
            for follower in others:
                self._fetch_without_news(step, leader, follower)
            time.sleep(_POLL_SECONDS)
        for follower in others:
            asks = partial(self._asks_again, leader, follower)
            self._until(asks, STEP_SECONDS, f"broker {follower} does not fetch again")
        if others:
            self._did.append(f"broker {' and '.join(map(str, others))} fetched in the meantime, without news")

    def _has_all(self, step: PlannedStep, leader: int, broker: int, member: int) -> bool:
        replica = step.before.replicas[leader]
        fetches = step.before.replicas[broker].in_flight
        return (
            broker not in (leader, member)
            and broker not in self.observer.down
            and isinstance(fetches, FetchRequest)
            and fetches.leader == leader
            and replica.remote_leos[broker] == fetches.offset == replica.log.end_offset
        )

    def _asks_again(self, leader: int, follower: int) -> bool:
        """Return whether a follower's request is held. A response is dropped: it has news by now."""
        answer = self.stage.held("Fetch", False, leader, follower)
        if answer is not None:
            self.stage.drop(answer)
        return self.stage.held("Fetch", True, follower, leader) is not None

    def _has_shrunk(self, leader: int, member: int) -> bool:
        proposed = self.stage.held("AlterPartition", True, leader, self.stage.controller)
        return proposed is not None or member not in self.observer.decision().isr

    def _fetch_without_news(self, step: PlannedStep, leader: int, follower: int) -> None:
        request = self.stage.held("Fetch", True, follower, leader)
        answer = self.stage.held("Fetch", False, leader, follower)
        message = self.observer.message(answer)
        known = step.before.replicas[follower].high_watermark
        if answer is not None and isinstance(message, FetchResponse) and message.high_watermark == known:
            self.stage.release_frame(answer)
        elif answer is None and request is not None:
            self.stage.release_frame(request)

    def _kill(self, step: PlannedStep) -> None:
        broker = step.broker
        if self.stage.release.kraft:
            self._keep_session(broker)
        self.stage.cluster.kill(broker)
        self.stage.proxy.note("killed", node=broker)
        self.stage.lose_messages_of(broker)
        self.observer.down.add(broker)
        self.stage.known[broker] = NO_EPOCH
        self._did.append(f"killed broker {broker}")

    def _cut_log(self, step: PlannedStep) -> None:
        broker, offset = step.instance.values
        self.stage.cluster.cut_log(broker, TOPIC, PARTITION, offset)
        self.stage.proxy.note("log_cut", node=broker, topic=TOPIC, partition=PARTITION, to_offset=offset)
        self._did.append(f"cut the log of broker {broker} to offset {offset}")

    def _set_checkpoint(self, step: PlannedStep) -> None:
        """Set the checkpoint of a killed broker to the high watermark of the model, which may be an earlier one."""
        broker, wanted = step.broker, step.after.replicas[step.broker].high_watermark
        found = self.observer.high_watermark(broker)
        if found == wanted:
            return
        path = self.stage.cluster.data_directory(broker) / HIGH_WATERMARKS
        path.write_text(f"0\n1\n{TOPIC} {PARTITION} {wanted}\n", encoding="ascii")
        self.stage.proxy.note("checkpoint_set", node=broker, topic=TOPIC, partition=PARTITION, high_watermark=wanted)
        self._did.append(f"set the high watermark checkpoint of broker {broker} from {found} to {wanted}")

    def _start(self, step: PlannedStep) -> None:
        broker = step.broker
        unseen = self.stage.hide_from_controller() if step.is_hidden else None
        if broker in self._sessions:
            self._end(broker)
        if self.stage.release.kraft:
            self.stage.catching_up[broker] = self.stage.cluster.controller_metadata().end
        self.stage.cluster.start_broker(broker)
        self.stage.proxy.note("started", node=broker)
        self._sessions.add(broker)
        self.observer.down.discard(broker)
        if self.stage.release.kraft:
            del self.stage.catching_up[broker]
            self.stage.known[broker] = self.observer.numbers[-1]
        self._did.append(f"started broker {broker}")
        if unseen is not None:
            self._fail_over(unseen)

    def _fail_over(self, unseen: Hold) -> None:
        """Let ZooKeeper tell the controller that a broker has come and gone, and then kill the controller.

        Controllers of 2.2 and later would miss a restart too if they failed over before they compare broker epochs.
        """
        before = self.observer.decision()
        unseen.end()
        time.sleep(_CONTROLLER_SECONDS)
        if self.observer.decision() != before:
            raise NotMade(f"the controller has noticed the restart: {self.observer.quorum()}")
        self._did.append(f"the controller has not noticed; broker {self.stage.fail_over()} is the controller now")

    def _terminate(self, step: PlannedStep) -> None:
        pid = self.stage.cluster.pid(step.broker)
        if pid is None:
            raise NotMade(f"broker {step.broker} is not running")
        os.kill(pid, signal.SIGTERM)
        self.stage.proxy.note("terminated", node=step.broker)
        self._did.append(f"asked broker {step.broker} to shut down")

    def _wait_for_exit(self, step: PlannedStep) -> None:
        broker = step.broker
        self._until(
            lambda: self.stage.cluster.pid(broker) is None or None, SLOW_SECONDS, f"broker {broker} does not end"
        )
        self.stage.lose_messages_of(broker)
        self._sessions.discard(broker)
        self.observer.down.add(broker)
        self._did.append(f"broker {broker} has ended")

    def _end_session(self, step: PlannedStep) -> None:
        self._end(step.broker)

    def _end(self, broker: int) -> None:
        """End the session of a broker now, as if it had timed out.

        ZooKeeper closes a session for whoever knows its password. A KRaft controller fences a broker whose heartbeat
        asks for it, in the same way as one whose session has timed out (ReplicationControlManager.handleBrokerFenced).
        """
        self._sessions.discard(broker)
        if self.stage.release.kraft:
            body, version = self._last_heartbeat(broker)
            self._end_keeping(broker)
            self.stage.client.ask("controller", "BrokerHeartbeat", {**body, "WantFence": True}, version=version)
            self._did.append(f"ended the session of broker {broker} at the controller, which fences it")
            return
        session = self.stage.proxy.session(broker)
        if session is not None:
            zookeeper.close_session(self.stage.cluster.ports.real["zookeeper"], session)
        self.stage.proxy.note("session_closed", node=broker)
        self._did.append(f"closed the ZooKeeper session of broker {broker}")

    def _hold_session(self, step: PlannedStep) -> None:
        self.stage.hold_session(step.broker)
        self._did.append(f"held: what broker {step.broker} sends to renew its session")

    def _resume_session(self, step: PlannedStep) -> None:
        self.stage.resume_session(step.broker)
        self._sessions.add(step.broker)
        self._did.append(f"let through: what broker {step.broker} sends to renew its session")

    def _elect_preferred(self, step: PlannedStep) -> None:
        self._did.append("asked for the election of the preferred leader")
        if not self.stage.release.kraft and self.stage.release.version < _FIRST_WITH_ELECT_LEADERS:
            data = b'{"version":1,"partitions":[{"topic":"%s","partition":%d}]}' % (TOPIC.encode(), PARTITION)
            zookeeper.create(self.stage.cluster.ports.real["zookeeper"], _PREFERRED_ELECTION, data)
        else:
            self._threads.submit(self._elect, PREFERRED)

    def _elect_uncleanly(self, step: PlannedStep) -> None:
        self._did.append("asked for an unclean election")
        self._threads.submit(self._elect, UNCLEAN)

    def _elect(self, kind: int) -> None:
        """Ask for an election. The answer may have to wait for a broker whose request is held."""
        asked = self.stage.controller
        running = (each for each in self.stage.replicas if each not in self.observer.down)
        with suppress(Unanswered, Refused):  # an election that does not happen is seen at the controller
            self.stage.client.elect(asked if isinstance(asked, int) else next(running), TOPIC, kind)

    # --- sessions of killed brokers in KRaft --------------------------------------------------------------------

    def _keep_session(self, broker: int) -> None:
        """Send the heartbeats of a broker that is killed now, until the controller shall notice."""
        body, version = self._last_heartbeat(broker)
        self._alive[broker] = threading.Event()
        self._threads.submit(self._send_heartbeats, body, version, self._alive[broker])

    def _last_heartbeat(self, broker: int) -> tuple[dict[str, Any], int]:
        """Return the body and the version of the last heartbeat of a broker."""
        sent = [
            frame
            for frame in self.stage.proxy.frames
            if frame.api == "BrokerHeartbeat" and frame.request and frame.source == broker and frame.body
        ]
        if not sent or sent[-1].body is None:
            raise NotMade(f"broker {broker} has sent no heartbeat")
        return {**sent[-1].body, "WantFence": False, "WantShutDown": False}, sent[-1].version

    def _send_heartbeats(self, body: dict[str, Any], version: int, ended: threading.Event) -> None:
        while not ended.is_set():
            with suppress(Unanswered, Refused):
                self.stage.client.ask("controller", "BrokerHeartbeat", body, version=version, timeout=2)
            ended.wait(0.3)

    def _end_keeping(self, broker: int) -> None:
        ended = self._alive.pop(broker, None)
        if ended is not None:
            ended.set()

    # --- comparing ----------------------------------------------------------------------------------------------

    def _number_epoch(self, step: PlannedStep, limit: float) -> None:
        """Wait for the decision that begins the epoch of a step, and note the number that the brokers give it."""
        last = self.observer.numbers[-1]
        end = time.monotonic() + limit
        while time.monotonic() < end:
            decision = self.observer.decision()
            if decision.leader is not None and decision.epoch > last:
                self.observer.numbers.append(decision.epoch)
                self._did.append(f"the controller: {self.observer.quorum()}")
                return
            time.sleep(_POLL_SECONDS)

    def _awaited_differences(self, model: Sight, limit: float) -> tuple[Sight, list[str]]:
        """Wait until nothing that can be seen differs from the model.

        Returns:
            What is seen, and the differences that are left after `limit` seconds.
        """
        end = time.monotonic() + limit
        while True:
            real = self.observer.sight()
            found = differences(model, real)
            if not found or time.monotonic() > end:
                return real, found
            time.sleep(_POLL_SECONDS)


def _is_replication(frame: Frame) -> bool:
    return (
        frame.api in ("Fetch", "OffsetForLeaderEpoch")
        and isinstance(frame.source, int)
        and (isinstance(frame.target, int))
    )


def _named(node: object) -> str:
    return f"broker {node}" if isinstance(node, int) else "the controller" if node == "controller" else str(node)


def _files(step: PlannedStep, sight: Sight) -> list[str]:
    """Return the replicas that a step changed in the model, as they are seen on disk."""
    before = sight_of(step.before)
    changed = [
        broker
        for broker, (old, new) in enumerate(zip(before.replicas, sight_of(step.after).replicas, strict=True))
        if (old.log, old.high_watermark) != (new.log, new.high_watermark)
    ]
    return [f"on the disk of broker {broker}: {sight.replicas[broker]}" for broker in changed]
