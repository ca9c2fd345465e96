"""How views draw a state: what each row holds, and what passes between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from model.drawing import (
    CONSUMERS,
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
from model.kafka.messages import EpochRequest, FetchRequest
from model.quorum import NO_EPOCH, drawn_isr

if TYPE_CHECKING:
    from model.kafka.state import Partition, Promise, Replica

LEGEND = (
    "m0@1: record m0, written in leader epoch 1; ┃ the high watermark (HW); LEO log end offset; remote: "
    "the followers' LEO as the leader knows it; in flight: a request to the leader or controller (→) or its "
    "response (←); consumers: the records they could read; producers: those acknowledged"
)


def lanes(state: Partition) -> dict[str, dict[str, str]]:
    """The rows in columns: the controller, each broker, requests not yet heard, consumers and producers."""
    rows = {CONTROLLER: _controller(state)}
    for broker, replica in enumerate(state.replicas):
        leads = state.believes_to_lead(broker)
        rows[broker_row(broker)] = {
            "role": _role(state, broker),
            "epoch": "-" if replica.epoch == NO_EPOCH else str(replica.epoch),
            "ISR": drawn_isr(replica.isr),
            "log": replica.log.drawn(replica.high_watermark),
            "HW": str(replica.high_watermark),
            "LEO": str(replica.log.end_offset),
            "remote": _remote_leos(state, broker) if leads else "",
            "in flight": _under_way(state, broker, replica),
        }
    for epoch, request in enumerate(state.requests):
        heard = [broker for broker in range(len(state.replicas)) if state.obeys(broker, epoch)]
        if request is not None and heard:
            rows[f"request {epoch}"] = {
                "role": f"leader: {request.leader}",
                "epoch": str(epoch),
                "ISR": drawn_isr(request.isr),
                "log": f"to {drawn_isr(heard)}",
            }
    for clients, promises in ((CONSUMERS, state.exposed), (PRODUCERS, state.acked)):
        rows[clients] = {"log": " ".join(str(promise.record) for promise in promises) or "-"}
    return rows


def _controller(state: Partition) -> dict[str, str]:
    quorum = state.quorum
    row = {
        "role": "no leader" if quorum.leader is None else f"leader: {quorum.leader}",
        "epoch": str(quorum.epoch),
        "ISR": drawn_isr(quorum.isr),
    }
    if state.protocol.has_elr:
        last = quorum.last_known_leader
        row["log"] = f"ELR: {drawn_isr(quorum.elr)}" + ("" if last is None else f", last leader: {last}")
    return row


def _role(state: Partition, broker: int) -> str:
    """What a broker takes itself for, and what the controller takes it for if it is not active."""
    replica, status = state.replicas[broker], state.registrations[broker].status
    if not replica.up:
        return "down"
    follows = "-" if replica.leader is None else f"follows {replica.leader}"
    role = "leads" if state.believes_to_lead(broker) else follows
    return role if status == "active" else f"{role} ({status})"


def _remote_leos(state: Partition, leader: int) -> str:
    known = enumerate(state.replicas[leader].remote_leos)
    return " ".join(f"{broker}:{'?' if leo < 0 else leo}" for broker, leo in known if broker != leader)


def _under_way(state: Partition, broker: int, replica: Replica) -> str:
    proposal = None if replica.proposal is None else f"→ ISR {replica.proposal}"
    return "; ".join(str(part) for part in (replica.in_flight, proposal, state.late[broker]) if part is not None)


def picture(state: Partition) -> dict[str, dict[str, Any]]:
    """What the controller and each broker hold, and what clients were told."""
    badges = controller_badges(state.quorum)
    if state.protocol.has_elr:
        badges.append(f"ELR: {drawn_isr(state.quorum.elr)}")
        if state.quorum.last_known_leader is not None:
            badges.append(f"last leader: {state.quorum.last_known_leader}")
    drawn: dict[str, dict[str, Any]] = {CONTROLLER: {"badges": badges}}
    for broker, replica in enumerate(state.replicas):
        log = drawn_log(replica.log, replica.high_watermark)
        held = {"badges": _badges(state, broker), "standing": _standing(state, broker), "up": replica.up, **log}
        drawn[broker_row(broker)] = held
    drawn[PRODUCERS] = {"badges": ["acknowledged"], "cells": _promised(state.acked)}
    drawn[CONSUMERS] = {"badges": ["could read"], "cells": _promised(state.exposed)}
    return drawn


def _badges(state: Partition, broker: int) -> list[str]:
    replica = state.replicas[broker]
    if not replica.up:
        return []
    proposal = replica.proposal
    return [*role_badges(broker, replica), *([] if proposal is None else [f"asks for ISR {drawn_isr(proposal.isr)}"])]


def _standing(state: Partition, broker: int) -> list[str]:
    """What the controller knows of a broker."""
    status = state.registrations[broker].status
    said = standing(broker, state.quorum)
    said += ["in the ELR"] if broker in state.quorum.elr else []
    return said if status == "active" else [*said, status]


def _promised(promises: tuple[Promise, ...]) -> list[tuple[str, int]]:
    return [(f"m{promise.record.value}", promise.record.epoch) for promise in promises]


def messages(state: Partition) -> Iterator[Message]:
    """What brokers have yet to hear of leaders, and what is between followers, leaders and the controller."""
    for epoch, request in enumerate(state.requests):
        if request is not None:
            heard = [broker for broker in range(len(state.replicas)) if state.obeys(broker, epoch)]
            yield from (leader_and_isr(broker, epoch) for broker in heard)
    for broker in range(len(state.replicas)):
        yield from _in_flight(state, broker)
        yield from _proposal(state, broker)
        yield from _late(state, broker)


def _in_flight(state: Partition, follower: int) -> Iterator[Message]:
    """A follower's request to its leader, or the response to it."""
    replica = state.replicas[follower]
    match replica.in_flight:
        case FetchRequest(leader=leader) | EpochRequest(leader=leader) as request:
            yield broker_row(follower), broker_row(leader), f"{_text(request)}, epoch {request.epoch}"
        case None:
            return
        case response:
            assert replica.leader is not None
            yield broker_row(replica.leader), broker_row(follower), _text(response)


