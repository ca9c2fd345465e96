"""Audits all partitions of a cluster, on several cores if that is faster."""

from __future__ import annotations

import functools
import multiprocessing
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

import attrs

from leadline.checker.errors import LeadlineError
from leadline.checker.properties import Property
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted
from leadline.invariants import disk
from leadline.invariants.audit.moments import MomentsTask, audit_moments
from leadline.invariants.audit.notes import elections
from leadline.invariants.audit.partition import (
    CHECKS,
    NO_DIRECTORY,
    NO_HIGH_WATERMARK,
    NO_LEADER,
    NO_REPLICA,
    NO_SEGMENT,
    NOT_IN_METADATA,
    OF_LEADERS,
    OF_ONE_MOMENT,
    OF_TWO_MOMENTS,
    PartitionReport,
    PartitionTask,
    audit_partition,
)
from leadline.invariants.audit.result import AuditResult, Finding
from leadline.invariants.view import Complaint
from leadline.model.disk.cluster import Cluster, assemble, reader, survey
from leadline.model.disk.directory import METADATA, METADATA_TOPIC, find_data_directories
from leadline.model.disk.files import Files, Unreadable
from leadline.model.disk.metadata import Metadata, PartitionState, unclean_elections
from leadline.model.disk.partition import DiskPartition
from leadline.model.disk.remote import AnyFiles, canonical, without_secrets

ALONE_FOR = 1.0
"""The time in seconds for which one process audits alone before worker processes can be started."""

WORTH_IT = 5.0
"""The estimated remaining time in seconds above which worker processes are started, which takes a second or more."""

AT_A_TIME = 32
"""The largest number of partitions that are sent to a worker process at a time."""

FILES = AnyFiles()
"""The default file system, which accepts local paths and URIs."""

MOST_PROBLEMS = 20
"""The largest number of unreadable files that are listed."""

Task = TypeVar("Task", PartitionTask, MomentsTask)

Progress = Callable[["Done"], None]
"""A function that is called regularly during an audit, with the progress so far."""


@attrs.define
class Done:
    """The progress of an audit.

    Attributes:
        planned: the total number of partitions to audit.
        partitions: the number of partitions audited so far.
        batches, size: the number of batches read so far, and the size of their segments in bytes.
        errors: the number of violations found so far.
        seconds: the time in seconds since the audit began.
    """

    planned: int
    partitions: int = 0
    batches: int = 0
    size: int = 0
    errors: int = 0
    seconds: float = 0.0

    def add(self, report: PartitionReport, seconds: float) -> None:
        """Add the report on a partition. Its audit ended `seconds` seconds after the whole audit began."""
        self.partitions += 1
        self.batches += report.batches
        self.size += report.size
        self.errors += sum(finding.severity == "error" for finding in report.findings)
        self.seconds = seconds


OF_CLUSTERS = (disk.one_directory_per_replica, disk.quorum_epoch_not_behind_log)
"""The properties that are checked on whole clusters."""


