"""Convert the requests of producers and consumers to observations."""

from __future__ import annotations

from collections.abc import Iterator

from leadline.brokers.conformance.context import Context, Group
from leadline.brokers.conformance.exchanges import Exchange, produces, reads, seen_answer
from leadline.brokers.conformance.frames import NONE, Body, Seen
from leadline.brokers.conformance.not_followed import NotFollowed
from leadline.brokers.conformance.partition import LEFT_OUT
from leadline.checker.conformance import Observation
from leadline.model.kafka.conformance.errors import DONE, REFUSED, named, said
from leadline.model.kafka.conformance.observer import Window
from leadline.model.kafka.conformance.seen import SeenRecords
from leadline.model.kafka.state import Partition

ACKS = {-1: "all", 0: "0", 1: "1"}


def produced(context: Context) -> Iterator[Group]:
    """Yield a group of observations for each produce request."""
    for request in produces(context.read):
        if request.frame.passed is not None:
            yield request.frame.begins, list(_produced(context, request, request.frame.passed))


def _produced(context: Context, request: Exchange, passed: float) -> Iterator[Observation[Partition]]:
    read, make, frame, answer, told = context.read, context.make, request.frame, request.answer, request.told
    leader = read.replica(frame.target)
    assert leader is not None
    error = 0 if told is None else told["ErrorCode"]
    base = NONE if told is None else told.get("BaseOffset", NONE)
    reason = said("Produce", error, has_offset=base >= 0)
    if reason == REFUSED:
        context.notes[f"produce requests that are refused with {named(error)}"] += 1
        return
    if frame.body["Acks"] not in ACKS:
        raise NotFollowed(f"{read.path}: frame {frame.number}: Acks is {frame.body['Acks']}; expected -1, 0 or 1")
    records = read.records(request.part["Records"])
    values = tuple(value for value, _ in records if value is not None)
    if len(values) < len(records):
        raise NotFollowed(
            f"{read.path}: frame {frame.number}: the recording lacks records of a produce request, because the batch "
            "is too large, or is compressed in a way that was not decoded"
        )
    acks = ACKS[frame.body["Acks"]]
    if answer is None or told is None:
        latest = min(context.processes.dies(leader, passed), read.end)
        yield make.produced(Window(passed, latest, (frame.number,)), leader, values, acks, None)
        return
    window = context.window(passed, answer.arrived, frame, answer)
    if reason == DONE and base >= 0:
        # the leader answers a batch that an idempotent producer sends again with the offset of the first copy
        may_repeat = any(each.get("producer", NONE) != NONE for each in request.part["Records"]["batches"])
        yield make.produced(window, leader, values, acks, base, may_repeat=may_repeat)
        if acks == "all" and not error:
            yield make.acknowledged(window, leader, base + len(values))
    elif reason not in (DONE, None):
        leaderless = context.may_have_no_leader(frame.target, NONE, passed, answer.arrived)
        may_be_new = not read.kraft
        yield make.produce_refused(window, leader, error, may_have_no_leader=leaderless, may_be_new=may_be_new)
    else:  # the records may have been appended
        yield make.produced(window, leader, values, acks, None)


def consumed(context: Context) -> Iterator[Group]:
    """Yield the observations of consumers' fetches, for each fetch."""
    for fetch in reads(context.read):
        if fetch.frame.passed is not None and fetch.answer is not None and fetch.told is not None:
            yield fetch.frame.begins, list(_consumed(context, fetch, fetch.frame.passed, fetch.answer, fetch.told))


def _consumed(
    context: Context, fetch: Exchange, passed: float, answer: Seen, told: Body
) -> Iterator[Observation[Partition]]:
    broker = context.read.replica(fetch.frame.target)
    assert broker is not None
    if told["ErrorCode"] or not context.processes.is_registered(broker, answer.arrived):
        return
    seen = seen_answer(context.read, fetch, told)
    if isinstance(seen, SeenRecords):
        window = Window(passed, answer.arrived, (fetch.frame.number, answer.number))
        yield context.make.watermark_read(window, broker, seen.high_watermark)
        if seen.base is not None:
            records = seen.records if seen.base == fetch.part["FetchOffset"] else ((LEFT_OUT, None), *seen.records)
            yield context.make.records_read(window, broker, seen.base, records)
