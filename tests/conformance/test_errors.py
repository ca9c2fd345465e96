"""What error codes in answers say: the table, and recordings whose answers have other codes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leadline.brokers.messages.leader_and_isr import partition_errors
from leadline.checker.conformance.follow import follow
from leadline.checker.conformance.observation import Observation
from leadline.checker.conformance.result import Answer
from leadline.model.kafka.conformance import errors
from leadline.model.kafka.conformance.errors import APPENDED, DONE, MAYBE_DONE, NOT_LEADING, TABLE, named, said
from tests.conformance.written import Written
from tests.suite.command import call

NAMES = """
-1 UNKNOWN_SERVER_ERROR 0 NONE 1 OFFSET_OUT_OF_RANGE 2 CORRUPT_MESSAGE 3 UNKNOWN_TOPIC_OR_PARTITION
6 NOT_LEADER_OR_FOLLOWER 7 REQUEST_TIMED_OUT 10 MESSAGE_TOO_LARGE 11 STALE_CONTROLLER_EPOCH 18 RECORD_LIST_TOO_LARGE
19 NOT_ENOUGH_REPLICAS 20 NOT_ENOUGH_REPLICAS_AFTER_APPEND 21 INVALID_REQUIRED_ACKS 32 INVALID_TIMESTAMP
41 NOT_CONTROLLER 42 INVALID_REQUEST 43 UNSUPPORTED_FOR_MESSAGE_FORMAT 45 OUT_OF_ORDER_SEQUENCE_NUMBER
46 DUPLICATE_SEQUENCE_NUMBER 47 INVALID_PRODUCER_EPOCH 55 OPERATION_NOT_ATTEMPTED 56 KAFKA_STORAGE_ERROR
59 UNKNOWN_PRODUCER_ID 74 FENCED_LEADER_EPOCH 75 UNKNOWN_LEADER_EPOCH 77 STALE_BROKER_EPOCH 87 INVALID_RECORD
95 INVALID_UPDATE_VERSION 100 UNKNOWN_TOPIC_ID 102 BROKER_ID_NOT_REGISTERED 103 INCONSISTENT_TOPIC_ID
107 INELIGIBLE_REPLICA 108 NEW_LEADER_ELECTED
"""
"""The numbers and names of `org.apache.kafka.common.protocol.Errors` in Kafka 3.9."""
SENTENCES = {value for name, value in vars(errors).items() if name.isupper() and isinstance(value, str)}


def test_the_table_names_each_error_as_kafka_does_and_once() -> None:
    found = [(each.request, each.code) for each in TABLE]
    assert len(set(found)) == len(found)
    words = NAMES.split()
    assert {str(each.code): each.error for each in (*TABLE, *APPENDED)} == dict(zip(*[iter(words)] * 2, strict=True))
    assert all(each.says in SENTENCES and each.source for each in TABLE)


def test_an_error_with_an_offset_says_that_the_records_were_appended() -> None:
    assert said("Produce", 6) == NOT_LEADING
    assert said("Produce", 6, has_offset=True) == said("Produce", 0) == DONE
    assert said("Produce", 56) is None  # without an offset, nothing is known
    assert said("AlterPartition", 7) == MAYBE_DONE
    assert (named(74), named(12345)) == ("FENCED_LEADER_EPOCH", "error 12345")


def test_the_errors_of_partitions_are_found_in_all_versions() -> None:
    old = {"PartitionErrors": [{"TopicName": "t", "PartitionIndex": 0, "ErrorCode": 11}]}
    new = {"Topics": [{"TopicId": "T", "PartitionErrors": [{"PartitionIndex": 0, "ErrorCode": 11}]}]}
    assert [each["ErrorCode"] for each in (*partition_errors(old), *partition_errors(new))] == [11, 11]
    assert [each["TopicId"] for each in partition_errors(new)] == ["T"]


def conform(written: Written, folder: Path) -> tuple[int, str]:
    run = call("conform", str(written.save(folder / "run.jsonl")), "--partition", "t-0", folder=folder)
    return run.code, run.out + run.err


def produce(written: Written, base: int, error: int, value: str = "x", producer: int = -1) -> None:
    record = {"offset": 0, "key": None, "value": value}
    batch = {"first": 0, "last": 0, "leader_epoch": -1, "records": [record], "producer": producer}
    part = {"Index": 0, "Records": {"batches": [batch]}}
    told = {"Index": 0, "ErrorCode": error, "BaseOffset": base}
    body = {"Acks": 1, "TopicData": [{"Name": "t", "PartitionData": [part]}]}
    written.exchange("client", 0, "Produce", body, {"Responses": [{"Name": "t", "PartitionResponses": [told]}]})


@pytest.mark.parametrize(
    ("base", "error", "code"),
    [(0, 0, 0), (0, 7, 0), (1, 0, 1), (-1, 10, 0), (-1, 45, 0), (-1, 7, 0), (-1, 6, 1), (-1, 3, 1), (-1, 19, 1)],
)
def test_what_a_leader_answers_to_records(base: int, error: int, code: int, tmp_path: Path) -> None:
    written = Written()
    written.fetch(1, 0)  # so the broker certainly leads
    produce(written, base, error)
    assert conform(written, tmp_path)[0] == code


@pytest.mark.parametrize(
    ("producer", "value", "code"), [(7, "x", 0), (7, "y", 1), (-1, "x", 1)], ids=["again", "another record", "no id"]
)
def test_an_idempotent_producer_gets_the_offset_of_the_first_copy(
    producer: int, value: str, code: int, tmp_path: Path
) -> None:
    written = Written()
    produce(written, 0, 0, producer=producer)
    produce(written, 0, 0, value, producer)
    found, out = conform(written, tmp_path)
    assert found == code, out


def refused_isr(error: int, folder: Path) -> tuple[int, str]:
    """A leader proposes to remove broker 2 from the ISR, and the controller answers with an error."""
    written = Written()
    written.produce(("t", 0), 1)
    written.fetch(1, 0)
    part = {"PartitionIndex": 0, "LeaderEpoch": 0, "NewIsr": [0, 1]}
    told = {"PartitionIndex": 0, "ErrorCode": error}
    topic: dict[str, Any] = {"TopicId": "T"}
    asked, answer = ({"Topics": [topic | {"Partitions": [each]}]} for each in (part, told))
    written.exchange(0, "controller", "AlterPartition", asked, answer)
    return conform(written, folder)


@pytest.mark.parametrize("error", [74, 95, 107, 42])
def test_the_controller_refuses_no_valid_request(error: int, tmp_path: Path) -> None:
    code, out = refused_isr(error, tmp_path)
    assert code == 1
    assert "refuses broker 0's AlterPartition request" in out


def test_a_leader_tells_no_follower_that_it_does_not_lead(tmp_path: Path) -> None:
    written = Written()
    written.fetch(1, 0)
    written.fetch(1, 0)
    answer = written.lines[-1]["body"]["Responses"][0]["Partitions"][0]
    answer["ErrorCode"] = 6
    code, out = conform(written, tmp_path)
    assert code == 1, out
    assert "NOT_LEADER_OR_FOLLOWER" in out


def test_optional_observations_that_are_too_late_do_not_multiply_the_states() -> None:
    """Each of many requests that is never answered may have been handled or not, which makes no difference later."""

    def seen(since: float, until: float, apply: Callable[[int], list[int]], *, optional: bool) -> Observation[int]:
        return Observation(earliest=since, latest=until, label="", apply=apply, why=lambda state: "", optional=optional)

    unanswered = [seen(0.0, 100.0, lambda state: [state] if state == 0 else [], optional=True) for _ in range(5)]
    steps = [seen(at, at + 0.5, lambda state: [state + 1], optional=False) for at in range(1, 20)]
    found = follow([0], [*unanswered, *steps])
    assert (found.answer, found.largest) == (Answer.CONFORMS, 1)


def test_a_recording_of_an_interrupted_run_is_not_rejected(tmp_path: Path) -> None:
    written = Written()
    written.fetch(1, 0)
    produce(written, 1, 0)
    path = written.save(tmp_path / "run.jsonl")
    path.write_text(path.read_text().replace('"interrupted_by": null', '"interrupted_by": "KeyboardInterrupt"'))
    run = call("conform", str(path), "--partition", "t-0", folder=tmp_path)
    assert run.code == 3
    assert "the run was interrupted (KeyboardInterrupt)" in run.out
