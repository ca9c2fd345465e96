"""How brokers handle requests from controllers."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.control.bounds import controllers, if_answers_are_lost
from leadline.model.control.state import Cluster, Request, StopReplica
from leadline.model.kafka.broker import Replica
from leadline.model.kafka.high_watermark import with_leader
from leadline.model.kafka.leadership import follower_of, leader_of
from leadline.model.quorum import brokers


@action(
    "broker {broker} handles the next request from controller {controller}",
    controller=controllers,
    broker=brokers,
    effect="healing",
)
def deliver(state: Cluster, controller: int, broker: int) -> Iterator[Cluster]:
    """A broker handles the oldest request from a controller (`ReplicaManager.becomeLeaderOrFollower`).

    The broker refuses a request from a controller that is older than the newest one it has obeyed. Since 2.2, it also
    refuses a request for an earlier broker epoch (KIP-380). It ignores a request whose leader epoch is not higher than
    the broker's. A request to a stopped broker waits until the broker has restarted or the controller closes the
    connection.
    """
    queue = state.queue(controller, broker)
    if queue and state.replicas[broker].up:
        yield _obeyed(state.with_queue(controller, broker, queue[1:]), broker, queue[0])


@action(
    "broker {broker} handles the next request from controller {controller}, and the answer is lost",
    controller=if_answers_are_lost,
    broker=brokers,
    effect="perturbing",
)
def deliver_unanswered(state: Cluster, controller: int, broker: int) -> Iterator[Cluster]:
    """A broker handles a request, but its connection breaks before it responds.

    The controller sends the request again until it receives a response or removes the broker (`RequestSendThread`).
    """
    queue = state.queue(controller, broker)
    if queue and state.replicas[broker].up and state.may("lost_answers"):
        yield _obeyed(state.having("lost_answers"), broker, queue[0])


def accepts(state: Cluster, broker: int, request: Request) -> bool:
    """Return whether a broker accepts a request. It refuses an outdated controller epoch or broker epoch."""
    heard = state.heard[broker]
    if state.protocol.fences_requests and request.controller_epoch < heard.controller_epoch:
        return False
    return not request.generation or request.generation >= heard.generation


def _obeyed(state: Cluster, broker: int, request: Request) -> Cluster:
    """Return the state after a broker has refused, ignored or obeyed a request."""
    if not accepts(state, broker, request):
        return state
    known = attrs.evolve(state.heard[broker], controller_epoch=request.controller_epoch)
    heard = state.with_heard(broker, known)
    replica = state.replicas[broker]
    if isinstance(request, StopReplica):
        if not state.protocol.obeys_stop(replica.epoch, request.epoch):
            return heard
        return heard.with_replica(broker, Replica() if request.delete else attrs.evolve(replica, in_flight=None))
    if request.epoch <= replica.epoch or (request.replicas and broker not in request.replicas):
        return heard
    if request.leader == broker:
        assigned = frozenset(request.replicas) if request.replicas else None
        leading = leader_of(heard, broker, request.epoch, request.isr, assigned)
        return with_leader(heard, broker, leading)
    following = follower_of(heard, broker, request.epoch, request.leader, elected=False)
    return heard.with_replica(broker, following)
