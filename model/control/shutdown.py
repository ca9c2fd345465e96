"""Controlled shutdown with ZooKeeper: a broker asks the controller to move its leaderships, and then stops.

The controller remembers which brokers are shutting down, and elects none of them. Its successor does not know them: it
considers such a broker live until the broker asks again or its session ends.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.control.bounds import brokers_that_may_shut_down, if_shut_down
from leadline.model.control.failures import stopped
from leadline.model.control.state import Cluster
from leadline.model.control.writes import may_write, remove_from_isr, send, stop_replicas, write
from leadline.model.kafka.broker import ACTIVE, SHUTTING_DOWN
from leadline.model.quorum import Quorum


@action("broker {broker} begins to shut down", broker=brokers_that_may_shut_down, effect="perturbing")
def begin_shutdown(state: Cluster, broker: int) -> Iterator[Cluster]:
    """A controlled shutdown begins. The broker goes on replicating, but starts no fetcher
    (`KafkaServer.shutdown`, `ReplicaManager.makeFollowers`).
    """
    if state.may("shutdowns") and state.replicas[broker].up and state.registrations[broker].status == ACTIVE:
        yield state.having("shutdowns").with_registration(broker, SHUTTING_DOWN)


@action("broker {broker} asks the controller to let it shut down", broker=brokers_that_may_shut_down, effect="healing")
def ask_to_stop(state: Cluster, broker: int) -> Iterator[Cluster]:
    """A broker that is shutting down sends a `ControlledShutdown` request to the broker whose id is in `/controller`.

    The request waits until the controller has finished the event that it is handling. If the controller is replaced
    before that, the broker asks the next one. The model leaves out requests to a controller that does not know the
    broker, and refuses them.
    """
    number, heard = state.registry.controller, state.heard[broker]
    if number is None or heard.may_stop or state.registrations[broker].status != SHUTTING_DOWN:
        return
    own, request = state.controllers[number], (broker, heard.generation)
    if own.active and own.epoch and own.reaches(broker) and request not in own.asked:
        yield state.with_controller(number, attrs.evolve(own, asked=own.asked | {request}))


@action(
    "controller {controller} handles broker {broker}'s request to shut down",
    controller=if_shut_down,
    broker=brokers_that_may_shut_down,
    effect="healing",
)
def handle_shutdown(state: Cluster, controller: int, broker: int) -> Iterator[Cluster]:
    """A controller moves the leadership of a broker that shuts down to another member of the ISR. If the broker is a
    follower, the controller stops its fetcher and removes it from the ISR. Each begins a leader epoch.

    If no other member of the ISR can lead, nothing changes, and the broker stops as a leader. In Kafka, it first asks
    again (`controlled.shutdown.max.retries`).

    Up to 2.1, a request that the broker has sent before it restarted counts for the running broker, which the
    controller then elects no more (KAFKA-7235). Since 2.2, the controller compares the broker epoch.

    See `KafkaController.shutdownBroker` in 0.10.2, `KafkaController.doControlledShutdown` in 2.8, and
    `PartitionLeaderElectionAlgorithms.controlledShutdownPartitionLeaderElection`.
    """
    own = state.controllers[controller]
    generation = min((epoch for asking, epoch in own.asked if asking == broker), default=0)
    if not own.is_free or not generation:
        return
    asked = own.asked - {(broker, generation)}
    heard = state.with_controller(controller, attrs.evolve(own, asked=asked))
    is_old = state.protocol.names_generations and generation < own.known[broker]
    if is_old or not own.reaches(broker) or not may_write(state, controller):
        yield heard
        return
    noted = attrs.evolve(own, asked=asked, shutting_down=own.shutting_down | {broker})
    moved = _moved(heard.with_controller(controller, noted), controller, broker)
    known = state.heard[broker]
    if known.generation == generation and state.registrations[broker].status == SHUTTING_DOWN:
        moved = moved.with_heard(broker, attrs.evolve(known, may_stop=True))
    yield moved


def _moved(state: Cluster, controller: int, broker: int) -> Cluster:
    """Return the state after a controller has taken a broker out of leadership and the ISR, where it can."""
    own = state.controllers[controller]
    partition = own.partition
    if broker not in own.replicas or len(own.replicas) == 1 or partition is None or partition.leader is None:
        return state
    if partition.leader != broker:
        return remove_from_isr(stop_replicas(state, controller, [broker], delete=False), controller, broker)
    isr = state.quorum.isr - own.shutting_down
    for leader in own.replicas:
        if leader in isr and own.considers_live(leader):
            led = write(state, controller, Quorum(leader, state.quorum.epoch + 1, isr))
            return send(led, controller, own.replicas)
    return state


@action("broker {broker} stops", broker=brokers_that_may_shut_down, effect="healing")
def stop(state: Cluster, broker: int) -> Iterator[Cluster]:
    """A controlled shutdown ends: the log and the high watermark are on disk, and the session is closed."""
    replica = state.replicas[broker]
    if state.heard[broker].may_stop:
        down = replica.renewed(log=replica.log, high_watermark=replica.high_watermark, up=False)
        yield stopped(state.with_replica(broker, down), broker)
