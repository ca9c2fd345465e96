"""What a node makes of the epochs and leaders that messages name, whom it votes for, and how it becomes the leader.

An exception in the thread of the quorum stops the node: these functions return it halted then.
"""

from __future__ import annotations

import attrs

from leadline.checker.map import Map
from leadline.model.raft.bounds import nodes
from leadline.model.raft.protocols import Protocol
from leadline.model.raft.state import (
    CANDIDATE,
    DEAD,
    FOLLOWER,
    HALTED,
    LEADER,
    NONE,
    PROSPECTIVE,
    RESIGNED,
    UNATTACHED,
    Node,
    Quorum,
    Record,
)

FENCED = "FENCED_LEADER_EPOCH"
NOT_LEADER = "NOT_LEADER_OR_FOLLOWER"
UNKNOWN_EPOCH = "UNKNOWN_LEADER_EPOCH"
INVALID = "INVALID_REQUEST"
INVALID_VOTER_KEY = "INVALID_VOTER_KEY"
FINE = ""


def halted(node: Node) -> Node:
    """Return a node that has stopped by itself."""
    return node.entering(HALTED)


def following(protocol: Protocol, own: int, node: Node, epoch: int, leader: int) -> Node:
    """Return a node that follows a leader (`QuorumState.transitionToFollower`)."""
    if leader == own:
        return halted(node)  # IllegalStateException: it matches the local id
    vote = node.vote if protocol.keeps_vote and epoch == node.epoch else NONE
    return node.entering(FOLLOWER, epoch=epoch, leader=leader, vote=vote)


def unattached(node: Node, epoch: int) -> Node:
    """Return a node in a later epoch, without a leader and a vote (`QuorumState.transitionToUnattached`)."""
    return node.entering(UNATTACHED, epoch=epoch, leader=NONE, vote=NONE)


def named(protocol: Protocol, node: Node, leader: int) -> int:
    """Return the leader that a message names, or `NONE` if the node takes it for unknown."""
    return NONE if protocol.leaders_are_voters and leader in node.unlisted else leader


def informed(protocol: Protocol, own: int, node: Node, epoch: int, leader: int) -> Node:
    """Return a node after a message has told it an epoch and perhaps its leader (`KafkaRaftClient.maybeTransition`).

    A node stops by itself if it is told that it leads and does not, or if it knows another leader of the epoch
    (`KafkaRaftClient.hasConsistentLeader`).
    """
    leader = named(protocol, node, leader)
    if leader == own and node.role != LEADER:
        return halted(node)
    if epoch == node.epoch and NONE not in (leader, node.leader) and leader != node.leader:
        return halted(node)
    if epoch > node.epoch:
        return unattached(node, epoch) if leader == NONE else following(protocol, own, node, epoch, leader)
    if epoch == node.epoch and leader != NONE and (node.leader == NONE or node.unreachable):
        return following(protocol, own, node, epoch, leader)
    return node


def answered(protocol: Protocol, own: int, node: Node, error: str, other: Node) -> tuple[Node, bool]:
    """Handle what all responses have: an error, and the epoch and leader of the node that sent it.

    Returns:
        The node, and whether the rest of the response counts (`KafkaRaftClient.maybeHandleCommonResponse`).
    """
    epoch, leader = other.epoch, named(protocol, node, other.leader)
    if epoch < node.epoch or error == UNKNOWN_EPOCH:
        return node, False
    if epoch > node.epoch or error in (FENCED, NOT_LEADER):
        return informed(protocol, own, node, epoch, leader), False
    if leader != NONE and node.leader == NONE:
        return following(protocol, own, node, epoch, leader), error == FINE
    if error == INVALID:
        return halted(node), False
    return node, True


def is_up_to_date(asking: Node, asked: Node) -> bool:
    """Return whether the log of one node is at least as long as that of another: by last epoch, then by length."""
    return (asking.last_epoch, len(asking.log)) >= (asked.last_epoch, len(asked.log))


def grants_pre_vote(asked: Node, asking: Node) -> bool:
    """Return whether a node grants a pre-vote in its own epoch (KIP-996, `EpochState.canGrantVote`)."""
    if asked.role == LEADER or (asked.role == FOLLOWER and asked.fetched):
        return False
    return is_up_to_date(asking, asked)


def grants_vote(protocol: Protocol, asked: Node, number: int, asking: Node) -> bool:
    """Return whether a node grants a vote in its own epoch (`QuorumState.unattachedOrProspectiveCanGrantVote`).

    Parameters:
        number: the number of the candidate.
    """
    if asked.role not in (UNATTACHED, PROSPECTIVE):
        return False
    if asked.vote != NONE and protocol.votes_once:
        return asked.vote == number
    if asked.leader != NONE:
        return False
    return not protocol.compares_logs or is_up_to_date(asking, asked)


