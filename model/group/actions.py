"""The actions of both protocols: crashes and pauses of consumers, what they read, and offset commits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from leadline.checker.action import Action, action
from leadline.model.group.bounds import clients, committing, written
from leadline.model.group.perturbed import PAUSED, Commit, Perturbed

State = Perturbed[Any]


@action("consumer {client} crashes", client=clients, effect="perturbing")
def crash(state: State, client: int) -> Iterator[State]:
    """A consumer crashes."""
    if state.may("crashes") and not state.is_down(client):
        yield state.having("crashes").going_down(client)


@action("consumer {client} is paused", client=clients, effect="perturbing")
def pause(state: State, client: int) -> Iterator[State]:
    """A consumer stops for longer than all time-outs, as in a long garbage collection, and goes on later."""
    own = state.clients[client]
    if state.may("pauses") and state.has_joined(client) and not own.stopped:
        yield state.having("pauses").with_client(client, attrs.evolve(own, stopped=PAUSED))


@action("consumer {client} sends an offset commit, which is delayed", client=clients, effect="perturbing")
def send_commit(state: State, client: int) -> Iterator[State]:
    """A consumer commits the offsets of its partitions. The request arrives later."""
    late = state.commit_of(client)
    if late is not None and state.late is None and state.may("delayed"):
        yield state.having("delayed").changed(late=late)


@action("the offset commit arrives")
def commit_arrives(state: State) -> Iterator[State]:
    """A commit arrives. Properties ask while it is in flight whether it would be accepted."""
    if state.late is not None:
        taken = state.committing(state.late) if state.accepts(state.late) else state
        yield taken.changed(late=None)


@action("a record is written to partition {partition}", partition=written)
def write_record(state: State, partition: int) -> Iterator[State]:
    """A producer writes a record. Nothing is said about replication."""
    if state.may_write(partition):
        yield state.changed(offsets=state.offsets.writing(partition))


@action("consumer {client} reads a record of partition {partition}", client=committing, partition=written)
def read_record(state: State, client: int, partition: int) -> Iterator[State]:
    """A consumer reads the next record, and its position moves."""
    if state.may_read(client, partition):
        yield state.reading(client, partition)


@action("consumer {client} commits its offsets", client=committing)
def commit(state: State, client: int) -> Iterator[State]:
    """A consumer commits its positions. A commit that is refused changes nothing; heartbeats tell the reason."""
    sent = _accepted_commit(state, client)
    if sent is not None:
        yield state.committing(sent)


@action(
    "another broker becomes coordinator before a commit of consumer {client} is replicated",
    client=committing,
    effect="perturbing",
)
def lose_commit(state: State, client: int) -> Iterator[State]:
    """The coordinator has appended a commit. The next one does not have it, and truncates the log of the first."""
    sent = _accepted_commit(state, client)
    if state.may("lost_commits") and sent is not None:
        yield state.losing(sent).with_next_coordinator()


def _accepted_commit(state: State, client: int) -> Commit | None:
    """Return the offset commit of a consumer if it is accepted and changes what the coordinator knows."""
    sent = state.commit_of(client)
    changes = sent is not None and state.offsets.differ_from(sent.positions) and state.accepts(sent)
    return sent if changes else None


@action("the committed offsets expire", effect="perturbing")
def expire_offsets(state: State) -> Iterator[State]:
    """Nothing was committed for offsets.retention.minutes, or the group has been empty for as long (KIP-211)."""
    may_expire = state.is_empty or state.protocol.expires_in_use
    if state.may("expiries") and state.offsets.are_committed and may_expire:
        yield state.expiring()


PAUSES: tuple[Action[Any, ...], ...] = (crash, pause)
OFFSETS: tuple[Action[Any, ...], ...] = (
    send_commit,
    commit_arrives,
    write_record,
    read_record,
    commit,
    lose_commit,
    expire_offsets,
)
