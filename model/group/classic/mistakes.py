"""Deliberately wrong rules of the classic protocol that are not values in the table of rules."""

from __future__ import annotations

from collections.abc import Mapping

from leadline.model.mistakes import Mistake
from leadline.model.rules import RuleColumn

NO_FAILURES = {"crashes": 0, "pauses": 0, "leaves": 0, "failovers": 0, "mutes": 0, "rejoins": 0}
LATE_COMMIT = NO_FAILURES | {"pauses": 1, "delayed": 1, "perturbations": 2}

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        name="given-before-revoked",
        sentence="the cooperative assignor gives a partition away before its owner has revoked it",
        source="KIP-429",
        wrong={"withholds": False},
        bounds=NO_FAILURES | {"clients": 3, "partitions": 4, "leaves": 1, "cooperative": True},
    ),
    Mistake(
        name="members-not-awaited",
        sentence="the join phase ends before all members have joined",
        source="GroupCoordinator.tryCompleteJoin",
        wrong={"awaits_members": False},
        bounds={"perturbations": 0},
    ),
    Mistake(
        name="fenced-keeps-partitions",
        sentence="a consumer that is fenced keeps its partitions",
        source="KIP-429: onPartitionsLost",
        wrong={"forgets_fenced": False},
        bounds=NO_FAILURES | {"pauses": 1},
    ),
    Mistake(
        name="generations-not-compared",
        sentence="the coordinator accepts offset commits of any generation",
        source="the classic protocol: ILLEGAL_GENERATION",
        wrong={"compares_generation": False},
        bounds=NO_FAILURES | {"delayed": 1},
    ),
    Mistake(
        name="commits-in-completing",
        sentence="the coordinator accepts offset commits in CompletingRebalance",
        source="GroupCoordinator.doCommitOffsets: REBALANCE_IN_PROGRESS",
        wrong={"commits_in_completing": True},
        bounds=NO_FAILURES | {"delayed": 1},
        harmless="a commit of the new generation comes from a member that still owns what it commits, or owns nothing",
    ),
)

LOST_COMMIT_SHOWN_WITH = {("lost_commit", "acknowledged"): NO_FAILURES | {"lost_commits": 1, "records": 1}}

RULES_SHOWN_WITH: Mapping[tuple[str, str], Mapping[str, int]] = {
    ("transactional_commit", "anyone"): LATE_COMMIT | {"transactional": True},
    ("illegal_generation", "forgets-id"): NO_FAILURES | {"failovers": 1},
    ("claims", "highest-generation"): NO_FAILURES | {"clients": 3, "rejoins": 1, "cooperative": True},
    ("claims", "all"): NO_FAILURES | {"pauses": 1, "cooperative": True},
    ("fenced_while_joining", "keeps"): NO_FAILURES | {"pauses": 1, "cooperative": True},
    ("sync_timer", "none"): NO_FAILURES | {"mutes": 1},
    ("offset_expiry", "each-commit"): NO_FAILURES | {"expiries": 1, "records": 1},
    **LOST_COMMIT_SHOWN_WITH,
}
"""The bounds within which a value of a rule violates a property of a column with a different value."""

RIGHT_TOO: Mapping[tuple[str, str], str] = {
    ("member_id", "with-generation"): "without it, the group is rebalanced more often (KIP-394)",
    ("heartbeat_in_completing", "ignored"): "the time-out of the session removes the member instead",
    ("claims", "all"): "consumers of this release do not claim what they have lost (KAFKA-12983)",
    ("lost_commit", "error"): "the consumer commits again",
    ("new_member_timer", "lost"): "the timer for SyncGroup requests removes the member instead (KAFKA-12890)",
}
"""The reasons why a value of a rule does no harm to a column with a different value."""


def may_be_mutated(column: RuleColumn) -> bool:
    """Return whether the specs of a column satisfy the properties. Otherwise, mutations could not be noticed."""
    return column.values["claims"] == "newest"
