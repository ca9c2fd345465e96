"""The archive of bugs and its searches. To make the 1,300 specs takes two seconds, so they are made once."""

from __future__ import annotations

import functools

from leadline.reports.kafka.broker_runs.counterexamples import counterexample
from leadline.reports.kafka.broker_runs.schedules import (
    Schedules,
    affected_release,
    bug_of,
    fixed_release,
    schedules_of,
)
from leadline.reports.kafka.bugs import Bug, BugSearch, read_archive

ARCHIVE = read_archive()


def runs_of(bug: Bug) -> tuple[BugSearch, ...]:
    """The searches for a bug of `ARCHIVE`. See `Archive.runs`."""
    return _runs_of(ARCHIVE.bugs.index(bug))


@functools.cache
def _runs_of(place: int) -> tuple[BugSearch, ...]:
    return tuple(ARCHIVE.runs(ARCHIVE.bugs[place]))


def schedules(ticket: str, release: str | None = None) -> Schedules:
    """The replays of a reproduction: on an affected release, by default the last one, and the control."""
    bug = bug_of(ARCHIVE, ticket)
    affected = affected_release(bug, release)
    return schedules_of(ARCHIVE, bug, affected, fixed_release(bug, affected, None), counterexample)
