"""What a property looks at: the parts that the states of all families have, so that one definition serves all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from model.log import Log
from model.quorum import Quorum


class ReplicaView(Protocol):
    """A replica: its log and high watermark, and what its broker believes."""

    @property
    def log(self) -> Log: ...
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
    @property
    def replicas(self) -> tuple[ReplicaView, ...]: ...

    def believes_to_lead(self, broker: int) -> bool:
        """Whether a broker takes itself for the leader."""

    def believed_leaders(self) -> Iterator[tuple[int, ReplicaView]]:
        """The brokers that take themselves for the leader, each with its replica."""

    def has_to_truncate(self, broker: int) -> bool:
        """Whether a broker's log may differ from its leader's, because its truncation is yet to come."""
