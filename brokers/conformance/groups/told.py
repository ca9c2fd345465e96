"""Find requests that their consumer cannot have sent: with a member id, generation, epoch or partition that it was
never given. The coordinator does not notice all of these, or answers as it does to a consumer that is late.

A connection belongs to one consumer. A consumer that sends its member id on another connection is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from leadline.brokers.conformance.groups.reading import Exchange, GroupRecording
from leadline.brokers.conformance.groups.subscription import NO_GENERATION, Subscription
from leadline.brokers.conformance.groups.timing import Observed
from leadline.checker.conformance import Observation
from leadline.model.group.conformance import errors

DRIVER = "client"
JOINS, LEAVES = 0, -1
"""The member epochs of a heartbeat with which a consumer joins or leaves."""


@attrs.define(eq=False)
class _Consumer:
    """What a consumer was told.

    Attributes:
        ids: its member ids.
        generations: its generations, or member epochs, in order.
        sent: the last of them that it has sent.
        assigned_in: the generation of its last assignment.
        assigned: its last assignment, or all of them since it joined with the consumer protocol.
        listed: the member ids that it was told as leader.
    """

    ids: set[str] = attrs.field(factory=set)
    generations: list[int] = attrs.field(factory=list)
    sent: int = NO_GENERATION
    assigned_in: int = NO_GENERATION
    assigned: list[frozenset[int]] = attrs.field(factory=list)
    listed: set[str] = attrs.field(factory=set)


def contradictions(read: GroupRecording) -> Iterator[Observed]:
    """Yield an observation that is never possible for each request that its consumer cannot have sent. Those of
    leadline itself are left out: it also asks what it was not told.
    """
    by_connection: dict[int, _Consumer] = {}
    by_id: dict[str, _Consumer] = {}
    exchanges = [each for each in read.exchanges if each.request.source != DRIVER]
    moments = [(each.request.arrived, 1, number, each) for number, each in enumerate(exchanges)]
    for number, each in enumerate(exchanges):
        if each.answer is not None and each.answer.passed is not None:
            moments.append((each.answer.passed, 0, number, each))
    for _, is_request, _, each in sorted(moments, key=lambda moment: moment[:3]):
        connection, names = each.request.connection, [name for name in each.member_ids if name]
        if not is_request:
            why = _learn(read, each, by_connection, by_id)
        elif len(names) > 1:  # an operator removes them
            why = _unknown(names, by_id)
        else:
            chooses = each.request.api == "ConsumerGroupHeartbeat" and each.generation == JOINS
            known = by_id.get(names[0]) if names else None
            consumer = by_connection.setdefault(connection, known or _Consumer())
            if chooses and names and not consumer.ids & {*names}:
                consumer.ids.add(names[0])
                by_id.setdefault(names[0], consumer)
            why = _wrong(read, each, consumer, names, by_id.values())
        if why:
            at = each.request.arrived if is_request else each.ends
            yield _impossible(each, at, why)


def _impossible(exchange: Exchange, at: float, why: str) -> Observed:
    return Observation(
        earliest=at,
        latest=at,
        label=f"{exchange.request.api} of a consumer of connection {exchange.request.connection}",
        apply=lambda _: (),
        why=lambda _: why,
        source=exchange.frames,
    )


def _unknown(names: list[str], by_id: dict[str, _Consumer]) -> str:
    unknown = [name for name in names if name not in by_id]
    return f"no consumer was given the member id {unknown[0]}" if unknown else ""


# --- what consumers are told ------------------------------------------------------------------------------------------


def _learn(
    read: GroupRecording, exchange: Exchange, by_connection: dict[int, _Consumer], by_id: dict[str, _Consumer]
) -> str:
    """Note what a response tells a consumer, and return why it does not belong to its request, or an empty string."""
    told, api, code = exchange.told, exchange.request.api, exchange.code
    named = told.get("MemberId") or ""
    asked = exchange.member_ids[0] if exchange.member_ids else ""
    if api == "LeaveGroup" and [each["MemberId"] for each in told.get("Members") or ()] not in (
        [],
        exchange.member_ids,
    ):
        return "the response names other members than the request"
    consumer = by_connection.get(exchange.request.connection)
    if consumer is None or code not in (errors.NONE, errors.MEMBER_ID_REQUIRED):
        return ""
    if asked and named and named != asked:
        return f"the response is for the member id {named}, and the request has {asked}"
    if named:
        consumer.ids.add(named)
        by_id[named] = consumer
    if api == "JoinGroup" and code == errors.NONE:
        consumer.generations.append(told["GenerationId"])
        consumer.listed = {each["MemberId"] for each in told["Members"]}
    elif api == "SyncGroup":
        consumer.assigned, consumer.assigned_in = [read.assignment(told["Assignment"])], exchange.generation
    elif api == "ConsumerGroupHeartbeat":
        if exchange.generation == JOINS:
            consumer.assigned = []
        consumer.generations.append(told["MemberEpoch"])
        if told.get("Assignment") is not None:
            consumer.assigned.append(read.topic_partitions(told["Assignment"]["TopicPartitions"]))
    return ""


# --- what consumers send ----------------------------------------------------------------------------------------------


def _wrong(
    read: GroupRecording, exchange: Exchange, consumer: _Consumer, names: list[str], others: Iterable[_Consumer]
) -> str:
    """Return why a consumer cannot have sent a request, or an empty string."""
    api, generation = exchange.request.api, exchange.generation
    if names and names[0] not in consumer.ids:
        return f"this consumer was not given the member id {names[0]}"
    if api == "JoinGroup":
        return _wrong_claims(read, exchange.body["Protocols"], consumer, others)
    if api == "ConsumerGroupHeartbeat":
        return _wrong_heartbeat(read, exchange, consumer)
    if api == "LeaveGroup" or not names:
        return ""
    if api == "SyncGroup":
        planned = {each["MemberId"] for each in exchange.body["Assignments"]}
        if not planned <= consumer.listed:
            return f"the leader was not told the member id {min(planned - consumer.listed)}"
        is_told = consumer.generations[-1:] == [generation]
    else:
        is_told = generation in consumer.generations and generation >= consumer.sent
    if not is_told:
        told = ", ".join(map(str, consumer.generations)) or "none"
        return f"it sends the generation or epoch {generation}; it was told {told}, and has sent {consumer.sent}"
    consumer.sent = generation
    return ""


def _wrong_claims(
    read: GroupRecording, protocols: list[dict[str, Any]], consumer: _Consumer, others: Iterable[_Consumer]
) -> str:
    """Return why the partitions that a consumer says it owns when it joins are wrong, or an empty string. One that has
    lost its member id, and connects again, may be any of the others.
    """
    for each in protocols:
        subscription = read.subscription(each["Metadata"])
        why = _unfounded(read, subscription, consumer)
        if why and not consumer.ids:
            same = next((other for other in others if not _unfounded(read, subscription, other)), None)
            if same is not None:
                consumer.assigned, consumer.assigned_in = same.assigned, same.assigned_in
                consumer.generations = list(same.generations)
                why = ""
        if why:
            return why
    consumer.sent = NO_GENERATION
    return ""


def _unfounded(read: GroupRecording, subscription: Subscription, consumer: _Consumer) -> str:
    """Return why a consumer cannot say that it owns partitions, or an empty string. It may have given up all."""
    assigned = consumer.assigned[-1] if consumer.assigned else frozenset()
    owned = read.number(subscription.owned)
    if owned and owned != read.of_topics(assigned, subscription.topics):
        return f"it says that it owns {read.names(owned)}; it was assigned {read.names(assigned)}"
    if subscription.generation not in (None, NO_GENERATION, consumer.assigned_in, *consumer.generations[-1:]):
        return f"it says that it owns them since generation {subscription.generation}"
    return ""


def _wrong_heartbeat(read: GroupRecording, exchange: Exchange, consumer: _Consumer) -> str:
    """Return why a consumer cannot have sent a heartbeat of the consumer protocol, or an empty string."""
    epoch, owned = exchange.generation, read.topic_partitions(exchange.body.get("TopicPartitions") or [])
    if epoch == JOINS:
        consumer.generations, consumer.sent = [], NO_GENERATION
        return "it joins, and says that it owns partitions" if owned else ""
    if epoch > JOINS and consumer.generations[-1:] != [epoch]:
        return f"it sends the epoch {epoch}; it was told {', '.join(map(str, consumer.generations)) or 'none'}"
    if owned and owned not in consumer.assigned:
        return f"it says that it owns {read.names(owned)}, which it was not assigned"
    return ""
