"""A partition as the disks of its brokers have it: what properties ask of a state of the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any
from uuid import UUID

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.model.disk.batches import BATCH, LARGEST_OFFSET, Tail, read_headers
from leadline.model.disk.directory import METADATA_TOPIC, LogDirectory, no_directory, read_log_directory
from leadline.model.disk.files import Files, Source, Unreadable
from leadline.model.disk.log import Batch, DiskLog, log_of
from leadline.model.disk.metadata import PartitionState
from leadline.model.disk.text import Epoch
from leadline.model.quorum import NO_EPOCH, Quorum

UNKNOWN_LEADER = -1
"""The leader, where brokers have one and no disk says which."""

LEFT_OUT = b"version https://git-lfs.github.com/spec/"
"""How a file begins that stands for one that Git LFS keeps elsewhere."""

COMPACTED_TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state")
"""Kafka's own topics whose cleanup policy is compaction."""


@attrs.frozen
class Belief:
    """What a broker last heard of a partition, as its own copy of the metadata log says.

    Attributes:
        leader: the leader; None if it has heard of none.
        epoch, partition_epoch: the epochs.
        isr: the in-sync replicas.
    """

    leader: int | None = None
    epoch: int = NO_EPOCH
    partition_epoch: int = NO_EPOCH
    isr: frozenset[int] = frozenset()


@attrs.frozen
class ReplicaPlace:
    """Where a replica is, and what its broker keeps about it outside of the partition's directory.

    Attributes:
        node: the broker.
        path: the partition's directory.
        clean: whether the broker was stopped cleanly.
        high_watermark, recovery_point, log_start, cleaned_to: what the checkpoints say; None if they say nothing.
        belief: what the broker believes.
        missing: whether the broker should have this directory, but does not.
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
        base: its base offset, which its name says.
        size: bytes in its file.
        batches: how many batches it has.
        end: where the last of them ends, in bytes.
        tail: what is after it.
    """

    base: int
    size: int
    batches: int
    end: int
    tail: Tail


@attrs.frozen(eq=False)
class DiskReplica:
    """A replica, as its disk has it. The first five attributes are those of a replica in the model.

    Attributes:
        log: its log.
        high_watermark: the one in the checkpoint; the log start offset where there is none.
        epoch, leader, isr: what its broker believes. See `Belief`.
        place: where it is, and what the checkpoints say.
        directory: what else is in its directory.
        segments: its segments.
        batches: all batches of type `BATCH`, in the order in which they are in the files.
        segment_of: which segment each of them is in.
        whole: whether every segment could be read.
        problems: what could not be read, a line each.
    """

    log: DiskLog
    high_watermark: int
    epoch: int
    leader: int | None
    isr: frozenset[int]
    place: ReplicaPlace
    directory: LogDirectory
    segments: tuple[Segment, ...]
    batches: NDArray[Any]
    segment_of: NDArray[Any]
    whole: bool
    problems: tuple[str, ...]

    @property
    def node(self) -> int:
        """Its broker."""
        return self.place.node

    @property
    def has_a_log(self) -> bool:
        """Whether there is any segment. Kafka always keeps one; a copy may have left all of them out."""
        return bool(self.segments)

    @property
    def epochs(self) -> tuple[Epoch, ...] | None:
        """The entries of its leader epoch checkpoint; None if the file does not exist."""
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
        place: where it is.
        cleaned_below: the offset below which compaction may have taken something out of its log.
        checksums: whether the batches' checksums are computed.
        progress: called now and then with the bytes read since the last call.

    Returns:
        None if the directory is not that of a partition.
    """
    directory = no_directory(place.path) if place.missing else read_log_directory(files, place.path)
    if not directory.is_one:
        return None
    segments: list[Segment] = []
    pieces: list[NDArray[Any]] = [np.empty(0, BATCH)]
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
        whole=len(segments) == len(directory.segments),
        problems=tuple(problems),
    )


def _is_left_out(source: Source) -> bool:
    """Whether a file only says that its content is elsewhere: the large files that a repository's host leaves out."""
    buffer = memoryview(bytearray(len(LEFT_OUT)))
    return source.read_into(buffer, 0) == len(buffer) and buffer == LEFT_OUT


