"""Check the recording of a partition against the spec of a release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from leadline.brokers.conformance.events import Events
from leadline.brokers.conformance.partition import PartitionRecording, expecting_the_format
from leadline.checker.conformance import Answer, Conformance, Limits, Observation, follow, uncut
from leadline.model.kafka.conformance.following import forget
from leadline.model.kafka.conformance.window import cut
from leadline.model.kafka.releases import Column
from leadline.model.kafka.state import Partition

MOST_STEPS = 400
"""The number of steps that are kept, counted from the end of a behaviour."""


@attrs.frozen(eq=False)
class Checked:
    """The result of checking a recording against the spec of a release.

    Attributes:
        column: the release whose spec was used.
        conformance: the result of checking the observations.
        observations: the number of observations in the recording.
        notes: the number of ignored frames and events, keyed by kind.
    """

    column: Column
    conformance: Conformance[Partition]
    observations: int
    notes: Mapping[str, int]


def check(
    read: PartitionRecording,
    column: Column,
    limits: Limits | None = None,
    *,
    keeps_logs: bool = True,
    without: str = "",
) -> Checked:
    """Check the recording of a partition against the spec of a release, and return the result.

    Parameters:
        read: the recording of the partition.
        column: the release.
        limits: the limits of the search.
        keeps_logs: whether the states in the result contain whole logs. If false, checking a recording with many
            records takes less time and memory. See `leadline.model.kafka.conformance.window`.
        without: the name of an action to omit from the spec, or an empty string.

    Raises:
        NotFollowed: if the recording cannot be converted to observations.
    """
    with expecting_the_format(read.path):
        events = Events(read, column, without)
    conformance, count = _follow(events, limits, cut_logs=not keeps_logs)
    if conformance.answer is Answer.UNDECIDED and conformance.cut_matters and not keeps_logs:
        conformance, count = _follow(events, limits, cut_logs=False)
    return Checked(column, conformance, count, dict(events.notes))


def _follow(events: Events, limits: Limits | None, *, cut_logs: bool) -> tuple[Conformance[Partition], int]:
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
