"""Read from a recorded KRaft metadata log how a partition changes: its leader, ISR and replicas, and the value of
`min.insync.replicas`. Also find out when a broker has applied a record.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator
from typing import Any

from leadline.brokers.conformance.frames import NEVER
from leadline.brokers.conformance.not_followed import NotFollowed
from leadline.brokers.conformance.partition import Announcement, PartitionRecording
from leadline.brokers.conformance.reading import MIN_ISR
from leadline.model.disk.metadata import PartitionState
from leadline.model.kafka.assignment import Assignment
from leadline.model.kafka.bounds import NO_LIMIT, OLD_MIN_ISR

LOSES_DIRECTORY = ("directory_removed", "directory_replaced")
"""The events that say that a stopped broker has lost the log directory of its replica."""


def assignment_of(read: PartitionRecording, image: PartitionState) -> Assignment | None:
    """Return the replicas with the model's numbers, or None if they never change in the recording."""
    if not read.is_reassigned:
        return None
    number = {broker: index for index, broker in enumerate(read.assignment)}
    return Assignment(
        tuple(number[broker] for broker in image.replicas),
        frozenset(number[broker] for broker in image.adding),
        frozenset(number[broker] for broker in image.removing),
    )


def settings(read: PartitionRecording) -> Iterator[Announcement]:
    """Yield the records that change `min.insync.replicas` of the topic after the partition was created, once for each
    broker that received them.
    """
    created = created_at(read)
    for each in read.metadata:
        if each.name == "ConfigRecord" and each.body and each.offset > created:
            yield each


def created_at(read: PartitionRecording) -> int:
    """Return the offset of the record of the metadata log that creates the partition."""
    return min((each.offset for each in read.metadata if each.name == "PartitionRecord" and each.body), default=0)


def bounds_of(read: PartitionRecording) -> dict[str, Any]:
    """Return the bounds with which the model can do what the metadata log and the events of a recording show.

    Raises:
        NotFollowed: if a setting, or the replicas of the topic's first partition, change in a way that the model does
            not have.
    """
    if not read.kraft:
        return {}
    found: dict[str, Any] = {"late_records": NO_LIMIT}
    if read.is_reassigned:
        found |= {"reassignments": NO_LIMIT, "cancellations": NO_LIMIT, "replicas": read.first_replicas}
    if read.partition:
        found["first_partition"] = _replicas_of_first(read)
    if any(event["event"] in LOSES_DIRECTORY for event in read.events):
        found["lost_directories"] = NO_LIMIT
    raises = {each.offset: each.body.get("Value") for each in settings(read)}
    if raises:
        before = int(read.configs.get(MIN_ISR, OLD_MIN_ISR))
        (value, *others) = raises.values()
        if others or before != OLD_MIN_ISR or value is None:
            changes = ", ".join(str(each) for each in (before, *raises.values()))
            raise NotFollowed(
                f"{MIN_ISR} of {read.topic} changes during the recording ({changes}): only one increase from "
                f"{OLD_MIN_ISR} is supported"
            )
        found |= {"min_isr_raises": 1, "min_insync_replicas": int(value)}
    return found


def _replicas_of_first(read: PartitionRecording) -> int:
    """Return the number of replicas of the topic's first partition when the replicas or the ISR of the recorded
    partition begin to change.
    """
    changed = min(
        (each.offset for each in read.metadata if each.name == "PartitionChangeRecord" and each.body), default=0
    )
    before = [number for offset, number in sorted(read.replicas_of_first.items()) if offset < changed or not changed]
    later = [number for offset, number in read.replicas_of_first.items() if changed and offset > changed]
    if not before or set(later) - {before[-1]}:
        raise NotFollowed(
            f"the number of replicas of {read.topic}-0, on which min.insync.replicas depends, changes after "
            f"{read.topic}-{read.partition} has changed, which is not supported"
        )
    return before[-1]


def applied_by(read: PartitionRecording, node: object, offset: int, passed: float) -> float:
    """Return a time at which a broker has applied a record of the metadata log that was passed to it, or infinity if no
    heartbeat shows this.

    A heartbeat has the offset up to which the broker has applied the log: `MetadataLoader` notes it after all
    publishers have got the new image. A broker that starts gets its first image before it asks to be unfenced.
    """
    reached = read.applied.get(node, ())  # type: ignore[call-overload]
    first = bisect.bisect_left(reached, passed, key=lambda each: each[0])
    return next((at for at, applied in itertools.islice(reached, first, None) if applied >= offset), NEVER)
