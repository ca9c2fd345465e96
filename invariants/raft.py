"""Properties of KRaft's quorum: who leads, what is committed, whose high watermark falls, and which node stops."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from leadline.checker.properties import invariant, recoverable, step_invariant, witness
from leadline.model.raft.state import CANDIDATE, FOLLOWER, HALTED, LEADER, RESIGNED, Log, Node, Quorum


def leads(node: Node) -> bool:
    """Return whether a node says that it leads its epoch."""
    return node.role in (LEADER, RESIGNED)


def is_current(state: Quorum, number: int) -> bool:
    """Return whether a node leads the epoch of the last committed record, or a later one. An earlier one need not have
    heard of that record.
    """
    node = state.nodes[number]
    return node.role == LEADER and (not state.committed or node.epoch >= state.committed[-1].epoch)


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
        if is_current(state, number):
            node = state.nodes[number]
            if node.log[: len(state.committed)] != state.committed:
                yield f"node {number} leads epoch {node.epoch} without all {len(state.committed)} committed records"


@invariant(
    "what a leader announces as committed is all that was committed before",
    source="QuorumState.transitionToLeader: the high watermark that leaders expose is monotonic",
)
def announced_watermark_monotonic(state: Quorum) -> Iterator[str]:
    for number in range(state.bounds.nodes):
        if is_current(state, number):
            announced = state.protocol.announces(state.nodes[number])
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
        if state.protocol.is_told(node) and node.high_watermark < before:
            yield (
                f"the controller of node {number} is told that it leads epoch {node.epoch}, and has consumed "
                f"{node.high_watermark} of {before} records that were committed before"
            )


@step_invariant(
    "a voter that reaches no majority does not raise its epoch as a candidate",
    source="KIP-996, KAFKA-16164: a partitioned voter deposes the leader when it returns",
)
def isolated_voter_waits(before: Quorum, after: Quorum) -> Iterator[str]:
    for number in range(before.bounds.nodes):
        was, now = before.nodes[number], after.nodes[number]
        reached = [other for other in range(before.bounds.nodes) if before.arrives(number, other)]
        if now.role == CANDIDATE and now.epoch > was.epoch and not before.has_majority(number, reached):
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


SITUATIONS = (voter_behind, former_leader_restarts)


@witness("two nodes lead different epochs")
def two_leaders(state: Quorum) -> bool:
    return sum(node.role == LEADER for node in state.nodes) > 1
