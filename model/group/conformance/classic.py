"""Follow a group of the classic protocol through its requests and answers.

Real consumers send heartbeats and commits beside their other requests, and their assignors are their own. So the
consumers of the model are not followed: each request says what its consumer knows, and what the coordinator does is
computed by `leadline.model.group.classic.coordinator` with the rules of the release. Answers to JoinGroup and SyncGroup
requests are kept until they are compared with the recorded ones.

Each recorded member id is a consumer of its own, whose member id in the model is its number. The metadata with which a
member joins is a number, too, in the place of the generation of its claims: the coordinator only compares it.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.conformance import HiddenStep
from leadline.model.group.bounds import Spent
from leadline.model.group.classic import bounds
from leadline.model.group.classic.coordinator import join, next_generation, rebalancing, removed, sync, with_group
from leadline.model.group.classic.protocols import Protocol
from leadline.model.group.classic.state import (
    COMPLETING,
    EMPTY,
    JOINED,
    JOINING,
    PREPARING,
    REJOINING,
    STABLE,
    SYNCING,
    Classic,
    Consumer,
    Group,
    Plan,
)
from leadline.model.group.conformance import errors
from leadline.model.group.offsets import Offsets
from leadline.model.group.perturbed import NONE, NOTHING


@attrs.frozen
class Bounds(bounds.Bounds):
    """The size of a recorded group, which no bound limits. Claims are compared as with the cooperative assignor."""

    clients: int = 0
    partitions: int = 0
    cooperative: bool = True


@attrs.frozen(cache_hash=True)
class Answer:
    """What a coordinator answers to JoinGroup or SyncGroup.

    Attributes:
        code: the error code.
        generation, leader: of the answer to JoinGroup.
        members: for the leader, pairs of a member id and the number of its metadata.
        assignment: of the answer to SyncGroup.
    """

    code: int
    generation: int = NONE
    leader: int = NONE
    members: tuple[tuple[int, int], ...] = ()
    assignment: frozenset[int] = NOTHING

    def __str__(self) -> str:
        if self.code:
            return errors.said(self.code)
        if self.generation == NONE:
            return f"the assignment {sorted(self.assignment)}"
        leads = f" with members {', '.join(str(member) for member, _ in self.members)}" if self.members else ""
        return f"generation {self.generation}, leader {self.leader}{leads}"


@attrs.frozen(cache_hash=True)
class Followed:
    """A possible state of a recorded group.

    Attributes:
        classic: the group. Its consumers only have the phases of requests that wait.
        told: pairs of a consumer and the answer that is not yet compared with the recorded one.
    """

    classic: Classic
    told: tuple[tuple[int, Answer], ...] = ()

    def to(self, classic: Classic) -> Followed:
        """Return the next state, with the answers to requests that need not wait any more."""
        told = dict(self.told)
        for client, before in enumerate(self.classic.clients):
            after = classic.clients[client]
            if before.phase not in (JOINING, SYNCING):
                continue
            if after.phase != before.phase:
                told[client] = _answer(classic, client, before.phase)
            elif classic.group.member(client) is None:
                told[client] = Answer(errors.UNKNOWN_MEMBER_ID)
            else:
                continue
            classic = classic.with_client(client, Consumer())
        return Followed(classic, tuple(sorted(told.items(), key=lambda pair: pair[0])))

    def answering(self, client: int, answer: Answer | None) -> Followed:
        """Return the state with the answer to a consumer, or None if there is none yet."""
        told = {**dict(self.told), client: answer}
        return Followed(self.classic, tuple(sorted((n, each) for n, each in told.items() if each is not None)))


def beginning(clients: int, partitions: int, generation: int, protocol: Protocol) -> Followed:
    """Return the state of an empty group.

    Parameters:
        clients: the number of member ids in the recording.
        generation: the generation when it was last emptied, or 0.
    """
    group = Group(generation=generation)
    return Followed(
        Classic(
            late=None,
            spent=Spent(),
            group=group,
            persisted=group,
            clients=(Consumer(),) * clients,
            offsets=Offsets(),
            protocol=protocol,
            bounds=Bounds(clients=clients, partitions=partitions),
        )
    )


def hidden(followed: Followed) -> Iterator[HiddenStep[Followed]]:
    """Yield the end of the join phase: all members have joined, and no member id is pending."""
    classic = followed.classic
    if classic.group.state == PREPARING and not classic.awaited:
        for after in ended(classic):
            yield HiddenStep("the coordinator ends the join phase", "end_join_phase", followed.to(after))


def ended(classic: Classic) -> Iterator[Classic]:
    """Yield the states after the end of the join phase. If the leader has not joined, any other member can lead."""
    joined = [member.member_id for member in classic.group.members if member.joined]
    leader = classic.group.leader
    for each in [leader] if leader in joined or not joined else joined:
        yield next_generation(with_group(classic, attrs.evolve(classic.group, leader=each)))


# --- requests ---------------------------------------------------------------------------------------------------------


def joins(followed: Followed, client: int, *, knows_id: bool, metadata: int, needs_id: bool) -> Followed:
    """Return the state after a JoinGroup request.

    Parameters:
        knows_id: whether the request has a member id.
        metadata: the number of its metadata.
        needs_id: whether the version of the request lets the coordinator require a member id (KIP-394).
    """
    classic, protocol = followed.classic, followed.classic.protocol
    own = Consumer(member_id=client if knows_id else NONE, phase=REJOINING, owned_since=metadata)
    asked = classic.with_client(client, own)
    if not needs_id:
        asked = attrs.evolve(asked, protocol=attrs.evolve(protocol, requires_member_id=False))
    after = attrs.evolve(join(asked, client), protocol=protocol)
    phase, member_id = after.clients[client].phase, after.clients[client].member_id
    if phase == JOINED:
        answer: Answer | None = _answer(after, client, JOINING)
    elif phase == JOINING:
        answer = None
    else:
        answer = Answer(errors.UNKNOWN_MEMBER_ID if member_id == NONE else errors.MEMBER_ID_REQUIRED)
    if answer is not None:
        after = after.with_client(client, Consumer())
    return followed.answering(client, None).to(after).answering(client, answer)


def syncs(followed: Followed, client: int, generation: int, plan: Plan, *, fails: bool) -> Iterator[Followed]:
    """Yield the states after a SyncGroup request.

    Parameters:
        plan: the assignment of all members, which only counts if the leader sends it.
        fails: whether the assignment may not have been replicated in time. Then the group rebalances, and the next
            coordinator may know the assignment or not.
    """
    classic = followed.classic
    code = refusal(classic, client, generation)
    if not code and classic.group.state == PREPARING:
        code = errors.REBALANCE_IN_PROGRESS
    if code:
        yield followed.answering(client, Answer(code))
        return
    own = Consumer(member_id=client, phase=JOINED, generation=generation, plan=plan or ((client, NOTHING),))
    waiting = followed.answering(client, None)
    waiting = attrs.evolve(waiting, classic=classic.with_client(client, attrs.evolve(own, phase=SYNCING)))
    after = sync(classic.with_client(client, own), client)
    yield waiting.to(after)
    if fails and classic.group.state == COMPLETING and after.group.state == STABLE:
        for persisted in (classic.persisted, after.persisted):
            yield waiting.to(attrs.evolve(rebalancing(waiting.classic), persisted=persisted))


def beats(followed: Followed, client: int, generation: int) -> Iterator[tuple[int, Followed]]:
    """Yield the possible error codes of the answer to a heartbeat, each with the state after it."""
    classic, group = followed.classic, followed.classic.group
    for code in _refusals(classic, client, generation):
        yield code, followed
    if refusal(classic, client, generation):
        return
    if group.state == COMPLETING and not classic.protocol.renews_in_completing:
        yield errors.REBALANCE_IN_PROGRESS, followed
        return
    member = next(each for each in group.members if each.member_id == client)
    renewed = with_group(classic, group.with_member(attrs.evolve(member, watched=True)))
    code = errors.REBALANCE_IN_PROGRESS if group.state == PREPARING else errors.NONE
    yield code, attrs.evolve(followed, classic=renewed)


def commit_codes(followed: Followed, client: int | None, generation: int) -> set[int]:
    """Return the possible error codes of the answer to an offset commit.

    Parameters:
        client: the consumer, or None without a member id.
    """
    classic, group = followed.classic, followed.classic.group
    if generation < 0 and group.state == EMPTY:
        return {errors.NONE}  # of a consumer that does not use the group for its assignment
    if found := _refusals(classic, client, generation):
        return found
    in_completing = group.state == COMPLETING and not classic.protocol.commits_in_completing
    return {errors.REBALANCE_IN_PROGRESS if in_completing else errors.NONE}


def _refusals(classic: Classic, client: int | None, generation: int) -> set[int]:
    """Return the possible error codes for a heartbeat or commit that is not a current member's. In CompletingRebalance,
    older releases than 2.6.1 differ in whether they look at the state first.
    """
    code = refusal(classic, client, generation)
    if code and classic.group.state == COMPLETING and not classic.protocol.renews_in_completing:
        return {code, errors.REBALANCE_IN_PROGRESS}
    return {code} if code else set()


def leaves(followed: Followed, client: int) -> tuple[int, Followed]:
    """Return the error code of the answer to LeaveGroup, and the state after it."""
    group = followed.classic.group
    if group.member(client) is None and client not in group.pending:
        return errors.UNKNOWN_MEMBER_ID, followed
    return errors.NONE, followed.to(removed(followed.classic, frozenset({client})))


def refusal(classic: Classic, client: int | None, generation: int) -> int:
    """Return the error code for a request that is not a current member's, or 0. An empty group has no members."""
    if client is None or classic.group.member(client) is None:
        return errors.UNKNOWN_MEMBER_ID
    return errors.ILLEGAL_GENERATION if generation != classic.group.generation else errors.NONE


