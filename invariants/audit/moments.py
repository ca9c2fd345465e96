"""Compares two copies of a cluster. Committed records may be missing from the later copy only if Kafka removed them."""

from __future__ import annotations

import attrs

from leadline.invariants.audit.partition import (
    CHECKS,
    OF_TWO_MOMENTS,
    Observation,
    PartitionReport,
    PartitionTask,
    judged,
    observe,
)
from leadline.invariants.audit.result import Finding
from leadline.model.disk.files import Files
from leadline.model.disk.wire import text_of_uuid


@attrs.frozen
class MomentsTask:
    """A partition to audit in two copies of a cluster. The task for a copy is None if the partition is not in that
    copy.
    """

    before: PartitionTask | None
    after: PartitionTask | None

    @property
    def task(self) -> PartitionTask:
        """The task for the later copy, or for the earlier copy if the later copy does not contain the partition."""
        task = self.after or self.before
        assert task is not None
        return task


def audit_moments(files: Files, task: MomentsTask, *, checksums: bool = True) -> PartitionReport:
    """Audit the later copy of a partition and compare it with the earlier copy.

    For the parameters, see `audit_partition`.
    """
    if task.after is None:
        return _gone(task.task)
    later = observe(files, task.after, checksums=checksums)
    if task.before is None:
        return judged(task.after, later, CHECKS)
    earlier = observe(files, task.before, checksums=False)
    ids = earlier.partition.topic_id, later.partition.topic_id
    if None not in ids and ids[0] != ids[1]:
        report = judged(task.after, later, CHECKS)
        name = f"{task.after.topic}-{task.after.number}"
        ids_text = " and ".join(text_of_uuid(each) for each in ids if each is not None)
        sentence = f"{name} was deleted and created again between the two moments: its topic ids are {ids_text}"
        return attrs.evolve(report, findings=(*report.findings, _note("topic_ids_agree", task.after, sentence)))
    compared = Observation(attrs.evolve(later.partition, earlier=earlier.partition), later.others)
    return judged(task.after, compared, (*CHECKS, *OF_TWO_MOMENTS))


def _gone(task: PartitionTask) -> PartitionReport:
    """Return the report on a partition that is missing from the later copy."""
    name = f"{task.topic}-{task.number}"
    sentence = f"{name} is missing at the later moment: it was deleted, moved to other brokers, or left out of the copy"
    return PartitionReport(task, (_note("committed_kept", task, sentence),), (), 0, 0)


def _note(check: str, task: PartitionTask, sentence: str) -> Finding:
    brokers = tuple(place.node for place in task.places)
    return Finding(check, "note", task.topic, task.number, brokers, None, sentence)
