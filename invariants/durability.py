"""Properties of durability: brokers that can be elected have every record below a leader's high watermark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from leadline.checker.properties import invariant
from leadline.invariants.known import ATOMIC_BEFORE_KIP_320, RPC, releases
from leadline.invariants.view import Complaint, PartitionView, ReplicaView
from leadline.invariants.witnesses import record_committed


@invariant(
    "for each broker that believes it leads, all members of its own ISR have the same records below its high watermark",
    source="seeds 003, 004: HW is what every ISR member has replicated; TLA+ specification, WeakIsr",
    fails_in=(*ATOMIC_BEFORE_KIP_320, *RPC, *releases("kafka/0.11", "kafka/2.0.0")),
    premise=record_committed,
)
def weak_isr(state: PartitionView) -> Iterator[Complaint]:
    """Compares each broker that believes it leads with the members of its own ISR.

    This property is kept because it depends only on the leader's own ISR and not on the controller. Most mutants that
    violate it also violate `strong_isr`, although some do so only in later states. Its shortest counterexamples are as
    long as those of the TLA+ specification.
    """
    for leader, replica in state.believed_leaders():
        if replica.high_watermark > 0:
            yield from _missing(state, leader, replica, replica.isr, f"broker {leader}'s own")


@invariant(
    "for each broker that believes it leads, all members of the quorum's ISR, from which leaders are elected, have the "
    "same records below its high watermark",
    source="seed 004: a leader elected from the ISR has every record below HW; TLA+ specification, StrongIsr",
    fails_in=(*ATOMIC_BEFORE_KIP_320, *RPC, *releases("kafka/0.11", "kafka/2.4")),
    premise=record_committed,
)
def strong_isr(state: PartitionView) -> Iterator[Complaint]:
    """Compares each broker that believes it leads with the members of the quorum's ISR.

    This property is kept in the `kafka` family because it reads only the current state. Therefore it can be checked on
    disks and compared with the TLA+ specification. In that family, `leader_candidates_complete` or `weak_isr` detects
    the same wrong rules. In the `atomic` family, whose states record no history, some wrong rules violate only this
    property.
    """
    for leader, replica in state.believed_leaders():
        if replica.high_watermark > 0:
            yield from _missing(state, leader, replica, state.quorum.isr, "the quorum's")


def _missing(
    state: PartitionView, leader: int, replica: ReplicaView, isr: Iterable[int], whose: str
) -> Iterator[Complaint]:
    for member, peer in state.replicas_of(isr):
        name = "ELR" if member in state.quorum.elr else "ISR"
        for offset, committed, held in replica.log.beside(peer.log, replica.high_watermark):
            if committed is None or held != committed:
                yield Complaint.about(
                    f"offset {offset} is below the high watermark {replica.high_watermark} of broker {leader}, "
                    f"which has {committed or 'no record'} there; "
                    f"broker {member} of {whose} {name} has {held or 'no record'} there",
                    leader,
                    member,
                    offset=offset,
                )