def handle_vote(state: Quorum, candidate: int, voter: int, *, pre_vote: bool) -> tuple[Node, str, bool]:
    """Handle a Vote request (`KafkaRaftClient.handleVoteRequest`).

    Returns:
        The node that was asked, the error in its response, and whether it grants the vote.
    """
    asking, asked = state.nodes[candidate], state.nodes[voter]
    last = asking.last_epoch
    if last > asking.epoch if pre_vote else last >= asking.epoch:
        return asked, INVALID, False
    if asking.epoch < asked.epoch:
        return asked, FENCED, False
    if asking.epoch > asked.epoch:
        asked = unattached(asked, asking.epoch)
    if state.key(voter) not in state.voters(candidate):
        return asked, INVALID_VOTER_KEY, False
    if pre_vote:
        return asked, FINE, grants_pre_vote(asked, asking)
    if not grants_vote(state.protocol, asked, candidate, asking):
        return asked, FINE, False
    return attrs.evolve(asked, vote=candidate), FINE, True


def with_grant(state: Quorum, own: int, voter: int) -> Quorum:
    """Count a vote or pre-vote, and go on if a majority has granted theirs."""
    node = state.nodes[own]
    node = attrs.evolve(node, granted=node.granted | {voter})
    return elected(state.with_node(own, node), own)


def elected(state: Quorum, own: int) -> Quorum:
    """Return the state in which a node with a majority of pre-votes is a candidate, and one of votes the leader."""
    node = state.nodes[own]
    if not state.has_majority(own, node.granted):
        return state
    if node.role == PROSPECTIVE:
        return campaigning(state, own)
    return leading(state, own)


def campaigning(state: Quorum, own: int) -> Quorum:
    """Return the state in which a node is a candidate in the next epoch, and votes for itself."""
    node = state.nodes[own]
    candidate = node.entering(CANDIDATE, epoch=node.epoch + 1, leader=NONE, vote=own)
    return elected(state.with_node(own, candidate), own)


def leading(state: Quorum, own: int) -> Quorum:
    """Return the state in which a node leads its epoch. Its log gets a LeaderChange record, and its quorum-state file
    has no vote any more (`KafkaRaftClient.onBecomeLeader`, `LeaderState.election`).
    """
    node = state.nodes[own]
    ends = Map(dict.fromkeys(nodes(state.bounds), NONE))
    node = node.entering(LEADER, leader=own, vote=NONE, ends=ends)
    node = node.with_record(Record(node.epoch, own), rereads=state.protocol.rereads_voters)
    return after_append(state.with_node(own, node), own)


def after_append(state: Quorum, leader: int) -> Quorum:
    """Return the state after a leader has appended a record. It is flushed at once unless power may be lost."""
    return state if state.bounds.power_losses else flushed(state, leader)


def flushed(state: Quorum, leader: int) -> Quorum:
    """Return the state in which a leader has flushed its log, and counts it for the high watermark."""
    node = state.nodes[leader]
    return with_high_watermark(state.with_node(leader, attrs.evolve(node, flushed=len(node.log))), leader)


def with_high_watermark(state: Quorum, leader: int) -> Quorum:
    """Return the state in which a leader has advanced its high watermark as far as a majority has the records
    (`LeaderState.maybeUpdateHighWatermark`).
    """
    node, voters = state.nodes[leader], state.voters(leader)
    ends = [node.flushed if number == leader else node.ends[number] for number, _ in voters]
    reached = sorted(ends, reverse=True)[len(voters) // 2]
    if reached < state.protocol.commits_from(node.epoch_start) or reached <= node.high_watermark:
        return state
    state = state.with_node(leader, attrs.evolve(node, high_watermark=reached))
    committed = node.log[:reached]
    return attrs.evolve(state, committed=committed) if len(committed) > len(state.committed) else state


def started(state: Quorum, own: int, node: Node) -> Quorum:
    """Return the state after a node has started with what is on its disk: its role follows from its quorum-state file
    and its log (`QuorumState.initialize`). It does not know a high watermark. If the leader is none of its voters, it
    does not know where that is.
    """
    node = attrs.evolve(node, high_watermark=0, read=0, missed=frozenset())
    if not state.protocol.persists:
        node = attrs.evolve(node, epoch=0, leader=NONE, vote=NONE)
    if node.epoch < node.last_epoch:
        node, role = unattached(node, node.last_epoch), UNATTACHED
    elif node.leader == own:
        role = RESIGNED
    elif node.vote == own:
        node, role = attrs.evolve(node, leader=NONE), CANDIDATE
    else:
        role = UNATTACHED if node.leader == NONE else FOLLOWER
    unreachable = role == FOLLOWER and not state.with_node(own, node).lists(own, node.leader)
    if unreachable:
        role = DEAD if state.protocol.leaders_are_voters else UNATTACHED
    after = state.with_node(own, node.entering(role, restarted=True, unreachable=unreachable))
    if role != RESIGNED or not state.protocol.resumes:
        return after
    after = leading(after, own)
    return after.with_node(own, attrs.evolve(after.nodes[own], restarted=True))
