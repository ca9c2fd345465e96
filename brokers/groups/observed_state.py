"""The observable part of a state of the `group` family. Its form is the same for the model and for a real broker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from leadline.model.group.classic.drawing import COORDINATOR, consumer_row, number, partition_row, partitions
from leadline.model.group.classic.state import COMPLETING, DOWN, JOINING, MUTE, PREPARING, STABLE, Classic
from leadline.model.group.conformance.errors import (
    ILLEGAL_GENERATION,
    REBALANCE_IN_PROGRESS,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
    said,
)
from leadline.model.group.consumer.drawing import group_state
from leadline.model.group.consumer.state import ConsumerGroup
from leadline.model.group.perturbed import NONE, PAUSED, Commit

FENCED_INSTANCE_ID = 82
"""The error code for a static member that another one has replaced."""

AnyGroup = Classic | ConsumerGroup


@attrs.frozen
class ObservedGroup:
    """The observable part of a state.

    Attributes:
        group: the state of the group, and its epochs with the consumer protocol.
        members: the members as the coordinator describes them, keyed by member id of the model. `NONE` stands for
            members that no consumer of the model has.
        codes: the error codes that consumers get for their heartbeats, keyed by consumer. Classic protocol only.
        committed: the committed offset of each partition, or `NO_OFFSET`. Empty without records.
    """

    group: str
    members: tuple[tuple[int, str], ...]
    codes: tuple[tuple[int, int], ...] = ()
    committed: tuple[int, ...] = ()

    @property
    def columns(self) -> dict[str, str]:
        """The observed state as text for each row in the drawing of a state, keyed by the name of the row."""
        rows = {COORDINATOR: f"{self.group}, members {self.text}"}
        rows |= {consumer_row(consumer): f"heartbeats: {said(code)}" for consumer, code in self.codes}
        return rows | {partition_row(n): f"committed {number(offset)}" for n, offset in enumerate(self.committed)}

    @property
    def text(self) -> str:
        """The members as text."""
        return "; ".join(f"m{number(member)} {text}" for member, text in self.members) or "-"

    @property
    def as_object(self) -> dict[str, Any]:
        """The observed state as an object for `json.dumps`."""
        members = [{"member": member, "described": text} for member, text in self.members]
        codes = [{"consumer": consumer, "error": code} for consumer, code in self.codes]
        return {"group": self.group, "members": members, "heartbeats": codes, "committed": [*self.committed]}


def observed_state(state: AnyGroup) -> ObservedGroup:
    """Return the observable part of a model state."""
    committed = state.offsets.committed
    if isinstance(state, ConsumerGroup):
        group, since = state.group, state.protocol.commits_since
        # with KIP-1251 (4.3), partitions that a member has not revoked yet are described, too
        described = (
            (m.member_id, member_text(m.epoch, m.held if since else m.assigned, group.target_of(m.member_id)))
            for m in group.members
        )
        text = group_text(group_state(state), group.epoch, group.target_epoch)
        return ObservedGroup(text, tuple(described), (), committed)
    group_of = state.group
    stable = group_of.state == STABLE
    members = [(m.member_id, partitions(m.assignment) if stable else "-") for m in group_of.members]
    sending = [consumer for consumer in range(len(state.clients)) if sends_heartbeats(state, consumer)]
    codes = tuple((consumer, heartbeat_code(state, consumer)) for consumer in sending)
    return ObservedGroup(group_of.state, tuple(members), codes, committed)


def group_text(state: str, epoch: int, target_epoch: int) -> str:
    """Return the coordinator's state of a group with the consumer protocol as text."""
    return f"{state}, epoch {epoch}, target@{target_epoch}"


def member_text(epoch: int, assigned: frozenset[int], target: frozenset[int]) -> str:
    """Return the coordinator's description of a member of a group with the consumer protocol as text."""
    return f"@{epoch} is assigned {partitions(assigned)}, target {partitions(target)}"


def sends_heartbeats(state: Classic, consumer: int) -> bool:
    """Return whether the driver sends heartbeats for a consumer: if it has a generation, and waits for no JoinGroup
    response. A mute one does so only where the model says that they renew its session.
    """
    own = state.clients[consumer]
    if own.phase in (DOWN, JOINING) or own.stopped == PAUSED or NONE in (own.member_id, own.generation):
        return False
    return own.stopped != MUTE or state.renewed_while_mute(own)


def refusal(state: Classic, consumer: int) -> int:
    """Return the error code for a SyncGroup request of a consumer, or 0."""
    own, group = state.clients[consumer], state.group
    if group.member(own.member_id) is None:
        replaced = any(state.client_of(member.member_id) == consumer for member in group.members)
        return FENCED_INSTANCE_ID if state.bounds.static and replaced else UNKNOWN_MEMBER_ID
    if own.generation != group.generation:
        return ILLEGAL_GENERATION
    return REBALANCE_IN_PROGRESS if group.state == PREPARING else 0


def heartbeat_code(state: Classic, consumer: int) -> int:
    """Return the error code for a heartbeat of a consumer, or 0."""
    ignored = state.group.state == COMPLETING and not state.protocol.renews_in_completing
    return refusal(state, consumer) or (REBALANCE_IN_PROGRESS if ignored else 0)


def commit_code(state: AnyGroup, commit: Commit) -> int:
    """Return the error code for an offset commit, or 0."""
    if state.accepts(commit):
        return 0
    if state.group.member(commit.member_id) is None:
        return UNKNOWN_MEMBER_ID
    if isinstance(state, ConsumerGroup):
        return STALE_MEMBER_EPOCH
    return ILLEGAL_GENERATION if commit.epoch != state.group.generation else REBALANCE_IN_PROGRESS


def differences(model: ObservedGroup, real: ObservedGroup) -> list[str]:
    """Return a sentence for each difference between a real broker and the model."""
    return list(_differences(model, real))


def _differences(model: ObservedGroup, real: ObservedGroup) -> Iterator[str]:
    if model.group != real.group:
        yield f"the group is {real.group}; in the model: {model.group}"
    if model.members != real.members:
        yield f"the members are {real.text}; in the model: {model.text}"
    for consumer, code in real.codes:
        expected = dict(model.codes).get(consumer, 0)
        if code != expected:
            yield f"a heartbeat of consumer {consumer} gets {said(code)}; in the model: {said(expected)}"
    if model.committed != real.committed:
        yield f"the committed offsets are {[*real.committed]}; in the model: {[*model.committed]}"
