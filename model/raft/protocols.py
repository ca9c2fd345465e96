"""The rules of KRaft's quorum, as functions and values. `rules` contains the table of rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from leadline.model.raft.state import Node


def _own_epoch_only(node: Node) -> int:
    return node.high_watermark if node.high_watermark > node.epoch_start else 0


def _all_committed(node: Node) -> int:
    return node.high_watermark


@attrs.frozen(eq=False, kw_only=True)
class Protocol:
    """The rules in which releases differ, with all nodes of the same release.

    Attributes:
        name: the name of the release, without the family.
        summary: a sentence that describes the release.
        pre_votes: whether a node asks for pre-votes before it raises its epoch (KIP-996).
        campaigns_after_resigning: whether a node that has resigned becomes a candidate. Otherwise, it is unattached.
        keeps_vote: whether a follower knows for whom it voted in its epoch.
        checks_quorum: whether a leader resigns that no majority fetches from.
        asks_when_unattached: whether an unattached voter asks the others who leads.
        end_may_fall: whether a voter may fetch from an earlier offset than before.
        exits: whether an exception in the thread of the quorum ends the process, so that it is started again.
        rebuilds_file: whether a node starts with an unreadable quorum-state file, as if it had none.
        compares_voters: whether a node starts only with the voters that are in its quorum-state file.
        leaders_are_voters: whether a node knows no leader but its voters, and does not start if its file names another.
        changes_voters: whether voters can be added and removed (KIP-853).
        rereads_voters: whether a node reads Voters records where its log was truncated and has grown again.
        stops_at_answer: whether a node stops by itself that asks a leader which its voters lack, and is not a follower.
        stops_at_resignation: whether a node stops by itself that would follow such a leader when that has resigned.
        one_change_at_a_time: whether a change of voters waits until the one before is committed.
        changes_after_commit: whether a change of voters waits until the leader has committed a record of its epoch.
        takes_snapshots: whether nodes take snapshots, and delete the segments of their logs before them (KIP-630).
        keeps_records: whether a node deletes only segments whose records are in its snapshot.
        flushes_snapshots: whether a snapshot is on disk before it counts.
        sends_snapshot_first: whether a leader sends its snapshot to a node with an empty log in any case.
        takes_older_snapshots: whether a follower takes a snapshot that ends in an earlier epoch than its log.
        is_told: returns whether the node's controller has been told that it leads.
        resumes: whether a node that led an epoch leads it again after a restart.
        flushes_first: whether a follower flushes its log before it fetches again.
        commits_from: returns the first offset that the high watermark of a leader may have, for the offset at which
            its epoch begins.
        compares_logs: whether a vote needs a log that is at least as long.
        votes_once: whether a node votes for one candidate in an epoch.
        persists: whether the epoch and the vote are on disk.
        announces: returns the high watermark that a leader tells others: 0 until a record of its epoch is committed.
        snapshots_to: returns the last offset at which a snapshot of a node may end.
    """

    name: str = ""
    summary: str = ""
    pre_votes: bool
    campaigns_after_resigning: bool
    keeps_vote: bool
    checks_quorum: bool
    asks_when_unattached: bool
    end_may_fall: bool
    exits: bool
    rebuilds_file: bool
    compares_voters: bool
    leaders_are_voters: bool
    changes_voters: bool
    rereads_voters: bool
    stops_at_answer: bool
    stops_at_resignation: bool
    takes_snapshots: bool
    keeps_records: bool
    flushes_snapshots: bool
    sends_snapshot_first: bool
    takes_older_snapshots: bool
    is_told: Callable[[Node], bool]
    one_change_at_a_time: bool = True
    changes_after_commit: bool = True
    resumes: bool = False
    flushes_first: bool = True
    commits_from: Callable[[int], int] = lambda start: start + 1
    compares_logs: bool = True
    votes_once: bool = True
    persists: bool = True
    announces: Callable[[Node], int] = _own_epoch_only
    snapshots_to: Callable[[Node], int] = _all_committed
