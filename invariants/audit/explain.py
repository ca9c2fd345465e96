"""Explanations of findings: likely causes, offsets at which logs diverge, and brokers that can be elected safely."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import attrs
import numpy as np

from leadline.invariants.audit.result import Finding
from leadline.model.disk.batches import Tail
from leadline.model.disk.log import offsets_text
from leadline.model.disk.metadata import PartitionState
from leadline.model.disk.partition import DiskPartition, DiskReplica

BETWEEN_BROKERS = (
    "log_matching",
    "logs_prefix_consistent",
    "strong_isr",
    "weak_isr",
    "committed_never_lost",
    "follower_log_is_prefix",
)
"""The properties for which the audit reports where two logs diverge."""

COMMITTED_KEPT = "committed_kept"
"""The property that compares the committed records of two copies."""

FOLLOWS_FROM_A_SHORT_LOG = ("recovery_point_within_log", "epoch_file_matches_log")
"""The properties that a log usually also violates if it ends below its high watermark."""


def explained(partition: DiskPartition, findings: Sequence[Finding]) -> list[Finding]:
    """Add explanations to findings, and remove each finding that is a consequence of an earlier finding.

    Parameters:
        findings: the findings about the partition.
    """
    if not findings:
        return []
    short = {(finding.brokers, finding.offset) for finding in findings if finding.check == "hw_within_log"}
    kept = [
        attrs.evolve(finding, context=(*finding.context, *_causes(partition, finding)))
        for finding in findings
        if not (finding.check in FOLLOWS_FROM_A_SHORT_LOG and (finding.brokers, finding.offset) in short)
    ]
    situation = (
        *_divergences(partition, kept),
        *unclean_sentences(partition),
        *_without_leader(partition),
        *_electable(partition, is_kept=all(finding.check != COMMITTED_KEPT for finding in kept)),
    )
    return [attrs.evolve(finding, situation=situation) for finding in kept]


def _causes(partition: DiskPartition, finding: Finding) -> Iterator[str]:
    """Yield the likely reason why a log ends below its high watermark, inferred from the replica's other files."""
    if finding.check != "hw_within_log":
        return
    for _, replica in partition.replicas_of(finding.brokers):
        evidence = signs_of_a_lost_segment(replica)
        if evidence:
            yield (f"the likely cause is a missing segment, deleted or left out of the copy: {' and '.join(evidence)}")
        elif not replica.place.clean:
            rest = " (part of a batch is left)" if replica.segments[-1].tail is not Tail.WHOLE else ""
            yield f"the likely cause is a crash that lost the unflushed end of the log{rest}"


def signs_of_a_lost_segment(replica: DiskReplica) -> list[str]:
    """Return a list of clauses, one for each sign that a log was once longer."""
    end, signs = replica.log.end_offset, []
    if (replica.place.recovery_point or 0) > end:
        signs.append(f"the recovery point {replica.place.recovery_point} says that more was flushed")
    if any(offset >= end > 0 for offset in replica.directory.snapshots):
        signs.append(f"a producer snapshot says that a segment begins at offset {replica.directory.snapshots[-1]}")
    if replica.epochs and replica.epochs[-1].start > end:
        last = replica.epochs[-1]
        signs.append(f"the leader epoch checkpoint says that epoch {last.epoch} starts at offset {last.start}")
    if not replica.segments:
        signs.append("there is no segment")
    return signs


def _divergences(partition: DiskPartition, findings: Sequence[Finding]) -> Iterator[str]:
    """Yield a sentence for each pair of diverging logs that is mentioned in a finding."""
    about = [set(finding.brokers) for finding in findings if finding.check in BETWEEN_BROKERS]
    for (one, replica), (other, peer) in itertools.combinations(partition.replicas_of(), 2):
        if any({one, other} <= brokers or (len(brokers) == 1 and brokers & {one, other}) for brokers in about):
            yield from _divergence(one, replica, other, peer)


def _divergence(one: int, replica: DiskReplica, other: int, peer: DiskReplica) -> Iterator[str]:
    """Yield a sentence that says at which offset two logs diverge, and describes the batches from there on."""
    aligned = replica.log.aligned(peer.log, max(replica.log.end_offset, peer.log.end_offset))
    differing = np.flatnonzero(~aligned.same)
    if not len(differing):
        return
    first = int(differing[0])
    offset, mine, theirs = aligned.place(first)
    before = aligned.place(first - 1)[1] if first else None
    common = f"are identical up to offset {offset - 1}" if first else f"differ from offset {offset} onward"
    since = f" (epoch {before.epoch})" if before is not None and before.epoch >= 0 else ""
    yield (
        f"the logs of brokers {one} and {other} {common}{since}; from offset {offset}, broker {one} has "
        f"{_held(replica, mine is not None, offset)} and broker {other} has {_held(peer, theirs is not None, offset)}"
    )


