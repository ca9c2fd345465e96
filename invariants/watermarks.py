"""High watermarks: where they may be, and that they do not go back."""

from __future__ import annotations

from collections.abc import Iterator

from leadline.checker.properties import invariant, step_invariant
from leadline.invariants.view import Complaint, PartitionView


@invariant(
    "on each replica, the high watermark is never beyond the log end offset",
    source="seeds 000, 001, 002: HW <= LEO",
)
def hw_within_log(state: PartitionView) -> Iterator[Complaint]:
    for broker, replica in state.replicas_of():
        if replica.high_watermark > replica.log.end_offset:
            yield Complaint.about(
                f"broker {broker} has high watermark {replica.high_watermark}, "
                f"but its log ends at {replica.log.end_offset}",
                broker,
                offset=replica.log.end_offset,
            )


@step_invariant(
    "a leader's high watermark does not go back within its epoch",
    source="seeds 000, 001, 002: HW = max(HW, min LEO)",
)
def hw_monotonic(before: PartitionView, after: PartitionView) -> Iterator[Complaint]:
    """Leaders that go on leading.

    It stays in the `atomic` family for protocols before KIP-101: with leader epochs no member of the ISR truncates
    below a high watermark, so that even without the maximum it would not fall. In the `kafka` family it finds a mistake
    alone.
    """
    for broker, replica in before.believed_leaders():
        for _, later in after.replicas_of((broker,)):
            if later.high_watermark < replica.high_watermark and (later.leader, later.epoch) == (broker, replica.epoch):
                yield Complaint.about(
                    f"broker {broker}, leading in epoch {replica.epoch}, moved its high watermark "
                    f"from {replica.high_watermark} back to {later.high_watermark}",
                    broker,
                    offset=later.high_watermark,
                )
