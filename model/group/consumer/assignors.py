"""The assignors, which compute target assignments in the group coordinator. They are plugins of the broker."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from leadline.model.group.consumer.bounds import Bounds
from leadline.model.group.consumer.state import Group
from leadline.model.group.perturbed import NONE


def targets(group: Group, bounds: Bounds) -> Iterator[tuple[int, ...]]:
    """Yield the target assignments that may be computed: for each partition, the id of a member."""
    ids = [member.member_id for member in group.members]
    if bounds.any_target:
        yield from itertools.product(ids, repeat=bounds.partitions)
    else:
        yield _uniform(group, ids)


def _uniform(group: Group, ids: list[int]) -> tuple[int, ...]:
    """Return the assignment of UniformAssignor: members keep what the last target gave them up to their share, and what
    is left goes to those with the least.
    """
    least, more = divmod(len(group.target), len(ids))
    owners = list(group.target)
    for member_id in ids:
        kept = sorted(group.target_of(member_id))
        has_more = more > 0 and len(kept) > least
        more -= has_more
        for partition in kept[least + has_more :]:
            owners[partition] = NONE
    for partition, owner in enumerate(owners):
        if owner == NONE:
            owners[partition] = min(ids, key=owners.count)
    return tuple(owners)
