"""Consumer groups with the protocol of KIP-848: Vanlightly's kafka-tlaplus, groupprotocol, version 2.

Heartbeats and responses are messages. Connections are numbered, and a client has one request in flight.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, constant, invariant, leads_to, put

UNSUBSCRIBED, JOINING, RECONCILING, ACKNOWLEDGING = "Unsubscribed", "Joining", "Reconciling", "Acknowledging"
STABLE, PREPARE_LEAVING, LEAVING = "Stable", "PrepareLeaving", "Leaving"
REVOKING, ASSIGNING = "Revoking", "Assigning"
LEAVE = -1

Partition = tuple[int, int]
Partitions = frozenset[Partition]
NOTHING: Partitions = frozenset()


@frozen
class Bounds:
    clients: int = bound(1, "clients", at_least=1, at_most=4)
    topics: int = bound(2, "topics", at_least=1, at_most=4)
    partitions: int = bound(1, "partitions of a topic", at_least=1, at_most=4)
    perturbations: int = bound(0, "changes of subscriptions, leaves, crashes and expired sessions", at_least=0)
    compares_epochs: bool = bound(True, "the coordinator compares the member epochs of heartbeats")


@frozen(cache_hash=True)
class Client:
    topics: frozenset[int]
    connection: int = 0
    member: int = 0
    epoch: int = 0
    status: str = JOINING
    owned: Partitions = NOTHING
    target: Partitions = NOTHING
    sent: Partitions | None = None
    waits: bool = False
    taking: tuple[int, Partitions] | None = None
    leaving: Partitions | None = None


@frozen(cache_hash=True)
class Member:
    id: int
    host: int
    topics: frozenset[int]
    epoch: int = 0
    target_epoch: int = 0
    status: str = STABLE
    assigned: Partitions = NOTHING
    revoking: Partitions = NOTHING
    pending: Partitions = NOTHING
    reported: Partitions | None = None


@frozen(cache_hash=True)
class Request:
    member: int
    epoch: int
    topics: frozenset[int]
    owned: Partitions | None
    connection: int
    client: int


@frozen(cache_hash=True)
class Response:
    error: str
    epoch: int
    member: int
    assigned: Partitions | None
    connection: int
    client: int


Target = tuple[tuple[int, Partitions], ...]


@frozen
class State:
    clients: tuple[Client, ...]
    members: tuple[Member, ...]
    epoch: int
    status: str
    target_epoch: int
    target: Target
    partition_epochs: tuple[tuple[Partition, int], ...]
    messages: frozenset[Request | Response]
    discarded: frozenset[Request | Response]
    last_member: int
    last_connection: int
    perturbed: int
    bounds: Bounds = constant()


def initial(bounds: Bounds) -> Iterator[State]:
    topics = range(1, bounds.topics + 1)
    yield State(
        clients=(Client(frozenset(topics)),) * bounds.clients,
        members=(),
        epoch=0,
        status="Empty",
        target_epoch=0,
        target=(),
        partition_epochs=tuple((each, 0) for each in itertools.product(topics, range(1, bounds.partitions + 1))),
        messages=frozenset(),
        discarded=frozenset(),
        last_member=0,
        last_connection=0,
        perturbed=0,
        bounds=bounds,
    )


def clients(bounds: Bounds) -> range:
    return range(bounds.clients)


def member_of(state: State, member_id: int) -> Member | None:
    return next((each for each in state.members if each.id == member_id), None)


def with_client(state: State, number: int, client: Client) -> State:
    return evolve(state, clients=put(state.clients, number, client))


def may_perturb(state: State) -> bool:
    return state.perturbed < state.bounds.perturbations


def perturb(state: State) -> State:
    return evolve(state, perturbed=state.perturbed + 1)


def converged(state: State) -> bool:
    if state.status != STABLE:
        return False
    reached = {each.id for each in state.members if each.status == STABLE and each.epoch == state.epoch}
    return len(reached) == len(state.members) and all(
        each.status == STABLE and each.epoch == state.epoch and each.member in reached for each in state.clients
    )


# --- clients ------------------------------------------------------------------------------------------------------


def next_status(own: Client) -> str:
    if own.status == UNSUBSCRIBED:
        return JOINING
    if own.status == ACKNOWLEDGING:
        return STABLE if own.target == own.owned else RECONCILING
    return UNSUBSCRIBED if own.status == LEAVING else own.status


@action("client {client} sends a heartbeat", client=clients, fair="weak each")
def send(state: State, client: int) -> Iterator[State]:
    own = state.clients[client]
    if own.waits or converged(state):
        return
    subscriptions = [own.topics]
    if may_perturb(state):
        topics = range(1, state.bounds.topics + 1)
        sizes = [itertools.combinations(topics, size) for size in topics]
        subscriptions = [frozenset(each) for each in itertools.chain(*sizes)]
    connection = own.connection or state.last_connection + 1
    owned = own.owned if own.sent != own.owned or own.owned != own.target else None
    for chosen in subscriptions:
        request = Request(own.member, own.epoch, chosen, owned, connection, client)
        after = evolve(
            own,
            status=next_status(own),
            topics=chosen,
            sent=own.sent if owned is None else owned,
            connection=connection,
            waits=True,
        )
        if after.status == UNSUBSCRIBED:
            after = evolve(after, member=0, epoch=0)
        sent = with_client(state if chosen == own.topics else perturb(state), client, after)
        yield evolve(
            sent,
            messages=state.messages | {request},
            discarded=frozenset(),
            last_connection=max(state.last_connection, connection),
        )


@action("client {client} receives an error", client=clients, fair="weak each")
def receive_error(state: State, client: int) -> Iterator[State]:
    own = state.clients[client]
    for response in responses(state, client):
        if not response.error:
            continue
        after = evolve(own, waits=False)
        if own.status != UNSUBSCRIBED:
            status = UNSUBSCRIBED if own.status in (PREPARE_LEAVING, LEAVING) else JOINING
            after = evolve(after, member=0, epoch=0, owned=NOTHING, target=NOTHING, sent=None, status=status)
        yield discard(with_client(state, client, after), response)


@action("client {client} receives a response", client=clients, fair="weak each")
def receive(state: State, client: int) -> Iterator[State]:
    own = state.clients[client]
    for response in responses(state, client):
        if response.error:
            continue
        if own.status in (UNSUBSCRIBED, PREPARE_LEAVING, LEAVING):
            after = evolve(own, waits=False)
        else:
            after = answered(own, evolve(own, member=response.member, epoch=response.epoch, waits=False), response)
        yield discard(with_client(state, client, after), response)


def answered(own: Client, after: Client, response: Response) -> Client:
    if response.assigned is None:
        if after.target == own.owned:
            return evolve(after, status=STABLE)
        return reconciling(after) if own.status == RECONCILING and own.taking is None else after
    if response.assigned == own.owned:
        return evolve(after, status=STABLE) if own.status in (JOINING, RECONCILING) else after
    return reconciling(evolve(after, target=response.assigned))


def reconciling(after: Client) -> Client:
    if after.taking is not None:
        return after
    return evolve(after, status=RECONCILING, taking=(after.epoch, after.target))


def responses(state: State, client: int) -> Iterator[Response]:
    for each in sorted(state.messages, key=repr):
        if isinstance(each, Response) and each.client == client and each.connection == state.clients[client].connection:
            yield each


def discard(state: State, message: Request | Response, reply: Response | None = None) -> State:
    replies = frozenset() if reply is None else {reply}
    return evolve(state, messages=(state.messages - {message}) | replies, discarded=frozenset({message}))


@action("client {client} has reconciled", client=clients, fair="weak each")
def reconcile(state: State, client: int) -> Iterator[State]:
    own = state.clients[client]
    if own.taking is None:
        return
    epoch, taken = own.taking
    after = evolve(own, taking=None)
    if own.status == RECONCILING and epoch == own.epoch:
        after = evolve(after, status=ACKNOWLEDGING, owned=taken)
    yield with_client(state, client, after)


@action("client {client} begins to leave", client=clients)
def begin_leave(state: State, client: int) -> Iterator[State]:
    own = state.clients[client]
    if may_perturb(state) and own.epoch > 0 and own.status not in (UNSUBSCRIBED, PREPARE_LEAVING, LEAVING):
        yield with_client(perturb(state), client, evolve(own, status=PREPARE_LEAVING, leaving=own.owned))


@action("client {client} is ready to leave", client=clients, fair="weak each")
def end_leave(state: State, client: int) -> Iterator[State]:
    own = state.clients[client]
    if own.leaving is None:
        return
    after = evolve(own, leaving=None)
    if own.status == PREPARE_LEAVING:
        after = evolve(after, status=LEAVING, epoch=LEAVE, topics=frozenset(), owned=NOTHING, target=NOTHING, sent=None)
    yield with_client(state, client, after)


@action("client {client} crashes", client=clients)
def crash(state: State, client: int) -> Iterator[State]:
    if may_perturb(state) and state.clients[client].epoch > 0:
        topics = frozenset(range(1, state.bounds.topics + 1))
        yield with_client(perturb(state), client, Client(topics))


# --- the coordinator ----------------------------------------------------------------------------------------------


def requests(state: State, client: int) -> Iterator[Request]:
    for each in sorted(state.messages, key=repr):
        if isinstance(each, Request) and each.client == client:
            yield each


def replied(state: State, request: Request, response: Response) -> State:
    known = state.clients[request.client].connection == request.connection
    return discard(state, request, response if known else None)


def is_unknown(state: State, request: Request) -> bool:
    return request.member != 0 and member_of(state, request.member) is None


def is_leaving(state: State, request: Request) -> bool:
    return request.epoch == LEAVE and member_of(state, request.member) is not None


def is_fenced(state: State, request: Request) -> bool:
    member = member_of(state, request.member)
    differs = member is not None and request.epoch not in (LEAVE, member.epoch)
    return differs and state.bounds.compares_epochs


@action("the coordinator refuses a heartbeat of client {client}", client=clients, fair="weak each")
def refuse(state: State, client: int) -> Iterator[State]:
    for request in requests(state, client):
        if is_unknown(state, request):
            response = Response("UNKNOWN_MEMBER_ID", 0, 0, None, request.connection, client)
            yield replied(state, request, response)
        elif is_fenced(state, request):
            response = Response("FENCED_MEMBER_EPOCH", 0, 0, None, request.connection, client)
            yield replied(removed(state, request.member), request, response)


@action("the coordinator lets client {client} leave", client=clients, fair="weak each")
def let_leave(state: State, client: int) -> Iterator[State]:
    for request in requests(state, client):
        if is_leaving(state, request):
            response = Response("", LEAVE, request.member, None, request.connection, client)
            yield replied(removed(state, request.member), request, response)


@action("the coordinator handles a heartbeat of client {client}", client=clients, fair="weak each")
def handle(state: State, client: int) -> Iterator[State]:
    for request in requests(state, client):
        if is_unknown(state, request) or is_fenced(state, request) or is_leaving(state, request):
            continue
        old = member_of(state, request.member)
        if old is None:
            member = Member(state.last_member + 1, client, request.topics)
        else:
            reported = old.reported if request.owned is None else request.owned
            member = evolve(old, topics=request.topics, reported=reported)
        epoch = state.epoch + (old is None or old.topics != member.topics)
        for target_epoch, target in targets(state, member, epoch):
            moved = member
            if member.status != STABLE or member.target_epoch != epoch:
                moved = current_assignment(state, member, epoch, dict(target)[member.id])
            after = with_member(state, old, moved)
            after = evolve(after, epoch=epoch, target_epoch=target_epoch, target=target)
            after = evolve(after, status=group_status(after.members, epoch, epoch))
            after = evolve(after, last_member=max(state.last_member, member.id))
            tells = request.owned is not None or request.epoch == 0 or moved != member
            assigned = moved.assigned if tells else None
            yield replied(after, request, Response("", moved.epoch, moved.id, assigned, request.connection, client))


def targets(state: State, member: Member, epoch: int) -> Iterator[tuple[int, Target]]:
    if epoch <= state.target_epoch:
        yield state.target_epoch, state.target
        return
    members = sorted([*(each for each in state.members if each.id != member.id), member], key=lambda each: each.id)
    partitions = [partition for partition, _ in state.partition_epochs]
    choices = [[each.id for each in members if partition[0] in each.topics] for partition in partitions]
    for owners in itertools.product(*choices):
        given = list(zip(partitions, owners, strict=True))
        yield epoch, tuple((each.id, frozenset(p for p, owner in given if owner == each.id)) for each in members)


def current_assignment(state: State, member: Member, epoch: int, target: Partitions) -> Member:
    epochs = dict(state.partition_epochs)
    if member.target_epoch != epoch:
        held = member.assigned | member.revoking
        kept, revoking, pending = held & target, held - target, target - held
        if revoking:
            return evolve(
                member, status=REVOKING, target_epoch=epoch, assigned=kept, revoking=revoking, pending=pending
            )
        free = frozenset(partition for partition in pending if epochs[partition] == 0)
        return advanced(member, epoch, kept, pending, free)
    free = frozenset(partition for partition in member.pending if epochs[partition] == 0)
    revoked = not member.revoking or member.assigned == member.reported
    if (member.status == REVOKING and revoked) or (member.status == ASSIGNING and free):
        return advanced(member, epoch, member.assigned, member.pending, free)
    return member


def advanced(member: Member, epoch: int, kept: Partitions, pending: Partitions, free: Partitions) -> Member:
    return evolve(
        member,
        status=ASSIGNING if pending - free else STABLE,
        epoch=epoch,
        target_epoch=epoch,
        assigned=kept | free,
        revoking=NOTHING,
        pending=pending - free,
    )


def with_member(state: State, old: Member | None, new: Member) -> State:
    members = tuple(sorted([*(each for each in state.members if each.id != new.id), new], key=lambda each: each.id))
    held = NOTHING if old is None else old.assigned | old.revoking
    now = new.assigned | new.revoking
    epochs = tuple((p, new.epoch if p in now else 0 if p in held else known) for p, known in state.partition_epochs)
    return evolve(state, members=members, partition_epochs=epochs)


def group_status(members: tuple[Member, ...], epoch: int, target_epoch: int) -> str:
    if not members:
        return "Empty"
    if epoch > target_epoch:
        return ASSIGNING
    reached = all(each.status == STABLE and each.target_epoch == target_epoch for each in members)
    return STABLE if reached else RECONCILING


def removed(state: State, member_id: int) -> State:
    gone = member_of(state, member_id)
    held = NOTHING if gone is None else gone.assigned | gone.revoking
    members = tuple(each for each in state.members if each.id != member_id)
    return evolve(
        state,
        members=members,
        epoch=state.epoch + 1,
        status=group_status(members, state.epoch + 1, state.target_epoch),
        partition_epochs=tuple((p, 0 if p in held else epoch) for p, epoch in state.partition_epochs),
    )


@action("the session of a member expires whose client is another one", fair="weak")
def expire_dead(state: State) -> Iterator[State]:
    for member in state.members:
        own = state.clients[member.host]
        if own.member not in (member.id, 0) and own.status != JOINING:
            yield removed(state, member.id)


@action("the session of a member of client {client} expires", client=clients)
def expire_live(state: State, client: int) -> Iterator[State]:
    for member in state.members:
        if may_perturb(state) and member.host == client:
            yield removed(perturb(state), member.id)


# --- properties ---------------------------------------------------------------------------------------------------


@invariant("the target assignment gives each partition to one member")
def legal_target_assignment(state: State) -> bool:
    given = [sum(partition in owned for _, owned in state.target) for partition, _ in state.partition_epochs]
    return not state.target or all(count == 1 for count in given)


@invariant("no two clients that are members own a partition")
def no_double_client_assignment(state: State) -> bool:
    members = {each.id for each in state.members}
    owning = [each.owned for each in state.clients if each.member in members]
    return all(not one & other for one, other in itertools.combinations(owning, 2))


@invariant("a partition without an epoch is held by no member")
def valid_partition_epoch(state: State) -> bool:
    held = {partition for each in state.members for partition in each.assigned | each.revoking}
    return all(epoch or partition not in held for partition, epoch in state.partition_epochs)


@invariant("all members of a stable group have its epoch and the target assignment")
def valid_stable_group_state(state: State) -> bool:
    target = dict(state.target)
    return state.status != STABLE or all(
        each.status == STABLE and each.epoch == state.epoch and not each.revoking and each.assigned == target[each.id]
        for each in state.members
    )


@invariant("a client with the target epoch owns nothing that the target assignment gives to another member")
def valid_member_epoch(state: State) -> bool:
    return not any(
        own.epoch == state.target_epoch and member != own.member and own.owned & given
        for own in state.clients
        for member, given in state.target
    )


@leads_to("the group converges", after=lambda state: not converged(state))
def eventually_converges(state: State) -> bool:
    return converged(state)


spec: Spec[State] = Spec(
    name="kip-848",
    initial_states=initial,
    actions=[
        send,
        receive_error,
        receive,
        reconcile,
        begin_leave,
        end_leave,
        crash,
        handle,
        let_leave,
        refuse,
        expire_live,
        expire_dead,
    ],
    properties=[
        legal_target_assignment,
        no_double_client_assignment,
        valid_partition_epoch,
        valid_stable_group_state,
        valid_member_epoch,
    ],
    optional=[eventually_converges],
    bounds=Bounds(),
)
