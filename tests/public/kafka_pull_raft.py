"""KRaft's quorum: Vanlightly's raft-tlaplus, pull-raft, KRaft.

Requests and responses are messages. How often a message is still to be delivered is counted, and a message that was
delivered is still known: requests for votes, announcements of leaders and responses to fetches are sent once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import evolve, frozen

from leadline.checker import Bag, Spec, action, always_eventually, bound, bounds, constant, invariant, put

UNATTACHED, VOTED, FOLLOWER, CANDIDATE, LEADER = "Unattached", "Voted", "Follower", "Candidate", "Leader"
ILLEGAL = "IllegalState"
FENCED, NOT_LEADER, UNKNOWN_LEADER = "FencedLeaderEpoch", "NotLeader", "UnknownLeader"
NIL = -1


@frozen
class Bounds:
    servers: int = bound(3, "servers", at_least=1, at_most=5)
    values: int = bound(1, "values that clients send", at_least=0, at_most=3)
    elections: int = bound(2, "elections", at_least=0, at_most=4)
    restarts: int = bound(0, "restarts", at_least=0, at_most=4)
    diverged: bool = bound(False, "begin where server 0 leads epoch 3, and only the last has a value, of epoch 2")

    @bounds.check("two servers and a value, if logs have diverged")
    def _has_diverged(self) -> bool:
        return not self.diverged or (self.servers > 1 and self.values > 0)


@frozen(cache_hash=True)
class Message:
    """A message; a response to a fetch has the request, and what is not in a message of its kind is left blank."""

    kind: str
    source: int
    to: int
    epoch: int
    leader: int = NIL
    error: str = ""
    granted: bool = False
    offset: int = 0
    last_epoch: int = 0
    result: str = ""
    entries: tuple[tuple[int, int], ...] = ()
    watermark: int = 0
    request: Message | None = None


@frozen(cache_hash=True)
class Server:
    """A server; its log has the epoch and the value of each entry."""

    epoch: int = 1
    role: str = UNATTACHED
    voted_for: int = NIL
    leader: int = NIL
    pending: Message | None = None
    log: tuple[tuple[int, int], ...] = ()
    watermark: int = 0
    votes: frozenset[int] = frozenset()
    ends: tuple[int, ...] = ()

    @property
    def last_epoch(self) -> int:
        return self.log[-1][0] if self.log else 0

    def end_of(self, epoch: int) -> tuple[int, int]:
        """The last offset with this epoch or an earlier one, and its epoch."""
        return max(((at, of) for at, (of, _) in enumerate(self.log, start=1) if of <= epoch), default=(0, 0))

    def accepts(self, fetch: Message) -> bool:
        """Whether the position of a fetch is in this log."""
        offset, epoch = self.end_of(fetch.last_epoch)
        start = fetch.offset == 0 == fetch.last_epoch
        return start or (fetch.offset <= offset and fetch.last_epoch == epoch)


@frozen
class State:
    servers: tuple[Server, ...]
    network: Bag[Message]
    sent: frozenset[Message]
    acked: tuple[bool | None, ...]
    elections: int
    restarts: int
    bounds: Bounds = constant()


def initial_states(bounds: Bounds) -> list[State]:
    nothing = (0,) * bounds.servers
    first = [Server(ends=nothing)] * bounds.servers
    acked: list[bool | None] = [None] * bounds.values
    if bounds.diverged:
        last = bounds.servers - 1
        leader = Server(3, LEADER, 0, 0, ends=nothing, votes=frozenset(range(last)))
        former = Server(3, FOLLOWER, last, 0, ends=nothing, log=((2, 0),))
        first = [leader, *[Server(3, FOLLOWER, 0, 0, ends=nothing)] * (last - 1), former]
        acked[0] = False
    return [State(tuple(first), Bag(), frozenset(), tuple(acked), 0, 0, bounds)]


def servers(bounds: Bounds) -> range:
    return range(bounds.servers)


def in_flight(state: State) -> Iterable[Message]:
    return dict.fromkeys(state.network)


def is_quorum(state: State, members: int) -> bool:
    return 2 * members > state.bounds.servers


# --- messages -----------------------------------------------------------------------------------------------------


def sent_once(state: State, own: int, message: Message) -> Iterator[State]:
    """Send a message to all other servers, unless it was sent to one before."""
    all_of_them = [evolve(message, to=other) for other in range(state.bounds.servers) if other != own]
    if state.sent.isdisjoint(all_of_them):
        network = state.network
        for each in all_of_them:
            network = network.add(each)
        yield evolve(state, network=network, sent=state.sent | frozenset(all_of_them))


def replied(state: State, request: Message, response: Message) -> Iterator[State]:
    if response.kind != "FetchResponse" or response not in state.sent:
        network = state.network.remove(request).add(response)
        yield evolve(state, network=network, sent=state.sent | {response})


def with_server(state: State, number: int, server: Server) -> State:
    return put(state, "servers", number, server)


# --- what epochs and leaders lead to ------------------------------------------------------------------------------


def entering(own: Server, role: str, epoch: int, leader: int = NIL) -> Server:
    return evolve(own, role=role, epoch=epoch, leader=leader)


def following(own: Server, leader: int, epoch: int) -> Server:
    if own.epoch == epoch and own.role in (FOLLOWER, LEADER):
        return entering(own, ILLEGAL, 0)
    return entering(own, FOLLOWER, epoch, leader)


def is_consistent(number: int, own: Server, leader: int, epoch: int) -> bool:
    if leader == number:
        return own.role == LEADER
    return epoch != own.epoch or NIL in (leader, own.leader) or own.leader == leader


def informed(number: int, own: Server, leader: int, epoch: int) -> Server:
    if not is_consistent(number, own, leader, epoch):
        return entering(own, ILLEGAL, 0)
    if epoch > own.epoch and leader == NIL:
        return entering(own, UNATTACHED, epoch)
    if epoch > own.epoch or (leader != NIL and own.leader == NIL):
        return following(own, leader, epoch)
    return own


def answered(own: Server, response: Message) -> Server | None:
    """The server if its epoch, its leader or an error was all that counts in a response, else None."""
    if response.epoch < own.epoch:
        return own
    if response.epoch > own.epoch or response.error:
        return informed(response.to, own, response.leader, response.epoch)
    if response.leader != NIL and own.leader == NIL:
        return entering(own, FOLLOWER, own.epoch, response.leader)
    return None


# --- elections ----------------------------------------------------------------------------------------------------


@action(number=servers)
def restart(state: State, number: int) -> Iterator[State]:
    if state.restarts < state.bounds.restarts:
        own = state.servers[number]
        kept = Server(own.epoch, FOLLOWER, own.voted_for, log=own.log, ends=(0,) * state.bounds.servers)
        yield evolve(with_server(state, number, kept), restarts=state.restarts + 1)


@action(number=servers)
def request_vote(state: State, number: int) -> Iterator[State]:
    own = state.servers[number]
    if state.elections < state.bounds.elections and own.role in (FOLLOWER, CANDIDATE, UNATTACHED):
        candidate = entering(own, CANDIDATE, own.epoch + 1)
        candidate = evolve(candidate, voted_for=number, votes=frozenset({number}), pending=None)
        after = evolve(with_server(state, number, candidate), elections=state.elections + 1)
        request = Message("Vote", number, NIL, own.epoch + 1, offset=len(own.log), last_epoch=own.last_epoch)
        yield from sent_once(after, number, request)


@action(m=in_flight)
def handle_vote_request(state: State, m: Message) -> Iterator[State]:
    own = state.servers[m.to]
    if m.kind != "Vote":
        return
    if m.epoch < own.epoch:
        yield from replied(state, m, Message("VoteResponse", m.to, m.source, own.epoch, own.leader, FENCED))
        return
    after = entering(own, UNATTACHED, m.epoch) if m.epoch > own.epoch else own
    may_vote = after.role == UNATTACHED or (after.role == VOTED and own.voted_for == m.source)
    granted = may_vote and (m.last_epoch, m.offset) >= (own.last_epoch, len(own.log))
    if granted:
        after = evolve(entering(after, VOTED, m.epoch), voted_for=m.source)
    if after.role != own.role:
        after = evolve(after, pending=None)
    response = Message("VoteResponse", m.to, m.source, m.epoch, after.leader, granted=granted)
    yield from replied(with_server(state, m.to, after), m, response)


@action(m=in_flight)
def handle_vote_response(state: State, m: Message) -> Iterator[State]:
    own = state.servers[m.to]
    if m.kind != "VoteResponse":
        return
    after = answered(own, m)
    if after is None:
        if own.role != CANDIDATE:
            return
        after = evolve(own, votes=own.votes | {m.source}) if m.granted else own
    yield evolve(with_server(state, m.to, after), network=state.network.remove(m))


@action(number=servers)
def become_leader(state: State, number: int) -> Iterator[State]:
    own = state.servers[number]
    if own.role == CANDIDATE and is_quorum(state, len(own.votes)):
        leader = evolve(own, role=LEADER, leader=number, ends=(0,) * state.bounds.servers)
        yield from sent_once(with_server(state, number, leader), number, Message("Begin", number, NIL, own.epoch))


@action(m=in_flight)
def handle_begin_request(state: State, m: Message) -> Iterator[State]:
    own = state.servers[m.to]
    if m.kind != "Begin":
        return
    if m.epoch < own.epoch:
        yield from replied(state, m, Message("BeginResponse", m.to, m.source, own.epoch, error=FENCED))
    else:
        after = evolve(informed(m.to, own, m.source, m.epoch), pending=None)
        yield from replied(with_server(state, m.to, after), m, Message("BeginResponse", m.to, m.source, m.epoch))


# --- replication --------------------------------------------------------------------------------------------------


@action(number=servers, value=lambda bounds: range(bounds.values))
def client_request(state: State, number: int, value: int) -> Iterator[State]:
    own = state.servers[number]
    if own.role == LEADER and state.acked[value] is None:
        after = put(state, "servers", number, "log", (*own.log, (own.epoch, value)))
        yield put(after, "acked", value, False)


@action(number=servers)
def send_fetch(state: State, number: int) -> Iterator[State]:
    own = state.servers[number]
    if own.role == FOLLOWER and own.leader not in (NIL, number) and own.pending is None:
        m = Message("Fetch", number, own.leader, own.epoch, offset=len(own.log), last_epoch=own.last_epoch)
        after = put(state, "servers", number, "pending", m)
        yield evolve(after, network=state.network.add(m), sent=state.sent | {m})


def response_to(state: State, m: Message, result: str) -> Message:
    own = state.servers[m.to]
    return Message("FetchResponse", m.to, m.source, own.epoch, own.leader, "", result=result, request=m)


@action(m=in_flight)
def reject_fetch(state: State, m: Message) -> Iterator[State]:
    own = state.servers[m.to]
    if m.kind != "Fetch" or (own.role == LEADER and m.epoch == own.epoch):
        return
    error = NOT_LEADER if own.role != LEADER else FENCED if m.epoch < own.epoch else UNKNOWN_LEADER
    yield from replied(state, m, evolve(response_to(state, m, "NotOk"), error=error, watermark=own.watermark))


@action(m=in_flight)
def answer_diverging_fetch(state: State, m: Message) -> Iterator[State]:
    own = state.servers[m.to]
    if m.kind == "Fetch" and m.epoch == own.epoch and own.role == LEADER and not own.accepts(m):
        offset, epoch = own.end_of(m.last_epoch)
        response = evolve(response_to(state, m, "Diverging"), offset=offset, last_epoch=epoch, watermark=own.watermark)
        yield from replied(state, m, response)


@action(m=in_flight)
def accept_fetch(state: State, m: Message) -> Iterator[State]:
    own = state.servers[m.to]
    if not (m.kind == "Fetch" and m.epoch == own.epoch and own.role == LEADER and own.accepts(m)):
        return
    leader = put(own, "ends", m.source, m.offset)
    leader = evolve(leader, watermark=new_watermark(state, m.to, leader))
    committed = {value for _, value in own.log[own.watermark : leader.watermark]}
    acked = tuple(value in committed if each is False else each for value, each in enumerate(state.acked))
    response = evolve(
        response_to(state, m, "Ok"),
        entries=own.log[m.offset : m.offset + 1],
        watermark=min(leader.watermark, m.offset + 1),
    )
    yield from replied(evolve(with_server(state, m.to, leader), acked=acked), m, response)


def new_watermark(state: State, number: int, own: Server) -> int:
    agreed = [
        offset
        for offset in range(1, len(own.log) + 1)
        if is_quorum(state, sum(end >= offset or other == number for other, end in enumerate(own.ends)))
    ]
    return agreed[-1] if agreed and own.log[agreed[-1] - 1][0] == own.epoch else own.watermark


@action(m=in_flight)
def handle_fetch_response(state: State, m: Message) -> Iterator[State]:
    own = state.servers[m.to]
    if m.kind != "FetchResponse" or own.pending != m.request:
        return
    after = answered(own, m)
    if after is None and m.result == "Ok":
        after = evolve(own, watermark=m.watermark, log=own.log + m.entries)
    elif after is None:
        common = [at for at, (epoch, _) in enumerate(own.log, start=1) if (epoch, at) <= (m.last_epoch, m.offset)]
        after = evolve(own, log=own.log[: max(common, default=0)])
    after = evolve(after, pending=None)
    yield evolve(with_server(state, m.to, after), network=state.network.remove(m))


# --- properties ---------------------------------------------------------------------------------------------------


@invariant("no server is in an illegal state", source="NoIllegalState")
def no_illegal_state(state: State) -> bool:
    return all(own.role != ILLEGAL for own in state.servers)


@invariant("two logs are equal below the high watermarks of both", source="NoLogDivergence")
def no_log_divergence(state: State) -> bool:
    return all(
        one.log[: min(one.watermark, other.watermark)] == other.log[: min(one.watermark, other.watermark)]
        for one in state.servers
        for other in state.servers
    )


@invariant("servers in an epoch do not know different leaders", source="NeverTwoLeadersInSameEpoch")
def never_two_leaders_in_same_epoch(state: State) -> bool:
    known = {(own.epoch, own.leader) for own in state.servers if own.leader != NIL}
    return len(known) == len({epoch for epoch, _ in known})


@invariant("the newest leader has all acknowledged values", source="LeaderHasAllAckedValues")
def leader_has_all_acked_values(state: State) -> bool:
    newest = max(own.epoch for own in state.servers)
    acked = {value for value, each in enumerate(state.acked) if each}
    leaders = [own for own in state.servers if own.role == LEADER and own.epoch == newest]
    return all(acked <= {value for _, value in own.log} for own in leaders)


@always_eventually("a value is in all logs or in none, unless no election is left", source="ValuesNotStuck")
def values_not_stuck(state: State) -> bool:
    if state.elections == state.bounds.elections and all(own.role != LEADER for own in state.servers):
        return True
    logs = [{value for _, value in own.log} for own in state.servers]
    return all(held == logs[0] for held in logs)


ACTIONS = (
    restart,
    request_vote,
    handle_vote_request,
    handle_vote_response,
    become_leader,
    client_request,
    reject_fetch,
    answer_diverging_fetch,
    accept_fetch,
    handle_begin_request,
    send_fetch,
    handle_fetch_response,
)

spec = Spec(
    name="kafka-pull-raft",
    initial_states=initial_states,
    actions=ACTIONS,
    properties=[
        no_illegal_state,
        no_log_divergence,
        never_two_leaders_in_same_epoch,
        leader_has_all_acked_values,
    ],
    optional=[values_not_stuck],
    fairness={tuple(each.name for each in ACTIONS): "weak"},
    bounds=Bounds(),
)
