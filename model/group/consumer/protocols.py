"""The rules of the consumer protocol, as functions and values. `rules` contains the table of rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from leadline.model.group.consumer.state import Group, Member

Report = frozenset[int] | None
"""The owned partitions in a heartbeat, or None if the heartbeat does not have them."""


@attrs.frozen(eq=False, kw_only=True)
class Protocol:
    """The rules in which releases differ, with clients and brokers of the same release.

    Attributes:
        name: the name of the release, without the family.
        summary: a sentence that describes the release.
        reconciled: returns a member after its heartbeat has moved it towards its target assignment. Its arguments are
            the group, the member, the report in the heartbeat, and the protocol.
        epochs_kept: whether a partition that a member shall revoke, and is assigned again, keeps its epoch.
        reports_reconciled: whether a consumer reports its partitions after every reconciliation. Otherwise, it does so
            when they have changed.
        new_epoch_interrupts: whether a consumer begins its reconciliation again when it gets a new epoch.
        names_itself: whether consumers choose their member ids (KIP-1082).
        adds_epoch: whether a member that has revoked partitions and must revoke more gets the next epoch.
        reuses_own: whether a partition that the member itself has just revoked counts as free.
        accepts_rejoin: whether a member that the group knows may join again, with the epoch 0.
        sends_instance: whether all heartbeats of a static member have its group.instance.id, not only the first one.
        accepts_own_instance: whether a static member may do so as well, although its group.instance.id is in use.
        recomputes_replaced: whether the target assignment is computed again when a static member is replaced.
        commits_since: whether commits are accepted since the epoch in which the partition was assigned (KIP-1251).
        follows_when_empty: whether the target assignment follows the group epoch when the last member is gone.
        migrates: whether groups may change their protocol, with the right policy.
        refuses_classic: whether a classic consumer may not join if groups may not change their protocol.
        acknowledges_lost: whether a coordinator that was replaced acknowledges a commit that is lost.
        expires_in_use: whether offsets expire while the group has members.
        awaits_release: whether only partitions that are free are assigned.
        awaits_revocation: whether a member keeps its epoch until it has revoked its partitions.
        advances_first: whether a member gets the epoch of the target when it is told to revoke.
        fences: whether heartbeats need the member's epoch.
        compares_commits: whether commits need the member's epoch.
        forgets_fenced: whether a fenced consumer gives up its partitions.
        has_rebalance_timer: whether members that do not revoke in time are removed.
        keeps_left: whether a static member that leaves keeps its assignment until its session expires.
        awaits_leave: whether a static member is replaced only when it has left.
        removes_replaced: whether the static member that is replaced is removed.
        tells_classic: whether classic members learn from heartbeats that they must join again.
        watches_classic: whether classic members are removed that do not join or synchronise in time.
    """

    name: str = ""
    summary: str = ""
    reconciled: Callable[[Group, Member, Report, Protocol], Member]
    epochs_kept: bool
    reports_reconciled: bool
    new_epoch_interrupts: bool
    names_itself: bool
    adds_epoch: bool
    reuses_own: bool
    accepts_rejoin: bool
    sends_instance: bool
    accepts_own_instance: bool
    recomputes_replaced: bool
    commits_since: bool
    follows_when_empty: bool
    migrates: bool
    refuses_classic: bool
    acknowledges_lost: bool
    expires_in_use: bool = False
    awaits_release: bool = True
    awaits_revocation: bool = True
    advances_first: bool = False
    fences: bool = True
    compares_commits: bool = True
    forgets_fenced: bool = True
    has_rebalance_timer: bool = True
    keeps_left: bool = True
    awaits_leave: bool = True
    removes_replaced: bool = True
    tells_classic: bool = True
    watches_classic: bool = True
