"""Cuts the beginning of logs out of the states of a recording, so that memory does not grow with the recording.

Two parts of a state grow without limit: the records of the logs, and the controller's announcements of leader epochs.
`cut` replaces each log by a `CutLog`, and the announcements by a `Rest`. Both contain only the end of the original.

**The cut is exact**, because a `CutLog` gives the same answer as the whole log to every question, or raises
`Undecided`:

- Reading a record in the part that was cut, or truncating the log within this part, raises `Undecided`.
- The log end offset, the last epoch, and all records from `Rest.start` on are known.
- The start offsets of epochs are the same. The first kept record may belong to an epoch that began in the part that was
  cut. `CutLog` stores the start offset of this epoch. All earlier epochs in the log are smaller (otherwise, nothing is
  cut). Therefore a lookup for this epoch or a later one cannot return an earlier epoch, and an earlier epoch cannot
  remove the entry of this epoch or a later one from the leader epoch cache. A lookup for an earlier epoch raises
  `Undecided`.
- Two logs in a state are equal if and only if the cut logs are equal, because all logs in a state share the part that
  was cut.

An announcement that was cut raises `Undecided` if it is read.

States that differ only in the parts that were cut become equal. This is exact too, because nothing can tell them apart
any more.

**The cut is rarely noticed**, because it is below all offsets that a state contains: high watermarks, log end offsets,
remote log end offsets, and the offsets in messages. It is also below all epochs that brokers know. `Undecided` is
raised only if a broker does something with an earlier offset, for example if it starts with a checkpoint that is much
older than its log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

import attrs

from leadline.checker.conformance import Undecided
from leadline.model.kafka.broker import Replica
from leadline.model.kafka.messages import Diverging, EpochResponse, FetchRequest, OffsetOutOfRange
from leadline.model.kafka.state import Partition
from leadline.model.log import Log, Record

FEWEST_CUT = 100
"""The fewest records or announcements for which states are cut. Cutting takes time, so it must be worthwhile."""


@attrs.frozen(cache_hash=True)
class Rest:
    """The end of a tuple. It behaves like the whole tuple, except that reading an item that was cut raises Undecided.

    Attributes:
        what: the word for an item in the message of `Undecided`.
        start: the number of items that were cut.
        items: the items that were kept.
    """

    what: str
    start: int
    items: tuple[Any, ...]

    def __len__(self) -> int:
        return self.start + len(self.items)

    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, int):
            place = at if at >= 0 else len(self) + at
            if place >= len(self):
                raise IndexError(at)
            return self.items[place - self.start] if place >= self.start else self._undecided(place)
        first, end, _ = at.indices(len(self))
        if first >= self.start:
            return self.items[first - self.start : max(end - self.start, 0)]
        if at.start is None and end >= self.start:
            return attrs.evolve(self, items=self.items[: end - self.start])
        return self._undecided(first)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items) if self.start == 0 else self._undecided(0)

    def __add__(self, others: tuple[Any, ...]) -> Rest:
        return attrs.evolve(self, items=self.items + others)

    def from_start(self, start: int) -> Rest:
        """Return the end of the tuple, beginning with the item at index `start`."""
        return Rest(self.what, start, self[start:])

    def _undecided(self, place: int) -> NoReturn:
        raise Undecided(
            f"{self.what} {place} was removed, because all brokers had passed everything before {self.start}"
        )


@attrs.frozen(cache_hash=True)
class CutLog(Log):
    """A log whose first records were cut.

    Attributes:
        epochs: the epoch and first offset of each sequence of records with the same epoch. The first entry is for the
            sequence that contains the last cut record.
    """

    records: Any = ()
    epochs: tuple[tuple[int, int], ...] = ()

    def append(self, record: Record) -> CutLog:
        new = ((record.epoch, self.end_offset),) if record.epoch != self.last_epoch else ()
        return CutLog(self.records + (record,), self.epochs + new)  # noqa: RUF005 (a `Rest` cannot be iterated)

    def truncate_to(self, offset: int) -> CutLog:
        return CutLog(self.records[:offset], tuple(each for each in self.epochs if each[1] < offset))

    @property
    def last_epoch(self) -> int | None:
        return self.epochs[-1][0]

    def starts(self, wanted: int) -> Iterator[tuple[int, int]]:
        if wanted < self.epochs[0][0]:
            raise Undecided(
                f"the start of the log was removed: epoch {wanted} is needed, "
                f"but the first known epoch is {self.epochs[0][0]}"
            )
        return iter(self.epochs)

    def first_offset_after(self, epoch: int) -> int | None:
        # the epochs that were left out are smaller than the first one, so none of them is above `epoch`
        return next((start for each, start in self.starts(epoch + 1) if each > epoch), None)


def cut(states: list[Partition]) -> list[Partition]:
    """Return the states with shorter logs and fewer announcements, or unchanged if too little can be cut."""
    first_record, first_request = _start(states[0].replicas[0].log.records), _start(states[0].requests)
    offset, epoch = min(map(_lowest_offset, states)), min(map(_lowest_epoch, states))
    if offset - first_record >= FEWEST_CUT:
        offset = min(_end_of_shared(state, offset) for state in states)
    offset = offset if offset - first_record >= FEWEST_CUT else 0
    epoch = epoch if epoch - first_request >= FEWEST_CUT else 0
    return [cut_at(state, offset, epoch) for state in states] if offset or epoch else states


def cut_at(state: Partition, offset: int, epoch: int) -> Partition:
    """Return a state without the records below an offset, and without the announcements of epochs below `epoch`.

    All logs must have the same records below the offset. None of these records may have a higher epoch than the last of
    them. If the offset is 0, no records are cut. If the epoch is 0, no announcements are cut.
    """
    changes: dict[str, Any] = {}
    if offset:
        replicas = (attrs.evolve(replica, log=_cut_log(replica.log, offset)) for replica in state.replicas)
        changes["replicas"] = tuple(replicas)
    if epoch:
        changes["requests"] = _rest("announcement", state.requests, epoch)
    return attrs.evolve(state, **changes)


def _start(items: object) -> int:
    return items.start if isinstance(items, Rest) else 0


def _rest(what: str, items: Any, start: int) -> Any:
    return items.from_start(start) if isinstance(items, Rest) else Rest(what, start, items[start:])


def _cut_log(log: Log, offset: int) -> CutLog:
    starts = log.epochs if isinstance(log, CutLog) else tuple(log.starts(0))
    first = max(place for place, (_, start) in enumerate(starts) if start < offset)
    return CutLog(_rest("record", log.records, offset), starts[first:])


def _lowest_offset(state: Partition) -> int:
    return min(offset for replica in state.replicas for offset in _offsets(replica))


def _offsets(replica: Replica) -> Iterator[int]:
    yield replica.log.end_offset
    yield replica.high_watermark
    yield from (offset for offset in replica.remote_leos if offset >= 0)
    for message in (replica.in_flight, replica.late_response):
        match message:
            case FetchRequest(offset=offset):
                yield offset
            case OffsetOutOfRange(end_offset=end) | Diverging(end_offset=end) | EpochResponse(end_offset=int(end)):
                yield end


def _lowest_epoch(state: Partition) -> int:
    """Return the smallest epoch that any broker knows or that is the last epoch of any log. A broker that is down or
    has just started knows no epoch, and will learn of the current one.
    """
    known = [replica.epoch for replica in state.replicas if replica.up and replica.leader is not None]
    last = [replica.log.last_epoch for replica in state.replicas if replica.log.last_epoch is not None]
    return min([state.quorum.epoch, *known, *last])


def _end_of_shared(state: Partition, offset: int) -> int:
    """Return the largest offset, at most `offset`, at which all logs can be cut. Below it, all logs have the same
    records.
    """
    logs: list[Any] = [replica.log.records for replica in state.replicas]
    start = _start(logs[0])
    first, *others = (log[start:offset] for log in logs)
    alike = (all(record == other[place] for other in others) for place, record in enumerate(first))
    shared = next((place for place, are in enumerate(alike) if not are), len(first))
    return start + shared if _increases(state.replicas[0].log, start + shared) else start


def _increases(log: Log, offset: int) -> bool:
    """Return whether the epoch of the last record below an offset is larger than all earlier epochs of the log."""
    starts: Iterable[tuple[int, int]] = log.epochs if isinstance(log, CutLog) else log.starts(0)
    epochs = [epoch for epoch, start in starts if start < offset]
    return bool(epochs) and all(each < epochs[-1] for each in epochs[:-1])
