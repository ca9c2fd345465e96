"""Shapes: what is wrong, without the names, offsets and epochs that happen to be there.

A disk and a state of a spec in which the same is wrong have the same shape. So a trace of the spec says by which
interleaving a disk can have come to be as it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from leadline.invariants.audit.result import Shape
from leadline.invariants.view import Complaint, PartitionView, RecordView, ReplicaView

OF_ONE_LOG = ("epochs_monotonic_in_log", "hw_within_log")
"""The properties whose violation one log shows, whatever others hold."""


def shape_of(check: str, state: PartitionView, complaints: Sequence[Complaint]) -> Shape:
    """The shape of a violation.

    Parameters:
        check: the property's name.
        state: where it is violated: a state of a spec, or what is on disks.
        complaints: what the property says.

    Returns:
        The property, and for each two replicas that it is about where their logs part: what each has there, compared
        with the other, with its high watermark and with the leader's epoch, and who leads.
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
    """How two replicas differ, the same whichever comes first; None if they do not."""
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
    """What a replica has where its log parts from another's."""
    role = "follows"
    if state.believes_to_lead(broker):
        role = "leads" if replica.epoch == state.quorum.epoch else "believes to lead"
    if held is None:
        return ("nothing", offset < replica.high_watermark, role)
    compared = 0 if others is None else (held.epoch > others.epoch) - (held.epoch < others.epoch)
    is_current = held.epoch == max(each.epoch for _, each in state.replicas_of())
    return ("a record", compared, is_current, offset < replica.high_watermark, role)
