"""Properties of reassignment: a partition ends up with the replicas that an operator has requested."""

from __future__ import annotations

from collections.abc import Iterator

from leadline.checker.properties import invariant, step_invariant
from leadline.model.kafka.state import Partition
from leadline.model.quorum import drawn_isr


@invariant(
    "a reassignment leads to the replicas that an operator has asked for last",
    source="KIP-455: a reassignment can be changed while it is in progress",
)
def reassignment_as_asked(state: Partition) -> Iterator[str]:
    """Checks the controller's assignment. This property can be violated only if the bound `reassignments` is above 0.

    This property is kept because no other property detects reassignments that are ignored.
    """
    wanted, final = state.assignment.wanted, state.assignment.final
    if wanted is not None and wanted != final:
        asked, leads_to = drawn_isr(wanted), drawn_isr(final)
        yield f"an operator asked for the replicas {asked}, but the reassignment leads to {leads_to}"


@invariant(
    "no broker is added and removed at once",
    source="KIP-455; where a reassignment completes when all that are added are in the ISR, such a one never ends",
)
def added_or_removed(state: Partition) -> Iterator[str]:
    """Checks the controller's assignment. This property can be violated only if the bound `reassignments` is above 0.

    This property is kept because it is an invariant and `reassignments_end`, which detects the same mistake, is not.
    """
    for broker in sorted(state.assignment.adding & state.assignment.removing):
        yield f"broker {broker} is being added and removed at once"


@step_invariant(
    "completing a reassignment to enough replicas does not take the ISR below min.insync.replicas",
    source="KAFKA-15665: all replicas that remain must be in the ISR; KAFKA-19975 takes a part of this back",
)
def completion_keeps_min_isr(before: Partition, after: Partition) -> Iterator[str]:
    """Checks each step in which replicas are removed for good, but not cancellations.

    No release compares the ISR with `min.insync.replicas`. From 3.8 to 4.2, all replicas that remain must be in the
    ISR, which has the same effect. This property can be violated only if the bound `reassignments` is above 0.
    """
    was, now, least = before.quorum.isr, after.quorum.isr, after.bounds.min_insync_replicas
    replicas, settled = frozenset(after.assignment.replicas), frozenset(before.assignment.replicas)
    removed = settled - before.assignment.adding - replicas
    if removed and not after.assignment.in_progress and len(now) < least <= min(len(was), len(replicas)):
        yield (
            f"the replicas are {drawn_isr(replicas)}, and the ISR goes from {drawn_isr(was)} to {drawn_isr(now)}, with "
            f"min.insync.replicas={least}"
        )
