"""The observable part of a state. Its form is the same for the model and for real brokers, so both can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from leadline.model.kafka.assignment import Assignment
from leadline.model.kafka.messages import Diverging, EpochRequest, EpochResponse, FetchRequest, FetchResponse, Message
from leadline.model.kafka.messages import OffsetOutOfRange as OutOfRange
from leadline.model.kafka.state import Partition
from leadline.model.quorum import drawn_isr

UNKNOWN_EPOCH = -2
"""The leader epoch of a record in releases before 0.11, whose records do not contain it."""


@attrs.frozen
class SeenRecord:
    """A record in a log: its value in the model, and its leader epoch as numbered in the model, or `UNKNOWN_EPOCH`."""

    value: int
    epoch: int

    def __str__(self) -> str:
        return f"m{self.value}" + ("" if self.epoch == UNKNOWN_EPOCH else f"@{self.epoch}")

    def is_like(self, other: SeenRecord) -> bool:
        """Return whether two records can be the same. An unknown epoch matches every epoch."""
        same_epoch = self.epoch == other.epoch or UNKNOWN_EPOCH in (self.epoch, other.epoch)
        return self.value == other.value and same_epoch


@attrs.frozen
class SeenReplica:
    """The observable part of a replica.

    Attributes:
        up: whether the broker is running.
        log: the records on disk.
        high_watermark: the high watermark in the checkpoint on disk.
        message: the message in flight. None if it cannot be observed because the broker or its leader is down.
        proposal: the ISR in the broker's in-flight AlterPartition request, or None.
    """

    up: bool
    log: tuple[SeenRecord, ...]
    high_watermark: int
    message: Message | None = None
    proposal: frozenset[int] | None = None

    def __str__(self) -> str:
        cells = [str(record) for record in self.log]
        cells[self.high_watermark : self.high_watermark] = ["┃"]
        return " ".join(cells)


@attrs.frozen
class SeenQuorum:
    """The last decision of the controller: the leader or None, the leader epoch as numbered in the model, the ISR, the
    ELR, and the replicas in ascending order if they can change.
    """

    leader: int | None
    epoch: int
    isr: frozenset[int]
    elr: frozenset[int] = frozenset()
    assignment: Assignment | None = None

    def __str__(self) -> str:
        leader = "no leader" if self.leader is None else f"broker {self.leader} leads in epoch {self.epoch}"
        elr = f", ELR {drawn_isr(self.elr)}" if self.elr else ""
        replicas = f", replicas {self.assignment}" if self.assignment else ""
        return f"{leader}, ISR {drawn_isr(self.isr)}{elr}{replicas}"


@attrs.frozen
class ObservedState:
    """The observable part of a state: the controller's decision, and the replicas, indexed by broker."""

    quorum: SeenQuorum
    replicas: tuple[SeenReplica, ...]

    @property
    def columns(self) -> dict[str, str]:
        """The observed state as text for each row in the drawing of a state, keyed by the name of the row."""
        rows = {f"broker {broker}": str(replica) for broker, replica in enumerate(self.replicas)}
        return rows | {"controller": str(self.quorum)}

    @property
    def as_object(self) -> dict[str, Any]:
        """The observed state as an object for `json.dumps`."""
        replicas = [
            {"up": each.up, "log": [str(record) for record in each.log], "high_watermark": each.high_watermark}
            for each in self.replicas
        ]
        return {"controller": str(self.quorum), "replicas": replicas}


def observed_state(state: Partition) -> ObservedState:
    """Return the observable part of a model state."""
    quorum = state.quorum
    return ObservedState(
        SeenQuorum(quorum.leader, quorum.epoch, quorum.isr, quorum.elr, _seen_assignment(state)),
        tuple(_seen(state, broker) for broker in range(len(state.replicas))),
    )


def _seen_assignment(state: Partition) -> Assignment | None:
    own = state.assignment
    return seen_assignment(own.replicas, own.adding, own.removing) if state.bounds.moves else None


def seen_assignment(replicas: Sequence[int], adding: frozenset[int], removing: frozenset[int]) -> Assignment:
    """Return the replicas in ascending order, without the replicas that an operator has requested, because brokers do
    not show them.
    """
    return Assignment(tuple(sorted(replicas)), adding, removing)


def _seen(state: Partition, broker: int) -> SeenReplica:
    replica = state.replicas[broker]
    visible = replica.up and replica.leader is not None and state.replicas[replica.leader].up
    proposal = replica.proposal
    return SeenReplica(
        replica.up,
        tuple(SeenRecord(record.value, record.epoch) for record in replica.log.records),
        replica.high_watermark,
        replica.in_flight if visible else None,
        proposal.isr if proposal is not None and proposal.sent else None,
    )


