"""A partition on the disks of its brokers. It has the attributes and methods that properties use on states of the
model.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar
from uuid import UUID

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.model.disk.batches import BATCH, LARGEST_OFFSET, Tail, read_headers
from leadline.model.disk.directory import METADATA_TOPIC, LogDirectory, no_directory, read_log_directory
from leadline.model.disk.files import Files, Source, Unreadable
from leadline.model.disk.log import Batch, DiskLog, log_of
from leadline.model.disk.metadata import FencedElection, PartitionState, UncleanElection
from leadline.model.disk.text import Epoch
from leadline.model.quorum import NO_EPOCH, Quorum

UNKNOWN_LEADER = -1
"""The leader if the partition has a leader that cannot be determined from the disks."""

LEFT_OUT = b"version https://git-lfs.github.com/spec/"
"""The first bytes of a Git LFS pointer file, which replaces a file that is stored elsewhere."""

COMPACTED_TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state")
"""Internal topics whose cleanup policy is compaction."""


@attrs.frozen
class Belief:
    """The state of a partition according to a broker's own copy of the metadata log, which may be out of date.

    Attributes:
        leader: the broker that leads, or None if the partition has no leader.
        epoch, partition_epoch: the leader epoch and the partition epoch.
        isr: the in-sync replicas and the eligible leader replicas.
    """

    leader: int | None = None
    epoch: int = NO_EPOCH
    partition_epoch: int = NO_EPOCH
    isr: frozenset[int] = frozenset()


@attrs.frozen
class ReplicaPlace:
    """The location of a replica, and data about the replica that is stored outside its partition directory.

    Attributes:
        node: the id of the broker.
        path: the path of the partition directory.
        clean: whether the broker was stopped cleanly.
        high_watermark, recovery_point, log_start, cleaned_to: the offsets of the partition in the broker's checkpoint
            files. An offset is None if its file does not exist or does not contain the partition.
        belief: the state of the partition according to the broker.
        missing: whether the broker should have this directory but does not have it.
    """

    node: int
    path: str
    clean: bool
    high_watermark: int | None
    recovery_point: int | None
    log_start: int | None
    cleaned_to: int | None
    belief: Belief
    missing: bool = False


@attrs.frozen
class Segment:
    """A segment of a log.

    Attributes:
        base: the base offset, according to the file name.
        size: the size of the file in bytes.
        batches: the number of batches.
        end: the position in the file at which the last batch ends.
        tail: the kind of data after the last batch.
    """

    base: int
    size: int
    batches: int
    end: int
    tail: Tail


@attrs.frozen(eq=False)
class DiskReplica:
    """A replica on disk. The first five attributes have the same meaning as in a replica of the model.

    Attributes:
        high_watermark: the high watermark in the checkpoint, or the log start offset if there is no checkpoint.
        epoch, leader, isr: the leader epoch, leader and ISR according to the broker. See `Belief`.
        place: the location of the replica, and the offsets in the checkpoints.
        directory: the content of the partition directory except the batches.
        segments: the segments of the log.
        batches: all batches in file order, as an array of type `BATCH`.
        segment_of: for each batch, the index of its segment.
        whole: whether every segment could be read.
        problems: errors from reading the replica, one line each.
    """

    log: DiskLog
    high_watermark: int
    epoch: int
    leader: int | None
    isr: frozenset[int]
    place: ReplicaPlace
    directory: LogDirectory
    segments: tuple[Segment, ...]
    batches: NDArray[np.void]
    segment_of: NDArray[np.int64]
    whole: bool
    problems: tuple[str, ...]

    @property
    def node(self) -> int:
        """The id of the replica's broker."""
        return self.place.node

    @property
    def has_a_log(self) -> bool:
        """Whether the replica has a segment. Kafka always keeps at least one segment, but a copy of a disk may lack all
        segments.
        """
        return bool(self.segments)

    @property
    def epochs(self) -> tuple[Epoch, ...] | None:
        """The entries of the leader epoch checkpoint, or None if the file does not exist."""
        return self.directory.epochs


