"""The controller: how it is elected, how it resigns, and how it reacts when brokers start or fail.

With ZooKeeper, the controller is the broker whose id is in the ephemeral node `/controller`. If this node is deleted,
the broker continues to act as the controller until it is notified. A watch on `/brokers/ids` fires once and contains no
data, so the controller reads the live brokers when it handles the event. The controller writes its changes later, so
the model has two steps for reading and acting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from leadline.checker.action import action
from leadline.model.control.bounds import controllers, if_elections_are_lost, if_preferred
from leadline.model.control.metadata_log import as_the_controller_sees, newest, written
from leadline.model.control.state import RESIGN, Cluster, Controller, Sessions
from leadline.model.control.writes import drop_requests, elect, is_lost, may_write, remove_from_isr, send, write
from leadline.model.kafka.controller import new_epoch
from leadline.model.quorum import brokers


@action("controller {controller} is elected", controller=controllers, effect="healing")
def become_controller(state: Cluster, controller: int) -> Iterator[Cluster]:
    """A broker creates `/controller`. Since 2.1, it also raises the controller epoch in the same transaction, and
    starts as the controller.

    See `ZookeeperLeaderElector.elect` and `KafkaZkClient.registerControllerAndIncrementControllerEpoch`. With KRaft,
    the controller wins an election of the Raft quorum, and knows all committed records (`QuorumController.claim`).

    A broker that finds an id in `/controller` ends its election, even if it is its own id (KAFKA-13407). According to
    the rule `own_node=starts`, it then starts as the controller, with the epoch that it has written.
    """
    if state.protocol.starts_if_elected and state.registry.controller == controller:
        if not state.controllers[controller].active and _runs(state, controller):
            yield from _begun(state, controller)
        return
    if not _can_be_elected(state, controller):
        return
    if state.protocol.keeps_log:
        epoch = state.registry.controller_epoch + 1
        registry = attrs.evolve(state.registry, controller=controller, controller_epoch=epoch)
        elected = Controller(active=True, epoch=epoch)
        yield attrs.evolve(state, registry=registry).with_controller(controller, elected)
        return
    yield from _begun(_created(state, controller), controller)


@action(
    "controller {controller} creates /controller, and takes its election for failed",
    controller=if_elections_are_lost,
    effect="perturbing",
)
def lose_election(state: Cluster, controller: int) -> Iterator[Cluster]:
    """A broker creates `/controller`, but its election ends with an error, and the node remains (KAFKA-13407).

    The ticket reports that this happens when the leader of ZooKeeper restarts, but not which request fails. A lost
    connection is not enough: the broker repeats the request, and recognises its own node (`ZKCheckedEphemeral`; since
    2.1, `checkControllerAndEpoch`).
    """
    if _can_be_elected(state, controller) and state.may("lost_elections"):
        yield _created(state.having("lost_elections"), controller)


def _can_be_elected(state: Cluster, controller: int) -> bool:
    own = state.controllers[controller]
    return state.registry.controller is None and not own.active and _runs(state, controller)


def _created(state: Cluster, controller: int) -> Cluster:
    """Return the state after a broker has created `/controller`. Since 2.1, it has also raised the controller epoch."""
    registry = attrs.evolve(state.registry, controller=controller)
    if state.protocol.elects_at_once_with_epoch:
        registry = attrs.evolve(registry, controller_epoch=registry.controller_epoch + 1)
    return attrs.evolve(state, registry=registry)


def _begun(state: Cluster, controller: int) -> Iterator[Cluster]:
    """Yield the states after a broker that has created `/controller` begins to act as the controller."""
    if state.protocol.elects_at_once_with_epoch:
        yield from _started(state, controller)
    else:
        yield state.with_controller(controller, Controller(active=True, known=(0,) * state.bounds.brokers))


def _runs(state: Cluster, controller: int) -> bool:
    """Return whether a controller's process is running. With ZooKeeper, the process must also have a session."""
    if not state.bounds.colocated:
        return True
    return state.replicas[controller].up if state.protocol.keeps_log else state.registry.registered[controller]


