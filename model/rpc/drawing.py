"""How views draw a state of the `rpc` family: what each row holds, and what passes between them."""

from __future__ import annotations

from collections.abc import Iterator

from checker.action import Step
from checker.drawing import Drawing, Message, Row
from model.drawing import (
    CONSUMERS,
    CONTROLLER,
    PRODUCERS,
    broker_row,
    controller_badges,
    controller_columns,
    drawn_log,
    epoch_column,
    leader_and_isr,
    log_columns,
    record_cell,
    role_badges,
    role_column,
    standing,
)
from model.history import Commit, History, Missed, Truncation, rule, truncates
from model.quorum import drawn_isr
from model.rpc.messages import EpochRequest, EpochResponse, FetchRequest, FetchResponse, OffsetOutOfRange
from model.rpc.state import UNKNOWN_OFFSET, Partition, Promise


def rows(state: Partition) -> dict[str, Row]:
    """The controller, producers with what was acknowledged, each broker, and consumers with what they could read."""
    controller = Row(badges=controller_badges(state.quorum), columns=controller_columns(state.quorum))
    brokers = {broker_row(broker): _broker(state, broker) for broker in range(len(state.replicas))}
    producers, consumers = _clients("acknowledged", state.acked), _clients("could read", state.exposed)
    return {CONTROLLER: controller, PRODUCERS: producers, **brokers, CONSUMERS: consumers}


def _broker(state: Partition, broker: int) -> Row:
    replica = state.replicas[broker]
    leads = state.believes_to_lead(broker)
    return Row(
        badges=role_badges(broker, replica) if replica.up else [],
        standing=standing(broker, state.quorum),
        up=replica.up,
        columns={
            "role": role_column(broker, replica) if replica.up else "down",
            "epoch": epoch_column(replica.epoch),
            "ISR": drawn_isr(replica.isr),
            **log_columns(replica.log, replica.high_watermark),
            "remote": _remote_leos(state, broker) if leads else "",
        },
        **drawn_log(replica.log, replica.high_watermark),
    )


def _remote_leos(state: Partition, leader: int) -> str:
    known = enumerate(state.replicas[leader].remote_leos)
    return " ".join(f"{broker}:{'?' if leo == UNKNOWN_OFFSET else leo}" for broker, leo in known if broker != leader)


def _clients(badge: str, promises: tuple[Promise, ...]) -> Row:
    records = [promise.record for promise in promises]
    text = " ".join(map(str, records)) or "-"
    return Row(badges=[badge], cells=[record_cell(record) for record in records], columns={"log": text})


def messages(state: Partition) -> Iterator[Message]:
    """The `LeaderAndIsr` requests that brokers have yet to hear, and what is between followers and leaders."""
    for epoch, request in enumerate(state.requests):
        if request is not None:
            heard = [broker for broker in range(len(state.replicas)) if state.obeys(broker, epoch)]
            yield from (leader_and_isr(broker, epoch, request) for broker in heard)
    for broker in range(len(state.replicas)):
        yield from _in_flight(state, broker)


def _in_flight(state: Partition, follower: int) -> Iterator[Message]:
    """A follower's request to its leader, or the response to it."""
    replica = state.replicas[follower]
    match replica.in_flight:
        case FetchRequest(leader=leader) | EpochRequest(leader=leader) as request:
            yield Message(broker_row(follower), broker_row(leader), f"{request}, epoch {request.epoch}")
        case None:
            return
        case response:
            assert replica.leader is not None
            yield Message(broker_row(replica.leader), broker_row(follower), str(response))


def arrivals(step: Step[Partition]) -> Iterator[Message]:
    """What a step takes from one row to another."""
    before, after = step.before, step.after
    match step.action, step.arguments:
        case "become_leader" | "become_follower", {"broker": broker, "epoch": epoch}:
            request = before.requests[epoch]
            assert request is not None
            yield leader_and_isr(broker, epoch, request)
        case "produce", {"leader": leader}:
            yield Message(PRODUCERS, broker_row(leader), str(after.replicas[leader].log.records[-1]))
        case "handle_fetch" | "park_fetch" | "handle_epoch_request", {"follower": follower}:
            yield from _in_flight(before, follower)
        case "handle_fetch_response" | "handle_epoch_response", {"follower": follower}:
            yield from _in_flight(before, follower)
        case "crash_after_append", {"broker": follower}:
            yield from _in_flight(before, follower)
        case "restart", {"broker": broker} if after.quorum != before.quorum:
            yield Message(broker_row(broker), CONTROLLER, "started")
    yield from _to_clients_and_controller(before, after)


