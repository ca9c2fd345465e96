"""Follow a group of the consumer protocol through its heartbeats and commits.

As in `classic`, each heartbeat says what its consumer knows, and `leadline.model.group.consumer.coordinator` computes
the answer with the rules of the release. Each recorded member id is a consumer of its own, whose member id in the model
is its number. The state is the model's own. Its consumers are not used.

The assignor is a plugin of the brokers, and its target assignments are not recorded. Any target is possible that gives
a member what it was newly assigned in that epoch.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import attrs

from leadline.checker.conformance import HiddenStep
from leadline.model.group.bounds import Spent
from leadline.model.group.conformance import errors
from leadline.model.group.consumer import bounds
from leadline.model.group.consumer.coordinator import heartbeat, refuses, removed
from leadline.model.group.consumer.protocols import Protocol, Report
from leadline.model.group.consumer.state import Consumer, ConsumerGroup, Group, places
from leadline.model.group.offsets import Offsets
from leadline.model.group.perturbed import NONE, NOTHING, Commit

Targets = Mapping[int, Mapping[int, int]]
"""What is known of target assignments: for each epoch, the members of some partitions."""


@attrs.frozen
class Bounds(bounds.Bounds):
    """The size of a recorded group, which no bound limits, and what is known of its targets.

    Attributes:
        delays: whether the coordinator computes a new target only some time after the last one.
        known: for each epoch, the members of some partitions in the target assignment.
    """

    clients: int = 0
    partitions: int = 0
    delays: bool = False
    known: Targets = attrs.field(factory=dict, eq=False, repr=False)


FIRST_WITH_DELAYS = (4, 3)
"""The first release with `group.consumer.assignment.interval.ms`, a second by default, which the rules of the model do
not have. A heartbeat may then be answered as if its group epoch did not exist yet."""


def beginning(clients: int, partitions: int, epoch: int, protocol: Protocol, known: Targets) -> ConsumerGroup:
    """Return the state of an empty group.

    Parameters:
        clients: the number of member ids in the recording.
        epoch: the group epoch when it was last emptied, or 0.
        known: see `Bounds`.
    """
    nobody = (NONE,) * partitions
    number = protocol.name.partition("-")[0].split(".")
    delays = (int(number[0]), int(number[1])) >= FIRST_WITH_DELAYS
    return ConsumerGroup(
        late=None,
        spent=Spent(),
        group=Group(epoch, epoch, nobody, nobody, places(clients, partitions, protocol)),
        clients=(Consumer(),) * clients,
        offsets=Offsets(),
        protocol=protocol,
        bounds=Bounds(clients=clients, partitions=partitions, delays=delays, known=known),
    )


def hidden(state: ConsumerGroup) -> Iterator[HiddenStep[ConsumerGroup]]:
    """Yield the new target assignments that a timer computes. Without it, the next heartbeat does."""
    group = state.group
    if state.bounds.delays and group.epoch > group.target_epoch and group.members:  # type: ignore[attr-defined]
        for target in _targets(state):
            computed = state.with_group(attrs.evolve(group, target=target, target_epoch=group.epoch))
            yield HiddenStep("the coordinator computes a target assignment", "compute_target", computed)


@attrs.frozen
class Answer:
    """What a coordinator answers to a heartbeat.

    Attributes:
        code: the error code.
        epoch: the member epoch.
        assigned: the assignment, or None if the answer says that it has not changed.
    """

    code: int
    epoch: int = NONE
    assigned: frozenset[int] | None = None


def beats(
    state: ConsumerGroup, client: int, epoch: int, report: Report, *, changes: bool
) -> Iterator[tuple[Answer, ConsumerGroup]]:
    """Yield each possible answer to a heartbeat, with the state after it. An answer without an assignment says that it
    has not changed.

    Parameters:
        epoch: the member epoch in the heartbeat. 0 joins.
        report: the partitions that the consumer says it owns, or None.
        changes: whether the heartbeat has a new subscription.
    """
    own = Consumer(member_id=client, epoch=epoch, owned=report or NOTHING, sent=NOTHING if report is None else None)
    asked = state.with_client(client, own)
    member = state.group.member(client)
    if refuses(asked, client):
        yield Answer(errors.UNKNOWN_MEMBER_ID if member is None else errors.FENCED_MEMBER_EPOCH), state
        return
    group = state.group
    if member is None:
        joined = attrs.evolve(group.places[client], present=True)
        group = attrs.evolve(group.with_member(joined), epoch=group.epoch + 1)
    elif changes:
        group = attrs.evolve(group, epoch=group.epoch + 1)
    asked = asked.with_group(group)
    targets = [(group.epoch, target) for target in _targets(asked)]
    if state.bounds.delays and group.epoch > group.target_epoch:  # type: ignore[attr-defined]
        targets.append((group.target_epoch, group.target))
    for number, target in targets:
        # the group epoch is that of the target for this heartbeat, so that no other target is computed
        given = attrs.evolve(group, epoch=number, target=target, target_epoch=number)
        for after in heartbeat(asked.with_group(given), client):
            updated = after.group.member(client)
            assert updated is not None
            after = after.with_group(attrs.evolve(after.group, epoch=group.epoch))
            yield Answer(errors.NONE, updated.epoch, updated.assigned), after.with_client(client, Consumer())


def _targets(state: ConsumerGroup) -> Iterator[tuple[int, ...]]:
    """Yield the possible target assignments of the group's epoch. A partition that nobody reads has none."""
    group = state.group
    if group.epoch == group.target_epoch:
        yield group.target
        return
    ids = [NONE, *(member.member_id for member in group.members)]
    shown = state.bounds.known.get(group.epoch, {})  # type: ignore[attr-defined]
    choices = [[shown[each]] if each in shown else ids for each in range(len(group.target))]
    yield from itertools.product(*choices)