def differences(model: ObservedState, real: ObservedState) -> list[str]:
    """Return a sentence for each difference between real brokers and the model."""
    return [*_quorum_differences(model.quorum, real.quorum), *_replica_differences(model, real)]


def _quorum_differences(model: SeenQuorum, real: SeenQuorum) -> Iterator[str]:
    if model.leader is None and real.leader is None:
        real = attrs.evolve(real, epoch=model.epoch)  # an epoch without a leader has no number in the model
    if model.assignment is None:
        real = attrs.evolve(real, assignment=None)
    if model != real:
        yield f"the controller: {real}; in the model: {model}"


def _replica_differences(model: ObservedState, real: ObservedState) -> Iterator[str]:
    for broker, (own, other) in enumerate(zip(model.replicas, real.replicas, strict=True)):
        if own.up != other.up:
            yield f"broker {broker} is {_running(other.up)}; in the model it is {_running(own.up)}"
        if not _alike(own.log, other.log):
            yield f"the log of broker {broker} is {_log(other)}; in the model it is {_log(own)}"
        if own.high_watermark != other.high_watermark:
            words = f"{other.high_watermark}; in the model it is {own.high_watermark}"
            yield f"the high watermark of broker {broker} is {words}"
        if own.message is not None and not is_seen_as(own.message, other.message):
            found = "nothing" if other.message is None else told(other.message)
            yield f"broker {broker} has in flight: {found}; in the model: {told(own.message)}"
        if own.proposal != other.proposal:
            yield f"broker {broker} proposes {_proposal(other.proposal)}; in the model: {_proposal(own.proposal)}"


def _alike(one: tuple[SeenRecord, ...], other: tuple[SeenRecord, ...]) -> bool:
    return len(one) == len(other) and all(own.is_like(its) for own, its in zip(one, other, strict=True))


def _running(up: bool) -> str:
    return "running" if up else "down"


def _log(replica: SeenReplica) -> str:
    return " ".join(map(str, replica.log)) or "empty"


def _proposal(isr: frozenset[int] | None) -> str:
    return "no ISR" if isr is None else f"ISR {drawn_isr(isr)}"


def is_seen_as(model: Message, real: Message | None) -> bool:
    """Return whether an observed message can correspond to a message of the model.

    In the observed message, a field that the release does not send is None or `UNKNOWN_EPOCH`.
    """
    match model, real:
        case FetchRequest(), FetchRequest():
            same_place = (model.leader, model.offset) == (real.leader, real.offset)
            return same_place and _can_be_last_epoch(model.last_epoch, real.last_epoch)
        case FetchResponse(), FetchResponse():
            records = [
                tuple(SeenRecord(record.value, record.epoch) for record in each.records) for each in (model, real)
            ]
            return _alike(*records) and model.high_watermark == real.high_watermark
        case Diverging(), Diverging():
            return (model.epoch, model.end_offset) == (real.epoch, real.end_offset)
        case OutOfRange(), OutOfRange():
            return True  # the response has no log end offset, which the follower asks for
        case EpochResponse(), EpochResponse():
            same_epoch = real.epoch == UNKNOWN_EPOCH or model.epoch == real.epoch
            return same_epoch and model.end_offset == real.end_offset
        case EpochRequest(), EpochRequest():
            return (model.leader, model.wanted) == (real.leader, real.wanted)
    return False


def _can_be_last_epoch(model: int | None, real: int | None) -> bool:
    """Return whether the last epoch in a real fetch request can correspond to the last epoch in the model's request.

    After a broker has been the leader, its epoch cache also contains epochs in which it wrote nothing. The model
    derives epochs from records, so it does not contain these epochs (KAFKA-10706). Wrong epochs are detected anyway,
    because the logs are compared too.
    """
    return real is None or real >= (-1 if model is None else model)


def told(message: Message) -> str:
    """Return a description of a message."""
    match message:
        case FetchRequest(offset=offset, last_epoch=last):
            return f"a fetch request from offset {offset}" + ("" if last is None else f" after epoch {last}")
        case FetchResponse(records=records, high_watermark=watermark):
            cells = [str(SeenRecord(record.value, record.epoch)) for record in records]
            return f"a fetch response with {' '.join(cells) or 'no record'} and high watermark {watermark}"
        case Diverging(epoch=epoch, end_offset=end):
            return f"a fetch response that the logs diverge: epoch {epoch} ends at {end}"
        case OutOfRange():
            return "a fetch response that the offset is out of range"
        case EpochResponse(epoch=epoch, end_offset=end):
            which = "the epoch" if epoch == UNKNOWN_EPOCH else f"epoch {epoch}"
            return f"an answer that {which} ends at {'an unknown offset' if end is None else end}"
        case EpochRequest(wanted=wanted):
            return f"a request for the end of epoch {wanted}"
    return str(message)
