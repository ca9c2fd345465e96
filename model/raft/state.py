"""The state of KRaft's quorum: the nodes with their logs, the links between them, and what was ever committed.

What is on a node's disk follows from its state: Kafka writes quorum-state, the file with the epoch, the leader and the
vote, before it enters any role but Prospective and Resigned, neither of which changes them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import attrs

from leadline.checker.errors import SpecError
from leadline.checker.map import Map
from leadline.checker.state import component, constant, history
from leadline.checker.update import field_of
from leadline.model.raft.bounds import Bounds, NodeId, Spent, voters_at_first
from leadline.model.raft.protocols import Protocol

NONE = -1

UNATTACHED = "unattached"
FOLLOWER = "follower"
PROSPECTIVE = "prospective"
CANDIDATE = "candidate"
LEADER = "leader"
RESIGNED = "resigned"
HALTED = "halted"
DEAD = "dead"

STOPPED = (HALTED, DEAD)

NO_ENDS: Map[NodeId, int] = Map()


Voters = frozenset[tuple[NodeId, int]]
"""Voters, as pairs of node and directory. Directories are 0 with kraft.version 0, which does not know them."""


def numbers(voters: Voters) -> list[int]:
    """Return the numbers of voters in ascending order."""
    return sorted(number for number, _ in voters)


@attrs.frozen(cache_hash=True)
class Record:
    """A record of the metadata log.

    Attributes:
        epoch: the epoch of the leader that appended it.
        leader: the leader that appended it.
        value: the number of the value, or `NONE` for another record. One without voters is the LeaderChange record with
            which a leader begins its epoch.
        voters: the voters from this record on, or None if it does not change them.
    """

    epoch: int
    leader: NodeId
    value: int = NONE
    voters: Voters | None = None


Log = tuple[Record, ...]


@attrs.frozen(cache_hash=True)
class Node:
    """A node, which is a voter.

    Attributes:
        role: the role.
        epoch: the epoch that it knows.
        leader: the leader of the epoch, or `NONE` if it does not know one.
        vote: the node for which it voted in the epoch, or `NONE`.
        log: the records in its log, with those that were deleted from it.
        snapshot: where its latest snapshot ends: the records before are in it.
        older: where its earlier snapshots end, which it keeps until its log starts behind them.
        start: where its log starts: the records before were deleted from it.
        stored: the epoch and the end of a snapshot of its leader, if its log goes on in a later epoch; see
            `replication.loaded`.
        flushed: the number of records that are on disk. The rest is lost if power is.
        high_watermark: the high watermark that it knows, or 0 if it does not know one since its start.
        fetched: whether a follower has fetched from its leader.
        granted: the nodes that granted a candidate their vote, or a prospective one their pre-vote.
        ends: for a leader, the offset from which each node fetched last, or `NONE`. Empty in other roles.
        restarted: whether it is in this role since its start.
        unreachable: whether it knows the leader from its quorum-state file, and not from its voters or a message where
            that is.
        read: with changes of voters, where its log ended before it was truncated, until it is as long again.
        missed: the offsets of Voters records in its log that it has not read.
        directory: how often its disk was replaced.
        unlisted: the voters that are missing in its configuration, with kraft.version 0.
    """

    role: str = UNATTACHED
    epoch: int = 0
    leader: NodeId = NONE
    vote: NodeId = NONE
    log: Log = ()
    snapshot: int = 0
    older: tuple[int, ...] = ()
    start: int = 0
    stored: tuple[int, int] | None = None
    flushed: int = 0
    high_watermark: int = 0
    fetched: bool = False
    granted: frozenset[NodeId] = frozenset()
    ends: Map[NodeId, int] = NO_ENDS
    restarted: bool = False
    unreachable: bool = False
    read: int = 0
    missed: frozenset[int] = frozenset()
    directory: int = 0
    unlisted: frozenset[NodeId] = frozenset()

    @property
    def is_up(self) -> bool:
        """Whether it has stopped neither by itself nor for ever."""
        return self.role not in STOPPED

    @property
    def last_epoch(self) -> int:
        """The epoch of its last record, or 0."""
        return self.epoch_before(len(self.log))

    def epoch_before(self, offset: int) -> int:
        """Return the epoch of the record before an offset, or 0."""
        return self.log[offset - 1].epoch if offset else 0

    @property
    def epoch_start(self) -> int:
        """For a leader, the offset of the record with which its epoch begins."""
        return sum(record.epoch < self.epoch for record in self.log)

    @property
    def snapshots(self) -> tuple[int, ...]:
        """Where the snapshots that it has end, the earliest one first."""
        return (*self.older, self.snapshot) if self.snapshot else ()

    def with_snapshots(self, ends: tuple[int, ...]) -> Node:
        """Return the node with the given snapshots instead of its own."""
        *older, latest = ends or (0,)
        return attrs.evolve(self, snapshot=latest, older=tuple(older))

    @property
    def changes_committed(self) -> bool:
        """Whether all changes of voters in its log are below its high watermark."""
        return all(record.voters is None for record in self.log[self.high_watermark :])

    def cut_at(self, end: int) -> Node:
        """Return the node with a log that ends at an offset when it starts. If that is before its snapshot ends, the
        log starts anew there (`KafkaMetadataLog.truncateToLatestSnapshot`).
        """
        if end < self.snapshot:
            kept = self.with_snapshots((self.snapshot,))
            return attrs.evolve(kept, log=self.log[: self.snapshot], flushed=self.snapshot, start=self.snapshot)
        return attrs.evolve(self, log=self.log[:end], flushed=end)

    def with_record(self, record: Record, *, rereads: bool) -> Node:
        """Return the node with a record appended to its log.

        Parameters:
            rereads: whether it reads a Voters record at an offset that it has read before. If not, it misses it
                (`KRaftControlRecordStateMachine.truncateNewEntries` leaves its `nextOffset` as it is).
        """
        at = len(self.log)
        missed = self.missed | {at} if record.voters is not None and at < self.read and not rereads else self.missed
        return attrs.evolve(self, log=(*self.log, record), read=self.read if at + 1 < self.read else 0, missed=missed)

    def entering(self, role: str, **fields: object) -> Node:
        """Return the node in another role. What it knew only in its former role is gone."""
        blank = {"fetched": False, "granted": frozenset(), "ends": NO_ENDS, "restarted": False, "unreachable": False}
        return attrs.evolve(self, role=role, **(blank | fields))  # type: ignore[arg-type]


@attrs.frozen(cache_hash=True)
class Quorum:
    """A state of the quorum.

    Attributes:
        values: the number of values that leaders have appended.
        cut: the directions of links in which no message arrives, as pairs of sender and receiver.
        spent: how often each perturbation has happened.
        nodes: the nodes.
        committed: the longest prefix of a log that was ever below the high watermark of a leader.
        protocol: the rules of the release.
        bounds: the limits of the state space.
    """

    values: int
    cut: frozenset[tuple[NodeId, NodeId]]
    spent: Spent = component()
    nodes: tuple[Node, ...] = component(each="node")
    committed: Log = history(blank=())
    protocol: Protocol = constant()
    bounds: Bounds = constant()

    def having(self, perturbation: str) -> Quorum:
        """Count the given perturbation once more, and return the new state."""
        spent = attrs.evolve(self.spent, **{perturbation: field_of(self.spent, perturbation) + 1})
        return attrs.evolve(self, spent=spent)

    def with_node(self, number: int, node: Node) -> Quorum:
        """Return the state with a node replaced."""
        return attrs.evolve(self, nodes=(*self.nodes[:number], node, *self.nodes[number + 1 :]))

    def key(self, number: int) -> tuple[int, int]:
        """Return how voters know a node: with kraft.version 1, by its directory, too."""
        return (number, self.nodes[number].directory if self.bounds.dynamic else 0)

    def voters(self, number: int) -> Voters:
        """Return the voters that a node knows: those of the last record in its log, which need not be committed."""
        found = frozenset((each, 0) for each in voters_at_first(self.bounds))
        if self.bounds.configurations:
            return frozenset((each, n) for each, n in found if each not in self.nodes[number].unlisted)
        if self.bounds.dynamic:
            for at, record in enumerate(self.nodes[number].log):
                unread = record.voters is None or at in self.nodes[number].missed
                found = found if unread else record.voters or found
        return found

    def lists(self, number: int, other: int) -> bool:
        """Return whether a node is among the voters that another one knows, by its number."""
        return any(voter == other for voter, _ in self.voters(number))

    def is_voter(self, number: int) -> bool:
        """Return whether a node is a voter, as far as it knows."""
        return self.key(number) in self.voters(number)

    def has_majority(self, number: int, others: Collection[int]) -> bool:
        """Return whether a node and others are a majority of the voters that the node knows."""
        voters = self.voters(number)
        return sum(each in others or self.key(number) == (each, n) for each, n in voters) > len(voters) // 2

    def arrives(self, sender: int, receiver: int) -> bool:
        """Return whether messages from one node to another arrive."""
        return sender != receiver and self.nodes[receiver].is_up and (sender, receiver) not in self.cut

    def can_fetch(self, follower: int, leader: int) -> bool:
        """Return whether a node leads the epoch of another one, and messages arrive in both directions."""
        source = self.nodes[leader]
        if source.role != LEADER or source.epoch != self.nodes[follower].epoch:
            return False
        return self.arrives(follower, leader) and self.arrives(leader, follower)

    def is_followed(self, leader: int) -> bool:
        """Return whether a node leads an epoch, and a majority follows it and can fetch from it."""
        own = self.nodes[leader]
        if own.role != LEADER:
            return False
        others = [
            number
            for number, node in enumerate(self.nodes)
            if (node.role, node.leader) == (FOLLOWER, leader) and self.can_fetch(number, leader)
        ]
        return self.has_majority(leader, others)


def initial_states(bounds: Bounds, protocol: Protocol) -> Iterator[Quorum]:
    """Yield the initial state: all nodes have started for the first time.

    Raises:
        SpecError: if the release has no kraft.version 1, and the bounds have.
    """
    if bounds.dynamic and not protocol.changes_voters:
        raise SpecError(f"quorum/{protocol.name} has no kraft.version 1 (dynamic), which Kafka has since 3.9.0")
    yield Quorum(
        values=0,
        cut=frozenset(),
        spent=Spent(),
        nodes=(Node(),) * bounds.nodes,
        committed=(),
        protocol=protocol,
        bounds=bounds,
    )
