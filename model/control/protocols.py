"""The rules of a release: those of the data plane, and those of the controller."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from leadline.model.kafka.protocols import Protocol as DataPlane


@attrs.frozen(eq=False, kw_only=True)
class Protocol(DataPlane):
    """The rules of replication (see `leadline.model.kafka.protocols.Protocol`), and the rules of the controller.

    Attributes:
        elects_at_once_with_epoch: whether a new controller registers and raises the controller epoch in one
            transaction. If not, it raises the epoch in a later step.
        fences_writes: whether ZooKeeper refuses writes of a controller with an outdated controller epoch.
        adopts: whether a controller that was replaced takes the new controller's epoch for its own.
        fences_requests: whether brokers refuse requests with a controller epoch lower than the highest one that they
            have received.
        compares_epochs: whether the controller compares the broker epochs (creation zxids) of brokers, and not only
            their ids.
        names_generations: whether requests contain the broker epoch of the broker to which they are sent, so that a
            broker refuses those that were sent before its restart.
        reassigns_by: where a reassignment in progress is stored: in "admin", the node `/admin/reassign_partitions`, or
            in "assignment", with the replicas of the partition (KIP-455), where it can be cancelled.
        obeys_stop: returns whether a broker obeys a `StopReplica` request. The arguments are the leader epochs of the
            broker and of the request.
        removes_dead_at_start: whether a new controller removes brokers that are down from the ISR.
        keeps_log: whether the controller writes records to the metadata log (KRaft), and not nodes of ZooKeeper.
        refuses_newer_leaders: whether a controller that is behind answers an `AlterPartition` request from a newer
            leader epoch than it knows as if the epoch were outdated. The leader then waits for a change that does not
            come (KAFKA-14154).
    """

    elects_at_once_with_epoch: bool
    fences_writes: bool
    adopts: bool
    fences_requests: bool
    compares_epochs: bool
    names_generations: bool
    removes_dead_at_start: bool
    reassigns_by: str
    keeps_log: bool
    refuses_newer_leaders: bool
    obeys_stop: Callable[[int, int], bool]


def at_any_epoch(own: int, requested: int) -> bool:
    """Up to 2.5, a `StopReplica` request contains no leader epoch."""
    return True


def at_a_newer_epoch(own: int, requested: int) -> bool:
    """KIP-570: the leader epoch of the request must be higher than the broker's."""
    return requested > own


def at_the_same_or_a_newer_epoch(own: int, requested: int) -> bool:
    """KAFKA-13972: the leader epoch of the request must not be lower than the broker's."""
    return requested >= own
