"""How views draw a state of the `rpc` family: what each row holds, and what passes between them."""

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
from model.quorum import drawn_isr
from model.rpc.messages import EpochRequest, FetchRequest

if TYPE_CHECKING:
    from model.rpc.state import Partition, Promise


def picture(state: Partition) -> dict[str, dict[str, Any]]:
    """What the controller and each broker hold, and what clients were told."""
    drawn: dict[str, dict[str, Any]] = {CONTROLLER: {"badges": controller_badges(state.quorum)}}
    for broker, replica in enumerate(state.replicas):
        log = drawn_log(replica.log, replica.high_watermark)
        badges = role_badges(broker, replica) if replica.up else []
        held = {"badges": badges, "standing": standing(broker, state.quorum), "up": replica.up, **log}
        drawn[broker_row(broker)] = held
    drawn[PRODUCERS] = {"badges": ["acknowledged"], "cells": _promised(state.acked)}
    drawn[CONSUMERS] = {"badges": ["could read"], "cells": _promised(state.exposed)}
    return drawn


def _promised(promises: tuple[Promise, ...]) -> list[tuple[str, int]]:
    return [(f"m{promise.record.value}", promise.record.epoch) for promise in promises]


def messages(state: Partition) -> Iterator[Message]:
    """The `LeaderAndIsr` requests that brokers have yet to hear, and what is between followers and leaders."""
    for epoch, request in enumerate(state.requests):
        if request is not None:
            heard = [broker for broker in range(len(state.replicas)) if state.obeys(broker, epoch)]
            yield from (leader_and_isr(broker, epoch) for broker in heard)
    for broker in range(len(state.replicas)):
        yield from _in_flight(state, broker)


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
        case "crash_after_append", {"broker": follower}:
            yield from _in_flight(before, follower)
        case "restart", {"broker": broker} if after.quorum != before.quorum:
            yield broker_row(broker), CONTROLLER, "started"
    yield from _told(before, after)


def _told(before: Partition, after: Partition) -> Iterator[Message]:
    """What leaders tell clients and the controller: records read and acknowledged, another ISR."""
    for broker, leader in after.believed_leaders():
        row = broker_row(broker)
        if leader.isr != before.replicas[broker].isr and after.quorum.isr == leader.isr != before.quorum.isr:
            yield row, CONTROLLER, f"ISR {drawn_isr(leader.isr)}"
        if leader == before.replicas[broker]:
            continue
        for promise in after.exposed[len(before.exposed) :]:
            yield row, CONSUMERS, str(promise.record)
        for promise in after.acked[len(before.acked) :]:
            yield row, PRODUCERS, f"ack {promise.record}"
