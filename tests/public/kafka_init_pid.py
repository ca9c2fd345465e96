"""Transaction coordinators that give out producer ids: Vanlightly's kafka-tlaplus, transactions diary 01.

Clients send a request for a producer id to any broker. One partition of the transaction log, led by the first broker.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, bound, constant, eventually_always, invariant, put


@frozen
class Bounds:
    brokers: int = bound(2, "brokers", at_least=1, at_most=9)
    clients: int = bound(1, "clients", at_least=1, at_most=9)
    transactional_ids: int = bound(1, "transactional ids", at_least=1, at_most=9)


@frozen(cache_hash=True)
class Metadata:
    pid: int
    last_pid: int
    epoch: int
    last_epoch: int


@frozen(cache_hash=True)
class Message:
    kind: str
    client: int
    broker: int
    tid: int = -1
    code: str = ""
    pid: int = -1
    epoch: int = -1


@frozen(cache_hash=True)
class Entry:
    client: int
    tid: int
    transition: Metadata


@frozen(cache_hash=True)
class Client:
    state: str = "Ready"
    tid: int | None = None
    pid: int = -1
    epoch: int = -1
    last: tuple[str, str] | None = None


@frozen
class State:
    clients: tuple[Client, ...]
    metadata: tuple[tuple[Metadata | None, ...], ...]
    transition: tuple[tuple[Metadata | None, ...], ...]
    log: tuple[Entry, ...]
    committed: int
    pid_source: int
    messages: frozenset[Message]
    discarded: frozenset[Message]
    bounds: Bounds = constant()


LEADER = 0


def initial_states(bounds: Bounds) -> list[State]:
    nothing = ((None,) * bounds.transactional_ids,) * bounds.brokers
    return [
        State((Client(),) * bounds.clients, nothing, nothing, (), 0, 0, frozenset(), frozenset(), bounds),
    ]


def clients(bounds: Bounds) -> range:
    return range(bounds.clients)


def brokers(bounds: Bounds) -> range:
    return range(bounds.brokers)


def replied(state: State, request: Message, *responses: Message) -> State:
    left = (state.messages - {request}) | frozenset(responses)
    return evolve(state, messages=left, discarded=state.discarded | {request})


@action(client=clients, broker=brokers, fair="strong each")
def send_init_pid(state: State, client: int, broker: int) -> Iterator[State]:
    own = state.clients[client]
    for tid in range(state.bounds.transactional_ids) if own.state == "Ready" else ():
        if own.tid in (None, tid):
            sent = evolve(own, tid=tid, state="SentInitPidRequest")
            message = Message("InitPidRequest", client, broker, tid)
            yield evolve(state, clients=put(state.clients, client, sent), messages=state.messages | {message})


@action(client=clients, fair="weak each")
def receive_init_pid_response(state: State, client: int) -> Iterator[State]:
    own = state.clients[client]
    for message in sorted(state.messages, key=repr) if own.state == "SentInitPidRequest" else []:
        if message.kind == "InitPidResponse" and message.client == client:
            if message.code == "OK":
                got = evolve(own, state="HasPid", pid=message.pid, epoch=message.epoch)
            else:
                got = evolve(own, state="Ready", last=(own.state, message.code))
            yield replied(evolve(state, clients=put(state.clients, client, got)), message)


@action(broker=brokers, client=clients, fair="weak each")
def receive_init_pid_request(state: State, broker: int, client: int) -> Iterator[State]:
    for request in sorted(state.messages, key=repr):
        if (request.kind, request.client, request.broker) != ("InitPidRequest", client, broker):
            continue
        tid, known = request.tid, state.metadata[broker][request.tid]
        if known is None and broker != LEADER:
            yield replied(state, request, response_to(client, broker, "NotCoordinatorForTransactionalId"))
            continue
        known = known or Metadata(state.pid_source + 1, -1, -1, -1)
        learned = evolve(
            state,
            pid_source=known.pid,
            metadata=put(state.metadata, broker, put(state.metadata[broker], tid, known)),
        )
        if state.transition[broker][tid] is not None:
            yield replied(learned, request, response_to(client, broker, "ConcurrentTransactions"))
            continue
        bumped = Metadata(known.pid, known.pid, known.epoch + 1, known.epoch)
        # The specification takes the other transitions from the metadata, not from the transitions.
        transition = put(state.metadata, broker, put(state.metadata[broker], tid, bumped))
        log = (*state.log, Entry(client, tid, bumped))
        yield evolve(replied(learned, request), transition=transition, log=log)


def response_to(client: int, broker: int, code: str, pid: int = -1, epoch: int = -1) -> Message:
    return Message("InitPidResponse", client, broker, code=code, pid=pid, epoch=epoch)


@action(fair="weak each")
def complete_init_pid(state: State) -> Iterator[State]:
    if state.committed < len(state.log):
        entry = state.log[state.committed]
        metadata = put(state.metadata[LEADER], entry.tid, entry.transition)
        transition = put(state.transition[LEADER], entry.tid, None)
        response = response_to(entry.client, LEADER, "OK", entry.transition.pid, entry.transition.epoch)
        yield evolve(
            state,
            metadata=put(state.metadata, LEADER, metadata),
            transition=put(state.transition, LEADER, transition),
            committed=state.committed + 1,
            messages=state.messages | {response},
        )


@invariant("no two clients with the same transactional id have the same producer id and producer epoch")
def clients_have_different_epochs(state: State) -> bool:
    given = [(each.tid, each.pid, each.epoch) for each in state.clients if each.pid != -1]
    return len(set(given)) == len(given)


@eventually_always("all clients have a producer id at last")
def all_clients_get_pid(state: State) -> bool:
    return all(each.state == "HasPid" for each in state.clients)


spec = Spec(
    name="kafka-init-pid",
    initial_states=initial_states,
    actions=[send_init_pid, receive_init_pid_request, receive_init_pid_response, complete_init_pid],
    properties=[clients_have_different_epochs],
    optional=[all_clients_get_pid],
    bounds=Bounds(),
)
