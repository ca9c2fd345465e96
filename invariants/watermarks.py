"""Properties of high watermarks: a high watermark stays within the log and never decreases."""

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
    "a leader's high watermark does not decrease within its epoch",
    source="seeds 000, 001, 002: HW = max(HW, min LEO)",
    fails_in=("kafka/2.8",),
)
def hw_monotonic(before: PartitionView, after: PartitionView) -> Iterator[Complaint]:
    """Checks each step after which a leader still leads in the same epoch.

    This property is kept in the `atomic` family because of the protocols before KIP-101. With leader epochs, no member
    of the ISR truncates below a high watermark, so the high watermark would not decrease even if the leader did not
    compare it with the previous value. In the `rpc` family, one deliberately wrong rule violates only this property.
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
