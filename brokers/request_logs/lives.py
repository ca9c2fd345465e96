"""Find out from requests when brokers have ended and started again. No file says so.

- KRaft: each start of a broker registers another incarnation id.
- ZooKeeper, since 2.2: LeaderAndIsr requests have the broker epoch, which is another one after each start (KIP-380).
- ZooKeeper, up to 2.1: the controller tells the brokers which of them are alive. A broker has started again if it was
  not alive in between, and none of its connections lasted from before until after.

A broker has ended before the first request of its next life, and with a request to shut down before, it has been shut
down. A broker that does not start again is not noticed. Its end has no other effect than what the controller decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import attrs

from leadline.brokers.request_logs.request import Request


@attrs.frozen
class Restart:
    """A broker's end and its next start.

    Attributes:
        node: the broker.
        ended: the latest time at which it may have ended.
        started: a time at which it is registered again.
        is_shut_down: whether it was asked to shut down.
    """

    node: int
    ended: float
    started: float
    is_shut_down: bool


def restarts(requests: Sequence[Request]) -> Iterator[Restart]:
    """Yield the restarts of brokers. The requests must be in order of arrival."""
    if any(each.api == "BrokerRegistration" for each in requests):
        found = _by_registrations(requests)
    elif any(each.api == "LeaderAndIsr" and each.body.get("BrokerEpoch", -1) >= 0 for each in requests):
        found = _by_broker_epochs(requests)
    else:
        found = _by_live_brokers(requests)
    stops = [(each.begun, each.source) for each in requests if _asks_to_stop(each)]
    last: dict[int, float] = {}
    for node, ended, started in sorted(found, key=lambda each: each[1]):
        is_shut_down = any(source == node and last.get(node, 0.0) <= at <= ended for at, source in stops)
        yield Restart(node, ended, started, is_shut_down)
        last[node] = started


def _asks_to_stop(request: Request) -> bool:
    return request.api == "ControlledShutdown" or bool(request.body.get("WantShutDown"))


_Found = tuple[int, float, float]
"""A broker, the latest time of its end, and the time of its next start."""


def _by_registrations(requests: Sequence[Request]) -> Iterator[_Found]:
    known: dict[int, str] = {}
    for place, request in enumerate(requests):
        if request.api != "BrokerRegistration" or (request.answer or {}).get("ErrorCode", -1):
            continue
        node, incarnation = request.body["BrokerId"], request.body["IncarnationId"]
        if known.setdefault(node, incarnation) != incarnation:
            known[node] = incarnation
            yield node, _first_of_life(requests, place, node, incarnation), request.done


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


def _by_broker_epochs(requests: Sequence[Request]) -> Iterator[_Found]:
    epochs: dict[int, int] = {}
    for request in requests:
        epoch = request.body.get("BrokerEpoch", -1) if request.api == "LeaderAndIsr" else -1
        if epoch < 0 or not isinstance(request.node, int):
            continue
        if epochs.setdefault(request.node, epoch) < epoch:
            yield request.node, request.begun, request.begun
        epochs[request.node] = max(epoch, epochs[request.node])


def _by_live_brokers(requests: Sequence[Request]) -> Iterator[_Found]:
    spans: dict[str, tuple[float, float]] = {}
    of_broker: dict[object, set[str]] = defaultdict(set)
    absences: dict[int, list[float]] = defaultdict(list)
    alive: dict[object, set[int]] = {}
    for request in requests:
        spans[request.connection] = (spans.get(request.connection, (request.begun,))[0], request.begun)
        of_broker[request.node].add(request.connection)
        of_broker[request.source].add(request.connection)
        if request.api == "UpdateMetadata":
            now = {each["Id"] for each in request.body.get("LiveBrokers") or ()}
            for broker in alive.get(request.node, set()) - now:
                absences[broker].append(request.begun)
            alive[request.node] = now
    before: dict[object, Request] = {}
    for request in requests:
        if request.api not in ("LeaderAndIsr", "UpdateMetadata") or not isinstance(request.node, int):
            continue
        node, last = request.node, before.get(request.node)
        before[node] = request
        if last is None or last.connection == request.connection:
            continue
        absent = [at for at in absences[node] if last.begun <= at <= request.begun]
        lasting = (spans[each] for each in of_broker[node])
        if absent and not any(first < absent[0] and request.begun < end for first, end in lasting):
            yield node, request.begun, request.begun
