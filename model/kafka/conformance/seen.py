"""What the frames of a recording contain, in the model's terms, and whether a message of the model agrees with it."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from leadline.model.kafka.messages import Diverging, FetchResponse, Message, OffsetOutOfRange
from leadline.model.log import Record

UNKNOWN = None
"""Stands for a value that a frame does not contain, and that agrees with every value."""

NO_SUCH_EPOCH = -2
"""Stands for a leader epoch in which the partition never had a leader. It agrees with no epoch of the model."""


def epoch_in_words(epoch: int | None) -> str:
    """Return the name of a leader epoch in a recording."""
    return "an epoch without a leader" if epoch == NO_SUCH_EPOCH else f"epoch {epoch}"


@attrs.frozen
class SeenFetch:
    """A fetch request in a recording.

    Attributes:
        leader, follower: the receiver and the sender of the request.
        epoch: the follower's leader epoch, or `UNKNOWN` before KIP-320.
        offset: the fetch offset.
        last_epoch: the epoch of the follower's last record, or None if the request does not contain one.
        names_last_epoch: whether this version of the request has a field for the epoch of the last record (KIP-595).
        in_session: whether the request continues a fetch session.
    """

    leader: int
    follower: int
    epoch: int | None
    offset: int
    last_epoch: int | None = None
    names_last_epoch: bool = False
    in_session: bool = False

    def __str__(self) -> str:
        last = f", last fetched {epoch_in_words(self.last_epoch)}" if self.last_epoch is not None else ""
        return f"from offset {self.offset}{last}"


@attrs.frozen
class SeenRecords:
    """The records and the high watermark of a fetch response. A value or epoch can be `UNKNOWN`.

    Attributes:
        records: the values and epochs of the records.
        high_watermark: the leader's high watermark.
        base: the offset of the first record, or None if there is none.
    """

    records: tuple[tuple[int | None, int | None], ...]
    high_watermark: int
    base: int | None = None

    def __str__(self) -> str:
        return f"{drawn(self.records)}, high watermark {self.high_watermark}"


def drawn(records: Iterable[tuple[int | None, int | None]]) -> str:
    """Return records with their epochs, such as ``m0@0 m1@0``."""
    cells = [("?" if v is None else f"m{v}") + _drawn_epoch(e) for v, e in records]
    return " ".join(cells) or "no records"


def _drawn_epoch(epoch: int | None) -> str:
    return "" if epoch is None else "@(an epoch without a leader)" if epoch == NO_SUCH_EPOCH else f"@{epoch}"


@attrs.frozen
class SeenDiverging:
    """A fetch response that says that the logs differ (KIP-595). Only some releases use the high watermark in this
    response (KAFKA-14704).
    """

    epoch: int | None
    end_offset: int
    high_watermark: int

    def __str__(self) -> str:
        return f"the logs diverge: on the leader, {epoch_in_words(self.epoch)} ends at offset {self.end_offset}"


@attrs.frozen
class SeenOutOfRange:
    """A fetch response that says that the fetch offset is out of range."""

    def __str__(self) -> str:
        return "the fetch offset is out of range"


Answer = SeenRecords | SeenDiverging | SeenOutOfRange


def is_answer(seen: Answer, message: Message | None) -> bool:
    """Return whether a response in a recording agrees with a message of the model."""
    match seen, message:
        case SeenRecords(), FetchResponse():
            return seen.high_watermark == message.high_watermark and are_records(seen.records, message.records)
        case SeenDiverging(), Diverging():
            used = message.high_watermark in (None, seen.high_watermark)
            return used and seen.epoch in (UNKNOWN, message.epoch) and seen.end_offset == message.end_offset
        case SeenOutOfRange(), OffsetOutOfRange():
            return True
    return False


def are_records(seen: Iterable[tuple[int | None, int | None]], records: tuple[Record, ...]) -> bool:
    """Return whether the values and epochs of records in a recording agree with records of the model."""
    pairs = list(seen)
    return len(pairs) == len(records) and all(
        value in (UNKNOWN, record.value) and epoch in (UNKNOWN, record.epoch)
        for (value, epoch), record in zip(pairs, records, strict=True)
    )
