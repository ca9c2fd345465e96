"""Reassignment with ZooKeeper: the controller adds replicas, waits until they are in the ISR, and removes the old ones.

The controller completes a reassignment in one event, but with several writes. First, it begins a leader epoch. The
requests of this epoch contain the final replicas, but still the old ISR. Then the controller writes the smaller ISR,
and finally the assignment. The steps B3, B4 and B6 are named as in KIP-455 and
`KafkaController.onPartitionReassignment`. Earlier releases make the same writes in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.control.bounds import if_cancelled, if_overridden, if_reassigned, other_targets, targets
from leadline.model.control.state import REMOVE, WRITE, Cluster
from leadline.model.control.writes import may_write, remove_from_isr, send, stop_replicas, write
from leadline.model.kafka.assignment import Assignment, reverted


@action("an operator reassigns the partition to brokers {target}", target=targets, effect="perturbing")
def reassign(state: Cluster, target: tuple[int, ...]) -> Iterator[Cluster]:
    """An operator writes the request to ZooKeeper. Since 2.4, the controller writes it when an operator sends a request
    (KIP-455).

    A request that replaces one in progress is an action of its own; see `override`.
    """
    if state.may("reassignments") and not state.registry.target and target != state.assignment.replicas:
        registry = attrs.evolve(state.registry, target=target)
        yield attrs.evolve(state.having("reassignments"), registry=registry)


@action("controller {controller} adds the new replicas", controller=if_reassigned, effect="healing")
def add_replicas(state: Cluster, controller: int) -> Iterator[Cluster]:
    """A controller writes the union of the new and old replicas, starting with the new ones, and begins a leader epoch.

    These are steps 1 to 3 of `onPartitionReassignment` up to 2.3, and steps A1 and A2 since 2.4.
    """
    own, target = state.controllers[controller], state.registry.target
    old = own.replicas
    adding = frozenset(target) - frozenset(old)
    if not own.is_free or not target or not adding or not _may_assign(state, controller):
        return
    union = (*target, *(broker for broker in old if broker not in target))
    removing = frozenset(old) - frozenset(target)
    assigned = _assigned(state, controller, Assignment(union, adding, removing), union)
    yield from _bumped(assigned, controller, union)


@action("controller {controller} begins to complete the reassignment (B3)", controller=if_reassigned, effect="healing")
def complete(state: Cluster, controller: int) -> Iterator[Cluster]:
    """Once all requested replicas are in the ISR, the controller begins a leader epoch with these replicas and the old
    ISR. If the reassignment adds and removes no replicas, as after a cancellation, the controller does not wait for the
    ISR (`isReassignmentComplete`).

    If the leader is not live or not one of the requested replicas, the controller elects a requested replica that is
    live and in the ISR (`moveReassignedPartitionLeaderIfRequired`). If there is none, it elects no leader.
    """
    own, target, quorum = state.controllers[controller], state.registry.target, state.quorum
    if not own.is_free or not target or not may_write(state, controller):
        return
    if frozenset(target) != frozenset(own.replicas) and not frozenset(target) <= quorum.isr:
        return
    moving = state.with_controller(controller, attrs.evolve(own, replicas=target, step=REMOVE))
    told = (*target, *(broker for broker in own.replicas if broker not in target))
    if quorum.leader in target and own.considers_live(quorum.leader):
        yield from _bumped(moving, controller, told)
        return
    for leader in target:
        if own.considers_live(leader) and leader in quorum.isr:
            led = write(moving, controller, attrs.evolve(quorum, leader=leader, epoch=quorum.epoch + 1))
            yield send(led, controller, told)
            return
    yield moving


@action("controller {controller} removes the other replicas (B4)", controller=if_reassigned, effect="healing")
def remove_replicas(state: Cluster, controller: int) -> Iterator[Cluster]:
    """The controller removes the old replicas from the ISR, and tells their brokers to delete them (B4, B5)."""
    own = state.controllers[controller]
    if own.step != REMOVE:
        return
    if not _may_assign(state, controller):
        yield state.with_controller(controller, attrs.evolve(own, step=""))
        return
    others = [broker for broker in state.assignment.replicas if broker not in own.replicas]
    removed = state
    for broker in others:
        removed = remove_from_isr(removed, controller, broker)
    removed = stop_replicas(removed, controller, others)
    yield removed.with_controller(controller, attrs.evolve(removed.controllers[controller], step=WRITE))


@action("controller {controller} writes the new replicas (B6)", controller=if_reassigned, effect="healing")
def write_replicas(state: Cluster, controller: int) -> Iterator[Cluster]:
    """The controller writes the new replicas, and removes the operator's request.

    Up to 2.0, a former controller can also do this, because ZooKeeper does not check the controller epoch.
    """
    own = state.controllers[controller]
    if own.step != WRITE:
        return
    ended = state.with_controller(controller, attrs.evolve(own, step=""))
    if not _may_assign(state, controller):
        yield ended
        return
    registry = attrs.evolve(ended.registry, target=())
    yield attrs.evolve(ended, registry=registry, assignment=Assignment(own.replicas))


@action("controller {controller} cancels the reassignment", controller=if_cancelled, effect="perturbing")
def cancel(state: Cluster, controller: int) -> Iterator[Cluster]:
    """A controller cancels the reassignment, and keeps only the replicas that are not being added (KIP-455, steps U1 to
    U3).

    The controller stops the replicas that were being added, even if one of them is the leader (KAFKA-14808). If one of
    them is in the ISR, the controller first removes it from the ISR and begins a leader epoch.
    """
    own, assignment = state.controllers[controller], state.assignment
    if not own.is_free or not assignment.adding or not state.may("cancellations") or not _may_assign(state, controller):
        return
    before = reverted(assignment)
    yield _changed(state.having("cancellations"), controller, before, before.replicas)


@action(
    "controller {controller} replaces the reassignment by one to brokers {target}",
    controller=if_overridden,
    target=other_targets,
    effect="perturbing",
)
def override(state: Cluster, controller: int, target: tuple[int, ...]) -> Iterator[Cluster]:
    """A controller handles an operator's second request while a reassignment is in progress (KIP-455, steps U1 to U3).

    The replicas that the first request would have added, and that the second one does not need, are stopped as after a
    cancellation. Then the second reassignment begins (A1, A2), unless all its replicas are in the ISR already. Up to
    2.3, the node `/admin/reassign_partitions` exists until the first reassignment has ended, and
    `kafka-reassign-partitions` refuses a second one (`KafkaZkClient.createPartitionReassignment`).

    See `KafkaController.updateCurrentReassignment` and `ReplicaAssignment.reassignTo`.
    """
    own, assignment = state.controllers[controller], state.assignment
    if not own.is_free or not assignment.in_progress or not state.may("overrides"):
        return
    if target == state.registry.target or not _may_assign(state, controller):
        return
    origin = reverted(assignment).replicas
    union = (*target, *(broker for broker in origin if broker not in target))
    both = Assignment(union, adding=frozenset(union) - frozenset(origin), removing=frozenset(union) - frozenset(target))
    changed = _changed(state.having("overrides"), controller, both, target)
    if both.in_progress and not frozenset(target) <= changed.quorum.isr:
        yield from _bumped(changed, controller, union)
    else:
        yield changed


def _changed(state: Cluster, controller: int, assignment: Assignment, target: tuple[int, ...]) -> Cluster:
    """Return the state after a controller has changed a reassignment in progress, and has removed the replicas that are
    no longer needed from the ISR and stopped them.
    """
    unneeded = sorted(frozenset(state.assignment.replicas) - frozenset(assignment.replicas))
    changed = _assigned(state, controller, assignment, assignment.replicas)
    changed = attrs.evolve(changed, registry=attrs.evolve(changed.registry, target=target))
    for broker in unneeded:
        changed = remove_from_isr(changed, controller, broker)
    return stop_replicas(changed, controller, unneeded)


def _may_assign(state: Cluster, controller: int) -> bool:
    """Return whether ZooKeeper accepts an assignment from a controller. Up to 2.0, it accepts every assignment."""
    return not state.protocol.fences_writes or state.controllers[controller].epoch == state.registry.controller_epoch


def _assigned(state: Cluster, controller: int, assignment: Assignment, replicas: tuple[int, ...]) -> Cluster:
    own = attrs.evolve(state.controllers[controller], replicas=replicas)
    return attrs.evolve(state, assignment=assignment).with_controller(controller, own)


def _bumped(state: Cluster, controller: int, told: tuple[int, ...]) -> Iterator[Cluster]:
    """Yield the state after a controller has begun a leader epoch with the same leader and ISR. If ZooKeeper would
    refuse the write, yield the given state.
    """
    if not may_write(state, controller):
        yield state
        return
    written = write(state, controller, attrs.evolve(state.quorum, epoch=state.quorum.epoch + 1))
    yield send(written, controller, told)
