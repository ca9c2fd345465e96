"""Describe states and traces of KRaft's quorum as rows, messages and events, for diagrams and tables."""

from __future__ import annotations

from collections.abc import Iterator

from leadline.checker.action import Step
from leadline.checker.drawing import Cell, Drawing, Mark, Message, Row
from leadline.model.raft.explanation import events, node_row
from leadline.model.raft.state import NONE, PROSPECTIVE, Log, Node, Quorum, Record

LINKS = "links"
COMMITTED = "committed"


def text_of(record: Record) -> str:
    """Return a record as in drawings: ``L0@1`` begins epoch 1 of node 0, and ``m0@1`` is the first value."""
    if record.voters is not None:
        names = ",".join(f"{number}{'+' * directory}" for number, directory in sorted(record.voters))
        return f"V{names}@{record.epoch}"
    return f"L{record.leader}@{record.epoch}" if record.value == NONE else f"m{record.value}@{record.epoch}"


def rows(state: Quorum) -> dict[str, Row]:
    """Return the rows of the nodes, of what was committed, and of links that are cut, keyed by name."""
    found = {node_row(number): _node(state, number) for number in range(state.bounds.nodes)}
    found[COMMITTED] = Row(columns={"log": _log(state.committed, 0)}, cells=_cells(state.committed))
    if state.cut:
        found[LINKS] = Row(badges=[f"{a} cannot reach {b}" for a, b in sorted(state.cut)])
    return found


def _node(state: Quorum, number: int) -> Row:
    node = state.nodes[number]
    leader, vote = (str(each) if each != NONE else "-" for each in (node.leader, node.vote))
    granted = " ".join(map(str, sorted(node.granted)))
    kind = "pre-votes" if node.role == PROSPECTIVE else "votes"
    return Row(
        badges=[node.role, f"epoch {node.epoch}", f"leader {leader}", *([f"{kind} of {granted}"] if granted else [])],
        standing=[f"on disk: epoch {node.epoch}, {_file(node)}", *_unlisted(node)],
        columns={
            "role": node.role,
            "epoch": str(node.epoch),
            "leader": leader,
            "vote": vote,
            "granted": granted or "-",
            "log": _log(node.log, node.high_watermark),
            **({"not configured": " ".join(map(str, sorted(node.unlisted)))} if state.bounds.configurations else {}),
            **({"start, snapshots": _start(node)} if state.bounds.snapshots else {}),
            "HW": str(node.high_watermark) if node.high_watermark else "?",
        },
        cells=_cells(node.log),
        marks=[*([Mark("HW", node.high_watermark)] if node.high_watermark else []), *_snapshot(node)],
        up=node.is_up,
    )


def _start(node: Node) -> str:
    return f"{node.start}, {' '.join(map(str, node.snapshots)) or '-'}"


def _snapshot(node: Node) -> list[Mark]:
    found = {"snapshot": node.snapshot, "start": node.start}
    return [Mark(name, offset) for name, offset in found.items() if offset]


def _unlisted(node: Node) -> list[str]:
    return [f"not configured: {', '.join(map(str, sorted(node.unlisted)))}"] if node.unlisted else []


def _file(node: Node) -> str:
    vote = "" if node.vote == NONE else f"voted for {node.vote}"
    leader = "" if node.leader == NONE else f"leader {node.leader}"
    return ", ".join(each for each in (leader, vote) if each) or "no leader"


def _cells(log: Log) -> tuple[Cell, ...]:
    return tuple(Cell(text_of(record), f"epoch {record.epoch}", record.epoch) for record in log)


def _log(log: Log, high_watermark: int) -> str:
    parts = [text_of(record) for record in log]
    if high_watermark:
        parts.insert(high_watermark, "┃")
    return " ".join(parts) or "-"


def arrivals(step: Step[Quorum]) -> Iterator[Message]:
    """Yield the request that a step delivers."""
    if step.action not in ("ask_vote", "begin_epoch", "fetch"):
        return
    own, other = step.arguments["own"], step.arguments["other"]
    node = step.before.nodes[own]
    kind = {"ask_vote": "Vote", "begin_epoch": "BeginQuorumEpoch", "fetch": "Fetch"}[step.action]
    kind = "pre-vote" if kind == "Vote" and node.role == PROSPECTIVE else kind
    yield Message(
        node_row(own), node_row(other), f"{kind}@{node.epoch}", f"log of {len(node.log)}, last epoch {node.last_epoch}"
    )


DRAWING = Drawing(
    rows=rows,
    arrivals=arrivals,
    events=events,
    legend="L0@1: the record with which node 0 begins epoch 1; m0@1: a value that was appended in epoch 1; V0,1@1: "
    "voters from there on; ┃ and HW: "
    "the high watermark that a node knows, ? if it knows none; vote: for whom a node voted in its epoch; start: "
    "where its log starts, whose records before are only in its snapshot",
)
