"""The levels of a search: the blocks that hold the states of a level, and the order of their discovery."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.spark.storage import Block, Storage
from leadline.checker.errors import Damaged
from leadline.checker.support.durable import sealed_json, unsealed_json


@attrs.frozen
class Part:
    """Consecutive states of a level that were all found from one part of the previous level.

    Attributes:
        blocks: one for each shard. A row is a state, with its ``position`` among all states that the part found, its
            ``parent`` in the part, and its ``arrival``, the action instance.
        first, last: the range of states, ordered by position; `last` is excluded.
    """

    blocks: list[Block]
    first: int
    last: int


@attrs.frozen
class Level:
    """The states of a level, in the order in which plain breadth-first search discovers them.

    Attributes:
        bases: for each part of the previous level, the number of its first state in that level.
        blocks: for each such part, and in it for each shard, the new states.
    """

    bases: list[int]
    blocks: list[list[Block]]

    @functools.cached_property
    def starts(self) -> list[int]:
        """The number of the first state that each part found; the last item is the number of states."""
        rows = (sum(block.rows for block in blocks) for blocks in self.blocks)
        return list(itertools.accumulate(rows, initial=0))

    @property
    def count(self) -> int:
        """The number of states."""
        return self.starts[-1]

    def parts(self, first: int, last: int) -> list[Part]:
        """The parts that hold the states with the numbers from `first` up to, but not including, `last`, in order."""
        return [
            Part(self.blocks[source], max(first, start) - start, min(last, end) - start)
            for source, (start, end) in enumerate(itertools.pairwise(self.starts))
            if max(first, start) < min(last, end)
        ]

    def dumped(self) -> bytes:
        """The level as JSON, with a checksum."""
        return sealed_json(attrs.asdict(self))

    @classmethod
    def loaded(cls, storage: Storage, name: str) -> Level:
        """Read a level from a file. Raises Damaged if the file is missing or damaged."""
        data = storage.read_bytes(name)
        try:
            found = unsealed_json(data, storage.path(name))
            return cls(found["bases"], [[Block(**block) for block in blocks] for blocks in found["blocks"]])
        except (ValueError, KeyError, TypeError) as error:
            raise Damaged(f"{storage.path(name)} is damaged: {error}") from error


def read_states(storage: Storage, block: Block, packing: Packing) -> dict[str, NDArray[Any]]:
    """The columns of a block, with its states repacked to the given packing if they were written with another."""
    columns, sizes = storage.read(block)
    if sizes != packing.sizes:
        columns["state"] = Packing(sizes).repack(columns["state"], packing)
    return columns


def read_part(storage: Storage, part: Part, packing: Packing) -> dict[str, NDArray[Any]]:
    """The columns of a part, in the order of discovery."""
    return in_order([read_states(storage, block, packing) for block in part.blocks if block.rows], part)


def in_order(blocks: Sequence[dict[str, NDArray[Any]]], part: Part) -> dict[str, NDArray[Any]]:
    """Merge the blocks of all shards by position, and select the rows of a part."""
    order = np.argsort(np.concatenate([block["position"] for block in blocks]), kind="stable")[part.first : part.last]
    return {name: np.concatenate([block[name] for block in blocks])[order] for name in blocks[0]}


def split(count: int, parts: int) -> list[tuple[int, int]]:
    """Divide `count` states into parts of equal size; returns the half-open range of each part."""
    ends = [count * part // parts for part in range(parts + 1)]
    return list(itertools.pairwise(ends))
