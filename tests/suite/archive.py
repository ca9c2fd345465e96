"""The archive of bugs and its searches. To make the 1,300 specs takes two seconds, so they are made once."""

from __future__ import annotations

import functools

from leadline.reports.kafka.bugs import Bug, BugSearch, read_archive

ARCHIVE = read_archive()


def runs_of(bug: Bug) -> tuple[BugSearch, ...]:
    """The searches for a bug of `ARCHIVE`. See `Archive.runs`."""
    return _runs_of(ARCHIVE.bugs.index(bug))


@functools.cache
def _runs_of(place: int) -> tuple[BugSearch, ...]:
    return tuple(ARCHIVE.runs(ARCHIVE.bugs[place]))
