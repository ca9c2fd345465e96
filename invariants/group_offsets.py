"""Properties of committed offsets: acknowledged ones are kept, no record is skipped, and what is read twice."""

from __future__ import annotations

from collections.abc import Iterator

from leadline.checker.properties import invariant, step_invariant, witness
from leadline.model.group.offsets import NO_OFFSET
from leadline.model.group.perturbed import C, Perturbed


@invariant(
    "the coordinator knows at least the highest offset whose commit it has acknowledged",
    source="KIP-211 and KAFKA-4682: offsets of a group in use do not expire; KAFKA-20634: acknowledged, and lost",
)
def acknowledged_offsets_kept(state: Perturbed[C]) -> Iterator[str]:
    """Without records, there are no offsets. A group that was empty when its offsets expired has none, either."""
    offsets = state.offsets
    for partition, (known, highest) in enumerate(zip(offsets.committed, offsets.acknowledged, strict=True)):
        if known < highest:
            said = "none is known" if known == NO_OFFSET else f"{known} is known"
            yield f"the commit of offset {highest} of partition {partition} was acknowledged, and {said}"


@invariant(
    "no consumer goes on beyond records that nobody has read, in a group whose commits were acknowledged",
    source="at-least-once delivery: KafkaConsumer, 'Offsets and Consumer Position'",
)
def no_record_skipped(state: Perturbed[C]) -> Iterator[str]:
    """A group without committed offsets begins where auto.offset.reset says, and skips records by design."""
    offsets = state.offsets
    for number, client in enumerate(state.clients):
        for partition, position in enumerate(client.positions):
            if position > offsets.read[partition] and offsets.acknowledged[partition] != NO_OFFSET:
                yield (
                    f"consumer {number} reads partition {partition} from offset {position}, and nobody has read the "
                    f"records from offset {offsets.read[partition]}"
                )


@step_invariant(
    "no record is read twice",
    source="by design: what was read and not committed is read again after a rebalance (at-least-once delivery)",
)
def read_once(before: Perturbed[C], after: Perturbed[C]) -> Iterator[str]:
    """Violated by design: a consumer that crashes between reading and committing is the shortest example."""
    for number, (was, now) in enumerate(zip(before.clients, after.clients, strict=True)):
        for partition, (old, new) in enumerate(zip(was.positions, now.positions, strict=True)):
            if old != NO_OFFSET and new == old + 1 and old < before.offsets.read[partition]:
                yield f"consumer {number} reads offset {old} of partition {partition}, which was read before"


@witness("a consumer goes on where another one has committed")
def goes_on_at_committed(state: Perturbed[C]) -> bool:
    known = state.offsets.committed
    return state.settled and any(
        0 < position == known[partition]
        for client in state.clients[1:]
        for partition, position in enumerate(client.positions)
    )


@witness("the committed offsets of a group have expired")
def offsets_expired(state: Perturbed[C]) -> bool:
    return state.spent.expiries > 0


@witness("a coordinator was replaced before a commit was replicated")
def commit_not_replicated(state: Perturbed[C]) -> bool:
    return state.spent.lost_commits > 0


SITUATIONS = (goes_on_at_committed, offsets_expired, commit_not_replicated)
"""Checked only if they are named."""
