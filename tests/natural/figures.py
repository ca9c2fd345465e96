"""The sizes at which the ports in this folder are searched, and the counts that were published for them.

Each port is written from the published text, in the words of leadline. Its docstring names the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attrs import field, frozen

HERE = Path(__file__).parent


@frozen
class Size:
    """A port at some size.

    Attributes:
        name: its file, without `.py`.
        states: the distinct states.
        published: whether the source gives this number. Otherwise it is that of the oracle.
        bounds: the bounds that are not the spec's own.
        properties: the properties to check; by default, all.
    """

    name: str
    states: int
    published: bool
    bounds: Mapping[str, int] = field(factory=dict)
    properties: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """The file of the port."""
        return str(HERE / f"{self.name}.py")


SMALL = (
    Size("allocator", 1_690, True),
    Size("simple_allocator", 400, True),
    Size("byzantine_broadcast", 14_424, True),
    Size("chang_roberts", 137, True),
    Size("coffee_can", 5_150, True),
    Size("commitment", 3_016, True),
    Size("majority", 2_733, True),
    Size("token_ring", 256, False, {"nodes": 4, "values": 4}),
    Size("simple_regular", 2_524, False, {"n": 5}),
    Size("nano", 3_003, True, {"hashes": 3}),
    Size("queens", 785, False),
    Size("counters", 1_000, False, {"counters": 3}),
    Size("quicksort", 4_548, True),
    Size("vertices", 632, False, {"rounds": 2}),
    Size("voting", 6_752, True, {"ballots": 3}),
    Size("paxos", 3_921, True),
    Size("philosophers", 67, True),
    Size("crdt", 2_616, True),
    Size("non_blocking_commit", 4_284, True),
)
"""Sizes for tests."""

LARGE = (
    Size("bakery", 655_200, True),
    Size("byzantine_broadcast", 14_424, True),
    Size("coffee_can", 501_500, True, {"beans": 1_000}),
    Size("disruptor", 112_929, True),
    Size("klotski", 25_955, False, {}, ("type_ok",)),
    Size("majority", 339_531, False, {"longest": 9}),
    Size("nano", 552_991, False),
    Size("simple_regular", 277_726, True),
    Size("token_ring", 46_656, True),
    Size("token_ring", 823_543, False, {"nodes": 7, "values": 7}),
    Size("counters", 1_000_000, False, {}, ("conjunction",)),
    Size("quicksort", 42_908, False, {"length": 5}),
    Size("vertices", 100_605, False),
)
"""Sizes for the benchmark."""

LOADED = ("klotski", "token_ring")
"""Ports that the benchmark also searches while other processes use all cores: learning pays in one of them only."""
