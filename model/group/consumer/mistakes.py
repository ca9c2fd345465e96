"""Deliberately wrong rules of the consumer protocol that are not values in the table of rules."""

from __future__ import annotations

from collections.abc import Mapping

from leadline.model.group.classic.mistakes import NO_FAILURES
from leadline.model.mistakes import Mistake
from leadline.model.rules import RuleColumn

LATE_COMMIT = NO_FAILURES | {"pauses": 1, "delayed": 1, "perturbations": 2}

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        name="given-before-free",
        sentence="the coordinator assigns a partition before its owner has revoked it",
        source="KIP-848: partition epochs",
        wrong={"awaits_release": False},
        bounds=NO_FAILURES,
    ),
    Mistake(
        name="revocation-not-awaited",
        sentence="the coordinator takes a partition from a member that has not revoked it",
        source="KIP-848: UNREVOKED_PARTITIONS",
        wrong={"awaits_revocation": False},
        bounds=NO_FAILURES,
    ),
    Mistake(
        name="epoch-before-revocation",
        sentence="a member gets the epoch of the target assignment before it has revoked its partitions",
        source="KIP-848: a member keeps its epoch until then",
        wrong={"advances_first": True},
        bounds=NO_FAILURES,
    ),
    Mistake(
        name="member-epochs-not-compared",
        sentence="the coordinator does not compare the member epochs of heartbeats and offset commits",
        source="KIP-848: FENCED_MEMBER_EPOCH, STALE_MEMBER_EPOCH",
        wrong={"fences": False, "compares_commits": False},
        bounds=NO_FAILURES | {"delayed": 1},
    ),
    Mistake(
        name="fenced-keeps-all",
        sentence="a consumer that is fenced keeps its partitions",
        source="KIP-848: onPartitionsLost",
        wrong={"forgets_fenced": False},
        bounds=NO_FAILURES | {"pauses": 1},
    ),
    Mistake(
        name="no-rebalance-timer",
        sentence="a member that does not revoke its partitions is not removed",
        source="KIP-848: the rebalance time-out",
        wrong={"has_rebalance_timer": False},
        bounds=NO_FAILURES | {"mutes": 1},
    ),
)

RULES_SHOWN_WITH: Mapping[tuple[str, str], Mapping[str, int]] = {}
"""The bounds within which a value of a rule violates a property of a column with a different value."""

RIGHT_TOO: Mapping[tuple[str, str], str] = {}
"""The reasons why a value of a rule does no harm to a column with a different value."""


def may_be_mutated(column: RuleColumn) -> bool:
    """Return whether the specs of a column satisfy the properties. Otherwise, mutations could not be noticed."""
    return column.values["reconciliation"] == "awaits"
