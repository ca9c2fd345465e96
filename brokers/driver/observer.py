"""Observe disks, the controller and held frames, and convert them to values of the model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from leadline.brokers import zookeeper
from leadline.brokers.driver.observed_state import (
    UNKNOWN_EPOCH,
    ObservedState,
    SeenQuorum,
    SeenRecord,
    SeenReplica,
    seen_assignment,
)
from leadline.brokers.driver.stage import STATE_PATH, TOPIC, Stage, partition_of
from leadline.brokers.errors import BrokerError
from leadline.brokers.frame import Frame
from leadline.brokers.messages.batches import Batch, read_batches
from leadline.model.disk.files import LocalFiles, Unreadable
from leadline.model.disk.text import HIGH_WATERMARKS, offsets
from leadline.model.disk.wire import Malformed
from leadline.model.kafka.assignment import Assignment
from leadline.model.kafka.messages import (
    Diverging,
    EpochRequest,
    EpochResponse,
    FetchRequest,
    FetchResponse,
    Message,
    OffsetOutOfRange,
)
from leadline.model.log import Record

OFFSET_OUT_OF_RANGE = 1
NO_OFFSET = -1

_FIRST_TO_LOWER = (2, 4)
"""The first release in which a truncation lowers the high watermark (`Log.updateLogEndOffset`). Before, the high
watermark of a follower is above the end of its log until it handles its next fetch response (`Replica.scala`).
"""


@attrs.frozen
class Decision:
    """The last decision of the controller: the leader, the leader epoch as numbered by brokers, the ISR, the ELR, and,
    in KRaft, the replicas in ascending order.
    """

    leader: int | None
    epoch: int
    isr: frozenset[int]
    elr: frozenset[int] = frozenset()
    assignment: Assignment | None = None


class Observer:
    """Observes the brokers during a replay.

    Leader epochs have different numbers on the brokers and in the model, because the model does not number epochs
    without a leader.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.numbers: list[int] = []
        """For each epoch of the model that has begun, the number that brokers use for it."""
        self.down: set[int] = set()
        """The brokers that were killed or have ended."""

    # --- the controller -----------------------------------------------------------------------------------------

    def decision(self) -> Decision:
        """Return the last decision of the controller.

        Raises:
            BrokerError: if the decision cannot be read.
        """
        if self._stage.release.kraft:
            state = self._stage.cluster.controller_state(TOPIC, self._stage.partition)
            if state is None:
                return Decision(None, NO_OFFSET, frozenset())
            replicas = seen_assignment(state.replicas, state.adding, state.removing)
            return Decision(state.leader, state.leader_epoch, state.isr, state.elr, replicas)
        try:
            told = zookeeper.read_json(self._stage.cluster.ports.real["zookeeper"], STATE_PATH)
        except OSError as error:
            raise BrokerError(f"ZooKeeper does not answer: {error}") from error
        told = told or {"leader": -1, "leader_epoch": NO_OFFSET, "isr": []}
        return Decision(told["leader"] if told["leader"] >= 0 else None, told["leader_epoch"], frozenset(told["isr"]))

    def is_whole(self) -> bool:
        """Return whether all replicas are in the ISR, and no reassignment is in progress."""
        decision = self.decision()
        if decision.assignment is None:
            return decision.isr == frozenset(self._stage.replicas)
        return decision.isr == frozenset(decision.assignment.replicas) and not decision.assignment.in_progress

    def epochs_at(self) -> Mapping[int, int]:
        """Return the partition's leader epochs, as brokers number them, keyed by offset in KRaft's metadata log."""
        metadata = self._stage.cluster.controller_metadata()
        topic = metadata.topic_id(TOPIC)
        history = [] if topic is None else metadata.partitions.get((topic, self._stage.partition), [])
        return {offset: state.leader_epoch for offset, state in history}

    def quorum(self) -> SeenQuorum:
        """Return the controller's last decision, with the model's number for its epoch. A new epoch gets the next
        number.
        """
        decision = self.decision()
        epoch = self.number_of(decision.epoch)
        replicas = decision.assignment if self._stage.plan.start.bounds.moves else None
        return SeenQuorum(decision.leader, epoch, decision.isr, decision.elr, replicas)

    def number_of(self, epoch: int) -> int:
        """Return the model's number for a leader epoch."""
        return self.numbers.index(epoch) if epoch in self.numbers else len(self.numbers)

    # --- the disks ----------------------------------------------------------------------------------------------

    def log(self, broker: int) -> tuple[SeenRecord, ...]:
        """Return the records in a broker's log."""
        batches = self._batches(self._stage.data_directory(broker) / f"{TOPIC}-{self._stage.partition}")
        return tuple(
            SeenRecord(value_of(record.value), self._epoch_of(batch))
            for batch in batches
            for record in batch.records or ()
        )

    def _epoch_of(self, batch: Batch) -> int:
        return UNKNOWN_EPOCH if batch.leader_epoch is None else self.number_of(batch.leader_epoch)

    def _batches(self, folder: Path) -> list[Batch]:
        found: list[Batch] = []
        for segment in sorted(folder.glob("*.log")):
            try:
                found += read_batches(segment.read_bytes())
            except (Malformed, FileNotFoundError):  # zeros of a file that is being extended; a replica being deleted
                continue
        return found

    def high_watermark(self, broker: int) -> int:
        """Return the high watermark in a broker's checkpoint, or 0 if there is no checkpoint."""
        path = self._stage.data_directory(broker) / HIGH_WATERMARKS
        try:
            return offsets(LocalFiles(), str(path)).get((TOPIC, self._stage.partition), 0)
        except Unreadable:
            return 0

    # --- messages -----------------------------------------------------------------------------------------------

    def frame_in_flight(self, follower: int) -> Frame | None:
        """Return the newest held frame between a follower and any leader, or None."""
        frames = [
            frame
            for other in self._stage.replicas
            for api in ("Fetch", "OffsetForLeaderEpoch")
            for frame in (
                self._stage.held(api, True, follower, other),
                self._stage.held(api, False, other, follower),
            )
            if other != follower and frame is not None
        ]
        return max(frames, key=lambda frame: frame.number, default=None)

    def message(self, frame: Frame | None) -> Message | None:
        """Convert a frame between a follower and its leader to a message of the model."""
        if frame is None or frame.body is None:
            return None
        told = partition_of(frame.body, self._stage.partition)
        if not told:
            return None
        if frame.api == "OffsetForLeaderEpoch":
            return self._epoch_message(frame, told)
        if frame.request:
            last = told.get("LastFetchedEpoch", NO_OFFSET)
            last_epoch = None if last == NO_OFFSET else self.number_of(last)
            return FetchRequest(_broker(frame.target), NO_OFFSET, told["FetchOffset"], last_epoch)
        return self._fetch_response(told)

    def _epoch_message(self, frame: Frame, told: Mapping[str, Any]) -> Message:
        if frame.request and self._stage.asks_in_vain(frame):
            # the follower will fetch, whatever the response says (see Stage.held)
            return FetchRequest(_broker(frame.target), NO_OFFSET, len(self.log(_broker(frame.source))))
        if frame.request:
            return EpochRequest(_broker(frame.target), NO_OFFSET, self.number_of(told["LeaderEpoch"]))
        end = told["EndOffset"]
        epoch = told.get("LeaderEpoch", NO_OFFSET)
        number = UNKNOWN_EPOCH if epoch == NO_OFFSET else self.number_of(epoch)
        return EpochResponse(number, None if end == NO_OFFSET else end)

    def _fetch_response(self, told: Mapping[str, Any]) -> Message | None:
        if told["ErrorCode"] == OFFSET_OUT_OF_RANGE:
            return OffsetOutOfRange(NO_OFFSET)
        if told["ErrorCode"]:
            return None
        diverging = told.get("DivergingEpoch") or {}
        if diverging.get("EndOffset", NO_OFFSET) != NO_OFFSET:
            return Diverging(self.number_of(diverging["Epoch"]), diverging["EndOffset"])
        batches = read_batches(told["Records"] or b"")
        records = tuple(
            Record(value_of(record.value), self._epoch_of(batch)) for batch in batches for record in batch.records or ()
        )
        return FetchResponse(records, told["HighWatermark"])

    # --- everything ---------------------------------------------------------------------------------------------

    def observed(self) -> ObservedState:
        """Return the observable part of the current state."""
        return ObservedState(self.quorum(), tuple(self._replica(broker) for broker in self._stage.replicas))

    def _replica(self, broker: int) -> SeenReplica:
        up = broker not in self.down
        proposed = self._stage.held("AlterPartition", True, broker, self._stage.controller) if up else None
        proposal = (
            None if proposed is None or proposed.body is None else proposed_isr(proposed.body, self._stage.partition)
        )
        message = self.message(self.frame_in_flight(broker)) if up else None
        log, high_watermark = self.log(broker), self.high_watermark(broker)
        if self._stage.cluster.release_of(broker).version < _FIRST_TO_LOWER:
            high_watermark = min(high_watermark, len(log))
        return SeenReplica(up, log, high_watermark, message, proposal)


def proposed_isr(body: Mapping[str, Any], partition: int) -> frozenset[int]:
    """Return the ISR that an AlterPartition request proposes for a partition."""
    told = partition_of(body, partition)
    with_epochs = told.get("NewIsrWithEpochs")
    return frozenset(each["BrokerId"] for each in with_epochs) if with_epochs else frozenset(told["NewIsr"])


def payload(value: int) -> bytes:
    """Convert a record's value in the model to its value on brokers."""
    return b"m%d" % value


def value_of(data: bytes | None) -> int:
    """Convert a record's value on brokers to its value in the model. This is the inverse of `payload`."""
    return int((data or b"m-1")[1:])


def _broker(node: object) -> int:
    return node if isinstance(node, int) else NO_OFFSET
