"""The states of a search in files. A level records the locations and the order of its states."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.compiled.storage import Block, Storage
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.errors import Damaged
from leadline.checker.support.durable import sealed_json, unsealed_json


@attrs.frozen
class Part:
    """Consecutive states of a level that were first reached from the same part of the previous level.

    Attributes:
        blocks: for each shard, a block with the states first reached from that part of the previous level. A block has
            these columns: ``state``; ``position``, its position among the states of all these blocks; ``parent``, the
            index of its predecessor in that part of the previous level; and ``arrival``, the action instance that leads
            from the predecessor to the state.
        first, last: the range of this part's positions; `last` is excluded.
    """

    blocks: list[Block]
    first: int
    last: int


@attrs.frozen
class Level:
    """Consecutive states of a search, in the order in which the oracle finds them. On Spark, these are the states of a
    level; otherwise, the states that were found between two points at which the search was saved.

    Attributes:
        bases: for each part of the states from which these were reached, the index of its first state.
        blocks: for each of these parts and each shard, a block with the shard's new states that were first reached from
            this part.
    """

    bases: list[int]
    blocks: list[list[Block]]

    @functools.cached_property
    def starts(self) -> list[int]:
        """For each part of the previous level, the index of the first state that was reached from it. The last entry is
        the total number of states.
        """
        rows = (sum(block.rows for block in blocks) for blocks in self.blocks)
        return list(itertools.accumulate(rows, initial=0))

    @property
    def count(self) -> int:
        """The number of states in the level."""
        return self.starts[-1]

    def parts(self, first: int, last: int) -> list[Part]:
        """Return the parts that contain the states with the indices from `first` to `last`, in order; `last` is
        excluded.
        """
        return [
            Part(self.blocks[source], max(first, start) - start, min(last, end) - start)
            for source, (start, end) in enumerate(itertools.pairwise(self.starts))
            if max(first, start) < min(last, end)
        ]

    def sources(self) -> list[Part]:
        """For each part of the previous level, the states first reached from it."""
        counts = (end - start for start, end in itertools.pairwise(self.starts))
        return [Part(blocks, 0, count) for blocks, count in zip(self.blocks, counts, strict=True)]

    def dumped(self) -> bytes:
        """Return the level as JSON with a checksum. The JSON contains the locations of the states, not the states."""
        return sealed_json(attrs.asdict(self))

    @classmethod
    def loaded(cls, storage: Storage, name: str) -> Level:
        """Read a level from a file. Raise Damaged if the file is missing or was changed."""
        data = storage.read_bytes(name)
        try:
            found = unsealed_json(data, storage.path(name))
            return cls(found["bases"], [[Block(**block) for block in blocks] for blocks in found["blocks"]])
        except (ValueError, KeyError, TypeError) as error:
            raise Damaged(f"{storage.path(name)} is damaged: {error}") from error


def read_states(storage: Storage, block: Block, packing: Packing) -> dict[str, NDArray[Any]]:
    """Return the columns of a block. If its states were written with a different packing, convert them to the given
    packing.
    """
    columns, own = storage.read(block)
    if not own.is_same(packing):
        columns["state"] = own.repack(columns["state"], packing)
    return columns


def read_part(storage: Storage, part: Part, packing: Packing) -> dict[str, NDArray[Any]]:
    """Return the columns of a part, with its states in the order of discovery."""
    filled = [block for block in part.blocks if block.rows] or part.blocks[:1]
    return in_order([read_states(storage, block, packing) for block in filled], part)


def in_order(blocks: Sequence[dict[str, NDArray[Any]]], part: Part) -> dict[str, NDArray[Any]]:
    """Merge the blocks of all shards, sort the rows by position, and return the rows of one part."""
    order = np.argsort(np.concatenate([block["position"] for block in blocks]), kind="stable")[part.first : part.last]
    return {name: np.concatenate([block[name] for block in blocks])[order] for name in blocks[0]}


def split(count: int, parts: int) -> list[tuple[int, int]]:
    """Divide `count` states into parts of about equal size. Return the range of each part; its end is excluded."""
    ends = [count * part // parts for part in range(parts + 1)]
    return list(itertools.pairwise(ends))
