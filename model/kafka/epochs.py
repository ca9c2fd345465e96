"""The leader epoch cache: where each leader epoch starts in a log, and where one ends.

In Kafka it is a file of its own; here it is what the records say, and of a leader also what it knows of its own
epoch. (So an epoch in which a former leader wrote nothing is not in its cache here: KAFKA-10706 is out of reach.)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import attrs

from leadline.model.log import Log


@attrs.frozen
class Entry:
    """A leader epoch and the offset at which it starts."""

    epoch: int
    start: int


@attrs.frozen
class EpochEnd:
    """The largest epoch known up to the one that was asked about, and where that one ends."""

    epoch: int
    end_offset: int


def known_from_first_append(log: Log, leads_in: int | None, wanted: int) -> EpochEnd | None:
    """0.11 to 2.0.0: an epoch is known once a record of it is in the log, and only larger epochs are taken in.

    An epoch below all that are known cannot be answered for (UNDEFINED_EPOCH_OFFSET).

    Parameters:
        log: the log.
        leads_in: the epoch in which its broker leads; None if it follows. What it has not written, it does not know.
        wanted: the epoch that is asked about.

    Returns:
        The answer; None if there is none.

    Source: KAFKA-7415, which ended this.
    """
    cache: list[Entry] = []
    for entry in _entries(log):
        if not cache or entry.epoch > cache[-1].epoch:
            cache.append(entry)
    if not cache or wanted < cache[0].epoch:
        return None
    return _end(cache, log.end_offset, wanted)


def known_from_election(log: Log, leads_in: int | None, wanted: int) -> EpochEnd | None:
    """Since 2.0.1: a leader knows its own epoch from its election on; entries that contradict a later one go.

    An epoch below all that are known has ended where the first of them starts. Only one above all that are known
    cannot be answered for, which a leader is asked about only by those who know of a later leader.

    See `known_from_first_append` for the parameters. Source: KAFKA-7415.
    """
    cache: list[Entry] = []
    own = [] if leads_in is None or log.last_epoch == leads_in else [Entry(leads_in, log.end_offset)]
    for entry in itertools.chain(_entries(log), own):
        cache = [known for known in cache if known.epoch < entry.epoch and known.start < entry.start]
        cache.append(entry)
    return _end(cache, log.end_offset, wanted)


def _entries(log: Log) -> Iterable[Entry]:
    """Where the epoch changes from one record to the next."""
    before = None
    for offset, record in enumerate(log.records):
        if record.epoch != before:
            yield Entry(record.epoch, offset)
        before = record.epoch


def _end(cache: list[Entry], log_end: int, wanted: int) -> EpochEnd | None:
    if not cache or wanted > cache[-1].epoch:
        return None
    if wanted == cache[-1].epoch:
        return EpochEnd(wanted, log_end)
    epoch = max((entry.epoch for entry in cache if entry.epoch <= wanted), default=wanted)
    return EpochEnd(epoch, next(entry.start for entry in cache if entry.epoch > wanted))