def _proposal(state: Partition, leader: int) -> Iterator[Message]:
    """A leader's AlterPartition request to the controller, or the answer to it."""
    proposal = state.replicas[leader].proposal
    if proposal is not None and proposal.sent:
        yield broker_row(leader), CONTROLLER, f"AlterPartition, ISR {drawn_isr(proposal.isr)}"


def _late(state: Partition, follower: int) -> Iterator[Message]:
    """A fetch request that has outlived its connection."""
    late = state.late[follower]
    if late is not None:
        yield broker_row(follower), broker_row(late.request.leader), f"{_text(late.request)}, late"


def _text(message: object) -> str:
    return str(message).lstrip("→← ")


def arrivals(after: Partition, before: Partition, action: str, parameters: dict[str, Any]) -> Iterator[Message]:
    """What a step takes from one row to another."""
    match action, parameters:
        case "become_leader" | "become_follower", {"broker": broker, "epoch": epoch}:
            yield leader_and_isr(broker, epoch)
        case "produce", {"leader": leader}:
            yield PRODUCERS, broker_row(leader), str(after.replicas[leader].log.records[-1])
        case "handle_fetch" | "park_fetch" | "handle_epoch_request", {"follower": follower}:
            yield from _in_flight(before, follower)
        case "handle_fetch_response" | "handle_epoch_response", {"follower": follower}:
            yield from _in_flight(before, follower)
        case "learn_before_truncating", {"follower": follower}:
            yield from _in_flight(before, follower)
        case "handle_late_fetch", {"follower": follower}:
            yield from _late(before, follower)
        case "handle_alter_partition", {"leader": leader}:
            yield from _proposal(before, leader)
        case "hear_isr", {"leader": leader}:
            yield CONTROLLER, broker_row(leader), f"ISR {drawn_isr(after.replicas[leader].isr)}"
        case "crash_after_append", {"broker": follower}:
            yield from _in_flight(before, follower)
        case "begin_shutdown", {"broker": broker}:
            yield broker_row(broker), CONTROLLER, "shutting down"
        case "restart", {"broker": broker} if after.quorum != before.quorum:
            yield broker_row(broker), CONTROLLER, "started"
    yield from _told(before, after)


def _told(before: Partition, after: Partition) -> Iterator[Message]:
    """What leaders tell clients and the controller: records read and acknowledged, another ISR."""
    for broker, leader in after.believed_leaders():
        row = broker_row(broker)
        written = not after.protocol.in_flight and leader.isr != before.replicas[broker].isr
        if written and after.quorum.isr == leader.isr != before.quorum.isr:
            yield row, CONTROLLER, f"ISR {drawn_isr(leader.isr)}"
        if leader == before.replicas[broker]:
            continue
        for promise in after.exposed[len(before.exposed) :]:
            yield row, CONSUMERS, str(promise.record)
        for promise in after.acked[len(before.acked) :]:
            yield row, PRODUCERS, f"ack {promise.record}"
