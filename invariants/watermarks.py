"""High watermarks: where they may be, and that they do not go back."""

from __future__ import annotations

from collections.abc import Iterator

from checker.properties import invariant, step_invariant
from invariants.view import PartitionView


@invariant(
    "on each replica, the high watermark is never beyond the log end offset",
    source="seeds 000, 001, 002: HW <= LEO",
)
def hw_within_log(state: PartitionView) -> Iterator[str]:
    for broker, replica in enumerate(state.replicas):
        if replica.high_watermark > replica.log.end_offset:
            yield (
                f"broker {broker} has high watermark {replica.high_watermark}, "
                f"but its log ends at {replica.log.end_offset}"
            )


@step_invariant(
    "a leader's high watermark does not go back within its epoch",
    source="seeds 000, 001, 002: HW = max(HW, min LEO)",
)
def hw_monotonic(before: PartitionView, after: PartitionView) -> Iterator[str]:
    for broker, replica in before.believed_leaders():
        later = after.replicas[broker]
        if later.high_watermark < replica.high_watermark and (later.leader, later.epoch) == (broker, replica.epoch):
            yield (
                f"broker {broker}, leading in epoch {replica.epoch}, moved its high watermark "
                f"from {replica.high_watermark} back to {later.high_watermark}"
            )
