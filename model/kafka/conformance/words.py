"""Descriptions of states in words, for explanations of why an observation is not possible."""

from __future__ import annotations

from collections.abc import Iterable

from leadline.model.kafka.messages import (
    Diverging,
    EarliestOffset,
    EpochRequest,
    EpochResponse,
    Failed,
    FetchRequest,
    FetchResponse,
    Message,
    OffsetOutOfRange,
    OffsetsRequest,
)
from leadline.model.kafka.state import Partition
from leadline.model.quorum import Quorum


def listed(brokers: Iterable[int]) -> str:
    """Return a set of brokers as Kafka logs an ISR, such as ``[0, 1]``."""
    return f"[{', '.join(map(str, sorted(brokers)))}]"


def quorum_in_words(quorum: Quorum) -> str:
    """Describe the last decision of the controller."""
    leader = "no broker leads" if quorum.leader is None else f"broker {quorum.leader} leads in epoch {quorum.epoch}"
    elr = f", eligible leader replicas (ELR) {listed(quorum.elr)}" if quorum.elr else ""
    return f"{leader}, ISR {listed(quorum.isr)}{elr}"


def broker_in_words(state: Partition, broker: int) -> str:
    """Describe the state of a broker: its leader, epoch and log and, if it leads, what it stores about its
    followers.
    """
    replica = state.replicas[broker]
    if not replica.up:
        return (
            f"broker {broker} is down, with {replica.log.end_offset} records and high watermark {_watermark(replica)}"
        )
    if replica.leader is None:
        role = "has not learned of a leader since it started"
    elif replica.leader == broker:
        role = f"believes that it leads in epoch {replica.epoch} with ISR {listed(replica.isr)}"
    else:
        role = f"follows broker {replica.leader} in epoch {replica.epoch}"
    told = f"broker {broker} {role}, log end offset {replica.log.end_offset}, high watermark {replica.high_watermark}"
    if replica.leader == broker:
        others = [f"{leo} of broker {b}" for b, leo in enumerate(replica.remote_leos) if b != broker and leo >= 0]
        learned = f"log end offset {', '.join(others)}" if others else "no log end offset of others"
        told += f", and has learned {learned}"
        if replica.proposal is not None:
            told += f", and has proposed ISR {listed(replica.proposal.isr)}{replica.proposal.notes}"
    return told


def _watermark(replica: object) -> int:
    watermark: int = getattr(replica, "high_watermark", 0)
    return watermark


def message_in_words(message: Message | None) -> str:
    """Describe a message in flight."""
    match message:
        case None:
            return "nothing"
        case FetchRequest(offset=offset, last_epoch=last):
            return f"a fetch request from offset {offset}" + ("" if last is None else f", last fetched epoch {last}")
        case FetchResponse(records=records, high_watermark=high_watermark):
            return f"a response with {' '.join(map(str, records)) or 'no records'} and high watermark {high_watermark}"
        case OffsetOutOfRange(end_offset=end):
            return f"the response that its fetch offset is out of range, as the log ends at {end}"
        case Diverging(epoch=epoch, end_offset=end):
            return f"the response that the logs diverge: epoch {epoch} ends at offset {end}"
        case EpochRequest(wanted=wanted):
            return f"an OffsetForLeaderEpoch request, which asks where epoch {wanted} ends"
        case EpochResponse(epoch=epoch, end_offset=end):
            return f"the answer that epoch {epoch} ends at {'an unknown offset' if end is None else end}"
        case OffsetsRequest() | EarliestOffset() | Failed():
            return str(message)
