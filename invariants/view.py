"""What a property looks at: the parts that the states of all families have, so that one definition serves all.

The disks of real brokers have them too (`model.disk`): there a record is a record batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from leadline.model.quorum import Quorum


class Complaint(str):
    """A sentence on what is wrong, with the place that it is about.

    Attributes:
        offset: the offset; None if it is about no single one.
        brokers: the brokers.
    """

    __slots__ = ("brokers", "offset")
    offset: int | None
    brokers: tuple[int, ...]

    @classmethod
    def about(cls, sentence: str, *brokers: int, offset: int | None = None) -> Complaint:
        """A sentence on what is wrong with some brokers' logs, at an offset."""
        complaint = cls(sentence)
        complaint.brokers, complaint.offset = brokers, offset
        return complaint


class RecordView(Protocol):
    """What a log has at an offset."""

    @property
    def epoch(self) -> int: ...


class LogView(Protocol):
    """A log. Two of them are compared with each other only if they are of one family."""

    @property
    def end_offset(self) -> int: ...
    @property
    def records(self) -> Sequence[RecordView]: ...
    def beside(self, other: Any, below: int) -> Iterator[tuple[int, RecordView | None, RecordView | None]]:
        """What two logs hold at each offset below one, None where one holds nothing."""


class ReplicaView(Protocol):
    """A replica: its log and high watermark, and what its broker believes."""

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
        """The replicas of some brokers, or of all, with their brokers, in order. On disks, only those at hand."""

    def believes_to_lead(self, broker: int) -> bool:
        """Whether a broker takes itself for the leader."""

    def believed_leaders(self) -> Iterator[tuple[int, ReplicaView]]:
        """The brokers that take themselves for the leader, each with its replica."""

    def has_to_truncate(self, broker: int) -> bool:
        """Whether a broker's log may differ from its leader's, because its truncation is yet to come."""
