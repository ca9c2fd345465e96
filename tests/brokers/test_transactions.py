"""Replays of transactions: what is planned, and how a broker is compared with the model. Without brokers."""

from __future__ import annotations

import struct
from typing import Any

import attrs
import pytest
from google_crc32c import value as crc32c

from leadline.brokers.errors import NotExecutable
from leadline.brokers.messages.batches import InTransaction, read_batches, write_batch
from leadline.brokers.messages.fields import signed
from leadline.brokers.plans import AnyPlan
from leadline.brokers.releases import broker_release
from leadline.brokers.transactions.observed_state import differences, observed_state
from leadline.brokers.transactions.observer import committed, entries
from leadline.brokers.transactions.plan import Operation, TransactionsPlan, chosen_late, plan_of, settled
from leadline.brokers.transactions.requests import Answer
from leadline.checker import invariant
from leadline.checker.engines import ENGINES
from leadline.checker.trace import Trace
from leadline.invariants.catalog import CATALOG
from leadline.model.disk.batches import TRANSACTIONAL
from leadline.model.txn.messages import EndTxn, Produce, Request
from leadline.model.txn.partition import Data, Marker
from leadline.model.txn.state import Transactions
from leadline.reports.kafka.broker_runs.schedules import affected_release, bug_of, fixed_release
from leadline.reports.kafka.bugs import TRANSACTIONS
from leadline.reports.loading import load_spec
from tests.suite.archive import ARCHIVE, schedules

NOT_MADE = {
    "KAFKA-17507": "a background task of the broker",
    "KAFKA-14884": "as soon as its coordinator has answered",
    "KAFKA-18575": "transaction version 2",
    "KAFKA-20357": "no other can take over",
    "KAFKA-20716": "no other can be elected",
}


def made(plan: AnyPlan) -> TransactionsPlan:
    assert isinstance(plan, TransactionsPlan)
    return plan


def trace_of(name: str, bounds: dict[str, int], about: str) -> Trace[Any]:
    """A shortest counterexample."""
    spec = load_spec(name).with_bounds(bounds).with_properties([about])
    return ENGINES["oracle"](spec).properties[0].traces[0]


def test_a_late_record_is_held_and_refused_by_the_release_that_asks_the_coordinator() -> None:
    found = schedules("KAFKA-14053")
    assert (found.affected.name, found.control.name) == ("3.5.2", "3.6.2")
    operations = [step.operation for step in made(found.plan).steps]
    assert operations[3] is Operation.GIVE_UP
    assert operations[-2:] == [Operation.ITSELF, Operation.LATE]
    control = made(found.control_plan)
    assert control.departs == len(control.steps) + 1 == 8
    assert control.refused is not None
    late: list[Request] = [Produce(0, 0, 1, 1), EndTxn(0, "abort", 1), Produce(0, 0, 0, 1)]
    assert chosen_late(control.refused, late) == Produce(0, 0, 0, 1)


def test_a_late_commit_is_the_event_that_the_control_leaves_out() -> None:
    """Part 2 of KIP-890 has other requests, so no release with it can take the same schedule."""
    found = schedules("KIP-890")
    assert (found.affected.name, found.control.name) == ("3.9.2", "3.9.2")
    assert found.left_out == "the late request to commit arrives"
    steps = made(found.plan).steps
    assert [step.number for step in steps if step.with_next] == [11]
    assert steps[-2].request == EndTxn(0, "commit", 1)
    assert not [step for step in made(found.control_plan).steps if step.operation is Operation.LATE]


def test_a_producer_that_is_fenced_ends_the_control() -> None:
    """The release with the fix raises the epoch at the time-out, so that the next request is refused."""
    found = schedules("KAFKA-6119")
    assert (found.affected.name, found.control.name) == ("0.11.0.1", "0.11.0.2")
    control = made(found.control_plan)
    assert control.expires
    assert not made(schedules("KAFKA-14053").plan).expires
    assert (control.refused, control.departs) == (None, 6)
    last = control.steps[-1]
    assert last.response is not None
    assert last.response.outcome == "fenced"


def test_releases_are_those_of_transactions() -> None:
    bug = bug_of(ARCHIVE, "KAFKA-14053")
    assert affected_release(bug, "2.8.2").name == "2.8.2"
    with pytest.raises(Exception, match=r"KAFKA-14053 does not affect Kafka 3\.6\.2"):
        affected_release(bug, "3.6.2")
    with pytest.raises(Exception, match=r"Kafka 3\.5\.2 is also affected"):
        fixed_release(bug, broker_release("3.4.1"), "3.5.2")


@pytest.mark.parametrize("ticket", [bug.ticket for bug in ARCHIVE.of_family(TRANSACTIONS).bugs])
def test_every_ticket_is_planned_or_says_why_not(ticket: str) -> None:
    if ticket in NOT_MADE:
        with pytest.raises(NotExecutable, match=NOT_MADE[ticket]):
            schedules(ticket)
    else:
        assert schedules(ticket).plan.steps


def test_the_broker_is_compared_with_what_the_coordinator_does_by_itself() -> None:
    trace = trace_of("txn/2.6", {"partitions": 1, "transactions": 1}, "no_hanging_transaction")
    decided = next(state for state in trace.states if state.coordinator.is_prepared)
    shown = observed_state(settled(trace.spec, decided))
    assert (shown.coordinator, str(shown.partitions[0])) == ("CompleteAbort, epoch 0", "A@0 ¦, LSO 1, HW 1")


