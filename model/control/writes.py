"""The controller's writes to ZooKeeper, and its requests to brokers, when brokers start or fail.

Before each write, a controller reads the partition state, and it writes only if the version has not changed. Therefore,
ZooKeeper refuses a write only if a newer controller has written the state or, since 2.1, if there is a newer controller
(KAFKA-6082).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from leadline.model.control.state import RESIGN, Cluster, LeaderAndIsr, StopReplica
from leadline.model.quorum import Quorum


def send(state: Cluster, controller: int, brokers: Iterable[int]) -> Cluster:
    """Send the partition state that a controller knows to the given brokers, except those that it considers dead.

    If there is no leader, the model sends nothing, because brokers that receive such a request only note the epoch.
    """
    own = state.controllers[controller]
    partition = own.partition
    if partition is None or partition.leader is None:
        return state
    replicas = own.replicas if state.bounds.moves else ()
    for broker in brokers:
        if own.reaches(broker):
            generation = own.known[broker] if state.protocol.names_generations else 0
            request = LeaderAndIsr(own.epoch, partition.leader, partition.epoch, partition.isr, generation, replicas)
            state = state.with_queue(controller, broker, (*state.queue(controller, broker), request))
    return state


def drop_requests(state: Cluster, controller: int, brokers: Iterable[int]) -> Cluster:
    """Return the state after a controller has closed its connections to the given brokers."""
    for broker in brokers:
        state = state.with_queue(controller, broker, ())
    return state


def is_lost(state: Cluster, controller: int) -> bool:
    """Return whether the partition has no leader, or has one that the controller considers dead."""
    own = state.controllers[controller]
    leader = None if own.partition is None else own.partition.leader
    return leader is None or not own.reaches(leader)


def elect(state: Cluster, controller: int) -> Iterator[Cluster]:
    """Yield the states after a controller has elected a live broker as the leader. The leader must be in the ISR,
    unless the topic allows unclean elections.

    The new ISR contains only live brokers (`OfflinePartitionLeaderSelector`,
    `PartitionLeaderElectionAlgorithms.offlinePartitionLeaderElection`).
    """
    own = state.controllers[controller]
    live = [broker for broker in own.replicas if own.considers_live(broker)]
    candidates = [broker for broker in live if broker in state.quorum.isr]
    isr = frozenset(candidates)
    clean = bool(candidates)
    if not clean and state.bounds.unclean_leader_election and state.protocol.elects_uncleanly:
        candidates = live
    if not candidates or is_overwritten(state, controller):
        yield state
        return
    if not may_write(state, controller):
        yield refused(state, controller)
        return
    for leader in candidates[:1] if state.protocol.elects_in_order else candidates:
        written = Quorum(leader, state.quorum.epoch + 1, isr if clean else frozenset({leader}))
        yield send(write(state, controller, written), controller, own.replicas)


def remove_from_isr(state: Cluster, controller: int, broker: int) -> Cluster:
    """Return the state after a controller has removed a broker from the ISR and begun a leader epoch.

    The controller does not remove the last member. If the broker leads, the partition then has no leader
    (`removeReplicaFromIsr`, `doRemoveReplicasFromIsr`).

    If the broker is not in the ISR, the controller writes nothing, but it also sends the state that it has read. Up to
    2.0, this can be a leader epoch of a former controller. The model leaves out such requests if the controller already
    knew the leader epoch.
    """
    if is_overwritten(state, controller):
        return state
    quorum = state.quorum
    own = state.controllers[controller]
    others = [each for each in own.replicas if each != broker]
    if broker not in quorum.isr:
        known = state.with_controller(controller, attrs.evolve(own, partition=quorum))
        was = own.partition
        return send(known, controller, others) if was is not None and was.epoch < quorum.epoch else known
    if not may_write(state, controller):
        return refused(state, controller)
    leader = None if broker == quorum.leader else quorum.leader
    written = write(state, controller, Quorum(leader, quorum.epoch + 1, quorum.isr - {broker} or quorum.isr))
    return send(written, controller, others)


def stop_replicas(state: Cluster, controller: int, brokers: Iterable[int], *, delete: bool = True) -> Cluster:
    """Return the state after a controller has told the given brokers to stop their replicas, and also to delete them
    unless `delete` is false. It sends no request to a broker that it considers dead.
    """
    own = state.controllers[controller]
    for broker in brokers:
        if own.reaches(broker):
            generation = own.known[broker] if state.protocol.names_generations else 0
            request = StopReplica(own.epoch, state.quorum.epoch, generation, delete)
            state = state.with_queue(controller, broker, (*state.queue(controller, broker), request))
    return state


def may_write(state: Cluster, controller: int) -> bool:
    """Return whether ZooKeeper accepts a partition state from a controller."""
    if state.protocol.fences_writes:
        return state.controllers[controller].epoch == state.registry.controller_epoch
    return not is_overwritten(state, controller)


def is_overwritten(state: Cluster, controller: int) -> bool:
    """Return whether a newer controller has written the partition state. A controller that reads such a state writes
    nothing, logs an error, and goes on (`StateChangeFailedException`).
    """
    return state.controllers[controller].epoch < state.registry.written_by


def refused(state: Cluster, controller: int) -> Cluster:
    """Return the state after ZooKeeper has refused a write because there is a newer controller. The former controller
    ends the event that it is handling, and resigns before the next one (`ControllerMovedException`).
    """
    own = state.controllers[controller]
    nobody = (0,) * state.bounds.brokers
    return state.with_controller(controller, attrs.evolve(own, known=nobody, read=None, step=RESIGN))


def write(state: Cluster, controller: int, partition: Quorum) -> Cluster:
    """Return the state after a controller has written the partition state."""
    own = state.controllers[controller]
    registry = attrs.evolve(state.registry, written_by=own.epoch)
    written = attrs.evolve(state, quorum=partition, registry=registry)
    return written.with_controller(controller, attrs.evolve(own, partition=partition))