def audit(
    given: Sequence[str],
    *,
    files: Files = FILES,
    checksums: bool = True,
    stopped: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> AuditResult:
    """Audit the data directories of brokers.

    Parameters:
        given: the paths of data directories, or of directories that contain data directories.
        files: the file system that contains the directories.
        checksums: whether to compute the checksums of batches.
        stopped: whether all brokers were stopped when the directories were copied. If this is false, only brokers that
            were stopped cleanly count as stopped.
        workers: the number of worker processes. The default is the number of cores.
        progress: a function to call regularly with the progress so far, or None.

    Returns:
        The result. If the audit is interrupted, the result is incomplete and contains the findings so far.

    Raises:
        LeadlineError: if a path contains no data directory or cannot be read.
    """
    clusters = clusters_in(files, given, stopped=stopped)
    tasks = [task for cluster in clusters for task in tasks_of(cluster)]
    run = functools.partial(audit_partition, files, checksums=checksums)
    return _audited(run, tasks, clusters, CHECKS, workers, progress)


def compare(
    before: Sequence[str],
    after: Sequence[str],
    *,
    files: Files = FILES,
    checksums: bool = True,
    stopped: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> AuditResult:
    """Audit the data directories of brokers and compare them with an earlier copy. For the remaining parameters, see
    `audit`.

    Parameters:
        before, after: the paths of the directories in the earlier copy and in the later copy.

    Raises:
        LeadlineError: if a path contains no data directory or cannot be read, or if a copy contains several clusters.
    """
    earlier, later = (clusters_in(files, given, stopped=stopped) for given in (before, after))
    for given, clusters in ((before, earlier), (after, later)):
        if len(clusters) > 1:
            several = f"{_shown(', '.join(given))} contains {len(clusters)} clusters"
            raise LeadlineError(f"{several}: --before and --after compare two copies of the same cluster")
    tasks_before, tasks_after = (
        {(task.topic, task.number): task for cluster in clusters for task in tasks_of(cluster)}
        for clusters in (earlier, later)
    )
    names = sorted(tasks_before.keys() | tasks_after.keys())
    tasks = [MomentsTask(tasks_before.get(name), tasks_after.get(name)) for name in names]
    run = functools.partial(audit_moments, files, checksums=checksums)
    found = _audited(run, tasks, later, (*CHECKS, *OF_TWO_MOMENTS), workers, progress)
    ends = _metadata_end(earlier), _metadata_end(later)
    if ends[1] < ends[0]:
        swapped = (
            f"the metadata log of the later copy ends at offset {ends[1]}, before the end of the earlier copy at "
            f"offset {ends[0]}: are --before and --after swapped?"
        )
        found = attrs.evolve(found, reasons=(swapped, *found.reasons))
    return found


def _metadata_end(clusters: Sequence[Cluster]) -> int:
    return max((cluster.metadata.end for cluster in clusters if cluster.metadata is not None), default=0)


def _audited(
    run: Callable[[Task], PartitionReport],
    tasks: Sequence[Task],
    clusters: Sequence[Cluster],
    checks: Sequence[Property],
    workers: int | None,
    progress: Progress | None,
) -> AuditResult:
    """Audit the partitions of the given tasks, and combine the reports into a result."""
    began = time.monotonic()
    done = Done(len(tasks))

    reports: list[PartitionReport] = []
    interrupted = False
    try:
        for report in _run(run, tasks, workers or _cores()):
            reports.append(report)
            done.add(report, time.monotonic() - began)
            if progress is not None:
                progress(done)
    except KeyboardInterrupt:
        interrupted = True
    return result_of(clusters, reports, checks, began, interrupted)


def clusters_in(files: Files, given: Sequence[str], *, stopped: bool) -> list[Cluster]:
    """Find the data directories at or below the given paths, and group them by cluster. For the parameters, see
    `audit`.
    """
    found: list[str] = []
    for path in given:
        path = canonical(path)
        try:
            inside = find_data_directories(files, path)
        except Unreadable as error:
            raise LeadlineError(_shown(str(error))) from error
        if not inside:
            raise LeadlineError(
                f"{_shown(path)} is not a broker's data directory and does not contain one: a data directory contains "
                "a file meta.properties, or directories such as my-topic-0 that contain segments"
            )
        found += inside
    try:
        surveyed = [survey(files, path) for path in dict.fromkeys(found)]
    except Unreadable as error:
        raise LeadlineError(_shown(str(error))) from error
    return assemble(surveyed, reader(files), stopped=stopped)


def tasks_of(cluster: Cluster) -> Iterator[PartitionTask]:
    """Yield a task for each partition of a cluster."""
    for partition, held in cluster.partitions.items():
        topic_id, metadata = cluster.topic_id(partition), cluster.metadata
        key = (topic_id, partition[1]) if topic_id else None
        history = metadata.partitions.get(key) if metadata and key else None
        yield PartitionTask(
            topic=partition[0],
            number=partition[1],
            places=(
                *(cluster.place(partition, node, directory) for node, directory in held),
                *cluster.missing(partition),
            ),
            topic_id=topic_id,
            state=cluster.state(partition),
            history=tuple(history or ()),
            cleaned_below=cluster.cleaned_below(partition),
            one_moment=not cluster.why_not_one_moment,
            has_metadata=metadata is not None,
            held_back=_held_back(metadata, partition[0], history or ()) if metadata else frozenset(),
            fenced=tuple(metadata.fenced_elections.get(key, ())) if metadata and key else (),
        )


def _held_back(metadata: Metadata, topic: str, history: Iterable[tuple[int, PartitionState]]) -> frozenset[int]:
    """Compute `DiskPartition.held_back` from the history of a partition."""
    return frozenset(
        election.offset
        for election in unclean_elections(history)
        if election.before.electable
        and (metadata.min_insync_replicas(topic, election.since, election.offset) or 1) > len(election.before.electable)
        and metadata.holds_back_high_watermarks(election.since)
    )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _run(run: Callable[[Task], PartitionReport], tasks: Sequence[Task], workers: int) -> Iterator[PartitionReport]:
    """Audit partitions, and yield their reports. Use worker processes if one process would take too long."""
    began, waiting = time.monotonic(), list(reversed(tasks))
    while waiting:
        yield run(waiting.pop())
        spent = time.monotonic() - began
        left = spent / (len(tasks) - len(waiting)) * len(waiting)
        if workers > 1 and len(waiting) > workers and spent > ALONE_FOR and left > WORTH_IT:
            break
    if not waiting:
        return
    size = max(1, min(AT_A_TIME, len(waiting) // (4 * workers)))
    waiting.reverse()
    parts = [waiting[first : first + size] for first in range(0, len(waiting), size)]
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_leave_interrupts_alone)
    try:
        pending = {pool.submit(run_part, run, part) for part in parts}
        while pending:
            ended, pending = wait(pending, return_when=FIRST_COMPLETED)
            for part in ended:
                yield from part.result()
    except BrokenProcessPool as error:
        raise LeadlineError("a worker process died, perhaps because memory ran out: try --workers 1") from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _leave_interrupts_alone() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def run_part(run: Callable[[Task], PartitionReport], tasks: Sequence[Task]) -> list[PartitionReport]:
    """Audit partitions one after another, and return their reports."""
    return [run(task) for task in tasks]


def result_of(
    clusters: Sequence[Cluster],
    reports: Sequence[PartitionReport],
    checks: Sequence[Property],
    began: float,
    interrupted: bool,
) -> AuditResult:
    """Combine the reports on partitions into the result of the audit, and check the properties that concern a whole
    cluster.

    Parameters:
        clusters: the clusters that were audited.
        reports: the reports on the partitions that were audited.
        checks: the properties that were checked on each partition.
        began: the time at which the audit began, as returned by `time.monotonic`.
        interrupted: whether the audit was interrupted.
    """
    findings = [*_of_clusters(clusters), *(finding for report in reports for finding in report.findings)]
    reasons = [reason for cluster in clusters for reason in _reasons(cluster)]
    reasons += _left_open(reports)
    if not reports and not interrupted:
        reasons.append("the directories given have no partitions")
    if interrupted:
        reasons.insert(0, "interrupted")
    return AuditResult(
        findings=tuple(map(_printable, sorted(findings, key=lambda finding: finding.severity))),
        reasons=tuple(dict.fromkeys(map(_shown, reasons))),
        checks=(*OF_CLUSTERS, *checks),
        open=frozenset(each.check for report in reports for each in report.undecided if each.check)
        | {check.name for check in OF_LEADERS if any(cluster.metadata is None for cluster in clusters)},
        brokers=sum(cluster.brokers for cluster in clusters),
        partitions=sum(report.task.topic != METADATA_TOPIC for report in reports),
        batches=sum(report.batches for report in reports),
        size=sum(report.size for report in reports),
        seconds=time.monotonic() - began,
        tables={
            (report.task.topic, report.task.number): report.table for report in reports if report.table is not None
        },
    )


def _of_clusters(clusters: Sequence[Cluster]) -> Iterator[Finding]:
    """Yield the violations of the properties that concern a whole cluster, and the notes about directories."""
    for check in OF_CLUSTERS:
        for cluster in clusters:
            for complaint in check.complaints(cluster):
                assert isinstance(complaint, Complaint)
                yield Finding(check.name, "error", None, None, complaint.brokers, None, str(complaint))
    for cluster in clusters:
        for nodes, note in cluster.notes:
            yield Finding("directories", "note", None, None, nodes, None, note)
        yield from _of_removed_topics(cluster)
    for other in clusters[1:]:
        paths = ", ".join(directory.path for node in other.nodes.values() for directory in node.directories)
        text = f"directories of another cluster, audited separately: {paths}"
        yield Finding("directories", "note", None, None, tuple(other.nodes), None, text)


def _of_removed_topics(cluster: Cluster) -> Iterator[Finding]:
    """Yield findings about past elections in the partitions of removed topics."""
    metadata = cluster.metadata
    for (topic_id, number), history in metadata.partitions.items() if metadata is not None else ():
        topic = metadata.topics.get(topic_id) if metadata is not None else None
        if metadata is None or topic is None or topic.removed is None:
            continue
        partition = DiskPartition(
            topic=topic.name,
            number=number,
            topic_id=topic_id,
            replicas={},
            state=None,
            one_moment=False,
            unclean=tuple(unclean_elections(history)),
            held_back=_held_back(metadata, topic.name, history),
            fenced=tuple(metadata.fenced_elections.get((topic_id, number), ())),
        )
        removed = f"the topic was removed later (offset {topic.removed} of the metadata log)"
        for finding in elections(partition):
            yield attrs.evolve(finding, sentence=f"{finding.sentence}; {removed}")


def _printable(finding: Finding) -> Finding:
    """Return a copy of a finding without secrets or terminal escape sequences. Directory names can contain both."""
    return attrs.evolve(finding, sentence=_shown(finding.sentence), path=_shown(finding.path))


def _shown(text: str) -> str:
    return visible(without_secrets(text))


def _reasons(cluster: Cluster) -> Iterator[str]:
    """Yield the reasons why the audit of a cluster is incomplete, except reasons that concern a single partition."""
    if any(partition != METADATA for partition in cluster.partitions):
        if cluster.metadata is None:
            yield (f"there is no metadata log, so leaders and ISRs are unknown: {_names(OF_LEADERS)} were not checked")
        elif cluster.why_not_one_moment:
            why = "; ".join(cluster.why_not_one_moment)
            yield f"the directories are not of one moment, which {_names(OF_ONE_MOMENT)} require: {why}"
    yield from cluster.unread[:MOST_PROBLEMS]
    for node in cluster.nodes.values():
        for directory in node.directories:
            yield from directory.problems


def _names(checks: Iterable[Property]) -> str:
    names = [check.name for check in checks]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _left_open(reports: Sequence[PartitionReport]) -> Iterator[str]:
    """Yield sentences that say why some properties could not be decided for certain partitions."""
    every = [
        reason
        for report in reports
        for reason in dict.fromkeys(each.reason for each in report.undecided if not each.check)
    ]

    def those(beginning: str) -> list[str]:
        return [reason.removeprefix(beginning) for reason in every if reason.startswith(beginning)]

    for broker, count in sorted(Counter(those(NO_REPLICA)).items()):
        yield f"the replicas of {counted(count, 'partition')} on {broker} were not given"
    for beginning, sentence in {
        NO_DIRECTORY: "no directory given has a replica of {}: {}",
        NO_SEGMENT: "the segments of {} were left out of the copy: {}",
        NO_HIGH_WATERMARK: "no checkpoint has the high watermark of {}: {}",
        NOT_IN_METADATA: "the metadata log has no such topic id for {}: {}",
        NO_LEADER: "no broker given knows that it leads {} in the current leader epoch: {}",
    }.items():
        if names := those(beginning):
            shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
            yield sentence.format(counted(len(names), "partition"), shown)
    short = sum(any(each.check == "hw_within_log" for each in report.undecided) for report in reports)
    if short:
        yield (
            f"the logs of {counted(short, 'partition')} end before the high watermark on brokers that did not stop "
            "cleanly: they may have been copied before it, or a crash has lost their ends"
        )
    known = (NO_DIRECTORY, NO_SEGMENT, NO_HIGH_WATERMARK, NOT_IN_METADATA, NO_LEADER, NO_REPLICA)
    problems = [reason for reason in every if not reason.startswith(known)]
    yield from problems[:MOST_PROBLEMS]
    if len(problems) > MOST_PROBLEMS:
        yield f"{len(problems) - MOST_PROBLEMS:,} more files cannot be read"
