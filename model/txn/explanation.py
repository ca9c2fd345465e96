"""Explain a trace: how a transaction came to be read, lost, partly committed or left open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leadline.checker.action import Step
from leadline.checker.drawing import Event
from leadline.model.txn.consume import read_committed
from leadline.model.txn.group import group_of
from leadline.model.txn.messages import ABORT, COMMIT, AddPartitions, EndTxn, InitProducerId, Produce, Request
from leadline.model.txn.partition import Data, Marker
from leadline.model.txn.state import FENCED, OFFSETS, RESULTS, Transactions

LATE = ("late_init", "late_add", "late_record", "late_end", "late_marker")


def late_arrival(step: Step[Transactions]) -> Request | None:
    """Return the late request that a step handled, or None."""
    if step.action not in LATE:
        return None
    left = [each for each in step.before.late if step.before.late[each] > step.after.late[each]]
    return left[0] if left else None


def open_transactions(state: Transactions) -> list[int]:
    """Return the numbers of the transactions that producers have begun but not ended."""
    return [each.transaction for each in state.producers if each.transaction]


def named(request: Request) -> str:
    """Return a phrase that describes a request."""
    match request:
        case InitProducerId():
            return "the InitProducerId request"
        case AddPartitions(partition=partition, transaction=transaction):
            return f"the request to add partition {partition} to transaction {transaction}"
        case Produce(partition=partition, transaction=transaction):
            return f"the record of transaction {transaction} for partition {partition}"
        case EndTxn(result=result, transaction=transaction):
            return f"the {result} of transaction {transaction}"
        case _:
            return f"the {request.result} marker of the old coordinator for partition {request.partition}"


def events(steps: Sequence[Step[Transactions]]) -> Iterator[Event]:
    """Yield the events that decide the outcome of a trace: late requests, their effects, and responses to clients."""
    for number, step in enumerate(steps, start=1):
        for text, label, good in _of(step):
            yield Event(number, text, label, good)


def _of(step: Step[Transactions]) -> Iterator[tuple[str, str, bool]]:
    before, after = step.before, step.after
    match step.action, step.arguments:
        case "retry", {"producer": producer}:
            request = before.producers[producer].request
            assert request is not None
            yield f"{named(request)} times out and is sent again; the first one is still in flight", "timed out", False
        case "give_up", {"producer": producer}:
            request = before.producers[producer].request
            assert request is not None
            yield f"{named(request)} times out and is still in flight; the producer gives it up", "timed out", False
        case "lose_response", {"producer": producer}:
            request = before.producers[producer].request
            assert request is not None
            yield f"{named(request)} is handled, and the response is lost", "lost response", False
        case "late_verification", {"partition": partition}:
            yield f"the leader of partition {partition} asks about a late record, and it may append it", "", False
        case "materialise", _:
            yield _of_offsets(before)
        case "expire", _:
            yield "the coordinator aborts the transaction after its time-out", "timed out", False
        case "fail_over", _:
            yield "another broker becomes coordinator and reads the coordinator's log", "failover", False
        case "elect_uncleanly", {"partition": partition}:
            lost = before.partitions[partition].log[-1]
            what = f"the {lost.result} marker" if isinstance(lost, Marker) else f"{lost}"
            yield f"the new leader of partition {partition} lacks {what}, the last entry of the log", "lost", False
    late = late_arrival(step)
    if late is not None:
        yield from _of_late(step, late)
    yield from _of_records(before, after)
    for old, new in zip(before.producers, after.producers, strict=True):
        if isinstance(old.request, EndTxn) and new.request is None and after.promise(old.transaction).told:
            result = "committed" if old.request.result == COMMIT else "aborted"
            yield f"the producer is told that transaction {old.transaction} is {result}", result, True
        if new.mode == FENCED != old.mode:
            yield "the producer is fenced", "fenced", False


def _of_offsets(state: Transactions) -> tuple[str, str, bool]:
    """Describe that the group coordinator takes over the offsets of a transaction in a state."""
    text, pending = "the group coordinator takes over the offsets of a transaction that has ended", state.group.pending
    if pending == 0 or pending != group_of(state.partitions[OFFSETS]).pending:
        return text, "offsets", True
    does = "takes over" if state.group.completions[0].result == COMMIT else "drops"
    return f"{text}, and {does} those of transaction {pending}, which has not ended", f"{does} offsets", False


def _of_late(step: Step[Transactions], late: Request) -> Iterator[tuple[str, str, bool]]:
    before, after = step.before, step.after
    text = f"{named(late)} arrives late"
    match late:
        case EndTxn(result=result, transaction=transaction):
            ended = [each for each in open_transactions(before) if each != transaction]
            if ended and RESULTS.get(after.coordinator.state) == result:
                asked = before.promise(ended[0]).asked
                did = f"asked to {asked}" if asked and asked != result else f"has not asked to {result}"
                text += f" and ends transaction {ended[0]}, which its producer {did}"
        case Produce(partition=partition, transaction=transaction):
            if partition not in after.coordinator.unclosed:
                text += " and is appended; the coordinator writes no more marker there, so that nothing ends it"
            elif transaction not in open_transactions(before):
                others = " and ".join(map(str, open_transactions(before)))
                joined = f"transaction {others}" if others else "the transaction that the coordinator ends"
                text += f" and is appended; it is now part of {joined}"
    yield text, "late", False


def _of_records(before: Transactions, after: Transactions) -> Iterator[tuple[str, str, bool]]:
    """If a step writes a marker, yield its effects on the records before it."""
    for number, (was, now) in enumerate(zip(before.partitions, after.partitions, strict=True)):
        if len(now.log) <= len(was.log) or not isinstance(now.log[-1], Marker):
            continue
        ended: list[Data] = []
        for entry in reversed(was.log):
            if isinstance(entry, Marker):
                break
            ended.append(entry)
        for transaction in sorted({record.transaction for record in ended}):
            asked, told = after.promise(transaction).asked, after.promise(transaction).told
            marker = now.log[-1].result
            if marker == COMMIT and asked != COMMIT and any(True for _ in read_committed(after, number)):
                did = "asked to abort it" if asked == ABORT else "has not asked to commit it"
                text = f"the commit marker makes transaction {transaction} readable in partition {number}; its producer"
                yield f"{text} {did}", "read", False
            elif marker == ABORT and asked == COMMIT and told:
                yield f"the abort marker loses transaction {transaction} in partition {number}", "lost", False
            elif marker == ABORT and asked != ABORT:
                text = f"the abort marker aborts transaction {transaction} in partition {number}; its producer"
                yield f"{text} has not asked to abort it", "aborted", False
            else:
                yield (
                    f"the {marker} marker ends transaction {transaction} in partition {number}",
                    f"{marker} marker",
                    True,
                )
