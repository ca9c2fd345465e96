"""Transaction coordinators that add partitions to transactions: Vanlightly's kafka-tlaplus, transactions diary 02.

One transactional id, one partition of the transaction log, one topic partition. Clients ask for a producer id and then
add the partition. The log's leadership may move between the brokers; a former leader fails what it has not replicated.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, constant, invariant, put

PARTITION = "p1"

BEFORE = {
    "Empty": {"Empty", "CompleteCommit", "CompleteAbort"},
    "Ongoing": {"Ongoing", "Empty", "CompleteCommit", "CompleteAbort"},
    "PrepareAbort": {"Ongoing", "PrepareEpochFence"},
    "CompleteAbort": {"PrepareAbort"},
    "CompleteCommit": {"PrepareCommit"},
    "PrepareEpochFence": {"Ongoing"},
}


@frozen
class Bounds:
    brokers: int = bound(2, "brokers", at_least=1, at_most=9)
    clients: int = bound(1, "clients", at_least=1, at_most=9)
    elections: int = bound(1, "elections of a leader of the transaction log", at_least=0, at_most=9)


@frozen(cache_hash=True)
class Metadata:
    pid: int
    epoch: int
    last_epoch: int
    state: str
    partitions: frozenset[str] = frozenset()
    fresh: bool = False


@frozen(cache_hash=True)
class Message:
    kind: str
    client: int
    broker: int
    code: str = ""
    pid: int = -1
    epoch: int = -1
    partitions: frozenset[str] = frozenset()


@frozen(cache_hash=True)
class Entry:
    metadata: Metadata
    kind: str
    response: Message | None = None
    error: Message | None = None


@frozen(cache_hash=True)
class Client:
    state: str = "Ready"
    coordinator: int | None = None
    has_id: bool = False
    pid: int = -1
    epoch: int = -1
    last: tuple[str, str] | None = None
    pending: frozenset[str] = frozenset()
    partitions: frozenset[str] = frozenset()


@frozen
class State:
    clients: tuple[Client, ...]
    metadata: tuple[Metadata | None, ...]
    transition: tuple[Metadata | None, ...]
    log: tuple[tuple[Entry, ...], ...]
    committed: int
    known: tuple[tuple[int, int], ...]
    epoch: int
    leader: int
    pid_source: int
    elected: int
    messages: frozenset[Message]
    discarded: frozenset[Message]
    bounds: Bounds = constant()


def initial_states(bounds: Bounds) -> list[State]:
    nothing = (None,) * bounds.brokers
    return [
        State(
            clients=(Client(),) * bounds.clients,
            metadata=nothing,
            transition=nothing,
            log=((),) * bounds.brokers,
            committed=0,
            known=((1, 0),) * bounds.brokers,
            epoch=1,
            leader=0,
            pid_source=0,
            elected=0,
            messages=frozenset(),
            discarded=frozenset(),
            bounds=bounds,
        )
    ]


def clients(bounds: Bounds) -> range:
    return range(bounds.clients)


def brokers(bounds: Bounds) -> range:
    return range(bounds.brokers)


def replied(state: State, request: Message, *responses: Message) -> State:
    """The request is taken, and responses are sent."""
    left = (state.messages - {request}) | frozenset(responses)
    return evolve(state, messages=left, discarded=state.discarded | {request})


def received(state: State, kind: str, client: int, broker: int) -> list[Message]:
    found = [each for each in state.messages if (each.kind, each.client, each.broker) == (kind, client, broker)]
    return sorted(found, key=repr)


def appended(state: State, broker: int, entry: Entry) -> State:
    log = put(state.log, broker, (*state.log[broker], entry))
    return evolve(state, log=log, transition=put(state.transition, broker, entry.metadata))


def leads(state: State, broker: int) -> bool:
    return state.known[broker][1] == broker


@action(client=clients)
def send_init_pid(state: State, client: int) -> Iterator[State]:
    own = state.clients[client]
    if own.state == "Ready":
        sent = evolve(own, has_id=True, state="SentInitPidRequest")
        message = Message("InitPidRequest", client, state.leader)
        yield evolve(state, clients=put(state.clients, client, sent), messages=state.messages | {message})


@action(client=clients, broker=brokers)
def receive_init_pid_response(state: State, client: int, broker: int) -> Iterator[State]:
    own = state.clients[client]
    for message in received(state, "InitPidResponse", client, broker) if own.state == "SentInitPidRequest" else []:
        if message.code == "OK":
            got = evolve(own, state="HasPid", coordinator=broker, pid=message.pid, epoch=message.epoch)
        else:
            got = evolve(own, state="Ready", last=(own.state, message.code))
        yield replied(evolve(state, clients=put(state.clients, client, got)), message)


@action(client=clients)
def send_add_partitions(state: State, client: int) -> Iterator[State]:
    own = state.clients[client]
    if own.state in ("HasPid", "BegunTxn") and not own.pending and PARTITION not in own.partitions:
        added = frozenset({PARTITION})
        assert own.coordinator is not None
        message = Message(
            "AddPartitionsRequest", client, own.coordinator, pid=own.pid, epoch=own.epoch, partitions=added
        )
        sent = evolve(own, pending=added, state="BegunTxn")
        yield evolve(state, clients=put(state.clients, client, sent), messages=state.messages | {message})


@action(client=clients, broker=brokers)
def receive_add_partitions_response(state: State, client: int, broker: int) -> Iterator[State]:
    own = state.clients[client]
    for message in received(state, "AddPartitionsResponse", client, broker) if own.state == "BegunTxn" else []:
        error = (own.state, message.code)
        if message.code == "OK":
            got = evolve(own, pending=own.pending - message.partitions, partitions=own.partitions | message.partitions)
        elif message.code in ("ConcurrentTransactions", "NotCoordinator"):
            found = state.leader if message.code == "NotCoordinator" else own.coordinator
            got = evolve(own, pending=frozenset(), last=error, coordinator=found)
        else:
            got = evolve(own, state="Terminated", last=error, pending=frozenset(), partitions=frozenset())
        yield replied(evolve(state, clients=put(state.clients, client, got)), message)


@action(broker=brokers)
def elect_leader(state: State, broker: int) -> Iterator[State]:
    if state.elected < state.bounds.elections and not leads(state, broker):
        yield evolve(
            state,
            leader=broker,
            epoch=state.epoch + 1,
            known=put(state.known, broker, (state.epoch + 1, broker)),
            metadata=put(state.metadata, broker, state.metadata[state.leader]),
            elected=state.elected + 1,
        )


@action(broker=brokers)
def become_follower(state: State, broker: int) -> Iterator[State]:
    if state.known[broker][0] < state.epoch and leads(state, broker) and broker != state.leader:
        lost = state.log[broker][state.committed :]
        errors = frozenset(entry.error for entry in lost if entry.error is not None)
        yield evolve(
            state,
            known=put(state.known, broker, (state.epoch, state.leader)),
            log=put(state.log, broker, state.log[broker][: state.committed]),
            metadata=put(state.metadata, broker, None),
            transition=put(state.transition, broker, None),
            messages=state.messages | errors,
        )


@action(broker=brokers)
def complete_partial(state: State, broker: int) -> Iterator[State]:
    known = state.metadata[broker]
    if not leads(state, broker) or state.transition[broker] is not None:
        return
    if known is not None and known.state in ("PrepareAbort", "PrepareCommit"):
        yield appended(state, broker, completing(known))


def completing(metadata: Metadata) -> Entry:
    state = "CompleteCommit" if metadata.state == "PrepareCommit" else "CompleteAbort"
    assert metadata.state in BEFORE[state]
    return Entry(evolve(metadata, state=state, fresh=False), state)


def pid_response(client: int, broker: int, code: str, pid: int = -1, epoch: int = -1) -> Message:
    return Message("InitPidResponse", client, broker, code, pid, epoch)


@action(broker=brokers, client=clients)
def receive_init_pid_request(state: State, broker: int, client: int) -> Iterator[State]:
    for request in received(state, "InitPidRequest", client, broker):
        if not leads(state, broker):
            yield replied(state, request, pid_response(client, broker, "NotCoordinator"))
            continue
        known = state.metadata[broker] or Metadata(state.pid_source + 1, -1, -1, "Empty", fresh=True)
        learned = evolve(state, pid_source=known.pid, metadata=put(state.metadata, broker, known))
        busy = state.transition[broker] is not None or known.state in ("PrepareAbort", "PrepareCommit")
        if busy:
            yield replied(learned, request, pid_response(client, broker, "ConcurrentTransactions"))
            continue
        error = pid_response(client, broker, "NotCoordinator")
        if known.state == "Ongoing":
            fenced = Metadata(known.pid, known.epoch + 1, -1, "PrepareAbort", known.partitions)
            response = pid_response(client, broker, "ConcurrentTransactions")
            entry = Entry(fenced, "PrepareAbort", response, error)
        else:
            assert known.state in BEFORE["Empty"]
            empty = Metadata(known.pid, known.epoch + 1, known.epoch, "Empty")
            response = pid_response(client, broker, "OK", empty.pid, empty.epoch)
            entry = Entry(empty, "InitPidRequest", response, error)
        yield appended(replied(learned, request), broker, entry)


@action(broker=brokers, client=clients)
def receive_add_partitions_request(state: State, broker: int, client: int) -> Iterator[State]:
    for request in received(state, "AddPartitionsRequest", client, broker):
        known = state.metadata[broker]
        code = "OK"
        if not leads(state, broker):
            code = "NotCoordinator"
        elif known is None or request.pid != known.pid:
            code = "InvalidProducerIdMapping"
        elif request.epoch != known.epoch:
            code = "ProducerFenced"
        elif state.transition[broker] is not None or known.state in ("PrepareCommit", "PrepareAbort"):
            code = "ConcurrentTransactions"
        if code != "OK":
            yield replied(state, request, Message("AddPartitionsResponse", client, broker, code))
            continue
        assert known is not None
        assert known.state in BEFORE["Ongoing"]
        ongoing = evolve(known, state="Ongoing", partitions=known.partitions | request.partitions, fresh=False)
        response = Message("AddPartitionsResponse", client, broker, "OK", partitions=ongoing.partitions)
        error = Message("AddPartitionsResponse", client, broker, "NotCoordinator")
        yield appended(replied(state, request), broker, Entry(ongoing, "AddPartitionsRequest", response, error))


@action(broker=brokers)
def commit_append(state: State, broker: int) -> Iterator[State]:
    log = state.log[broker]
    same = all(epoch == state.known[broker][0] for epoch, _ in state.known)
    if state.committed == len(log) or broker != state.leader or not same:
        return
    entry = log[state.committed]
    replicated = evolve(
        state,
        committed=state.committed + 1,
        log=tuple(each if number == broker else (*each, entry) for number, each in enumerate(state.log)),
        metadata=put(state.metadata, broker, entry.metadata),
        messages=state.messages | (frozenset() if entry.response is None else {entry.response}),
    )
    if entry.kind in ("PrepareAbort", "PrepareCommit"):
        yield appended(replicated, broker, completing(entry.metadata))
    else:
        yield evolve(replicated, transition=put(replicated.transition, broker, None))


@invariant("no two clients have the same producer id and producer epoch")
def clients_have_different_epochs(state: State) -> bool:
    given = [(each.pid, each.epoch) for each in state.clients if each.pid != -1]
    return len(set(given)) == len(given)


@invariant("no two brokers believe that they lead in the same coordinator epoch")
def coordinators_have_different_epochs(state: State) -> bool:
    leading = [epoch for broker, (epoch, leader) in enumerate(state.known) if broker == leader]
    return len(set(leading)) == len(leading)


spec = Spec(
    name="kafka-transactions",
    initial_states=initial_states,
    actions=[
        send_init_pid,
        receive_init_pid_request,
        receive_init_pid_response,
        send_add_partitions,
        receive_add_partitions_request,
        receive_add_partitions_response,
        commit_append,
        elect_leader,
        become_follower,
        complete_partial,
    ],
    properties=[clients_have_different_epochs, coordinators_have_different_epochs],
    bounds=Bounds(),
)