@attrs.frozen
class DiskPromise:
    """A batch that consumers could read: what `leadline.model.kafka.state.Promise` is in the model.

    Attributes:
        record: the batch.
        offset: an offset of it.
        epoch: the leaders of later epochs must have it.
        teller: who says so, in words.
    """

    record: Batch
    offset: int
    epoch: int
    teller: str


@attrs.frozen(eq=False)
class DiskPartition:
    """A partition: the replicas that were given, and its state in the metadata log.

    Attributes:
        topic, number: its name.
        topic_id: the topic's id; None if nothing says it.
        replicas: the replicas, by broker; only those of one topic id.
        state: its state in the metadata log; None if there is none.
        one_moment: whether the disks are of one moment, so that what one of them lacks is not merely yet to come.
        strangers: the replicas of another topic of the same name.
        earlier: the partition at an earlier moment; None if there is none to compare with.
        cautious: whether a follower may have yet to truncate as long as its log does not show that it has done so.
    """

    topic: str
    number: int
    topic_id: UUID | None
    replicas: dict[int, DiskReplica]
    state: PartitionState | None
    one_moment: bool
    strangers: tuple[DiskReplica, ...] = ()
    earlier: DiskPartition | None = None
    cautious: bool = False

    @property
    def quorum(self) -> Quorum:
        """Who leads, in which epoch, and who may be elected: the ISR and the eligible leader replicas."""
        if self.state is None:
            return Quorum(None, NO_EPOCH, frozenset())
        return Quorum(self.state.leader, self.state.leader_epoch, self.state.electable)

    @property
    def exposed(self) -> tuple[DiskPromise, ...]:
        """What consumers could read, below the high watermark of some replica, and the present leader has not.

        A follower's high watermark is one that its leader had. What the leader has is left out: there are too many.
        """
        seen = [(f"broker {broker}", other) for broker, other in self.replicas_of()]
        if self.earlier is not None:
            seen += [(f"broker {broker} at the earlier moment", other) for broker, other in self.earlier.replicas_of()]
        return tuple(
            DiskPromise(held, offset, self.quorum.epoch - 1, teller)
            for _, replica in self.believed_leaders()
            if replica.epoch >= self.quorum.epoch
            for teller, other in seen
            for offset, held, kept in other.log.beside(replica.log, other.high_watermark)
            if held is not None and held != kept
        )

    @property
    def is_metadata(self) -> bool:
        """Whether this is the metadata log, which has no ISR: Raft's majorities decide."""
        return self.topic == METADATA_TOPIC

    def replicas_of(self, brokers: Iterable[int] | None = None) -> Iterator[tuple[int, DiskReplica]]:
        """The replicas that were given of some brokers, or of all, with their brokers, in order."""
        wanted = self.replicas if brokers is None else set(brokers)
        return ((broker, replica) for broker, replica in sorted(self.replicas.items()) if broker in wanted)

    def believes_to_lead(self, broker: int) -> bool:
        """Whether a broker takes itself for the leader."""
        return self.replicas[broker].leader == broker

    def believed_leaders(self) -> Iterator[tuple[int, DiskReplica]]:
        """The brokers that take themselves for the leader, each with its replica."""
        return ((broker, replica) for broker, replica in self.replicas_of() if replica.leader == broker)

    def has_to_truncate(self, broker: int) -> bool:
        """Whether a broker's log may differ from its leader's, because its truncation is yet to come.

        Only what a follower has fetched in the leader's epoch shows that it is not. Below a high watermark nothing
        should be left to truncate, whatever it has fetched.
        """
        if not self.cautious:
            return False
        replica = self.replicas[broker]
        return not bool((replica.log.batches["epoch"] == replica.epoch).any())
