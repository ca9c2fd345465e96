"""`AlterPartition` requests: since Kafka 2.7, leaders ask the controller to change the ISR (KIP-497). Older releases
call the request `AlterIsr`.

Until a leader receives the response, it uses the larger of the old and the proposed ISR. A failover can happen before
the controller handles the request, before the leader receives the response, or, with KRaft, before the record is
committed. The leader then sends the request again to the new controller.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from leadline.checker.action import action
from leadline.model.control.bounds import controllers
from leadline.model.control.metadata_log import as_the_controller_sees, asks_again, newest, written
from leadline.model.control.state import Cluster
from leadline.model.control.writes import may_write, write
from leadline.model.kafka import isr
from leadline.model.kafka.broker import ACTIVE, FENCED, Registration
from leadline.model.kafka.controller import build
from leadline.model.kafka.messages import Proposal
from leadline.model.quorum import Quorum, brokers


@action(
    "controller {controller} handles broker {leader}'s AlterPartition request",
    controller=controllers,
    leader=brokers,
    effect="healing",
)
def handle_alter_partition(state: Cluster, controller: int, leader: int) -> Iterator[Cluster]:
    """A controller accepts or refuses the ISR that a leader proposes, based on the partition state that the controller
    knows.

    A broker sends its requests to the same controller until that controller does not respond or responds that it is not
    the controller (`BrokerToControllerRequestThread`). Therefore, a former controller can also handle them. The model
    leaves out a request if the leader receives an error and sends the same request again.

    See `KafkaController.processAlterIsr` (since 3.2, `processAlterPartition`) and
    `ReplicationControlManager.alterPartition`. For the leader's reaction to an error, see
    `Partition.handleAlterIsrResponse` and `handleAlterPartitionError`.
    """
    own, replica = state.controllers[controller], state.replicas[leader]
    proposal = replica.proposal
    if proposal is None or not proposal.sent or replica.old_answer:
        return  # a broker has one request in flight
    if not own.is_free or own.epoch < state.heard[leader].asks:
        return
    asked = state.with_heard(leader, attrs.evolve(state.heard[leader], asks=own.epoch))
    if state.protocol.keeps_log:
        yield from _written_to_log(asked, controller, leader, proposal)
    else:
        yield from _written_to_zookeeper(asked, controller, leader, proposal)


def _written_to_zookeeper(state: Cluster, controller: int, leader: int, proposal: Proposal) -> Iterator[Cluster]:
    own, replica = state.controllers[controller], state.replicas[leader]
    known = own.partition
    if known is None:
        raise ValueError("a controller that knows no partition handles no proposal")
    if own.known[leader] != state.heard[leader].generation or replica.epoch > known.epoch:
        return  # STALE_BROKER_EPOCH; NOT_CONTROLLER, or up to 3.2 an error of a former controller's write
    if replica.epoch < known.epoch:
        yield _given_up(state, leader)
    elif proposal.isr == known.isr:
        yield _answered(state, leader)
    elif not may_write(state, controller):
        return
    elif state.quorum != known or proposal.known != known.isr:
        yield _given_up(state, leader)
    elif not _all_may_join(state, proposal, tuple(epoch > 0 for epoch in own.known)):
        yield _refused(state, leader)
    else:
        changed = write(state, controller, Quorum(known.leader, known.epoch, proposal.isr))
        yield _answered(changed, leader)


def _written_to_log(state: Cluster, controller: int, leader: int, proposal: Proposal) -> Iterator[Cluster]:
    replica, image = state.replicas[leader], newest(state)
    known, own = image.partition, state.controllers[controller].partition
    if not state.is_controller(controller):
        # It cannot commit anything. What it knows is at least as new as when it was elected.
        if own is not None and replica.epoch > own.epoch and state.protocol.refuses_newer_leaders:
            yield _given_up(state, leader)
        return
    if image.births[leader] != state.heard[leader].generation:
        return  # STALE_BROKER_EPOCH
    if state.heard[leader].ahead or replica.epoch > known.epoch:
        # The leader has a later leader or partition epoch: FENCED_LEADER_EPOCH, INVALID_UPDATE_VERSION, and since 3.3
        # NOT_CONTROLLER, after which the leader sends the request again.
        if state.protocol.refuses_newer_leaders:
            yield _given_up(state, leader)
        return
    is_known = (replica.leader, replica.epoch) == (known.leader, known.epoch) and proposal.known == known.isr
    joins = _all_may_join(state, proposal, image.registered)
    if not (is_known and joins) and state.registry.uncommitted:
        return  # the answer rests on records that are not committed, and waits for them (QuorumController)
    if not is_known:
        yield _given_up(state, leader)
    elif not joins:
        yield _refused(state, leader)
    else:
        seen = as_the_controller_sees(state, image)
        for after in build(seen, proposal.isr, bumps=state.protocol.epoch_for_shrink):
            yield _answered(written(state, after, asked_by=leader), leader)


def _all_may_join(state: Cluster, proposal: Proposal, live: tuple[bool, ...]) -> bool:
    may_join = state.protocol.may_join
    return all(
        may_join(Registration(ACTIVE if live[broker] else FENCED), proposal.outdated) for broker in sorted(proposal.isr)
    )


def _answered(state: Cluster, leader: int, *, dropped: bool = False) -> Cluster:
    """Return the state after a controller has accepted a leader's request. With KRaft, the response waits until the
    record is committed.

    Parameters:
        state: the state before.
        dropped: whether the response is an error; see `_given_up`.
    """
    replica = state.replicas[leader]
    proposal = replica.proposal
    if proposal is not None:
        awaited = proposal.awaited
        proposal = attrs.evolve(proposal, sent=False, outdated=False, dropped=dropped) if awaited else None
    return state.with_replica(leader, attrs.evolve(replica, proposal=proposal))


def _given_up(state: Cluster, leader: int) -> Cluster:
    """Return the state after an error that makes a leader keep its proposed ISR without sending the request again.

    The errors are FENCED_LEADER_EPOCH and INVALID_UPDATE_VERSION. The leader waits until it learns a newer partition
    state.
    """
    return _answered(state, leader, dropped=True)


def _refused(state: Cluster, leader: int) -> Cluster:
    """Return the state after the error INELIGIBLE_REPLICA, which makes a leader use the old ISR again."""
    return state.with_replica(leader, attrs.evolve(state.replicas[leader], proposal=None))


@action("broker {leader} receives the answer to its AlterPartition request", leader=brokers, effect="healing")
def hear_answer(state: Cluster, leader: int) -> Iterator[Cluster]:
    """With ZooKeeper, a leader learns from the response that its proposed ISR has been written."""
    proposal = state.replicas[leader].proposal
    if proposal is not None and not proposal.sent and not proposal.dropped:
        yield from isr.hear_isr(state, leader)  # type: ignore[misc]


def without_answers(state: Cluster, controller_epoch: int) -> Cluster:
    """Return the state after a controller has died. Its responses are lost, so leaders send their requests again."""
    for leader in brokers(state.bounds):
        if controller_epoch and state.heard[leader].asks == controller_epoch:
            state = asks_again(state, leader)
    return state