def _answer(classic: Classic, client: int, waited: str) -> Answer:
    """Return the answer to a request that waits no more. `waited` is the phase in which the consumer was."""
    own, group = classic.clients[client], classic.group
    if own.phase == REJOINING:
        begun = waited == SYNCING and group.state == PREPARING
        return Answer(errors.REBALANCE_IN_PROGRESS if begun else errors.NOT_COORDINATOR)
    if waited == SYNCING:
        return Answer(errors.NONE, assignment=own.owned)
    members = tuple((member.member_id, member.claimed_since) for member in group.members) if own.plan else ()
    return Answer(errors.NONE, own.generation, group.leader, members)


# --- without requests -------------------------------------------------------------------------------------------------


def expires(followed: Followed, client: int) -> Iterator[Followed]:
    """Yield the state after the session of a member has expired, or the pending member id."""
    group = followed.classic.group
    member = group.member(client)
    if member is not None:
        waits = member.joined if group.state == PREPARING else group.state == COMPLETING and member.synced
        if waits or not member.watched:
            return
    elif client not in group.pending:
        return
    yield followed.to(removed(followed.classic, frozenset({client})))


def times_out(followed: Followed) -> Iterator[Followed]:
    """Yield the states after the rebalance time-out: the join phase ends without those that have not joined."""
    classic = followed.classic
    if classic.group.state == PREPARING and classic.awaited:
        gone = frozenset(classic.awaited) - classic.group.pending
        for after in ended(removed(classic, gone)):
            yield followed.to(after)


def sync_times_out(followed: Followed, generation: int) -> Iterator[Followed]:
    """Yield the state after the time-out for SyncGroup requests of a generation: who has not sent it is removed."""
    classic, group = followed.classic, followed.classic.group
    awaited = classic.awaited if group.state in (COMPLETING, STABLE) and group.generation == generation else []
    if classic.protocol.has_sync_timer and awaited:
        yield followed.to(removed(classic, frozenset(awaited)))


def fails_over(followed: Followed) -> Iterator[Followed]:
    """Yield the state of the next coordinator."""
    yield followed.to(followed.classic.with_next_coordinator())


def described(followed: Followed) -> str:
    """Return a possible state in words."""
    group = followed.classic.group
    members = ", ".join(
        f"{member.member_id}{' has joined' if member.joined else ''}{'' if member.synced else ' must sync'}"
        for member in group.members
    )
    pending = f", pending {', '.join(map(str, sorted(group.pending)))}" if group.pending else ""
    return f"the group is {group.state} in generation {group.generation}, members: {members or 'none'}{pending}"
