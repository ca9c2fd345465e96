"""Explain a trace of the consumer protocol: what changes epochs, who must revoke, and who believes what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leadline.checker.action import Step
from leadline.checker.drawing import Event
from leadline.model.group.classic.explanation import answers_lost
from leadline.model.group.consumer.coordinator import FATAL, refuses, report_of
from leadline.model.group.consumer.state import LEFT, ConsumerGroup, Group, Member
from leadline.model.group.perturbed import NONE, NOTHING

DISTURBANCES = {
    "crash": ("consumer {client} crashes; the coordinator learns that only from its session", "crashed"),
    "pause": ("consumer {client} is paused; it goes on to believe that it owns its partitions", "paused"),
    "mute": ("consumer {client} does not revoke its partitions, or does not send SyncGroup; heartbeats go on", "mute"),
    "leave": ("consumer {client} leaves the group", "left"),
    "change_topics": ("the topics or a subscription change", "changed"),
    "fail_over": ("the coordinator fails over; consumer {client} does not get its response", "failover"),
    "send_commit": ("consumer {client} sends a commit, which is delayed", "delayed"),
    "lose_commit": ("a commit of consumer {client} is lost with the coordinator that has it", "lost"),
    "expire_offsets": ("the committed offsets expire", "expired"),
    "resume": ("consumer {client} goes on, with what it believed before", "resumed"),
    "expire_session": ("the session of a member of consumer {client} expires", "expired"),
    "time_out_rebalance": (
        "consumer {client} is removed: the coordinator does not see that it has revoked",
        "timed out",
    ),
}
"""What steps of actions mean: a sentence and a label, keyed by the name of the action."""


def events(steps: Sequence[Step[ConsumerGroup]]) -> Iterator[Event]:
    """Yield the events that decide the outcome of a trace."""
    for at, step in enumerate(steps, start=1):
        for text, label, good in _of(step):
            yield Event(at, text, label, good)


def _of(step: Step[ConsumerGroup]) -> Iterator[tuple[str, str, bool]]:
    before, after = step.before, step.after
    if step.action in DISTURBANCES:
        text, label = DISTURBANCES[step.action]
        yield text.format(**step.arguments), label, False
    yield from answers_lost(before, after)
    if step.action == "commit_arrives" and before.late is not None:
        taken = before.accepts(before.late)
        yield f"the commit is {'accepted' if taken else 'refused'}", "accepted" if taken else "refused", not taken
    if step.action in ("send_heartbeat", "send_sync") and before.clients != after.clients:
        client = step.arguments["client"]
        error = refuses(before, client)
        if error in FATAL:
            yield f"consumer {client} stops: its heartbeat is answered with {error}", "stops", False
        elif error:
            yield f"consumer {client} is fenced, gives up its partitions and joins again ({error})", "fenced", False
    for member in after.group.members:
        known = before.group.member(member.member_id)
        if member.epoch == LEFT and known is not None and known.epoch != LEFT:
            yield f"member {member.member_id} is static, and keeps its assignment", "static", True
    yield from _of_group(before.group, after.group)
    yield from _of_classic(step)
    yield from _of_members(step)


def _of_group(was: Group, now: Group) -> Iterator[tuple[str, str, bool]]:
    if now.target_epoch != was.target_epoch and now.members:
        owners = ", ".join(f"partition {p} for member {owner}" for p, owner in enumerate(now.target) if owner != NONE)
        yield f"target assignment {now.target_epoch}: {owners}", f"target {now.target_epoch}", True
    for partition, epoch in enumerate(now.partition_epochs):
        holders = [member.member_id for member in now.members if partition in member.held]
        if epoch == NONE and holders and was.partition_epochs[partition] != NONE:
            text = f"partition {partition} loses its epoch and seems free, although member {holders[0]} holds it"
            yield text, "epoch lost", False
        if len(holders) > 1 and sum(partition in member.held for member in was.members) < 2:
            yield f"partition {partition} is assigned to the members {holders[0]} and {holders[1]}", "twice", False


def _of_classic(step: Step[ConsumerGroup]) -> Iterator[tuple[str, str, bool]]:
    before, after = step.before, step.after
    if before.group.is_classic != after.group.is_classic and after.group.members:
        kind = "classic" if after.group.is_classic else "consumer"
        yield f"the group becomes a {kind} group", kind, True
    for number, (was, now) in enumerate(zip(before.clients, after.clients, strict=True)):
        if step.action == "send_join" and step.arguments["client"] == number:
            if now.stopped:
                yield f"consumer {number} stops: JoinGroup is answered with INCONSISTENT_GROUP_PROTOCOL", "stops", False
            elif now.owned and before.group.member(was.member_id) is None:
                text = f"consumer {number} was removed, joins with its old id, and still reads {sorted(now.owned)}"
                yield text, "joins late", False
        elif was.phase == "" != now.phase and was.member_id == now.member_id and now.owned:
            yield f"consumer {number} is told to join again", "rebalance", True


def _of_members(step: Step[ConsumerGroup]) -> Iterator[tuple[str, str, bool]]:
    """Yield what a heartbeat changes, also one whose response is lost, and what a consumer takes."""
    if step.action == "end_reconciliation":
        yield from _taken(step)
    if step.action not in ("send_heartbeat", "send_join", "fail_over"):
        return
    number = step.arguments["client"]
    client, member_id = step.before.clients[number], step.after.clients[number].member_id
    was = step.before.group.member(member_id) or Member(member_id)
    now = step.after.group.member(member_id)
    report = report_of(client)
    if now is None:
        return
    old = step.before.holder_of(number)
    if old is not None and old.member_id != member_id:
        yield f"member {member_id} takes over the assignment of member {old.member_id}", "takes over", True
    if now.revoking and now.revoking != was.revoking:
        yield f"member {member_id} shall revoke {sorted(now.revoking)} first", "revoke", True
    if (gone := was.revoking & now.revoking) and report is not None and not report & gone:
        text = f"member {member_id} reports that it has revoked {sorted(gone)}, and that is not noticed"
        yield text, "ignored", False
    if (given := was.held - now.held) and report is not None:
        text = f"member {member_id} reports {sorted(report)}: the coordinator takes {sorted(given)} for revoked"
        still = given & (client.taking or NOTHING)
        belief = f". Consumer {number} goes on to take {sorted(still)}, as it was told before"
        yield text + belief * bool(still), "stale" if still else "revoked", not still
    if now.assigned - was.held:
        yield f"member {member_id} is assigned {sorted(now.assigned - was.held)}", "assigned", True
        yield from _still_read(step.before, member_id, now.assigned - was.held)


def _taken(step: Step[ConsumerGroup]) -> Iterator[tuple[str, str, bool]]:
    """Yield the partitions that a consumer takes, and that its member does not hold any more."""
    number = step.arguments["client"]
    own = step.after.clients[number]
    member = step.after.group.member(own.member_id)
    stale = own.owned - step.before.clients[number].owned - (NOTHING if member is None else member.held)
    for partition in sorted(stale):
        holders = [f"member {each.member_id}" for each in step.after.group.members if partition in each.held]
        text = (
            f"consumer {number} takes partition {partition}, which is assigned to {' and '.join(holders) or 'nobody'}"
        )
        yield text, "stale", False


def _still_read(state: ConsumerGroup, member_id: int, assigned: frozenset[int]) -> Iterator[tuple[str, str, bool]]:
    """Yield the consumers that read what is assigned to another one's member."""
    for number, client in enumerate(state.clients):
        if client.member_id != member_id and client.owned & assigned:
            yield f"consumer {number} still reads {sorted(client.owned & assigned)}", "stale", False
