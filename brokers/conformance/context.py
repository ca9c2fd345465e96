"""What is known of a recorded partition when its frames and events are converted to observations."""

from __future__ import annotations

from collections import Counter

import attrs

from leadline.brokers.conformance.controller import Controller, Fence, Notice
from leadline.brokers.conformance.frames import NONE, Seen
from leadline.brokers.conformance.metadata import applied_by
from leadline.brokers.conformance.partition import PartitionRecording
from leadline.brokers.conformance.processes import Processes, ProcessRun
from leadline.checker.conformance import Observation
from leadline.model.kafka.conformance.observations import Observations
from leadline.model.kafka.conformance.observer import Window
from leadline.model.kafka.state import Partition

Group = tuple[float, list[Observation[Partition]]]
"""Observations, with a time before which the observations of later groups do not begin."""


@attrs.frozen(eq=False)
class Context:
    """What all conversions need.

    Attributes:
        read: the part of the recording that is about the partition.
        make: makes the observations.
        controller: what the controller decided and announced.
        processes: when the brokers started and ended.
        notes: the number of ignored frames and events, keyed by kind.
    """

    read: PartitionRecording
    make: Observations
    controller: Controller
    processes: Processes
    notes: Counter[str] = attrs.field(factory=Counter)

    def window(self, earliest: float, latest: float, *frames: Seen) -> Window:
        """Return a window with frames. It says which of them never reached their receivers."""
        lost = (
            f", but the {'request' if frame.request else 'answer'} never reaches {self._named(frame.target)}"
            for frame in frames
            if frame.passed is None
        )
        return Window(earliest, latest, tuple(frame.number for frame in frames), "".join(lost))

    def _named(self, node: int | str) -> str:
        replica = self.read.replica(node)
        return (
            f"broker {replica}" if replica is not None else "the controller" if isinstance(node, int) else f"the {node}"
        )

    def may_have_no_leader(self, node: object, epoch: int, since: float, until: float) -> bool:
        """Return whether a broker may know, at some time in a period, of an epoch after the given one without a leader,
        because it has not certainly applied a later one with a leader before.
        """
        told = [each for each in self.controller.told if each.broker == node and each.passed <= until]
        known = [each for each in told if each.leader >= 0 and self._applied_by(each) <= since]
        last = max((each.epoch for each in known), default=NONE)
        return any(each.leader < 0 and each.epoch > max(epoch, last) for each in told)

    def _applied_by(self, told: Notice) -> float:
        """Return a time at which a broker has certainly obeyed an announcement."""
        if not self.read.kraft:
            return told.answered
        return applied_by(self.read, told.broker, told.offset, told.passed)

    def unfenced(self, broker: int, life: ProcessRun) -> Fence | None:
        """Return when the controller unfences a broker after a start, or None if no record shows this."""
        found = (each for each in self.controller.fences if (each.broker, each.fenced) == (broker, False))
        return next((each for each in found if each.latest >= life.begun[0]), None)
