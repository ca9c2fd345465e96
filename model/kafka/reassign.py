"""Reassignment: an operator requests different replicas for a partition, or changes or cancels a request (KIP-455)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from leadline.checker.action import action
from leadline.model.kafka.assignment import changed_to, reverted
from leadline.model.kafka.bounds import Bounds
from leadline.model.kafka.controller import build
from leadline.model.kafka.state import Partition
from leadline.model.quorum import brokers


def targets(bounds: Bounds) -> list[tuple[int, ...]]:
    """Return the lists of replicas that an operator can request: a preferred leader, then other brokers in ascending
    order.

    The model leaves out other orders, because the order only determines which of these brokers is elected first. By
    default, an operator can request none.
    """
    if not bounds.reassignments:
        return []
    found = []
    for first in brokers(bounds):
        others = [broker for broker in brokers(bounds) if broker != first]
        for size in range(len(others) + 1):
            found += [(first, *rest) for rest in itertools.combinations(others, size)]
    return found


@action("an operator reassigns the partition to brokers {target}", target=targets)
def reassign(state: Partition, target: tuple[int, ...]) -> Iterator[Partition]:
    """The controller starts a reassignment, or changes the one in progress (`changePartitionReassignment`).

    The ISR and the leader stay the same, unless the reassignment completes immediately. Brokers learn of the new
    replicas later.
    """
    if not state.may("reassignments"):
        return
    changed = changed_to(
        state.assignment,
        target,
        replaces_added=state.protocol.replaces_added,
        replaces_removed=state.protocol.replaces_removed,
    )
    is_other = changed.replicas != state.assignment.replicas or changed.in_progress != state.assignment.in_progress
    if is_other:
        yield from build(state.having("reassignments"), state.quorum.isr, assignment=changed)


def only_if_reassigned(bounds: Bounds) -> range:
    """Return a range with one value if the bounds allow reassignments and cancellations. Otherwise, return an empty
    range.
    """
    return range(1 if bounds.reassignments and bounds.cancellations else 0)


@action("an operator cancels the reassignment", request=only_if_reassigned)
def cancel_reassignment(state: Partition, request: int) -> Iterator[Partition]:
    """The controller cancels a reassignment in progress (`PartitionReassignmentRevert`).

    Brokers that were being added are removed from the replicas and the ISR. If no other broker is in the ISR, the
    controller refuses unless unclean leader election is enabled. The model leaves out this exception.
    """
    assignment = state.assignment
    if not assignment.in_progress or not state.may("cancellations"):
        return
    isr = state.quorum.isr - assignment.adding
    if isr or not state.quorum.isr:
        yield from build(state.having("cancellations"), isr, assignment=reverted(assignment))
