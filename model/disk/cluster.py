"""Functions that find out which broker each data directory belongs to, and group the directories by cluster.

The ids in a directory do not prove which cluster it belongs to. A `cluster.id` is often copied from an example, and the
same node id occurs in old copies and in other clusters. Topic ids and the beginning of the metadata log are proof,
because they contain random numbers or times. Before KRaft, the cluster id is also random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from uuid import UUID

import attrs
import numpy as np

from leadline.checker.support.messages import counted
from leadline.model.disk import text
from leadline.model.disk.batches import BATCH, LARGEST_OFFSET, read_headers
from leadline.model.disk.directory import METADATA, DataDirectory, LogDirectory, read_data_directory, read_log_directory
from leadline.model.disk.files import Files, Unreadable
from leadline.model.disk.log import DiskLog, log_of
from leadline.model.disk.metadata import Metadata, PartitionState, read_metadata, snapshots
from leadline.model.disk.partition import COMPACTED_TOPICS, UNKNOWN_LEADER, Belief, ReplicaPlace
from leadline.model.disk.text import Partition

MOST_LOGS = 20
"""The number of logs that are compared to decide whether two directories without topic ids are of one cluster."""

MOST_TOPICS = 200
"""The number of topics whose ids are compared to decide whether two directories are of one cluster."""


@attrs.frozen(eq=False)
class MetadataLog:
    """The metadata log of a node.

    Attributes:
        directory: the directory of the log.
        log: the batches of the log.
        quorum_epoch: the leader epoch in the `quorum-state` file, or None if the file does not exist or is malformed.
        complete: whether the end of the log is present. The end is missing if an epoch in the leader epoch checkpoint
            starts beyond the end of the log.
        committed: the end offset of the latest snapshot, or 0 if there is no snapshot. All records below this offset
            are committed.
    """

    directory: LogDirectory
    log: DiskLog
    quorum_epoch: int | None
    complete: bool
    committed: int

    @property
    def last_epoch(self) -> int:
        """The leader epoch of the last batch, or -1 if the log has no batches."""
        return int(self.log.batches["epoch"][-1]) if len(self.log.batches) else -1


@attrs.frozen(eq=False)
class Node:
    """A broker or a controller, with its data directories.

    Attributes:
        id: the node id, or a negative number if the node's directory does not contain the id.
        directories: the data directories of the node.
        metadata: the metadata log of the node, or None if it has none.
    """

    id: int
    directories: tuple[DataDirectory, ...]
    metadata: MetadataLog | None

    @property
    def is_broker(self) -> bool:
        """Whether the node is a broker: it has partitions other than the metadata log, so it is not only a
        controller.
        """
        return any(map(_has_partitions, self.directories))

    @property
    def clean(self) -> bool:
        """Whether the node was stopped cleanly. A directory whose only log is the metadata log is ignored.

        A controller does not create a clean shutdown file.
        """
        return all(directory.clean for directory in self.directories if _has_partitions(directory))

    @property
    def name(self) -> str:
        """The name of the node in messages, with its id or, if the id is unknown, its directory."""
        return f"broker {self.id}" if self.id >= 0 else f"the broker of {self.directories[0].path}"


def _has_partitions(directory: DataDirectory) -> bool:
    return any(partition != METADATA for partition in directory.partitions)


@attrs.frozen(eq=False)
class Cluster:
    """The nodes that belong to one cluster.

    Attributes:
        nodes: the nodes, keyed by id.
        metadata: the content of the metadata log, or None if there is no metadata log.
        why_not_one_moment: clauses that say why the disks were not copied at the same moment. Empty if they were copied
            at the same moment.
        notes: a (node ids, note) pair for each note about directories. The ids name the nodes that the note concerns.
        doubled: the partitions that have replicas in two data directories of the same broker. Each entry consists of
            the broker, the partition and both paths.
        unread: errors from reading the metadata log, one line each.
    """

    nodes: dict[int, Node]
    metadata: Metadata | None
    why_not_one_moment: tuple[str, ...]
    notes: tuple[tuple[tuple[int, ...], str], ...] = ()
    doubled: tuple[tuple[int, Partition, str, str], ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def brokers(self) -> int:
        """The number of brokers. A node is not counted if its only log is the metadata log and it never registered as a
        broker.
        """
        registered = self.metadata.registrations if self.metadata is not None else {}
        return sum(node.is_broker or node.metadata is None or node.id in registered for node in self.nodes.values())

    def missing(self, partition: Partition) -> Iterator[ReplicaPlace]:
        """Yield the location of each electable replica that has no directory although all data directories of its
        broker are given.
        """
        state = self.state(partition)
        for broker in sorted(state.electable) if state is not None else ():
            node = self.nodes.get(broker)
            if node is None or self.metadata is None or any(partition in each.partitions for each in node.directories):
                continue
            registered = self.metadata.registrations.get(broker)
            if not registered or len(registered[-1].directories) <= len(node.directories):
                topic, number = partition
                path = f"{node.directories[0].path}/{topic}-{number}"
                belief = self._belief(partition, node)
                yield ReplicaPlace(broker, path, node.clean, None, None, None, None, belief, missing=True)

    @property
    def partitions(self) -> dict[Partition, list[tuple[Node, DataDirectory]]]:
        """For each partition, the nodes and data directories that contain a replica of it.

        The partitions are those in the directories and those in the metadata log.
        """
        known = self.metadata.existing() if self.metadata is not None else ()
        found: dict[Partition, list[tuple[Node, DataDirectory]]] = {partition: [] for partition in known}
        for _, node in sorted(self.nodes.items()):
            for directory in node.directories:
                for partition in directory.partitions:
                    held = found.setdefault(partition, [])
                    if not any(other is node for other, _ in held):
                        held.append((node, directory))
        return dict(sorted(found.items()))

    def place(self, partition: Partition, node: Node, directory: DataDirectory) -> ReplicaPlace:
        """Return the location of a replica, and the data about the replica that is stored outside its partition
        directory.
        """
        high_watermark = directory.checkpoint(text.HIGH_WATERMARKS, partition)
        if partition == METADATA and node.metadata is not None:
            high_watermark = max(node.metadata.committed, node.metadata.log.start_offset)
        return ReplicaPlace(
            node=node.id,
            path=directory.partitions[partition],
            clean=directory.clean,
            high_watermark=high_watermark,
            recovery_point=directory.checkpoint(text.RECOVERY_POINTS, partition),
            log_start=directory.checkpoint(text.LOG_STARTS, partition),
            cleaned_to=directory.checkpoint(text.CLEANED_TO, partition),
            belief=self._belief(partition, node),
        )

    def topic_id(self, partition: Partition) -> UUID | None:
        """Return the topic id of a partition according to the metadata log, or None if it is unknown."""
        return self.metadata.topic_id(partition[0]) if self.metadata is not None else None

    def state(self, partition: Partition) -> PartitionState | None:
        """Return the state of a partition according to the metadata log, or None if it is unknown."""
        topic_id = self.topic_id(partition)
        if self.metadata is None or topic_id is None:
            return None
        return self.metadata.state(topic_id, partition[1])

    def cleaned_below(self, partition: Partition) -> int:
        """Return the offset below which compaction may have changed the logs of a partition, or 0 without compaction.

        On each broker, the log cleaner's checkpoint contains the offset up to which a log was compacted. A replica may
        have fetched batches that another broker had already compacted. Therefore the largest of these offsets is a
        valid limit only if the directories of all brokers that ever had a replica are given.
        """
        cleaned = [
            directory.checkpoint(text.CLEANED_TO, partition)
            for node in self.nodes.values()
            for directory in node.directories
        ]
        known = [offset for offset in cleaned if offset is not None]
        compacts = partition[0] in COMPACTED_TOPICS or (
            self.metadata is not None and partition[0] in self.metadata.compacted
        )
        if not known and not compacts:
            return 0
        return max(known, default=0) if self._all_that_ever_cleaned_are_here(partition) else LARGEST_OFFSET

    def _all_that_ever_cleaned_are_here(self, partition: Partition) -> bool:
        topic_id = self.topic_id(partition)
        if self.metadata is None or self.metadata.begins or topic_id is None:
            return False
        ever = {
            broker
            for _, state in self.metadata.partitions.get((topic_id, partition[1]), ())
            for broker in state.replicas
        }
        return all(
            broker in self.nodes and any(text.CLEANED_TO in each.checkpoints for each in self.nodes[broker].directories)
            for broker in ever
        )

    def _belief(self, partition: Partition, node: Node) -> Belief:
        """Return the state of a partition as the given node knows it.

        If there is no metadata log, or if it does not contain the topic, every node follows `UNKNOWN_LEADER`. A node
        without a metadata log is assumed to have read the whole metadata log of the cluster.
        """
        if self.metadata is None or partition == METADATA:
            return Belief(UNKNOWN_LEADER, 0, 0)
        end = node.metadata.log.end_offset if node.metadata is not None else None
        topic_id = self.metadata.topic_id(partition[0], end)
        if topic_id is None and partition[0] not in self.metadata.ids:
            return Belief(UNKNOWN_LEADER, 0, 0)
        state = None if topic_id is None else self.metadata.state(topic_id, partition[1], end)
        if state is None:
            return Belief()
        leader = state.leader
        if leader is None and state == self.state(partition):
            leader = self._stand_in(partition, state)
        return Belief(leader, state.leader_epoch, state.partition_epoch, state.electable)

    def _stand_in(self, partition: Partition, state: PartitionState) -> int:
        """Return the broker to treat as the leader of a partition that has no leader, for example after all brokers
        have stopped.

        This is the broker with the largest high watermark among the brokers that can be elected.
        """
        known = {
            node.id: directory.checkpoint(text.HIGH_WATERMARKS, partition) or 0
            for node, directory in self.partitions_of(partition)
            if node.id in state.electable
        }
        return max(known, key=lambda node: (known[node], -node), default=UNKNOWN_LEADER)

    def partitions_of(self, partition: Partition) -> Iterator[tuple[Node, DataDirectory]]:
        """Yield each node that has a replica of a partition, with the data directory of the replica."""
        for _, node in sorted(self.nodes.items()):
            for directory in node.directories:
                if partition in directory.partitions:
                    yield node, directory
                    break


@attrs.frozen(eq=False)
class Survey:
    """A data directory, and the data that shows which cluster it belongs to.

    Attributes:
        directory: the data directory.
        metadata: the metadata log in the directory, or None if it has none.
        topics: the ids of the topics in the directory, keyed by name.
    """

    directory: DataDirectory
    metadata: MetadataLog | None
    topics: dict[str, UUID]

    @property
    def weight(self) -> int:
        """The end offset of the metadata log plus 1, or 0 if there is no metadata log.

        Directories are grouped into clusters in descending order of weight.
        """
        return self.metadata.log.end_offset + 1 if self.metadata is not None else 0


def survey(files: Files, path: str) -> Survey:
    """Read a data directory, and the data that shows which cluster it belongs to.

    Raises:
        Unreadable: if the directory cannot be listed.
    """
    directory = read_data_directory(files, path)
    return Survey(directory, _metadata_log(files, directory), _topic_ids(files, directory))


@attrs.frozen(eq=False)
class Reader:
    """Functions that read further data from directories. They run on the machines that store the directories.

    Attributes:
        metadata: reads the content of a metadata log.
        alike: returns whether two directories have a batch in common, or None if there is no offset at which their logs
            can be compared.
    """

    metadata: Callable[[MetadataLog], Metadata]
    alike: Callable[[DataDirectory, DataDirectory], bool | None]


def reader(files: Files) -> Reader:
    """Return a reader for a file system that can access all directories."""
    return Reader(
        lambda log: read_metadata(files, log.directory),
        lambda one, other: _have_a_batch_in_common(files, one, other),
    )


def assemble(surveyed: Sequence[Survey], read: Reader, *, stopped: bool = False) -> list[Cluster]:
    """Group data directories by cluster.

    Parameters:
        surveyed: the data directories.
        read: the functions that read further data from the directories.
        stopped: whether the user states that each broker was stopped when its directory was copied.

    Returns:
        The clusters, sorted by number of replicas, largest first. Their notes name the directories that were left out.
    """
    groups: list[list[Survey]] = []
    for each in sorted(surveyed, key=lambda directory: -directory.weight):
        home = _home(each, groups, read)
        if home is None:
            groups.append([each])
        else:
            home.append(each)
    found = [_cluster(group, read, stopped) for group in groups]
    return sorted(found, key=_replicas, reverse=True)


def _replicas(cluster: Cluster) -> int:
    return sum(len(directory.partitions) for node in cluster.nodes.values() for directory in node.directories)


def _metadata_log(files: Files, directory: DataDirectory) -> MetadataLog | None:
    if METADATA not in directory.partitions:
        return None
    found = read_log_directory(files, directory.partitions[METADATA])
    if not found.is_one:
        return None
    log = _log(files, found)
    try:
        quorum_epoch = text.quorum_epoch(files, f"{found.path}/{text.QUORUM_STATE}")
    except Unreadable:
        quorum_epoch = None
    ends = [entry.start for entry in found.epochs or ()]
    committed = min(max((offset for offset, _ in snapshots(files, found)), default=0), log.end_offset)
    return MetadataLog(found, log, quorum_epoch, not ends or max(ends) <= log.end_offset, committed)


def _log(files: Files, directory: LogDirectory) -> DiskLog:
    """Return the part of a log before the first unreadable segment. The audit of the partition reports that segment."""
    pieces = [np.empty(0, BATCH)]
    for _, path in directory.segments:
        try:
            with files.opened(path) as source:
                pieces.append(read_headers(source, checksums=False).batches)
        except Unreadable:
            break
    bases = [base for base, _ in directory.segments] or [0]
    return log_of(np.concatenate(pieces), bases[0], bases[-1])


def _topic_ids(files: Files, directory: DataDirectory) -> dict[str, UUID]:
    topics: dict[str, UUID] = {}
    for topic, path in _one_partition_of_each_topic(directory):
        try:
            found = text.topic_id(files, f"{path}/{text.PARTITION_METADATA}")
        except Unreadable:
            continue
        if found is not None:
            topics[topic] = found
    return topics


def _home(each: Survey, groups: Iterable[list[Survey]], read: Reader) -> list[Survey] | None:
    """Return the group of directories that are from the same cluster as a directory, or None if there is no such group.

    If the content of the directory does not prove that it belongs to a group, return the first group that its content
    and cluster id do not rule out.
    """
    possible = None
    for group in groups:
        related = [_are_related(each, other, read) for other in group]
        if False in related:
            continue
        if True in related:
            return group
        if possible is None and all(_ids_permit(each, other) for other in group):
            possible = group
    return possible


def _ids_permit(one: Survey, other: Survey) -> bool:
    """Return whether two directories can belong to the same cluster according to their cluster ids.

    With ZooKeeper, brokers before 2.4 do not store the cluster id, so a missing cluster id rules out nothing.
    """
    mine, theirs = one.directory.cluster, other.directory.cluster
    with_zookeeper = one.metadata is None and other.metadata is None
    return mine == theirs or (with_zookeeper and not (mine and theirs))


def _are_related(one: Survey, other: Survey, read: Reader) -> bool | None:
    """Return whether two directories belong to the same cluster, or None if their contents do not show this."""
    mine, theirs = one.directory.cluster, other.directory.cluster
    if mine and theirs and mine != theirs:
        return False
    if one.metadata is not None and other.metadata is not None:
        below = min(one.metadata.log.end_offset, other.metadata.log.end_offset)
        same = one.metadata.log.aligned(other.metadata.log, below).same
        if len(same):
            return bool(same.any())
    shared = one.topics.keys() & other.topics.keys()
    if shared:
        return any(one.topics[topic] == other.topics[topic] for topic in shared)
    alike = read.alike(one.directory, other.directory)
    with_zookeeper = one.metadata is None and other.metadata is None
    nodes = one.directory.node, other.directory.node
    if alike is False and with_zookeeper and (None in nodes or nodes[0] != nodes[1]):
        return None  # nothing contradicts one cluster: its logs can differ in every batch
    return alike


def _have_a_batch_in_common(files: Files, one: DataDirectory, other: DataDirectory) -> bool | None:
    """Return whether two directories have a batch in common, or None if there is no offset at which their logs can be
    compared.
    """
    found = None
    for partition in sorted(one.partitions.keys() & other.partitions.keys())[:MOST_LOGS]:
        logs = [_log(files, read_log_directory(files, each.partitions[partition])) for each in (one, other)]
        same = logs[0].aligned(logs[1], min(log.end_offset for log in logs)).same
        if same.any():
            return True
        found = False if len(same) else found
    return found


def _one_partition_of_each_topic(directory: DataDirectory) -> Iterator[tuple[str, str]]:
    seen: dict[str, str] = {}
    for (topic, number), path in directory.partitions.items():
        if (topic, number) != METADATA and len(seen) < MOST_TOPICS:
            seen.setdefault(topic, path)
    return iter(seen.items())


def _cluster(group: list[Survey], read: Reader, stopped: bool) -> Cluster:
    notes: list[tuple[tuple[int, ...], str]] = []
    doubled: list[tuple[int, Partition, str, str]] = []
    by_id: dict[int, list[Survey]] = {}
    for place, each in enumerate(sorted(group, key=lambda identity: identity.directory.path), start=1):
        node = each.directory.node
        by_id.setdefault(-place if node is None else node, []).append(each)
    nodes = {}
    for node, held in sorted(by_id.items()):
        kept = _own_directories(node, held, notes, doubled)
        metadata = next((each.metadata for each in kept if each.metadata is not None), None)
        nodes[node] = Node(node, tuple(each.directory for each in kept), metadata)
    unproven = [each for each in group if not (each.directory.cluster or each.metadata or each.topics)]
    if len(nodes) > 1 and unproven:
        which = "no directory has"
        if len(unproven) < len(group):
            paths = _listed([each.directory.path for each in unproven])
            which = f"{paths} {'does' if len(unproven) == 1 else 'do'} not have"
        notes.append((tuple(nodes), f"{which} a cluster id, as before 2.4: all directories are taken for one cluster"))
    newest = _newest(nodes.values())
    content = read.metadata(newest) if newest is not None else None
    unread = tuple(content.problems) if content is not None else ()
    if content is not None and not content.partitions and unread:
        content = None
    why = tuple(_not_one_moment(nodes, newest, content, stopped))
    return Cluster(nodes, content, why, tuple(notes), tuple(doubled), unread)


def _own_directories(
    node: int,
    held: list[Survey],
    notes: list[tuple[tuple[int, ...], str]],
    doubled: list[tuple[int, Partition, str, str]],
) -> list[Survey]:
    """Choose the data directories of a node from all directories with the node's id.

    A directory is left out if it and a chosen directory both contain the metadata log, or if most of its partitions are
    in chosen directories. Such a directory is a copy from a different time, or belongs to an earlier or later
    incarnation of the node. A directory without partitions is left out if there are other directories with the node's
    id.

    Parameters:
        node: the id of the node.
        held: the directories with this id.
        notes: a list to which notes about the directories are added.
        doubled: a list to which partitions that are in two chosen directories are added.
    """
    kept: list[Survey] = []
    for each in sorted(held, key=lambda identity: (-identity.weight, -len(identity.directory.partitions))):
        path = each.directory.path
        if node < 0:
            notes.append(((node,), f"{path} does not have the id of its broker, which is called {node} here"))
        if each.directory.set_aside:
            logs = counted(len(each.directory.set_aside), "log")
            notes.append(((node,), f"{path} has {logs} set aside (-delete, -future or -stray), not audited"))
        if not each.directory.partitions:
            if len(held) > 1:
                notes.append(((node,), f"{path} was formatted for the same node and has no partitions"))
                continue
            notes.append(((node,), f"{path} has no partitions"))
        common = {partition: other for other in kept for partition in other.directory.partitions}.keys()
        both = common & each.directory.partitions.keys()
        if both and (METADATA in both or 2 * len(both) > len(each.directory.partitions)):
            first = next(other for other in kept if both & other.directory.partitions.keys())
            notes.append(
                (
                    (node,),
                    f"{path} has the same node id and the same partitions as {first.directory.path}: it is another "
                    "copy or another incarnation of the node, and is left out",
                )
            )
            continue
        for partition in sorted(both):
            first = next(other for other in kept if partition in other.directory.partitions)
            doubled.append(
                (node, partition, first.directory.partitions[partition], each.directory.partitions[partition])
            )
        kept.append(each)
    return kept


def _newest(nodes: Iterable[Node]) -> MetadataLog | None:
    """Return the metadata log with the largest last leader epoch. If several logs have this epoch, return the one with
    the largest end offset. Return None if no node has a metadata log.
    """
    found = [node.metadata for node in nodes if node.metadata is not None]
    return max(found, key=lambda each: (each.last_epoch, each.log.end_offset), default=None)


def _not_one_moment(
    nodes: dict[int, Node], newest: MetadataLog | None, metadata: Metadata | None, stopped: bool
) -> Iterator[str]:
    running = [node.name for node in nodes.values() if node.is_broker and not node.clean]
    if running and not stopped:
        was = "was" if len(running) == 1 else "were"
        yield f"{_listed(running)} {was} not stopped cleanly, or running when copied (no {text.CLEAN_SHUTDOWN})"
    if newest is not None and not newest.complete:
        yield f"the end of the metadata log is missing from {newest.directory.path}"
        return
    if metadata is None:
        return
    for node in nodes.values():
        registered = metadata.registrations.get(node.id)
        if registered and node.metadata is not None and registered[-1].offset >= node.metadata.log.end_offset:
            yield f"{node.name} was restarted after it was copied, according to the metadata log"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
