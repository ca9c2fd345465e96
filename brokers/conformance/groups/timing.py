"""Time windows of requests, and of what coordinators do without requests: sessions expire, and brokers fail over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs

from leadline.brokers.conformance.frames import NEVER
from leadline.brokers.conformance.groups.reading import Exchange, GroupRecording
from leadline.checker.conformance import Observation
from leadline.model.group.conformance import errors

EARLY = 0.95
"""Time-outs may be shorter than they should be by this factor, because the clocks of processes differ."""

ACTIONS = {
    "JoinGroup": "send_join",
    "SyncGroup": "send_sync",
    "Heartbeat": "send_heartbeat",
    "ConsumerGroupHeartbeat": "send_heartbeat",
    "OffsetCommit": "commit",
    "LeaveGroup": "leave",
}
"""The actions of the model in which requests are sent."""

Observed = Observation[Any]
Step = Callable[[Any], Iterable[Any]]
"""Returns the possible states after a step."""
MemberStep = Callable[[Any, int], Iterable[Any]]
"""The same for a step of a member."""


def observed(
    exchange: Exchange,
    label: str,
    step: Step,
    described: Callable[[Any], str],
    *,
    certain: bool = True,
    checks: bool = False,
) -> Observed:
    """Return the observation of a request.

    Parameters:
        step: returns the possible states after the request.
        described: returns a state in words, for reports.
        certain: whether the answer shows that the coordinator has handled the request.
        checks: whether the request leaves the state as it is.
    """
    return Observation(
        earliest=exchange.begins,
        latest=exchange.ends,
        label=label,
        apply=step,
        why=described,
        checks=checks,
        optional=not certain,
        source=exchange.frames,
        exercises=(ACTIONS[exchange.request.api],),
    )


def not_followed(exchange: Exchange, notes: Counter[str]) -> Iterator[Observed]:
    """Count a request with an error that is not followed. One that Kafka never answers is not possible."""
    code = exchange.code or 0
    notes[f"{exchange.request.api} requests with error {code}"] += 1
    if code not in errors.OTHERS:
        label = f"{exchange.request.api} is answered with error {code}"
        yield observed(exchange, label, lambda _: (), lambda _: "brokers do not answer this")


# --- sessions ---------------------------------------------------------------------------------------------------------


def sessions(
    read: GroupRecording, expires: MemberStep, *, renews_during_rebalance: bool = False, seconds: float | None = None
) -> Iterator[Observed]:
    """Yield the expiry of each session that was not renewed in time. It can happen until it is renewed again.

    Parameters:
        expires: returns the states after the session of a member has expired.
        renews_during_rebalance: whether every heartbeat that is answered with REBALANCE_IN_PROGRESS renews the session.
        seconds: the session time-out, if requests to join do not say it.
    """
    renewing = {errors.NONE, errors.MEMBER_ID_REQUIRED}
    if renews_during_rebalance:
        renewing.add(errors.REBALANCE_IN_PROGRESS)
    timeout: dict[int, float] = {}
    renewed: dict[int, float] = {}
    for each in sorted(read.exchanges, key=lambda each: each.begins):
        for member in _members(read, each):
            if seconds is not None:
                timeout[member] = seconds * EARLY
            elif "SessionTimeoutMs" in each.body:
                timeout[member] = each.body["SessionTimeoutMs"] / 1000 * EARLY
            known = each.code in renewing or (each.code is None and member not in renewed)
            if known and member in timeout:
                if member in renewed:
                    yield from _expiry(member, renewed[member] + timeout[member], each.ends, expires)
                renewed[member] = each.begins
    for member, begins in renewed.items():
        yield from _expiry(member, begins + timeout[member], NEVER, expires)


def _members(read: GroupRecording, exchange: Exchange) -> list[int]:
    """Return the members that a request is from, or whose id its response gives."""
    number, answer = exchange.request.number, exchange.answer
    if number in read.anonymous:
        return [read.anonymous[number]]
    names = exchange.member_ids
    if names == [""] and answer is not None:
        names = [answer.body.get("MemberId") or ""]
    return [read.member(each) for each in names if each]


def _expiry(
    member: int, earliest: float, latest: float, step: Callable[[Any, int], Iterable[Any]]
) -> Iterator[Observed]:
    if earliest <= latest:
        yield Observation(
            earliest=earliest,
            latest=latest,
            label=f"the session of member {member} expires",
            apply=lambda state: step(state, member),
            optional=True,
            exercises=("expire_session",),
        )


# --- failovers --------------------------------------------------------------------------------------------------------


@attrs.frozen
class Failovers:
    """The failovers of a group's coordinator.

    Attributes:
        observations: each failover.
        loading: for each, the broker, and the time of the first answer that shows that it has loaded the group.
    """

    observations: tuple[Observed, ...]
    loading: tuple[tuple[object, float, float], ...]

    def is_blind(self, exchange: Exchange) -> bool:
        """Return whether a heartbeat was answered by a coordinator that may still be loading the group: without an
        error, whatever it says.
        """
        return exchange.code == errors.NONE and any(
            exchange.request.target == broker and begun <= exchange.ends and exchange.begins <= loaded
            for broker, begun, loaded in self.loading
        )


def failovers(read: GroupRecording, step: Step) -> Failovers:
    """Return the failovers of a group's coordinator: another broker answers, or the same one after it was killed."""
    answered = [each for each in read.exchanges if each.code is not None and each.code not in errors.NOT_READY]
    found, loading = list[Observed](), list[tuple[object, float, float]]()
    last: Exchange | None = None
    for each in sorted(answered, key=lambda each: each.ends):
        if last is not None:
            ended = [at for at, node in read.ends if node == last.request.target and last.begins <= at <= each.ends]
            if ended or each.request.target != last.request.target:
                begun = ended[0] if ended else last.begins
                label = f"broker {each.request.target} becomes coordinator"
                found.append(Observation(earliest=min(begun, each.ends), latest=each.ends, label=label, apply=step))
                blind = [
                    other
                    for other in answered
                    if other.begins >= begun and (other.request.api, other.code) != ("Heartbeat", errors.NONE)
                ]
                loaded = min((other.ends for other in blind), default=NEVER)
                loading.append((each.request.target, begun, loaded))
        last = each
    return Failovers(tuple(found), tuple(loading))
