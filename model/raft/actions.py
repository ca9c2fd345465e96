"""The actions of KRaft's quorum. A request and its response are one step; a response is lost if its link is cut.

What a running system goes on to do is healing: messages and time-outs. By default, time-outs may pass at any time. With
the bound ``early=0``, one passes only when no message to or from its node would change anything, so that liveness does
not rest on lucky time-outs.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.raft import elections, replication
from leadline.model.raft.bounds import NO_LIMIT, NodeId, nodes
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

# --- messages -----------------------------------------------------------------------------------------------------


@action("node {own} asks node {other} for its vote", own=nodes, other=nodes, effect="healing")
def ask_vote(state: Quorum, own: NodeId, other: NodeId) -> Iterator[Quorum]:
    """A candidate sends a Vote request, and counts the response. A prospective node asks for a pre-vote."""
    node = state.nodes[own]
    pre_vote = node.role == PROSPECTIVE
    if not (pre_vote or node.role == CANDIDATE) or other in node.granted or not state.arrives(own, other):
        return
    if not state.lists(own, other):
        return
    asked, error, granted = elections.handle_vote(state, own, other, pre_vote=pre_vote)
    after = state.with_node(other, asked)
    if state.arrives(other, own):
        heard, counts = elections.answered(state.protocol, own, node, error, asked)
        after = after.with_node(own, heard)
        if counts and granted and heard == node:
            after = elections.with_grant(after, own, other)
    if after != state:
        yield after


@action("node {own} tells node {other} that it leads", own=nodes, other=nodes, effect="healing")
def begin_epoch(state: Quorum, own: NodeId, other: NodeId) -> Iterator[Quorum]:
    """A leader sends BeginQuorumEpoch. If the other node has a later epoch, it leads no more."""
    if state.nodes[own].role == LEADER:
        yield from told_leader(state, own, other)


@action("node {own} tells node {other} that it has resigned", own=nodes, other=nodes, effect="healing")
def end_epoch(state: Quorum, own: NodeId, other: NodeId) -> Iterator[Quorum]:
    """A node that has resigned, or that led before its start, sends EndQuorumEpoch, so that others need not wait for
    their time-outs. One that did not know yet that it led follows it then. The request does not say where the leader
    is: a node that would follow it, and does not know this from its voters, stops by itself
    (`QuorumState.transitionToFollower` requires an endpoint).
    """
    if state.nodes[own].role != RESIGNED:
        return
    for after in told_leader(state, own, other):
        was, told = state.nodes[other], after.nodes[other]
        if told.role != FOLLOWER or told == was or state.lists(other, own):
            yield after
        elif state.protocol.stops_at_resignation:
            if not was.unreachable or was.epoch < told.epoch:
                yield after.with_node(other, elections.halted(was))
        elif was.epoch < told.epoch:
            yield after.with_node(other, elections.unattached(was, told.epoch))


def told_leader(state: Quorum, own: int, other: int) -> Iterator[Quorum]:
    """Yield the state after a node has told a voter its epoch, and that it leads that or led it
    (`KafkaRaftClient.handleBeginQuorumEpochRequest`, `handleEndQuorumEpochRequest`).
    """
    node = state.nodes[own]
    if not state.lists(own, other) or not state.arrives(own, other):
        return
    told, error = state.nodes[other], elections.FENCED
    if told.epoch <= node.epoch:
        told, error = elections.informed(state.protocol, other, told, node.epoch, own), elections.FINE
    after = state.with_node(other, told)
    if told.is_up and state.arrives(other, own):
        after = after.with_node(own, elections.answered(state.protocol, own, node, error, told)[0])
    if after != state:
        yield after


@action("node {own} fetches from node {other}", own=nodes, other=nodes, effect="healing")
def fetch(state: Quorum, own: NodeId, other: NodeId) -> Iterator[Quorum]:
    """A follower fetches one record from its leader, and acknowledges what it has. An unattached node asks anybody, to
    find the leader, if the release does that.
    """
    node = state.nodes[own]
    asks = node.role == UNATTACHED and (state.protocol.asks_when_unattached or not state.is_voter(own))
    asks = asks and other not in node.unlisted
    if (asks or (node.role == FOLLOWER and node.leader == other)) and state.arrives(own, other):
        after = replication.fetch(state, own, other)
        if after != state:
            yield after


# --- time-outs ----------------------------------------------------------------------------------------------------


@action("the timer of node {own} passes", own=nodes, effect="healing")
def time_out(state: Quorum, own: NodeId) -> Iterator[Quorum]:
    """A node has heard nothing for the time of its role: it begins an election, or gives it up."""
    if state.bounds.early == NO_LIMIT or is_idle(state, own):
        yield from timed_out(state, own)


@action("the timer of node {own} passes early", own=nodes, effect="perturbing")
def time_out_early(state: Quorum, own: NodeId) -> Iterator[Quorum]:
    """A node's timer passes although messages would still arrive, as when they are slow."""
    if state.bounds.early != NO_LIMIT and state.spent.early < state.bounds.early and not is_idle(state, own):
        yield from timed_out(state.having("early"), own)


