"""The leader epoch cache: the offsets at which the leader epochs of a log start and end.

Kafka stores the cache in a file. The model derives the cache from the records of the log and, for a leader, from the
current leader epoch. With the bound `empty_epochs`, a former leader also remembers the last epoch if it wrote nothing
in it (`Replica.empty_epoch`), as releases since 2.0.1 do. Without the bound, its cache lacks this epoch.
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
    """The result of a lookup: the largest known epoch up to the requested one, and its end offset."""

    epoch: int
    end_offset: int


def known_from_first_append(log: Log, leads_in: int | None, wanted: int) -> EpochEnd | None:
    """Look up an epoch as in 0.11 to 2.0.0: the cache contains an epoch once the log has a record of that epoch.

    The cache accepts only increasing epochs. An epoch smaller than all epochs in the cache has no known end
    (UNDEFINED_EPOCH_OFFSET).

    Parameters:
        leads_in: the epoch in which the broker leads, or an epoch without records that a follower remembers, or None
            if there is neither. Not used in these releases.
        wanted: the requested epoch.

    Returns:
        The end of the epoch, or None if it is unknown.

    Source: KAFKA-7415, which changed this rule.
    """
    cache: list[Entry] = []
    for entry in _entries(log, wanted):
        if not cache or entry.epoch > cache[-1].epoch:
            cache.append(entry)
    if not cache or wanted < cache[0].epoch:
        return None
    return _end(cache, log.end_offset, wanted)


def known_from_election(log: Log, leads_in: int | None, wanted: int) -> EpochEnd | None:
    """Look up an epoch as in 2.0.1 and later: the cache of a leader contains the leader's epoch from the election on.

    An entry that contradicts a later entry is removed from the cache. An epoch smaller than all epochs in the cache
    ends at the start offset of the first epoch in the cache. Only an epoch greater than all epochs in the cache has no
    known end. Only a follower that has learned of a later leader requests such an epoch.

    See `known_from_first_append` for the parameters. Source: KAFKA-7415.
    """
    cache: list[Entry] = []
    own = [] if leads_in is None or log.last_epoch == leads_in else [Entry(leads_in, log.end_offset)]
    for entry in itertools.chain(_entries(log, wanted), own):
        cache = [known for known in cache if known.epoch < entry.epoch and known.start < entry.start]
        cache.append(entry)
    return _end(cache, log.end_offset, wanted)


def _entries(log: Log, wanted: int) -> Iterable[Entry]:
    """Yield an entry for each sequence of records with the same leader epoch. Entries that a lookup of the `wanted`
    epoch does not need may be left out.
    """
    return (Entry(epoch, start) for epoch, start in log.starts(wanted))


def _end(cache: list[Entry], log_end: int, wanted: int) -> EpochEnd | None:
    if not cache or wanted > cache[-1].epoch:
        return None
    if wanted == cache[-1].epoch:
        return EpochEnd(wanted, log_end)
    epoch = max((entry.epoch for entry in cache if entry.epoch <= wanted), default=wanted)
    return EpochEnd(epoch, next(entry.start for entry in cache if entry.epoch > wanted))
