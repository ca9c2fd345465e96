"""The observable part of a state of the `txn` family. Its form is the same for the model and for a real broker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from leadline.model.txn.consume import read_committed, stable
from leadline.model.txn.drawing import COORDINATOR, partition_row
from leadline.model.txn.partition import Data, Entry, Marker
from leadline.model.txn.state import Transactions


@attrs.frozen
class SeenPartition:
    """The observable part of a partition.

    Attributes:
        log: the records and markers. Coordinator epochs are omitted, because they are numbered differently on brokers.
        read: the records that a read_committed consumer reads.
    """

    log: tuple[Entry, ...]
    last_stable_offset: int
    high_watermark: int
    read: tuple[Data, ...]

    def __str__(self) -> str:
        cells = [str(entry) for entry in self.log]
        cells[self.last_stable_offset : self.last_stable_offset] = ["¦"]
        return f"{' '.join(cells)}, LSO {self.last_stable_offset}, HW {self.high_watermark}"


@attrs.frozen
class ObservedTransactions:
    """The observable part of a state.

    Attributes:
        coordinator: the coordinator's state for the transactional id, or an empty string if the release does not report
            it.
    """

    coordinator: str
    partitions: tuple[SeenPartition, ...]

    @property
    def columns(self) -> dict[str, str]:
        """The observed state as text for each row in the drawing of a state, keyed by the name of the row."""
        rows = {partition_row(number): str(each) for number, each in enumerate(self.partitions)}
        return rows | {COORDINATOR: self.coordinator}

    @property
    def as_object(self) -> dict[str, Any]:
        """The observed state as an object for `json.dumps`."""
        partitions = [
            {
                "log": [str(entry) for entry in each.log],
                "last_stable_offset": each.last_stable_offset,
                "high_watermark": each.high_watermark,
                "read": [str(record) for record in each.read],
            }
            for each in self.partitions
        ]
        return {"coordinator": self.coordinator, "partitions": partitions}


def coordinator_text(state: str, epoch: int, partitions: frozenset[int]) -> str:
    """Return the coordinator's state for a transactional id as text."""
    added = f", partitions {', '.join(map(str, sorted(partitions)))}" if partitions else ""
    return f"{state}, epoch {epoch}{added}"


def observed_state(state: Transactions) -> ObservedTransactions:
    """Return the observable part of a model state."""
    own = state.coordinator
    partitions = (
        SeenPartition(
            tuple(
                attrs.evolve(entry, coordinator_epoch=0) if isinstance(entry, Marker) else entry for entry in each.log
            ),
            stable(state, number),
            each.high_watermark,
            tuple(read_committed(state, number)),
        )
        for number, each in enumerate(state.partitions)
    )
    return ObservedTransactions(coordinator_text(own.state, own.epoch, own.partitions), tuple(partitions))


def differences(model: ObservedTransactions, real: ObservedTransactions) -> list[str]:
    """Return a sentence for each difference between a real broker and the model."""
    return list(_differences(model, real))


def _differences(model: ObservedTransactions, real: ObservedTransactions) -> Iterator[str]:
    if real.coordinator and real.coordinator != model.coordinator:
        yield f"the coordinator: {real.coordinator}; in the model: {model.coordinator}"
    for number, (own, other) in enumerate(zip(model.partitions, real.partitions, strict=True)):
        if own != other:
            yield f"partition {number}: {other}, read {_read(other)}; in the model: {own}, read {_read(own)}"


def _read(partition: SeenPartition) -> str:
    return " ".join(map(str, partition.read)) or "nothing"