def timed_out(state: Quorum, own: int) -> Iterator[Quorum]:
    """Yield what becomes of a node whose timer passes (`KafkaRaftClient.pollCurrentState`), but in the last epoch."""
    node = state.nodes[own]
    if node.epoch >= state.bounds.max_epoch:
        return
    if node.role in (UNATTACHED, FOLLOWER, CANDIDATE):
        if not state.is_voter(own):
            return
        if state.protocol.pre_votes:
            prospective = node.entering(PROSPECTIVE, unreachable=node.unreachable)
            yield elections.elected(state.with_node(own, prospective), own)
        else:
            yield elections.campaigning(state, own)
    elif node.role == PROSPECTIVE:
        knows_none = node.leader == NONE or node.unreachable
        role = UNATTACHED if knows_none else FOLLOWER
        yield state.with_node(own, node.entering(role, unreachable=node.unreachable))
    elif node.role == RESIGNED:
        if state.protocol.campaigns_after_resigning and state.is_voter(own):
            yield elections.campaigning(state, own)
        else:
            yield state.with_node(own, elections.unattached(node, node.epoch + 1))


def is_idle(state: Quorum, own: int) -> bool:
    """Return whether no message to or from a node would change anything, or show a follower that its leader lives."""
    node = state.nodes[own]
    if node.role == FOLLOWER and state.can_fetch(own, node.leader):
        return False
    pairs = [pair for other in nodes(state.bounds) if other != own for pair in ((own, other), (other, own))]
    sends = (ask_vote, begin_epoch, end_epoch, fetch)
    return not any(True for send in sends for pair in pairs for _ in send(state, *pair))


@action("leader {own} resigns, because no majority fetches from it", own=nodes, effect="healing")
def check_quorum(state: Quorum, own: NodeId) -> Iterator[Quorum]:
    """A leader from which no majority has fetched for 1.5 times the fetch time-out resigns (KAFKA-15489)."""
    node = state.nodes[own]
    if node.role != LEADER or not state.protocol.checks_quorum:
        return
    if (state.cut or not all(each.is_up for each in state.nodes)) and not state.is_followed(own):
        yield state.with_node(own, node.entering(RESIGNED, leader=own))


@action("node {own} starts again after it has stopped by itself", own=nodes, effect="healing")
def start_again(state: Quorum, own: NodeId) -> Iterator[Quorum]:
    """A process that has ended with an error is started again. Before KAFKA-14644, only its thread ended."""
    if state.nodes[own].role == HALTED and state.protocol.exits:
        yield elections.started(state, own, state.nodes[own])


# --- what leaders append ------------------------------------------------------------------------------------------


@action("leader {own} appends a record", own=nodes)
def append(state: Quorum, own: NodeId) -> Iterator[Quorum]:
    """The controller of a leader writes a record."""
    node = state.nodes[own]
    if node.role == LEADER and state.values < state.bounds.values:
        changed = node.with_record(Record(node.epoch, own, state.values), rereads=state.protocol.rereads_voters)
        after = attrs.evolve(state.with_node(own, changed), values=state.values + 1)
        yield elections.after_append(after, own)


@action("leader {own} flushes its log", own=nodes, effect="healing")
def flush(state: Quorum, own: NodeId) -> Iterator[Quorum]:
    """A leader flushes what it has appended. Others may have fetched it by then."""
    node = state.nodes[own]
    if node.role == LEADER and node.flushed < len(node.log):
        yield elections.flushed(state, own)


# --- snapshots ---------------------------------------------------------------------------------------------------


@action("node {own} takes a snapshot", own=nodes)
def take_snapshot(state: Quorum, own: NodeId) -> Iterator[Quorum]:
    """A node writes what it has applied to a snapshot, which may end before any record up to its high watermark: a
    listener gets the committed records in parts (KIP-630, `KafkaMetadataLog.createNewSnapshot`).
    """
    node = state.nodes[own]
    if state.spent.snapshots < state.bounds.snapshots and state.protocol.takes_snapshots and node.is_up:
        for end in range(node.snapshot + 1, state.protocol.snapshots_to(node) + 1):
            yield state.having("snapshots").with_node(own, node.with_snapshots((*node.snapshots, end)))


