"""Describe states and traces of the `kafka` family as rows, messages and events, for diagrams and tables."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

import attrs

from leadline.checker.action import Step
from leadline.checker.drawing import Drawing, Message, Row
from leadline.model.history import (
    Answer,
    Commit,
    FollowerEndOffset,
    History,
    Join,
    MissedWatermark,
    Stall,
    Truncation,
    rule,
    short,
    truncates,
)
from leadline.model.kafka.bounds import OLD_MIN_ISR
from leadline.model.kafka.broker import UNKNOWN_OFFSET
from leadline.model.kafka.high_watermark import smallest_leo
from leadline.model.kafka.messages import (
    Diverging,
    EpochRequest,
    EpochResponse,
    Failed,
    FetchRequest,
    FetchResponse,
    OffsetOutOfRange,
    OffsetsRequest,
)
from leadline.model.kafka.protocols import Protocol
from leadline.model.kafka.rules import rule_and_value
from leadline.model.kafka.start_history import starts
from leadline.model.kafka.state import Partition, Promise
from leadline.model.quorum import NO_EPOCH, drawn_isr
from leadline.model.rows import (
    CONSUMERS,
    CONTROLLER,
    PRODUCERS,
    announcement,
    broker_row,
    controller_badges,
    controller_columns,
    drawn_log,
    epoch_column,
    log_columns,
    record_cell,
    role_badges,
    role_column,
    standing,
)


def rows(state: Partition) -> dict[str, Row]:
    """Return the rows for the controller, the producers, each broker, and the consumers, keyed by name.

    The producers' row shows the acknowledged records. The consumers' row shows the records that consumers can read.
    """
    brokers = {broker_row(broker): _broker(state, broker) for broker in range(len(state.replicas))}
    producers, consumers = _clients("acknowledged", state.acked), _clients("visible", state.exposed)
    return {CONTROLLER: _controller(state), PRODUCERS: producers, **brokers, CONSUMERS: consumers}


def _controller(state: Partition) -> Row:
    quorum, badges, columns = state.quorum, controller_badges(state.quorum), controller_columns(state.quorum)
    if state.bounds.moves:
        columns["replicas"] = " ".join(map(str, state.assignment.replicas))
        badges.append(f"replicas: {columns['replicas']}")
    if state.is_mixed:
        badges.append(f"runs {state.protocol.name}")
        columns["role"] += f" (runs {state.protocol.name})"
    if state.protocol.has_elr:
        badges.append(f"ELR: {drawn_isr(quorum.elr)}")
        last = quorum.last_known_leader
        badges += [] if last is None else [f"last leader: {last}"]
        columns["log"] = f"ELR: {drawn_isr(quorum.elr)}" + ("" if last is None else f", last leader: {last}")
    return Row(badges=badges, columns=columns)


def _broker(state: Partition, broker: int) -> Row:
    replica, status = state.replicas[broker], state.registrations[broker].status
    role, notes = role_column(broker, replica), _moving(state, broker)
    notes += [] if status == "active" else [status]
    runs = [f"runs {state.rules_of(broker).name}"] if state.is_mixed else []
    notes += runs
    notes += ["directory failed"] if replica.offline else []
    notes += ["stopped fetching"] if isinstance(replica.in_flight, Failed) else []
    notes += [f"deletes below {replica.deleting}"] if replica.deleting else []
    notes += [f"min.insync.replicas={OLD_MIN_ISR}"] if replica.old_min_isr else []
    notes += [] if replica.empty_epoch == NO_EPOCH else [f"remembers epoch {replica.empty_epoch}"]
    proposal = replica.proposal
    asks = [] if proposal is None else [f"asks for ISR {drawn_isr(proposal.isr)}"]
    asked = {"asks for ISR": "" if proposal is None else str(proposal)} if state.rules_of(broker).in_flight else {}
    role, notes = (role, notes) if replica.up else ("down", runs)
    return Row(
        badges=[*role_badges(broker, replica), *asks] if replica.up else [],
        standing=_standing(state, broker),
        up=replica.up,
        columns={
            "role": f"{role} ({', '.join(notes)})" if notes else role,
            "epoch": epoch_column(replica.epoch),
            "ISR": drawn_isr(replica.isr),
            **log_columns(replica.log, replica.high_watermark),
            "remote": _remote_leos(state, broker) if state.believes_to_lead(broker) else "",
            **asked,
        },
        **drawn_log(replica.log, replica.high_watermark),
    )


def _standing(state: Partition, broker: int) -> list[str]:
    """Return badges (short texts) that show how the controller sees a broker, for example whether it is in the ISR."""
    status = state.registrations[broker].status
    known = standing(broker, state.quorum)
    known += ["in the ELR"] if broker in state.quorum.elr else []
    known += _moving(state, broker)
    known += [f"runs {state.rules_of(broker).name}"] if state.is_mixed else []
    return known if status == "active" else [*known, status]


def _moving(state: Partition, broker: int) -> list[str]:
    """Return notes on whether a reassignment adds or removes the replica of a broker."""
    assignment = state.assignment
    notes = ["adding"] if broker in assignment.adding else []
    notes += ["removing"] if broker in assignment.removing else []
    return notes if broker in assignment.replicas or not state.bounds.moves else ["no replica"]


def _remote_leos(state: Partition, leader: int) -> str:
    known = enumerate(state.replicas[leader].remote_leos)
    return " ".join(f"{broker}:{'?' if leo < 0 else leo}" for broker, leo in known if broker != leader)


def _clients(badge: str, promises: tuple[Promise, ...]) -> Row:
    records = [promise.record for promise in promises]
    text = " ".join(map(str, records)) or "-"
    return Row(badges=[badge], cells=[record_cell(record) for record in records], columns={"log": text})


def messages(state: Partition, announced_by: str = "LeaderAndIsr") -> Iterator[Message]:
    """Yield the messages in flight between the controller and brokers, and between followers and leaders.

    Parameters:
        announced_by: the name of the message that announces a leader epoch.
    """
    for epoch, request in enumerate(state.requests):
        if request is not None:
            heard = [broker for broker in range(len(state.replicas)) if state.obeys(broker, epoch)]
            yield from (announcement(broker, epoch, request, announced_by) for broker in heard)
    for broker in range(len(state.replicas)):
        yield from _in_flight(state, broker)
        yield from _proposal(state, broker)
        yield from _late(state, broker)


def _in_flight(state: Partition, follower: int) -> Iterator[Message]:
    """Yield a follower's request to its leader, or the response to the request."""
    replica = state.replicas[follower]
    match replica.in_flight:
        case FetchRequest(leader=leader) | EpochRequest(leader=leader) | OffsetsRequest(leader=leader) as request:
            yield Message(broker_row(follower), broker_row(leader), f"{request}, epoch {request.epoch}")
        case None | Failed():
            return
        case response:
            assert replica.leader is not None
            yield Message(broker_row(replica.leader), broker_row(follower), str(response))