@action(
    "controller {controller} takes its epoch, reads the cluster and tells the brokers",
    controller=controllers,
    effect="healing",
)
def start(state: Cluster, controller: int) -> Iterator[Cluster]:
    """Up to 2.0, a new controller raises the controller epoch after it has created `/controller`.

    In the model, the controller reads the old epoch and writes the new one in one step. It does not check whether it
    still owns `/controller`.
    """
    own = state.controllers[controller]
    if own.active and not own.epoch:
        epoch = state.registry.controller_epoch + 1
        raised = attrs.evolve(state, registry=attrs.evolve(state.registry, controller_epoch=epoch))
        yield from _started(raised, controller)


def _started(state: Cluster, controller: int) -> Iterator[Cluster]:
    """Yield the states after a controller has raised the controller epoch and started (`onControllerFailover`).

    The controller reads the live brokers and the partition state, and sends this state to the live brokers without
    beginning a leader epoch. If the leader is not live, the controller elects another one. Since 2.3, it first removes
    failed brokers from the ISR (KAFKA-3143).
    """
    epoch, known = state.registry.controller_epoch, state.registry.sessions
    started = state.with_controller(
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
    """A former controller finishes the event that it is handling, resigns, and closes its connections to brokers."""
    own = state.controllers[controller]
    if (
        not own.active
        or own.read is not None
        or own.step not in ("", RESIGN)
        or state.registry.controller == controller
    ):
        return
    if state.protocol.keeps_log:
        yield state.with_controller(controller, Controller())
    else:
        yield drop_requests(state, controller, brokers(state.bounds)).with_controller(controller, Controller())


@action("former controller {controller} takes the epoch of the new controller", controller=controllers)
def adopt_epoch(state: Cluster, controller: int) -> Iterator[Cluster]:
    """A former controller reads the new epoch from `/controller_epoch` and uses it, because it does not know yet that
    it has been replaced (KAFKA-1096).
    """
    own = state.controllers[controller]
    if own.active and own.epoch and own.epoch < state.registry.controller_epoch:
        yield state.with_controller(controller, attrs.evolve(own, epoch=state.registry.controller_epoch))


@action("controller {controller} reads which brokers are live", controller=controllers, effect="healing")
def read_brokers(state: Cluster, controller: int) -> Iterator[Cluster]:
    """A controller handles an event of its watch on `/brokers/ids` by reading the live brokers. It acts on them in a
    later step.

    The controller handles several changes before this step as one. Up to 2.1, it compares only the ids of brokers, so
    it does not notice a broker that has restarted in between (KAFKA-1120). A controller whose session has expired
    reads nothing until it has another one.

    A controller that has lost `/controller` handles an event only if its watch fired before that. The watch fires again
    only after the next read, and ZooKeeper notifies a client of changes in their order (`ControllerChangeHandler`,
    `BrokerChangeHandler`, and the listeners of `ZkClient` in 0.10.2).
    """
    own, sessions = state.controllers[controller], state.registry.sessions
    if own.notified and own.is_free and _runs(state, controller) and list(_changes(state, own.known, sessions)):
        yield state.with_controller(controller, attrs.evolve(own, read=sessions, notified=False))


def _changes(state: Cluster, known: Sessions, now: Sessions) -> Iterator[int]:
    """Yield the brokers that have started, failed or restarted, as far as a controller can detect this."""
    for broker, (before, after) in enumerate(zip(known, now, strict=True)):
        if before != after and (state.protocol.compares_epochs or not (before and after)):
            yield broker


@action("controller {controller} acts on the brokers that it has read", controller=controllers, effect="healing")
def act_on_brokers(state: Cluster, controller: int) -> Iterator[Cluster]:
    """A controller first handles new brokers, then restarted brokers, and then failed brokers.

    In the model, the controller writes and sends everything in one step. See `BrokerChangeListener.handleChildChange`
    in 0.10 and `KafkaController.processBrokerChange` in 2.2.
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
    staying = own.shutting_down - {*bounced, *gone}
    found = [acting.with_controller(controller, attrs.evolve(own, known=live, read=None, shutting_down=staying))]
    if new:
        found = _started_up(found, controller, new)
    if bounced:
        found = _failed(found, controller, bounced)
        found = [_knowing(each, controller, now) for each in found]
        found = _started_up(found, controller, bounced)
    if gone:
        found = _failed(found, controller, gone)
    yield from found


def _knowing(state: Cluster, controller: int, live: Sessions) -> Cluster:
    """Return the state in which a controller considers the given brokers live, unless it can only resign."""
    own = state.controllers[controller]
    return state if own.step == RESIGN else state.with_controller(controller, attrs.evolve(own, known=live))


def _started_up(states: list[Cluster], controller: int, new: list[int]) -> list[Cluster]:
    """Send the partition state to brokers that have started, and elect a leader if there is none (onBrokerStartup)."""
    return list(_led_again([_told(state, controller, new) for state in states], controller))


def _told(state: Cluster, controller: int, new: list[int]) -> Cluster:
    return send(state, controller, [broker for broker in new if broker in state.controllers[controller].replicas])


def _failed(states: list[Cluster], controller: int, gone: list[int]) -> list[Cluster]:
    """Elect a leader if the leader has failed, and remove failed brokers from the ISR (onBrokerFailure).

    A leader that is shutting down counts as failed here (`partitionsWithOfflineLeader`).
    """
    found = list(_led_again(states, controller, even_if_shutting_down=True))
    for broker in gone:
        found = [remove_from_isr(state, controller, broker) for state in found]
    return found


def _led_again(states: Iterable[Cluster], controller: int, *, even_if_shutting_down: bool = False) -> Iterator[Cluster]:
    for state in states:
        leads_no_more = even_if_shutting_down and state.quorum.leader in state.controllers[controller].shutting_down
        if leads_no_more or is_lost(state, controller):
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

    In Kafka, the controller also reads a leader epoch written by another controller if the leader of that epoch then
    changes the ISR. The model leaves this out.
    """
    own, quorum = state.controllers[controller], state.quorum
    known = own.partition if own.is_free and _runs(state, controller) else None
    if known is not None and (known.leader, known.epoch) == (quorum.leader, quorum.epoch) and known.isr != quorum.isr:
        yield state.with_controller(controller, attrs.evolve(own, partition=quorum))


@action("controller {controller} elects the preferred leader", controller=if_preferred, effect="perturbing")
def elect_preferred(state: Cluster, controller: int) -> Iterator[Cluster]:
    """A controller makes the first replica the leader, if this replica is live and in the ISR. The ISR does not change.

    See `PartitionLeaderElectionAlgorithms.preferredReplicaPartitionLeaderElection` and
    `ReplicationControlManager.electLeader`. Up to 3.3, `auto.leader.rebalance.enable` does not apply to a partition
    that is being reassigned, but an operator can still request the election (KAFKA-10149).
    """
    own = state.controllers[controller]
    if not own.is_free or not state.may("preferred_elections"):
        return
    elected = state.having("preferred_elections")
    if state.protocol.keeps_log:
        seen = as_the_controller_sees(elected, newest(elected))
        preferred, quorum = seen.assignment.replicas[0], seen.quorum
        if not state.is_controller(controller) or quorum.leader in (None, preferred):
            return
        if preferred in quorum.isr and seen.may_elect(preferred):
            for after in new_epoch(seen, preferred, quorum.isr):
                yield written(elected, after)
        return
    preferred, quorum = own.replicas[0], state.quorum
    if quorum.leader in (None, preferred) or preferred not in quorum.isr:
        return
    if own.considers_live(preferred) and may_write(state, controller):
        led = write(elected, controller, attrs.evolve(quorum, leader=preferred, epoch=quorum.epoch + 1))
        yield send(led, controller, own.replicas)
