"""Properties of transactions: guarantees to read_committed consumers and to producers.

Each record of the model stores the transaction for which its producer wrote it, and states store the requests of
producers and the responses to them. Kafka's records and brokers do not store this information. Only properties read it.
"""

from __future__ import annotations

from collections.abc import Iterator

from leadline.checker.properties import invariant, step_invariant, step_witness, witness
from leadline.model.txn.consume import read_committed, read_uncommitted, stable
from leadline.model.txn.messages import ABORT, COMMIT, NO_SEQUENCE, EndTxn, InitProducerId, Produce
from leadline.model.txn.partition import NO_EPOCH, Data, Marker
from leadline.model.txn.state import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    FENCED,
    ONGOING,
    OPEN,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    Transactions,
)

JEPSEN = "Jepsen: Bufstream 0.1.0"


@invariant(
    "a read_committed consumer reads only records of transactions whose producer asked to commit them",
    source=f"KIP-98: aborted records are not delivered; {JEPSEN}, aborted read (G1a)",
)
def no_aborted_read(state: Transactions) -> Iterator[str]:
    for number in range(len(state.partitions)):
        for record in read_committed(state, number):
            asked = state.promise(record.transaction).asked
            if asked != COMMIT:
                did = "asked to abort" if asked == ABORT else "has not asked to commit"
                yield (
                    f"a read_committed consumer reads a record of transaction {record.transaction} in partition "
                    f"{number}, and its producer {did} it"
                )


@invariant(
    "no record of a transaction is aborted after its producer was told that the transaction is committed",
    source=f"KIP-98: atomic writes to several partitions; {JEPSEN}, lost write",
)
def no_lost_write(state: Transactions) -> Iterator[str]:
    """Compares the markers with what producers were told.

    This property is kept because it is the promise to producers that the designs before part 2 of KIP-890 break. Each
    mutant that violates it also violates another property.
    """
    for number, partition in enumerate(state.partitions):
        for records, marker, _ in partition.spans():
            for _, record in records if marker is not None and marker.result == ABORT else []:
                promise = state.promise(record.transaction)
                if promise.asked == COMMIT and promise.told:
                    yield (
                        f"the producer was told that transaction {record.transaction} is committed, and its record in "
                        f"partition {number} is aborted"
                    )


@invariant(
    "a transaction has one outcome: no two of its records are under markers with different results",
    source=f"KIP-98: either all or none of the messages are visible; {JEPSEN}, torn transaction",
)
def no_torn_transaction(state: Transactions) -> Iterator[str]:
    """Compares the markers that follow a transaction's records in all partitions.

    This property is kept because it is the promise of atomicity that the designs before part 2 of KIP-890 break. Each
    mutant that violates it also violates `no_lost_write`.
    """
    outcomes: dict[tuple[int, str], int] = {}
    for number, partition in enumerate(state.partitions):
        for records, marker, _ in partition.spans():
            if marker is not None:
                outcomes |= {(record.transaction, marker.result): number for _, record in records}
    for (transaction, result), number in outcomes.items():
        if result == COMMIT and (transaction, ABORT) in outcomes:
            yield (
                f"transaction {transaction} is committed in partition {number} and aborted in partition "
                f"{outcomes[transaction, ABORT]}"
            )


@invariant(
    "the coordinator will end every transaction that is open on a partition",
    source="KIP-664, KIP-890, KAFKA-14053: hanging transactions",
)
def no_hanging_transaction(state: Transactions) -> Iterator[str]:
    """A hanging transaction is open on a partition, but the coordinator's transaction does not include the partition,
    or the partition has already received the transaction's marker. `kafka-transactions.sh find-hanging` looks for such
    transactions. A hanging transaction ends only when the same transactional id writes to the partition again. Until
    then, the last stable offset does not advance.
    """
    for number, partition in enumerate(state.partitions):
        if partition.is_open and number not in state.coordinator.unclosed:
            record = partition.log[-1]
            yield f"partition {number} has an open transaction with {record}, which the coordinator will not end"


@step_invariant(
    "the last stable offset of a partition does not decrease",
    source="KIP-98: the last stable offset; seed 002: what a consumer sees depends on the LSO",
)
def lso_monotonic(before: Transactions, after: Transactions) -> Iterator[str]:
    """Compares the last stable offsets before and after a step.

    This property is kept because an unclean election violates it: consumers have read beyond the new end of the log.
    No mutant violates it, as elections are the only steps in which a log loses entries.
    """
    for number in range(len(after.partitions)):
        was, now = stable(before, number), stable(after, number)
        if now < was:
            yield f"the last stable offset of partition {number} was {was}, and is {now}"


