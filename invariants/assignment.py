"""Properties of reassignment: a partition ends up with the replicas that an operator has requested."""

from __future__ import annotations

from collections.abc import Iterator

from leadline.checker.properties import invariant
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
