"""The table of rules of the classic protocol: what changed between releases, with sources, and two what-ifs."""

from __future__ import annotations

from leadline.model.group.classic import protocols as does
from leadline.model.group.rules import LOST_COMMIT
from leadline.model.rules import Rule, RuleTable, Value

RULES = (
    Rule(
        "member_id",
        "when a new member learns its member id",
        (
            Value("with-generation", "when the join phase ends", "before KIP-394", {"requires_member_id": False}),
            Value(
                "before-joining",
                "at once, and it joins with this id",
                "KIP-394, KAFKA-7824; 2.2.0",
                {"requires_member_id": True},
            ),
        ),
    ),
    Rule(
        "new_member_timer",
        "whether the session timer of a new member runs once the join phase has ended",
        (
            Value("runs", "yes", "before KAFKA-7610; again since KAFKA-9752 (2.5.0)", {"watches_new_members": True}),
            Value(
                "lost",
                "only after its first SyncGroup request or heartbeat",
                "KAFKA-7610 (2.1.1); fixed by KAFKA-9752",
                {"watches_new_members": False},
            ),
        ),
    ),
    Rule(
        "heartbeat_in_completing",
        "what a heartbeat does in CompletingRebalance",
        (
            Value("ignored", "it does not renew the session", "to 2.6.0", {"renews_in_completing": False}),
            Value("renews", "it renews the session", "KAFKA-10134; 2.6.1 and 2.7.0", {"renews_in_completing": True}),
        ),
    ),
    Rule(
        "sync_timer",
        "what happens to members that do not send SyncGroup",
        (
            Value("none", "nothing while their session is renewed", "before KAFKA-12890", {"has_sync_timer": False}),
            Value(
                "rebalance-timeout",
                "they are removed after the rebalance time-out",
                "KAFKA-12890; 2.8.1 and 3.0.0",
                {"has_sync_timer": True},
            ),
        ),
    ),
    Rule(
        "fenced_while_joining",
        "what a cooperative consumer does with its partitions when it is fenced during a rebalance",
        (
            Value("keeps", "it keeps them and claims them", "before KAFKA-12983", {"keeps_when_fenced": True}),
            Value(
                "gives-up",
                "it gives them up (onPartitionsLost)",
                "KAFKA-12983; 2.7.2, 2.8.1 and 3.0.0",
                {"keeps_when_fenced": False},
            ),
        ),
    ),
    Rule(
        "claims",
        "which claims of owned partitions the cooperative assignor believes",
        (
            Value("all", "all", "KIP-429; before KAFKA-12984", {"believed": does.all_claims}),
            Value(
                "highest-generation",
                "those of the members with the highest generation",
                "KAFKA-12984; 3.0.0",
                {"believed": does.claims_of_highest_generation},
            ),
            Value(
                "newest",
                "for each partition, the one with the highest generation",
                "KAFKA-14639; 3.4.1 and 3.5.0",
                {"believed": does.newest_claims},
            ),
        ),
    ),
    Rule(
        "illegal_generation",
        "what a consumer does with its member id after ILLEGAL_GENERATION",
        (
            Value("forgets-id", "it joins as a new member", "before KAFKA-13419", {"keeps_member_id": False}),
            Value("keeps-id", "it joins with its id", "KAFKA-13419; 3.2.0", {"keeps_member_id": True}),
        ),
    ),
    Rule(
        "transactional_commit",
        "whose offsets the coordinator accepts within a transaction",
        (
            Value("anyone", "anyone's", "before KIP-447", {"checks_transactional": False}),
            Value(
                "member",
                "those of a member of the current generation",
                "KIP-447; 2.5.0, with clients that send the generation",
                {"checks_transactional": True},
            ),
        ),
    ),
    Rule(
        "offset_expiry",
        "when committed offsets expire",
        (
            Value("each-commit", "a time after the commit", "before KIP-211", {"expires_in_use": True}),
            Value(
                "empty-group",
                "a time after the group has become empty",
                "KIP-211, KAFKA-4682; 2.1.0",
                {"expires_in_use": False},
            ),
        ),
    ),
    LOST_COMMIT,
)
"""The rules, in the order in which they are shown."""

TABLE = RuleTable(RULES)
