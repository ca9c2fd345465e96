"""Positions of consumers and committed offsets: what a group has read, and what it has promised to remember.

Searches leave them out unless the bound `records` says how many records are written to each partition. A consumer reads
them one by one, and its position is the offset of the next one. Offsets are committed, fetched and reset in one step
each.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from leadline.model.group.bounds import Bounds

NO_OFFSET = -1
"""The position in a partition that a consumer does not own, and the offset of one that was never committed."""

NO_OFFSETS: tuple[int, ...] = ()


@attrs.frozen(cache_hash=True)
class Offsets:
    """The offsets of a group, one for each partition. Without records, all are empty.

    Attributes:
        committed: the offset that the coordinator knows, or `NO_OFFSET`.
        acknowledged: the highest offset of a commit that was acknowledged, or `NO_OFFSET` if there was none, or if the
            group was empty when it expired. No rule reads it.
        written: the offset of the next record to be written.
        read: the first offset that the group has not read and should. No rule reads it.
    """

    committed: tuple[int, ...] = NO_OFFSETS
    acknowledged: tuple[int, ...] = NO_OFFSETS
    written: tuple[int, ...] = NO_OFFSETS
    read: tuple[int, ...] = NO_OFFSETS

    @property
    def are_committed(self) -> bool:
        """Whether the coordinator knows an offset of a partition."""
        return any(offset != NO_OFFSET for offset in self.committed)

    def differ_from(self, positions: Sequence[int]) -> bool:
        """Return whether a commit of positions would change anything. A consumer that has read nothing commits none."""
        pairs = zip(positions, self.committed, strict=True)
        return any(position not in (NO_OFFSET, max(known, 0)) for position, known in pairs)

    def first_position(self, partition: int, bounds: Bounds) -> int:
        """Return where a consumer begins to read: at the committed offset, or where auto.offset.reset says."""
        if self.committed[partition] != NO_OFFSET:
            return self.committed[partition]
        return self.written[partition] if bounds.reset_to_latest else 0

    def beginning(self, positions: Sequence[int]) -> Offsets:
        """Return the offsets after a consumer has begun at its positions. What comes before the first one of a group
        that has committed nothing is not its to read.
        """
        known = zip(positions, self.acknowledged, strict=True)
        return self.reading([NO_OFFSET if acked != NO_OFFSET else position for position, acked in known])

    def reading(self, positions: Sequence[int]) -> Offsets:
        """Return the offsets after a consumer has read up to its positions."""
        return attrs.evolve(self, read=tuple(max(each) for each in zip(self.read, positions, strict=True)))

    def writing(self, partition: int) -> Offsets:
        """Return the offsets after a record was written to a partition."""
        return attrs.evolve(self, written=tuple(end + (n == partition) for n, end in enumerate(self.written)))

    def committing(self, positions: Sequence[int], *, stored: bool = True, answered: bool = True) -> Offsets:
        """Return the offsets after a commit.

        Parameters:
            positions: the offset to commit for each partition, or `NO_OFFSET`.
            stored: whether the coordinator keeps them.
            answered: whether the consumer is told that it does.
        """
        given = [position != NO_OFFSET for position in positions]
        committed = [new if has else old for new, old, has in zip(positions, self.committed, given, strict=True)]
        highest = [max(each) for each in zip(positions, self.acknowledged, strict=True)]
        return attrs.evolve(
            self,
            committed=tuple(committed) if stored else self.committed,
            acknowledged=tuple(highest) if answered else self.acknowledged,
        )

    def expired(self, *, in_use: bool) -> Offsets:
        """Return the offsets after all of them have expired. While the group is in use, it still counts on them."""
        nothing = (NO_OFFSET,) * len(self.committed)
        return attrs.evolve(self, committed=nothing, acknowledged=self.acknowledged if in_use else nothing)


def first_offsets(bounds: Bounds) -> Offsets:
    """Return the offsets of a group that has read nothing."""
    nothing = no_positions(bounds)
    return Offsets(nothing, nothing, (0,) * len(nothing), (0,) * len(nothing))


def no_positions(bounds: Bounds) -> tuple[int, ...]:
    """Return the positions of a consumer that owns nothing."""
    return (NO_OFFSET,) * bounds.partitions if bounds.records else NO_OFFSETS
