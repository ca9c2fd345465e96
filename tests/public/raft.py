"""Raft, with the messages in a bag: Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm" (2014).

Elections and log replication, figure 2 of the paper. Messages arrive in any order, twice, or never. How many are in
flight at once is a bound.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Bag, Spec, action, bound, constant, invariant, put, witness


@frozen
class Bounds:
    servers: int = bound(2, "servers", at_least=1, at_most=5)
    max_term: int = bound(2, "the last term; the first is 1", at_least=1, at_most=4)
    max_log: int = bound(1, "entries in a log", at_least=0, at_most=3)
    in_flight: int = bound(2, "messages in flight", at_least=1, at_most=4)


@frozen
class RequestVote:
    term: int
    to: int
    candidate: int
    last_term: int
    last_index: int


@frozen
class Vote:
    term: int
    to: int
    voter: int
    granted: bool


@frozen
class AppendEntries:
    term: int
    to: int
    leader: int
    prev_index: int
    prev_term: int
    entries: tuple[int, ...]
    commit: int


@frozen
class Appended:
    """The answer to AppendEntries; `match` is None if it was refused."""

    term: int
    to: int
    follower: int
    match: int | None


Message = RequestVote | Vote | AppendEntries | Appended


@frozen
class Server:
    """A server; its log is the term of each entry, and indices count from 1."""

    term: int = 1
    role: str = "follower"
    voted_for: int | None = None
    log: tuple[int, ...] = ()
    commit: int = 0
    votes: frozenset[int] = frozenset()
    next_index: tuple[int, ...] = ()
    match_index: tuple[int, ...] = ()

    def term_at(self, index: int) -> int:
        return self.log[index - 1] if index else 0

    @property
    def last_term(self) -> int:
        return self.term_at(len(self.log))


@frozen
class State:
    servers: tuple[Server, ...]
    network: Bag[Message]
    bounds: Bounds = constant()


def initial_states(bounds: Bounds) -> list[State]:
    return [State((Server(),) * bounds.servers, Bag(), bounds)]


def servers(bounds: Bounds) -> range:
    return range(bounds.servers)


def is_majority(state: State, members: int) -> bool:
    return 2 * members > state.bounds.servers


def sent(state: State, message: Message) -> Iterator[State]:
    if state.network.total() < state.bounds.in_flight:
        yield evolve(state, network=state.network.add(message))


@action(server=servers)
def time_out(state: State, server: int) -> Iterator[State]:
    own = state.servers[server]
    if own.role != "leader" and own.term < state.bounds.max_term:
        candidate = evolve(own, role="candidate", term=own.term + 1, voted_for=server, votes=frozenset({server}))
        yield put(state, "servers", server, candidate)


@action(server=servers, peer=servers)
def request_vote(state: State, server: int, peer: int) -> Iterator[State]:
    own = state.servers[server]
    if own.role == "candidate" and peer not in own.votes:
        yield from sent(state, RequestVote(own.term, peer, server, own.last_term, len(own.log)))


@action(server=servers)
def become_leader(state: State, server: int) -> Iterator[State]:
    own = state.servers[server]
    if own.role == "candidate" and is_majority(state, len(own.votes)):
        n = state.bounds.servers
        leader = evolve(own, role="leader", next_index=(len(own.log) + 1,) * n, match_index=(0,) * n)
        yield put(state, "servers", server, leader)


@action(server=servers)
def client_request(state: State, server: int) -> Iterator[State]:
    own = state.servers[server]
    if own.role == "leader" and len(own.log) < state.bounds.max_log:
        yield put(state, "servers", server, "log", (*own.log, own.term))


@action(server=servers, peer=servers)
def append_entries(state: State, server: int, peer: int) -> Iterator[State]:
    own = state.servers[server]
    if own.role == "leader" and server != peer:
        prev = own.next_index[peer] - 1
        entries = own.log[prev : prev + 1]
        commit = min(own.commit, prev + len(entries))
        yield from sent(state, AppendEntries(own.term, peer, server, prev, own.term_at(prev), entries, commit))


@action(server=servers)
def advance_commit(state: State, server: int) -> Iterator[State]:
    own = state.servers[server]
    if own.role != "leader":
        return
    agreed = [
        index
        for index in range(own.commit + 1, len(own.log) + 1)
        if is_majority(state, 1 + sum(match >= index for match in own.match_index))
    ]
    if agreed and own.term_at(max(agreed)) == own.term:
        yield put(state, "servers", server, "commit", max(agreed))


@action(server=servers)
def duplicate(state: State, server: int) -> Iterator[State]:
    for message in state.network:
        if message.to == server:
            yield from sent(state, message)


@action(server=servers)
def lose(state: State, server: int) -> Iterator[State]:
    for message in state.network:
        if message.to == server:
            yield evolve(state, network=state.network.remove(message))


@action(server=servers)
def receive(state: State, server: int) -> Iterator[State]:
    for message in state.network:
        if message.to == server:
            own = state.servers[server]
            if message.term > own.term:
                own = evolve(own, term=message.term, role="follower", voted_for=None)
            network = state.network.remove(message)
            after, answer = _handled(own, message)
            if answer is not None:
                network = network.add(answer)
            yield evolve(put(state, "servers", server, after), network=network)


def _handled(own: Server, message: Message) -> tuple[Server, Message | None]:
    """A server after it has handled a message of its own or an older term, and its response."""
    current = message.term == own.term
    match message:
        case RequestVote(_, to, candidate, last_term, last_index):
            up_to_date = (last_term, last_index) >= (own.last_term, len(own.log))
            granted = current and up_to_date and own.voted_for in (None, candidate)
            after = evolve(own, voted_for=candidate) if granted else own
            return after, Vote(own.term, candidate, to, granted)
        case Vote(_, _, voter, granted):
            counts = current and granted and own.role == "candidate"
            return (evolve(own, votes=own.votes | {voter}) if counts else own), None
        case AppendEntries(_, to, leader, prev_index, prev_term, entries, commit):
            if not current:
                return own, Appended(own.term, leader, to, None)
            own = evolve(own, role="follower")
            if prev_index > len(own.log) or own.term_at(prev_index) != prev_term:
                return own, Appended(own.term, leader, to, None)
            end = prev_index + len(entries)
            if own.log[prev_index:end] != entries:
                own = evolve(own, log=own.log[:prev_index] + entries)
            return evolve(own, commit=max(own.commit, commit)), Appended(own.term, leader, to, end)
        case Appended(_, _, follower, match):
            if not current or own.role != "leader":
                return own, None
            if match is None:
                return put(own, "next_index", follower, max(own.next_index[follower] - 1, 1)), None
            return put(put(own, "next_index", follower, match + 1), "match_index", follower, match), None
    raise TypeError(message)


@invariant("at most one leader is elected in a term", source="figure 3, Election Safety")
def election_safety(state: State) -> bool:
    terms = [server.term for server in state.servers if server.role == "leader"]
    return len(terms) == len(set(terms))


@invariant("logs that hold the same term at an index agree up to it", source="figure 3, Log Matching")
def log_matching(state: State) -> bool:
    logs = [server.log for server in state.servers]
    return all(
        one[: index + 1] == other[: index + 1]
        for one in logs
        for other in logs
        for index in range(min(len(one), len(other)))
        if one[index] == other[index]
    )


@invariant("servers agree on what both have committed", source="figure 3, State Machine Safety")
def state_machine_safety(state: State) -> bool:
    committed = [server.log[: server.commit] for server in state.servers]
    return all(one[: len(other)] == other[: len(one)] for one in committed for other in committed)


@witness("an entry is committed")
def something_committed(state: State) -> bool:
    return any(server.commit for server in state.servers)


spec = Spec(
    name="raft",
    initial_states=initial_states,
    actions=[
        time_out,
        request_vote,
        become_leader,
        client_request,
        append_entries,
        advance_commit,
        duplicate,
        lose,
        receive,
    ],
    properties=[election_safety, log_matching, state_machine_safety, something_committed],
    bounds=Bounds(),
)
