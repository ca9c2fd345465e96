"""Audits data directories with Spark. The headers of batches are read on the machines that store the data.

Directories can be given as URIs of object storage or of a distributed file system. Every machine can access them, so
any machine can audit any partition. Directories that are given as paths are on the local disks of the machines, and the
same path can be a different directory on each machine. In this case, each machine reads the headers in its own
directories, and sends only these headers to other machines.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import attrs

from leadline.checker.errors import LeadlineError
from leadline.invariants.audit.cluster import Done, Progress, clusters_in, result_of, run_part, tasks_of
from leadline.invariants.audit.partition import (
    CHECKS,
    PartitionReport,
    PartitionTask,
    audit_partition,
    judged,
    observation_of,
)
from leadline.invariants.audit.result import AuditResult
from leadline.model.disk.cluster import Cluster, MetadataLog, Reader, Survey, assemble, survey
from leadline.model.disk.directory import find_data_directories
from leadline.model.disk.files import LocalFiles, Unreadable
from leadline.model.disk.metadata import Metadata, read_metadata
from leadline.model.disk.partition import DiskReplica, ReplicaPlace, read_replica
from leadline.model.disk.remote import AnyFiles, is_remote

if TYPE_CHECKING:
    from pyspark import Broadcast, SparkContext

    from leadline.checker.engines.spark.session import Session

T = TypeVar("T")

_Wanted = tuple[int, tuple[str, ...], ReplicaPlace, int]
"""A replica to read: the index of its task, the names of the machines that have it, its location, and `cleaned_below`.

For `cleaned_below`, see `leadline.model.disk.partition.read_replica`."""

WAVES = 20
"""The number of Spark jobs for partitions in shared storage.

