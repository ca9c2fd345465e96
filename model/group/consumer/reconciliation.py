"""How a heartbeat moves a member towards its target assignment (Kafka's CurrentAssignmentBuilder)."""

from __future__ import annotations

import attrs

from leadline.model.group.consumer.protocols import Protocol, Report
from leadline.model.group.consumer.state import Group, Member
from leadline.model.group.perturbed import NONE, NOTHING


def awaiting(group: Group, member: Member, report: Report, protocol: Protocol) -> Member:
    """Reconcile a member that first revokes what it must, whatever the target is in the meantime (KAFKA-16249)."""
    target = group.target_of(member.member_id)
    if not member.revoking and member.epoch == group.target_epoch and member.assigned == target:
        return member
    epoch = member.epoch
    if member.revoking and protocol.awaits_revocation:
        if report is None or report & member.revoking:
            return member
        epoch += protocol.adds_epoch
    kept, revoking = member.assigned & target, member.assigned - target
    if revoking and protocol.awaits_revocation and (report is None or report & revoking):
        epoch = group.target_epoch if protocol.advances_first else epoch
        return attrs.evolve(member, epoch=epoch, previous=member.epoch, assigned=kept, revoking=revoking)
    own = member.revoking if protocol.reuses_own else NOTHING
    return _advanced(group, member, kept, _free(group, target - kept, protocol) | (own & target))


def restarting(group: Group, member: Member, report: Report, protocol: Protocol) -> Member:
    """Reconcile a member that begins again with each target assignment, without regard to the report (3.7)."""
    target = group.target_of(member.member_id)
    if member.target_epoch != group.target_epoch:
        kept, revoking = member.held & target, member.held - target
        if revoking and protocol.awaits_revocation:
            return attrs.evolve(member, assigned=kept, revoking=revoking, target_epoch=group.target_epoch)
        return _advanced(group, member, kept, _free(group, target - kept, protocol))
    free = _free(group, target - member.assigned, protocol)
    if member.revoking:
        # partitions of one topic: an empty report does not match a topic that is still assigned
        matches = report is not None and report <= member.assigned and bool(report) == bool(member.assigned)
        return _advanced(group, member, member.assigned, free) if matches else member
    return _advanced(group, member, member.assigned, free) if free else member


def _free(group: Group, wanted: frozenset[int], protocol: Protocol) -> frozenset[int]:
    """Return those of the wanted partitions that may be assigned."""
    return frozenset(p for p in wanted if group.is_free(p) or not protocol.awaits_release)


def _advanced(group: Group, member: Member, kept: frozenset[int], free: frozenset[int]) -> Member:
    """Return the member with the epoch of the target assignment, and with new partitions."""
    since = tuple(
        group.target_epoch if partition in free else epoch if partition in kept else NONE
        for partition, epoch in enumerate(member.since)
    )
    return attrs.evolve(
        member,
        epoch=group.target_epoch,
        previous=member.epoch,
        target_epoch=group.target_epoch,
        assigned=kept | free,
        revoking=NOTHING,
        since=since,
    )