def _proposal(state: Partition, leader: int) -> Iterator[Message]:
    """Yield a leader's `AlterPartition` request to the controller if it is in flight."""
    proposal = state.replicas[leader].proposal
    if proposal is not None and proposal.sent:
        yield Message(broker_row(leader), CONTROLLER, f"AlterPartition, ISR {drawn_isr(proposal.isr)}")


def _late(state: Partition, follower: int) -> Iterator[Message]:
    """Yield a follower's fetch request that is still in flight after its connection broke."""
    late = state.late[follower]
    if late is not None:
        yield Message(broker_row(follower), broker_row(late.request.leader), str(late))


def arrivals(step: Step[Partition], announced_by: str = "LeaderAndIsr") -> Iterator[Message]:
    """Yield the messages that arrive in a step.

    Parameters:
        announced_by: the name of the message that announces a leader epoch.
    """
    before, after = step.before, step.after
    match step.action, step.arguments:
        case "become_leader" | "become_follower", {"broker": broker, "epoch": epoch}:
            request = before.requests[epoch]
            assert request is not None
            yield announcement(broker, epoch, request, announced_by)
            if after.replicas[broker].old_answer:
                yield from _proposal(before, broker)
        case "produce", {"leader": leader}:
            yield Message(PRODUCERS, broker_row(leader), str(after.replicas[leader].log.records[-1]))
        case "handle_fetch" | "park_fetch" | "handle_epoch_request" | "handle_offsets_request", {"follower": follower}:
            yield from _in_flight(before, follower)
        case "handle_fetch_response" | "handle_epoch_response" | "learn_before_truncating", {"follower": follower}:
            yield from _in_flight(before, follower)
        case "handle_offsets_response", {"follower": follower}:
            yield from _in_flight(before, follower)
        case "handle_late_fetch", {"follower": follower}:
            yield from _late(before, follower)
        case "handle_alter_partition", {"leader": leader}:
            yield from _proposal(before, leader)
        case "hear_old_answer", {"leader": leader}:
            yield Message(CONTROLLER, broker_row(leader), "AlterPartition response of an earlier epoch")
            yield from _proposal(before, leader)
        case "hear_isr", {"leader": leader}:
            yield Message(CONTROLLER, broker_row(leader), f"ISR {drawn_isr(after.replicas[leader].isr)}")
        case "crash_after_append", {"broker": follower}:
            yield from _in_flight(before, follower)
        case "begin_shutdown", {"broker": broker}:
            yield Message(broker_row(broker), CONTROLLER, "shutting down")
        case "restart", {"broker": broker} if after.quorum != before.quorum:
            yield Message(broker_row(broker), CONTROLLER, "started")
    yield from _to_clients_and_controller(before, after)


