"""The requests that producers and the transaction coordinator send."""

from __future__ import annotations

import attrs

NO_SEQUENCE = -1
"""The sequence number of a record with an offset. A group coordinator appends it without one (KIP-98)."""

COMMIT = "commit"
ABORT = "abort"


@attrs.frozen(cache_hash=True)
class InitProducerId:
    """A request for the producer id and a new producer epoch (KIP-98).

    Attributes:
        producer: the producer that sends the request.
        expected: the current producer epoch if the producer requests a higher one (KIP-360). None if the producer has
            just started.
    """

    producer: int
    expected: int | None

    def __str__(self) -> str:
        return "InitProducerId" if self.expected is None else f"InitProducerId (epoch {self.expected})"


@attrs.frozen(cache_hash=True)
class AddPartitions:
    """An `AddPartitionsToTxn` request: adds a partition to the transaction.

    Attributes:
        epoch: the producer epoch.
        transaction: the number of the producer's transaction. Kafka's requests do not contain it. In this and other
            requests, only properties and reports read it.
    """

    epoch: int
    partition: int
    transaction: int

    def __str__(self) -> str:
        return f"AddPartitionsToTxn {self.partition} for t{self.transaction}, epoch {self.epoch}"


@attrs.frozen(cache_hash=True)
class Produce:
    """A `Produce` request with one record.

    Attributes:
        epoch, sequence: the producer epoch and the sequence number of the record, or `NO_SEQUENCE` for an offset of a
            consumer group (`TxnOffsetCommit`).
        transaction: the number of the producer's transaction.
        verified: whether the coordinator has answered that the partition is part of the transaction (KIP-890).
        guarded: whether the verification is still valid, that is, no transaction has ended on the partition since then
            (KAFKA-14884). False if the request is not verified.
    """

    epoch: int
    sequence: int
    partition: int
    transaction: int
    verified: bool = False
    guarded: bool = False

    def __str__(self) -> str:
        return f"Produce t{self.transaction}, epoch {self.epoch}, sequence {self.sequence}"


@attrs.frozen(cache_hash=True)
class EndTxn:
    """A request to commit or abort the transaction.

    Attributes:
        epoch: the producer epoch.
        result: `COMMIT` or `ABORT`.
        transaction: the number of the producer's transaction.
    """

    epoch: int
    result: str
    transaction: int

    def __str__(self) -> str:
        return f"EndTxn {self.result} t{self.transaction}, epoch {self.epoch}"


@attrs.frozen(cache_hash=True)
class WriteMarker:
    """A `WriteTxnMarkers` request from a transaction coordinator that has since failed over.

    Attributes:
        result: `COMMIT` or `ABORT`.
        epoch: the producer epoch in the marker.
        coordinator_epoch: the epoch of the coordinator.
    """

    partition: int
    result: str
    epoch: int
    coordinator_epoch: int

    def __str__(self) -> str:
        return f"{self.result} marker, epoch {self.epoch}"


Request = InitProducerId | AddPartitions | Produce | EndTxn | WriteMarker
"""A request in flight."""