@action("node {own} deletes the segments before a snapshot", own=nodes)
def delete_segments(state: Quorum, own: NodeId) -> Iterator[Quorum]:
    """A node moves the start of its log to a snapshot, when it knows a high watermark behind that, and deletes the
    earlier ones (`KafkaMetadataLog.deleteBeforeSnapshot`). Before KAFKA-14238, the retention of segments moves it, too,
    up to the high watermark.
    """
    node = state.nodes[own]
    if not state.bounds.snapshots or not node.is_up:
        return
    moves = state.protocol.takes_snapshots and not state.protocol.keeps_records
    for start in sorted({*node.snapshots, node.high_watermark if moves else 0}):
        if node.start < start <= node.high_watermark:
            kept = tuple(end for end in node.snapshots if end >= start or start not in node.snapshots)
            yield state.with_node(own, attrs.evolve(node.with_snapshots(kept), start=start))


# --- changes of voters --------------------------------------------------------------------------------------------


@action("leader {own} adds or removes node {other} as a voter", own=nodes, other=nodes, effect="perturbing")
def change_voters(state: Quorum, own: NodeId, other: NodeId) -> Iterator[Quorum]:
    """An operator adds a voter whose fetches show that it has caught up, or removes one (KIP-853). New voters count
    from the append on.
    """
    if state.spent.changes >= state.bounds.changes or not may_change_voters(state, own):
        return
    node, voters, key = state.nodes[own], state.voters(own), state.key(other)
    known = frozenset(each for each in voters if each[0] == other)
    if known and voters != known:
        changed = voters - known
    elif not known and state.nodes[other].log == node.log and node.ends[other] == len(node.log):
        changed = voters | {key}
    else:
        return
    record = Record(node.epoch, own, voters=changed)
    longer = node.with_record(record, rereads=state.protocol.rereads_voters)
    after = state.having("changes").with_node(own, longer)
    yield elections.after_append(after, own)


def may_change_voters(state: Quorum, own: int) -> bool:
    """Return whether a leader accepts a change of voters: if it has committed in its epoch, and the last change."""
    node = state.nodes[own]
    if node.role != LEADER:
        return False
    if state.protocol.changes_after_commit and not state.protocol.announces(node):
        return False
    return node.changes_committed or not state.protocol.one_change_at_a_time


@action("leader {own} resigns, because it is no voter any more", own=nodes, effect="healing")
def leave(state: Quorum, own: NodeId) -> Iterator[Quorum]:
    """A leader that was removed resigns when that is committed (`RemoveVoterHandler.highWatermarkUpdated`)."""
    node = state.nodes[own]
    if node.role == LEADER and not state.is_voter(own) and node.changes_committed:
        yield state.with_node(own, node.entering(RESIGNED, leader=own))


# --- perturbations ------------------------------------------------------------------------------------------------


@action("leader {own} resigns", own=nodes, effect="perturbing")
def resign(state: Quorum, own: NodeId) -> Iterator[Quorum]:
    """A leader resigns, because its controller has failed. It says that it leads until its epoch ends."""
    node = state.nodes[own]
    if node.role == LEADER and state.spent.resignations < state.bounds.resignations:
        yield state.having("resignations").with_node(own, node.entering(RESIGNED, leader=own))


@action("node {own} restarts", own=nodes, effect="perturbing")
def restart(state: Quorum, own: NodeId) -> Iterator[Quorum]:
    """A process ends and starts again. Nothing is lost: what it has written is in the page cache."""
    node = state.nodes[own]
    if state.spent.restarts < state.bounds.restarts and node.is_up:
        yield elections.started(state.having("restarts"), own, attrs.evolve(node, flushed=len(node.log)))


@action("node {own} loses power, and starts again", own=nodes, effect="perturbing")
def lose_power(state: Quorum, own: NodeId) -> Iterator[Quorum]:
    """A machine loses power: the records that were not flushed are gone. quorum-state is always flushed. Before
    KAFKA-15312, what its snapshot contains may be gone, too.
    """
    node = state.nodes[own]
    if state.spent.power_losses < state.bounds.power_losses and node.is_up:
        after = state.having("power_losses")
        yield elections.started(after, own, node.cut_at(node.flushed))
        for number in range(0 if state.protocol.flushes_snapshots else len(node.snapshots)):
            lost = node.with_snapshots(node.snapshots[:number]).cut_at(max(node.flushed, node.start))
            yield elections.started(after, own, lost)