def _to_clients_and_controller(before: Partition, after: Partition) -> Iterator[Message]:
    """Yield messages from leaders to clients and the controller: readable and acknowledged records, and a new ISR."""
    for broker, leader in after.believed_leaders():
        row = broker_row(broker)
        written = not after.rules_of(broker).in_flight and leader.isr != before.replicas[broker].isr
        if written and after.quorum.isr == leader.isr != before.quorum.isr:
            yield Message(row, CONTROLLER, f"ISR {drawn_isr(leader.isr)}")
        if leader == before.replicas[broker]:
            continue
        for promise in after.exposed[len(before.exposed) :]:
            yield Message(row, CONSUMERS, str(promise.record))
        for promise in after.acked[len(before.acked) :]:
            yield Message(row, PRODUCERS, f"ack {promise.record}")


def commits(step: Step[Partition]) -> Iterator[Commit]:
    """Yield the records that become readable or acknowledged in a step."""
    before, after = step.before, step.after
    for promise in after.exposed[len(before.exposed) :]:
        yield Commit(promise.offset, promise.record, "the high watermark is above it, and consumers can read it")
    for promise in after.acked[len(before.acked) :]:
        acks = after.bounds.acks
        label = "committed" if acks == "all" else "acknowledged"
        yield Commit(promise.offset, promise.record, f"its producer, with acks={acks}, gets the answer", label)


def _rule(protocol: Protocol, field: str) -> str:
    """Return text that names a protocol and one of its rules, with the rule's value. `leadline specs` shows the same
    names.
    """
    listed = rule_and_value(protocol, field)
    return f"{protocol.name}'s {f'rule {listed}' if listed else rule(field, getattr(protocol, field))}"


def answers(step: Step[Partition]) -> Iterator[Answer]:
    """Yield the epoch end offsets that leaders send to followers in a step, each with the leader's record at this
    offset.
    """
    for broker, replica in enumerate(step.after.replicas):
        response, leader = replica.in_flight, replica.leader
        if not isinstance(response, EpochResponse | Diverging) or response == step.before.replicas[broker].in_flight:
            continue
        if leader is None or response.end_offset is None:
            continue
        log, end = step.after.replicas[leader].log, response.end_offset
        has = f", where it has {log[end]}" if log.has(end) else ""
        yield Answer(broker, f"broker {leader} answers that epoch {response.epoch} ends at {end} in its log{has}")