After each job, progress is shown; an interrupt loses only the reports of one job."""


def audit_on_spark(
    given: Sequence[str],
    *,
    checksums: bool = True,
    stopped: bool = False,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    verbose: bool = False,
    progress: Progress | None = None,
) -> AuditResult:
    """Audit data directories with Spark.

    Parameters:
        given: either URIs that every machine can read, or paths on the machines' local disks. See `audit`.
        checksums, stopped, progress: see `audit`.
        master: the URL of the Spark master. If it is None, use the master of `spark-submit`, or this machine if there
            is none.
        conf: configuration properties of Spark.
        verbose: whether to show the log and progress bar of Spark.

    Raises:
        LeadlineError: if pyspark or Java is missing, URIs and paths are mixed, or a path contains no data directory.
    """
    if importlib.util.find_spec("pyspark") is None:
        raise LeadlineError("the spark engine needs pyspark: run pip install 'leadline[spark]'")
    from leadline.checker.engines.spark.session import Session

    if len({is_remote(path) for path in given}) > 1:
        raise LeadlineError(
            "with the spark engine, pass either URIs, which every machine can read, or local paths, not both"
        )
    with Session(master, conf or {}, verbose) as session:
        return audit_with(session, given, checksums=checksums, stopped=stopped, progress=progress)


def audit_with(
    session: Session,
    given: Sequence[str],
    *,
    checksums: bool = True,
    stopped: bool = False,
    progress: Progress | None = None,
) -> AuditResult:
    """Audit data directories with an existing Spark session. See `audit_on_spark` for the remaining parameters."""
    began = time.monotonic()
    if is_remote(given[0]):
        clusters = clusters_in(AnyFiles(), given, stopped=stopped)
        reports, interrupted = _in_shared_storage(session, clusters, checksums, began, progress)
    else:
        clusters, reports, interrupted = _on_machines(session, given, checksums, stopped)
    return result_of(clusters, reports, CHECKS, began, interrupted)


def _in_shared_storage(
    session: Session, clusters: Sequence[Cluster], checksums: bool, began: float, progress: Progress | None
) -> tuple[list[PartitionReport], bool]:
    """Audit partitions in storage that all machines can access. Return the reports, and whether the audit was
    interrupted.
    """
    tasks = [task for cluster in clusters for task in tasks_of(cluster)]
    run = functools.partial(run_part, functools.partial(audit_partition, AnyFiles(), checksums=checksums))
    size = max(session.cores, len(tasks) // WAVES + 1)
    done, reports = Done(len(tasks)), list[PartitionReport]()
    try:
        for first in range(0, len(tasks), size):
            wave = tasks[first : first + size]
            step = max(1, len(wave) // (4 * session.cores))
            parts = [wave[place : place + step] for place in range(0, len(wave), step)]
            for part in session.run(run, parts, _never):
                reports += part
                for report in part:
                    done.add(report, time.monotonic() - began)
            if progress is not None:
                progress(done)
    except KeyboardInterrupt:
        return reports, True
    return reports, False


@attrs.frozen
class Seen:
    """A data directory, and the machines on which it exists.

    Attributes:
        surveyed: the data directory. Its paths begin with the name of a machine.
        path: the path of the directory on the machines.
        machines: the names of the machines.
    """

    surveyed: Survey
    path: str
    machines: tuple[str, ...]


def _on_machines(
    session: Session, given: Sequence[str], checksums: bool, stopped: bool
) -> tuple[list[Cluster], list[PartitionReport], bool]:
    """Audit directories on the machines' local disks.

    Returns:
        The clusters, the reports on their partitions, and whether the audit was interrupted.
    """
    paths = [os.path.abspath(path) for path in given]
    seen = merged(_everywhere(session, functools.partial(_surveyed, paths)))
    if not seen:
        raise LeadlineError(f"no machine has a broker's data directory in {', '.join(given)}")
    where = {each.surveyed.directory.path: each for each in seen}

    def metadata(log: MetadataLog) -> Metadata:
        home = next(each for each in seen if each.surveyed.metadata is log)
        found = _everywhere(session, functools.partial(_metadata_of, home.machines[0], log))
        content: Metadata = next(content for _, contents in found for content in contents)
        return content

    read = Reader(metadata, lambda one, other: None)
    clusters = assemble([each.surveyed for each in seen], read, stopped=stopped)
    tasks = [task for cluster in clusters for task in tasks_of(cluster)]
    places = {
        index: [(_machines_of(where, place), place, task.cleaned_below) for place in task.places]
        for index, task in enumerate(tasks)
    }
    try:
        job = functools.partial(_judged_from_afar, session.cores, tasks, places, checksums)
        reports = session.do(job, _never)
    except KeyboardInterrupt:
        return clusters, [], True
    return clusters, reports, False


def _never() -> None:
    """Do nothing. This progress function for `Session.do` never cancels the job."""


def _machines_of(where: Mapping[str, Seen], place: ReplicaPlace) -> tuple[str, ...]:
    """Return the names of the machines that store a replica.

    Parameters:
        where: the data directories, keyed by their paths, which begin with the name of a machine.
        place: the location of the replica.
    """
    return next(each.machines for path, each in where.items() if place.path.startswith(f"{path}/"))


def merged(found: Iterable[tuple[str, Sequence[Survey]]]) -> list[Seen]:
    """Combine the data directories of all machines.

    If two machines have the same directory at the same path, they share a disk, and the directory is returned only
    once.

    Parameters:
        found: for each Spark task, the name of its machine, and the data directories on that machine. A machine can run
            several tasks.

    Returns:
        The directories. Their paths have the form ``machine:path``.
    """
    every: dict[tuple[object, ...], tuple[Survey, str, list[str]]] = {}
    for machine, surveyed in found:
        for each in surveyed:
            about = each.directory
            # machines that do not share a disk can have different directories at the same path
            same = (about.path, about.node, about.cluster, about.directory, len(about.partitions))
            _, _, machines = every.setdefault(same, (each, about.path, []))
            if machine not in machines:
                machines.append(machine)
    return [
        Seen(_called(surveyed, f"{machines[0]}:"), path, tuple(sorted(machines)))
        for surveyed, path, machines in every.values()
    ]


def _called(surveyed: Survey, machine: str) -> Survey:
    """Return a copy of a `Survey` in which every path begins with the given machine name."""
    directory = surveyed.directory
    partitions = {name: f"{machine}{path}" for name, path in directory.partitions.items()}
    named = attrs.evolve(directory, path=f"{machine}{directory.path}", partitions=partitions)
    return attrs.evolve(surveyed, directory=named)


def _local(path: str) -> str:
    """Remove the name of the machine from a path."""
    return path.partition(":")[2]


def _everywhere(session: Session, look: Callable[[str], list[T]]) -> list[tuple[str, list[T]]]:
    """Call `look` in one Spark task per core, so that it runs on every machine. Its argument is the name of the
    machine.

    Returns:
        For each task, the name of its machine and the result of the call.
    """

    def job(context: SparkContext) -> list[tuple[str, list[T]]]:
        def here(_: Iterable[int]) -> Iterator[tuple[str, list[T]]]:
            machine = socket.gethostname()
            yield machine, look(machine)

        spread = context.parallelize(range(session_cores), session_cores)
        found: list[tuple[str, list[T]]] = spread.barrier().mapPartitions(here).collect()
        return found

    session_cores = session.cores
    return session.do(job, _never)


def _surveyed(paths: Sequence[str], machine: str) -> list[Survey]:
    """Return the data directories on this machine that are at or below the given paths."""
    found = []
    for path in paths:
        try:
            found += [survey(LocalFiles(), inside) for inside in find_data_directories(LocalFiles(), path)]
        except Unreadable:
            continue  # the path is on another machine
    return found


def _metadata_of(home: str, log: MetadataLog, machine: str) -> list[Metadata]:
    return [read_metadata(LocalFiles(), log.directory)] if machine == home else []


def _judged_from_afar(
    cores: int,
    tasks: Sequence[PartitionTask],
    places: Mapping[int, Sequence[tuple[tuple[str, ...], ReplicaPlace, int]]],
    checksums: bool,
    context: SparkContext,
) -> list[PartitionReport]:
    """Read each replica on a machine that stores it. Then group the replicas by partition, and check each partition."""
    wanted = context.broadcast([(index, *place) for index, held in places.items() for place in held])
    known = context.broadcast(list(tasks))
    # functions of this package are pickled by name, because a copied property would not be equal to the original
    read = functools.partial(_read_there, wanted, checksums)
    judge = functools.partial(_judged, known)
    read_there = context.parallelize(range(cores), cores).barrier().mapPartitions(read)
    reports: dict[int, PartitionReport] = dict(read_there.groupByKey(cores).map(judge).collect())
    # there is no report yet on a partition that has no replica on any machine
    return [reports.get(index) or judged(task, observation_of(task, ()), CHECKS) for index, task in enumerate(tasks)]


def _read_there(
    wanted: Broadcast[list[_Wanted]], checksums: bool, _: Iterable[int]
) -> Iterator[tuple[int, DiskReplica]]:
    """Read replicas on this machine, and yield a (task index, replica) pair for each of them.

    If several Spark tasks run on the machine, each replica is read by only one of them.
    """
    from pyspark import BarrierTaskContext

    barrier = BarrierTaskContext.get()
    rank, machines = barrier.partitionId(), barrier.allGather(socket.gethostname())
    for number, (index, having, place, cleaned_below) in enumerate(wanted.value):
        readers = [other for other, machine in enumerate(machines) if machine in having]
        if readers and readers[number % len(readers)] == rank:
            here = attrs.evolve(place, path=_local(place.path))
            found = read_replica(LocalFiles(), here, cleaned_below=cleaned_below, checksums=checksums)
            if found is not None:
                yield index, attrs.evolve(found, place=place)


def _judged(
    known: Broadcast[list[PartitionTask]], item: tuple[int, Iterable[DiskReplica]]
) -> tuple[int, PartitionReport]:
    index, replicas = item
    task = known.value[index]
    held = sorted(replicas, key=lambda replica: replica.node)
    return index, judged(task, observation_of(task, held), CHECKS)
