"""Convert the fetches of followers to observations."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from itertools import chain, pairwise

from leadline.brokers.conformance.context import Context, Group
from leadline.brokers.conformance.exchanges import Exchange, fetches, questions, seen_answer, seen_fetch
from leadline.brokers.conformance.frames import NEVER, NONE
from leadline.checker.conformance import Observation
from leadline.model.kafka.conformance.errors import DONE, OUT_OF_RANGE, named, said
from leadline.model.kafka.conformance.observer import Window
from leadline.model.kafka.state import Partition


def fetched(context: Context, follower: int) -> Iterator[Group]:
    """Yield a group of observations for each fetch of a follower."""
    before, checked = -NEVER, False
    nothing: list[Exchange | None] = [None]
    read = context.read
    asked = sorted(frame.arrived for frame in questions(read, read.assignment[follower]))
    for fetch, following in pairwise(chain(fetches(read, follower), nothing)):
        assert fetch is not None
        found: list[Observation[Partition]] = []
        registered = context.processes.is_registered(follower, fetch.frame.arrived)
        if registered and not checked:
            sent = context.window(max(before, 0.0), fetch.frame.arrived, fetch.frame)
            found.append(context.make.fetch_sent(sent, seen_fetch(read, fetch)))
        checked = registered and _continues(context, fetch, following, asked)
        if fetch.frame.passed is not None:
            found += _fetch(context, follower, fetch, following, checked, registered)
        before = fetch.frame.begins
        yield before, found


def _continues(context: Context, fetch: Exchange, following: Exchange | None, asked: list[float]) -> bool:
    """Return whether a follower handled a fetch response, judging by its next fetch request. `asked` contains the times
    of its OffsetForLeaderEpoch requests, in order.
    """
    read, processes = context.read, context.processes
    answer, told, follower = fetch.answer, fetch.told, read.replica(fetch.frame.source)
    if following is None or answer is None or answer.passed is None or follower is None:
        return False
    if told is None or said("Fetch", told["ErrorCode"]) not in (DONE, OUT_OF_RANGE):
        return False
    arrived, passed = following.frame.arrived, answer.passed
    if processes.is_dead(follower, passed) or processes.started(follower, arrived) > passed:
        return False  # another process of the broker sends the next request
    seen, after = seen_fetch(read, fetch), seen_fetch(read, following)
    asks = bisect.bisect_left(asked, passed) < bisect.bisect_left(asked, arrived)
    same = (after.leader, after.epoch) == (seen.leader, seen.epoch)
    return same and not asks and passed <= arrived < processes.dies(follower, passed)


def _fetch(
    context: Context, follower: int, fetch: Exchange, following: Exchange | None, continues: bool, registered: bool
) -> Iterator[Observation[Partition]]:
    """Yield the observations of a fetch. In the model, a broker that is not registered is down, so only the leader
    takes part in its fetch.
    """
    read, make, processes = context.read, context.make, context.processes
    frame, answer, told, passed = fetch.frame, fetch.answer, fetch.told, fetch.frame.passed
    assert passed is not None
    seen = seen_fetch(read, fetch)
    if answer is None or told is None:
        latest = min(processes.dies(seen.leader, passed), read.end)
        yield make.fetch_unanswered(Window(passed, latest, (frame.number,)), seen)
        return
    window = context.window(passed, answer.arrived, frame, answer)
    error = told["ErrorCode"]
    reason = said("Fetch", error)
    if reason not in (DONE, OUT_OF_RANGE):
        if reason is None:
            context.notes[f"fetch responses with {named(error)}"] += 1
        else:
            asked = fetch.part.get("CurrentLeaderEpoch", NONE)
            leaderless = context.may_have_no_leader(frame.target, asked, passed, answer.arrived)
            yield make.fetch_refused(window, seen, error, may_have_no_leader=leaderless)
        return
    answered = seen_answer(read, fetch, told)
    arrives = registered and answer.passed is not None and not processes.is_dead(follower, answer.passed)
    yield make.fetch_answered(window, seen, answered, arrives=arrives)
    if arrives and answer.passed is not None:
        dies, after = processes.dies(follower, answer.passed), None
        latest = dies
        if following is not None and following.frame.arrived < dies:
            latest = max(following.frame.arrived, answer.passed)
            after = seen_fetch(read, following) if continues else None
        window = Window(answer.passed, latest, (answer.number,))
        yield make.response_handled(window, seen, answered, after)
