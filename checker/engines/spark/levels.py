"""Levels: in which blocks the states of a level are, and in which order they were discovered."""

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
    """States of a level that follow one another, all found from one part of the level before.

    Attributes:
        blocks: of each shard; a row is a state, with its ``position`` among all that the part found, its
            ``parent`` in the part, and its ``arrival``, the action instance.
        first, last: which of the states in these blocks, by position.
    """

    blocks: list[Block]
    first: int
    last: int


@attrs.frozen
class Level:
    """A level's states, in the order in which plain breadth-first search discovers them.

    Attributes:
        bases: for each part of the level before, the number of its first state there.
        blocks: for each such part, and then for each shard, the states that were new.
    """

    bases: list[int]
    blocks: list[list[Block]]

    @functools.cached_property
    def starts(self) -> list[int]:
        """The number of the first state that each part found; at the end, how many states there are."""
        rows = (sum(block.rows for block in blocks) for blocks in self.blocks)
        return list(itertools.accumulate(rows, initial=0))

    @property
    def count(self) -> int:
        """How many states there are."""
        return self.starts[-1]

    def parts(self, first: int, last: int) -> list[Part]:
        """Where the states from a number up to the last are, in order."""
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
        """A level from a file. Raises Damaged: it is missing, or not as it was written."""
        data = storage.read_bytes(name)
        try:
            found = unsealed_json(data, storage.path(name))
            return cls(found["bases"], [[Block(**block) for block in blocks] for blocks in found["blocks"]])
        except (ValueError, KeyError, TypeError) as error:
            raise Damaged(f"{storage.path(name)} is damaged: {error}") from error


def read_states(storage: Storage, block: Block, packing: Packing) -> dict[str, NDArray[Any]]:
    """A block's columns, its states packed as is asked for, however they were packed when they were written."""
    columns, sizes = storage.read(block)
    if sizes != packing.sizes:
        columns["state"] = Packing(sizes).repack(columns["state"], packing)
    return columns


def read_part(storage: Storage, part: Part, packing: Packing) -> dict[str, NDArray[Any]]:
    """The columns of a part, in the order of discovery."""
    return in_order([read_states(storage, block, packing) for block in part.blocks if block.rows], part)


def in_order(blocks: Sequence[dict[str, NDArray[Any]]], part: Part) -> dict[str, NDArray[Any]]:
    """Merge the blocks of all shards by position, and take the rows of a part."""
    order = np.argsort(np.concatenate([block["position"] for block in blocks]), kind="stable")[part.first : part.last]
    return {name: np.concatenate([block[name] for block in blocks])[order] for name in blocks[0]}


def split(count: int, parts: int) -> list[tuple[int, int]]:
    """So many states in parts of equal size, as their first and their last."""
    ends = [count * part // parts for part in range(parts + 1)]
    return list(itertools.pairwise(ends))