def read_replica(
    files: Files,
    place: ReplicaPlace,
    *,
    cleaned_below: int,
    checksums: bool,
    progress: Callable[[int], None] | None = None,
) -> DiskReplica | None:
    """Read a replica.

    Parameters:
        files: the file system.
        place: the location of the replica.
        cleaned_below: the offset below which compaction may have removed records from the log.
        checksums: whether to compute the checksums of batches.
        progress: a function that is called regularly with the number of bytes read since the last call.

    Returns:
        The replica, or None if the directory is not a partition directory. Errors are in the replica's `problems`.
    """
    directory = no_directory(place.path) if place.missing else read_log_directory(files, place.path)
    if not directory.is_one:
        return None
    segments: list[Segment] = []
    pieces: list[NDArray[np.void]] = [np.empty(0, BATCH)]
    problems = [*directory.problems]
    for base, path in directory.segments:
        try:
            with files.opened(path) as source:
                headers = read_headers(source, checksums=checksums, progress=progress)
                if headers.tail is Tail.GARBAGE and not len(headers.batches) and _is_left_out(source):
                    continue
                segments.append(Segment(base, source.size, len(headers.batches), headers.end, headers.tail))
                pieces.append(headers.batches)
        except Unreadable as error:
            problems.append(str(error) if path in str(error) else f"{path}: {error}")
    batches = np.concatenate(pieces)
    first = segments[0].base if segments else 0
    start = max(place.log_start or 0, first)
    if directory.swapping:
        cleaned_below = LARGEST_OFFSET
    log = log_of(batches, start, segments[-1].base if segments else 0, cleaned_below)
    return DiskReplica(
        log=log,
        high_watermark=log.start_offset if place.high_watermark is None else place.high_watermark,
        epoch=place.belief.epoch,
        leader=place.belief.leader,
        isr=place.belief.isr,
        place=place,
        directory=directory,
        segments=tuple(segments),
        batches=batches,
        segment_of=np.repeat(
            np.arange(len(segments), dtype=np.int32), np.array([segment.batches for segment in segments], np.int64)
        ),
        whole=directory.is_listed and len(segments) == len(directory.segments),
        problems=tuple(problems),
    )


def _is_left_out(source: Source) -> bool:
    """Return whether a file is a Git LFS pointer, which stands for a large file that was not downloaded."""
    buffer = memoryview(bytearray(len(LEFT_OUT)))
    return source.read_into(buffer, 0) == len(buffer) and buffer == LEFT_OUT


@attrs.frozen
class DiskPromise:
    """A batch that consumers could read. Properties treat it like a `leadline.model.kafka.state.Promise`.

    Attributes:
        record: the batch.
        offset: an offset in the batch.
        epoch: the leader epoch of the promise. Every leader of a later epoch must have the batch.
        teller: a phrase that names the broker from which consumers could read the batch.
    """

    record: Batch
    offset: int
    epoch: int
    teller: str


