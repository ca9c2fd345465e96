"""The interfaces (protocols) through which properties read states. All families of specs implement them.

Because of these interfaces, one definition of each property serves all families. `leadline.model.disk` implements them
for the disks of brokers, with record batches in place of records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, Self

from leadline.model.quorum import Quorum


class Complaint(str):
    """A sentence that describes a violation, with the brokers and the offset to which it refers.

    Attributes:
        offset: the offset, or None if the sentence does not concern a single offset.
        brokers: the ids of the brokers.
    """

    __slots__ = ("brokers", "offset")
    offset: int | None
    brokers: tuple[int, ...]

    @classmethod
    def about(cls, sentence: str, *brokers: int, offset: int | None = None) -> Complaint:
        """Return a complaint about the given brokers and, optionally, the given offset."""
        complaint = cls(sentence)
        complaint.brokers, complaint.offset = brokers, offset
        return complaint


class RecordView(Protocol):
    """A record in a log of the model, or a record batch in a log on disk."""

    @property
    def epoch(self) -> int: ...


class LogView(Protocol):
    """A log. A log can be compared only with a log of the same class."""

    @property
    def end_offset(self) -> int: ...
    @property
    def records(self) -> Sequence[RecordView]: ...
    def beside(self, other: Self, below: int) -> Iterator[tuple[int, RecordView | None, RecordView | None]]:
        """Yield each offset less than `below`, with the records of both logs at that offset. If a log has no record
        there, yield None instead of a record.
        """


class ReplicaView(Protocol):
    """A replica: its log and high watermark, and the leader, leader epoch and ISR that its broker has learned."""

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
    """A partition: the leader, leader epoch and ISR according to the controller, and the replicas."""

    @property
    def quorum(self) -> Quorum: ...

    def replicas_of(self, brokers: Iterable[int] | None = None) -> Iterator[tuple[int, ReplicaView]]:
        """Yield a (broker, replica) pair for each of the given brokers, or for every broker if `brokers` is None.

        On disks, replicas that were not read are omitted.
        """

    def believes_to_lead(self, broker: int) -> bool:
        """Return whether a broker believes that it leads."""

    def believed_leaders(self) -> Iterator[tuple[int, ReplicaView]]:
        """Yield a (broker, replica) pair for each broker that believes it leads."""

    def has_to_truncate(self, broker: int) -> bool:
        """Return whether a broker's log may differ from its leader's log because the broker has not truncated yet."""
