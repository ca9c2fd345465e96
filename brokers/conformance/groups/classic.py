"""Convert the requests about a group of the classic protocol to observations.

A request is handled between its arrival and that of its response. Responses to JoinGroup and SyncGroup, which can wait,
are observations of their own. Time-outs are optional observations, which are possible only if what they wait for did
not come in time. The end of the join phase is a hidden step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

from leadline.brokers.conformance.frames import NEVER
from leadline.brokers.conformance.groups.reading import Exchange, GroupRecording
from leadline.brokers.conformance.groups.timing import Observed, failovers, not_followed, observed, sessions, timeout
from leadline.brokers.conformance.groups.told import contradictions
from leadline.checker.conformance import Observation
from leadline.model.group.classic.protocols import Protocol
from leadline.model.group.conformance import classic, errors
from leadline.model.group.conformance.classic import Answer, Followed

FIRST_TO_REQUIRE_ID = 4
"""The first version of JoinGroup whose senders understand MEMBER_ID_REQUIRED (KIP-394)."""

_OF_MEMBERS = (errors.NONE, errors.ILLEGAL_GENERATION, errors.UNKNOWN_MEMBER_ID, errors.REBALANCE_IN_PROGRESS)
CODES = {
    "JoinGroup": (errors.NONE, errors.UNKNOWN_MEMBER_ID, errors.MEMBER_ID_REQUIRED),
    "SyncGroup": _OF_MEMBERS,
    "Heartbeat": _OF_MEMBERS,
    "OffsetCommit": _OF_MEMBERS,
    "LeaveGroup": (errors.NONE, errors.UNKNOWN_MEMBER_ID),
}
"""The error codes that are followed. A request with another one changes nothing."""


def beginning(read: GroupRecording, protocol: Protocol) -> Followed:
    """Return the state before the first request. The group is empty, but it may have had generations before."""
    joined = [each for each in read.exchanges if each.request.api == "JoinGroup" and each.code == errors.NONE]
    first = min(joined, key=lambda each: each.ends, default=None)
    generation = 0 if first is None else max(first.told["GenerationId"] - 1, 0)
    return classic.beginning(len(read.members), read.partitions, generation, protocol)


def observations(read: GroupRecording, protocol: Protocol, notes: Counter[str]) -> Iterator[Observed]:
    """Yield the observations of a group, in any order.

    Parameters:
        notes: the numbers of requests that are not followed, which are counted here.
    """
    loading = failovers(read, classic.fails_over)
    yield from loading.observations
    for each in read.exchanges:
        ready = each.code is not None and each.code not in errors.NOT_READY
        if ready and each.code not in CODES[each.request.api]:
            yield from not_followed(each, notes)
        elif each.request.api == "JoinGroup":
            yield from _join(read, each, ready)
        elif each.request.api == "SyncGroup":
            yield from _sync(read, each, ready)
        elif each.request.api == "LeaveGroup":
            yield _leave(read, each, ready)
        elif not ready:
            notes[f"{each.request.api} requests without an answer"] += 1
        elif each.request.api == "OffsetCommit":
            yield _commit(read, each)
        elif loading.is_blind(each):
            notes["heartbeats while a coordinator loads the group"] += 1
        else:
            yield _heartbeat(read, each, checks=protocol.watches_new_members)
    yield from sessions(read, classic.expires, renews_during_rebalance=protocol.renews_in_completing)
    yield from _rebalance_timeouts(read)
    yield from contradictions(read)


# --- requests ---------------------------------------------------------------------------------------------------------


def _join(read: GroupRecording, exchange: Exchange, ready: bool) -> Iterator[Observed]:
    number, body, member_id = exchange.request.number, exchange.body, exchange.member_ids[0]
    if not member_id and not ready and number not in read.anonymous:
        return  # the coordinator was not ready
    member = read.anonymous[number] if number in read.anonymous else read.member(member_id or exchange.told["MemberId"])
    needs_id, metadata = exchange.request.version >= FIRST_TO_REQUIRE_ID, read.metadata(body["Protocols"])

    def joins(followed: Followed) -> Iterator[Followed]:
        yield classic.joins(followed, member, knows_id=bool(member_id), metadata=metadata, needs_id=needs_id)

    named = f"member {member}" if member_id else f"the consumer that will be member {member}"
    yield observed(exchange, f"{named} sends JoinGroup", joins, classic.described, certain=ready)
    if ready:
        yield _answered(read, exchange, member)


def _sync(read: GroupRecording, exchange: Exchange, ready: bool) -> Iterator[Observed]:
    member, generation = read.member(exchange.member_ids[0]), exchange.generation
    given = exchange.body["Assignments"]
    plan = tuple(sorted((read.member(each["MemberId"]), read.assignment(each["Assignment"])) for each in given))

    def syncs(followed: Followed) -> Iterator[Followed]:
        yield from classic.syncs(followed, member, generation, plan, fails=exchange.code != errors.NONE)

    label = f"member {member} sends SyncGroup in generation {generation}{', as leader' if plan else ''}"
    yield observed(exchange, label, syncs, classic.described, certain=ready)
    if ready:
        yield _answered(read, exchange, member)


def _answered(read: GroupRecording, exchange: Exchange, member: int) -> Observed:
    """Return the observation of a response to JoinGroup or SyncGroup."""
    told, api, code = exchange.told, exchange.request.api, exchange.code or 0
    if code:
        seen = Answer(code)
    elif api == "SyncGroup":
        seen = Answer(code, assignment=read.assignment(told["Assignment"]))
    else:
        seen = Answer(code, told["GenerationId"], read.member(told["Leader"]))
    listed = {read.member(each["MemberId"]): each["Metadata"] for each in told.get("Members") or ()}

    def matches(answer: Answer) -> bool:
        metadata = {number: read.sent(metadata, told.get("ProtocolName")) for number, metadata in answer.members}
        found = (answer.code, answer.generation, answer.leader, answer.assignment, metadata)
        return found == (seen.code, seen.generation, seen.leader, seen.assignment, listed)

    def answered(followed: Followed) -> Iterator[Followed]:
        answer = dict(followed.told).get(member)
        if answer is not None and matches(answer):
            yield followed.answering(member, None)

    def why(followed: Followed) -> str:
        answer = dict(followed.told).get(member)
        return f"{'it waits' if answer is None else f'it is told {answer}'}; {classic.described(followed)}"

    members = f" with members {', '.join(map(str, sorted(listed)))}" if listed else ""
    return Observation(
        earliest=exchange.ends,
        latest=exchange.ends,
        label=f"the answer to {api} tells member {member}: {seen}{members}",
        apply=answered,
        why=why,
        source=exchange.frames,
    )


def _heartbeat(read: GroupRecording, exchange: Exchange, *, checks: bool) -> Observed:
    member, generation, code = read.member(exchange.member_ids[0]), exchange.generation, exchange.code or 0

    def beats(followed: Followed) -> Iterator[Followed]:
        yield from (after for answer, after in classic.beats(followed, member, generation) if answer == code)

    label = f"a heartbeat of member {member} in generation {generation} is answered with {errors.said(code)}"
    return observed(exchange, label, beats, classic.described, checks=checks)


def _commit(read: GroupRecording, exchange: Exchange) -> Observed:
    generation, code = exchange.generation, exchange.code or 0
    member = read.member(exchange.member_ids[0]) if exchange.member_ids[0] else None

    def commits(followed: Followed) -> list[Followed]:
        return [followed] if code in classic.commit_codes(followed, member, generation) else []

    sender = "a consumer without a member id" if member is None else f"member {member}"
    label = f"a commit of {sender} in generation {generation} is answered with {errors.said(code)}"
    return observed(exchange, label, commits, classic.described, checks=True)


def _leave(read: GroupRecording, exchange: Exchange, ready: bool) -> Observed:
    members = [read.member(each) for each in exchange.member_ids]
    codes: list[int] | None = None
    if ready:
        code, listed = exchange.told["ErrorCode"], exchange.told.get("Members")
        codes = [code] if code or not listed else [each["ErrorCode"] for each in listed]

    def leaves(followed: Followed) -> Iterator[Followed]:
        answers = []
        for member in members:
            answer, followed = classic.leaves(followed, member)
            answers.append(answer)
        if codes is None or answers == codes:
            yield followed

    label = f"member {', '.join(map(str, members))} leaves"
    return observed(exchange, label, leaves, classic.described, certain=ready)


# --- time-outs --------------------------------------------------------------------------------------------------------


def _rebalance_timeouts(read: GroupRecording) -> Iterator[Observed]:
    """Yield the time-outs that may have ended the join phase of a generation, and its wait for SyncGroup requests."""
    joins = [each for each in read.exchanges if each.request.api == "JoinGroup"]
    names = ("RebalanceTimeoutMs", "SessionTimeoutMs")
    told = [next(each.body[name] for name in names if name in each.body) / 1000 for each in joins]
    seconds = min(told, default=0.0), max(told, default=0.0)
    quiet = [
        (each.ends, each.begins)
        for each in read.exchanges
        if each.request.api in ("Heartbeat", "SyncGroup") and each.code == errors.NONE
    ]
    first: dict[int, Exchange] = {}
    for each in sorted((each for each in joins if each.code == errors.NONE), key=lambda each: each.ends):
        first.setdefault(each.told["GenerationId"], each)
    for ends in (*(each.ends for each in first.values()), NEVER):
        begun = max((begins for end, begins in quiet if end < ends), default=0.0)
        passes = "the rebalance time-out passes"
        yield from timeout(passes, classic.times_out, (begun, begun), seconds, min(ends, read.end), due=False)
    for generation, each in first.items():
        step = partial(classic.sync_times_out, generation=generation)
        passes = "the time-out for SyncGroup requests passes"
        yield from timeout(passes, step, (each.begins, each.ends), seconds, read.end, due=True)
