"""Crashes and restarts of controllers and brokers, and the end of their sessions."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.control.alter_partition import without_answers
from leadline.model.control.bounds import controllers, only_if_lossy, restarting
from leadline.model.control.metadata_log import METADATA, fenced, newest, started, undone
from leadline.model.control.state import Cluster, Controller, Heard
from leadline.model.control.writes import drop_requests
from leadline.model.kafka import crash as kafka
from leadline.model.kafka import fetch, isr
from leadline.model.kafka.broker import ACTIVE
from leadline.model.kafka.crash import followers_first
from leadline.model.quorum import brokers


@action(
    "controller {controller} is no longer the controller, and has not heard of it",
    controller=controllers,
    effect="perturbing",
)
def controller_session_expires(state: Cluster, controller: int) -> Iterator[Cluster]:
    """The node `/controller` is deleted, but the controller continues to act until it is notified.

    The controller's session has expired, or an operator has deleted the node. Up to 1.0, the controller can still write
    in both cases, because its client repeats a failed write in the next session (`ZkClient.retryUntilConnected`). Since
    1.1, writes of an expired session fail (`KafkaZkClient.retryRequestsUntilConnected`), so the controller can still
    write only if an operator has deleted the node. With KRaft, the controller is no longer the leader of the Raft
    quorum, and can no longer commit records.

    With ZooKeeper, if the controller runs on a broker with a replica, this broker's session expires too.
    """
    if state.registry.controller == controller and state.may("failovers"):
        expired = state.having("failovers")
        if state.protocol.keeps_log:
            knowing = attrs.evolve(state.controllers[controller], partition=newest(state).partition)
            expired = expired.with_controller(controller, knowing)
        expired = _deposed(expired, controller)
        if state.bounds.colocated and not state.protocol.keeps_log:
            expired = expired.with_sessions(expired.registry.gone(controller))
        yield expired


def separate(bounds: object) -> range:
    """Return the controllers that do not run on brokers with a replica, so that they can die separately."""
    return range(0) if bounds.colocated else controllers(bounds)  # type: ignore[attr-defined, arg-type]


@action("controller {controller} dies", controller=separate, effect="perturbing")
def controller_dies(state: Cluster, controller: int) -> Iterator[Cluster]:
    """The broker that is the controller crashes. Requests that it has not yet sent are lost."""
    if state.registry.controller == controller and state.may("failovers"):
        yield _dead(state.having("failovers"), controller)


def _dead(state: Cluster, controller: int) -> Cluster:
    """Return the state after a controller's process has died and its session has ended."""
    gone = state
    if not state.protocol.keeps_log:
        gone = without_answers(state, state.controllers[controller].epoch)
        gone = drop_requests(gone, controller, brokers(state.bounds))
    return _deposed(gone.with_controller(controller, Controller()), controller)


def _deposed(state: Cluster, controller: int) -> Cluster:
    if state.registry.controller != controller:
        return state
    state = undone(state) if state.protocol.keeps_log else state
    return attrs.evolve(state, registry=attrs.evolve(state.registry, controller=None))


@action("broker {broker} crashes", broker=followers_first, effect="perturbing")
def broker_dies(state: Cluster, broker: int) -> Iterator[Cluster]:
    """A broker crashes, and its session ends. Its log and its high watermark remain on disk."""
    for down in kafka.crash(state, broker):
        yield stopped(down, broker)  # type: ignore[arg-type]


@action(
    "broker {broker} crashes and loses its log from offset {offset} onward",
    broker=followers_first,
    offset=only_if_lossy,
    effect="perturbing",
)
def broker_loses_tail(state: Cluster, broker: int, offset: int) -> Iterator[Cluster]:
    """A broker crashes, and its session ends. It loses the end of its log, which was only in the page cache."""
    for down in kafka.crash_losing_tail(state, broker, offset):
        yield stopped(down, broker)  # type: ignore[arg-type]


def stopped(state: Cluster, broker: int) -> Cluster:
    """Return the state after a broker has stopped: it has no session and no memory."""
    gone = state.with_registration(broker, ACTIVE).with_heard(broker, Heard())
    if state.protocol.keeps_log:
        gone = gone.with_queue(METADATA, broker, ())
    else:
        gone = gone.with_sessions(state.registry.gone(broker))
    if state.bounds.colocated and broker < state.bounds.controllers:
        gone = _dead(gone, broker)
    return gone


