"""Read the logs of partitions, and ask the coordinator and the leader about transactions."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

from leadline.brokers.client import FETCH_BYTES, Client
from leadline.brokers.messages.batches import Batch, read_batches
from leadline.brokers.pending import Refused
from leadline.brokers.transactions.observed_state import ObservedTransactions, SeenPartition, coordinator_text
from leadline.brokers.transactions.requests import BROKER, TOPIC, TRANSACTIONAL_ID, transaction_of
from leadline.model.txn.messages import ABORT, COMMIT
from leadline.model.txn.partition import Data, Entry, Marker

READ_UNCOMMITTED, READ_COMMITTED = 0, 1
"""The isolation levels of Fetch (KIP-98)."""

_CONTROL_KEY = struct.Struct(">hh")
"""The key of a control record: a version, and 0 for an abort or 1 for a commit (ControlRecordType)."""

_RESULTS = (ABORT, COMMIT)


class Observer:
    """Observes a broker as clients and operators do.

    Parameters:
        partitions: the number of partitions of the topic.
    """

    def __init__(self, client: Client, partitions: int) -> None:
        self._client, self._partitions = client, partitions

    def observed(self) -> ObservedTransactions:
        """Return the observable part of the current state.

        Raises:
            Unanswered: if there is no valid response in time.
            Refused: if a response contains an error.
        """
        return ObservedTransactions(self._coordinator(), tuple(map(self._partition, range(self._partitions))))

    def _partition(self, number: int) -> SeenPartition:
        everything = self._fetched(number, READ_UNCOMMITTED)
        stable = self._fetched(number, READ_COMMITTED)
        return SeenPartition(
            tuple(entries(read_batches(everything["Records"] or b""))),
            stable["LastStableOffset"],  # 0.11 gives it to read_committed consumers only
            everything["HighWatermark"],
            tuple(committed(stable)),
        )

    def _fetched(self, number: int, isolation: int) -> dict[str, Any]:
        wanted = {"Partition": number, "FetchOffset": 0, "PartitionMaxBytes": FETCH_BYTES}
        body = {
            "MaxWaitMs": 0,
            "MinBytes": 0,
            "MaxBytes": FETCH_BYTES,
            "IsolationLevel": isolation,
            "Topics": [{"Topic": TOPIC, "Partitions": [wanted]}],
        }
        found: dict[str, Any] = self._client.ask(BROKER, "Fetch", body)["Responses"][0]["Partitions"][0]
        if found["ErrorCode"]:
            raise Refused("Fetch", found["ErrorCode"])
        return found

    def _coordinator(self) -> str:
        """Return the coordinator's state for the transactional id, or an empty string before Kafka 3.0 (KIP-664)."""
        try:
            told = self._client.ask(BROKER, "DescribeTransactions", {"TransactionalIds": [TRANSACTIONAL_ID]})
        except Refused:
            return ""
        (found,) = told["TransactionStates"]
        if found["ErrorCode"]:
            raise Refused("DescribeTransactions", found["ErrorCode"])
        partitions = frozenset(number for topic in found["Topics"] for number in topic["Partitions"])
        return coordinator_text(found["TransactionState"], found["ProducerEpoch"], partitions)

    def open_since(self, number: int) -> int | None:
        """Return the offset at which the open transaction of a partition begins, according to its leader.

        Returns:
            The offset, or None if no transaction is open or the release does not report it (KIP-664).
        """
        body = {"Topics": [{"Name": TOPIC, "PartitionIndexes": [number]}]}
        try:
            (found,) = self._client.ask(BROKER, "DescribeProducers", body)["Topics"][0]["Partitions"]
        except Refused:
            return None
        began = [each["CurrentTxnStartOffset"] for each in found["ActiveProducers"]]
        return max((offset for offset in began if offset >= 0), default=None)


def entries(batches: Sequence[Batch]) -> Iterator[Entry]:
    """Yield the records and markers in batches."""
    for batch in batches:
        for record in batch.records or ():
            if batch.control:
                _, kind = _CONTROL_KEY.unpack(record.key or b"")
                yield Marker(_RESULTS[kind], batch.producer_epoch, 0)
            else:
                yield Data(
                    batch.producer_epoch, batch.sequence + record.offset - batch.first, transaction_of(record.value)
                )


def committed(found: dict[str, Any]) -> Iterator[Data]:
    """Yield the records in a partition's Fetch response that a read_committed consumer returns. Records of aborted
    transactions are left out.

    The response contains the first offset of each aborted transaction. The transaction ends at the next marker
    (KIP-98), because there is only one producer.
    """
    began = {each["FirstOffset"] for each in found["AbortedTransactions"] or ()}
    is_aborted = False
    for batch in read_batches(found["Records"] or b""):
        is_aborted = is_aborted or batch.first in began
        for entry in entries([batch]):
            if isinstance(entry, Marker):
                is_aborted = False
            elif not is_aborted:
                yield entry
