"""Assigns each state to a shard by a hash of the value indices in its slots.

The hash does not depend on the packing, so a state stays in its shard when the packing changes. It is not Python's
`hash`, which differs between processes.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,import-untyped,misc"

from __future__ import annotations

import itertools
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.learning.packing import Packing

_HALF = np.uint64(32)


def weights(slots: int) -> NDArray[np.uint64]:
    """Return a random odd factor for each slot, for multiply-shift hashing. The factors are the same in every process.

    See Dietzfelbinger, "Universal hashing and k-wise independent random variables via integer arithmetic without
    primes", 1996.
    """
    drawn = np.random.Generator(np.random.PCG64(320)).integers(0, 2**63, slots, np.uint64)
    return drawn * np.uint64(2) + np.uint64(1)


def shards_of(states: NDArray[np.uint64], packing: Packing, shards: int) -> NDArray[np.uint16]:
    """Return, for each packed state, the index of its shard."""
    found: NDArray[np.uint16] = np.empty(len(states), np.uint16)
    factors = weights(len(packing.word))
    _shards_of(states, packing.word, packing.shift, packing.mask, factors, np.uint64(shards), found)
    return found


def by_shard(columns: dict[str, NDArray[Any]], packing: Packing, shards: int) -> list[dict[str, NDArray[Any]]]:
    """Divide the rows of the given columns among the shards, according to the column ``state``. Within a shard, the
    rows keep their order.
    """
    owners = shards_of(columns["state"], packing, shards)
    order = np.argsort(owners, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=shards))])
    return [
        {name: column[order[first:last]] for name, column in columns.items()}
        for first, last in itertools.pairwise(ends)
    ]


@numba.njit(cache=True, nogil=True)
def _shards_of(states, word, shift, mask, factors, shards, found):
    for index in range(len(states)):
        mixed = np.uint64(0)
        for slot in range(len(word)):
            mixed += ((states[index, word[slot]] >> shift[slot]) & mask[slot]) * factors[slot]
        mixed ^= mixed >> _HALF
        mixed *= np.uint64(0xFF51AFD7ED558CCD)
        found[index] = ((mixed >> _HALF) * shards) >> _HALF
