"""Descriptions of states and traces of the `atomic` family for diagrams and tables: rows, messages and events."""

from __future__ import annotations

from collections.abc import Iterator

from leadline.checker.action import Step
from leadline.checker.drawing import Drawing, Message, Row
from leadline.model.atomic.protocols import own_high_watermark
from leadline.model.atomic.state import Partition
from leadline.model.history import Commit, History, Join, Truncation, rule, truncates
from leadline.model.quorum import drawn_isr, epochs
from leadline.model.rows import (
    CONTROLLER,
    PRODUCERS,
    announcement,
    broker_row,
    controller_badges,
    controller_columns,
    drawn_log,
    epoch_column,
    log_columns,
    role_badges,
    role_column,
    standing,
)


def rows(state: Partition) -> dict[str, Row]:
    """Return the rows of a state, keyed by name: one for the controller, one for producers, and one for each broker."""
    controller = Row(badges=controller_badges(state.quorum), columns=controller_columns(state.quorum))
    return {CONTROLLER: controller, PRODUCERS: Row()} | {
        broker_row(broker): _broker(state, broker) for broker in range(len(state.replicas))
    }


def _broker(state: Partition, broker: int) -> Row:
    replica = state.replicas[broker]
    return Row(
        badges=role_badges(broker, replica),
        standing=standing(broker, state.quorum),
        columns={
            "role": role_column(broker, replica),
            "epoch": epoch_column(replica.epoch),
            "ISR": drawn_isr(replica.isr),
            **log_columns(replica.log, replica.high_watermark),
        },
        **drawn_log(replica.log, replica.high_watermark),
    )


def messages(state: Partition) -> Iterator[Message]:
    """Yield the `LeaderAndIsr` requests that brokers have not obeyed yet."""
    for epoch in epochs(state.bounds):
        for broker in sorted(state.still_to_hear(epoch)):
            yield from _announcements(state, broker, epoch)


def _announcements(state: Partition, broker: int, epoch: int) -> list[Message]:
    """Return the requests that announce a leader epoch to one broker.

    Requests without a leader are left out, because no broker obeys them.
    """
    return [announcement(broker, epoch, each) for each in state.sent_in(epoch) if each.leader is not None]


def arrivals(step: Step[Partition]) -> Iterator[Message]:
    """Yield the messages that arrive in a step: requests, records, and offsets that a broker reads from another
    broker's log.
    """
    before, after = step.before, step.after
    match step.action, step.arguments:
        case "become_leader" | "become_follower", {"broker": broker, "epoch": epoch}:
            replica = after.replicas[broker]
            for request in before.sent_in(epoch):
                if (request.leader, request.isr) == (replica.leader, replica.isr):
                    yield announcement(broker, epoch, request)
            if step.action == "become_follower" and replica.leader is not None and before.protocol.asks_the_leader:
                yield Message(broker_row(replica.leader), broker_row(broker), f"truncate to {replica.log.end_offset}")
        case "leader_writes", {"leader": leader}:
            yield Message(PRODUCERS, broker_row(leader), str(after.replicas[leader].log.records[-1]))
        case "replicate", {"leader": leader, "follower": follower}:
            target = after.replicas[follower]
            text = f"{target.log.records[-1]}, HW {target.high_watermark}"
            yield Message(broker_row(leader), broker_row(follower), text)
        case "truncate", {"leader": leader, "follower": follower}:
            yield Message(broker_row(leader), broker_row(follower), "diverging epoch")
        case "advance_high_watermark", {"leader": leader}:
            yield from (_end(before, member, leader) for member in sorted(before.replicas[leader].isr - {leader}))
        case ("leader_shrinks_isr", {"leader": leader, "member": other}) | (
            "leader_expands_isr",
            {"leader": leader, "joining": other},
        ):
            yield _end(before, other, leader)
            yield Message(broker_row(leader), CONTROLLER, f"ISR {drawn_isr(after.quorum.isr)}")


def _end(state: Partition, follower: int, leader: int) -> Message:
    """Return a message in which a follower reports its log end offset to its leader, as in a fetch request."""
    return Message(broker_row(follower), broker_row(leader), f"LEO {state.replicas[follower].log.end_offset}")


def commits(step: Step[Partition]) -> Iterator[Commit]:
    """Yield the record that a step commits, if any: the record just below the leader's new high watermark."""
    if step.action == "advance_high_watermark":
        replica = step.after.replicas[step.arguments["leader"]]
        offset = replica.high_watermark - 1
        if replica.log.has(offset):
            yield Commit(offset, replica.log[offset], "the high watermark is above it")


def truncations(step: Step[Partition]) -> Iterator[Truncation]:
    """Yield the truncation in a step, if any, and name the protocol's rule that decides where to truncate."""
    protocol, name = step.before.protocol, step.before.protocol.name
    match step.action, step.arguments:
        case "become_follower", {"broker": broker}:
            before, after = step.before.replicas[broker], step.after.replicas[broker]
            how = f"follows broker {after.leader} and {truncates(before.log, after.log)}"
            how += f" ({name}'s {rule('truncates_to', protocol.truncates_to)})"
            yield Truncation(broker, how, by_high_watermark=protocol.truncates_to is own_high_watermark)
        case "truncate", {"follower": follower}:
            end = step.after.replicas[follower].log.end_offset
            how = f"truncates its log to {end}, where it begins to differ from its leader's"
            yield Truncation(follower, f"{how} ({name}'s {rule('diverges', protocol.diverges)})")


def joins(step: Step[Partition]) -> Iterator[Join]:
    """Yield the follower that a leader adds to the ISR in a step, if any, and name the rule that allows it."""
    if step.action == "leader_expands_isr":
        leader, broker = step.arguments["leader"], step.arguments["joining"]
        replicas, protocol = step.before.replicas, step.before.protocol
        known, end = replicas[leader], replicas[broker].log.end_offset
        caught_up = (
            f"broker {leader} leads with log end offset {known.log.end_offset} and high watermark "
            f"{known.high_watermark}, and considers broker {broker}, whose log ends at {end}, caught up "
            f"({protocol.name}'s {rule('admits', protocol.admits)})"
        )
        yield Join(broker, caught_up)


DRAWING = Drawing(
    rows=rows,
    messages=messages,
    arrivals=arrivals,
    events=History(commits, truncations, joins=joins),
    legend="m0@1: record m0, written in leader epoch 1; ┃ the high watermark (HW); LEO log end offset; ISR: as "
    "known in that row",
)
