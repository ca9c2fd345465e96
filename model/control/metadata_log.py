"""The metadata log of KRaft: the controller writes records, the Raft quorum commits them, and brokers apply them later.

In the model, a record is the atomic batch that the controller writes for one event, such as a registration and the
resulting change of the partition. The controller bases its next record on its newest one, even if the newest one is not
yet committed. A failover removes uncommitted records. In Kafka, a new controller can commit a record that it finds in
its log. The model commits such a record before the failover.

All brokers apply a record that begins a leader epoch, but only the leader applies a record that just changes the ISR.
The response to an `AlterPartition` request contains the same information as the record that the response waits for.
Therefore, the model has no separate step for a response that accepts the request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from leadline.checker.action import action
from leadline.model.control.state import APPLIED, Cluster, Heard, Image, LeaderAndIsr
from leadline.model.kafka.broker import Replica
from leadline.model.kafka.controller import elected_uncleanly, leaving, led_again
from leadline.model.kafka.crash import with_another_incarnation, without_eligibility
from leadline.model.kafka.high_watermark import with_leader
from leadline.model.kafka.leadership import follower_of, leader_of
from leadline.model.quorum import Quorum, brokers

METADATA = 0
"""The number of the queues in which committed records wait for brokers."""


def newest(state: Cluster) -> Image:
    """Return the metadata image after the controller's newest record, which need not be committed."""
    uncommitted = state.registry.uncommitted
    return uncommitted[-1] if uncommitted else committed(state)


def committed(state: Cluster) -> Image:
    """Return the metadata image after the last committed record."""
    return Image(state.quorum, state.registry.births, state.registry.registered)


def as_the_controller_sees(state: Cluster, image: Image) -> Cluster:
    """Return the state with the data in the given metadata image. Functions of the `kafka` family can then compute what
    the controller writes next.
    """
    registry = attrs.evolve(state.registry, births=image.births, registered=image.registered)
    return attrs.evolve(state, quorum=image.partition, registry=registry)


def written(state: Cluster, seen: Cluster, asked_by: int | None = None) -> Cluster:
    """Return the state after the controller has written a record.

    Parameters:
        state: the state before the record.
        seen: the state that the controller sees after the record.
        asked_by: the leader whose request the record answers, or None.
    """
    image = Image(seen.quorum, seen.registry.births, seen.registry.registered, asked_by)
    registry = state.registry
    return attrs.evolve(state, registry=attrs.evolve(registry, uncommitted=(*registry.uncommitted, image)))


@action("the controller fences broker {broker}", broker=brokers, effect="healing")
def fence(state: Cluster, broker: int) -> Iterator[Cluster]:
    """The controller fences a stopped broker after its session has ended, and removes it from leadership and from the
    ISR (`ReplicationControlManager.handleBrokerFenced`).

    A new controller restarts all sessions, because the metadata log does not contain the times of heartbeats.
    Therefore, a stopped broker stays in the ISR until its session with the new controller ends. The model has no clock,
    so this step can happen at any time. A broker whose registration is lost is fenced like a stopped one.
    """
    if not state.replicas[broker].up or state.is_refused(broker):
        yield from fenced(state, broker)


def fenced(state: Cluster, broker: int) -> Iterator[Cluster]:
    """Yield the states after the controller has fenced a broker. Yield nothing if there is no controller or the broker
    is already fenced.
    """
    image = newest(state)
    if not _is_led(state) or not image.registered[broker]:
        return
    seen = as_the_controller_sees(state, image)
    seen = attrs.evolve(seen, registry=seen.registry.gone(broker))
    for after in leaving(seen, broker):
        for led in _led_uncleanly(after):
            yield written(state, led)


@action("the controller registers broker {broker}", broker=brokers, effect="healing")
def admit(state: Cluster, broker: int) -> Iterator[Cluster]:
    """The controller registers a broker that has started, or unfences a broker whose session had expired. If the
    partition has no leader, the controller also elects one (`ClusterControlManager.registerBroker`,
    `handleBrokerUnfenced`).

    In the model, one record both registers and unfences a broker. Up to 3.9, the registration of a broker that is not
    yet fenced changes no partition, so a leader continues in the same leader epoch (KAFKA-18106). Since 4.0, the
    controller first removes the broker from leadership and from the ISR. It also removes the broker from the ELR unless
    the broker has shut down cleanly.
    """
    heard, image = state.heard[broker], newest(state)
    starts = not heard.generation
    if not _is_led(state) or not state.replicas[broker].up or heard.registering:
        return
    if not starts and (image.registered[broker] or state.is_refused(broker)):
        return
    seen = as_the_controller_sees(state, image)
    found = [seen]
    if starts and image.registered[broker] and state.protocol.compares_epochs:
        gone = attrs.evolve(seen, registry=seen.registry.gone(broker))
        found = list(leaving(gone, broker))
    waiting = state.with_heard(broker, attrs.evolve(heard, registering=starts))
    for each in found:
        if starts and state.protocol.has_elr:
            each = without_eligibility(each, broker)
        registry = each.registry.born(broker) if starts else each.registry.back(broker)
        for led in led_again(attrs.evolve(each, registry=registry)):
            for after in _led_uncleanly(led):
                yield written(waiting, after)


def _is_led(state: Cluster) -> bool:
    """Return whether the Raft quorum has a leader that acts as the controller."""
    number = state.registry.controller
    return number is not None and state.is_controller(number)


def _led_uncleanly(state: Cluster) -> Iterator[Cluster]:
    """Yield the states after an unclean election if the partition has no leader and its topic allows unclean elections.
    Otherwise, yield the given state.
    """
    uncleanly = state.bounds.unclean_leader_election and state.protocol.elects_uncleanly
    if uncleanly and state.quorum.leader is None:
        for broker in state.assignment.replicas:
            elected = list(elected_uncleanly(state, broker))
            if elected:
                yield from elected
                return
    yield state


