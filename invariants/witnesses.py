"""Witnesses: situations that a search must reach. If they are not reached, the absence of violations proves nothing."""

from __future__ import annotations

from leadline.checker.properties import step_witness, witness
from leadline.invariants.view import PartitionView
from leadline.model.kafka.state import PREFERRED, Partition


@witness("a record is committed")
def record_committed(state: PartitionView) -> bool:
    return any(replica.high_watermark > 0 for _, replica in state.believed_leaders())


@step_witness(
    "leadership changes: a broker starts to lead while another one leads, or believes it leads, in an earlier epoch"
)
def leader_changes(before: PartitionView, after: PartitionView) -> bool:
    return any(
        not before.believes_to_lead(leader) and replica.epoch > other.epoch
        for leader, replica in after.believed_leaders()
        for _, other in before.believed_leaders()
    )


@witness("a leader fails and another broker takes over: the leader is not the one of epoch 0")
def leadership_moves(state: Partition) -> bool:
    """Returns whether any broker other than the leader of epoch 0 leads.

    This witness replaces `leader_changes` in the `kafka` family, in which the initial state has a leader and a failed
    leader does not believe that it leads.
    """
    return any(leader != PREFERRED for leader, _ in state.believed_leaders())


@step_witness("a log is truncated")
def log_truncated(before: PartitionView, after: PartitionView) -> bool:
    return any(
        replica.log.end_offset < earlier.log.end_offset
        for (_, earlier), (_, replica) in zip(before.replicas_of(), after.replicas_of(), strict=True)
    )


@step_witness("a broker rejoins the ISR")
def broker_rejoins_isr(before: PartitionView, after: PartitionView) -> bool:
    return after.quorum.isr > before.quorum.isr
