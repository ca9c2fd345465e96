"""The sizes at which the protocols in this folder are searched, and how many states they have there.

Each protocol is a file in the style of TLA+ specifications: messages in a set or a bag, functions as tuples, queues as
tuples. Most have a second one, `*_parts.py`, in which the same states are written as components.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attrs import field, frozen

HERE = Path(__file__).parent

EXAMPLES = "github.com/tlaplus/Examples, searched by TLC"
DIARY_01 = "github.com/Vanlightly/kafka-tlaplus, transactions diary 01, searched by TLC"
KIP_848 = "github.com/Vanlightly/kafka-tlaplus, groupprotocol v2, searched by TLC"
DIARY_02 = "github.com/Vanlightly/kafka-tlaplus, transactions diary 02, searched by TLC"
PULL_RAFT = "github.com/Vanlightly/raft-tlaplus, pull-raft, KRaft.tla, searched by TLC"
STATERIGHT = "github.com/stateright/stateright, its examples' tests"
OWN = "searched by the oracle"


@frozen
class Size:
    """A size of a protocol.

    Attributes:
        states: distinct states.
        depth: states on the longest of the shortest paths; None if the source does not give it.
        source: where the figures were published.
        bounds: the bounds that are not the spec's own.
        tlc: CPU seconds that TLC took with two workers, if that was measured.
    """

    states: int
    depth: int | None
    source: str
    bounds: Mapping[str, int] = field(factory=dict)
    tlc: float | None = None


@frozen
class Protocol:
    """A protocol.

    Attributes:
        name: its file, without `.py`.
        small: sizes for tests.
        large: sizes for the benchmark.
        has_parts: whether there is a file in parts as well.
    """

    name: str
    small: tuple[Size, ...]
    large: tuple[Size, ...] = ()
    has_parts: bool = True

    def files(self) -> tuple[str, ...]:
        """The file of each style, the one in TLA+'s style first."""
        names = (self.name, f"{self.name}_parts") if self.has_parts else (self.name,)
        return tuple(str(HERE / f"{name}.py") for name in names)


PROTOCOLS = (
    Protocol(
        "two_phase_commit",
        small=(Size(288, 11, EXAMPLES, {"rms": 3}), Size(8_832, 17, STATERIGHT, {"rms": 5})),
        large=(Size(296_448, 23, EXAMPLES, {"rms": 7}, tlc=10.2),),
    ),
    Protocol(
        "paxos",
        small=(Size(3_921, 17, EXAMPLES, {"values": 2, "max_ballot": 1}),),
        large=(
            Size(68_921, 25, EXAMPLES, {"max_ballot": 2}, tlc=9.0),
            Size(185_369, 25, EXAMPLES, {"values": 2, "max_ballot": 2}, tlc=24.0),
        ),
    ),
    Protocol(
        "kafka_init_pid",
        small=(Size(14, 8, DIARY_01, {"clients": 1}), Size(484, 18, DIARY_01, {"clients": 2})),
        has_parts=False,
    ),
    Protocol(
        "kafka_transactions",
        small=(
            Size(9, 9, DIARY_02, {"elections": 0}),
            Size(65, 14, DIARY_02, {"elections": 1}),
            Size(267, 19, DIARY_02, {"elections": 2}),
            Size(448, 22, OWN, {"elections": 0, "clients": 2}),
        ),
        has_parts=False,
    ),
    Protocol(
        "kafka_kip_848",
        small=(Size(17, 9, KIP_848, {"clients": 1}), Size(4_009, 26, KIP_848, {"clients": 2, "topics": 1})),
        has_parts=False,
    ),
    Protocol(
        "kafka_pull_raft",
        small=(
            Size(748, 17, PULL_RAFT, {"elections": 1, "values": 0}),
            Size(1_230, 27, PULL_RAFT, {"servers": 2}),
            Size(578, 25, PULL_RAFT, {"elections": 0, "values": 2, "diverged": True}),
        ),
        large=(Size(10_468, 30, PULL_RAFT, {"elections": 1}),),
        has_parts=False,
    ),
    Protocol(
        "paxos_commit",
        small=(Size(1_461, 15, OWN),),
        large=(Size(1_321_761, 28, EXAMPLES, {"rms": 2}, tlc=140.0),),
    ),
    Protocol(
        "ewd840",
        small=(Size(302, 9, EXAMPLES),),
        large=(Size(172_286, 21, EXAMPLES, {"nodes": 7}, tlc=10.0),),
    ),
    Protocol(
        "ewd998",
        small=(Size(6_876, 28, OWN),),
        large=(Size(1_520_618, 59, EXAMPLES, {"nodes": 3}, tlc=47.2),),
    ),
    Protocol(
        "lamport_mutex",
        small=(Size(10_209, 31, EXAMPLES, {"max_clock": 3}),),
        large=(Size(724_274, 61, EXAMPLES, {"max_clock": 6}, tlc=21.3),),
    ),
    Protocol(
        "chameneos",
        small=(Size(34_534, 13, EXAMPLES, {"creatures": 4, "meetings": 4}, tlc=2.7),),
        large=(Size(34_534, 13, EXAMPLES, {"creatures": 4, "meetings": 4}, tlc=2.7),),
    ),
    Protocol(
        "readers_writers",
        small=(Size(21_527, 13, EXAMPLES, {"actors": 3}),),
        large=(Size(21_527, 13, EXAMPLES, {"actors": 3}, tlc=2.3),),
        has_parts=False,
    ),
    Protocol(
        "stateright_paxos",
        small=(Size(16_668, None, STATERIGHT),),
        large=(Size(16_668, None, STATERIGHT),),
        has_parts=False,
    ),
    Protocol(
        "raft",
        small=(Size(502, 20, OWN),),
        large=(Size(71_675, 26, OWN, {"servers": 3}),),
        has_parts=False,
    ),
)
