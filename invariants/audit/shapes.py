"""Shapes: violations without their particular names, offsets and epochs.

If a violation on a disk has the same shape as a violation in a state of a spec, a trace to that state shows an
interleaving that could have produced the data on the disk.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from leadline.invariants.audit.result import Shape
from leadline.invariants.view import Complaint, PartitionView, RecordView, ReplicaView

OF_ONE_LOG = ("epochs_monotonic_in_log", "hw_within_log")
"""The properties whose violation depends on one log only."""


def shape_of(check: str, state: PartitionView, complaints: Sequence[Complaint]) -> Shape:
    """The shape of a violation.

    Parameters:
        check: the name of the property.
        state: the state that violates it: a state of a spec, or a partition on disks.
        complaints: the complaints of the property.

    Returns:
        The property, and for each pair of replicas concerned the point at which their logs diverge: the record of each
        compared with the other's, with its high watermark and with the leader's epoch, and which of them leads.
    """
    if check in OF_ONE_LOG:
        return (check,)
    about = {frozenset(complaint.brokers) for complaint in complaints}
    pairs = {
        _pair(state, one, other)
        for one, other in itertools.combinations(state.replicas_of(), 2)
        if any({one[0], other[0]} <= each or (len(each) == 1 and each & {one[0], other[0]}) for each in about)
    }
    return (check, frozenset(pairs - {None}))


def _pair(state: PartitionView, one: tuple[int, ReplicaView], other: tuple[int, ReplicaView]) -> Shape | None:
    """The difference of two replicas, independent of their order; None if they do not differ."""
    end = max(one[1].log.end_offset, other[1].log.end_offset)
    for offset, mine, theirs in one[1].log.beside(other[1].log, end):
        if mine != theirs:
            sides = [_side(state, *one, offset, mine, theirs), _side(state, *other, offset, theirs, mine)]
            return tuple(sorted(sides, key=repr))
    return None


def _side(
    state: PartitionView,
    broker: int,
    replica: ReplicaView,
    offset: int,
    held: RecordView | None,
    others: RecordView | None,
) -> Shape:
    """The record of a replica at the offset where two logs diverge."""
    role = "follows"
    if state.believes_to_lead(broker):
        role = "leads" if replica.epoch == state.quorum.epoch else "believes to lead"
    if held is None:
        return ("nothing", offset < replica.high_watermark, role)
    compared = 0 if others is None else (held.epoch > others.epoch) - (held.epoch < others.epoch)
    is_current = held.epoch == max(each.epoch for _, each in state.replicas_of())
    return ("a record", compared, is_current, offset < replica.high_watermark, role)
