"""Check the recording of a partition against the spec of a release."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from leadline.brokers.conformance.events import Events
from leadline.brokers.conformance.partition import PartitionRecording, expecting_the_format
from leadline.checker.conformance import Conformance, Limits, follow
from leadline.model.kafka.conformance.following import forget
from leadline.model.kafka.releases import Column
from leadline.model.kafka.state import Partition


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


def check(read: PartitionRecording, column: Column, limits: Limits | None = None) -> Checked:
    """Check the recording of a partition against the spec of a release, and return the result.

    Raises:
        NotFollowed: if the recording cannot be converted to observations.
    """
    with expecting_the_format(read.path):
        events = Events(read, column)
        observations = events.observations()
    conformance = follow([events.beginning], observations, events.release.hidden, forget=forget, limits=limits)
    return Checked(column, conformance, len(observations), dict(events.notes))