def _to_clients_and_controller(before: Partition, after: Partition) -> Iterator[Message]:
    """What leaders tell clients and the controller: records read and acknowledged, another ISR."""
    for broker, leader in after.believed_leaders():
        row = broker_row(broker)
        if leader.isr != before.replicas[broker].isr and after.quorum.isr == leader.isr != before.quorum.isr:
            yield Message(row, CONTROLLER, f"ISR {drawn_isr(leader.isr)}")
        if leader == before.replicas[broker]:
            continue
        for promise in after.exposed[len(before.exposed) :]:
            yield Message(row, CONSUMERS, str(promise.record))
        for promise in after.acked[len(before.acked) :]:
            yield Message(row, PRODUCERS, f"ack {promise.record}")


def commits(step: Step[Partition]) -> Iterator[Commit]:
    """The records that clients were promised."""
    before, after = step.before, step.after
    for promise in after.exposed[len(before.exposed) :]:
        yield Commit(promise.offset, promise.record, "the high watermark is above it, and consumers can read it")
    for promise in after.acked[len(before.acked) :]:
        acks = after.bounds.acks
        label = "committed" if acks == "all" else "acknowledged"
        yield Commit(promise.offset, promise.record, f"its producer, with acks={acks}, gets the answer", label)


def truncations(step: Step[Partition]) -> Iterator[Truncation]:
    """What decides how much of a log a broker keeps, with the protocol's rule."""
    before, after, protocol = step.before, step.after, step.before.protocol
    match step.action, step.arguments:
        case "become_follower", {"broker": broker} if not protocol.asks(before.replicas[broker].log):
            own = before.replicas[broker].high_watermark
            name = f"{protocol.name}'s {rule('asks', protocol.asks)}"
            how = f"truncates to its own high watermark, {own}, without asking its leader ({name})"
            yield Truncation(broker, how, by_high_watermark=True)
        case "handle_epoch_response", {"follower": follower}:
            answer = before.replicas[follower].in_flight
            assert isinstance(answer, EpochResponse)
            unknown = answer.end_offset is None
            told = (
                f"where epoch {answer.epoch} ends" if unknown else f"epoch {answer.epoch} ends at {answer.end_offset}"
            )
            how = f"is told that {'its leader does not know ' if unknown else ''}{told}, and "
            how += truncates(before.replicas[follower].log, after.replicas[follower].log)
            name = f"{protocol.name}'s {rule('truncates_to', protocol.truncates_to)}"
            yield Truncation(follower, f"{how} ({name})", by_high_watermark=unknown)
        case "handle_fetch_response", {"follower": follower}:
            response = before.replicas[follower].in_flight
            if isinstance(response, OffsetOutOfRange):
                yield Truncation(follower, f"truncates to its leader's log end offset, {response.end_offset}")
        case "crash_losing_tail", {"broker": broker, "offset": offset}:
            yield Truncation(broker, f"crashes with records that are not flushed from offset {offset} on")


def missed(step: Step[Partition]) -> Iterator[Missed]:
    """The responses that are gone after a step without having been handled."""
    for broker, replica in enumerate(step.before.replicas):
        response, now = replica.in_flight, step.after.replicas[broker]
        if not isinstance(response, FetchResponse) or now.in_flight == response:
            continue
        if now.high_watermark < min(response.high_watermark, now.log.end_offset):
            yield Missed(broker, response.high_watermark)


DRAWING = Drawing(
    rows=rows,
    messages=messages,
    arrivals=arrivals,
    events=History(commits, truncations, missed),
    legend="m0@1: record m0, written in leader epoch 1; ┃ the high watermark (HW); LEO log end offset; remote: the "
    "followers' LEO as the leader knows it; consumers: the records they could read; producers: those acknowledged",
)
