"""How views draw a state of the `atomic` family: what each row holds, and what passes between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from model.drawing import (
    CONTROLLER,
    PRODUCERS,
    Message,
    broker_row,
    controller_badges,
    drawn_log,
    leader_and_isr,
    role_badges,
    standing,
)
from model.quorum import drawn_isr, epochs

if TYPE_CHECKING:
    from model.atomic.state import Partition


def picture(state: Partition) -> dict[str, dict[str, Any]]:
    """What the controller and each broker hold."""
    drawn: dict[str, dict[str, Any]] = {CONTROLLER: {"badges": controller_badges(state.quorum)}}
    for broker, replica in enumerate(state.replicas):
        log = drawn_log(replica.log, replica.high_watermark)
        badges = role_badges(broker, replica)
        drawn[broker_row(broker)] = {"badges": badges, "standing": standing(broker, state.quorum), **log}
    return drawn


def messages(state: Partition) -> Iterator[Message]:
    """The `LeaderAndIsr` requests that brokers have yet to hear."""
    for epoch in epochs(state.bounds):
        yield from (leader_and_isr(broker, epoch) for broker in sorted(state.still_to_hear(epoch)))


def arrivals(after: Partition, before: Partition, action: str, parameters: dict[str, Any]) -> Iterator[Message]:
    """What a step takes from one row to another: a request, a record, what a broker reads of another's log."""
    match action, parameters:
        case "become_leader" | "become_follower", {"broker": broker, "epoch": epoch}:
            yield leader_and_isr(broker, epoch)
            leader = after.replicas[broker].leader
            if action == "become_follower" and leader is not None and before.protocol.asks_the_leader:
                yield broker_row(leader), broker_row(broker), f"truncate to {after.replicas[broker].log.end_offset}"
        case "leader_writes", {"leader": leader}:
            yield PRODUCERS, broker_row(leader), str(after.replicas[leader].log.records[-1])
        case "replicate", {"leader": leader, "follower": follower}:
            target = after.replicas[follower]
            text = f"{target.log.records[-1]}, HW {target.high_watermark}"
            yield broker_row(leader), broker_row(follower), text
        case "truncate", {"leader": leader, "follower": follower}:
            yield broker_row(leader), broker_row(follower), "diverging epoch"
        case "advance_high_watermark", {"leader": leader}:
            yield from (_end(before, member, leader) for member in sorted(before.replicas[leader].isr - {leader}))
        case ("leader_shrinks_isr", {"leader": leader, "member": other}) | (
            "leader_expands_isr",
            {"leader": leader, "joining": other},
        ):
            yield _end(before, other, leader)
            yield broker_row(leader), CONTROLLER, f"ISR {drawn_isr(after.quorum.isr)}"


def _end(state: Partition, follower: int, leader: int) -> Message:
    """What a leader knows of a follower's log, as a fetch request would tell it."""
    return broker_row(follower), broker_row(leader), f"LEO {state.replicas[follower].log.end_offset}"
