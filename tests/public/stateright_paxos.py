"""A register that three Paxos servers hold, with two clients that write and then read it.

The cluster that the example `paxos` of Stateright searches, message for message: a network that neither orders nor
duplicates nor loses, and a history of the clients' operations, which must be linearizable (Herlihy and Wing, 1990).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import evolve, frozen

from leadline.checker import Bag, Spec, action, bound, constant, invariant, put, witness

Round = tuple[int, int]
"""A number, and the server that began it."""

Proposal = tuple[int, str]
"""A client, and the value it writes."""

Accepted = tuple[Round, Proposal] | None


@frozen
class Bounds:
    clients: int = bound(2, "clients", at_least=1, at_most=3)
    servers: int = bound(3, "servers", at_least=2, at_most=3)


@frozen
class Message:
    """The ballot is a round, or None; the content, what a message of the kind carries."""

    kind: str
    to: int
    sender: int
    ballot: Any = None
    content: Any = None


@frozen
class Server:
    ballot: Round = (0, 0)
    proposal: Proposal | None = None
    promises: frozenset[tuple[int, Accepted]] = frozenset()
    accepts: frozenset[int] = frozenset()
    accepted: Accepted = None
    decided: bool = False


@frozen
class Operation:
    """A client's read or write; `after` counts what each client had completed when it began."""

    kind: str
    value: str
    after: tuple[int, ...]
    done: bool = False


@frozen
class State:
    """`history` holds each client's operations in order; the last one may not be done."""

    servers: tuple[Server, ...]
    history: tuple[tuple[Operation, ...], ...]
    network: Bag[Message]
    bounds: Bounds = constant()


def nodes(bounds: Bounds) -> range:
    """Every server, then every client."""
    return range(bounds.servers + bounds.clients)


def initial_states(bounds: Bounds) -> list[State]:
    none = (0,) * bounds.clients
    writes, puts = [], []
    for client in range(bounds.clients):
        value = "ABC"[client]
        writes.append((Operation("write", value, none),))
        puts.append(Message("put", client % bounds.servers, bounds.servers + client, content=value))
    return [State((Server(),) * bounds.servers, tuple(writes), Bag(puts), bounds)]


def sent(state: State, *messages: Message) -> State:
    network = state.network
    for message in messages:
        network = network.add(message)
    return evolve(state, network=network)


def to_peers(state: State, server: int, kind: str, ballot: Round, content: Proposal | None = None) -> State:
    others = (other for other in range(state.bounds.servers) if other != server)
    return sent(state, *(Message(kind, other, server, ballot, content) for other in others))


@action(node=nodes)
def deliver(state: State, node: int) -> Iterator[State]:
    for message in state.network:
        if message.to == node:
            without = evolve(state, network=state.network.remove(message))
            if node < state.bounds.servers:
                yield from _at_server(without, node, message)
            else:
                yield from _at_client(without, node, message)


def _at_server(state: State, node: int, message: Message) -> Iterator[State]:
    server = state.servers[node]
    majority = state.bounds.servers // 2 + 1
    ballot, sender = message.ballot, message.sender
    if server.decided:
        if message.kind == "get" and server.accepted is not None:
            yield sent(state, Message("get ok", sender, node, content=server.accepted[1][1]))
    elif message.kind == "put" and server.proposal is None:
        ballot = (server.ballot[0] + 1, node)
        own = frozenset({(node, server.accepted)})
        started = evolve(server, ballot=ballot, proposal=(sender, message.content), promises=own, accepts=frozenset())
        yield to_peers(put(state, "servers", node, started), node, "prepare", ballot)
    elif message.kind == "prepare" and server.ballot < ballot:
        joined = put(state, "servers", node, "ballot", ballot)
        yield sent(joined, Message("prepared", sender, node, ballot, server.accepted))
    elif message.kind == "prepared" and server.ballot == ballot:
        promises = server.promises | {(sender, message.content)}
        heard = evolve(server, promises=promises)
        if len(promises) == majority:
            last = max((accepted for _, accepted in promises if accepted is not None), default=None)
            proposal: Any = server.proposal if last is None else last[1]
            heard = evolve(heard, proposal=proposal, accepted=(ballot, proposal), accepts=server.accepts | {node})
            yield to_peers(put(state, "servers", node, heard), node, "accept", ballot, proposal)
        else:
            yield put(state, "servers", node, heard)
    elif message.kind == "accept" and server.ballot <= ballot:
        accepted = put(state, "servers", node, evolve(server, ballot=ballot, accepted=(ballot, message.content)))
        yield sent(accepted, Message("accepted", sender, node, ballot))
    elif message.kind == "accepted" and server.ballot == ballot:
        accepts = server.accepts | {sender}
        decided = len(accepts) == majority
        after = put(state, "servers", node, evolve(server, accepts=accepts, decided=decided))
        if decided and server.proposal is not None:
            client, _ = server.proposal
            after = sent(to_peers(after, node, "decided", ballot, server.proposal), Message("put ok", client, node))
        yield after
    elif message.kind == "decided":
        yield put(
            state, "servers", node, evolve(server, ballot=ballot, accepted=(ballot, message.content), decided=True)
        )


def _at_client(state: State, node: int, message: Message) -> Iterator[State]:
    client = node - state.bounds.servers
    *before, last = state.history[client]
    if message.kind == "put ok" and last.kind == "write" and not last.done:
        completed = put(state, "history", client, (*before, evolve(last, done=True)))
        counts = tuple(
            sum(operation.done for operation in operations) if other != client else 0
            for other, operations in enumerate(completed.history)
        )
        reads = (*completed.history[client], Operation("read", "", counts))
        server = (node + 1) % state.bounds.servers
        yield sent(put(completed, "history", client, reads), Message("get", server, node))
    elif message.kind == "get ok" and last.kind == "read" and not last.done:
        yield put(state, "history", client, (*before, evolve(last, value=message.content, done=True)))


@invariant("the clients' operations are linearizable", source="Herlihy and Wing, 1990")
def linearizable(state: State) -> bool:
    return _serializable(state.history, (0,) * len(state.history), None)


def _serializable(history: tuple[tuple[Operation, ...], ...], taken: tuple[int, ...], value: str | None) -> bool:
    """Whether the remaining operations of the clients have an order that a register allows."""
    if all(all(not one.done for one in operations[count:]) for operations, count in zip(history, taken, strict=True)):
        return True
    for client, count in enumerate(taken):
        if count == len(history[client]):
            continue
        operation = history[client][count]
        in_time = all(count >= earlier for count, earlier in zip(taken, operation.after, strict=True))
        fits = operation.kind == "write" or not operation.done or operation.value == value
        now = operation.value if operation.kind == "write" else value
        if in_time and fits and _serializable(history, put(taken, client, count + 1), now):
            return True
    return False


@witness("a value that was chosen is on its way to a client")
def value_chosen(state: State) -> bool:
    return any(message.kind == "get ok" for message in state.network)


spec = Spec(
    name="stateright-paxos",
    initial_states=initial_states,
    actions=[deliver],
    properties=[linearizable, value_chosen],
    bounds=Bounds(),
)
