"""Fetching: what a leader answers, where logs diverge, and what a follower makes of the answer."""

from __future__ import annotations

import attrs

from leadline.model.raft.elections import FENCED, FINE, NOT_LEADER, UNKNOWN_EPOCH, answered, halted, with_high_watermark
from leadline.model.raft.state import FOLLOWER, LEADER, Log, Node, Quorum


def fetch(state: Quorum, own: int, other: int) -> Quorum:
    """Return the state after a node has fetched from another one, which need not be a leader. An unattached node stops
    by itself if it asks the leader and knows it already (`KafkaRaftClient.handleFetchResponse` wants a follower).
    """
    error = fetch_error(state.nodes[own], state.nodes[other])
    if error:
        node, _ = answered(state.protocol, own, state.nodes[own], error, state.nodes[other])
        return state.with_node(own, node) if state.arrives(other, own) else state
    log = state.nodes[own].log
    divergence = diverging(state.nodes[other].log, log)
    if divergence is None:
        if not accepts_offset(state, own, other):
            return state
        state = acknowledged(state, own, other)
    if not state.arrives(other, own):
        return state
    node, goes_on = answered(state.protocol, own, state.nodes[own], FINE, state.nodes[other])
    if goes_on and node.role != FOLLOWER:
        node = halted(node) if state.protocol.stops_at_answer else node
    elif goes_on:
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
    ends = (*source.ends[:own], end, *source.ends[own + 1 :])
    return with_high_watermark(state.with_node(leader, attrs.evolve(source, ends=ends)), leader)


def end_of_epoch(log: Log, epoch: int) -> tuple[int, int]:
    """Return the largest epoch in a log that is not later than the given one, and where it ends. 0 and 0 if none is."""
    found = [(record.epoch, offset + 1) for offset, record in enumerate(log) if record.epoch <= epoch]
    return found[-1] if found else (0, 0)


def diverging(source: Log, log: Log) -> tuple[int, int] | None:
    """Return the epoch and offset to which a leader tells a follower to truncate, or None if its log is a prefix as far
    as epochs tell (`ReplicatedLog.validateOffsetAndEpoch`).
    """
    if not log:
        return None
    asked = log[-1].epoch
    epoch, end = end_of_epoch(source, asked)
    return None if epoch == asked and end >= len(log) else (epoch, end)


def truncated(state: Quorum, node: Node, epoch: int, end: int) -> Node:
    """Return a follower that has truncated its log (`ReplicatedLog.truncateToEndOffset`). It stops by itself
    rather than truncate below the high watermark that it knows.
    """
    own_epoch, own_end = end_of_epoch(node.log, epoch)
    to = min(own_end, end) if epoch in (0, own_epoch) else own_end
    if min(to, end) < node.high_watermark:
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
