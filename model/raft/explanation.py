"""Explain a trace of KRaft's quorum: who begins elections, who is elected by whom, and whose belief is out of date."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leadline.checker.action import Step
from leadline.checker.drawing import Event
from leadline.model.raft.state import CANDIDATE, FOLLOWER, HALTED, LEADER, NONE, PROSPECTIVE, RESIGNED, Node, Quorum

DISTURBANCES = {
    "restart": ("node {own} restarts and knows no high watermark", "restarted"),
    "lose_power": ("node {own} loses power, and the records that it had not flushed", "power lost"),
    "replace_disk": ("node {own} gets an empty disk: it forgets its epoch, its vote and its log", "disk replaced"),
    "cut_log": ("node {own} starts, and its log is cut before its last record", "cut"),
    "lose_file": ("node {own} cannot read its quorum-state file", "file lost"),
    "change_configuration": ("node {own} starts without voter {other} in its configuration", "configured"),
    "die": ("node {own} stops for ever", "dead"),
    "resign": ("node {own} resigns, and says that it leads until its epoch ends", "resigned"),
    "cut_link": ("messages from node {own} no longer reach node {other}", "link cut"),
    "restore_link": ("messages from node {own} reach node {other} again", "link restored"),
    "change_voters": ("leader {own} adds or removes node {other}", "voters"),
    "leave": ("leader {own} resigns, because it was removed", "resigned"),
    "take_snapshot": ("node {own} takes a snapshot", "snapshot"),
    "delete_segments": ("node {own} deletes records from its log", "deleted"),
    "check_quorum": ("no majority fetches from node {own}, and it resigns", "resigned"),
}
"""What steps of actions mean: a sentence and a label, keyed by the name of the action."""


def node_row(number: int) -> str:
    """Return the name of a node's row."""
    return f"node {number}"


def events(steps: Sequence[Step[Quorum]]) -> Iterator[Event]:
    """Yield the events that decide the outcome of a trace."""
    for at, step in enumerate(steps, start=1):
        if step.action in DISTURBANCES:
            text, label = DISTURBANCES[step.action]
            yield Event(at, text.format(**step.arguments), label)
        for number in range(step.after.bounds.nodes):
            for text, label, good in _of_node(step, number):
                yield Event(at, text, label, good)
        if len(step.after.committed) > len(step.before.committed):
            count = len(step.after.committed)
            yield Event(at, f"{count} {'record is' if count == 1 else 'records are'} committed", "committed", True)


def _of_node(step: Step[Quorum], number: int) -> Iterator[tuple[str, str, bool]]:
    was, now = step.before.nodes[number], step.after.nodes[number]
    if now.role == HALTED != was.role:
        yield f"node {number} stops by itself: {_why_halted(step, number)}", "stopped", False
        return
    if was.role in (LEADER, RESIGNED) and now.role not in (LEADER, RESIGNED, HALTED) and now.epoch > was.epoch:
        yield f"node {number} learns of epoch {now.epoch}: it has led epoch {was.epoch} no longer", "deposed", False
    if now.role == LEADER != was.role:
        voters = sorted({number, *was.granted, *([step.arguments["other"]] if "other" in step.arguments else [])})
        yield (
            f"node {number} leads epoch {now.epoch}, with the votes of {voters}{_stale(step, number)}",
            "elected",
            True,
        )
    elif now.role in (CANDIDATE, PROSPECTIVE) and now.role != was.role and step.action.startswith("time_out"):
        knows = f", although node {was.leader} leads it" if _believes(step.before, was) else ""
        yield f"node {number} begins an election in epoch {now.epoch}{knows}", "", False
    if now.start > was.start and step.action == "fetch":
        yield f"the log of node {number} starts anew with the snapshot of its leader, at {now.start}", "", True
    elif len(now.log) < len(was.log) and now.role == was.role == FOLLOWER:
        yield f"node {number} truncates its log from {len(was.log)} to {len(now.log)} records", "truncated", False


def _believes(state: Quorum, node: Node) -> bool:
    return node.leader != NONE and state.nodes[node.leader].role == LEADER


def _stale(step: Step[Quorum], number: int) -> str:
    """Say who still believes that it leads an earlier epoch, or the same one."""
    epoch = step.after.nodes[number].epoch
    others = [
        f"node {other} still believes that it leads epoch {node.epoch}"
        for other, node in enumerate(step.after.nodes)
        if other != number and node.role == LEADER and node.epoch <= epoch
    ]
    return "; " + " and ".join(others) if others else ""


def _why_halted(step: Step[Quorum], number: int) -> str:
    was = step.before.nodes[number]
    other = step.arguments["other"] if step.arguments["own"] == number else step.arguments["own"]
    source = step.before.nodes[other]
    if step.action == "ask_vote" and was.last_epoch >= was.epoch:
        return f"it voted for itself in epoch {was.epoch}, has a record of that epoch, and its request is invalid"
    if step.action == "fetch" and step.after.nodes[number].stored != was.stored:
        return (
            f"node {other} has deleted the records that it lacks and sends a snapshot that ends in epoch "
            f"{source.epoch_before(source.snapshot)}, before its last record of epoch {was.last_epoch}"
        )
    if step.action == "fetch" and was.unreachable:
        return f"its file names leader {was.leader}, which its voters lack, and it asks that leader who leads"
    if source.leader == number:
        return f"node {other} believes that node {number} leads epoch {source.epoch}, which has forgotten it"
    if source.epoch == was.epoch and source.leader != was.leader and was.leader != NONE:
        return (
            f"it believes that node {was.leader} leads epoch {was.epoch}, and node {other} names node {source.leader}"
        )
    return f"it knows the high watermark {was.high_watermark}, which the log of node {other} contradicts"