@action("broker {follower} handles the fetch response", follower=brokers, effect="healing")
def handle_fetch_response(state: Cluster, follower: int) -> Iterator[Cluster]:
    """A follower handles a response as in the `kafka` family. If it exits because of it, its session ends."""
    for after in fetch.handle_fetch_response(state, follower):
        yield after if after.replicas[follower].up else stopped(after, follower)  # type: ignore[arg-type, misc]


@action(
    "broker {leader} adds broker {follower} to the ISR when it fetches again",
    leader=brokers,
    follower=brokers,
    effect="healing",
)
def readmit(state: Cluster, leader: int, follower: int) -> Iterator[Cluster]:
    """A leader adds a follower to the ISR after the follower has fetched from the same offset again.

    Followers repeat their requests. The `kafka` family leaves out requests that tell the leader nothing new. There, a
    follower that has left the ISR although it has all records can only rejoin after the next record.
    """
    if follower not in state.replicas[leader].isr:
        for after in fetch.handled_again(state, leader, follower):
            if after.quorum != state.quorum or after.replicas[leader].proposal != state.replicas[leader].proposal:
                yield after  # type: ignore[misc]


@action(
    "broker {leader} removes the lagging broker {member} from the ISR",
    leader=brokers,
    member=brokers,
    effect="healing",
)
def shrink_isr(state: Cluster, leader: int, member: int) -> Iterator[Cluster]:
    """A leader removes a follower from the ISR as in the `kafka` family.

    From 2.4 to 2.8, it cannot remove any follower while its ISR contains a broker that is not a replica. Its check of
    the ISR then fails, because `Partition.isFollowerOutOfSync` does not find this broker (KAFKA-9672).
    """
    replica = state.replicas[leader]
    if state.protocol.shrinks_unassigned or replica.assigned is None or replica.isr <= replica.assigned:
        yield from isr.shrink_isr(state, leader, member)  # type: ignore[misc]


@action("the session of broker {broker} expires", broker=brokers, effect="perturbing")
def broker_session_expires(state: Cluster, broker: int) -> Iterator[Cluster]:
    """ZooKeeper removes `/brokers/ids/N` of a running broker. With KRaft, the controller fences the broker."""
    if state.registry.registered[broker] and state.may("session_expiries"):
        expired = state.having("session_expiries")
        if state.protocol.keeps_log:
            yield from fenced(expired, broker)
            return
        expired = _deposed(expired, broker) if state.bounds.colocated else expired
        yield expired.with_sessions(expired.registry.gone(broker))


@action("broker {broker} starts again", broker=restarting, effect="healing")
def restart(state: Cluster, broker: int) -> Iterator[Cluster]:
    """A broker starts and registers. It does not know the leader until it receives a request from a controller.

    With KRaft, the broker does nothing until the controller has registered it.
    """
    replica = state.replicas[broker]
    if replica.up:
        return
    if state.protocol.keeps_log:
        yield started(state, broker)
    else:
        up = state.with_replica(broker, attrs.evolve(replica, up=True))
        yield _registered(up, broker)


@action("broker {broker} registers again after its session has expired", broker=brokers, effect="healing")
def register(state: Cluster, broker: int) -> Iterator[Cluster]:
    """A running broker whose session has expired creates `/brokers/ids/N` again, with a new broker epoch.

    If it was the controller, it first finishes the event that it is handling, and resigns
    (`KafkaController.beforeInitializingSession`, since 1.1). In the model it does since 2.1, because the column that
    has 1.1 also has 0.11 and 1.0.
    """
    if not state.replicas[broker].up or state.registry.registered[broker]:
        return
    is_controller = state.bounds.colocated and broker < state.bounds.controllers and state.controllers[broker].active
    if not (is_controller and state.protocol.fences_writes):
        yield _registered(state, broker)


def _registered(state: Cluster, broker: int) -> Cluster:
    registry = state.registry.born(broker)
    heard = attrs.evolve(state.heard[broker], generation=registry.births[broker])
    return state.with_sessions(registry).with_heard(broker, heard)
