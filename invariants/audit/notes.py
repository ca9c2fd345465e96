"""Notes about a partition: useful information that is not a violation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leadline.invariants.audit.explain import unclean_sentences
from leadline.invariants.audit.result import Finding
from leadline.invariants.disk import leaders_elected_unfenced, torn_from
from leadline.invariants.view import Complaint
from leadline.model.disk.batches import Tail
from leadline.model.disk.partition import DiskPartition, DiskReplica
from leadline.model.disk.wire import text_of_uuid


def notes(partition: DiskPartition, others: Sequence[DiskReplica], findings: Sequence[Finding] = ()) -> list[Finding]:
    """Return the notes about a partition.

    Parameters:
        others: replicas that are not part of the partition. See `leadline.invariants.audit.partition.Observation`.
        findings: the violations that were found. A note that a log is too short is omitted if a violation already
            reports this.
    """
    short = {broker for finding in findings if finding.check == "hw_within_log" for broker in finding.brokers}
    found = [*_other_topics(partition, others)]
    if not findings:  # otherwise the findings tell of them
        found += _unclean_elections(partition)
    for replica in (*partition.replicas.values(), *others):
        found += _of_replica(partition, replica, replica.node in short)
    return found


def elections(partition: DiskPartition) -> Iterator[Finding]:
    """Yield a finding for each election of a fenced broker, and a note for each unclean election."""
    name = leaders_elected_unfenced.name
    for complaint in leaders_elected_unfenced.complaints(partition):
        assert isinstance(complaint, Complaint)
        yield Finding(name, "error", partition.topic, partition.number, complaint.brokers, None, str(complaint))
    yield from _unclean_elections(partition)


def _unclean_elections(partition: DiskPartition) -> Iterator[Finding]:
    for election, sentence in zip(partition.unclean, unclean_sentences(partition), strict=True):
        brokers = tuple(sorted(election.before.electable))
        yield Finding("unclean_elections", "note", partition.topic, partition.number, brokers, None, sentence)


def _other_topics(partition: DiskPartition, others: Sequence[DiskReplica]) -> Iterator[Finding]:
    for replica in others:
        own = replica.directory.topic_id
        if own is None or own == partition.topic_id:
            continue
        known = "" if partition.topic_id is None else f", not {text_of_uuid(partition.topic_id)}"
        yield _note(
            "topic_ids_agree",
            partition,
            replica,
            f"broker {replica.node} has the topic with the id {text_of_uuid(own)}{known}: the topic was deleted "
            "and created again; this log belongs to the other topic and is not compared",
        )


def _of_replica(partition: DiskPartition, replica: DiskReplica, short: bool) -> Iterator[Finding]:
    place = replica.place
    if place.missing:
        yield _note(
            "log_at_hand",
            partition,
            replica,
            f"broker {replica.node} can be elected but has no directory for this partition",
        )
        return
    if not replica.whole or (not replica.has_a_log and replica.node not in partition.replicas):
        some = "some segments" if replica.has_a_log else "the segments"
        promised = f", whose high watermark is {place.high_watermark}," if place.high_watermark else ""
        yield _note(
            "log_at_hand",
            partition,
            replica,
            f"{some} of broker {replica.node}{promised} cannot be read or were left out of the copy",
        )
        return
    if not replica.segments:
        return
    if not place.clean:
        yield from _torn_tail(partition, replica)
    if not place.clean and not short:
        yield from _beyond_the_log(partition, replica)


def _torn_tail(partition: DiskPartition, replica: DiskReplica) -> Iterator[Finding]:
    """Yield a note if a log ends with zeros or an incomplete batch. The broker removes these bytes when it starts."""
    last = replica.segments[-1]
    torn = replica.batches[torn_from(replica) :]
    if last.tail in (Tail.TORN, Tail.ZEROS) or len(torn):
        at = int(torn["first"][0]) if len(torn) else replica.log.end_offset
        what = "zeros" if last.tail is Tail.ZEROS and not len(torn) else "part of a batch"
        yield _note(
            "batches_well_formed",
            partition,
            replica,
            f"the log of broker {replica.node} ends with {what}, as after a crash or in a copy of a running broker: "
            f"the broker truncates it to offset {at} when it starts",
            at,
        )


def _beyond_the_log(partition: DiskPartition, replica: DiskReplica) -> Iterator[Finding]:
    """Yield a note for each checkpoint offset beyond the end of its log. An unclean shutdown can cause this."""
    place, log = replica.place, replica.log
    if replica.high_watermark > log.end_offset:
        yield _note(
            "hw_within_log",
            partition,
            replica,
            f"broker {replica.node} has high watermark {replica.high_watermark}, but its log ends at {log.end_offset}: "
            "a crash lost the unflushed end of the log, or the broker ran and its log was copied before the checkpoint",
            log.end_offset,
        )
    if place.recovery_point is not None and place.recovery_point > log.end_offset:
        yield _note(
            "recovery_point_within_log",
            partition,
            replica,
            f"broker {replica.node} has recovery point {place.recovery_point}, but its log ends at {log.end_offset}: "
            "it was truncated just before a crash, or the end of the log is missing from the copy",
            log.end_offset,
        )
    entries = replica.epochs
    if entries and entries[-1].start > log.end_offset:
        yield _note(
            "epoch_file_matches_log",
            partition,
            replica,
            f"the leader epoch checkpoint of broker {replica.node} says that epoch {entries[-1].epoch} starts at "
            f"offset {entries[-1].start}, but the log ends at {log.end_offset}: the log was truncated, or its "
            "end is missing from the copy",
            log.end_offset,
        )


def _note(
    check: str, partition: DiskPartition, replica: DiskReplica, sentence: str, offset: int | None = None
) -> Finding:
    return Finding(
        check, "note", partition.topic, partition.number, (replica.node,), offset, sentence, path=replica.place.path
    )
