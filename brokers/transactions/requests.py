"""Encode the requests of a producer with a transactional id, and read the responses."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import attrs

from leadline.brokers.client import Client
from leadline.brokers.messages.batches import InTransaction, write_batch
from leadline.brokers.pending import Pending
from leadline.model.txn.messages import COMMIT, AddPartitions, EndTxn, InitProducerId, Produce, Request
from leadline.model.txn.partition import NO_EPOCH
from leadline.model.txn.producer import OK
from leadline.model.txn.state import FENCED

BROKER = 0
TOPIC = "t"
TRANSACTIONAL_ID = "leadline"

TRANSACTION_TIMEOUT_MS = 15 * 60 * 1000
"""The largest time-out that brokers accept by default (transaction.max.timeout.ms), so that no transaction expires."""

_PRODUCE_TIMEOUT_MS = 30_000
_CONCURRENT_TRANSACTIONS = 51
_NOT_READY = (14, 15, 16, _CONCURRENT_TRANSACTIONS)
"""The error codes after which a producer repeats its request: the coordinator is not ready, or elsewhere, or busy."""
_FENCED = (47, 90)
"""The error codes INVALID_PRODUCER_EPOCH and PRODUCER_FENCED."""


@attrs.frozen
class Answer:
    """The response to a producer's request.

    Attributes:
        code: the error code, or 0 if there is no error.
        producer, epoch: the producer id and the producer epoch in the response to InitProducerId.
    """

    code: int
    producer: int = -1
    epoch: int = NO_EPOCH

    @property
    def is_busy(self) -> bool:
        """Whether the producer must repeat the request (CONCURRENT_TRANSACTIONS)."""
        return self.code == _CONCURRENT_TRANSACTIONS

    def is_as(self, outcome: str) -> bool:
        """Return whether the response has the given outcome of the model. See `leadline.model.txn.producer.Response`.

        Other errors are not distinguished, because their codes differ between releases.
        """
        if outcome == OK:
            return self.code == 0
        if outcome == FENCED:
            return self.code in _FENCED
        return self.code not in (0, *_FENCED, *_NOT_READY)

    def __str__(self) -> str:
        return f"error {self.code}" if self.code else "no error"


def api_of(request: Request) -> str:
    """Return the name of a producer's request in Kafka's protocol."""
    match request:
        case InitProducerId():
            return "InitProducerId"
        case AddPartitions():
            return "AddPartitionsToTxn"
        case Produce():
            return "Produce"
        case _:
            return "EndTxn"


def send(client: Client, request: Request, producer: int, timeout_ms: int = TRANSACTION_TIMEOUT_MS) -> Pending[Answer]:
    """Send a request of the model to the broker.

    Parameters:
        timeout_ms: the time-out of transactions (transaction.timeout.ms), which InitProducerId sets.

    Raises:
        Unanswered: if the broker cannot be reached.
    """
    api = api_of(request)
    version = client.version(BROKER, api)
    read = _produced if isinstance(request, Produce) else _answered
    return client.send(BROKER, api, _body(request, producer, version, timeout_ms), read, version=version)


def _body(request: Request, producer: int, version: int, timeout_ms: int) -> dict[str, Any]:
    match request:
        case InitProducerId(expected=expected):
            body = {"TransactionalId": TRANSACTIONAL_ID, "TransactionTimeoutMs": timeout_ms}
            if version >= 3:  # KIP-360
                known = (-1, NO_EPOCH) if expected is None else (producer, expected)
                body |= dict(zip(("ProducerId", "ProducerEpoch"), known, strict=True))
            return body
        case AddPartitions(epoch=epoch, partition=partition):
            return {
                "V3AndBelowTransactionalId": TRANSACTIONAL_ID,
                "V3AndBelowProducerId": producer,
                "V3AndBelowProducerEpoch": epoch,
                "V3AndBelowTopics": [{"Name": TOPIC, "Partitions": [partition]}],
            }
        case Produce(partition=partition):
            place = InTransaction(producer, request.epoch, request.sequence)
            records = write_batch([payload(request.transaction)], int(time.time() * 1000), transaction=place)
            data = {"Name": TOPIC, "PartitionData": [{"Index": partition, "Records": records}]}
            return {
                "TransactionalId": TRANSACTIONAL_ID,
                "Acks": -1,
                "TimeoutMs": _PRODUCE_TIMEOUT_MS,
                "TopicData": [data],
            }
        case EndTxn(epoch=epoch, result=result):
            return {
                "TransactionalId": TRANSACTIONAL_ID,
                "ProducerId": producer,
                "ProducerEpoch": epoch,
                "Committed": result == COMMIT,
            }
        case _:
            raise ValueError(f"{request} is not a producer request")


def _produced(body: Mapping[str, Any]) -> Answer:
    return Answer(body["Responses"][0]["PartitionResponses"][0]["ErrorCode"])


def _answered(body: Mapping[str, Any]) -> Answer:
    added = body.get("ResultsByTopicV3AndBelow")
    if added is not None:
        return Answer(added[0]["ResultsByPartition"][0]["PartitionErrorCode"])
    return Answer(body["ErrorCode"], body.get("ProducerId", -1), body.get("ProducerEpoch", NO_EPOCH))


def payload(transaction: int) -> bytes:
    """Return the value of a record of a transaction."""
    return f"t{transaction}".encode("ascii")


def transaction_of(value: bytes | None) -> int:
    """Return the number of the transaction for which a record was written. This is the inverse of `payload`."""
    return int((value or b"t0")[1:])
