"""Audits one partition: reads its replicas, and checks every property."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

import attrs

from leadline.checker.properties import Property
from leadline.invariants import disk, durability, leadership, logs, promises, watermarks
from leadline.invariants.audit.explain import explained, signs_of_a_lost_segment
from leadline.invariants.audit.notes import notes
from leadline.invariants.audit.releases import ReleaseRange, releases_of
from leadline.invariants.audit.result import Finding, UndecidedCheck
from leadline.invariants.audit.shapes import LOST, shape_of, shape_of_fenced_elections
from leadline.invariants.view import Complaint
from leadline.model.disk.files import Files
from leadline.model.disk.log_table import LogTable, log_table_of
from leadline.model.disk.metadata import FencedElection, PartitionState, unclean_elections
from leadline.model.disk.partition import DiskPartition, DiskReplica, ReplicaPlace, read_replica

OF_ONE_BROKER = (
    disk.batch_crc,
    disk.batches_well_formed,
    disk.offsets_rise_in_log,
    disk.offsets_contiguous_in_log,
    logs.epochs_monotonic_in_log,
    watermarks.hw_within_log,
    disk.hw_not_below_log_start,
    disk.recovery_point_within_log,
    disk.epoch_file_matches_log,
    disk.producer_sequences_contiguous,
    disk.control_batches_well_formed,
)
"""The properties that need only the disk of one broker."""

OF_SEVERAL_BROKERS = (logs.log_matching, logs.logs_prefix_consistent)
"""The properties that compare the disks of two brokers."""

OF_LEADERS = (
    durability.strong_isr,
    durability.weak_isr,
    promises.committed_never_lost,
    logs.follower_log_is_prefix,
    leadership.leader_in_isr,
    leadership.one_leader_per_epoch,
    disk.leaders_elected_unfenced,
    disk.epochs_given_by_controller,
    disk.topic_ids_agree,
)
"""The properties that need the metadata log."""

OF_ONE_MOMENT = (
    durability.strong_isr,
    durability.weak_isr,
    promises.committed_never_lost,
    logs.follower_log_is_prefix,
    disk.epochs_given_by_controller,
    disk.topic_ids_agree,
)
"""The properties that need disks copied at the same moment. Otherwise a replica may lack records not yet fetched."""

OF_SPECS = (
    logs.epochs_monotonic_in_log,
    logs.log_matching,
    logs.logs_prefix_consistent,
    durability.strong_isr,
    durability.weak_isr,
    promises.committed_never_lost,
    logs.follower_log_is_prefix,
    watermarks.hw_within_log,
)
"""The properties that specs also have, so that a trace of a spec can show how a violation is possible."""

OF_TWO_MOMENTS = (disk.committed_kept, watermarks.hw_monotonic)
"""The properties that compare two copies of one cluster."""

CHECKS: tuple[Property, ...] = (*OF_ONE_BROKER, *OF_SEVERAL_BROKERS, *OF_LEADERS)
"""Every property that is checked on a partition."""

_NEED_LEADERS, _NEED_ONE_MOMENT, _SPECS = (
    frozenset(check.name for check in checks) for checks in (OF_LEADERS, OF_ONE_MOMENT, OF_SPECS)
)

NO_DIRECTORY, NO_SEGMENT, NO_HIGH_WATERMARK, NOT_IN_METADATA, NO_LEADER, NO_REPLICA = (
    "no directory of ",
    "no segment of ",
    "no high watermark of ",
    "not in the metadata log: ",
    "no leader of ",
    "no replica of ",
)
"""Prefixes of reasons that are combined into one sentence for all partitions."""

MOST_PLACES = 1000
"""The largest number of violations of a property that are counted in a partition."""


@attrs.frozen
class PartitionTask:
    """A partition to audit.

    Attributes:
        topic, number: the topic name and the partition number.
        places: the locations of the replicas.
        topic_id, state: the topic id and the state of the partition in the metadata log, or None if the metadata log
            does not contain them.
        history: an (offset, state) pair for each state of the partition. The state began at this offset in the metadata
            log.
        cleaned_below: the offset below which compaction may have changed the logs.
        one_moment: whether the disks were copied at the same moment.
        has_metadata: whether one of the given directories contains a metadata log.
        held_back, fenced: see `DiskPartition`.
    """

    topic: str
    number: int
    places: tuple[ReplicaPlace, ...]
    topic_id: UUID | None
    state: PartitionState | None
    history: tuple[tuple[int, PartitionState], ...]
    cleaned_below: int
    one_moment: bool
    has_metadata: bool
    held_back: frozenset[int] = frozenset()
    fenced: tuple[FencedElection, ...] = ()


@attrs.frozen(eq=False)
class PartitionReport:
    """The result of the audit of one partition.

    Attributes:
        task: the partition that was audited.
        findings: the violations and notes.
        undecided: the properties that could not be decided.
        batches, size: the number of batches in all replicas, and the size of their segments in bytes.
        table: the table of the logs, or None if there is no violation.
    """

    task: PartitionTask
    findings: tuple[Finding, ...]
    undecided: tuple[UndecidedCheck, ...]
    batches: int
    size: int
    table: LogTable | None = None


def audit_partition(files: Files, task: PartitionTask, *, checksums: bool = True) -> PartitionReport:
    """Audit one partition.

    Parameters:
        files: the file system that contains the data directories.
        task: the partition to audit.
        checksums: whether to compute the checksums of batches.
    """
    observation = observe(files, task, checksums=checksums)
    return judged(task, observation, CHECKS)


@attrs.frozen(eq=False)
class Observation:
    """The data that was read for a partition.

    Attributes:
        partition: the partition, with the replicas on which properties are checked.
        others: the remaining replicas. These are replicas of a different topic with the same name, replicas that could
            not be read, and replicas whose segments are missing from the copy.
    """

    partition: DiskPartition
    others: tuple[DiskReplica, ...]

    @property
    def replicas(self) -> tuple[DiskReplica, ...]:
        """All replicas that were read."""
        return (*self.partition.replicas.values(), *self.others)


def observe(files: Files, task: PartitionTask, *, checksums: bool = True) -> Observation:
    """Read the replicas of a partition. For the parameters, see `audit_partition`."""
    held = [
        replica
        for place in task.places
        if (replica := read_replica(files, place, cleaned_below=task.cleaned_below, checksums=checksums)) is not None
    ]
    return observation_of(task, held)


def observation_of(task: PartitionTask, held: Sequence[DiskReplica]) -> Observation:
    """Combine the replicas that were read into an observation of the partition.

    Parameters:
        task: the partition to audit.
        held: the replicas that were read.
    """
    known = [replica.directory.topic_id for replica in held if replica.directory.topic_id is not None]
    topic_id = task.topic_id if task.topic_id in known or not known else max(known, key=known.count)
    any_log = any(replica.has_a_log for replica in held)
    mine = {
        replica.node: replica
        for replica in held
        if replica.directory.topic_id in (None, topic_id) and replica.whole and (replica.has_a_log or any_log)
    }
    others = tuple(replica for replica in held if mine.get(replica.node) is not replica)
    partition = DiskPartition(
        topic=task.topic,
        number=task.number,
        topic_id=topic_id,
        replicas=mine,
        state=task.state if topic_id in (None, task.topic_id) else None,
        one_moment=task.one_moment,
        unclean=tuple(unclean_elections(task.history)) if topic_id in (None, task.topic_id) else (),
        held_back=task.held_back,
        fenced=task.fenced if topic_id in (None, task.topic_id) else (),
        strangers=tuple(each for each in others if each.directory.topic_id not in (None, topic_id)),
    )
    return Observation(partition, others)


def judged(task: PartitionTask, observation: Observation, checks: Iterable[Property]) -> PartitionReport:
    """Check the given properties of a partition. Report violations, likely causes, and notes.

    Parameters:
        task: the partition to audit.
        observation: the data that was read for the partition.
    """
    partition, earlier = observation.partition, observation.partition.earlier
    findings: list[Finding] = []
    releases = releases_of(partition, has_metadata=task.has_metadata)
    undecided = [*_not_at_hand(observation, task)]
    for check in checks:
        if check.name in _NEED_LEADERS and (partition.state is None or partition.is_metadata):
            continue
        if check.kind.of_steps and earlier is None:
            continue
        found, later = _asked(check, releases, *([earlier] if check.kind.of_steps else []), partition)
        findings += found
        if later or (check.name in _NEED_ONE_MOMENT and not task.one_moment):
            undecided.append(UndecidedCheck(check.name, ""))
    findings = explained(partition, findings)
    findings += notes(partition, observation.others, findings)
    return PartitionReport(
        task=task,
        findings=tuple(findings),
        undecided=tuple(undecided),
        batches=sum(len(replica.batches) for replica in observation.replicas),
        size=sum(segment.size for replica in observation.replicas for segment in replica.segments),
        table=log_table_of(partition) if any(finding.severity == "error" for finding in findings) else None,
    )


def _asked(check: Property, releases: ReleaseRange, *moments: DiskPartition | None) -> tuple[list[Finding], bool]:
    """Check a property of a partition, or of two copies of a partition.

    Parameters:
        check: the property.
        releases: the releases that could have written the logs.
        moments: the partition, or the earlier and the later copy of the partition.

    Returns:
        A finding for each set of brokers that a complaint names, and whether the property is undecided. The property is
        undecided if a missing record may have arrived after the copy was made.
    """
    places: dict[tuple[int, ...], list[Complaint]] = {}
    later, count, partition = False, 0, moments[-1]
    assert partition is not None
    if check.name == logs.follower_log_is_prefix.name:
        moments = (attrs.evolve(partition, cautious=True),)
    for count, complaint in enumerate(check.complaints(*moments), start=1):
        assert isinstance(complaint, Complaint)
        if not partition.one_moment and _may_be_yet_to_come(check, partition, complaint):
            later = True
        else:
            places.setdefault(complaint.brokers, []).append(complaint)
        if count == MOST_PLACES:
            break
    return [_finding(check, partition, releases, found, count == MOST_PLACES) for found in places.values()], later


def _may_be_yet_to_come(check: Property, partition: DiskPartition, complaint: Complaint) -> bool:
    """Return whether a complaint may exist only because disks or files were copied at different moments."""
    replicas = [replica for _, replica in partition.replicas_of(complaint.brokers)]
    if check.name == watermarks.hw_within_log.name:
        return not any(replica.place.clean or signs_of_a_lost_segment(replica) for replica in replicas)
    beyond = complaint.offset is not None and any(complaint.offset >= replica.log.end_offset for replica in replicas)
    if check.name == promises.committed_never_lost.name and complaint.offset in partition.never_to_come:
        return False
    return check.name in _NEED_ONE_MOMENT and beyond


def _finding(
    check: Property, partition: DiskPartition, releases: ReleaseRange, found: list[Complaint], perhaps_more: bool
) -> Finding:
    first = min(found, key=lambda each: -1 if each.offset is None else each.offset)
    more, least = len(found) - 1, "at least " * perhaps_more
    replica = next((replica for _, replica in partition.replicas_of(first.brokers)), None)
    in_specs = check.name in _SPECS and not partition.is_metadata  # the specs do not have Raft
    shape = shape_of(check.name, partition, found) if in_specs else None
    if check.name == disk.committed_kept.name and not partition.is_metadata:
        shape = LOST
    if check.name == disk.leaders_elected_unfenced.name:
        shape = shape_of_fenced_elections(all(each.electable for each in partition.fenced))
    return Finding(
        check=check.name,
        severity="error",
        topic=partition.topic,
        partition=partition.number,
        brokers=first.brokers,
        offset=first.offset,
        sentence=str(first),
        context=(f"there {'is 1 more such place' if more == 1 else f'are {least}{more:,} more such places'}",)
        if more
        else (),
        path=replica.place.path if replica is not None else "",
        shape=shape,
        releases=releases if shape is not None else None,
    )


def _not_at_hand(observation: Observation, task: PartitionTask) -> Iterator[UndecidedCheck]:
    """Yield the reasons why the audit of a partition is incomplete."""
    partition = observation.partition
    name = f"{partition.topic}-{partition.number}"
    for replica in observation.replicas:
        for problem in replica.problems:
            yield UndecidedCheck("", problem)
        if replica.place.missing and replica in observation.others:
            yield UndecidedCheck("", f"{NO_DIRECTORY}{name}")
        elif not replica.whole or (replica in observation.others and not replica.has_a_log):
            yield UndecidedCheck("", f"{NO_SEGMENT}{name}")
        if replica.place.high_watermark is None and len(replica.batches):
            yield UndecidedCheck("", f"{NO_HIGH_WATERMARK}{name}")
    if partition.is_metadata:
        return
    if partition.state is None and task.has_metadata:
        yield UndecidedCheck("", f"{NOT_IN_METADATA}{name}")
    if partition.state is not None:
        at_hand = {replica.node for replica in observation.replicas}
        ought_to = partition.state.electable if partition.state.leader is None else {partition.state.leader}
        leading = {replica.epoch for _, replica in partition.believed_leaders()}
        if ought_to & partition.replicas.keys() and partition.state.leader_epoch not in leading:
            yield UndecidedCheck("", f"{NO_LEADER}{name}")
        for broker in partition.state.replicas:
            if broker not in at_hand:
                yield UndecidedCheck("", f"{NO_REPLICA}broker {broker}")
