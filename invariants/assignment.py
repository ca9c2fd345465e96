"""Properties of reassignment: a partition ends up with the replicas that an operator has requested."""

from __future__ import annotations

from collections.abc import Iterator

from leadline.checker.properties import invariant
from leadline.model.kafka.state import Partition
from leadline.model.quorum import drawn_isr


@invariant(
    "a reassignment leads to the replicas that an operator has asked for last, and no broker is added and removed at "
    "once",
    source="KIP-455: a reassignment can be changed while it is in progress",
)
def reassignment_as_asked(state: Partition) -> Iterator[str]:
    """Checks the controller's assignment. This property can be violated only if the bound `reassignments` is above 0.

    This property is kept because no other property detects reassignments that are ignored or never end.
    """
    assignment = state.assignment
    for broker in sorted(assignment.adding & assignment.removing):
        yield f"broker {broker} is being added and removed at once"
    wanted = assignment.wanted
    if wanted is not None and wanted != assignment.final and not assignment.adding & assignment.removing:
        yield (
            f"an operator asked for the replicas {drawn_isr(wanted)}, but the reassignment leads to "
            f"{drawn_isr(assignment.final)}"
        )
