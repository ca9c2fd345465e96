"""Properties of disks. They concern the files of one broker, the files of several brokers, or a whole cluster.

These properties apply only to `DiskPartition` and `Cluster`, because the model has no incomplete batches and no missing
files. Guarantees that Kafka gives only after a clean shutdown are checked only on brokers that were stopped cleanly.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from leadline.checker.properties import invariant, step_invariant
from leadline.invariants.view import Complaint
from leadline.model.disk.batches import (
    CODEC,
    CODECS,
    CONTROL,
    LARGEST_OFFSET,
    NO_EPOCH,
    NO_PRODUCER,
    TRANSACTIONAL,
    Tail,
)
from leadline.model.disk.cluster import Cluster
from leadline.model.disk.log import chosen, is_sound, offsets_text
from leadline.model.disk.partition import DiskPartition, DiskReplica
from leadline.model.disk.wire import text_of_uuid

PRODUCER_EXPIRES = 24 * 60 * 60 * 1000
"""The time in milliseconds after which a broker forgets a producer by default (`producer.id.expiration.ms`)."""

SEQUENCES = 2**31
"""The number of sequence numbers of a producer. After the last number, the sequence continues with 0."""


@invariant(
    "every batch matches the checksum in its header",
    source="Apache Kafka's DefaultRecordBatch: CRC-32C of all bytes that follow the checksum",
)
def batch_crc(state: DiskPartition) -> Iterator[Complaint]:
    for broker, replica in state.replicas_of():
        torn = torn_from(replica)
        for index in np.flatnonzero(~replica.batches["intact"]):
            if index < torn:
                yield Complaint.about(
                    f"broker {broker}: the batch at {_where(replica, int(index))} has a wrong checksum",
                    broker,
                    offset=int(replica.batches["first"][index]),
                )


def torn_from(replica: DiskReplica) -> int:
    """Return the index from which the batches at the end of a log may be incomplete because of a crash.

    All batches from this index on have wrong checksums and are not below the recovery point. If there are no such
    batches, for example because the broker was stopped cleanly, the index is the number of batches.
    """
    batches = replica.batches
    if replica.place.clean:
        return len(batches)
    good = np.flatnonzero(batches["intact"] | (batches["first"] < (replica.place.recovery_point or 0)))
    return int(good[-1]) + 1 if len(good) else 0


@invariant(
    "every segment is a sequence of well-formed batches",
    source="Apache Kafka's DefaultRecordBatch and LogValidator: a batch has as many records as offsets",
)
def batches_well_formed(state: DiskPartition) -> Iterator[Complaint]:
    for broker, replica in state.replicas_of():
        yield from _malformed_batches(broker, replica)
        yield from _malformed_tails(broker, replica)


def _malformed_batches(broker: int, replica: DiskReplica) -> Iterator[Complaint]:
    batches = replica.batches
    base = np.array([segment.base for segment in replica.segments], np.int64)[replica.segment_of]
    sound = is_sound(batches)
    offsets = batches["last"] - batches["first"] + 1
    new = batches["magic"] == 2
    cleaned = batches["first"] < replica.log.cleaned_below
    faults = {
        "has invalid offsets": ~sound,
        "is below the base offset of its segment": sound & (batches["first"] < base),
        "has a record count that does not match its offsets": new
        & np.where(cleaned, (batches["records"] < 0) | (batches["records"] > offsets), batches["records"] != offsets),
        "has an unknown compression codec": new & (batches["attributes"] & CODEC >= CODECS),
    }
    for what, wrong in faults.items():
        for index in np.flatnonzero(wrong & batches["intact"]):
            yield Complaint.about(
                f"broker {broker}: the batch at {_where(replica, int(index))} {what}",
                broker,
                offset=int(batches["first"][index]),
            )


def _malformed_tails(broker: int, replica: DiskReplica) -> Iterator[Complaint]:
    """Yield a complaint about each segment that does not end with a batch.

    Omit a segment if a crash or preallocation could have caused its malformed end.
    """
    after = {Tail.ZEROS: "zeros", Tail.TORN: "the beginning of a batch", Tail.GARBAGE: "bytes that are not a batch"}
    for place, segment in enumerate(replica.segments):
        last = place == len(replica.segments) - 1
        if segment.tail is Tail.WHOLE or (last and segment.tail is not Tail.GARBAGE and not replica.place.clean):
            continue
        if segment.tail is Tail.ZEROS and last:
            continue
        yield Complaint.about(
            f"broker {broker}: the segment {segment.base:020d}.log has {after[segment.tail]} from byte "
            f"{segment.end:,} of {segment.size:,}",
            broker,
            offset=_end_of(replica, place),
        )


@invariant(
    "offsets increase from each batch of a log to the next",
    source="Apache Kafka's UnifiedLog: an append whose offsets do not increase is refused",
)
def offsets_rise_in_log(state: DiskPartition) -> Iterator[Complaint]:
    for broker, replica in state.replicas_of():
        sound = is_sound(replica.batches)
        batches = chosen(replica.batches, sound)
        if not len(batches):
            continue
        reached = np.maximum.accumulate(batches["last"])[:-1]
        for index in np.flatnonzero(batches["first"][1:] <= reached):
            place = int(np.flatnonzero(sound)[index + 1])
            yield Complaint.about(
                f"broker {broker}: the batch at {_where(replica, place)} comes after offset {int(reached[index])}",
                broker,
                offset=int(batches["first"][index + 1]),
            )


@invariant(
    "no offset is missing from a log, except where compaction removed it",
    source="Apache Kafka's UnifiedLog: a leader assigns consecutive offsets, and a follower copies them; for the "
    "exception, KIP-58 and the log cleaner",
)
def offsets_contiguous_in_log(state: DiskPartition) -> Iterator[Complaint]:
    for broker, replica in state.replicas_of():
        log = replica.log
        firsts = np.append(log.batches["first"], log.end_offset)
        lasts = np.insert(log.batches["last"], 0, log.start_offset - 1)
        for index in np.flatnonzero((firsts > lasts + 1) & (lasts + 1 >= log.cleaned_below)):
            first, last = int(lasts[index]) + 1, int(firsts[index]) - 1
            yield Complaint.about(
                f"broker {broker}: {'offset' if first == last else 'offsets'} {offsets_text(first, last)} "
                f"{'is' if first == last else 'are'} missing from the log",
                broker,
                offset=first,
            )


@invariant(
    "after a clean stop, the high watermark is not below the log start offset",
    source="Apache Kafka's UnifiedLog; KAFKA-9491",
)
def hw_not_below_log_start(state: DiskPartition) -> Iterator[Complaint]:
    for broker, replica in state.replicas_of():
        if replica.place.clean and replica.high_watermark < replica.log.start_offset:
            yield Complaint.about(
                f"broker {broker} has high watermark {replica.high_watermark}, but its log starts at "
                f"{replica.log.start_offset}",
                broker,
                offset=replica.high_watermark,
            )


@invariant(
    "after a clean stop, the recovery point is not beyond the log end offset",
    source="Apache Kafka's LogManager: everything below the recovery point was flushed",
)
def recovery_point_within_log(state: DiskPartition) -> Iterator[Complaint]:
    for broker, replica in state.replicas_of():
        flushed = replica.place.recovery_point
        if replica.place.clean and flushed is not None and flushed > replica.log.end_offset:
            yield Complaint.about(
                f"broker {broker} has recovery point {flushed}, but its log ends at {replica.log.end_offset}",
                broker,
                offset=replica.log.end_offset,
            )


@invariant(
    "each batch has the leader epoch that the leader epoch checkpoint gives for its offset; after a clean stop, no "
    "epoch in the checkpoint starts beyond the log end offset",
    source="KIP-101; Apache Kafka's LeaderEpochFileCache",
)
def epoch_file_matches_log(state: DiskPartition) -> Iterator[Complaint]:
    for broker, replica in state.replicas_of():
        if not replica.epochs:
            continue
        epochs, starts = (np.array([getattr(entry, name) for entry in replica.epochs]) for name in ("epoch", "start"))
        for index in np.flatnonzero((np.diff(epochs) <= 0) | (np.diff(starts) <= 0)):
            yield Complaint.about(
                f"broker {broker}: in the leader epoch checkpoint, epoch {epochs[index + 1]} from offset "
                f"{starts[index + 1]} follows epoch {epochs[index]} from offset {starts[index]}",
                broker,
                offset=int(starts[index + 1]),
            )
        if (np.diff(starts) <= 0).any():
            continue
        yield from _other_epochs(broker, replica, epochs, starts)
        if replica.place.clean and starts[-1] > replica.log.end_offset:
            yield Complaint.about(
                f"broker {broker}: the leader epoch checkpoint says that epoch {epochs[-1]} starts at offset "
                f"{starts[-1]}, but the log ends at {replica.log.end_offset}",
                broker,
                offset=replica.log.end_offset,
            )


def _other_epochs(
    broker: int, replica: DiskReplica, epochs: NDArray[np.int64], starts: NDArray[np.int64]
) -> Iterator[Complaint]:
    """Yield a complaint for each run of successive batches whose leader epoch contradicts the leader epoch
    checkpoint.
    """
    batches = replica.log.batches
    batches = chosen(batches, (batches["epoch"] != NO_EPOCH) & batches["intact"])
    place = np.searchsorted(starts, batches["first"], side="right") - 1
    expected = np.where(place >= 0, epochs[np.maximum(place, 0)], NO_EPOCH)
    # a checkpoint that was copied before the log may not have the last epochs yet
    unknown = (place < 0) | ((batches["epoch"] > epochs[-1]) & (not replica.place.clean))
    wrong = np.flatnonzero((expected != batches["epoch"]) & ~unknown)
    for index in wrong[np.append(True, np.diff(batches["epoch"][wrong]) != 0)[: len(wrong)]]:
        batch = batches[index]
        yield Complaint.about(
            f"broker {broker}: the batch at offset {int(batch['first'])} has leader epoch {int(batch['epoch'])}, "
            f"but the leader epoch checkpoint says {int(expected[index])}",
            broker,
            offset=int(batch["first"]),
        )


@invariant(
    "the sequence numbers of a producer are contiguous",
    source="KIP-98; Apache Kafka's ProducerAppendInfo. After a broker has forgotten a producer, it accepts any "
    "sequence number",
)
def producer_sequences_contiguous(state: DiskPartition) -> Iterator[Complaint]:
    for broker, replica in state.replicas_of():
        batches = replica.log.batches
        if not (batches["producer"] > NO_PRODUCER).any():
            continue
        before, after = _successive(batches, replica.log.cleaned_below)
        expected = (before["sequence"].astype(np.int64) + before["last"] - before["first"] + 1) % SEQUENCES
        remembered = np.abs(after["max_timestamp"] - before["max_timestamp"]) < PRODUCER_EXPIRES
        for index in np.flatnonzero(remembered & (expected != after["sequence"])):
            batch = after[index]
            yield Complaint.about(
                f"broker {broker}: the batch at offset {int(batch['first'])} of producer {int(batch['producer'])}, "
                f"epoch {int(batch['producer_epoch'])}, has sequence {int(batch['sequence'])}; after the batch at "
                f"offset {int(before['first'][index])} the next sequence is {int(expected[index])}",
                broker,
                offset=int(batch["first"]),
            )


def _successive(batches: NDArray[np.void], cleaned_below: int) -> tuple[NDArray[np.void], NDArray[np.void]]:
    """Pair each data batch with the next one that has the same producer and producer epoch.

    Omit a pair if a batch between the two is missing or damaged, because other properties report such batches.

    Returns:
        Two arrays: the first batch of each pair, and the second batch of each pair.
    """
    torn = ~batches["intact"]
    torn[1:] |= batches["first"][1:] != batches["last"][:-1] + 1
    stretch = np.cumsum(torn)
    wanted = (
        (batches["producer"] > NO_PRODUCER)
        & (batches["attributes"] & CONTROL == 0)
        & (batches["sequence"] >= 0)
        & (batches["first"] >= cleaned_below)
        & batches["intact"]
    )
    mine, stretch = batches[wanted], stretch[wanted]
    order = np.lexsort((mine["first"], mine["producer_epoch"], mine["producer"]))
    before, after = mine[order][:-1], mine[order][1:]
    together = (before["producer"] == after["producer"]) & (before["producer_epoch"] == after["producer_epoch"])
    together &= np.diff(stretch[order]) == 0
    return before[together], after[together]


@invariant(
    "a control batch has one record, a producer and no sequence number, and is part of a transaction",
    source="KIP-98; Apache Kafka's MemoryRecords.withEndTransactionMarker",
)
def control_batches_well_formed(state: DiskPartition) -> Iterator[Complaint]:
    if state.is_metadata:
        return  # Raft's control batches are not transaction markers
    for broker, replica in state.replicas_of():
        batches = replica.log.batches
        control = (batches["attributes"] & CONTROL != 0) & (batches["magic"] == 2) & batches["intact"]
        if not control.any():
            continue
        wrong = (
            (batches["records"] > 1)
            | (batches["first"] != batches["last"])
            | (batches["attributes"] & TRANSACTIONAL == 0)
            | (batches["producer"] <= NO_PRODUCER)
            | (batches["sequence"] != -1)
        )
        for index in np.flatnonzero(control & wrong):
            batch = batches[index]
            yield Complaint.about(
                f"broker {broker}: the control batch at offset {int(batch['first'])} is not a valid transaction marker",
                broker,
                offset=int(batch["first"]),
            )


@invariant(
    "the controllers elect only brokers that are not fenced",
    source="KIP-631, KIP-841; Kafka 4.0 also elects the last known leader of a partition while it is fenced (KIP-966)",
)
def leaders_elected_unfenced(state: DiskPartition) -> Iterator[Complaint]:
    for election in state.fenced:
        yield Complaint.about(
            f"the controllers elected broker {election.leader} in leader epoch {election.leader_epoch} (offset "
            f"{election.offset} of the metadata log), although it was fenced",
            election.leader,
        )


@invariant(
    "no log has a batch of a leader epoch that the controllers never assigned",
    source="KIP-101, KIP-500: the controllers assign leader epochs",
)
def epochs_given_by_controller(state: DiskPartition) -> Iterator[Complaint]:
    if state.state is None or not state.one_moment:
        return
    for broker, replica in state.replicas_of():
        for index in np.flatnonzero(replica.log.batches["epoch"] > state.state.leader_epoch)[:1]:
            batch = replica.log.batches[index]
            yield Complaint.about(
                f"broker {broker}: the batch at offset {int(batch['first'])} has leader epoch {int(batch['epoch'])}, "
                f"but the last one in the metadata log is {state.state.leader_epoch}",
                broker,
                offset=int(batch["first"]),
            )


@invariant(
    "once a record is committed, every broker that can be elected has the topic id of the metadata log",
    source="KIP-516: a topic that is deleted and created again gets another id",
)
def topic_ids_agree(state: DiskPartition) -> Iterator[Complaint]:
    if state.state is None or not state.one_moment:
        return
    committed = any(replica.high_watermark > replica.log.start_offset for _, replica in state.replicas_of())
    for replica in state.strangers:
        if committed and replica.node in state.state.electable and replica.directory.topic_id is not None:
            yield Complaint.about(
                f"broker {replica.node} can be elected, but its log belongs to the topic with the id "
                f"{text_of_uuid(replica.directory.topic_id)}",
                replica.node,
            )


@step_invariant(
    "every record below a broker's high watermark at the earlier moment is on its disk at the later one, unless "
    "retention or compaction removed it or the broker has yet to catch up",
    source="seed 004: records below HW survive any failure",
)
def committed_kept(before: DiskPartition, after: DiskPartition) -> Iterator[Complaint]:
    """Compares two copies. A broker that cannot be elected may be missing records at the end of its log."""
    for broker, earlier in before.replicas_of():
        for _, later in after.replicas_of((broker,)):
            may_lag = after.state is not None and broker not in after.state.electable
            for offset, held, kept in earlier.log.beside(later.log, earlier.high_watermark):
                if held is None or held == kept or (may_lag and offset >= later.log.end_offset):
                    continue
                where = _kept_by(after, earlier, offset)
                yield Complaint.about(
                    f"broker {broker} had {held} below its high watermark {earlier.high_watermark} at the earlier "
                    f"moment; now it has {kept or 'no record'} at offset {offset}, and {where}",
                    broker,
                    offset=offset,
                )


def _kept_by(after: DiskPartition, earlier: DiskReplica, offset: int) -> str:
    """Return a clause that says which brokers have the batch that an earlier copy of a log had at an offset."""
    having = []
    for broker, later in after.replicas_of():
        places = earlier.log.beside(later.log, earlier.high_watermark)
        compared = [(held, kept) for first, held, kept in places if first <= offset]
        if compared and compared[-1][0] == compared[-1][1]:
            having.append(f"broker {broker}")
    return f"{' and '.join(having)} still {'has' if len(having) == 1 else 'have'} it" if having else "no copy has it"


@invariant(
    "no partition has two directories on one broker",
    source="Apache Kafka's LogManager, which refuses to start with duplicate log directories",
)
def one_directory_per_replica(state: Cluster) -> Iterator[Complaint]:
    for broker, (topic, number), first, second in state.doubled:
        yield Complaint.about(f"broker {broker} has {topic}-{number} twice: in {first} and in {second}", broker)


@invariant(
    "no epoch in a node's metadata log is greater than the one in its quorum-state file",
    source="KIP-595: a node writes the quorum's epoch to disk before it takes part in that epoch",
)
def quorum_epoch_not_behind_log(state: Cluster) -> Iterator[Complaint]:
    for broker, node in sorted(state.nodes.items()):
        metadata = node.metadata
        if metadata is not None and metadata.quorum_epoch is not None and metadata.quorum_epoch < metadata.last_epoch:
            yield Complaint.about(
                f"broker {broker} has epoch {metadata.last_epoch} in its metadata log, but quorum-state says "
                f"{metadata.quorum_epoch}",
                broker,
            )


def _where(replica: DiskReplica, index: int) -> str:
    """Return a phrase that gives the offset of a batch and its position in the segment."""
    batch = replica.batches[index]
    segment = replica.segments[int(replica.segment_of[index])]
    first = int(batch["first"])
    offset = f"offset {first}" if 0 <= first < LARGEST_OFFSET else "no offset"
    return f"{offset} (byte {int(batch['position']):,} of {segment.base:020d}.log)"


def _end_of(replica: DiskReplica, segment: int) -> int:
    """Return the offset after the last batch of a segment."""
    held = replica.batches[replica.segment_of == segment]
    held = held[is_sound(held)]
    return int(held["last"][-1]) + 1 if len(held) else replica.segments[segment].base