@attrs.frozen(eq=False)
class DiskPartition:
    """A partition: the replicas that were found, and its state in the metadata log.

    Attributes:
        topic, number: the topic name and the partition number.
        topic_id: the topic id, or None if it is unknown.
        replicas: the replicas with this topic id, keyed by broker.
        state: the state of the partition in the metadata log, or None if the metadata log does not contain the
            partition.
        one_moment: whether the disks were copied at the same moment. If not, a missing record may have arrived after
            the copy.
        strangers: the replicas that belong to a different topic with the same name.
        earlier: the partition in an earlier copy, or None if there is no earlier copy.
        unclean: the unclean elections of the partition, oldest first.
        held_back: the offsets of those unclean elections before which the leader held back its high watermark, because
            the ISR was smaller than ``min.insync.replicas``.
        fenced: the elections of fenced brokers, oldest first.
        cautious: whether to assume that a follower has not truncated its log yet, unless the log proves that it has.
    """

    topic: str
    number: int
    topic_id: UUID | None
    replicas: dict[int, DiskReplica]
    state: PartitionState | None
    one_moment: bool
    strangers: tuple[DiskReplica, ...] = ()
    earlier: DiskPartition | None = None
    unclean: tuple[UncleanElection, ...] = ()
    held_back: frozenset[int] = frozenset()
    fenced: tuple[FencedElection, ...] = ()
    cautious: bool = False
    deletable: ClassVar[int] = 0
    """Always 0, because `exposed` leaves out what retention may have deleted."""

    @property
    def quorum(self) -> Quorum:
        """The leader and leader epoch according to the metadata log.

        The ISR consists of the brokers that can be elected, including the ELR. The ELR is also stored separately.
        """
        if self.state is None:
            return Quorum(None, NO_EPOCH, frozenset())
        return Quorum(self.state.leader, self.state.leader_epoch, self.state.electable, self.state.elr)

    @property
    def exposed(self) -> tuple[DiskPromise, ...]:
        """The batches that consumers could read but the current leader does not have.

        Consumers could read the batches below any broker's high watermark, because a follower adopts its high watermark
        from a leader. If the ISR has only one member and `min.insync.replicas` is 1, consumers can read all of its
        batches. Batches that the current leader has are omitted because there are too many.
        """
        seen = [(f"broker {broker}", other, other.high_watermark) for broker, other in self.replicas_of()]
        if self.earlier is not None:
            seen += [
                (f"broker {broker} at the earlier moment", other, other.high_watermark)
                for broker, other in self.earlier.replicas_of()
            ]
        seen += self._alone_in_isr()
        return tuple(
            DiskPromise(held, offset, self.quorum.epoch - 1, teller)
            for _, replica in self.believed_leaders()
            if replica.epoch >= self.quorum.epoch
            for teller, other, end in seen
            for offset, held, kept in other.log.beside(replica.log, end)
            if held is not None and held != kept
        )

    @functools.cached_property
    def never_to_come(self) -> frozenset[int]:
        """The offsets of batches in `exposed` that the leader cannot have received after its log was copied.

        An offset is included if, according to the leader's leader epoch checkpoint, an epoch later than the batch's
        epoch began at this offset or below. Only the current epoch and the epochs of unclean elections are considered.
        """
        epochs = {self.quorum.epoch, *(election.after.leader_epoch for election in self.unclean)}
        begun = [
            entry
            for _, replica in self.believed_leaders()
            if replica.epoch >= self.quorum.epoch
            for entry in replica.epochs or ()
            if entry.epoch in epochs
        ]
        return frozenset(
            promise.offset
            for promise in self.exposed
            if any(promise.record.epoch < entry.epoch and entry.start <= promise.offset for entry in begun)
        )

    def _alone_in_isr(self) -> Iterator[tuple[str, DiskReplica, int]]:
        """Yield each replica that was the only member of the ISR and ELR when another broker was elected uncleanly.

        Also yield a phrase that names the replica's broker, and the offset at which the replica's log ended at that
        time.
        """
        for election in self.unclean:
            if len(election.before.electable) != 1 or election.offset in self.held_back:
                continue
            for broker, replica in self.replicas_of(election.before.electable):
                later = replica.log.batches["first"][replica.log.batches["epoch"] > election.before.leader_epoch]
                end = int(later[0]) if len(later) else replica.log.end_offset
                if end > replica.high_watermark:
                    sets, epoch = election.before.sets, election.after.leader_epoch
                    yield (
                        f"broker {broker}, the only member of the {sets} before the unclean election of leader epoch "
                        f"{epoch} (if min.insync.replicas was 1, or brokers were older than 3.7)",
                        replica,
                        end,
                    )

    @property
    def is_metadata(self) -> bool:
        """Whether the partition is the metadata log, which has no ISR because Raft replicates it."""
        return self.topic == METADATA_TOPIC

    def replicas_of(self, brokers: Iterable[int] | None = None) -> Iterator[tuple[int, DiskReplica]]:
        """Return (broker, replica) pairs, sorted by broker. Missing replicas are omitted.

        Parameters:
            brokers: the brokers, or None for all brokers.
        """
        wanted = self.replicas if brokers is None else set(brokers)
        return ((broker, replica) for broker, replica in sorted(self.replicas.items()) if broker in wanted)

    def believes_to_lead(self, broker: int) -> bool:
        """Return whether a broker believes that it leads."""
        return self.replicas[broker].leader == broker

    def believed_leaders(self) -> Iterator[tuple[int, DiskReplica]]:
        """Return a (broker, replica) pair for each broker that believes it leads."""
        return ((broker, replica) for broker, replica in self.replicas_of() if replica.leader == broker)

    def has_to_truncate(self, broker: int) -> bool:
        """Return whether a follower's log may differ from its leader's log because the follower has not truncated yet.

        The result is always False unless `cautious` is set. A batch of the leader's epoch proves that the follower has
        truncated. Without a leader, there is no log that a follower's log must agree with. Properties of records below
        a high watermark do not need `cautious`, because these records are never truncated.
        """
        if not self.cautious:
            return False
        replica = self.replicas[broker]
        if self.state is not None and self.state.leader is None and replica.epoch == self.state.leader_epoch:
            return True
        return not bool((replica.log.batches["epoch"] == replica.epoch).any())
