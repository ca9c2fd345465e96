"""Shapes of violations. A shape describes a violation without naming specific brokers, offsets or epochs.

If a violation on a disk has the same shape as a violation in a state of a spec, a trace to that state shows an
interleaving that could have produced the data on the disk.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from leadline.invariants.audit.result import Shape
from leadline.invariants.view import Complaint, PartitionView, RecordView, ReplicaView

OF_ONE_LOG = ("epochs_monotonic_in_log", "hw_within_log")
"""The properties that a single log can violate."""


def shape_of(check: str, state: PartitionView, complaints: Sequence[Complaint]) -> Shape:
    """Return the shape of a violation.

    Parameters:
        check: the name of the property that is violated.
        state: the state that violates the property: a state of a spec, or a partition on disks.
        complaints: the complaints that the property yields for the state.

    Returns:
        The shape, which contains the name of the property. If the property compares two logs, the shape also describes
        each pair of replicas to which the complaints refer, at the first offset at which their logs differ. For each
        replica, the shape contains its role, whether it has a record at the offset, and whether its high watermark is
        above the offset. It also contains the result of comparing the record's epoch with the latest epoch and with the
        epoch of the other replica's record.
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


LOST: Shape = ("a committed record is gone",)
"""The shape for a partition that lacks a record that an earlier copy had below a high watermark."""


def shape_of_fenced_elections(electable: bool) -> Shape:
    """Return the shape for a partition in which fenced brokers were elected.

    Parameters:
        electable: whether all these brokers were in the ISR or ELR.
    """
    return ("election of a fenced broker", electable)


def _pair(state: PartitionView, one: tuple[int, ReplicaView], other: tuple[int, ReplicaView]) -> Shape | None:
    """Describe two replicas. The result does not depend on their order, and is None if their logs are equal."""
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
    """Describe one replica of a pair at the first offset at which the two logs differ."""
    role = "follows"
    if state.believes_to_lead(broker):
        role = "leads" if replica.epoch == state.quorum.epoch else "believes to lead"
    if held is None:
        return ("nothing", offset < replica.high_watermark, role)
    compared = 0 if others is None else (held.epoch > others.epoch) - (held.epoch < others.epoch)
    is_current = held.epoch == max(each.epoch for _, each in state.replicas_of())
    return ("a record", compared, is_current, offset < replica.high_watermark, role)
