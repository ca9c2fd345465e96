"""Deliberately wrong rules of KRaft's quorum that are not values in the table of rules: Raft's own mistakes."""

from __future__ import annotations

from collections.abc import Mapping

from leadline.model.mistakes import Mistake
from leadline.model.raft.state import Node
from leadline.model.rules import RuleColumn


def _at_epoch_start(start: int) -> int:
    return start


def _anything(start: int) -> int:
    return 1


def _all_it_knows(node: Node) -> int:
    return node.high_watermark


def _all_it_has(node: Node) -> int:
    return len(node.log)


ONE_EPOCH = {"max_epoch": 1, "values": 0}

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        name="older-epoch-committed",
        sentence="a leader commits records of older epochs before one of its own",
        source="Raft: figure 8",
        wrong={"commits_from": _anything},
        bounds={"max_epoch": 4, "values": 0},
    ),
    Mistake(
        name="commits-at-epoch-start",
        sentence="a leader announces a high watermark at the start of its epoch, before its own record",
        source="KAFKA-12619: ensure LeaderChange message is committed before initializing high watermark",
        wrong={"commits_from": _at_epoch_start},
        bounds={"max_epoch": 4, "values": 0},
    ),
    Mistake(
        name="shorter-log-elected",
        sentence="a voter does not compare the candidate's log with its own",
        source="Raft: the election restriction",
        wrong={"compares_logs": False},
        bounds={"max_epoch": 2, "values": 0},
    ),
    Mistake(
        name="two-votes",
        sentence="a voter votes again in an epoch in which it has voted",
        source="Raft: votedFor",
        wrong={"votes_once": False},
        bounds=ONE_EPOCH,
    ),
    Mistake(
        name="file-not-written",
        sentence="the epoch and the vote are not on disk",
        source="Raft: persistent state; FileQuorumStateStore",
        wrong={"persists": False},
        bounds=ONE_EPOCH | {"restarts": 1},
    ),
    Mistake(
        name="leader-resumes",
        sentence="a leader that restarts leads its epoch again",
        source="KAFKA-10527: Voters should always initialize as followers",
        wrong={"resumes": True},
        bounds={"max_epoch": 1, "values": 1, "power_losses": 1},
    ),
    Mistake(
        name="acknowledged-unflushed",
        sentence="a follower acknowledges records before they are on disk",
        source="KAFKA-10533: Add log flush semantics to simulation",
        wrong={"flushes_first": False},
        bounds={"max_epoch": 2, "values": 0, "power_losses": 1},
    ),
    Mistake(
        name="two-changes",
        sentence="a leader changes the voters although the change before is not committed",
        source="KIP-853; Raft: single-server changes",
        wrong={"one_change_at_a_time": False},
        bounds={"max_epoch": 2, "values": 0, "dynamic": True, "changes": 2},
    ),
    Mistake(
        name="watermark-inherited",
        sentence="a new leader announces the high watermark that it knew as a follower",
        source="QuorumState.transitionToLeader: the leader does not retain the high watermark",
        wrong={"announces": _all_it_knows},
        bounds={"max_epoch": 2, "values": 1},
    ),
    Mistake(
        name="uncommitted-in-snapshot",
        sentence="a node takes a snapshot of all records in its log, committed or not",
        source="KIP-630; KafkaMetadataLog.createNewSnapshot",
        wrong={"snapshots_to": _all_it_has},
        bounds=ONE_EPOCH | {"snapshots": 1},
    ),
)

RIGHT_TOO: Mapping[tuple[str, str], str] = {
    ("election", "candidate"): "more elections, which are as safe (KIP-996)",
    ("election", "pre-vote"): "pre-votes only prevent elections",
    ("resigned", "candidate"): "it votes for itself in the next epoch, as any candidate",
    ("resigned", "unattached"): "it waits for an election in the next epoch",
    ("followers_vote", "forgotten"): "a follower votes for nobody in its epoch",
    ("isolated_leader", "stays"): "it can commit nothing (KAFKA-15489)",
    ("isolated_leader", "resigns"): "a leader may always resign",
    ("unattached", "waits"): "it learns the leader from the leader, or begins an election",
    ("unattached", "asks"): "an answer names the leader as the leader itself would",
    ("earlier_offset", "accepted"): "the high watermark does not fall with it",
    ("exception", "thread"): "no exception is thrown within these bounds",
    ("exception", "process"): "no exception is thrown within these bounds",
    ("unreadable_file", "fatal"): "a node that does not start votes for nobody",
    ("configured_voters", "leader"): "other voters on one node are unsupported in all releases (strimzi#9429)",
    ("configured_voters", "compared"): "a node that does not start votes for nobody",
    ("voters", "static"): "voters do not change within these bounds",
    ("voters", "dynamic"): "voters do not change within these bounds",
    ("truncated_log", "end"): "it reads all changes",
    ("truncated_log", "former-end"): "voters do not change within these bounds",
    ("answer_of_leader", "heard"): "it waits for the leader",
    ("answer_of_leader", "follower"): "its voters have the leader within these bounds",
    ("former_leader", "unknown"): "it waits for the next leader",
    ("former_leader", "endpoint"): "its voters have the leader within these bounds",
    ("snapshots", "none"): "all records stay in logs",
    ("snapshots", "flushed"): "nothing of a snapshot is lost",
    ("empty_log", "records"): "a log that starts at 0 has what its snapshot contains",
    ("empty_log", "snapshot"): "a snapshot contains what the log has",
    ("older_snapshot", "stops"): "no log ends in a later epoch than a snapshot within these bounds",
    ("older_snapshot", "taken"): "a snapshot has only what is committed",
    ("controller_told", "epoch-start"): "it has consumed all records before its epoch (KAFKA-15345)",
    ("controller_told", "own-record"): "it has consumed all records before its epoch",
}
"""The reasons why a value of a rule does no harm to a column with a different value."""

RULES_SHOWN_WITH: Mapping[tuple[str, str], Mapping[str, int]] = {
    **{key: {"max_epoch": 2, "values": 0} for key in RIGHT_TOO},
    ("earlier_offset", "refused"): {"max_epoch": 1, "values": 0, "cuts": 1},
    ("followers_vote", "kept"): ONE_EPOCH | {"restarts": 1},
    ("configured_voters", "trusted"): ONE_EPOCH | {"configurations": 2},
    ("unreadable_file", "deleted"): ONE_EPOCH | {"files": 1},
    ("snapshots", "overtaken"): ONE_EPOCH | {"snapshots": 1},
    ("snapshots", "unflushed"): ONE_EPOCH | {"snapshots": 1, "power_losses": 1},
    **{("empty_log", value): {"max_epoch": 2, "values": 0, "snapshots": 1} for value in ("records", "snapshot")},
    ("controller_told", "resigned-too"): {"max_epoch": 2, "values": 0, "restarts": 1},
}
"""The bounds within which a value of a rule violates a property of a column with a different value."""


def may_be_mutated(column: RuleColumn) -> bool:
    """Return whether the specs of a column satisfy the properties. Otherwise, mutations could not be noticed."""
    return column.values["election"] == "candidate" and column.values["controller_told"] == "own-record"
