"""Describe states and traces of the consumer protocol as rows, messages and events, for diagrams and tables."""

from __future__ import annotations

from collections.abc import Iterator

from leadline.checker.action import Step
from leadline.checker.drawing import Drawing, Message, Row
from leadline.model.group.classic.drawing import (
    COORDINATOR,
    SENT,
    cells,
    commit_message,
    consumer_row,
    number,
    partition_cells,
    partition_row,
    partitions,
    reads,
)
from leadline.model.group.consumer.coordinator import report_of
from leadline.model.group.consumer.explanation import events
from leadline.model.group.consumer.state import DOWN, JOINING, LEFT, Consumer, ConsumerGroup, Member
from leadline.model.group.perturbed import NONE


def rows(state: ConsumerGroup) -> dict[str, Row]:
    """Return the rows for the coordinator, the consumers and the partitions, keyed by name."""
    found = {COORDINATOR: _coordinator(state)}
    for consumer, client in enumerate(state.clients):
        found[consumer_row(consumer)] = _consumer(state, client, "classic " * state.uses_classic(consumer))
    for partition in range(state.bounds.partitions):
        assigned = [f"m{each.member_id}" for each in state.group.members if partition in each.held]
        found[partition_row(partition)] = partition_cells(partition, assigned, state)
    return found


def member_state(state: ConsumerGroup, member: Member) -> str:
    """Return the state of a member as Kafka calls it (MemberState)."""
    if member.revoking:
        return "UNREVOKED_PARTITIONS"
    if member.epoch == state.group.target_epoch and member.assigned != state.group.target_of(member.member_id):
        return "UNRELEASED_PARTITIONS"
    return "STABLE"


def group_state(state: ConsumerGroup) -> str:
    """Return the state of the group as Kafka calls it (ConsumerGroup.maybeUpdateGroupState)."""
    group = state.group
    if not group.members:
        return "Empty"
    if group.is_classic:
        return "classic group"
    if group.epoch > group.target_epoch:
        return "Assigning"
    reached = (m.epoch == group.target_epoch and member_state(state, m) == "STABLE" for m in group.members)
    return "Stable" if all(reached) else "Reconciling"


def _coordinator(state: ConsumerGroup) -> Row:
    group = state.group
    members = " ".join(_member(member) for member in group.members) or "-"
    owners = " ".join(f"p{partition}:m{owner}" for partition, owner in enumerate(group.target) if owner != NONE)
    epochs = " ".join(f"p{partition}:{number(epoch)}" for partition, epoch in enumerate(group.partition_epochs))
    waits = "; ".join(
        f"m{member.member_id} for {awaited}" for member in group.members if (awaited := _awaited(state, member))
    )
    role = group_state(state)
    badges = [role, f"epoch {group.epoch}", f"target@{group.target_epoch} {owners or '-'}", f"members {members}"]
    return Row(
        badges=[*badges, *([f"waits: {waits}"] if waits else [])],
        columns={
            "role": role,
            "epoch": str(group.epoch),
            "target": f"@{group.target_epoch} {owners or '-'}",
            "member": members,
            "waits": waits or "-",
            "partition epochs": epochs,
        },
    )


def _member(member: Member) -> str:
    revoking = f" revoking {partitions(member.revoking)}" if member.revoking else ""
    return f"m{member.member_id}@{member.epoch}:{partitions(member.assigned)}{revoking}"


def _awaited(state: ConsumerGroup, member: Member) -> str:
    """Return the partitions for which a member waits, with the members that still hold them, or an empty string."""
    if member_state(state, member) != "UNRELEASED_PARTITIONS":
        return ""
    group, found = state.group, list[str]()
    for partition in sorted(group.target_of(member.member_id) - member.assigned):
        holders = [f"m{each.member_id}" for each in group.members if each is not member and partition in each.held]
        found.append(" of ".join([f"p{partition}", *holders]))
    return " and ".join(found)


def _consumer(state: ConsumerGroup, client: Consumer, protocol: str) -> Row:
    role = "joining" if client.epoch == JOINING else "member" if client.taking is None else "reconciling"
    role = f"{protocol}{client.phase or role}"
    role = client.stopped if client.stopped == DOWN else f"{role}, {client.stopped}" if client.stopped else role
    known = client.epoch == JOINING or state.group.member(client.member_id) is not None
    return Row(
        badges=[role, f"member {number(client.member_id)}", f"epoch {client.epoch}", f"told {partitions(client.told)}"],
        standing=[] if known else ["unknown to the coordinator"],
        columns={
            "role": role,
            "epoch": str(client.epoch),
            "member": number(client.member_id),
            "told": partitions(client.told),
            "reads": reads(client),
        },
        cells=cells(client.owned, client.epoch),
        up=client.stopped != DOWN,
        is_log=False,
    )


def messages(state: ConsumerGroup) -> Iterator[Message]:
    """Yield the commit in flight."""
    if state.late is not None:
        yield commit_message(state.late, state.client_of(state.late.member_id))


def arrivals(step: Step[ConsumerGroup]) -> Iterator[Message]:
    """Yield the requests that the coordinator handles in a step."""
    consumer = step.arguments.get("client")
    if step.action in SENT and consumer is not None and step.before.uses_classic(consumer):
        own = step.before.clients[consumer]
        detail = f"member {number(own.member_id)}, generation {number(own.epoch)}"
        yield Message(consumer_row(consumer), COORDINATOR, SENT[step.action], detail)
    elif step.action in ("send_heartbeat", "fail_over", "leave") and consumer is not None:
        own = step.before.clients[consumer]
        report = report_of(own)
        told = "" if report is None else f", owns {partitions(report)}"
        last = LEFT if step.before.bounds.static else -1
        epoch = last if step.action == "leave" else own.epoch
        yield Message(
            consumer_row(consumer), COORDINATOR, f"Heartbeat@{epoch}", f"member {number(own.member_id)}{told}"
        )
    elif step.action == "commit_arrives":
        yield from messages(step.before)


DRAWING = Drawing(
    rows=rows,
    messages=messages,
    arrivals=arrivals,
    events=events,
    legend="m0@2:0 1: the member with id 0 has the epoch 2 and is assigned partitions 0 and 1; target: the assignment "
    "to which members are moved; m1 for p1 of m0: m1 waits for partition 1, which m0 has not given up; p0: a partition "
    "that a consumer reads",
)
