"""The table of rules of KRaft's quorum: what changed between releases, with sources.

Classes are those of `org.apache.kafka.raft`.
"""

from __future__ import annotations

from leadline.model.raft.state import LEADER, RESIGNED, Node
from leadline.model.rules import Rule, RuleTable, Value


def _told_at_epoch_start(node: Node) -> bool:
    """Return whether a leader has consumed all before its epoch: at once if its log was empty."""
    return node.role == LEADER and node.high_watermark >= node.epoch_start


def _told_at_own_record(node: Node) -> bool:
    """Return whether a leader has consumed the record with which its epoch begins."""
    return node.role == LEADER and node.high_watermark > node.epoch_start


def _told_when_resigned_too(node: Node) -> bool:
    """Return the same, or whether a node has started as a former leader, which still counts as the leader."""
    return _told_at_own_record(node) or (node.role == RESIGNED and node.restarted)


RULES = (
    Rule(
        "election",
        "what a voter does whose time-out passes",
        (
            Value(
                "candidate",
                "it raises its epoch and asks for votes",
                "KIP-595; 2.8 to 3.9: KafkaRaftClient.pollFollowerAsVoter",
                {"pre_votes": False},
            ),
            Value(
                "pre-vote",
                "it asks for pre-votes, and raises its epoch if a majority grants them",
                "KIP-996, KAFKA-16164; 4.0.0: ProspectiveState",
                {"pre_votes": True},
            ),
        ),
    ),
    Rule(
        "resigned",
        "what becomes of a node that has resigned, after its time-out",
        (
            Value(
                "candidate",
                "a candidate in the next epoch",
                "2.8 to 3.9: KafkaRaftClient.pollResigned",
                {"campaigns_after_resigning": True},
            ),
            Value(
                "unattached",
                "an unattached voter in the next epoch, for which nobody is asked",
                "4.0.0: KafkaRaftClient.pollResigned",
                {"campaigns_after_resigning": False},
            ),
        ),
    ),
    Rule(
        "followers_vote",
        "whether a follower knows for whom it voted in its epoch",
        (
            Value("forgotten", "no", "2.8 to 3.9: FollowerState", {"keeps_vote": False}),
            Value(
                "kept", "yes, in memory and on disk", "4.0.0: QuorumState.transitionToFollower", {"keeps_vote": True}
            ),
        ),
    ),
    Rule(
        "isolated_leader",
        "what a leader does from which no majority fetches",
        (
            Value("stays", "it stays the leader", "KAFKA-15489; 2.8 to 3.6", {"checks_quorum": False}),
            Value(
                "resigns",
                "it resigns after 1.5 times the fetch time-out",
                "KAFKA-15489; 3.7.0: LeaderState.timeUntilCheckQuorumExpires",
                {"checks_quorum": True},
            ),
        ),
    ),
    Rule(
        "unattached",
        "how an unattached voter learns of a leader",
        (
            Value(
                "waits",
                "the leader tells it, or it begins an election",
                "2.8 to 3.9.0: KafkaRaftClient.pollUnattachedAsVoter",
                {"asks_when_unattached": False},
            ),
            Value(
                "asks",
                "it also asks the other nodes",
                "KAFKA-17030; 3.9.1, 4.0.0: KafkaRaftClient.pollUnattachedCommon",
                {"asks_when_unattached": True},
            ),
        ),
    ),
    Rule(
        "earlier_offset",
        "what a leader does if a voter fetches from an earlier offset than before",
        (
            Value(
                "refused",
                "it answers with an error, always",
                "KAFKA-12181; 2.8: LeaderState.updateEndOffset",
                {"end_may_fall": False},
            ),
            Value("accepted", "it logs a warning", "KAFKA-12181; 3.0.0", {"end_may_fall": True}),
        ),
    ),
    Rule(
        "exception",
        "what an exception in the thread of the quorum ends",
        (
            Value("thread", "the thread, while the process goes on", "KAFKA-14644; 2.8 to 3.4.0", {"exits": False}),
            Value("process", "the process", "KAFKA-14644; 3.4.1: RaftManager.RaftIoThread", {"exits": True}),
        ),
    ),
    Rule(
        "unreadable_file",
        "what a node does with a quorum-state file that it cannot read",
        (
            Value(
                "deleted",
                "it deletes it, and has neither an epoch nor a vote",
                "2.8 to 3.7: QuorumState.initialize",
                {"rebuilds_file": True},
            ),
            Value("fatal", "it does not start", "3.8.0: QuorumState.readElectionState", {"rebuilds_file": False}),
        ),
    ),
    Rule(
        "configured_voters",
        "what a node compares with the voters in its configuration when it starts",
        (
            Value(
                "compared",
                "the voters in its quorum-state file, and it does not start if they differ",
                "2.8 to 3.7: QuorumState.initialize",
                {"compares_voters": True, "leaders_are_voters": True},
            ),
            Value(
                "leader",
                "the leader in its file, and it does not start if that is no voter; later, it follows no such leader",
                "KAFKA-16526; 3.8: QuorumState.initialize, KafkaRaftClient.maybeTransition",
                {"compares_voters": False, "leaders_are_voters": True},
            ),
            Value(
                "trusted",
                "nothing: it is unattached until it learns where a leader is that is no voter",
                "KAFKA-16529; 3.9.0: QuorumState.initialize",
                {"compares_voters": False, "leaders_are_voters": False},
            ),
        ),
    ),
    Rule(
        "voters",
        "whether voters can be added and removed, with kraft.version 1",
        (
            Value("static", "no", "2.8 to 3.8: controller.quorum.voters", {"changes_voters": False}),
            Value("dynamic", "yes", "KIP-853, KAFKA-14094; 3.9.0", {"changes_voters": True}),
        ),
    ),
    Rule(
        "truncated_log",
        "from which offset a node whose log was truncated reads changes of voters",
        (
            Value("end", "from its new end; to 3.8, there are none", "2.8 to 3.8", {"rereads_voters": True}),
            Value(
                "former-end",
                "from where it ended before",
                "KIP-853; 3.9.0: KRaftControlRecordStateMachine.truncateNewEntries",
                {"rereads_voters": False},
            ),
        ),
    ),
    Rule(
        "answer_of_leader",
        "what a node does that asks the leader which its file names, and which its voters lack",
        (
            Value("heard", "it stays unattached; to 3.8, it does not start", "2.8 to 3.8", {"stops_at_answer": False}),
            Value(
                "follower",
                "it stops, because only a follower handles such an answer",
                "KAFKA-16529; 3.9.0: KafkaRaftClient.handleFetchResponse",
                {"stops_at_answer": True},
            ),
        ),
    ),
    Rule(
        "former_leader",
        "what a node does that hears that a leader has resigned which its voters lack",
        (
            Value(
                "unknown",
                "it knows the epoch, and no leader",
                "2.8 to 3.8: KafkaRaftClient.maybeTransition",
                {"stops_at_resignation": False},
            ),
            Value(
                "endpoint",
                "it stops, because it does not know where the leader is",
                "KAFKA-16529; 3.9.0: QuorumState.transitionToFollower",
                {"stops_at_resignation": True},
            ),
        ),
    ),
    Rule(
        "snapshots",
        "what snapshots nodes take, and where their logs may start",
        (
            Value(
                "none",
                "none: logs start at 0",
                "2.8: no controller takes any (KIP-630)",
                {"takes_snapshots": False, "keeps_records": True, "flushes_snapshots": True},
            ),
            Value(
                "overtaken",
                "a log may start after its snapshot, because segments are deleted by their age and size, too",
                "KIP-630; 3.0 to 3.2: KAFKA-14238, KAFKA-14240",
                {"takes_snapshots": True, "keeps_records": False, "flushes_snapshots": False},
            ),
            Value(
                "unflushed",
                "a log starts where a snapshot ends, which need not be on disk",
                "KAFKA-14238; 3.3.0 to 3.5.1: KAFKA-15312",
                {"takes_snapshots": True, "keeps_records": True, "flushes_snapshots": False},
            ),
            Value(
                "flushed",
                "a log starts where a snapshot ends, which is on disk",
                "KAFKA-15312; 3.5.2, 3.6.0: FileRawSnapshotWriter.freeze",
                {"takes_snapshots": True, "keeps_records": True, "flushes_snapshots": True},
            ),
        ),
    ),
    Rule(
        "empty_log",
        "what a leader sends to a node with an empty log",
        (
            Value(
                "records",
                "records, if it has all",
                "2.8 to 3.5: ReplicatedLog.validateOffsetAndEpoch",
                {"sends_snapshot_first": False},
            ),
            Value(
                "snapshot",
                "its snapshot, if it has one",
                "KAFKA-15078; 3.6.0: KafkaRaftClient.tryCompleteFetchRequest",
                {"sends_snapshot_first": True},
            ),
        ),
    ),
    Rule(
        "older_snapshot",
        "what a follower does with a snapshot that ends in an earlier epoch than its log",
        (
            Value(
                "stops",
                "it keeps its log and stops; when it is started again, it follows and gets no records",
                "KIP-630; 3.0 to 4.4: KafkaMetadataLog.truncateToLatestSnapshot",
                {"takes_older_snapshots": False},
            ),
            Value(
                "taken",
                "its log starts anew with it; no release does that",
                "no ticket",
                {"takes_older_snapshots": True},
            ),
        ),
    ),
    Rule(
        "controller_told",
        "when the controller is told that its node leads",
        (
            Value(
                "epoch-start",
                "when it has consumed all records before the epoch",
                "KAFKA-15345; 2.8 to 3.5: KafkaRaftClient.ListenerContext.maybeFireLeaderChange",
                {"is_told": _told_at_epoch_start},
            ),
            Value(
                "own-record",
                "when it has consumed the record with which the epoch begins",
                "KAFKA-15345; 3.6.0",
                {"is_told": _told_at_own_record},
            ),
            Value(
                "resigned-too",
                "also at the start of a node that led before",
                "KAFKA-17333; 3.7.1 to 3.8.1: KafkaRaftClient.pollListeners",
                {"is_told": _told_when_resigned_too},
            ),
        ),
    ),
)
"""The rules, in the order in which they are shown."""

TABLE = RuleTable(RULES)
