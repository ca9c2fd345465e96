"""Properties of KRaft's quorum: who leads, what is committed, whose high watermark falls, and which node stops."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from leadline.checker.properties import invariant, recoverable, step_invariant, step_witness, witness
from leadline.model.raft.bounds import Bounds, Spent
from leadline.model.raft.state import CANDIDATE, FOLLOWER, HALTED, LEADER, RESIGNED, Log, Node, Quorum, numbers


def leads(node: Node) -> bool:
    """Return whether a node says that it leads its epoch."""
    return node.role in (LEADER, RESIGNED)


def is_current(state: Quorum, node: Node) -> bool:
    """Return whether a node is in the epoch of the last committed record, or a later one. An earlier leader need not
    have heard of that record, nor of those of earlier epochs that were committed with it.
    """
    return not state.committed or node.epoch >= state.committed[-1].epoch


@invariant("an epoch has one leader", source="Raft: Election Safety; KIP-595; Vanlightly's KRaft.tla: NoIllegalState")
def one_leader_per_epoch_of_quorum(state: Quorum) -> Iterator[str]:
    """Counts as leaders those that have resigned, too, because their records are in logs."""
    for one, other in itertools.combinations(range(state.bounds.nodes), 2):
        first, second = state.nodes[one], state.nodes[other]
        if leads(first) and leads(second) and first.epoch == second.epoch:
            yield f"nodes {one} and {other} lead epoch {first.epoch}"


def first_mismatch(one: Log, other: Log) -> int | None:
    """Return the first offset at which two logs have equal epochs although they differ there or before, or None."""
    pairs = list(zip(one, other, strict=False))
    equal = [offset for offset, (a, b) in enumerate(pairs) if a.epoch == b.epoch]
    return next((offset for offset in equal if one[: offset + 1] != other[: offset + 1]), None)


@invariant(
    "if two logs have a record with the same offset and epoch, they are equal up to there",
    source="Raft: Log Matching; KRaft.tla: LogMatching; KAFKA-10527",
)
def quorum_log_matching(state: Quorum) -> Iterator[str]:
    for one, other in itertools.combinations(range(state.bounds.nodes), 2):
        offset = first_mismatch(state.nodes[one].log, state.nodes[other].log)
        if offset is not None:
            yield f"the logs of nodes {one} and {other} differ up to offset {offset}, where their epochs are equal"


@invariant(
    "a leader has all records that were committed in earlier epochs",
    source="Raft: Leader Completeness; KRaft.tla: LeaderCompleteness; KAFKA-12619",
)
def quorum_leader_complete(state: Quorum) -> Iterator[str]:
    for number in range(state.bounds.nodes):
        node = state.nodes[number]
        lacks = node.log[: len(state.committed)] != state.committed
        if lacks and node.role == LEADER and is_current(state, node):
            yield f"node {number} leads epoch {node.epoch} without all {len(state.committed)} committed records"


@invariant(
    "what a leader announces as committed is all that was committed before",
    source="QuorumState.transitionToLeader: the high watermark that leaders expose is monotonic",
)
def announced_watermark_monotonic(state: Quorum) -> Iterator[str]:
    for number in range(state.bounds.nodes):
        node = state.nodes[number]
        if node.role == LEADER and is_current(state, node):
            announced = state.protocol.announces(node)
            if 0 < announced < len(state.committed):
                yield f"node {number} announces {announced} committed records, after {len(state.committed)}"


@step_invariant(
    "the high watermark that a node knows does not fall while it runs", source="FollowerState.updateHighWatermark"
)
def quorum_watermark_monotonic(before: Quorum, after: Quorum) -> Iterator[str]:
    """This property is kept for models that change what a follower does: here it stops rather than lower its high
    watermark, which `halts` notices.
    """
    for number in range(before.bounds.nodes):
        was, now = before.nodes[number], after.nodes[number]
        if now.high_watermark < was.high_watermark and now.is_up and not now.restarted:
            yield f"the high watermark of node {number} was {was.high_watermark}, and is {now.high_watermark}"


@step_invariant(
    "a running node does not truncate below the high watermark that it knows",
    source="KAFKA-12460: Raft should prevent truncation below high watermark",
)
def nothing_committed_truncated(before: Quorum, after: Quorum) -> Iterator[str]:
    """This property is kept for the same reason: a follower stops rather than truncate there."""
    for number in range(before.bounds.nodes):
        was, now = before.nodes[number], after.nodes[number]
        if len(now.log) < was.high_watermark and now.is_up and not now.restarted:
            yield f"node {number} truncates to {len(now.log)}, below its high watermark {was.high_watermark}"


@invariant(
    "a leader accepts the fetches of the nodes that follow it, also of one that has lost its log",
    source="KAFKA-12181: Loosen raft fetch offset validation of remote replicas",
)
def followers_accepted(state: Quorum) -> Iterator[str]:
    for number in range(state.bounds.nodes):
        node = state.nodes[number]
        if node.role == FOLLOWER and node.leader != number and state.can_fetch(number, node.leader):
            known = state.nodes[node.leader].ends[number]
            if known > len(node.log) and not state.protocol.end_may_fall:
                yield f"node {node.leader} knows offset {known} of node {number}, and refuses {len(node.log)}"


@invariant(
    "a node's voters are those of the last Voters record in its log",
    source="KIP-853: the voters are those of the latest VotersRecord, also if it is not committed",
)
def voters_in_force(state: Quorum) -> Iterator[str]:
    for number in range(state.bounds.nodes):
        node = state.nodes[number]
        last = next((record.voters for record in reversed(node.log) if record.voters is not None), None)
        if node.is_up and last is not None and last != (known := state.voters(number)):
            yield f"node {number} takes {numbers(known)} for the voters, and the log says {numbers(last)}"


@invariant(
    "what two nodes have applied is the same, as far as both have applied something",
    source="KIP-595; MetadataLoader: a broker applies the records below its high watermark, one after the other",
)
def applied_in_one_order(state: Quorum) -> Iterator[str]:
    """Of observers, too: brokers are observers. This property is kept for models in which a follower keeps what a
    leader does not have: here, a leader lacks committed records before two nodes have applied different ones.
    """
    for one, other in itertools.combinations(range(state.bounds.nodes), 2):
        first, second = state.nodes[one], state.nodes[other]
        both = min(first.high_watermark, second.high_watermark)
        if first.is_up and second.is_up and first.log[:both] != second.log[:both]:
            yield f"nodes {one} and {other} have applied different records"


def takes_snapshots(bounds: Bounds) -> bool:
    return bounds.snapshots != 0


@invariant(
    "what a node has deleted from its log is in its snapshot",
    source="KIP-630; KAFKA-14238: KRaft metadata log should not delete segment past the latest snapshot; KAFKA-15312",
    applies=takes_snapshots,
)
def deleted_records_in_snapshot(state: Quorum) -> Iterator[str]:
    for number, node in enumerate(state.nodes):
        if node.start > node.snapshot:
            yield f"the log of node {number} starts at {node.start}, and its snapshot ends at {node.snapshot}"


@invariant(
    "a snapshot has only committed records",
    source="KIP-630: a replica takes a snapshot of what is below its high watermark",
    applies=takes_snapshots,
)
def snapshots_committed(state: Quorum) -> Iterator[str]:
    for number, node in enumerate(state.nodes):
        if node.log[: node.snapshot] != state.committed[: node.snapshot]:
            yield f"the snapshot of node {number} ends at {node.snapshot}, and has records that are not committed"


@invariant("no node stops by itself", source="KAFKA-14644: an exception in the thread of the quorum ends the process")
def halts(state: Quorum) -> Iterator[str]:
    for number in range(state.bounds.nodes):
        if state.nodes[number].role == HALTED:
            yield f"node {number} has stopped by itself in epoch {state.nodes[number].epoch}"


@invariant(
    "a controller that is told that it leads has consumed all records that were committed in earlier epochs",
    source="KAFKA-15345, KAFKA-17333",
)
def active_controller_complete(state: Quorum) -> Iterator[str]:
    for number in range(state.bounds.nodes):
        node = state.nodes[number]
        before = sum(record.epoch < node.epoch for record in state.committed)
        if is_current(state, node) and state.protocol.is_told(node) and node.high_watermark < before:
            yield (
                f"the controller of node {number} is told that it leads epoch {node.epoch}, and has consumed "
                f"{node.high_watermark} of {before} records that were committed before"
            )


def isolated(state: Quorum) -> Iterator[int]:
    """Yield the nodes whose messages do not reach a majority."""
    for number in range(state.bounds.nodes):
        reached = [other for other in range(state.bounds.nodes) if state.arrives(number, other)]
        if not state.has_majority(number, reached):
            yield number


@step_invariant(
    "a voter that reaches no majority does not raise its epoch as a candidate",
    source="KIP-996, KAFKA-16164: a partitioned voter deposes the leader when it returns",
)
def isolated_voter_waits(before: Quorum, after: Quorum) -> Iterator[str]:
    for number in range(before.bounds.nodes):
        was, now = before.nodes[number], after.nodes[number]
        if now.role == CANDIDATE and now.epoch > was.epoch and number in isolated(before):
            yield f"node {number} reaches no majority, and is a candidate in epoch {now.epoch}"


# --- liveness -----------------------------------------------------------------------------------------------------


@recoverable(
    "from every state, a leader that a majority follows is possible again",
    by_healing=True,
    source="KIP-595; Vanlightly's kip_996: EventuallyLeaderElected; KAFKA-12181, KAFKA-17030",
)
def quorum_recovers(state: Quorum) -> bool:
    """Check it with ``-b early=0``, so that no time-out passes before the messages that would arrive."""
    return any(state.is_followed(number) for number in range(state.bounds.nodes))


@recoverable(
    "from every state, it is possible that no node leads but one that a majority follows",
    by_healing=True,
    source="KAFKA-15489: Split brain in KRAFT; the leader never steps down",
)
def isolated_leader_resigns(state: Quorum) -> bool:
    return all(state.nodes[n].role != LEADER or state.is_followed(n) for n in range(state.bounds.nodes))


# --- witnesses ----------------------------------------------------------------------------------------------------


@witness("a leader commits a record")
def quorum_commits(state: Quorum) -> bool:
    return bool(state.committed)


@witness("a leader knows a later offset of a follower than that from which it fetches")
def voter_behind(state: Quorum) -> bool:
    return any(
        node.role == FOLLOWER
        and node.leader != number
        and state.can_fetch(number, node.leader)
        and state.nodes[node.leader].ends[number] > len(node.log)
        for number, node in enumerate(state.nodes)
    )


@witness("a node that led restarts, and has resigned")
def former_leader_restarts(state: Quorum) -> bool:
    return any(node.role == RESIGNED and node.restarted for node in state.nodes)


@witness("a node starts again with a record of its epoch in its log")
def member_of_epoch_restarts(state: Quorum) -> bool:
    return any(node.restarted and 0 < node.epoch == node.last_epoch and node.role != RESIGNED for node in state.nodes)


@witness("a follower whose log was truncated can get a change of voters at an offset at which it had another record")
def change_after_truncation(state: Quorum) -> bool:
    return any(
        node.role == FOLLOWER
        and any(record.voters is not None for record in state.nodes[node.leader].log[len(node.log) : node.read])
        for node in state.nodes
    )


@witness("a node whose voters lack its leader can ask that leader")
def stranger_can_be_asked(state: Quorum) -> bool:
    return any(node.unreachable and state.can_fetch(number, node.leader) for number, node in enumerate(state.nodes))


@witness("a leader has resigned that the voters of another node lack, to which it can say so")
def stranger_has_resigned(state: Quorum) -> bool:
    return any(
        source.role == RESIGNED and state.arrives(leader, other) and state.lists(leader, other)
        for other, node in enumerate(state.nodes)
        for leader, source in enumerate(state.nodes)
        if node.epoch <= source.epoch and node.leader != leader and not state.lists(other, leader)
    )


@witness("the log of a node starts after 0")
def metadata_log_starts_later(state: Quorum) -> bool:
    return any(node.start for node in state.nodes)


@step_witness("a follower's log starts anew with the snapshot of its leader")
def snapshot_fetched(before: Quorum, after: Quorum) -> bool:
    return any(
        now.start > was.start and now.log[: now.start] != was.log[: now.start]
        for was, now in zip(before.nodes, after.nodes, strict=True)
    )


@step_witness("something fails or is changed after a record was committed")
def disturbed_after_commit(before: Quorum, after: Quorum) -> bool:
    return bool(before.committed) and after.spent != before.spent


@step_witness("a leader commits a record after something has failed or was changed")
def commits_after_disturbance(before: Quorum, after: Quorum) -> bool:
    return before.spent != Spent() and len(after.committed) > len(before.committed)


@witness("a voter reaches no majority")
def voter_isolated(state: Quorum) -> bool:
    return any(True for _ in isolated(state))


@witness("a leader reaches no majority")
def leader_isolated(state: Quorum) -> bool:
    return any(state.nodes[number].role == LEADER for number in isolated(state))


SITUATIONS = (
    voter_behind,
    former_leader_restarts,
    member_of_epoch_restarts,
    change_after_truncation,
    stranger_can_be_asked,
    stranger_has_resigned,
    disturbed_after_commit,
    commits_after_disturbance,
    voter_isolated,
    leader_isolated,
    metadata_log_starts_later,
    snapshot_fetched,
)


@witness("two nodes lead different epochs")
def two_leaders(state: Quorum) -> bool:
    return sum(node.role == LEADER for node in state.nodes) > 1
