"""The assignors: the eager one, and the cooperative sticky one. The leader of a generation calls them."""

from __future__ import annotations

from collections.abc import Sequence

from leadline.model.group.classic.bounds import Bounds
from leadline.model.group.classic.protocols import Protocol
from leadline.model.group.classic.state import Member, Plan


def assigned(members: Sequence[Member], bounds: Bounds, protocol: Protocol) -> Plan:
    """Return the assignment of a generation.

    Parameters:
        members: the members of the generation, in the order of their ids.
        bounds: the number of partitions, and which assignor it is.
    """
    if bounds.cooperative:
        return _sticky(members, bounds.partitions, protocol)
    ids = [member.member_id for member in members]
    return tuple(
        (member_id, frozenset(range(index, bounds.partitions, len(ids)))) for index, member_id in enumerate(ids)
    )


def _sticky(members: Sequence[Member], partitions: int, protocol: Protocol) -> Plan:
    """Return the assignment of AbstractStickyAssignor: members keep what they own up to their share. A partition that
    its owner must give up is given to nobody in this generation (CooperativeStickyAssignor.adjustAssignment).
    """
    claims, disputed = protocol.believed(members)
    least, more = divmod(partitions, len(members))
    plan = {}
    for member_id, own in sorted(claims.items()):
        has_more = more > 0 and len(own) > least
        plan[member_id] = frozenset(sorted(own)[: least + has_more])
        more -= has_more
    free = [p for p in range(partitions) if not any(p in own for own in plan.values())]
    for partition in free:
        if protocol.withholds and (partition in disputed or any(partition in own for own in claims.values())):
            continue
        plan[min(sorted(plan), key=lambda member_id: len(plan[member_id]))] |= {partition}
    return tuple(sorted(plan.items()))
