"""Deliberately wrong rules of the consumer protocol that are not values in the table of rules."""

from __future__ import annotations

from collections.abc import Mapping

from leadline.model.group.classic.mistakes import LOST_COMMIT_SHOWN_WITH, NO_FAILURES
from leadline.model.mistakes import Mistake
from leadline.model.rules import RuleColumn

ONE_LEAVES = NO_FAILURES | {"leaves": 1}
STATIC_LEAVES = ONE_LEAVES | {"static": True}

ONE_CLASSIC = NO_FAILURES | {"classic_members": 1}

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
    Mistake(
        name="left-for-good",
        sentence="a static member that leaves is removed at once",
        source="KIP-848: the epoch -2",
        wrong={"keeps_left": False},
        bounds=STATIC_LEAVES,
    ),
    Mistake(
        name="instance-not-awaited",
        sentence="a static member is replaced although it has not left",
        source="KIP-848: UNRELEASED_INSTANCE_ID",
        wrong={"awaits_leave": False},
        bounds=NO_FAILURES | {"static": True, "same_instance": True},
    ),
    Mistake(
        name="replaced-stays",
        sentence="a static member stays in the group when another one has replaced it",
        source="GroupMetadataManager.replaceMember",
        wrong={"removes_replaced": False},
        bounds=STATIC_LEAVES,
    ),
    Mistake(
        name="classic-not-told",
        sentence="heartbeats do not tell a classic member of a consumer group to join again",
        source="GroupMetadataManager.classicGroupHeartbeatToConsumerGroup",
        wrong={"tells_classic": False},
        bounds=ONE_CLASSIC,
    ),
    Mistake(
        name="classic-not-watched",
        sentence="a classic member of a consumer group that does not join or synchronise in time is not removed",
        source="GroupMetadataManager.scheduleConsumerGroupSyncTimeout",
        wrong={"watches_classic": False},
        bounds=ONE_CLASSIC | {"mutes": 1, "partitions": 1},
    ),
)

RIGHT_TOO: Mapping[tuple[str, str], str] = {
    ("interruption", "new-epoch"): "the consumer begins its reconciliation again",
    ("member_id", "coordinator"): "a member whose id nobody has learned is removed when its session expires (KIP-1082)",
    ("member_id", "consumer"): "ids are unique in either case",
    ("revoked_epoch", "next"): "the epoch is still earlier than that of the target assignment",
    ("instance_id", "first"): "the member is removed when its session expires",
    ("own_instance", "accepted"): "it is the same consumer",
    ("replaced_target", "computed"): "UniformAssignor assigns the same again",
    ("own_revoked", "unreleased"): "the partition is assigned one heartbeat later (KAFKA-19449)",
    ("own_revoked", "free"): "no other member has held the partition",
    ("rejoin", "refused"): "the consumer joins when its session has expired (KAFKA-19233)",
    ("rejoin", "accepted"): "a consumer that joins owns nothing",
    ("commit_epoch", "current"): "more commits are refused",
    ("commit_epoch", "since-assignment"): "the member has held the partition since then",
    ("lost_commit", "error"): "the consumer commits again",
    ("classic_join", "never"): "the consumer stops, and starts again",
    ("classic_join", "by-policy"): "the consumer stops, and starts again",
    ("empty_group", "behind"): "the next member to join computes a target assignment (KAFKA-20442)",
    ("empty_group", "follows"): "the target assignment of an empty group is empty",
}
"""The reasons why a value of a rule does no harm to a column with a different value."""

RULES_SHOWN_WITH: Mapping[tuple[str, str], Mapping[str, int]] = {
    **dict.fromkeys(RIGHT_TOO, ONE_LEAVES),
    ("reconciliation", "restarts"): NO_FAILURES | {"rejoins": 1},
    ("partition_epochs", "lost"): ONE_LEAVES,
    ("classic_join", "accepted"): ONE_CLASSIC | {"migrates": False},
    **LOST_COMMIT_SHOWN_WITH,
    ("report", "changed"): ONE_LEAVES,
    ("instance_id", "first"): STATIC_LEAVES,
    ("own_instance", "accepted"): STATIC_LEAVES,
    ("replaced_target", "computed"): STATIC_LEAVES,
    ("revoked_epoch", "same"): NO_FAILURES | {"rejoins": 1, "delayed": 1, "perturbations": 2, "any_target": True},
}
"""The bounds within which a value of a rule violates a property of a column with a different value. No response is
lost, because with that, all releases from 3.8 on violate properties.
"""


def may_be_mutated(column: RuleColumn) -> bool:
    """Return whether the specs of a column satisfy the properties. Otherwise, mutations could not be noticed."""
    return column.values["reconciliation"] == "awaits"
