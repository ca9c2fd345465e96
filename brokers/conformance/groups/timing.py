"""Time windows of requests, and of what coordinators do without requests: sessions expire, and brokers fail over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import attrs

from leadline.brokers.conformance.frames import NEVER
from leadline.brokers.conformance.groups.reading import Exchange, GroupRecording
from leadline.checker.conformance import Observation
from leadline.model.group.conformance import errors

EARLY = 0.95
"""Time-outs may be shorter than they should be by this factor, because the clocks of processes differ."""

LATE_SECONDS = 5.0
"""How late a broker may be to notice that a time-out has passed, beside being slower by the factor."""
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


# --- time-outs --------------------------------------------------------------------------------------------------------


def timeout(
    label: str, step: Step, begins: tuple[float, float], seconds: tuple[float, float], latest: float, *, due: bool
) -> Iterator[Observed]:
    """Yield a time-out, if it can pass in time.

    Parameters:
        step: returns the states after it.
        begins: the earliest and the latest time at which it begins.
        seconds: the least and the most time after which it passes.
        latest: the time after which it is no longer possible.
        due: whether it passes at some time if it can, even if nothing shows that.
    """
    earliest, late = begins[0] + seconds[0] * EARLY, begins[1] + seconds[1] / EARLY + LATE_SECONDS
    if due and late < latest:

        def passes(state: Any) -> Iterable[Any]:
            return list(step(state)) or [state]

        yield Observation(earliest=earliest, latest=late, label=f"{label}, if it can", apply=passes)
    elif earliest <= latest:
        yield Observation(earliest=earliest, latest=latest, label=label, apply=step, optional=True)


def sessions(
    read: GroupRecording, expires: MemberStep, *, renews_during_rebalance: bool = False, seconds: float | None = None
) -> Iterator[Observed]:
    """Yield the expiry of each session that was not renewed in time. It can happen until it is renewed again.

    Parameters:
        expires: returns the states after the session of a member has expired.
        renews_during_rebalance: whether every heartbeat that is answered with REBALANCE_IN_PROGRESS renews the session.
        seconds: a time that is not longer than the session time-out, if requests to join do not say it.
    """
    renewing = {errors.NONE, errors.MEMBER_ID_REQUIRED}
    doubtful = {None, *errors.NOT_READY, errors.REBALANCE_IN_PROGRESS}
    if renews_during_rebalance:
        renewing.add(errors.REBALANCE_IN_PROGRESS)
    contacts: dict[int, list[Exchange]] = {}
    for each in sorted(read.exchanges, key=lambda each: each.begins):
        for member in _members(read, each):
            contacts.setdefault(member, []).append(each)
    is_one = len({each.request.target for each in read.exchanges}) == 1
    for member, asked in contacts.items():
        told = [each.body["SessionTimeoutMs"] / 1000 for each in asked if "SessionTimeoutMs" in each.body]
        least, most = (
            (seconds, seconds) if seconds is not None else (min(told, default=NEVER), max(told, default=NEVER))
        )
        renewals = [n for n, each in enumerate(asked) if n == 0 or each.code in renewing]
        for number, following in zip(renewals, [*renewals[1:], None], strict=True):
            last = asked[number]
            is_kept = is_one and not any(at >= last.begins for at, _ in read.ends)
            is_known = last.ends < NEVER and all(each.code not in doubtful for each in asked[number + 1 : following])
            yield from timeout(
                f"the session of member {member} expires",
                partial(_of_member, expires, member),
                (last.begins, last.ends),
                (least, most),
                NEVER if following is None else asked[following].ends,
                due=seconds is None and is_kept and is_known,
            )


def _members(read: GroupRecording, exchange: Exchange) -> list[int]:
    """Return the members that a request is from, or whose id its response gives."""
    number, answer = exchange.request.number, exchange.answer
    if number in read.anonymous:
        return [read.anonymous[number]]
    names = exchange.member_ids
    if names == [""] and answer is not None:
        names = [answer.body.get("MemberId") or ""]
    return [read.member(each) for each in names if each]


def _of_member(step: MemberStep, member: int, state: Any) -> Iterable[Any]:
    return step(state, member)


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