def oldest(bounds: object) -> range:
    """Return the position of the record that the quorum commits next. The only position is 0."""
    return range(1)


@action("the Raft quorum commits the controller's oldest record", record=oldest, effect="healing")
def commit(state: Cluster, record: int) -> Iterator[Cluster]:
    """A majority of the Raft quorum has stored the record. A failover can no longer remove it, and brokers will apply
    it.

    A broker that has registered starts by applying the whole log up to its own registration.
    """
    own = state.registry
    if not own.uncommitted:
        return
    before, image = state.quorum, own.uncommitted[0]
    registry = attrs.evolve(
        own,
        births=image.births,
        registered=image.registered,
        written_by=own.controller_epoch,
        uncommitted=own.uncommitted[1:],
        undoable=_undoable(state),
    )
    after = attrs.evolve(state, quorum=image.partition, registry=registry)
    told = concerned(state, before, image.partition)
    for broker in brokers(state.bounds):
        heard = state.heard[broker]
        if heard.registering and image.births[broker] > own.births[broker]:
            now = Heard(heard.controller_epoch, generation=image.births[broker])
            after = after.with_queue(METADATA, broker, ()).with_heard(broker, now)
            after = announced(after, [broker])
        elif heard.generation and broker in told:
            after = announced(after, [broker])
    yield after


def _undoable(state: Cluster) -> tuple[Image, ...]:
    """Return `Registry.undoable` after the next record is committed."""
    if not state.may("metadata_rolls_back") or state.spent.metadata_rolls_back:  # type: ignore[attr-defined]  # it is ours
        return ()
    return (*state.registry.undoable, committed(state))[-state.bounds.metadata_rolls_back :]


def concerned(state: Cluster, before: Quorum, after: Quorum) -> list[int | None]:
    """Return the brokers that a record affects: all brokers if it begins a leader epoch, or the leader if it only
    changes the ISR.
    """
    if after.epoch != before.epoch:
        return list(brokers(state.bounds))
    return [after.leader] if after.isr != before.isr else []


def announced(state: Cluster, to: Iterable[int]) -> Cluster:
    """Return the state in which the partition state is the newest record that the given brokers have to apply. If there
    is no leader, the state does not change.
    """
    quorum = state.quorum
    if quorum.leader is None:
        return state
    record = LeaderAndIsr(state.registry.controller_epoch, quorum.leader, quorum.epoch, quorum.isr)
    for broker in to:
        state = state.with_queue(METADATA, broker, (*state.queue(METADATA, broker), record))
    return state


@action("broker {broker} applies the next record of the metadata log", broker=brokers, effect="healing")
def apply_record(state: Cluster, broker: int) -> Iterator[Cluster]:
    """A broker applies the oldest committed record that it has not yet applied (`BrokerMetadataPublisher`).

    A leader discards its proposed ISR when it learns another ISR, but it can propose the next one only after it has
    received the response to its request.
    """
    queue = state.queue(METADATA, broker)
    if not queue or not state.replicas[broker].up or state.heard[broker].ahead == APPLIED:
        return
    record, replica = queue[0], state.replicas[broker]
    if not isinstance(record, LeaderAndIsr):
        raise TypeError("the metadata log contains only LeaderAndIsr records")
    taken = state.with_queue(METADATA, broker, queue[1:])
    heard = attrs.evolve(state.heard[broker], controller_epoch=record.controller_epoch, ahead="")
    taken = taken.with_heard(broker, heard)
    if record.epoch > replica.epoch and record.leader == broker:
        yield with_leader(taken, broker, leader_of(taken, broker, record.epoch, record.isr))
    elif record.epoch > replica.epoch:
        following = follower_of(taken, broker, record.epoch, record.leader, elected=False)
        yield taken.with_replica(broker, following)
    elif record.epoch == replica.epoch and replica.leader == broker:
        yield with_leader(taken, broker, knowing(replica, record.isr))
    else:
        yield taken


def knowing(replica: Replica, isr: frozenset[int]) -> Replica:
    """Return a leader's replica after the leader has learned the ISR of its current leader epoch."""
    proposal = replica.proposal
    if proposal is None or not proposal.sent:
        return attrs.evolve(replica, isr=isr, proposal=None)
    return attrs.evolve(replica, isr=isr, proposal=attrs.evolve(proposal, awaited=False))


def undone(state: Cluster) -> Cluster:
    """Return the state after a failover of the controller, which removes uncommitted records.

    If such a record answers a leader's request, the leader receives an error and sends the request again. If the record
    contains a broker's registration, the broker registers again.
    """
    for image in state.registry.uncommitted:
        if image.asked_by is not None:
            state = asks_again(state, image.asked_by)
    for broker in brokers(state.bounds):
        heard = state.heard[broker]
        if heard.registering:
            state = state.with_heard(broker, attrs.evolve(heard, registering=False))
    return attrs.evolve(state, registry=attrs.evolve(state.registry, uncommitted=()))


def asks_again(state: Cluster, leader: int) -> Cluster:
    """Return the state after a leader has sent its `AlterPartition` request again, if it waits for a response."""
    replica = state.replicas[leader]
    proposal = replica.proposal
    if proposal is None or proposal.sent or proposal.dropped:
        return state
    return state.with_replica(leader, attrs.evolve(replica, proposal=attrs.evolve(proposal, sent=True)))


def started(state: Cluster, broker: int) -> Cluster:
    """Return the state after a broker has started. The broker applies no records before it is registered."""
    replica = state.replicas[broker]
    up = state.with_replica(broker, attrs.evolve(replica, up=True))
    return with_another_incarnation(up, broker)
