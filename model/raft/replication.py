"""Fetching: what a leader answers, where logs diverge, and what a follower makes of the answer."""

from __future__ import annotations

import attrs

from leadline.model.raft.elections import FENCED, FINE, NOT_LEADER, UNKNOWN_EPOCH, answered, halted, with_high_watermark
from leadline.model.raft.protocols import Protocol
from leadline.model.raft.state import FOLLOWER, LEADER, Node, Quorum


def fetch(state: Quorum, own: int, other: int) -> Quorum:
    """Return the state after a node has fetched from another one, which need not be a leader. An unattached node stops
    by itself if it asks the leader and knows it already (`KafkaRaftClient.handleFetchResponse` wants a follower).
    """
    error = fetch_error(state.nodes[own], state.nodes[other])
    if error:
        node, _ = answered(state.protocol, own, state.nodes[own], error, state.nodes[other])
        return state.with_node(own, node) if state.arrives(other, own) else state
    source, asking = state.nodes[other], state.nodes[own]
    needs_snapshot = is_before_snapshot(state.protocol, source, asking)
    if len(asking.log) < source.start > source.snapshot:
        return state  # the answer is an error: the leader has neither the records nor a snapshot of them
    divergence = diverging(source, asking)
    if divergence is None and not needs_snapshot:
        if not accepts_offset(state, own, other):
            return state
        state = acknowledged(state, own, other)
    if not state.arrives(other, own):
        return state
    node, goes_on = answered(state.protocol, own, state.nodes[own], FINE, state.nodes[other])
    if goes_on and node.role != FOLLOWER:
        node = halted(node) if state.protocol.stops_at_answer else node
    elif goes_on:
        if needs_snapshot:
            node = loaded(state.protocol, node, source)
        else:
            source = state.nodes[other]
            node = received(state, node, source) if divergence is None else truncated(state, node, *divergence)
        if node.role == FOLLOWER:
            node = attrs.evolve(node, fetched=True)
    return state.with_node(own, node)


def fetch_error(node: Node, other: Node) -> str:
    """Return the error with which a fetch is answered (`KafkaRaftClient.validateLeaderOnlyRequest`)."""
    if node.epoch < other.epoch:
        return FENCED
    if node.epoch > other.epoch:
        return UNKNOWN_EPOCH
    return FINE if other.role == LEADER else NOT_LEADER


def accepts_offset(state: Quorum, own: int, leader: int) -> bool:
    """Return whether a leader handles a fetch. While it flushes, it only completes a fetch that waits for records."""
    source = state.nodes[leader]
    known, end = source.ends[own], len(state.nodes[own].log)
    if source.flushed < len(source.log) and known != end:
        return False
    return known <= end or state.protocol.end_may_fall


def acknowledged(state: Quorum, own: int, leader: int) -> Quorum:
    """Return the state in which a leader knows the end of a follower's log, which is all that it acknowledges."""
    source, end = state.nodes[leader], len(state.nodes[own].log)
    directories = {directory for number, directory in state.voters(leader) if number == own}
    if source.ends[own] == end or not directories <= {state.key(own)[1]}:
        return state
    told = attrs.evolve(source, ends=source.ends.put(own, end))
    return with_high_watermark(state.with_node(leader, told), leader)


def end_of_epoch(node: Node, epoch: int) -> tuple[int, int]:
    """Return the largest epoch in a node's log that is not later than the given one, and where it ends. If none is, it
    is where the log starts (`KafkaMetadataLog.endOffsetForEpoch`).
    """
    kept = range(node.start, len(node.log))
    found = [(node.log[offset].epoch, offset + 1) for offset in kept if node.log[offset].epoch <= epoch]
    return found[-1] if found else (node.epoch_before(node.start), node.start)


def diverging(source: Node, node: Node) -> tuple[int, int] | None:
    """Return the epoch and offset to which a leader tells a follower to truncate, or None if its log is a prefix as far
    as epochs tell (`ReplicatedLog.validateOffsetAndEpoch`).
    """
    if not node.log:
        return None
    asked = node.last_epoch
    epoch, end = end_of_epoch(source, asked)
    return None if epoch == asked and end >= len(node.log) else (epoch, end)


def is_before_snapshot(protocol: Protocol, source: Node, node: Node) -> bool:
    """Return whether a leader answers a fetch with its snapshot, because the log of the follower ends before that of
    the leader starts, or in an epoch before that of its earliest snapshot (`ReplicatedLog.validateOffsetAndEpoch`).
    """
    end, epoch = len(node.log), node.last_epoch
    if not end:
        return source.start > 0 or (protocol.sends_snapshot_first and source.snapshot > 0)
    if source.start > source.snapshot or not source.snapshot:
        return False
    at = source.epoch_before(source.snapshots[0])
    return end < source.start or epoch < at or (end == source.start and epoch != at)


def loaded(protocol: Protocol, node: Node, source: Node) -> Node:
    """Return a follower that has fetched its leader's snapshot, with which its log starts anew.

    A follower whose log ends in a later epoch than the snapshot stops by itself: `handleFetchSnapshotResponse` of
    `KafkaRaftClient` wants a truncated log, and `KafkaMetadataLog.truncateToLatestSnapshot` does not truncate then.
    When it is started again, it has stored the snapshot, and does not fetch it again.
    """
    end = source.snapshot
    epoch = source.epoch_before(end)
    if node.stored == (epoch, end):
        return node
    if (epoch, end) <= (node.last_epoch, len(node.log)) and not protocol.takes_older_snapshots:
        return attrs.evolve(halted(node), stored=(epoch, end))
    anew = node.with_snapshots((end,))
    anew = attrs.evolve(anew, log=source.log[:end], start=end, stored=None, flushed=end, high_watermark=end)
    anew = attrs.evolve(anew, read=0, missed=frozenset())
    return halted(anew) if end < node.high_watermark else anew


def truncated(state: Quorum, node: Node, epoch: int, end: int) -> Node:
    """Return a follower that has truncated its log (`ReplicatedLog.truncateToEndOffset`). It stops by itself
    rather than truncate below the high watermark that it knows.
    """
    own_epoch, own_end = end_of_epoch(node, epoch)
    to = min(own_end, end) if epoch in (0, own_epoch) else own_end
    if min(to, end) < node.high_watermark or to < node.start:
        return halted(node)
    read = max(node.read, len(node.log)) if state.bounds.changes else 0
    missed = frozenset(at for at in node.missed if at < to)
    read = read if read > to else 0
    return attrs.evolve(node, log=node.log[:to], flushed=min(node.flushed, to), read=read, missed=missed)


def received(state: Quorum, node: Node, source: Node) -> Node:
    """Return a follower that has appended the next record of its leader, and learned the high watermark."""
    for record in source.log[len(node.log) : len(node.log) + 1]:
        node = node.with_record(record, rereads=state.protocol.rereads_voters)
    flushed = len(node.log) if state.protocol.flushes_first else node.flushed
    told = min(state.protocol.announces(source), len(node.log)) or node.high_watermark
    if told < node.high_watermark:
        return halted(node)  # IllegalArgumentException: non-monotonic update of the high watermark
    return attrs.evolve(node, flushed=flushed, high_watermark=told)
