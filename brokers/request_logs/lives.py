"""Find out from requests when brokers have ended and started again. No file says so.

- KRaft: each start of a broker registers another incarnation id.
- ZooKeeper: the controller tells the brokers which of them are alive, and since 2.2, it sends each the epoch of its
  registration (KIP-380). A broker that was not alive in between, or has another epoch, has registered again. It has
  started again, unless one of its connections lasted. Then only its session had expired.

A broker has ended before the first request of its next life, and with a request to shut down before, it has been shut
down. A broker that does not start again is not noticed. Its end has no other effect than what the controller decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import attrs

from leadline.brokers.messages.shutdown import asks_to_stop
from leadline.brokers.request_logs.request import Request


@attrs.frozen
class Return:
    """A broker has registered again.

    Attributes:
        node: the broker.
        after: why it was away: ``killed``, ``terminated`` after it had asked to shut down, or ``expired`` if only its
            session in ZooKeeper had ended.
        ended: the latest time at which its earlier registration ended.
        started: a time at which it is registered again.
    """

    node: int
    after: str
    ended: float
    started: float


def returns(requests: Sequence[Request]) -> Iterator[Return]:
    """Yield the returns of brokers. The requests must be in order of arrival."""
    if any(each.api == "BrokerRegistration" for each in requests):
        found = _by_registrations(requests)
    else:
        found = _by_requests_of_controllers(requests)
    stops = [(each.begun, each.source) for each in requests if asks_to_stop(each.api, each.body)]
    last: dict[int, float] = {}
    for each in sorted(found, key=lambda each: each.ended):
        asked = any(source == each.node and last.get(each.node, 0.0) <= at <= each.ended for at, source in stops)
        yield attrs.evolve(each, after="terminated") if asked and each.after == "killed" else each
        last[each.node] = each.started


def _by_registrations(requests: Sequence[Request]) -> Iterator[Return]:
    known: dict[int, str] = {}
    for place, request in enumerate(requests):
        if request.api != "BrokerRegistration" or (request.answer or {}).get("ErrorCode", -1):
            continue
        node, incarnation = request.body["BrokerId"], request.body["IncarnationId"]
        if known.setdefault(node, incarnation) != incarnation:
            known[node] = incarnation
            yield Return(node, "killed", _first_of_life(requests, place, node, incarnation), request.done)


def _first_of_life(requests: Sequence[Request], place: int, node: int, incarnation: str) -> float:
    """Return the time of the first request that a broker sent in the life that it registered at a place.

    Before a broker registers, it fetches the metadata log, and it may be refused. Connections end with the process.
    """
    own = [each for each in requests if each.source == node]
    tries = [each for each in own if each.api == "BrokerRegistration" and each.body["IncarnationId"] == incarnation]
    at = requests[place].begun
    connections = {each.connection for each in own if each.begun >= at and each.node == requests[place].node}
    connections |= {each.connection for each in tries}
    return min(each.begun for each in own if each.connection in connections)


def _by_requests_of_controllers(requests: Sequence[Request]) -> Iterator[Return]:
    alive = _Alive()
    for request in requests:
        alive.read(request)
    before: dict[int | str, Request] = {}
    for request in requests:
        if request.api not in ("LeaderAndIsr", "UpdateMetadata"):
            continue
        node, last = request.node, before.get(request.node)
        if last is not None and _epoch(request) < _epoch(last):
            continue  # it is stale
        before[node] = request
        if last is None or not isinstance(node, int):
            continue
        away = next((at for at in alive.ends[node] if last.begun <= at <= request.begun), None)
        if _epoch(last) == _epoch(request) and (away is None or last.connection == request.connection):
            continue
        away = request.begun if away is None else away
        back = next((at for at in alive.begins[node] if away <= at <= request.begun), request.begun)
        if alive.lasts(node, away, request.begun):
            yield Return(node, "expired", away, back)
        else:
            yield Return(node, "killed", back, back)


def _epoch(request: Request) -> int:
    """Return the broker epoch in a request, or -1 in the versions of requests that have none."""
    epoch: int = request.body.get("BrokerEpoch", -1)
    return epoch


@attrs.define(eq=False)
class _Alive:
    """What requests show of the brokers that are alive.

    Attributes:
        ends, begins: the times at which brokers were told that a broker is not alive any more, or is alive again.
    """

    ends: dict[int | str, list[float]] = attrs.field(factory=lambda: defaultdict(list))
    begins: dict[int | str, list[float]] = attrs.field(factory=lambda: defaultdict(list))
    _told: dict[int | str, set[int]] = attrs.field(factory=dict)
    _spans: dict[str, tuple[float, float]] = attrs.field(factory=dict)
    _connections: dict[int | str, set[str]] = attrs.field(factory=lambda: defaultdict(set))

    def read(self, request: Request) -> None:
        """Note what a request shows. Requests must be read in order of arrival."""
        first, _ = self._spans.get(request.connection, (request.begun, None))
        self._spans[request.connection] = first, request.begun
        self._connections[request.node].add(request.connection)
        self._connections[request.source].add(request.connection)
        if request.api == "UpdateMetadata":
            now = {each["Id"] for each in request.body.get("LiveBrokers") or ()}
            before = self._told.get(request.node, now)
            for broker in before - now:
                self.ends[broker].append(request.begun)
            for broker in now - before:
                self.begins[broker].append(request.begun)
            self._told[request.node] = now

    def lasts(self, node: int, since: float, until: float) -> bool:
        """Return whether a connection of a process had requests before and after a period."""
        spans = (self._spans[each] for each in self._connections[node])
        return any(first < since and until < last for first, last in spans)
