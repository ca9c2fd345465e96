"""Lamport's consensus: at most one value is ever chosen.

Source: github.com/tlaplus/Examples, specifications/PaxosHowToWinATuringAward/Consensus.tla.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from leadline.checker import Spec, action

VALUES = ("v1", "v2")


@frozen
class Consensus:
    chosen: frozenset[str] = frozenset()


@action("{value} is chosen", value=VALUES)
def choose(state: Consensus, value: str) -> Iterator[Consensus]:
    if not state.chosen:
        yield Consensus(frozenset({value}))


spec = Spec(name="consensus", initial_states=lambda bounds: [Consensus()], actions=[choose])
