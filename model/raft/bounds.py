"""The bounds of a search of KRaft's quorum, and counters for the perturbations that have happened so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import attrs

from leadline.checker.bounds import bound, check
from leadline.checker.identities import identity

NodeId = Annotated[int, identity("node")]
"""The number of a node. A search with symmetry permutes these numbers."""

NO_LIMIT = -1
"""The value of `Bounds.early` with which time-outs pass at any time, and are not counted."""


@attrs.frozen
class Bounds:
    """The limits that make the state space finite. They limit what disturbs the quorum, but not what it does then."""

    nodes: int = bound(3, "controllers", at_least=1, at_most=5)
    observers: int = bound(0, "controllers, the last ones, that are no voters at first", at_least=0, at_most=4)
    dynamic: bool = bound(
        False, "kraft.version 1: voters are in the log, and known by their directories, too (KIP-853)"
    )
    changes: int = bound(0, "voters that are added or removed, with kraft.version 1", at_least=0, at_most=9)
    max_epoch: int = bound(2, "the last epoch in which an election may begin", at_least=1, at_most=9)
    values: int = bound(1, "records that leaders append, besides those that begin their epochs", at_least=0, at_most=9)
    early: int = bound(
        NO_LIMIT, "time-outs that pass although messages would still arrive; -1: any", at_least=NO_LIMIT, at_most=9
    )
    restarts: int = bound(0, "restarts of nodes", at_least=0, at_most=9)
    resignations: int = bound(0, "leaders that resign, as when their controller fails", at_least=0, at_most=9)
    power_losses: int = bound(0, "restarts that lose what was not flushed", at_least=0, at_most=9)
    disks: int = bound(0, "nodes that lose their disk, and start with an empty one", at_least=0, at_most=9)
    cuts: int = bound(0, "logs that are cut at a start, as at a record with a wrong checksum", at_least=0, at_most=9)
    files: int = bound(0, "quorum-state files that become unreadable", at_least=0, at_most=9)
    configurations: int = bound(0, "starts with one voter less in controller.quorum.voters", at_least=0, at_most=9)
    snapshots: int = bound(0, "snapshots that nodes take of what is committed", at_least=0, at_most=9)
    deaths: int = bound(0, "nodes that stop for ever", at_least=0, at_most=9)
    links: int = bound(0, "directions of links that are cut, and may be restored", at_least=0, at_most=9)

    @check("observers < nodes")
    def _some_voters(self) -> bool:
        return self.observers < self.nodes

    @check("dynamic=true if there are changes")
    def _changes_are_dynamic(self) -> bool:
        return self.dynamic or not self.changes

    @check("dynamic=false if configurations change")
    def _configurations_are_static(self) -> bool:
        return not (self.dynamic and self.configurations)


@attrs.frozen(cache_hash=True)
class Spent:
    """How often each perturbation that `Bounds` limits has happened."""

    changes: int = 0
    early: int = 0
    restarts: int = 0
    resignations: int = 0
    power_losses: int = 0
    disks: int = 0
    cuts: int = 0
    files: int = 0
    configurations: int = 0
    snapshots: int = 0
    deaths: int = 0
    links: int = 0


def nodes(bounds: Bounds) -> Sequence[int]:
    """Return the nodes, numbered from 0."""
    return range(bounds.nodes)


def voters_at_first(bounds: Bounds) -> Sequence[int]:
    """Return the nodes that are voters at first. They are interchangeable."""
    return range(bounds.nodes - bounds.observers)
