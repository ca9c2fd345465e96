"""Convert the requests about a group of the consumer protocol to observations.

A heartbeat is handled between its arrival and that of its response. Time-outs are optional observations, which are
possible only if what they wait for did not come in time. The session time-out is a setting of the brokers: it is longer
than the interval of heartbeats, and than every pause that a member survived.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

from leadline.brokers.conformance.frames import NEVER
from leadline.brokers.conformance.groups.reading import Exchange, GroupRecording
from leadline.brokers.conformance.groups.timing import Observed, not_followed, observed, sessions, timeout
from leadline.brokers.conformance.groups.told import JOINS, LEAVES, contradictions
from leadline.brokers.conformance.not_followed import NotFollowed
from leadline.checker.conformance import Observation
from leadline.model.group.conformance import consumer, errors
from leadline.model.group.consumer.protocols import Protocol
from leadline.model.group.consumer.state import ConsumerGroup

NOTICED = 0.8
"""The part of a pause that a session certainly lasted."""
CODES = {
    "ConsumerGroupHeartbeat": (errors.NONE, errors.UNKNOWN_MEMBER_ID, errors.FENCED_MEMBER_EPOCH),
    "OffsetCommit": (errors.NONE, errors.UNKNOWN_MEMBER_ID, errors.STALE_MEMBER_EPOCH),
}
"""The error codes that are followed. A request with another one changes nothing."""


def beginning(read: GroupRecording, protocol: Protocol) -> ConsumerGroup:
    """Return the state before the first request. The group is empty, but it may have had epochs before."""
    first = next(iter(_beats(read)), None)
    epoch = 0 if first is None else max(first.told["MemberEpoch"] - 1, 0)
    return consumer.beginning(len(read.members), read.partitions, epoch, protocol, _known_targets(read))


def observations(read: GroupRecording, protocol: Protocol, notes: Counter[str]) -> Iterator[Observed]:
    """Yield the observations of a group, in any order.

    Parameters:
        notes: the numbers of requests that are not followed, which are counted here.

    Raises:
        NotFollowed: if members subscribe with a regular expression.
    """
    subscribed = dict[int, list[str]]()
    for each in read.exchanges:
        api, code = each.request.api, each.code
        if each.body.get("SubscribedTopicRegex"):
            raise NotFollowed(f"group {read.group} subscribes with a regular expression, which is not followed")
        ready = code is not None and code not in errors.NOT_READY
        if ready and code not in CODES.get(api, ()):
            yield from not_followed(each, notes)
        elif api == "OffsetCommit" and ready:
            yield _commit(read, each)
        elif api != "ConsumerGroupHeartbeat":
            notes[f"{api} requests without an answer"] += 1
        elif each.generation <= LEAVES:
            yield _leave(read, each, ready)
        elif each.member_ids[0] or ready:
            yield _heartbeat(read, each, ready, subscribed)
    yield from sessions(read, consumer.expires, seconds=_longest_pause(read))
    yield from _rebalance_timeouts(read)
    yield from _topic_changes(read, subscribed)
    yield from contradictions(read)


def _beats(read: GroupRecording) -> list[Exchange]:
    """Return the heartbeats that were answered without an error and do not leave, in the order of their answers."""
    found = [each for each in read.exchanges if each.request.api == "ConsumerGroupHeartbeat"]
    wanted = (each for each in found if each.code == errors.NONE and each.generation > LEAVES)
    return sorted(wanted, key=lambda each: each.ends)


def _known_targets(read: GroupRecording) -> dict[int, dict[int, int]]:
    """Return what answers show of target assignments: for each epoch, the members of some partitions.

    What a member is newly assigned is in the target of the epoch that it has then. If it has a new epoch and has lost
    nothing, so is everything that it is assigned.
    """
    known: dict[int, dict[int, int]] = {}
    assigned: dict[int, frozenset[int]] = {}
    epochs: dict[int, int] = {}
    for each in _beats(read):
        member, epoch = read.member(each.told["MemberId"] or each.member_ids[0]), each.told["MemberEpoch"]
        before = frozenset[int]() if each.generation == JOINS else assigned.get(member, frozenset())
        after = _assignment(read, each)
        after = before if after is None else after
        shown = after if epoch != epochs.get(member) and before <= after else after - before
        known.setdefault(epoch, {}).update(dict.fromkeys(shown, member))
        assigned[member], epochs[member] = after, epoch
    return known


def _assignment(read: GroupRecording, exchange: Exchange) -> frozenset[int] | None:
    """Return the assignment in the answer to a heartbeat, or None if it has none."""
    told = exchange.told.get("Assignment")
    return None if told is None else read.topic_partitions(told["TopicPartitions"])


# --- requests ---------------------------------------------------------------------------------------------------------


def _heartbeat(read: GroupRecording, exchange: Exchange, ready: bool, subscribed: dict[int, list[str]]) -> Observed:
    body, epoch = exchange.body, exchange.generation
    member = read.member(exchange.member_ids[0] or exchange.told["MemberId"])
    report = None if body.get("TopicPartitions") is None else read.topic_partitions(body["TopicPartitions"])
    topics = body.get("SubscribedTopicNames")
    changes = topics is not None and sorted(topics) != subscribed.get(member)
    if topics is not None:
        subscribed[member] = sorted(topics)
    assigned = _assignment(read, exchange) if ready else None

    def answers(state: ConsumerGroup) -> Iterator[tuple[consumer.Answer, ConsumerGroup]]:
        return consumer.beats(state, member, epoch, report, changes=changes)

    def beats(state: ConsumerGroup) -> Iterator[ConsumerGroup]:
        before = state.group.member(member)
        unchanged = frozenset() if before is None else before.assigned
        if ready:
            same = unchanged if assigned is None else assigned
            wanted = consumer.Answer(errors.NONE, exchange.told["MemberEpoch"], same)
            wanted = consumer.Answer(exchange.code) if exchange.code else wanted
            yield from (after for answer, after in answers(state) if answer == wanted)
        else:
            yield from (after for _, after in answers(state))

    def why(state: ConsumerGroup) -> str:
        told = dict.fromkeys(_shown(read, answer) for answer, _ in answers(state))
        return f"it is told {' or '.join(list(told)[:3])}; {consumer.described(state)}"

    sent = "joins" if epoch == JOINS else f"sends a heartbeat with epoch {epoch}"
    owns = "" if report is None else f", owns {read.names(report)}"
    shown = "gets no answer"
    if ready:
        answer = consumer.Answer(exchange.code or 0, exchange.told["MemberEpoch"], assigned)
        shown = f"is told {_shown(read, answer)}"
    return observed(exchange, f"member {member} {sent}{owns}, and {shown}", beats, why, certain=ready)


def _shown(read: GroupRecording, answer: consumer.Answer) -> str:
    if answer.code:
        return errors.said(answer.code)
    return f"epoch {answer.epoch}" + ("" if answer.assigned is None else f" and {read.names(answer.assigned)}")


def _leave(read: GroupRecording, exchange: Exchange, ready: bool) -> Observed:
    member = read.member(exchange.member_ids[0])

    def leaves(state: ConsumerGroup) -> Iterator[ConsumerGroup]:
        code, after = consumer.leaves(state, member)
        if not ready or (code == exchange.code and (code or exchange.told["MemberEpoch"] == exchange.generation)):
            yield after

    return observed(exchange, f"member {member} leaves", leaves, consumer.described, certain=ready)


def _commit(read: GroupRecording, exchange: Exchange) -> Observed:
    member_id, epoch, code = exchange.member_ids[0], exchange.generation, exchange.code
    member, topics = read.member(member_id) if member_id else None, exchange.body.get("Topics") or ()
    partitions = None
    if all("TopicId" in each for each in topics):
        listed = [{**each, "Partitions": [part["PartitionIndex"] for part in each["Partitions"]]} for each in topics]
        partitions = read.topic_partitions(listed)

    def commits(state: ConsumerGroup) -> Iterator[ConsumerGroup]:
        if code in consumer.commit_codes(state, member, epoch, partitions):
            yield state

    sender = "a consumer without a member id" if member is None else f"member {member}"
    label = f"a commit of {sender} with epoch {epoch} is answered with {errors.said(code or 0)}"
    return observed(exchange, label, commits, consumer.described, checks=True)


# --- without requests -------------------------------------------------------------------------------------------------


def _longest_pause(read: GroupRecording) -> float:
    """Return a time in seconds that is not longer than the session time-out. A new coordinator begins sessions again,
    and a busy one notices late that they have expired.
    """
    last: dict[int, Exchange] = {}
    longest = 0.0
    for each in sorted(_beats(read), key=lambda each: each.begins):
        longest = max(longest, each.told["HeartbeatIntervalMs"] / 1000)
        member = read.member(each.told["MemberId"] or each.member_ids[0])
        before = last.get(member)
        last[member] = each
        if before is None or each.generation == JOINS or each.request.target != before.request.target:
            continue
        if not any(before.begins <= at <= each.ends for at, _ in read.ends):
            longest = max(longest, (each.begins - before.ends) * NOTICED)
    return longest


def _rebalance_timeouts(read: GroupRecording) -> Iterator[Observed]:
    """Yield the time-outs of members that may not have revoked their partitions in time."""
    seconds: dict[int, float] = {}
    for each in _beats(read):
        member = read.member(each.told["MemberId"] or each.member_ids[0])
        if each.body["RebalanceTimeoutMs"] >= 0:
            seconds[member] = each.body["RebalanceTimeoutMs"] / 1000
        if each.told.get("Assignment") is not None:
            label, begins = f"the rebalance time-out of member {member} passes", (each.begins, each.begins)
            step = partial(_times_out, member)
            yield from timeout(label, step, begins, (seconds[member],) * 2, read.end, due=False)


def _times_out(member: int, state: ConsumerGroup) -> Iterator[ConsumerGroup]:
    return consumer.times_out(state, member)


def _topic_changes(read: GroupRecording, subscribed: dict[int, list[str]]) -> Iterator[Observed]:
    """Yield the changes of topics that the group reads."""
    topics = {topic for each in subscribed.values() for topic in each}
    first = min((each.begins for each in read.exchanges), default=0.0)
    for frame, answered in read.topic_changes:
        names = {each if isinstance(each, str) else each.get("Name") for each in frame.body.get("Topics") or ()}
        names |= set(frame.body.get("TopicNames") or ())
        if names & topics and answered >= first:
            yield Observation(
                earliest=frame.begins,
                latest=NEVER,
                label=f"{frame.api} changes a topic of the group",
                apply=consumer.changes_topics,
                optional=True,
                source=(frame.number,),
                exercises=("change_topics",),
            )
