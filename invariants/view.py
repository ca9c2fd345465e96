"""The interface of states that properties read. All families share it, so that each property is defined only once.

The disks of real brokers have these parts too (`model.disk`); on disks, a record is a record batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, Self

from leadline.model.quorum import Quorum


class Complaint(str):
    """A sentence that describes a violation, with the brokers and the offset concerned.

    Attributes:
        offset: the offset; None if the sentence does not concern a single offset.
        brokers: the brokers.
    """

    __slots__ = ("brokers", "offset")
    offset: int | None
    brokers: tuple[int, ...]

    @classmethod
    def about(cls, sentence: str, *brokers: int, offset: int | None = None) -> Complaint:
        """Return a complaint about the given brokers and, optionally, an offset."""
        complaint = cls(sentence)
        complaint.brokers, complaint.offset = brokers, offset
        return complaint


class RecordView(Protocol):
    """The record that a log has at an offset."""

    @property
    def epoch(self) -> int: ...


class LogView(Protocol):
    """A log. It is compared only with logs of the same family."""

    @property
    def end_offset(self) -> int: ...
    @property
    def records(self) -> Sequence[RecordView]: ...
    def beside(self, other: Self, below: int) -> Iterator[tuple[int, RecordView | None, RecordView | None]]:
        """Yield each offset less than `below` with the records of both logs there; None if a log has no record."""


class ReplicaView(Protocol):
    """A replica: its log and high watermark, and the leader, epoch and ISR known to its broker."""

    @property
    def log(self) -> LogView: ...
    @property
    def high_watermark(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    @property
    def leader(self) -> int | None: ...
    @property
    def isr(self) -> frozenset[int]: ...


class PartitionView(Protocol):
    """A partition: its quorum and replicas."""

    @property
    def quorum(self) -> Quorum: ...

    def replicas_of(self, brokers: Iterable[int] | None = None) -> Iterator[tuple[int, ReplicaView]]:
        """Yield pairs of broker and replica, for the given brokers or all. On disks, unread replicas are omitted."""

    def believes_to_lead(self, broker: int) -> bool:
        """Whether a broker believes that it leads."""

    def believed_leaders(self) -> Iterator[tuple[int, ReplicaView]]:
        """The brokers that believe they lead, each with its replica."""

    def has_to_truncate(self, broker: int) -> bool:
        """Whether a broker's log may differ from its leader's because it has yet to truncate."""
