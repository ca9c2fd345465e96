"""Find the first fetches that show what a broker knows, in one pass over all fetches."""

from __future__ import annotations

from collections import deque

import attrs

from leadline.brokers.conformance.controller import Controller, Notice
from leadline.brokers.conformance.exchanges import Exchange, fetches, questions
from leadline.brokers.conformance.frames import NEVER, NONE, Seen
from leadline.brokers.conformance.partition import PartitionRecording
from leadline.brokers.conformance.processes import Processes


@attrs.frozen(eq=False)
class FirstFetches:
    """The fetches that show that a broker has learned of an epoch or handled a response.

    Attributes:
        shown: the earliest time at which a fetch request or response shows that the broker has learned of the epoch,
            for each announcement (KRaft).
        after_answers: the first fetch that the follower sent after a response to an OffsetForLeaderEpoch request, keyed
            by the number of the response.
    """

    shown: dict[Notice, float]
    after_answers: dict[int, Exchange]


def find_first_fetches(read: PartitionRecording, controller: Controller, processes: Processes) -> FirstFetches:
    """Read all fetches once, and find those that show what brokers know."""
    found = FirstFetches({}, {})
    waiting: dict[int, list[Notice]] = {}
    for told in controller.told if read.kraft else ():
        waiting.setdefault(told.epoch, []).append(told)
    asked = {broker: deque(_answers_to(read, broker)) for broker in read.assignment}
    if not waiting and not any(asked.values()):
        return found
    for fetch in fetches(read):
        follower = read.replica(fetch.frame.source)
        if follower is None or not processes.is_registered(follower, fetch.frame.arrived):
            continue
        answers = asked[fetch.frame.source]  # type: ignore[index]
        while answers and answers[0].passed <= fetch.frame.arrived:  # type: ignore[operator]
            found.after_answers[answers.popleft().number] = fetch
        epoch = fetch.part.get("CurrentLeaderEpoch", NONE)
        for told in waiting.get(epoch, ()):
            at = _shows(told, fetch)
            if at is not None and told.passed <= at < processes.dies(read.replica(told.broker), told.passed):
                found.shown[told] = min(at, found.shown.get(told, NEVER))
        if epoch in waiting:  # a later request cannot show an earlier time
            waiting[epoch] = [each for each in waiting[epoch] if found.shown.get(each, NEVER) > fetch.frame.arrived]
    return found


def _shows(told: Notice, fetch: Exchange) -> float | None:
    """Return the time at which a fetch shows that a broker knows the announced epoch, or None if it does not show
    this.
    """
    if fetch.frame.source == told.broker:
        return fetch.frame.arrived
    leads = fetch.frame.target == told.broker == told.leader
    if not leads or fetch.answer is None or fetch.told is None or fetch.told["ErrorCode"]:
        return None
    return fetch.answer.arrived


def _answers_to(read: PartitionRecording, broker: int) -> list[Seen]:
    """Return the responses that a broker received to its OffsetForLeaderEpoch requests, sorted by time."""
    answers = [read.answer.get(frame.number) for frame in questions(read, broker)]
    arrived = [answer for answer in answers if answer is not None and answer.passed is not None]
    return sorted(arrived, key=lambda answer: answer.passed or 0.0)