def test_a_step_between_a_decision_and_its_markers_cannot_be_made() -> None:
    """In this trace, the late record is appended before the marker. A broker has written the marker by then."""
    spec = CATALOG["txn/2.6"].with_bounds({"partitions": 1, "transactions": 1})
    known = {repr(each): each for each in spec.instances}
    names = (
        *("add_partition(producer=0, partition=0)", "coordinator_handles(producer=0)"),
        *("produce(producer=0, partition=0)", "give_up(producer=0)", "end(producer=0, result=abort)"),
        *("coordinator_handles(producer=0)", "late_record(partition=0)", "write_marker(partition=0)"),
    )
    states = [next(iter(spec.initials()))]
    for name in names:
        states.append(spec.take(known[name], states[-1])[0])
    with pytest.raises(
        NotExecutable, match=r"step 7 .*between a decision of the coordinator and the writing of the markers"
    ):
        plan_of(Trace(spec, states, [known[name] for name in names]))


def test_a_violation_that_the_coordinator_ends_by_itself_cannot_be_observed() -> None:
    @invariant("no transaction is decided")
    def undecided(state: Transactions) -> bool:
        return not state.coordinator.is_prepared

    spec = attrs.evolve(CATALOG["txn/2.6"].with_bounds({"partitions": 1}), properties=[undecided])
    trace = ENGINES["oracle"](spec).properties[0].traces[0]
    with pytest.raises(NotExecutable, match="before it can be observed"):
        plan_of(trace)


def test_differences_name_the_partition_and_the_coordinator() -> None:
    trace = trace_of("txn/2.6", {"partitions": 1}, "no_aborted_read")
    model = observed_state(trace.states[-1])
    assert differences(model, model) == []
    assert differences(model, attrs.evolve(model, coordinator="")) == []
    (told,) = differences(model, attrs.evolve(model, coordinator="Ongoing, epoch 0"))
    assert told == "the coordinator: Ongoing, epoch 0; in the model: PrepareCommit, epoch 0, partitions 0"
    seen = attrs.evolve(model.partitions[0], last_stable_offset=1)
    (told,) = differences(model, attrs.evolve(model, partitions=(seen,)))
    assert told.startswith("partition 0: C@0 ¦ t2@0 C@0, LSO 1, HW 3, read t2@0; in the model: C@0 t2@0 C@0 ¦, LSO 3")


@pytest.mark.parametrize(
    ("code", "outcomes"),
    [
        (0, {"ok"}),
        (90, {"fenced"}),
        (47, {"fenced"}),
        (48, {"failed", "refused"}),
        (45, {"failed", "refused"}),
        (51, set()),
    ],
)
def test_errors_have_outcomes_of_the_model(code: int, outcomes: set[str]) -> None:
    assert {each for each in ("ok", "fenced", "failed", "refused") if Answer(code).is_as(each)} == outcomes


# --- batches ------------------------------------------------------------------------------------------------------


def data(transaction: int, sequence: int, offset: int, epoch: int = 0) -> bytes:
    """A batch of a transaction as a leader stores it."""
    written = write_batch([f"t{transaction}".encode()], 0, transaction=InTransaction(7, epoch, sequence))
    return struct.pack(">q", offset) + written[8:]


def marker(kind: int, offset: int, epoch: int = 0) -> bytes:
    """A control batch: the control bit is set in the attributes, and the key says which kind."""

    record = b"\0" + signed(0) + signed(0) + signed(4) + struct.pack(">hh", 0, kind) + signed(0) + signed(0)
    body = struct.pack(">hiqqqhii", 0x30, 0, 0, 0, 7, epoch, -1, 1) + signed(len(record)) + record
    head = struct.pack(">ibI", 0, 2, crc32c(body))
    return struct.pack(">qi", offset, len(head) + len(body)) + head + body


def test_batches_of_transactions_are_written_and_read() -> None:
    (batch,) = read_batches(write_batch([b"t1"], 5, transaction=InTransaction(7, 3, 9)))
    assert (batch.attributes & TRANSACTIONAL, batch.control, batch.intact) == (TRANSACTIONAL, False, True)
    assert (batch.producer, batch.producer_epoch, batch.sequence) == (7, 3, 9)
    with pytest.raises(ValueError, match="magic 1 do not support transactions"):
        write_batch([b"t1"], 5, magic=1, transaction=InTransaction(7, 3, 9))


def test_a_log_is_read_as_records_and_markers() -> None:
    log = data(1, 0, 0) + marker(0, 1) + data(2, 1, 2) + marker(1, 3)
    assert list(entries(read_batches(log))) == [
        Data(0, 0, 1),
        Marker("abort", 0, 0),
        Data(0, 1, 2),
        Marker("commit", 0, 0),
    ]


def test_a_consumer_drops_the_records_of_aborted_transactions() -> None:
    log = data(1, 0, 0) + marker(0, 1) + data(2, 1, 2) + marker(1, 3)
    told = {"Records": log, "AbortedTransactions": [{"ProducerId": 7, "FirstOffset": 0}]}
    assert list(committed(told)) == [Data(0, 1, 2)]
    assert list(committed({"Records": log, "AbortedTransactions": None})) == [Data(0, 0, 1), Data(0, 1, 2)]