@invariant(
    "the last stable offset is never above the high watermark, and below it every transaction has its marker",
    source="KIP-98; KAFKA-5357 and ProducerStateManager.firstUnstableOffset",
)
def lso_within_hw(state: Transactions) -> Iterator[str]:
    for number, partition in enumerate(state.partitions):
        end = stable(state, number)
        if end > partition.high_watermark:
            yield f"partition {number} has LSO {end} and HW {partition.high_watermark}"
        for records, _, offset in partition.spans():
            if records[0][0] < end and (offset is None or offset >= partition.high_watermark):
                first = records[0][0]
                yield f"the LSO of partition {number} is {end}, and the transaction at {first} has no marker yet"


@step_invariant(
    "a record of a fenced producer is not committed after a later producer was initialised",
    source="KIP-98: fencing zombies",
)
def fenced_stays_fenced(before: Transactions, after: Transactions) -> Iterator[str]:
    """Checks the records that a step commits.

    This property is kept because it says why a record that was not committed is read: its producer was fenced.
    `txn/kip-360` violates it, and no mutant of `txn/kip-890-2` does.
    """
    for number, (was, now) in enumerate(zip(before.partitions, after.partitions, strict=True)):
        if len(now.log) <= len(was.log):
            continue
        for records, marker, offset in now.spans():
            if marker is None or marker.result != COMMIT or offset is None or offset < len(was.log):
                continue
            for _, record in records:
                if record.epoch < before.initialised:
                    yield f"partition {number} commits {record}, and a producer has had epoch {before.initialised}"


@invariant(
    "the records of a producer epoch have the sequence numbers 0, 1, 2 and so on, and epochs do not decrease",
    source="KIP-98: idempotent producer",
)
def sequences_complete(state: Transactions) -> Iterator[str]:
    for number, partition in enumerate(state.partitions):
        epoch, expected = NO_EPOCH, 0
        for entry in partition.log:
            if entry.epoch < epoch:
                yield f"partition {number} has {entry} after epoch {epoch}"
            if entry.epoch != epoch:
                epoch, expected = entry.epoch, 0
            if isinstance(entry, Data) and entry.sequence != NO_SEQUENCE:
                if entry.sequence != expected:
                    yield f"partition {number} has {entry} with sequence {entry.sequence} instead of {expected}"
                expected = entry.sequence + 1


BEFORE = {
    EMPTY: {EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT},
    ONGOING: {EMPTY, ONGOING, COMPLETE_COMMIT, COMPLETE_ABORT},
    PREPARE_COMMIT: {ONGOING},
    PREPARE_ABORT: {ONGOING},
    COMPLETE_COMMIT: {PREPARE_COMMIT},
    COMPLETE_ABORT: {PREPARE_ABORT},
}
"""The states from which the coordinator may change to a state (TransactionMetadata.validPreviousStates)."""

BEFORE_WITH_VERSION_2 = BEFORE | {PREPARE_ABORT: {ONGOING, EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT}}
"""With KIP-890 part 2, a producer may abort a transaction to which no partition was added."""


@step_invariant(
    "the state of a transaction changes only as the coordinator's table allows, and a decided outcome does not change",
    source="KIP-98: TransactionMetadata.validPreviousStates",
)
def transitions_valid(before: Transactions, after: Transactions) -> Iterator[str]:
    """Checks the coordinator's state, not the requests of producers.

    This property is kept because it is violated as soon as the coordinator goes wrong, before a record is lost or read.
    """
    was, now = before.coordinator.state, after.coordinator.state
    allowed = BEFORE_WITH_VERSION_2 if after.protocol.bumps else BEFORE
    if was != now and was not in allowed[now]:
        yield f"the coordinator changes from {was} to {now}"


