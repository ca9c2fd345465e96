"""The observable part of a state of the `quorum` family. Its form is the same for the model and for Kafka's classes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from leadline.model.raft.drawing import text_of
from leadline.model.raft.explanation import node_row
from leadline.model.raft.state import (
    DEAD,
    HALTED,
    LEADER,
    NONE,
    RESIGNED,
    STOPPED,
    UNATTACHED,
    Node,
    Quorum,
    Record,
    numbers,
)

_ROLES = {"voted": UNATTACHED}
"""Names of roles that Kafka has, and the model has not. To 3.8, a node that has voted was in a role of its own."""


@attrs.frozen
class SeenNode:
    """The observable part of a node. Nothing but the role is compared of a node that has stopped.

    Attributes:
        file: the epoch, leader and vote in its quorum-state file.
        log: the records that were not deleted.
        start, snapshot, oldest: the offsets at which its log starts, and its latest and earliest snapshots end.
        high_watermark: the high watermark of its log, 0 since a start.
        announced: the high watermark that a leader tells others, 0 if none, or None in other roles.
        voters: the voters that it knows, or None if that is not compared.
        told: whether its controller has been told that it leads, or None if that is not compared.
        reason: why a real node has stopped by itself, or an empty string.
    """

    role: str
    epoch: int = 0
    leader: int = NONE
    file: tuple[int, int, int] = (0, NONE, NONE)
    log: tuple[str, ...] = ()
    start: int = 0
    snapshot: int = 0
    oldest: int = 0
    high_watermark: int = 0
    announced: int | None = None
    voters: tuple[int, ...] | None = None
    told: bool | None = None
    reason: str = attrs.field(default="", eq=False)

    def __str__(self) -> str:
        if self.role in STOPPED:
            return f"{self.role}{': ' if self.reason else ''}{self.reason}"
        log, leader = " ".join(self.log) or "-", _name(self.leader)
        epoch, named, vote = self.file
        on_disk = f"file {epoch} leader {_name(named)} vote {_name(vote)}"
        told = ", its controller is told" if self.told else ""
        announced = "" if self.announced is None else f", announced {self.announced}"
        voters = "" if self.voters is None else f", voters {' '.join(map(str, self.voters))}"
        since = f", from {self.start}, snapshots to {self.oldest} and {self.snapshot}" if self.snapshot else ""
        marks = f"HW {self.high_watermark}{announced}{voters}{told}{since}"
        return f"{self.role}, epoch {self.epoch}, leader {leader}, {on_disk}, log {log}, {marks}"


@attrs.frozen
class ObservedQuorum:
    """The observable part of a state: that of each node."""

    nodes: tuple[SeenNode, ...]

    @property
    def columns(self) -> dict[str, str]:
        """The observed state as text for each row in the drawing of a state, keyed by the name of the row."""
        return {node_row(number): str(node) for number, node in enumerate(self.nodes)}

    @property
    def as_object(self) -> dict[str, Any]:
        """The observed state as an object for `json.dumps`."""
        return {"nodes": [attrs.asdict(node) for node in self.nodes]}


def observed_state(state: Quorum) -> ObservedQuorum:
    """Return the observable part of a model state."""
    return ObservedQuorum(tuple(_of_model(state, number, node) for number, node in enumerate(state.nodes)))


def _of_model(state: Quorum, number: int, node: Node) -> SeenNode:
    if node.role in STOPPED:
        return SeenNode(node.role)
    ends = node.snapshots if node.stored is None else (*node.snapshots, node.stored[1])
    return SeenNode(
        node.role,
        node.epoch,
        node.leader,
        (node.epoch, node.leader, node.vote),
        tuple(map(text_of, node.log[node.start :])),
        node.start,
        ends[-1] if ends else 0,
        min(ends, default=0),
        max(node.high_watermark, node.start),
        state.protocol.announces(node) if node.role == LEADER else None,
        tuple(numbers(state.voters(number))) if state.bounds.dynamic else None,
        None if node.role == RESIGNED and not node.restarted else state.protocol.is_told(node),
    )


def observed_in(observed: Mapping[int, dict[str, Any]], count: int) -> ObservedQuorum:
    """Return the observable part of the real nodes.

    Parameters:
        observed: the result of `Controllers.observed`.
        count: the number of nodes.
    """
    return ObservedQuorum(tuple(_real(observed.get(number)) for number in range(count)))


def _real(seen: dict[str, Any] | None) -> SeenNode:
    if seen is None:
        return SeenNode(DEAD)
    if seen["halted"]:
        return SeenNode(HALTED, reason=seen["halted"])
    role = str(seen["role"]).lower()
    file = json.loads(seen["file"] or "{}")
    return SeenNode(
        _ROLES.get(role, role),
        seen["epoch"],
        seen["leader"],
        (file.get("leaderEpoch", 0), file.get("leaderId", NONE), file.get("votedId", NONE)),
        tuple(map(_record, seen["log"])),
        seen["start"],
        seen["snapshot"],
        seen["oldest"],
        _records_below(seen, "high_watermark"),
        _records_below(seen, "announced") if role == LEADER else None,
        tuple(sorted(seen["voters"])) if "voters" in seen else None,
        seen["told"],
    )


def _records_below(seen: dict[str, Any], mark: str) -> int:
    """Return how many records are below a high watermark. An epoch may begin with several, which count as one."""
    below = sum(record["offset"] < seen[mark] for record in seen["log"])
    return below + int(seen["start"]) if seen[mark] > 0 else 0


def _record(seen: dict[str, Any]) -> str:
    if "voters" in seen:
        return text_of(Record(seen["epoch"], NONE, voters=frozenset((each, 0) for each in seen["voters"])))
    if "leader" in seen:
        return text_of(Record(seen["epoch"], seen["leader"]))
    return f"{seen.get('value', '?')}@{seen['epoch']}"


def differences(model: ObservedQuorum, real: ObservedQuorum) -> list[str]:
    """Return a sentence for each node that differs between Kafka's classes and the model."""
    return list(_differences(model, real))


def _differences(model: ObservedQuorum, real: ObservedQuorum) -> Iterator[str]:
    for number, (expected, seen) in enumerate(zip(model.nodes, real.nodes, strict=True)):
        told = seen.told if expected.told is not None else None
        voters = seen.voters if expected.voters is not None else None
        if attrs.evolve(seen, told=told, voters=voters) != expected:
            yield f"node {number}: {seen}; in the model: {expected}"


def _name(number: int) -> str:
    return "-" if number == NONE else str(number)
