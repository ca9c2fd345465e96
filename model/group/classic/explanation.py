"""Explain a trace of the classic protocol: who was removed, who believes what, and who waits for whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leadline.checker.action import Step
from leadline.checker.drawing import Event
from leadline.model.group.classic.state import COMPLETING, DOWN, PREPARING, STABLE, Classic
from leadline.model.group.perturbed import NONE, C, Perturbed

DISTURBANCES = {
    "crash": ("consumer {client} crashes; the coordinator learns that only from its session", "crashed"),
    "pause": ("consumer {client} is paused; it goes on to believe that it owns its partitions", "paused"),
    "mute": ("consumer {client} does not send SyncGroup; its heartbeat thread runs on", "mute"),
    "leave": ("consumer {client} leaves the group", "left"),
    "rejoin": ("consumer {client}, the leader, joins again", "rejoins"),
    "fail_over": ("another broker becomes coordinator and reads what was persisted", "failover"),
    "send_commit": ("consumer {client} sends a commit, which is delayed", "delayed"),
    "lose_commit": ("a commit of consumer {client} is lost with the coordinator that has it", "lost"),
    "expire_offsets": ("the committed offsets expire", "expired"),
    "resume": ("consumer {client} goes on, with what it believed before", "resumed"),
    "expire_session": ("the session of a member of consumer {client} expires", "expired"),
    "time_out_join": (
        "the rebalance time-out passes: the join phase ends without those that have not joined",
        "timed out",
    ),
    "time_out_sync": ("members that have not sent SyncGroup are removed", "timed out"),
}
"""What steps of actions mean: a sentence and a label, keyed by the name of the action."""


def events(steps: Sequence[Step[Classic]]) -> Iterator[Event]:
    """Yield the events that decide the outcome of a trace."""
    for at, step in enumerate(steps, start=1):
        for text, label, good in _of(step):
            yield Event(at, text, label, good)


def answers_lost(before: Perturbed[C], after: Perturbed[C]) -> Iterator[tuple[str, str, bool]]:
    """Yield an event for each commit that is acknowledged, but that no coordinator knows."""
    was, now = before.offsets.acknowledged, after.offsets
    for partition, (old, new, known) in enumerate(zip(was, now.acknowledged, now.committed, strict=True)):
        if new > max(old, known):
            yield f"offset {new} of partition {partition} is acknowledged, and no coordinator knows it", "lost", False


def _of(step: Step[Classic]) -> Iterator[tuple[str, str, bool]]:
    before, after = step.before, step.after
    if step.action in DISTURBANCES:
        text, label = DISTURBANCES[step.action]
        yield text.format(**step.arguments), label, False
    yield from answers_lost(before, after)
    if step.action == "commit_arrives" and before.late is not None:
        taken = before.accepts(before.late)
        yield f"the commit is {'accepted' if taken else 'refused'}", "accepted" if taken else "refused", not taken
    for number, (was, now) in enumerate(zip(before.clients, after.clients, strict=True)):
        if was.member_id != NONE != now.member_id or was.member_id == now.member_id or now.phase == DOWN:
            continue
        if was.member_id != NONE:
            known = before.group.member(was.member_id) is not None
            why = "its generation is not the group's" if known else "it is no member any more"
            keeps = f" It keeps partitions {sorted(now.owned)}." if now.owned else ""
            yield f"consumer {number} learns that {why}, and forgets its member id.{keeps}", "fenced", False
    yield from _of_group(before, after)
    if step.action == "send_join" and before.group.state == after.group.state == STABLE:
        yield from _replaced(before, after)


def _replaced(before: Classic, after: Classic) -> Iterator[tuple[str, str, bool]]:
    """Yield that a static member has taken the place of another one in a stable group."""
    was, now = ({member.member_id for member in state.group.members} for state in (before, after))
    for old, new in zip(was - now, now - was, strict=False):
        text = (
            f"member {new} takes the place of member {old}, which has the same group.instance.id, without a rebalance"
        )
        yield text + _unassigned(after), "replaced", True


def _unassigned(state: Classic) -> str:
    """Return text about the partitions that a stable group has assigned to nobody, if there are any."""
    assigned = {partition for member in state.group.members for partition in member.assignment}
    left = [partition for partition in range(state.bounds.partitions) if partition not in assigned]
    return f"; {left} is assigned to nobody" if left else ""


def _of_group(before: Classic, after: Classic) -> Iterator[tuple[str, str, bool]]:
    was, now = before.group, after.group
    if now.state == PREPARING != was.state:
        yield "a rebalance begins", "rebalance", True
    if now.state == COMPLETING != was.state:
        yield f"generation {now.generation} begins; its leader is member {now.leader}", f"gen {now.generation}", True
        for member in now.members:
            others = [each for each in now.members if each is not member and each.claims & member.claims]
            for other in others[:1]:
                text = f"{member.member_id} and {other.member_id} both claim {sorted(member.claims & other.claims)}"
                yield text, "claims", False
            if others:
                break
    if now.state == STABLE and was.state == COMPLETING:
        given = ", ".join(f"{sorted(member.assignment)} to member {member.member_id}" for member in now.members)
        yield f"the coordinator persists the assignment: {given}{_unassigned(after)}", "stable", True
        for member in now.members:
            for number, client in enumerate(before.clients):
                stale = (client.owned & member.assignment) if client.member_id != member.member_id else frozenset()
                if stale:
                    text = (
                        f"consumer {number} still reads {sorted(stale)}, which is assigned to member {member.member_id}"
                    )
                    yield text, "stale", False
