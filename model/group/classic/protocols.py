"""The rules of the classic protocol, as functions and values. `rules` contains the table of rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from leadline.model.group.classic.state import Member

Claims = dict[int, frozenset[int]]
"""The partitions that members are believed to own, keyed by member id."""


@attrs.frozen(eq=False, kw_only=True)
class Protocol:
    """The rules in which releases differ, with clients and brokers of the same release.

    Attributes:
        name: the name of the release, without the family.
        summary: a sentence that describes the release.
        requires_member_id: whether a new member is given an id before it joins (KIP-394).
        renews_in_completing: whether heartbeats in CompletingRebalance renew the session.
        has_sync_timer: whether members that do not send SyncGroup in time are removed.
        watches_new_members: whether the session timer of a new member runs after the join phase.
        believed: for the cooperative assignor, returns the claims that it believes, and the disputed partitions.
        keeps_when_fenced: whether a consumer that is fenced during a rebalance goes on with its partitions.
        keeps_member_id: whether a consumer keeps its member id after ILLEGAL_GENERATION.
        checks_transactional: whether commits within transactions need a member of the current generation (KIP-447).
        expires_in_use: whether offsets expire while the group has members.
        acknowledges_lost: whether a coordinator that was replaced acknowledges a commit that is lost.
        compares_generation: whether commits need the current generation.
        commits_in_completing: whether commits are accepted in CompletingRebalance.
        withholds: whether a partition that has an owner is given to another member only after it was revoked.
        awaits_members: whether the join phase waits for all members.
        forgets_fenced: whether a fenced consumer gives up its partitions.
    """

    name: str = ""
    summary: str = ""
    requires_member_id: bool
    renews_in_completing: bool
    has_sync_timer: bool
    watches_new_members: bool
    believed: Callable[[Sequence[Member]], tuple[Claims, frozenset[int]]]
    keeps_when_fenced: bool
    keeps_member_id: bool
    checks_transactional: bool
    expires_in_use: bool
    acknowledges_lost: bool
    compares_generation: bool = True
    commits_in_completing: bool = False
    withholds: bool = True
    awaits_members: bool = True
    forgets_fenced: bool = True

    @property
    def claims_have_generations(self) -> bool:
        """Whether consumers say since which generation they own their partitions (KAFKA-12984)."""
        return self.believed != all_claims  # the compiled engine calls what asks for identity in every state


def all_claims(members: Sequence[Member]) -> tuple[Claims, frozenset[int]]:
    """Believe every claim (before KAFKA-12984)."""
    return {member.member_id: member.claims for member in members}, frozenset()


def claims_of_highest_generation(members: Sequence[Member]) -> tuple[Claims, frozenset[int]]:
    """Believe the claims of the members with the highest generation (KAFKA-12984). A partition that two of them claim
    is disputed.
    """
    highest = max(member.claimed_since for member in members)
    claims = {each.member_id: each.claims if each.claimed_since == highest else frozenset[int]() for each in members}
    disputed = frozenset(p for own in claims.values() for p in own if sum(p in each for each in claims.values()) > 1)
    return {member_id: own - disputed for member_id, own in claims.items()}, disputed


def newest_claims(members: Sequence[Member]) -> tuple[Claims, frozenset[int]]:
    """Believe, for each partition, the claim with the highest generation (KAFKA-14639)."""
    claims: Claims = {member.member_id: frozenset() for member in members}
    disputed = set()
    for partition in sorted({partition for member in members for partition in member.claims}):
        claiming = [member for member in members if partition in member.claims]
        newest = max(member.claimed_since for member in claiming)
        owners = [member for member in claiming if member.claimed_since == newest]
        if len(owners) > 1:
            disputed.add(partition)
        else:
            claims[owners[0].member_id] |= {partition}
    return claims, frozenset(disputed)
