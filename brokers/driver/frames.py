"""Wait for the held frames of a step, and release them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

import attrs

from leadline.brokers.driver.observed_state import is_seen_as, told
from leadline.brokers.driver.observer import Observer
from leadline.brokers.driver.plan import LEARNING, PlannedStep, is_awaited
from leadline.brokers.driver.stage import TOPIC, Stage, epochs_of_request
from leadline.brokers.driver.waiting import StepFailed, until
from leadline.brokers.frame import Frame, Rule
from leadline.brokers.pending import Refused, Unanswered
from leadline.brokers.ports import Node
from leadline.model.kafka.broker import BEHIND
from leadline.model.kafka.messages import FetchResponse
from leadline.model.kafka.wire import CONTROLLER, FrameKind

_FETCHES = ("handle_fetch", "park_fetch")
_IDLE_FETCHES = 20


class Frames:
    """Releases the held frames that belong to the steps of a plan.

    Parameters:
        stage: the stage that holds the frames.
        did: a list to which a line is added for each frame.
    """

    def __init__(self, stage: Stage, observer: Observer, did: list[str]) -> None:
        self.stage, self.observer, self.did = stage, observer, did
        self._read_up_to: dict[int, int] = {}  # for each broker, the offset of the last change that was let through

    def let_listed_through(self, step: PlannedStep, limit: float) -> None:
        """Wait for the frames that a step lets through, and release them."""
        action = step.instance.action.name
        if action in LEARNING:
            self._learn(step, limit)
        elif action in _FETCHES:
            self._fetch(step, limit)
        elif action == "assign_directory":
            self._assign_directory(step, limit)
        elif self._reads_to_the_end(step):
            self._read_isr(step.broker, limit)
        else:
            for kind in step.wire.passes:
                self.let_through(frame := self._frame(step, kind, limit))
                while action == "apply_level" and not self.stage.changes_settings(frame.body or {}):
                    self.let_through(frame := self._frame(step, kind, limit))  # before it, the ISR has changed
                if action == "apply_level":
                    self._await_applied(step.broker, frame, limit)
            if action == "crash_after_append":  # the follower's next request shows that it has appended the records
                self._first_held(step, [FrameKind("Fetch", True, "follower", "leader")], limit)

    def _await_applied(self, broker: int, frame: Frame, limit: float) -> None:
        """Wait for a heartbeat that says that a broker has applied a part of the metadata log, settings included."""
        last = self.stage.last_offset(frame.body or {})
        applied = Rule(
            broker, "controller", "BrokerHeartbeat", True, lambda body: body["CurrentMetadataOffset"] >= last
        )
        self.stage.proxy.wait(applied, after=frame.number, timeout=limit)

    def _reads_to_the_end(self, step: PlannedStep) -> bool:
        """Return whether a leader reads the metadata log up to the last change of the partition."""
        action = step.instance.action.name
        is_behind = action == "apply_record" and step.before.replicas[step.broker].metadata == BEHIND
        return is_behind or (action == "hear_isr" and step.wire.passes[0].api == "Fetch")

    def await_left(self, step: PlannedStep, limit: float) -> None:
        """Wait for the frames that a step leaves in flight. Instead of a fetch request, a follower may send a request
        for the end offset of an epoch.
        """
        if step.instance.action.name in _FETCHES:
            return  # the step has waited for the response
        for kind in step.wire.leaves:
            if is_awaited(step, kind):
                asks = kind.api == "Fetch" and kind.request
                kinds = [kind, *([attrs.evolve(kind, api="OffsetForLeaderEpoch")] if asks else [])]
                self.did.append(f"held: {self._told(self._first_held(step, kinds, limit))}")

    def end_proposals(self, step: PlannedStep, limit: float) -> None:
        """Release the held frames of each proposal that a leader abandoned in a step.

        A leader sends its next proposal only after it has received the response to the previous proposal.
        """
        for leader in self.stage.replicas:
            given_up = step.before.replicas[leader].proposal and step.after.replicas[leader].proposal is None
            if not given_up or not self._is_up(leader):
                continue
            request = self.stage.held("AlterPartition", True, leader, self.stage.controller)
            if request is not None:
                self.let_through(request)
            responses = partial(self.stage.held, "AlterPartition", False, self.stage.controller, leader)
            answer = responses()
            if request is not None:
                answer = until(responses, limit, f"no response to broker {leader}'s AlterPartition request came")
            if answer is not None:
                self.let_through(answer)

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
        return until(found, limit, what)

    def let_through(self, frame: Frame) -> None:
        if self._is_metadata(frame) and isinstance(frame.target, int):
            changes = self.stage.changes_in(frame.body or {})
            read = (offset for offset, _ in changes)
            self._read_up_to[frame.target] = max(read, default=self._read_up_to.get(frame.target, -1))
        self.stage.release_frame(frame)
        self.did.append(f"let through: {self._told(frame)}")

    def _is_metadata(self, frame: Frame) -> bool:
        """Return whether a frame contains a part of KRaft's metadata log."""
        return self.stage.release.kraft and frame.api == "Fetch" and frame.source == self.stage.controller

    def _told(self, frame: Frame) -> str:
        """Return a description of a frame."""
        message = self.observer.message(frame) if _is_replication(frame) else None
        ends = f"{_named(frame.source)} to {_named(frame.target)}"
        kind = "request" if frame.request else "response"
        what = told(message) if message is not None else f"{frame.api} {kind}"
        return f"{what}, {ends} (frame {frame.number})"

    def lose_messages_of(self, broker: int) -> None:
        """Drop the message that a follower has in flight, and close its connection."""
        frame = self.observer.frame_in_flight(broker)
        if frame is not None:
            self.stage.drop(frame)
            self.did.append(f"dropped: {self._told(frame)}")

    def _fetch(self, step: PlannedStep, limit: float) -> None:
        """Release a follower's fetch requests until the leader's response matches the response in the model.

        If a request has waited too long, the leader sends a response without new data. The follower then repeats the
        request. The model does not contain such a repetition.
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
                self.let_through(self._frame(step, request, limit))
                answer = self._frame(step, response, limit)
            message = self.observer.message(answer)
            if message is None:
                raise StepFailed(f"broker {self._node(step, 'leader')} answers broker {follower}'s fetch with an error")
            if wanted is not None and is_seen_as(wanted, message):
                self.did.append(f"held: {self._told(answer)}")
                return
            if isinstance(message, FetchResponse) and not message.records and message.high_watermark <= known:
                self.let_through(answer)
                self._frame(step, request, limit)
                if parks:
                    return
                continue
            self.did.append(f"held: {self._told(answer)}")
            return

    def _ask_in_vain(self, step: PlannedStep, limit: float) -> None:
        """Release a follower's request for the end offset of an epoch, if the response cannot change the follower's
        log.
        """
        kinds = [FrameKind(api, True, "follower", "leader") for api in ("Fetch", "OffsetForLeaderEpoch")]
        frame = self._first_held(step, kinds, limit)
        if frame.api == "OffsetForLeaderEpoch" and frame.body and self.stage.asks_in_vain(frame):
            self.let_through(frame)

    def _learn(self, step: PlannedStep, limit: float) -> None:
        """Release the frames from which a broker learns of a leader epoch."""
        broker, epoch = step.instance.values
        if epoch >= len(self.observer.numbers):
            raise StepFailed(f"epoch {epoch} has not begun")
        number = self.observer.numbers[epoch]
        if self.stage.release.kraft:
            self._learn_from_metadata(step, broker, number, limit)
        else:
            frame = until(lambda: self._request_of(broker, number), limit, f"no request of epoch {epoch} came")
            self.stage.known[broker] = number
            self.let_through(frame)
            while frame.source != self.stage.controller and (again := self._request_of(broker, number)):
                # a broker that has heard of the next controller refuses the request of a former one
                frame = again
                self.let_through(frame)
            if frame.source == self.stage.controller:  # a former controller hears no answer
                answered = Rule(target=frame.source, source=broker, api="LeaderAndIsr", request=False)
                self.stage.proxy.wait(answered, after=frame.number, timeout=limit, passed=True)
        if step.instance.action.name == "delete_replica":
            return
        if step.instance.action.name == "become_leader":
            until(lambda: self._leads(broker, number), limit, f"broker {broker} does not lead in epoch {epoch}")
        elif self._is_up(step.after.requests[epoch].leader):
            kinds = [FrameKind(api, True, "broker", "leader") for api in ("Fetch", "OffsetForLeaderEpoch")]
            leader = step.after.replicas[broker].leader
            until(lambda: self._asks(broker, leader, kinds), limit, f"broker {broker} does not fetch")

    def _is_up(self, broker: int | None) -> bool:
        return broker is not None and broker not in self.observer.down

    def _asks(self, broker: int, leader: int | None, kinds: Sequence[FrameKind]) -> Frame | None:
        if leader is None:
            return None
        frames = (self.stage.held(kind.api, True, broker, leader) for kind in kinds)
        return next((frame for frame in frames if frame is not None), None)

    def _request_of(self, broker: int, number: int) -> Frame | None:
        """Return the held LeaderAndIsr request that announces an epoch. Return None if there is no such request, or if
        a request with an earlier epoch is held before it.
        """
        frame = self.stage.held("LeaderAndIsr", True, self.stage.controller, broker)
        if frame is None or frame.body is None:
            return None
        return frame if number in epochs_of_request(frame.body) else None

    def _learn_from_metadata(self, step: PlannedStep, broker: int, number: int, limit: float) -> None:
        if self.stage.known[broker] >= number:
            return  # the broker has read the metadata log when it started
        frame = self.await_metadata(broker, step.instance.values[1], limit)
        self.stage.known[broker] = number
        self.let_through(frame)

    def await_metadata(self, broker: int, epoch: int, limit: float) -> Frame:
        """Wait until a part of KRaft's metadata log that announces an epoch is held on its way to a broker."""
        epochs, number = self.observer.epochs_at(), self.observer.numbers[epoch]

        def found() -> Frame | None:
            frame = self.stage.held("Fetch", False, "controller", broker)
            if frame is None or frame.body is None:
                return None
            news = {epochs.get(offset) for offset, _ in self.stage.changes_in(frame.body)}
            if number in news:
                return frame
            self.stage.drop(frame)  # the broker will fetch what comes later together with it
            return None

        return until(found, limit, f"no metadata about epoch {epoch} came")

    def _read_isr(self, leader: int, limit: float) -> None:
        """Release parts of KRaft's metadata log until a leader has read the last change of the partition."""
        last = max(self.observer.epochs_at())
        while self._read_up_to.get(leader, -1) < last:
            what = f"the controller's last change of the ISR did not reach broker {leader} in {limit:.0f} s"
            held = partial(self.stage.held, "Fetch", False, self.stage.controller, leader)
            self.let_through(until(held, limit, what))

    def _assign_directory(self, step: PlannedStep, limit: float) -> None:
        """Release a broker's AssignReplicasToDirs requests until the controller accepts one.

        A broker that is starting may send its first request before it knows its new broker epoch.
        """
        broker, end = step.broker, time.monotonic() + limit
        while time.monotonic() < end:
            frame = self._frame(step, step.wire.passes[0], limit)
            self.let_through(frame)
            response = Rule(self.stage.controller, broker, "AssignReplicasToDirs", False)
            answer = self.stage.proxy.wait(response, after=frame.number, timeout=limit, passed=True)
            if answer.body is not None and not answer.body["ErrorCode"]:
                return
        raise StepFailed(f"the controller does not accept the directory of broker {broker}")

    def _leads(self, broker: int, number: int) -> bool:
        """Return whether a broker responds to a consumer as the leader of an epoch."""
        try:
            return not self.stage.client.fetch(
                broker, TOPIC, 0, partition=self.stage.partition, max_wait_ms=0, epoch=number
            ).error
        except (Refused, Unanswered):
            return False


def _is_replication(frame: Frame) -> bool:
    return (
        frame.api in ("Fetch", "OffsetForLeaderEpoch")
        and isinstance(frame.source, int)
        and (isinstance(frame.target, int))
    )


def _named(node: object) -> str:
    return f"broker {node}" if isinstance(node, int) else "the controller" if node == "controller" else str(node)