@action("the disk of node {own} is replaced by an empty one", own=nodes, effect="perturbing")
def replace_disk(state: Quorum, own: NodeId) -> Iterator[Quorum]:
    """A node starts with its id and nothing on its disk. With kraft.version 0, it is the same voter (KAFKA-14205)."""
    if state.spent.disks < state.bounds.disks and state.nodes[own].role != DEAD:
        empty = Node(restarted=True, directory=state.nodes[own].directory + 1 if state.bounds.dynamic else 0)
        yield state.having("disks").with_node(own, empty)


@action("node {own} starts, and its log is cut before its last record", own=nodes, effect="perturbing")
def cut_log(state: Quorum, own: NodeId) -> Iterator[Quorum]:
    """The last batch has a wrong checksum, so that the start cuts the log there (`LogLoader.recoverLog`). quorum-state
    stays as it is.
    """
    node = state.nodes[own]
    if state.spent.cuts < state.bounds.cuts and node.is_up and len(node.log) > node.start:
        yield elections.started(state.having("cuts"), own, node.cut_at(len(node.log) - 1))


@action("node {own} starts with a quorum-state file that it cannot read", own=nodes, effect="perturbing")
def lose_file(state: Quorum, own: NodeId) -> Iterator[Quorum]:
    """To 3.7, a node starts as if it had no such file; since 3.8, it does not start."""
    node = state.nodes[own]
    if state.spent.files < state.bounds.files and node.is_up:
        lost = attrs.evolve(node, epoch=0, leader=NONE, vote=NONE, flushed=len(node.log))
        after = state.having("files")
        if state.protocol.rebuilds_file:
            yield elections.started(after, own, lost)
        else:
            yield after.with_node(own, lost.entering(DEAD))


@action("node {own} starts, and its configuration lacks voter {other}", own=nodes, other=nodes, effect="perturbing")
def change_configuration(state: Quorum, own: NodeId, other: NodeId) -> Iterator[Quorum]:
    """controller.quorum.voters is changed on one node. To 3.7, it does not start with other voters than before; in 3.8,
    not without the leader that it followed.
    """
    node = state.nodes[own]
    if state.spent.configurations < state.bounds.configurations and node.is_up and other not in {own, *node.unlisted}:
        after = state.having("configurations")
        changed = attrs.evolve(node, flushed=len(node.log), unlisted=node.unlisted | {other})
        if state.protocol.compares_voters:
            yield after.with_node(own, changed.entering(DEAD))
        else:
            yield elections.started(after, own, changed)


@action("node {own} stops for ever", own=nodes, effect="perturbing")
def die(state: Quorum, own: NodeId) -> Iterator[Quorum]:
    """A node stops, and is not started again."""
    node = state.nodes[own]
    if state.spent.deaths < state.bounds.deaths and node.is_up:
        yield state.having("deaths").with_node(own, node.entering(DEAD))


@action("messages from node {own} no longer reach node {other}", own=nodes, other=nodes, effect="perturbing")
def cut_link(state: Quorum, own: NodeId, other: NodeId) -> Iterator[Quorum]:
    """A link is cut in one direction."""
    if state.spent.links < state.bounds.links and own != other and (own, other) not in state.cut:
        yield attrs.evolve(state.having("links"), cut=state.cut | {(own, other)})


@action("messages from node {own} reach node {other} again", own=nodes, other=nodes, effect="perturbing")
def restore_link(state: Quorum, own: NodeId, other: NodeId) -> Iterator[Quorum]:
    """A link that was cut works again."""
    if (own, other) in state.cut:
        yield attrs.evolve(state, cut=state.cut - {(own, other)})


ACTIONS = (
    ask_vote,
    begin_epoch,
    end_epoch,
    fetch,
    time_out,
    time_out_early,
    check_quorum,
    start_again,
    append,
    flush,
    take_snapshot,
    delete_segments,
    change_voters,
    leave,
    resign,
    restart,
    lose_power,
    replace_disk,
    cut_log,
    lose_file,
    change_configuration,
    die,
    cut_link,
    restore_link,
)


def would_raise_more(state: Quorum) -> bool:
    """Return whether only `Bounds.max_epoch` keeps a node from an election, or from a later epoch."""
    return any(
        node.epoch >= state.bounds.max_epoch
        and node.role in (UNATTACHED, FOLLOWER, CANDIDATE, RESIGNED)
        and (state.bounds.early == NO_LIMIT or is_idle(state, own))
        for own, node in enumerate(state.nodes)
    )