def _held(replica: DiskReplica, there: bool, offset: int) -> str:
    """Describe the batches of a log from the given offset on.

    Parameters:
        replica: the replica with the log.
        there: whether the log has a batch at the offset.
    """
    batches = replica.log.batches[replica.log.batches["last"] >= offset]
    if not there or not len(batches):
        after = f" before offset {int(batches['first'][0])}" if len(batches) else ""
        return f"nothing{after}"
    epochs = sorted({int(epoch) for epoch in batches["epoch"]})
    shown = f"epoch {epochs[0]}" if len(epochs) == 1 else f"epochs {epochs[0]} to {epochs[-1]}"
    many = "1 batch" if len(batches) == 1 else f"{len(batches):,} batches"
    last = replica.log.end_offset - 1
    return f"{many} of {shown} (offset{'s' if last > offset else ''} {offsets_text(offset, last)})"


_HELD_BACK = ", fewer than min.insync.replicas, so its high watermark did not advance"


_STOPPED_UNCLEANLY = ", which had stopped uncleanly"


def unclean_sentences(partition: DiskPartition) -> Iterator[str]:
    """Yield a sentence for each leader that was elected although it was not in the ISR or ELR."""
    for election in partition.unclean:
        before, after = election.before, election.after
        yield (
            f"the controllers elected broker {after.leader} uncleanly in leader epoch {after.leader_epoch} (offset "
            f"{election.offset} of the metadata log): {_members(before)}"
            f"{_STOPPED_UNCLEANLY if after.leader in before.electable else ''}"
            f"{_HELD_BACK if election.offset in partition.held_back else ''}"
        )


def _members(state: PartitionState) -> str:
    """Return a clause that says which brokers were in the ISR, and which were in the ELR."""
    sets = [f"the {name} was {_brokers(each)}" for name, each in (("ISR", state.isr), ("ELR", state.elr)) if each]
    return " and ".join(sets) or "the ISR and the ELR were empty"


def _without_leader(partition: DiskPartition) -> Iterator[str]:
    """Yield a sentence if the partition has no leader."""
    if partition.state is not None and partition.state.leader is None:
        yield f"the partition has no leader in leader epoch {partition.state.leader_epoch}"


def _sets_of(partition: DiskPartition, brokers: Iterable[int]) -> str:
    """Name the sets (ISR, ELR) that contain at least one of the given brokers."""
    assert partition.state is not None
    chosen, state = set(brokers), partition.state
    return " or ".join(name for name, members in (("ISR", state.isr), ("ELR", state.elr)) if chosen & members)


def _electable(partition: DiskPartition, *, is_kept: bool) -> Iterator[str]:
    """Yield a sentence that names the brokers that can safely be elected, and a sentence that names the longest log.

    Parameters:
        is_kept: whether an earlier copy of the partition, if there is one, has no more committed records.
    """
    replicas = [(broker, replica) for broker, replica in partition.replicas_of() if replica.has_a_log]
    if partition.is_metadata or not replicas:
        return
    committed = max(replica.high_watermark for _, replica in replicas)
    best = max(replica.log.end_offset for _, replica in replicas)
    complete = [broker for broker, replica in replicas if _has_all(partition, replica, committed)]
    candidates = partition.state.electable if partition.state is not None else None
    safe = [broker for broker in complete if candidates is None or broker in candidates]
    longest = [broker for broker, replica in replicas if replica.log.end_offset == best]
    if safe:
        where = "" if candidates is None else f", in the {_sets_of(partition, safe)},"
        yield (
            f"{_brokers(safe)}{where} {'has' if len(safe) == 1 else 'have'} everything below the high watermark "
            f"{committed}"
            + (
                " and can be elected safely"
                if is_kept
                else " of the later moment, but what was lost before is not below it"
            )
        )
    elif complete:
        sets = _sets_of(partition, candidates or ()) or "ISR"
        yield (
            f"no member of the {sets} has everything below the high watermark {committed}; {_brokers(complete)}, not "
            f"in the {sets}, {'has' if len(complete) == 1 else 'have'}"
        )
    else:
        yield f"none of the given replicas has everything below the high watermark {committed}"
    yield f"the longest log ends at {best}, on {_brokers(longest)}"


def _has_all(partition: DiskPartition, replica: DiskReplica, committed: int) -> bool:
    """Return whether a replica has every batch below the largest high watermark and has no damaged batch.

    Parameters:
        committed: the largest high watermark of all replicas.
    """
    if replica.log.end_offset < committed or not replica.batches["intact"].all():
        return False
    for _, other in partition.replicas_of():
        for _, theirs, mine in other.log.beside(replica.log, min(committed, other.high_watermark)):
            if theirs is not None and theirs != mine:
                return False
    return True


def _brokers(brokers: Iterable[int]) -> str:
    names = [str(broker) for broker in sorted(brokers)]
    return f"broker {names[0]}" if len(names) == 1 else f"brokers {', '.join(names[:-1])} and {names[-1]}"
