"""What the controller decided about a partition, and what it announced to the brokers."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.brokers.conformance.frames import NONE
from leadline.model.kafka.assignment import Assignment


@attrs.frozen
class Decision:
    """A decision of the controller, with its time window and the first frame that shows it. Brokers and epochs are
    numbered as in Kafka, except in `assignment`, which is None if the replicas never change. `is_reassigned` says
    whether the decision names replicas. With KRaft, `partition_epoch` is the partition epoch afterwards. `elr` is None
    if no record names eligible leader replicas; otherwise, it contains these, and then the last known ones.
    """

    earliest: float
    latest: float
    leader: int
    epoch: int
    isr: tuple[int, ...]
    frame: int
    assignment: Assignment | None = None
    is_reassigned: bool = False
    partition_epoch: int = NONE
    elr: tuple[tuple[int, ...], tuple[int, ...]] | None = None


@attrs.frozen
class Notice:
    """A leader epoch that a frame announced to a broker. `sent` is the time at which the controller sent the frame.
    `answered` is the time of the response, or infinity if there is none. With KRaft, this is a record of the metadata
    log: `offset` is its offset, and `assignment` the replicas as in `Decision`.
    """

    broker: int
    sent: float
    passed: float
    answered: float
    leader: int
    epoch: int
    isr: tuple[int, ...]
    frame: int
    assignment: Assignment | None = None
    offset: int = NONE
    partition_epoch: int = NONE


@attrs.frozen
class Fence:
    """A decision of the KRaft controller to fence or unfence a broker, with its time window. `broker` is numbered as in
    the model.
    """

    earliest: float
    latest: float
    broker: int
    fenced: bool
    frame: int


@attrs.frozen(eq=False)
class Controller:
    """What the controller decided and announced, in order of time.

    Attributes:
        decisions: the decisions about the leader, the ISR and the replicas, except the first one.
        told: the announcements that reached brokers.
        fences: the decisions to fence and unfence brokers.
    """

    decisions: tuple[Decision, ...]
    told: tuple[Notice, ...]
    fences: tuple[Fence, ...] = ()

    def leaders(self) -> Iterator[tuple[int, int]]:
        """Yield a (leader epoch, leader) pair for each announcement and each decision."""
        yield from ((each.epoch, each.leader) for each in self.told)
        yield from ((each.epoch, each.leader) for each in self.decisions)
