"""Convert OffsetsForLeaderEpoch requests and responses to observations."""

from __future__ import annotations

from collections.abc import Iterator

from leadline.brokers.conformance.context import Context
from leadline.brokers.conformance.exchanges import Exchange, questions
from leadline.brokers.conformance.first_fetches import FirstFetches
from leadline.brokers.conformance.frames import NONE, Seen
from leadline.checker.conformance import Observation
from leadline.model.kafka.conformance.observer import Window
from leadline.model.kafka.conformance.seen import NO_SUCH_EPOCH
from leadline.model.kafka.state import Partition


def asked(context: Context, fetched: FirstFetches) -> Iterator[Observation[Partition]]:
    """Yield the observations of questions about leader epochs, and of their answers."""
    read, make = context.read, context.make
    for broker in read.assignment:
        for frame in questions(read, broker):
            leader, follower = read.replica(frame.target), read.replica(frame.source)
            answer, part = read.answer.get(frame.number), read.part(frame.body)
            told = None if answer is None else read.part(answer.body)
            if leader is None or follower is None or part is None or frame.passed is None:
                continue
            if answer is None or told is None:
                context.notes["OffsetForLeaderEpoch requests without an answer"] += 1
                continue
            window = context.window(frame.passed, answer.arrived, frame, answer)
            if told["ErrorCode"]:
                yield make.epoch_refused(window, leader, follower, told["ErrorCode"])
                continue
            wanted = read.epoch(part["LeaderEpoch"])
            epoch = read.epoch(told.get("LeaderEpoch")) if "LeaderEpoch" in told else None
            end = None if told["EndOffset"] == NONE else told["EndOffset"]
            yield make.epoch_answered(window, leader, follower, NO_SUCH_EPOCH if wanted is None else wanted, epoch, end)
            if answer.passed is not None:
                first = fetched.after_answers.get(answer.number)
                yield _truncates(context, follower, leader, answer, answer.passed, first)


def _truncates(
    context: Context, follower: int, leader: int, answer: Seen, passed: float, fetch: Exchange | None
) -> Observation[Partition]:
    dies = context.processes.dies(follower, passed)
    if fetch is not None and fetch.frame.arrived < dies:
        same = context.read.replica(fetch.frame.target) == leader
        window = Window(passed, fetch.frame.arrived, (answer.number, fetch.frame.number))
        return context.make.epoch_response_handled(window, follower, fetch.part["FetchOffset"] if same else None)
    return context.make.epoch_response_handled(Window(passed, dies, (answer.number,)), follower, None)