def truncations(step: Step[Partition]) -> Iterator[Truncation]:
    """Yield the truncation in a step, if any, with the rule that determines where to truncate."""
    before, after = step.before, step.after
    match step.action, step.arguments:
        case "become_follower", {"broker": broker}:
            was, now = before.replicas[broker], after.replicas[broker]
            name = _rule(before.rules_of(broker), "truncates_first_to")
            own = now.log.end_offset == was.high_watermark < was.log.end_offset
            how = f"truncates to its own high watermark, {was.high_watermark}" if own else truncates(was.log, now.log)
            yield Truncation(broker, f"begins to follow, and {how} ({name})", by_high_watermark=own)
        case "handle_epoch_response" | "handle_fetch_response" | "handle_offsets_response", {"follower": follower}:
            was, now = before.replicas[follower], after.replicas[follower]
            protocol = before.rules_of(follower)
            name = _rule(protocol, "truncates_to")
            match was.in_flight:
                case EpochResponse(epoch=epoch, end_offset=None):
                    how = f"learns that its leader does not know where epoch {epoch} ends"
                    how += f", and {truncates(was.log, now.log)} ({name})"
                    yield Truncation(follower, how, by_high_watermark=True)
                case EpochResponse(epoch=epoch, end_offset=end) | Diverging(epoch=epoch, end_offset=end):
                    how = f"learns that epoch {epoch} ends at {end}, and {truncates(was.log, now.log)} ({name})"
                    if now.empty_epoch != NO_EPOCH and isinstance(now.in_flight, EpochRequest):
                        how += (
                            f", and its epoch {now.empty_epoch}, in which it led and wrote nothing; so it asks again "
                        )
                        how += f"({_rule(protocol, 'drops_empty_epoch')})"
                    yield Truncation(follower, how)
                case OffsetOutOfRange(end_offset=end) if now.log != was.log:
                    yield Truncation(follower, f"truncates to its leader's log end offset, {end}")
        case "truncate_late", {"broker": broker}:
            response, was, now = before.replicas[broker].late_response, before.replicas[broker], after.replicas[broker]
            assert response is not None
            how = f"is still handling a response of its former leader, by which epoch {response.epoch} ends at "
            yield Truncation(broker, f"{how}{response.end_offset}, and {truncates(was.log, now.log)}")
        case "crash_losing_tail", {"broker": broker, "offset": offset}:
            yield Truncation(broker, f"crashes before its records from offset {offset} onward are flushed")


def missed(step: Step[Partition]) -> Iterator[MissedWatermark]:
    """Yield the high watermarks that followers miss in a step because fetch responses are lost."""
    for broker, replica in enumerate(step.before.replicas):
        response, now = replica.in_flight, step.after.replicas[broker]
        if not isinstance(response, FetchResponse) or now.in_flight == response:
            continue
        if now.high_watermark < min(response.high_watermark, now.log.end_offset):
            yield MissedWatermark(broker, response.high_watermark)


def counted(step: Step[Partition]) -> Iterator[FollowerEndOffset]:
    """Yield the remote log end offsets that leaders change in a step."""
    for leader, replica in step.after.believed_leaders():
        before = step.before.replicas[leader].remote_leos
        for broker, end_offset in enumerate(replica.remote_leos):
            if before and end_offset not in (before[broker], UNKNOWN_OFFSET):
                yield FollowerEndOffset(leader, broker, end_offset)


def joins(step: Step[Partition]) -> Iterator[Join]:
    """Yield the followers that leaders admit to the ISR in a step, each with the rule that allows it to join."""
    before, after = step.before, step.after
    for leader, replica in after.believed_leaders():
        known = before.replicas[leader]
        for broker in sorted(replica.maximal_isr - known.maximal_isr):
            if step.action not in ("handle_fetch", "park_fetch", "handle_late_fetch"):
                continue
            caught_up = (
                f"broker {leader} leads with log end offset {known.log.end_offset} and high watermark "
                f"{known.high_watermark}, and considers broker {broker}, which fetches from offset "
                f"{replica.remote_leos[broker]}, caught up ({_rule(before.rules_of(leader), 'admits')})"
            )
            yield Join(broker, caught_up)


