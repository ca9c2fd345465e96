"""Properties of upgrades that go on while the model runs: what a change of release or level must leave as it is.

All other properties of releases apply too.
"""

from __future__ import annotations

from collections.abc import Iterator

from leadline.checker.properties import recoverable, step_invariant, step_witness
from leadline.invariants.view import Complaint
from leadline.model.kafka.broker import ACTIVE
from leadline.model.kafka.rolls import Rolling
from leadline.model.kafka.state import Partition


def _applies(before: Partition, after: Partition) -> Iterator[int]:
    """Yield the running broker that applies a new level or feature in a step, if one does."""
    if isinstance(before, Rolling) and isinstance(after, Rolling):
        for broker, (old, new) in enumerate(zip(before.stages, after.stages, strict=True)):
            if new > old and before.replicas[broker].up:
                yield broker


@step_invariant(
    "a running broker that applies a new level stays registered: it is not fenced, and what it has sent is not refused",
    source="KAFKA-16757, KAFKA-16952",
)
def registered_at_new_level(before: Partition, after: Partition) -> Iterator[Complaint]:
    """Checks the broker that applies the level.

    This property is kept because brokers register again only when a level rises, which no other spec has.
    """
    for broker in _applies(before, after):
        if before.registrations[broker].status == ACTIVE != after.registrations[broker].status:
            yield Complaint.about(f"broker {broker} applies a new level, and is fenced", broker)
        was, late = before.late[broker], after.late[broker]
        if late is not None and was is not None and late.restarted and not was.restarted:
            yield Complaint.about(
                f"broker {broker} applies a new level, and its earlier fetch request is stale", broker
            )
        for leader, (old, new) in enumerate(zip(before.replicas, after.replicas, strict=True)):
            if new.proposal is not None and new.proposal.outdated and old.proposal != new.proposal:
                yield Complaint.about(
                    f"broker {broker} applies a new level, and broker {leader} can no longer add it to the ISR", broker
                )


@step_invariant(
    "a record is acknowledged with acks=all only while as many brokers are in the leader's ISR as min.insync.replicas "
    "says in the brokers' files",
    source="KIP-966; ConfigurationControlManager.maybeGenerateElrSafetyRecords",
)
def min_isr_of_files_kept(before: Partition, after: Partition) -> Iterator[Complaint]:
    """Checks each record when it is acknowledged.

    This property is kept because no record is lost yet when a leader begins to acknowledge with too few replicas.
    """
    bounds = after.bounds
    if bounds.acks != "all" or len(after.acked) == len(before.acked):
        return
    told = {promise.epoch for promise in after.acked[len(before.acked) :]}
    for leader, replica in after.believed_leaders():
        if replica.epoch in told and len(replica.isr) < min(bounds.min_insync_replicas, bounds.brokers):
            yield Complaint.about(
                f"broker {leader} acknowledges a record with {len(replica.isr)} in its ISR, and the files of brokers "
                f"say min.insync.replicas={bounds.min_insync_replicas}",
                leader,
            )


@recoverable(
    "repairs alone can lead to a leader that knows that it leads, without an unclean election",
    source="KIP-966: eligible leader replicas, and the last known leader",
    by_healing=True,
)
def leader_possible(state: Partition) -> bool:
    """Checks the partition once all brokers have started again. `recoverable_leader_known` does not say whether there
    can be a leader.
    """
    leader = state.quorum.leader
    return leader is not None and state.is_true_leader(leader)


@step_witness("a broker or the controller goes to another release, level or feature")
def stage_changes(before: Partition, after: Partition) -> bool:
    if not isinstance(before, Rolling) or not isinstance(after, Rolling):
        return False
    return (before.controller, before.stages) != (after.controller, after.stages)


@step_witness("a leader is elected while brokers are at different stages of the upgrade")
def elected_in_mix(before: Partition, after: Partition) -> bool:
    if not isinstance(after, Rolling) or after.quorum.epoch == before.quorum.epoch:
        return False
    return len({after.controller, *after.stages}) > 1


PROPERTIES = (registered_at_new_level, min_isr_of_files_kept, leader_possible)
"""Checked only if they are named."""

WITNESSES = (stage_changes, elected_in_mix)
"""The situations that an upgrade is about."""
