"""Describe states and traces of the `txn` family as rows, messages and events, for diagrams and tables."""

from __future__ import annotations

from collections.abc import Iterator

from leadline.checker.action import Step
from leadline.checker.drawing import Cell, Drawing, Mark, Message, Row
from leadline.checker.support.messages import counted
from leadline.model.rows import CONSUMERS
from leadline.model.txn.consume import read_committed, read_uncommitted, stable
from leadline.model.txn.coordinator import marker_of
from leadline.model.txn.explanation import events, late_arrival
from leadline.model.txn.messages import Produce, Request, WriteMarker
from leadline.model.txn.partition import NO_EPOCH, Data, Entry, Partition
from leadline.model.txn.state import FAILED, FENCED, NEW, Group, Producer, Transactions

COORDINATOR = "coordinator"
GROUP = "group coordinator"


def producer_row(producer: int) -> str:
    """Return the name of a producer's row."""
    return f"producer {producer}"


def partition_row(partition: int) -> str:
    """Return the name of a partition's row."""
    return f"partition {partition}"


def rows(state: Transactions) -> dict[str, Row]:
    """Return the rows for the producers, the coordinator, the partitions, and the consumers, keyed by name.

    The consumers' row shows what a read_committed consumer reads from each partition.
    """
    found = {producer_row(number): _producer(each) for number, each in enumerate(state.producers)}
    found[COORDINATOR] = _coordinator(state)
    if state.bounds.groups:
        found[GROUP] = _group(state.group)
    for number in range(len(state.partitions)):
        found[partition_row(number)] = _partition(state, number)
    read = [record for number in range(len(state.partitions)) for record in read_committed(state, number)]
    uncommitted = sum(len(list(read_uncommitted(state, number))) for number in range(len(state.partitions)))
    found[CONSUMERS] = Row(
        badges=["read_committed", f"read_uncommitted: {counted(uncommitted, 'record')}"],
        cells=map(_cell, read),
        columns={"log": " ".join(map(str, read)) or "-"},
    )
    return found


def _producer(own: Producer) -> Row:
    epoch = "-" if own.epoch == NO_EPOCH else str(own.epoch)
    transaction = f"t{own.transaction}" if own.transaction else "-"
    badges = [own.mode, f"epoch {epoch}"] + ([f"transaction {transaction}"] if own.transaction else [])
    columns = {"role": own.mode, "epoch": epoch, "transaction": transaction}
    return Row(badges=badges, up=own.mode not in (NEW, FENCED, FAILED), columns=columns)


def _coordinator(state: Transactions) -> Row:
    own = state.coordinator
    left = " ".join(map(str, sorted(own.unclosed)))
    badges = [own.state, f"epoch {own.epoch}"]
    badges += [f"{'markers to' if own.is_prepared else 'partitions'}: {left}"] if left else []
    return Row(badges=badges, columns={"role": own.state, "epoch": str(own.epoch), "partitions": left or "-"})


def _group(own: Group) -> Row:
    offset, pending = (f"t{each}" if each else "-" for each in (own.offset, own.pending))
    left = " ".join(map(str, own.completions)) or "-"
    badges = [f"offset of {offset}", f"pending: {pending}"] + ([f"to take over: {left}"] if own.completions else [])
    return Row(badges=badges, columns={"offset": offset, "pending": pending, "to take over": left})


def _partition(state: Transactions, number: int) -> Row:
    own = state.partitions[number]
    lso = stable(state, number)
    epoch = "-" if own.producer_epoch == NO_EPOCH else str(own.producer_epoch)
    return Row(
        badges=["open" if own.is_open else "no open transaction", f"epoch {epoch}"],
        columns={
            "epoch": epoch,
            "log": _log(own, lso),
            "LSO": str(lso),
            "HW": str(own.high_watermark),
        },
        cells=map(_cell, own.log),
        marks=(Mark("LSO", lso), Mark("HW", own.high_watermark)),
    )


def _log(partition: Partition, lso: int) -> str:
    """Return the log as text, with the transactions in brackets and the last stable offset. The bracket of an open
    transaction is not closed.
    """
    texts = list(map(str, partition.log))
    for records, _, end in partition.spans():
        first = records[0][0]
        texts[first] = f"[{texts[first]}"
        if end is not None:
            texts[end] += "]"
    return " ".join([*texts[:lso], "¦", *texts[lso:]])


def _cell(entry: Entry) -> Cell:
    if isinstance(entry, Data):
        return Cell(f"t{entry.transaction}", f"epoch {entry.epoch}", entry.transaction)
    return Cell(entry.result, f"epoch {entry.epoch}", 0)


def _message(request: Request, producer: int) -> Message:
    source = COORDINATOR if isinstance(request, WriteMarker) else producer_row(producer)
    if isinstance(request, Produce | WriteMarker):
        return Message(source, partition_row(request.partition), str(request))
    return Message(source, COORDINATOR, str(request))


def _sender(state: Transactions, request: Request) -> int:
    """Return the producer that sent a request. Only `InitProducerId` names its sender. Otherwise, the epoch identifies
    it.
    """
    number: int = getattr(request, "producer", 0)
    epoch = getattr(request, "epoch", None)
    having = [number for number, each in enumerate(state.producers) if each.epoch == epoch]
    return having[0] if having else number


def messages(state: Transactions) -> Iterator[Message]:
    """Yield the requests in flight."""
    for number, producer in enumerate(state.producers):
        if producer.request is not None:
            yield _message(producer.request, number)
    for request, count in sorted(state.late.items(), key=repr):
        yield from [_message(request, _sender(state, request))] * count


def arrivals(step: Step[Transactions]) -> Iterator[Message]:
    """Yield the messages that arrive in a step: requests, and the markers that the coordinator writes."""
    before = step.before
    match step.action, step.arguments:
        case "coordinator_handles" | "leader_appends" | "lose_response", {"producer": number}:
            request = before.producers[number].request
            assert request is not None
            yield _message(request, number)
        case "leader_verifies", {"producer": number}:
            asking = before.producers[number].request
            assert isinstance(asking, Produce)
            yield Message(partition_row(asking.partition), COORDINATOR, f"verify t{asking.transaction}")
        case "late_verification", {"partition": partition}:
            yield Message(partition_row(partition), COORDINATOR, "verify the late record")
        case "write_marker", {"partition": partition}:
            marker = marker_of(before, partition)
            yield Message(COORDINATOR, partition_row(partition), str(marker))
        case _:
            late = late_arrival(step)
            if late is not None:
                yield _message(late, _sender(before, late))


DRAWING = Drawing(
    rows=rows,
    messages=messages,
    arrivals=arrivals,
    events=events,
    legend="t1@0: a record of transaction 1 with producer epoch 0; C@0 and A@0: commit and abort markers; "
    "[ ]: the records that a marker ends, and the marker; "
    "¦ the last stable offset (LSO); consumers: the records that read_committed consumers read",
)
