"""The leader epoch cache: where the leader epochs of a log start and end.

Kafka stores it in a file. The model derives it from the records and, for a leader, from its own epoch. (Therefore an
epoch in which a former leader wrote nothing is not in its cache, and the model cannot show KAFKA-10706.)
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
    """The largest known epoch that is not greater than the requested one, and its end offset."""

    epoch: int
    end_offset: int


def known_from_first_append(log: Log, leads_in: int | None, wanted: int) -> EpochEnd | None:
    """0.11 to 2.0.0: an epoch is known once the log has a record of it, and the cache accepts only increasing epochs.

    There is no answer for an epoch smaller than all known ones (UNDEFINED_EPOCH_OFFSET).

    Parameters:
        log: the log.
        leads_in: the epoch in which its broker leads, which makes no difference here; None if the broker follows.
        wanted: the requested epoch.

    Returns:
        The answer; None if there is none.

    Source: KAFKA-7415, which changed this.
    """
    cache: list[Entry] = []
    for entry in _entries(log):
        if not cache or entry.epoch > cache[-1].epoch:
            cache.append(entry)
    if not cache or wanted < cache[0].epoch:
        return None
    return _end(cache, log.end_offset, wanted)


def known_from_election(log: Log, leads_in: int | None, wanted: int) -> EpochEnd | None:
    """Since 2.0.1: a leader knows its own epoch from its election on; an entry that contradicts a later one is removed.

    An epoch smaller than all known ones ends where the first known epoch starts. There is no answer only for an epoch
    greater than all known ones, which only a follower that knows of a later leader requests.

    See `known_from_first_append` for the parameters. Source: KAFKA-7415.
    """
    cache: list[Entry] = []
    own = [] if leads_in is None or log.last_epoch == leads_in else [Entry(leads_in, log.end_offset)]
    for entry in itertools.chain(_entries(log), own):
        cache = [known for known in cache if known.epoch < entry.epoch and known.start < entry.start]
        cache.append(entry)
    return _end(cache, log.end_offset, wanted)


def _entries(log: Log) -> Iterable[Entry]:
    """The epochs of the records, each with the offset at which it starts."""
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
