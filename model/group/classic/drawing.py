"""Describe states and traces of the classic protocol as rows, messages and events, for diagrams and tables."""

from __future__ import annotations

from collections.abc import Iterator

from leadline.checker.action import Step
from leadline.checker.drawing import Cell, Drawing, Message, Row
from leadline.model.group.classic.explanation import events
from leadline.model.group.classic.state import DOWN, PREPARING, Classic, Consumer
from leadline.model.group.perturbed import NONE, C, Client, Commit, Perturbed

COORDINATOR = "coordinator"


def consumer_row(consumer: int) -> str:
    """Return the name of a consumer's row."""
    return f"consumer {consumer}"


def partition_row(partition: int) -> str:
    """Return the name of a partition's row."""
    return f"partition {partition}"


def number(value: int) -> str:
    """Return the text for a member id, a generation or an epoch."""
    return "-" if value == NONE else str(value)


def partitions(owned: frozenset[int]) -> str:
    """Return the text for a set of partitions."""
    return " ".join(map(str, sorted(owned))) or "-"


def cells(owned: frozenset[int], epoch: int) -> tuple[Cell, ...]:
    """Return a cell for each partition of a set, coloured by generation or epoch."""
    return tuple(Cell(f"p{partition}", f"since {number(epoch)}", max(epoch, 0)) for partition in sorted(owned))


def reads(client: Client) -> str:
    """Return the text for what a consumer reads, with its positions if there are records."""
    if not client.positions:
        return partitions(client.owned)
    return " ".join(f"{partition} from {client.positions[partition]}" for partition in sorted(client.owned)) or "-"


def partition_cells(partition: int, assigned: list[str], state: Perturbed[C]) -> Row:
    """Return the row of a partition: who owns it according to the coordinator, who reads it, and what is committed."""
    read = [consumer_row(consumer) for consumer, client in enumerate(state.clients) if partition in client.owned]
    columns = {"assigned to": ", ".join(assigned) or "nobody", "read by": ", ".join(read) or "nobody"}
    if state.bounds.records:
        offsets = state.offsets
        columns |= {"committed": number(offsets.committed[partition]), "written": str(offsets.written[partition])}
    badges = [f"{name} {text}" for name, text in columns.items()]
    return Row(badges=badges, columns=columns, cells=tuple(Cell(each, "reads") for each in read), is_log=False)


def rows(state: Classic) -> dict[str, Row]:
    """Return the rows for the coordinator, the consumers and the partitions, keyed by name."""
    found = {COORDINATOR: _coordinator(state)}
    for consumer, client in enumerate(state.clients):
        found[consumer_row(consumer)] = _consumer(state, client)
    for partition in range(state.bounds.partitions):
        assigned = [f"m{each.member_id}" for each in state.group.members if partition in each.assignment]
        found[partition_row(partition)] = partition_cells(partition, assigned, state)
    return found


def _coordinator(state: Classic) -> Row:
    group = state.group
    members = " ".join(f"m{member.member_id}:{partitions(member.assignment)}" for member in group.members) or "-"
    badges = [group.state, f"generation {group.generation}", f"leader {number(group.leader)}", f"members {members}"]
    waits = " ".join(f"m{member_id}" for member_id in state.awaited)
    if waits:
        badges.append(f"waits for {'JoinGroup' if group.state == PREPARING else 'SyncGroup'} of {waits}")
    if state.persisted.generation != group.generation:
        badges.append(f"has persisted generation {state.persisted.generation}")
    columns = {
        "role": group.state,
        "generation": str(group.generation),
        "member": members,
        "waits for": waits or "-",
    }
    return Row(badges=badges, columns=columns)


def _consumer(state: Classic, client: Consumer) -> Row:
    role = f"{client.phase}, {client.stopped}" if client.stopped else client.phase
    known = client.member_id == NONE or state.group.member(client.member_id) is not None
    unknown = [] if known or client.member_id in state.group.pending else ["unknown to the coordinator"]
    return Row(
        badges=[role, f"member {number(client.member_id)}", f"generation {number(client.generation)}"],
        standing=unknown,
        columns={
            "role": role,
            "generation": number(client.generation),
            "member": number(client.member_id),
            "reads": reads(client),
        },
        cells=cells(client.owned, client.generation),
        up=client.phase != DOWN,
        is_log=False,
    )


def messages(state: Classic) -> Iterator[Message]:
    """Yield the commit in flight."""
    if state.late is not None:
        yield commit_message(state.late, state.client_of(state.late.member_id))


def commit_message(late: Commit, sender: int) -> Message:
    """Return the message of an offset commit of a consumer."""
    return Message(
        consumer_row(sender), COORDINATOR, f"OffsetCommit@{late.epoch}", f"partitions {partitions(late.partitions)}"
    )


SENT = {"send_join": "JoinGroup", "send_sync": "SyncGroup", "send_heartbeat": "Heartbeat", "leave": "LeaveGroup"}


def arrivals(step: Step[Classic]) -> Iterator[Message]:
    """Yield the requests that the coordinator handles in a step."""
    if step.action in SENT:
        consumer = step.arguments["client"]
        own = step.before.clients[consumer]
        detail = f"member {number(own.member_id)}, generation {number(own.generation)}"
        yield Message(consumer_row(consumer), COORDINATOR, SENT[step.action], detail)
    elif step.action == "commit_arrives":
        yield from messages(step.before)


DRAWING = Drawing(
    rows=rows,
    messages=messages,
    arrivals=arrivals,
    events=events,
    legend="m0:0 1: the member with id 0 is assigned partitions 0 and 1; p0: a partition that a consumer reads; "
    "assigned to: according to the coordinator; read by: according to the consumers",
)