def stalls(step: Step[Partition]) -> Iterator[Stall]:
    """Yield the leaders that do not commit a record after a step, although every member of the ISR that they know has
    it.
    """
    after = step.after
    for leader, replica in after.believed_leaders():
        protocol = after.rules_of(leader)
        offset, isr = replica.high_watermark, sorted(replica.maximal_isr - {leader})
        if not replica.log.has(offset) or not protocol.may_raise(replica, after.bounds):
            continue
        if any(replica.remote_leos[member] <= offset for member in isr):
            continue
        has = f"every member of the ISR that broker {leader} knows, {_listed(replica.maximal_isr)}, has "
        has += f"{short(replica.log[offset])}"
        if smallest_leo(after, leader, replica) > offset:
            why = "does not try to advance its high watermark before the next write or fetch"
            why += "" if protocol.raises_when_answered else f" ({_rule(protocol, 'raises_when_answered')})"
            yield Stall(leader, offset, f"{has}, but broker {leader} {why}")
        else:
            behind = [broker for broker in sorted(replica.caught_up) if replica.remote_leos[broker] <= offset]
            why = f"waits for {_listed(behind)}, which has left the ISR ({_rule(protocol, 'waits_for_caught_up')})"
            yield Stall(leader, offset, f"{has}, but its high watermark {why}")


def waits(step: Step[Partition]) -> Iterator[str]:
    """Yield a sentence for each broker that waits for a response that never comes, or asks the same question again."""
    before, after = step.before, step.after
    for broker, replica in enumerate(after.replicas):
        protocol = after.rules_of(broker)
        was, proposal = before.replicas[broker], replica.proposal
        if proposal is not None and proposal.dropped:
            yield (
                f"broker {broker} waits for the response to its newer request, which it has not sent: the response to "
                f"the earlier request removed it ({_rule(protocol, 'drops_newer_proposals')}), so broker {broker} asks "
                "for no other ISR"
            )
        match was.in_flight, replica.in_flight:
            case EpochResponse(epoch=epoch, end_offset=end), EpochRequest() if was.log == replica.log:
                yield (
                    f"broker {broker} learns that epoch {epoch} ends at {end}: it has no record to truncate, keeps its "
                    f"epoch {replica.empty_epoch}, and asks again ({_rule(protocol, 'drops_empty_epoch')})"
                )


def started(step: Step[Partition]) -> Iterator[str]:
    """Yield the sentences of `start_history.starts` for a step."""
    return starts(step, _rule)


def deletable_below(state: Partition) -> int:
    """Return the offset below which records need not survive."""
    return state.deletable


def waited_for(state: Partition, leader: int) -> frozenset[int]:
    """Return the brokers whose log end offsets limit the high watermark of a leader."""
    return state.replicas[leader].maximal_isr


def _listed(members: Iterable[int]) -> str:
    return " and ".join(f"broker {member}" for member in sorted(members))


DRAWING = Drawing(
    rows=rows,
    messages=messages,
    arrivals=arrivals,
    events=History(
        *(commits, truncations, missed, counted, joins, answers, stalls, waits),
        starts=started,
        kept_from=deletable_below,
        waited_for=waited_for,
    ),
    legend="m0@1: record m0, written in leader epoch 1; ┃ the high watermark (HW); LEO log end offset; remote: the "
    "followers' LEO as the leader knows it; consumers: the records visible to them; producers: those acknowledged",
)

KRAFT_DRAWING = attrs.evolve(
    DRAWING,
    messages=functools.partial(messages, announced_by="PartitionChangeRecord"),
    arrivals=functools.partial(arrivals, announced_by="PartitionChangeRecord"),
)
"""The drawing with KRaft, where brokers learn of leader epochs from records of the metadata log."""
