"""The rule that both protocols of groups share, because one coordinator has handled both since 4.0."""

from __future__ import annotations

from leadline.model.rules import Rule, Value

LOST_COMMIT = Rule(
    "lost_commit",
    "what a coordinator answers whose last commit was not replicated before another broker became coordinator",
    (
        Value(
            "error",
            "an error, and the consumer tries again",
            "the coordinator before 4.0; since KAFKA-20634 (4.2.2, 4.3.1 and 4.4.0)",
            {"acknowledges_lost": False},
        ),
        Value(
            "acknowledged",
            "no error, once the high watermark of the new leader is beyond the lost record",
            "KIP-848: CoordinatorPartitionWriter.ListenerAdapter of the coordinator in Java; before KAFKA-20634",
            {"acknowledges_lost": True},
        ),
    ),
)
