"""Transaction coordinators that add partitions to transactions: Vanlightly's kafka-tlaplus, transactions diary 02.

Clients ask for a producer id and then add the topic partitions to their transactions. The leadership of the partitions
of the transaction log may move between the brokers; a former leader fails what it has not replicated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, constant, eventually_always, invariant, put

T = TypeVar("T")

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
    elections: int = bound(1, "elections of leaders of the transaction log", at_least=0, at_most=9)
    transactional_ids: int = bound(1, "transactional ids", at_least=1, at_most=9)
    topic_partitions: int = bound(1, "partitions that clients add to transactions", at_least=1, at_most=9)
    log_partitions: int = bound(1, "partitions of the transaction log", at_least=1, at_most=9)


@frozen(cache_hash=True)
class Metadata:
    pid: int
    epoch: int
    last_epoch: int
    state: str
    partitions: frozenset[int] = frozenset()
    fresh: bool = False


@frozen(cache_hash=True)
class Message:
    kind: str
    client: int
    broker: int
    tid: int = -1
    code: str = ""
    pid: int = -1
    epoch: int = -1
    partitions: frozenset[int] = frozenset()


@frozen(cache_hash=True)
class Entry:
    tid: int
    metadata: Metadata
    kind: str
    response: Message | None = None
    error: Message | None = None


@frozen(cache_hash=True)
class Client:
    state: str = "Ready"
    tid: int | None = None
    coordinator: int | None = None
    pid: int = -1
    epoch: int = -1
    last: tuple[str, str] | None = None
    pending: frozenset[int] = frozenset()
    partitions: frozenset[int] = frozenset()


@frozen
class State:
    """Metadata and transitions by broker and transactional id; logs, and who leads in which epoch as far as a broker
    knows, by broker and log partition; the others by log partition.
    """

    clients: tuple[Client, ...]
    metadata: tuple[tuple[Metadata | None, ...], ...]
    transition: tuple[tuple[Metadata | None, ...], ...]
    log: tuple[tuple[tuple[Entry, ...], ...], ...]
    known: tuple[tuple[tuple[int, int], ...], ...]
    committed: tuple[int, ...]
    epoch: tuple[int, ...]
    leader: tuple[int, ...]
    pid_source: int
    elected: int
    messages: frozenset[Message]
    discarded: frozenset[Message]
    bounds: Bounds = constant()


def initial_states(bounds: Bounds) -> list[State]:
    nothing = ((None,) * bounds.transactional_ids,) * bounds.brokers
    leaders = tuple(each % bounds.brokers for each in range(bounds.log_partitions))
    return [
        State(
            clients=(Client(),) * bounds.clients,
            metadata=nothing,
            transition=nothing,
            log=(((),) * bounds.log_partitions,) * bounds.brokers,
            known=(tuple((1, leader) for leader in leaders),) * bounds.brokers,
            committed=(0,) * bounds.log_partitions,
            epoch=(1,) * bounds.log_partitions,
            leader=leaders,
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


def log_partitions(bounds: Bounds) -> range:
    return range(bounds.log_partitions)


def transactional_ids(bounds: Bounds) -> range:
    return range(bounds.transactional_ids)


def partition_of(state: State, tid: int) -> int:
    """The partition of the transaction log that stores a transactional id."""
    return tid % state.bounds.log_partitions


def put_at(rows: tuple[tuple[T, ...], ...], broker: int, column: int, value: T) -> tuple[tuple[T, ...], ...]:
    return put(rows, broker, put(rows[broker], column, value))


def replied(state: State, request: Message, *responses: Message) -> State:
    """The request is taken, and responses are sent."""
    left = (state.messages - {request}) | frozenset(responses)
    return evolve(state, messages=left, discarded=state.discarded | {request})


def received(state: State, kind: str, client: int, broker: int) -> list[Message]:
    found = [each for each in state.messages if (each.kind, each.client, each.broker) == (kind, client, broker)]
    return sorted(found, key=repr)


def appended(state: State, broker: int, entry: Entry) -> State:
    partition = partition_of(state, entry.tid)
    log = put_at(state.log, broker, partition, (*state.log[broker][partition], entry))
    return evolve(state, log=log, transition=put_at(state.transition, broker, entry.tid, entry.metadata))


def leads(state: State, broker: int, partition: int) -> bool:
    return state.known[broker][partition][1] == broker


@action(client=clients, fair="strong each")
def send_init_pid(state: State, client: int) -> Iterator[State]:
    own = state.clients[client]
    for tid in range(state.bounds.transactional_ids) if own.state == "Ready" else ():
        if own.tid in (None, tid):
            sent = evolve(own, tid=tid, state="SentInitPidRequest")
            message = Message("InitPidRequest", client, state.leader[partition_of(state, tid)], tid)
            yield evolve(state, clients=put(state.clients, client, sent), messages=state.messages | {message})


@action(client=clients, broker=brokers, fair="weak each")
def receive_init_pid_response(state: State, client: int, broker: int) -> Iterator[State]:
    own = state.clients[client]
    for message in received(state, "InitPidResponse", client, broker) if own.state == "SentInitPidRequest" else []:
        if message.code == "OK":
            got = evolve(own, state="HasPid", coordinator=broker, pid=message.pid, epoch=message.epoch, last=None)
        else:
            got = evolve(own, state="Ready", last=(own.state, message.code))
        yield replied(evolve(state, clients=put(state.clients, client, got)), message)


@action(client=clients, fair="strong each")
def send_add_partitions(state: State, client: int) -> Iterator[State]:
    own = state.clients[client]
    if own.state not in ("HasPid", "BegunTxn") or own.pending:
        return
    assert own.coordinator is not None
    assert own.tid is not None
    for partition in range(state.bounds.topic_partitions):
        if partition not in own.partitions:
            added = frozenset({partition})
            message = Message(
                "AddPartitionsRequest", client, own.coordinator, own.tid, "", own.pid, own.epoch, partitions=added
            )
            sent = evolve(own, pending=added, state="BegunTxn")
            yield evolve(state, clients=put(state.clients, client, sent), messages=state.messages | {message})


@action(client=clients, broker=brokers, fair="weak each")
def receive_add_partitions_response(state: State, client: int, broker: int) -> Iterator[State]:
    own = state.clients[client]
    for message in received(state, "AddPartitionsResponse", client, broker) if own.state == "BegunTxn" else []:
        error = (own.state, message.code)
        if message.code == "OK":
            got = evolve(own, pending=own.pending - message.partitions, partitions=own.partitions | message.partitions)
        elif message.code in ("ConcurrentTransactions", "NotCoordinator"):
            assert own.tid is not None
            leader = state.leader[partition_of(state, own.tid)]
            found = leader if message.code == "NotCoordinator" else own.coordinator
            got = evolve(own, pending=frozenset(), last=error, coordinator=found)
        else:
            got = evolve(own, state="Terminated", last=error, pending=frozenset(), partitions=frozenset())
        yield replied(evolve(state, clients=put(state.clients, client, got)), message)


@action(broker=brokers, partition=log_partitions)
def elect_leader(state: State, broker: int, partition: int) -> Iterator[State]:
    if state.elected < state.bounds.elections and not leads(state, broker, partition):
        epoch = state.epoch[partition] + 1
        # The specification forgets the transactional ids of other partitions here.
        read = tuple(
            metadata if partition_of(state, tid) == partition else None
            for tid, metadata in enumerate(state.metadata[state.leader[partition]])
        )
        yield evolve(
            state,
            leader=put(state.leader, partition, broker),
            epoch=put(state.epoch, partition, epoch),
            known=put_at(state.known, broker, partition, (epoch, broker)),
            metadata=put(state.metadata, broker, read),
            elected=state.elected + 1,
        )


@action(broker=brokers, partition=log_partitions, fair="weak each")
def become_follower(state: State, broker: int, partition: int) -> Iterator[State]:
    epoch, leader = state.epoch[partition], state.leader[partition]
    if state.known[broker][partition][0] >= epoch or not leads(state, broker, partition) or broker == leader:
        return
    log, committed = state.log[broker][partition], state.committed[partition]
    errors = frozenset(entry.error for entry in log[committed:] if entry.error is not None)
    yield evolve(
        state,
        known=put_at(state.known, broker, partition, (epoch, leader)),
        log=put_at(state.log, broker, partition, log[:committed]),
        metadata=without_ids(state, state.metadata, broker, partition),
        transition=without_ids(state, state.transition, broker, partition),
        messages=state.messages | errors,
    )


def without_ids(
    state: State, rows: tuple[tuple[Metadata | None, ...], ...], broker: int, partition: int
) -> tuple[tuple[Metadata | None, ...], ...]:
    """The rows without what a broker has of the transactional ids of a partition."""
    kept = tuple(None if partition_of(state, tid) == partition else each for tid, each in enumerate(rows[broker]))
    return put(rows, broker, kept)


@action(broker=brokers, tid=transactional_ids, fair="weak each")
def complete_partial(state: State, broker: int, tid: int) -> Iterator[State]:
    known = state.metadata[broker][tid]
    if not leads(state, broker, partition_of(state, tid)) or state.transition[broker][tid] is not None:
        return
    if known is not None and known.state in ("PrepareAbort", "PrepareCommit"):
        yield appended(state, broker, completing(tid, known))


def completing(tid: int, metadata: Metadata) -> Entry:
    state = "CompleteCommit" if metadata.state == "PrepareCommit" else "CompleteAbort"
    assert metadata.state in BEFORE[state]
    return Entry(tid, evolve(metadata, state=state, fresh=False), state)


def pid_response(client: int, broker: int, code: str, pid: int = -1, epoch: int = -1) -> Message:
    return Message("InitPidResponse", client, broker, code=code, pid=pid, epoch=epoch)


@action(broker=brokers, client=clients, fair="weak each")
def receive_init_pid_request(state: State, broker: int, client: int) -> Iterator[State]:
    for request in received(state, "InitPidRequest", client, broker):
        tid = request.tid
        if not leads(state, broker, partition_of(state, tid)):
            yield replied(state, request, pid_response(client, broker, "NotCoordinator"))
            continue
        known = state.metadata[broker][tid] or Metadata(state.pid_source + 1, -1, -1, "Empty", fresh=True)
        learned = evolve(state, pid_source=known.pid, metadata=put_at(state.metadata, broker, tid, known))
        if state.transition[broker][tid] is not None or known.state in ("PrepareAbort", "PrepareCommit"):
            yield replied(learned, request, pid_response(client, broker, "ConcurrentTransactions"))
            continue
        error = pid_response(client, broker, "NotCoordinator")
        if known.state == "Ongoing":
            fenced = Metadata(known.pid, known.epoch + 1, -1, "PrepareAbort", known.partitions)
            response = pid_response(client, broker, "ConcurrentTransactions")
            entry = Entry(tid, fenced, "PrepareAbort", response, error)
        else:
            assert known.state in BEFORE["Empty"]
            empty = Metadata(known.pid, known.epoch + 1, known.epoch, "Empty")
            response = pid_response(client, broker, "OK", empty.pid, empty.epoch)
            entry = Entry(tid, empty, "InitPidRequest", response, error)
        yield appended(replied(learned, request), broker, entry)


@action(broker=brokers, client=clients, fair="weak each")
def receive_add_partitions_request(state: State, broker: int, client: int) -> Iterator[State]:
    for request in received(state, "AddPartitionsRequest", client, broker):
        tid = request.tid
        known = state.metadata[broker][tid]
        code = "OK"
        if not leads(state, broker, partition_of(state, tid)):
            code = "NotCoordinator"
        elif known is None or request.pid != known.pid:
            code = "InvalidProducerIdMapping"
        elif request.epoch != known.epoch:
            code = "ProducerFenced"
        elif state.transition[broker][tid] is not None or known.state in ("PrepareCommit", "PrepareAbort"):
            code = "ConcurrentTransactions"
        if code != "OK":
            yield replied(state, request, Message("AddPartitionsResponse", client, broker, code=code))
            continue
        assert known is not None
        assert known.state in BEFORE["Ongoing"]
        ongoing = evolve(known, state="Ongoing", partitions=known.partitions | request.partitions, fresh=False)
        response = Message("AddPartitionsResponse", client, broker, code="OK", partitions=ongoing.partitions)
        error = Message("AddPartitionsResponse", client, broker, code="NotCoordinator")
        yield appended(replied(state, request), broker, Entry(tid, ongoing, "AddPartitionsRequest", response, error))


@action(broker=brokers, partition=log_partitions, fair="weak each")
def commit_append(state: State, broker: int, partition: int) -> Iterator[State]:
    log, committed = state.log[broker][partition], state.committed[partition]
    same = all(each[partition][0] == state.known[broker][partition][0] for each in state.known)
    if committed == len(log) or broker != state.leader[partition] or not same:
        return
    entry = log[committed]
    logs = state.log
    for follower in range(state.bounds.brokers):
        if follower != broker:
            logs = put_at(logs, follower, partition, (*logs[follower][partition], entry))
    replicated = evolve(
        state,
        committed=put(state.committed, partition, committed + 1),
        log=logs,
        metadata=put_at(state.metadata, broker, entry.tid, entry.metadata),
        messages=state.messages | (frozenset() if entry.response is None else {entry.response}),
    )
    if entry.kind in ("PrepareAbort", "PrepareCommit"):
        yield appended(replicated, broker, completing(entry.tid, entry.metadata))
    else:
        yield evolve(replicated, transition=put_at(replicated.transition, broker, entry.tid, None))


@invariant("no two clients have the same producer id and producer epoch")
def clients_have_different_epochs(state: State) -> bool:
    given = [(each.pid, each.epoch) for each in state.clients if each.pid != -1]
    return len(set(given)) == len(given)


@invariant("no two brokers believe that they lead a partition of the log in the same coordinator epoch")
def coordinators_have_different_epochs(state: State) -> bool:
    leading = [
        (partition, epoch)
        for broker, known in enumerate(state.known)
        for partition, (epoch, leader) in enumerate(known)
        if broker == leader
    ]
    return len(set(leading)) == len(leading)


@eventually_always("all clients have a producer id at last")
def all_clients_get_pid(state: State) -> bool:
    return all(each.pid > -1 for each in state.clients)


@eventually_always("a client has added all topic partitions at last")
def one_client_adds_all_partitions(state: State) -> bool:
    wanted = state.bounds.topic_partitions
    return any(each.state == "BegunTxn" and len(each.partitions) == wanted for each in state.clients)


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
    optional=[all_clients_get_pid, one_client_adds_all_partitions],
    bounds=Bounds(),
)