@step_invariant(
    "a producer that asks for a higher producer epoch is fenced only if another one was initialised, or if its "
    "transaction has timed out",
    source="KIP-360; KAFKA-20357: a producer that repeats its request after a failover fences itself",
)
def epoch_bump_repeatable(before: Transactions, after: Transactions) -> Iterator[str]:
    """Checks each producer whose transactional id is not used by another producer.

    This property is kept because it shows KAFKA-20357, in which nothing is lost. With transaction version 2, a producer
    does not ask for a higher epoch, so no mutant of `txn/kip-890-2` violates it.
    """
    if after.spent.expiries:
        return
    for number, (was, now) in enumerate(zip(before.producers, after.producers, strict=True)):
        others = [other for index, other in enumerate(before.producers) if index != number]
        alone = all(other.epoch == NO_EPOCH and other.request is None for other in others)
        if now.mode == FENCED and isinstance(was.request, InitProducerId) and alone:
            yield f"producer {number} is fenced, and there is no other producer"


@witness("a read_committed consumer reads a record")
def committed_record_read(state: Transactions) -> bool:
    return any(True for number in range(len(state.partitions)) for _ in read_committed(state, number))


@witness("a read_uncommitted consumer reads a record that is aborted, which a read_committed consumer never does")
def read_uncommitted_sees_aborted(state: Transactions) -> bool:
    return any(
        record in list(read_uncommitted(state, number))
        for number, partition in enumerate(state.partitions)
        for records, marker, _ in partition.spans()
        if marker is not None and marker.result == ABORT
        for _, record in records
    )


def consumer_waits(state: Transactions) -> bool:
    """Return whether the last stable offset of a partition is below its high watermark."""
    return any(stable(state, number) < each.high_watermark for number, each in enumerate(state.partitions))


@witness("a read_committed consumer waits for a transaction: the last stable offset is below the high watermark")
def lso_below_hw(state: Transactions) -> bool:
    return consumer_waits(state)


@step_witness("a transaction that writes to two partitions is committed")
def two_partitions_committed(before: Transactions, after: Transactions) -> bool:
    written = [each.log[-1] for each in after.partitions if each.log]
    return before != after and sum(isinstance(each, Marker) and each.result == COMMIT for each in written) > 1


# --- the situations in which bugs of the archive do harm: see `leadline.invariants.situations` -----------------------


@witness("the coordinator aborts a transaction after its time-out, and the producer has not noticed")
def expired_unnoticed(state: Transactions) -> bool:
    aborting = state.coordinator.state in (PREPARE_ABORT, COMPLETE_ABORT)
    return state.spent.expiries > 0 and aborting and any(each.mode == OPEN for each in state.producers)


@witness("a late record comes after the marker of its transaction")
def late_record_after_marker(state: Transactions) -> bool:
    return any(
        isinstance(request, Produce) and any(isinstance(entry, Marker) for entry in _log(state, request.partition))
        for request in state.late
    )


def _log(state: Transactions, partition: int) -> tuple[object, ...]:
    return state.partitions[partition].log


@witness("a late request to end a transaction is in flight during the next transaction")
def late_end_in_next_transaction(state: Transactions) -> bool:
    return state.coordinator.state == ONGOING and any(
        isinstance(request, EndTxn) and request.transaction < state.begun for request in state.late
    )


@witness("a transaction has ended on a partition since the leader verified a record that it has not appended yet")
def verified_before_the_end(state: Transactions) -> bool:
    return any(
        isinstance(request, Produce)
        and request.verified
        and any(isinstance(entry, Marker) for entry in _log(state, request.partition))
        for request in state.requests()
    )


@witness("a producer writes to a partition on which the marker of its last transaction is not written yet")
def writes_before_marker(state: Transactions) -> bool:
    return any(
        isinstance(request, Produce) and request.transaction > 1 and request.partition in state.coordinator.unclosed
        for request in state.requests()
    )


@witness("a producer repeats a request for a higher epoch, and the coordinator has failed over since the first one")
def bump_repeated_after_failover(state: Transactions) -> bool:
    coordinator = state.coordinator
    return coordinator.coordinator_epoch > 0 and any(
        isinstance(request, InitProducerId) and request.expected is not None and request.expected < coordinator.epoch
        for request in state.requests()
    )


SITUATIONS = (
    expired_unnoticed,
    late_record_after_marker,
    late_end_in_next_transaction,
    verified_before_the_end,
    writes_before_marker,
    bump_repeated_after_failover,
)
"""Checked only if they are named."""


def distance_to_hanging(state: Transactions) -> float:
    """Return 0 if a transaction hangs, 1 if a transaction is open but none hangs, and 2 otherwise. Random searches use
    this distance.
    """
    opened = [number for number, each in enumerate(state.partitions) if each.is_open]
    if any(number not in state.coordinator.unclosed for number in opened):
        return 0.0
    return 1.0 if opened else 2.0
