"""Properties of leader candidates, which are the members of the controller's ISR and, with KIP-966, of its ELR."""

from __future__ import annotations

from collections.abc import Iterator

from leadline.checker.properties import invariant, step_invariant
from leadline.invariants.known import ALL_RELEASES, RPC, RPC_BEFORE_KIP_320, releases
from leadline.invariants.promises import something_exposed
from leadline.model.kafka.broker import ACTIVE
from leadline.model.kafka.state import Partition
from leadline.model.quorum import drawn_isr


@invariant(
    "every running member of the ISR or ELR has every record that consumers could ever read",
    source="KIP-966; Vanlightly's TLA+ specification of it, LeaderCandidateCompleteness. The true high watermark is "
    "the largest one so far; a broker that is down is not a candidate until it restarts",
    fails_in=RPC,
    premise=something_exposed,
)
def leader_candidates_complete(state: Partition) -> Iterator[str]:
    for broker in sorted(state.quorum.isr | state.quorum.elr):
        replica = state.replicas[broker]
        if not replica.up or replica.offline or (state.bounds.moves and broker not in state.assignment.replicas):
            continue
        for promise in state.exposed:
            if promise.offset < state.deletable:
                continue
            held = replica.log[promise.offset] if replica.log.has(promise.offset) else None
            if held != promise.record:
                where = "ISR" if broker in state.quorum.isr else "ELR"
                yield (
                    f"broker {broker} is in the {where} and has {held or 'no record'} at offset {promise.offset}, "
                    f"where {promise.record} could be read"
                )


def outside_of_isr(state: Partition) -> bool:
    """Return whether any broker is outside the ISR and could therefore join it."""
    return len(state.quorum.isr) < state.bounds.brokers


def elr_has_members(state: Partition) -> bool:
    """Return whether the ELR has any members."""
    return bool(state.quorum.elr)


@step_invariant(
    "a running broker that joins the ISR has every record below its leader's high watermark",
    source="KIP-903; KAFKA-14617, KAFKA-15221",
    fails_in=(*RPC_BEFORE_KIP_320, *ALL_RELEASES),
    premise=outside_of_isr,
)
def isr_joined_with_all(before: Partition, after: Partition) -> Iterator[str]:
    quorum = after.quorum
    if quorum.leader is None or quorum.epoch != before.quorum.epoch:
        return
    leader = after.replicas[quorum.leader]
    for broker in sorted(quorum.isr - before.quorum.isr):
        replica = after.replicas[broker]
        committed = min(leader.high_watermark, leader.log.end_offset) if replica.up else 0
        for offset, should, held in leader.log.beside(replica.log, committed):
            if held != should:
                yield (
                    f"broker {broker} joins the ISR and has {held or 'no record'} at offset {offset}, "
                    f"where its leader has {should}, below its high watermark"
                )


@invariant(
    "the maximal ISR of the true leader contains the controller's ISR, and also the ELR if the leader's own ISR has at "
    "least min.insync.replicas members",
    source="KIP-497; Vanlightly's TLA+ specification of KIP-966, ReplicationQuorumSuperset",
)
def quorum_in_maximal_isr(state: Partition) -> Iterator[str]:
    """Checks only the true leader, because the maximal ISR of any other broker has no effect.

    This property is kept because it is violated as soon as the leader stops waiting for a candidate, before a record is
    lost. Its shortest counterexample has 5 states, and that of `leader_candidates_complete` has 8.
    """
    quorum = state.quorum
    if quorum.leader is None or not state.is_true_leader(quorum.leader):
        return
    leader = state.replicas[quorum.leader]
    candidates = quorum.isr
    if len(leader.isr) >= min(state.bounds.min_insync_replicas, state.bounds.brokers):
        candidates |= quorum.elr
    if not candidates <= leader.maximal_isr:
        yield (
            f"the controller would elect {drawn_isr(candidates)}, "
            f"but broker {quorum.leader} waits only for {drawn_isr(leader.maximal_isr)}"
        )


@invariant("all members of the ISR and the ELR are replicas of the partition", source="KIP-497, KIP-966; KAFKA-9672")
def isr_within_replicas(state: Partition) -> bool:
    """Checks that the leader, the last known leader, and all members of the ISR and the ELR are replicas.

    This property is kept because a violation identifies the fault. If a broker in the ISR does not exist, other
    properties and actions raise an error when they read the broker's log. If the bound `reassignments` is above 0,
    releases violate this property, because a broker that is no longer a replica can stay in the ELR.
    """
    replicas = state.assignment.replicas
    leaders = [leader for leader in (state.quorum.leader, state.quorum.last_known_leader) if isinstance(leader, int)]
    return all(broker in replicas for broker in (*state.quorum.isr, *state.quorum.elr, *leaders))


@invariant("no broker is in both the ISR and the ELR", source="KIP-966", premise=elr_has_members)
def isr_and_elr_disjoint(state: Partition) -> bool:
    """Compares the controller's ISR and ELR.

    This property is kept because a violation identifies the fault. `leader_in_isr`, which ignores members of the ISR
    that are also in the ELR, is violated in the same states if the leader is in both.
    """
    return not state.quorum.isr & state.quorum.elr


@invariant(
    "no running broker that is fenced or shutting down stays in the ISR, unless it is the last member",
    source="KIP-841; KAFKA-13916, KAFKA-14140",
    fails_in=(*RPC, *releases("kafka/0.10.2", "kafka/3.1"), "kafka/3.2-kraft"),
)
def isr_members_active(state: Partition) -> Iterator[str]:
    if len(state.quorum.isr) < 2 and not state.protocol.has_elr:
        return
    for broker in sorted(state.quorum.isr):
        status = state.registrations[broker].status
        if status != ACTIVE:
            yield f"broker {broker} is in the ISR, but it is {status}"
