"""The table of rules of the consumer protocol: what changed between releases, with sources."""

from __future__ import annotations

from leadline.model.group.consumer import reconciliation as does
from leadline.model.group.rules import LOST_COMMIT
from leadline.model.rules import Rule, RuleTable, Value

RULES = (
    Rule(
        "reconciliation",
        "what a new target assignment means for a member that must still revoke partitions",
        (
            Value(
                "restarts",
                "its assignment is computed again, and what it reports is ignored",
                "3.7: CurrentAssignmentBuilder.transitionToNewTargetAssignmentState",
                {"reconciled": does.restarting},
            ),
            Value(
                "awaits",
                "nothing until it has revoked them",
                "KAFKA-16249; 3.8.0",
                {"reconciled": does.awaiting},
            ),
        ),
    ),
    Rule(
        "partition_epochs",
        "what becomes of the epoch of a partition that is assigned again to the member that shall revoke it",
        (
            Value(
                "lost",
                "it is removed, as if the partition were free",
                "3.7: ConsumerGroup.maybeUpdatePartitionEpoch",
                {"epochs_kept": False},
            ),
            Value("kept", "it is the member's epoch", "KAFKA-16147; 3.8.0", {"epochs_kept": True}),
        ),
    ),
    Rule(
        "report",
        "when a consumer reports its partitions",
        (
            Value(
                "changed",
                "when they differ from those of the last report",
                "3.7: HeartbeatRequestManager.HeartbeatState",
                {"reports_reconciled": False},
            ),
            Value(
                "reconciled",
                "after every reconciliation, also when it changes nothing",
                "KAFKA-16185, KAFKA-16312: local epochs; 3.8.0",
                {"reports_reconciled": True},
            ),
        ),
    ),
    Rule(
        "interruption",
        "what interrupts a consumer that changes its assignment",
        (
            Value(
                "new-epoch",
                "a response with a new epoch",
                "3.7: MembershipManagerImpl.memberEpochOnReconciliationStart",
                {"new_epoch_interrupts": True},
            ),
            Value(
                "rejoining",
                "only that it is fenced or leaves",
                "3.8.0: MembershipManagerImpl.maybeAbortReconciliation",
                {"new_epoch_interrupts": False},
            ),
        ),
    ),
    Rule(
        "member_id",
        "who chooses the member id",
        (
            Value("coordinator", "the coordinator, in its first response", "KIP-848", {"names_itself": False}),
            Value("consumer", "the consumer", "KIP-1082, KAFKA-17116; 4.0.0", {"names_itself": True}),
        ),
    ),
    Rule(
        "revoked_epoch",
        "the epoch of a member that has revoked partitions and must revoke more",
        (
            Value("next", "its epoch plus one", "CurrentAssignmentBuilder.build; since 3.8.0", {"adds_epoch": True}),
            Value("same", "its epoch", "KAFKA-19974; 4.2.0", {"adds_epoch": False}),
        ),
    ),
    Rule(
        "own_revoked",
        "whether a partition that a member has just revoked may be assigned to it in the same heartbeat",
        (
            Value("unreleased", "no, only in the next one", "before KAFKA-19449", {"reuses_own": False}),
            Value("free", "yes", "KAFKA-19449; 4.2.0", {"reuses_own": True}),
        ),
    ),
    Rule(
        "rejoin",
        "whether a consumer that was fenced may join again while the group knows its id with a later epoch",
        (
            Value(
                "refused",
                "no, it is fenced until its session has expired",
                "before KAFKA-19233",
                {"accepts_rejoin": False},
            ),
            Value("accepted", "yes", "KAFKA-19233; 4.3.0", {"accepts_rejoin": True}),
        ),
    ),
    Rule(
        "instance_id",
        "which heartbeats of a static member have its group.instance.id",
        (
            Value(
                "first",
                "the first one, so that the last one is refused with INVALID_REQUEST, and the member stays",
                "3.7: HeartbeatRequestManager.HeartbeatState, sentFields",
                {"sends_instance": False},
            ),
            Value("all", "all", "apache/kafka#15519; 3.8.0", {"sends_instance": True}),
        ),
    ),
    Rule(
        "own_instance",
        "whether a static member may join again while its own group.instance.id is in use",
        (
            Value(
                "unreleased",
                "no, it stops with UNRELEASED_INSTANCE_ID",
                "GroupMetadataManager.throwIfInstanceIdIsUnreleased, in all releases",
                {"accepts_own_instance": False},
            ),
            Value(
                "accepted",
                "yes, as a dynamic one",
                "apache/kafka#23542: in no release",
                {"accepts_own_instance": True},
            ),
        ),
    ),
    Rule(
        "replaced_target",
        "the target assignment when a static member is replaced",
        (
            Value(
                "computed",
                "it is computed again, in the same epoch",
                "to 3.8: GroupMetadataManager.consumerGroupHeartbeat, staticMemberReplaced",
                {"recomputes_replaced": True},
            ),
            Value(
                "taken-over",
                "the new member has that of the old one",
                "GroupMetadataManager.replaceMember; apache/kafka#16371; 3.9.0",
                {"recomputes_replaced": False},
            ),
        ),
    ),
    Rule(
        "commit_epoch",
        "which epochs of offset commits are accepted",
        (
            Value(
                "current",
                "the member's epoch",
                "KIP-848: STALE_MEMBER_EPOCH; ConsumerGroup.validateOffsetCommit",
                {"commits_since": False},
            ),
            Value(
                "since-assignment",
                "for each partition, also those since it was assigned to the member",
                "KIP-1251, KAFKA-20066; 4.3.0",
                {"commits_since": True},
            ),
        ),
    ),
    Rule(
        "empty_group",
        "whether the target assignment follows the group epoch when the last member is gone",
        (
            Value("behind", "no", "before KAFKA-20442", {"follows_when_empty": False}),
            Value("follows", "yes", "KAFKA-20442; 4.4.0", {"follows_when_empty": True}),
        ),
    ),
    Rule(
        "classic_join",
        "whether a classic consumer may join a consumer group",
        (
            Value(
                "never",
                "no",
                "3.7: a group keeps its protocol, also when it is empty",
                {"migrates": False, "refuses_classic": True},
            ),
            Value(
                "accepted",
                "yes, also if group.consumer.migration.policy is disabled",
                "KAFKA-16436: classicGroupJoinToConsumerGroup; 3.8.0",
                {"migrates": True, "refuses_classic": False},
            ),
            Value(
                "by-policy",
                "yes, unless the policy is disabled",
                "KAFKA-20640; 4.2.2, 4.3.1 and 4.4.0",
                {"migrates": True, "refuses_classic": True},
            ),
        ),
    ),
    LOST_COMMIT,
)
"""The rules, in the order in which they are shown."""

TABLE = RuleTable(RULES)
