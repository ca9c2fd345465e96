"""The rules of a release for replication and for the controller."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from leadline.model.kafka.protocols import Protocol as DataPlane


@attrs.frozen(eq=False, kw_only=True)
class Protocol(DataPlane):
    """The rules of replication (see `leadline.model.kafka.protocols.Protocol`), and the rules of the controller.

    Attributes:
        elects_at_once_with_epoch: whether a new controller creates `/controller` and raises the controller epoch in one
            transaction. If not, it raises the epoch in a later step.
        fences_writes: whether ZooKeeper refuses writes from a controller with an outdated controller epoch.
        starts_if_elected: whether a broker that finds its own id in `/controller`, although it does not act as the
            controller, starts as the controller (KAFKA-13407).
        adopts: whether a former controller uses the new controller's epoch as its own.
        fences_requests: whether brokers refuse requests with a controller epoch lower than the highest one that they
            have received.
        compares_epochs: whether the controller identifies brokers by their broker epochs (creation zxids), and not only
            by their ids.
        names_generations: whether a request contains the broker epoch of its receiver. A broker then refuses requests
            that were sent before it restarted.
        reassigns_by: where a reassignment in progress is stored: "admin" means in the node
            `/admin/reassign_partitions`, and "assignment" means with the replicas of the partition (KIP-455). Only the
            latter can be cancelled.
        shrinks_unassigned: whether a leader can shrink the ISR while the ISR contains a broker that is not a replica
            (KAFKA-9672).
        obeys_stop: returns whether a broker obeys a `StopReplica` request. The arguments are the leader epochs of the
            broker and of the request.
        removes_dead_at_start: whether a new controller removes failed brokers from the ISR.
        keeps_log: whether the controller writes to the metadata log (KRaft) instead of ZooKeeper.
        refuses_newer_leaders: whether a controller that does not know a leader epoch yet rejects an `AlterPartition`
            request with this epoch as outdated. The leader then waits for a change that never comes (KAFKA-14154).
    """

    elects_at_once_with_epoch: bool
    fences_writes: bool
    starts_if_elected: bool
    adopts: bool
    fences_requests: bool
    compares_epochs: bool
    names_generations: bool
    removes_dead_at_start: bool
    reassigns_by: str
    shrinks_unassigned: bool
    keeps_log: bool
    refuses_newer_leaders: bool
    obeys_stop: Callable[[int, int], bool]


def at_any_epoch(own: int, requested: int) -> bool:
    """Return True. Up to 2.5, a `StopReplica` request contains no leader epoch."""
    return True


def at_a_newer_epoch(own: int, requested: int) -> bool:
    """Return whether the leader epoch of the request is higher than the broker's (KIP-570)."""
    return requested > own


def at_the_same_or_a_newer_epoch(own: int, requested: int) -> bool:
    """Return whether the leader epoch of the request is at least as high as the broker's (KAFKA-13972)."""
    return requested >= own
