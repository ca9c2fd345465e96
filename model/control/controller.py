"""The controller: its election, its resignation, and its reactions to brokers that come and go.

With ZooKeeper, the controller is the broker whose id is in the ephemeral node `/controller`. A broker that has lost
this node goes on until it hears of it. A watch on `/brokers/ids` fires once and carries no data, so that the controller
reads the brokers when it handles the event. Its writes follow later: reading and acting are two steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from leadline.checker.action import action
from leadline.model.control.bounds import controllers
from leadline.model.control.state import Cluster, Controller, Sessions
from leadline.model.control.writes import drop_requests, elect, is_lost, remove_from_isr, send
from leadline.model.quorum import brokers


@action("controller {controller} is elected", controller=controllers, effect="healing")
def become_controller(state: Cluster, controller: int) -> Iterator[Cluster]:
    """A broker creates `/controller`. Since 2.1, it raises the controller epoch in the same transaction, and starts.

    (`ZookeeperLeaderElector.elect`; `KafkaZkClient.registerControllerAndIncrementControllerEpoch`.)
    """
    if state.registry.controller is not None or state.controllers[controller].active or not _runs(state, controller):
        return
    created = attrs.evolve(state, registry=attrs.evolve(state.registry, controller=controller))
    if state.protocol.elects_at_once_with_epoch:
        yield from _started(created, controller)
    else:
        yield created.with_controller(controller, Controller(active=True, known=(0,) * state.bounds.brokers))


def _runs(state: Cluster, controller: int) -> bool:
    """Return whether the process is running and has a session."""
    return not state.bounds.colocated or state.registry.registered[controller]


@action(
    "controller {controller} takes its epoch, reads the cluster and tells the brokers",
    controller=controllers,
    effect="healing",
)
def start(state: Cluster, controller: int) -> Iterator[Cluster]:
    """Up to 2.0, a new controller raises the controller epoch after it has created `/controller`.

    It reads the old epoch and writes the new one in one step of the model. It does not look whether `/controller` is
    still its own.
    """
    own = state.controllers[controller]
    if own.active and not own.epoch:
        yield from _started(state, controller)


def _started(state: Cluster, controller: int) -> Iterator[Cluster]:
    """Yield the states after a controller has raised the controller epoch and started (`onControllerFailover`).

    It reads the live brokers and the partition state, sends this state with its old leader epoch to the live brokers,
    and elects a leader if the leader is not live. Since 2.3, it first removes brokers that are down from the ISR
    (KAFKA-3143).
    """
    epoch = state.registry.controller_epoch + 1
    known = state.registry.sessions
    started = attrs.evolve(state, registry=attrs.evolve(state.registry, controller_epoch=epoch)).with_controller(
        controller,
        Controller(active=True, epoch=epoch, known=known, partition=state.quorum, replicas=state.assignment.replicas),
    )
    started = send(started, controller, state.assignment.replicas)
    if state.protocol.removes_dead_at_start:
        for broker in state.assignment.replicas:
            if not known[broker]:
                started = remove_from_isr(started, controller, broker)
    yield from _led_again([started], controller)


@action("controller {controller} hears that it is not the controller", controller=controllers, effect="healing")
def resign(state: Cluster, controller: int) -> Iterator[Cluster]:
    """A former controller resigns once it has finished the event that it is handling, and closes its connections."""
    own = state.controllers[controller]
    if own.active and own.read is None and not own.step and state.registry.controller != controller:
        yield drop_requests(state, controller, brokers(state.bounds)).with_controller(controller, Controller())


@action("former controller {controller} takes the epoch of the new controller", controller=controllers)
def adopt_epoch(state: Cluster, controller: int) -> Iterator[Cluster]:
    """A former controller reads `/controller_epoch` before it hears that it was replaced (KAFKA-1096)."""
    own = state.controllers[controller]
    if own.active and own.epoch and own.epoch < state.registry.controller_epoch:
        yield state.with_controller(controller, attrs.evolve(own, epoch=state.registry.controller_epoch))


@action("controller {controller} reads which brokers are live", controller=controllers, effect="healing")
def read_brokers(state: Cluster, controller: int) -> Iterator[Cluster]:
    """A controller handles an event of its watch on `/brokers/ids`. It will act on what it reads here.

    Several changes before this step are one. Up to 2.1, a controller does not see that a broker restarted in between,
    because it compares ids (KAFKA-1120).
    """
    own, sessions = state.controllers[controller], state.registry.sessions
    if own.is_free and list(_changes(state, own.known, sessions)):
        yield state.with_controller(controller, attrs.evolve(own, read=sessions))


def _changes(state: Cluster, known: Sessions, now: Sessions) -> Iterator[int]:
    """Yield the brokers that have come, gone or restarted, as far as a controller can see."""
    for broker, (before, after) in enumerate(zip(known, now, strict=True)):
        if before != after and (state.protocol.compares_epochs or not (before and after)):
            yield broker


@action("controller {controller} acts on the brokers that it has read", controller=controllers, effect="healing")
def act_on_brokers(state: Cluster, controller: int) -> Iterator[Cluster]:
    """A controller handles new brokers, then those that have restarted, then those that are gone.

    (`BrokerChangeListener.handleChildChange` in 0.10, `KafkaController.processBrokerChange` in 2.2.) The model writes
    and sends everything in one step.
    """
    own = state.controllers[controller]
    now = own.read
    if now is None:
        return
    changed = list(_changes(state, own.known, now))
    new = [broker for broker in changed if not own.known[broker]]
    bounced = [broker for broker in changed if own.known[broker] and now[broker]]
    gone = [broker for broker in changed if not now[broker]]
    acting = drop_requests(state, controller, [*bounced, *gone])
    live = tuple(0 if broker in bounced else epoch for broker, epoch in enumerate(now))
    found = [acting.with_controller(controller, attrs.evolve(own, known=live, read=None))]
    if new:
        found = _started_up(found, controller, new)
    if bounced:
        found = _failed(found, controller, bounced)
        found = [
            each.with_controller(controller, attrs.evolve(each.controllers[controller], known=now)) for each in found
        ]
        found = _started_up(found, controller, bounced)
    if gone:
        found = _failed(found, controller, gone)
    yield from found


def _started_up(states: list[Cluster], controller: int, new: list[int]) -> list[Cluster]:
    """Send the partition state to brokers that have started, and elect a leader if there is none (onBrokerStartup)."""
    return list(_led_again([_told(state, controller, new) for state in states], controller))


def _told(state: Cluster, controller: int, new: list[int]) -> Cluster:
    return send(state, controller, [broker for broker in new if broker in state.controllers[controller].replicas])


def _failed(states: list[Cluster], controller: int, gone: list[int]) -> list[Cluster]:
    """Elect a leader if the leader is gone, and remove brokers that are gone from the ISR (onBrokerFailure)."""
    found = list(_led_again(states, controller))
    for broker in gone:
        found = [remove_from_isr(state, controller, broker) for state in found]
    return found


def _led_again(states: Iterable[Cluster], controller: int) -> Iterator[Cluster]:
    for state in states:
        if is_lost(state, controller):
            yield from elect(state, controller)
        else:
            yield state


@action(
    "controller {controller} hears of the ISR that the leader has written",
    controller=controllers,
    effect="healing",
)
def hear_of_isr(state: Cluster, controller: int) -> Iterator[Cluster]:
    """A controller reads the ISR after the leader has changed it (`/isr_change_notification`).

    The model leaves out that it also reads a leader epoch that another controller has written, if the leader of that
    epoch then changes the ISR.
    """
    own, quorum = state.controllers[controller], state.quorum
    known = own.partition if own.is_free else None
    if known is not None and (known.leader, known.epoch) == (quorum.leader, quorum.epoch) and known.isr != quorum.isr:
        yield state.with_controller(controller, attrs.evolve(own, partition=quorum))
