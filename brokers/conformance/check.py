"""Check the recording of a partition against the spec of a release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from leadline.brokers.conformance.events import Events, release_of
from leadline.brokers.conformance.not_followed import expecting_the_format
from leadline.brokers.conformance.partition import PartitionRecording
from leadline.checker.conformance import UNCOUNTED, Answer, Conformance, Limits, Observation, follow, uncut
from leadline.model.group.releases import GroupColumn
from leadline.model.kafka.conformance.following import FollowedRelease, as_brokers_do, forget
from leadline.model.kafka.conformance.window import cut
from leadline.model.kafka.mixes import Mix
from leadline.model.kafka.releases import Column
from leadline.model.kafka.state import Partition

MOST_STEPS = 400
"""The number of steps that are kept, counted from the end of a behaviour."""


@attrs.frozen(eq=False)
class Checked:
    """The result of checking the recording of a partition or a group against the spec of a release.

    Attributes:
        column: the release or the mix whose spec was used.
        conformance: the result of checking the observations.
        observations: the number of observations in the recording.
        notes: the number of ignored frames and events, keyed by kind.
    """

    column: Column | Mix | GroupColumn
    conformance: Conformance[Any]
    observations: int
    notes: Mapping[str, int]


class Checks:
    """Checks the recording of a partition against the specs of several releases.

    Releases are often the same in everything that a recording exercises. Then the result for one of them is the result
    for the others too, see `FollowedRelease.does_the_same`. The states in a result name their release, so results with
    whole logs, whose states are drawn, are not shared.

    Parameters:
        read: the recording of the partition.
        limits: the limits of each search. All searches share `Limits.total`.
        keeps_logs: whether the states in the results contain whole logs. If false, checking a recording with many
            records takes less time and memory. See `leadline.model.kafka.conformance.window`.
    """

    def __init__(self, read: PartitionRecording, limits: Limits | None = None, *, keeps_logs: bool = True) -> None:
        self._read, self._limits, self._keeps_logs = read, limits or Limits(), keeps_logs
        self._known: list[tuple[FollowedRelease, Checked]] = []

    def check(self, column: Column | Mix, without: str = "") -> Checked:
        """Return the result for a release.

        Parameters:
            column: the release or the mix.
            without: the name of an action to omit from the spec, or an empty string.

        Raises:
            NotFollowed: if the recording cannot be converted to observations.
        """
        column = as_brokers_do(column)
        with expecting_the_format(self._read.path):
            release = release_of(self._read, column, without)
        for other, checked in self._known:
            if not self._keeps_logs and other.does_the_same(release):
                return attrs.evolve(checked, column=column)
        checked = self._checked(release)
        self._known.append((release, checked))
        return checked

    def _checked(self, release: FollowedRelease) -> Checked:
        with expecting_the_format(self._read.path):
            events = Events(self._read, release)
        conformance, count = self._follow(events, cut_logs=not self._keeps_logs)
        if conformance.answer is Answer.UNDECIDED and conformance.cut_matters and not self._keeps_logs:
            conformance, count = self._follow(events, cut_logs=False)
        return Checked(release.column, conformance, count, dict(events.notes))

    def _follow(self, events: Events, *, cut_logs: bool) -> tuple[Conformance[Partition], int]:
        conformance, count = _follow(events, self._limits, cut_logs=cut_logs)
        counted = max(conformance.explored - UNCOUNTED * conformance.observations, 0)
        self._limits = attrs.evolve(self._limits, total=max(self._limits.total - counted, 0))
        return conformance, count


def _follow(events: Events, limits: Limits, *, cut_logs: bool) -> tuple[Conformance[Partition], int]:
    """Return the result, and the number of observations in the recording."""
    count = 0
    events.notes.clear()

    def counted() -> Iterator[Observation[Partition]]:
        nonlocal count
        for each in events.observations():
            count += 1
            yield each

    observations = counted()
    conformance = follow(
        [events.beginning],
        observations,
        events.release.hidden,
        forget=forget,
        cut=cut if cut_logs else uncut,
        limits=limits,
        kept_steps=MOST_STEPS,
    )
    for _ in observations:  # those after a rejection
        pass
    return conformance, count