def leaves(state: ConsumerGroup, client: int) -> tuple[int, ConsumerGroup]:
    """Return the error code of the answer to a heartbeat with which a member leaves, and the state after it."""
    if state.group.member(client) is None:
        return errors.UNKNOWN_MEMBER_ID, state
    return errors.NONE, removed(state, client)


def commit_codes(
    state: ConsumerGroup, client: int | None, epoch: int, partitions: frozenset[int] | None
) -> frozenset[int]:
    """Return the possible error codes of the answer to an offset commit.

    Parameters:
        client: the consumer, or None without a member id.
        partitions: the partitions whose offsets are committed, or None if they are not known.
    """
    member = None if client is None else state.group.member(client)
    if client is None or member is None:
        is_alone = epoch < 0 and not state.group.members
        return frozenset({errors.NONE if is_alone else errors.UNKNOWN_MEMBER_ID})
    if partitions is None and state.protocol.commits_since and epoch < member.epoch:
        return frozenset({errors.NONE, errors.STALE_MEMBER_EPOCH})
    is_accepted = state.accepts(Commit(client, epoch, partitions or NOTHING))
    return frozenset({errors.NONE if is_accepted else errors.STALE_MEMBER_EPOCH})


def expires(state: ConsumerGroup, client: int) -> Iterator[ConsumerGroup]:
    """Yield the state after the session of a member has expired."""
    if state.group.member(client) is not None:
        yield removed(state, client)


def times_out(state: ConsumerGroup, client: int) -> Iterator[ConsumerGroup]:
    """Yield the state after a member has not revoked its partitions within the rebalance time-out."""
    member = state.group.member(client)
    if member is not None and member.revoking and state.protocol.has_rebalance_timer:
        yield removed(state, client)


def changes_topics(state: ConsumerGroup) -> Iterator[ConsumerGroup]:
    """Yield the state after a topic of the group has changed: the next heartbeat computes a new target assignment."""
    if state.group.members:
        yield state.with_group(attrs.evolve(state.group, epoch=state.group.epoch + 1))


def described(state: ConsumerGroup) -> str:
    """Return a possible state in words."""
    group = state.group
    members = "; ".join(
        f"member {each.member_id} has epoch {each.epoch} and {sorted(each.assigned)}"
        + (f", revoking {sorted(each.revoking)}" if each.revoking else "")
        for each in group.members
    )
    target = ", ".join(f"{partition} for {owner}" for partition, owner in enumerate(group.target) if owner != NONE)
    return f"the group has epoch {group.epoch}, target {target or 'nothing'} of {group.target_epoch}; {members}"
