"""The state of the `control` family: a partition whose controller can die.

Replicas and the partition state are modelled as in the `kafka` family, so functions of that family also apply here.
This module adds the controllers, the data in ZooKeeper or the metadata log, and the requests of controllers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self, TypeVar, cast

import attrs

from leadline.checker.errors import SpecError
from leadline.checker.state import component, constant
from leadline.model.control.bounds import Bounds, Spent, check
from leadline.model.control.protocols import Protocol
from leadline.model.kafka.assignment import Assignment
from leadline.model.kafka.broker import UNKNOWN_OFFSET, Registration, Replica
from leadline.model.kafka.messages import FetchRequest
from leadline.model.kafka.state import PREFERRED, Partition
from leadline.model.quorum import Quorum

T = TypeVar("T")

REMOVE = "remove"
WRITE = "write"
RESIGN = "resign"

APPLIED = "applied"
ANSWERED = "answered"

Sessions = tuple[int, ...]
"""The broker epoch of each broker. It is 0 if the broker has no session."""


@attrs.frozen(cache_hash=True)
class Image:
    """The metadata image after a record of the metadata log (KRaft).

    Attributes:
        partition: the leader, leader epoch and ISR.
        births, registered: see `Registry`.
        asked_by: the leader whose `AlterPartition` request the record answers, or None.
    """

    partition: Quorum
    births: Sessions
    registered: tuple[bool, ...]
    asked_by: int | None = None


@attrs.frozen(cache_hash=True)
class Registry:
    """The data in ZooKeeper, except for the partition state in `Partition.quorum`. With KRaft, the data in the
    committed records of the metadata log: `controller` is the leader of the Raft quorum, `controller_epoch` is the
    epoch of this leader, and `registered` tells which brokers are not fenced.

    The model has no version numbers of nodes. Where Kafka compares the version of a node before a write, the model
    compares the value. Therefore, it cannot detect that an ISR has changed and changed back in the same leader epoch.

    Attributes:
        controller: the controller in `/controller`, or None if this ephemeral node does not exist.
        controller_epoch: the number in `/controller_epoch`.
        written_by: the epoch of the controller that last wrote the partition state.
        births: for each broker, the number of its registrations. The model uses this number as the broker epoch (in
            Kafka, the creation zxid of `/brokers/ids/N`).
        registered: for each broker, whether `/brokers/ids/N` exists.
        target: the replicas that an operator has requested, or empty once the partition has them.
        uncommitted: the records that the controller has written but the Raft quorum has not yet committed, oldest
            first. Always empty with ZooKeeper.
        undoable: the metadata image before each of the newest committed records that can still be lost, oldest first.
            Always empty unless the bound `metadata_rolls_back` is above 0.
    """

    controller: int | None
    controller_epoch: int
    written_by: int
    births: Sessions
    registered: tuple[bool, ...]
    target: tuple[int, ...] = ()
    uncommitted: tuple[Image, ...] = ()
    undoable: tuple[Image, ...] = ()

    @property
    def sessions(self) -> Sessions:
        """The broker epoch of each registered broker, and 0 for the others."""
        return tuple(birth if is_there else 0 for birth, is_there in zip(self.births, self.registered, strict=True))

    def born(self, broker: int) -> Registry:
        """Return the registry after a broker has registered with a new broker epoch."""
        births = _replaced(self.births, broker, self.births[broker] + 1)
        return attrs.evolve(self, births=births, registered=_replaced(self.registered, broker, True))

    def back(self, broker: int) -> Registry:
        """Return the registry after the controller has unfenced a broker, which keeps its broker epoch (KRaft)."""
        return attrs.evolve(self, registered=_replaced(self.registered, broker, True))

    def gone(self, broker: int) -> Registry:
        """Return the registry after the session of a broker has ended."""
        return attrs.evolve(self, registered=_replaced(self.registered, broker, False))


@attrs.frozen(cache_hash=True)
class LeaderAndIsr:
    """A `LeaderAndIsr` request.

    Attributes:
        controller_epoch: the epoch of the controller that sent the request.
        leader, epoch, isr: the leader, leader epoch and ISR that the controller knows.
        generation: the broker epoch of the receiver (KIP-380), or 0 if the request does not contain it.
        replicas: the replicas that the controller knows. Empty if every broker always has a replica.
    """

    controller_epoch: int
    leader: int
    epoch: int
    isr: frozenset[int]
    generation: int = 0
    replicas: tuple[int, ...] = ()

    def __str__(self) -> str:
        isr = ",".join(map(str, sorted(self.isr)))
        meant = f" for broker epoch {self.generation}" if self.generation else ""
        replicas = f", replicas {','.join(map(str, self.replicas))}" if self.replicas else ""
        return f"c{self.controller_epoch}: leader {self.leader}, epoch {self.epoch}, ISR {isr}{replicas}{meant}"


@attrs.frozen(cache_hash=True)
class StopReplica:
    """A `StopReplica` request.

    Attributes:
        controller_epoch, epoch, generation: see `LeaderAndIsr`. Up to 2.5, brokers do not receive the leader epoch.
        delete: whether the broker deletes the replica. If not, the replica only stops fetching.
    """

    controller_epoch: int
    epoch: int
    generation: int = 0
    delete: bool = True

    def __str__(self) -> str:
        meant = f" for broker epoch {self.generation}" if self.generation else ""
        return f"c{self.controller_epoch}: stop{' and delete' if self.delete else ''}, epoch {self.epoch}{meant}"


Request = LeaderAndIsr | StopReplica


@attrs.frozen(cache_hash=True)
class Controller:
    """The in-memory state of a process that can be the controller.

    Attributes:
        active: whether the process acts as the controller. It may not know yet that it has been replaced.
        epoch: its controller epoch, or 0 if it is not active or has not yet written its epoch.
        known: the broker epoch of each broker that it considers live, and 0 for the others.
        partition: the leader, leader epoch and ISR that it knows. With KRaft, this is None until the controller is
            replaced, because the metadata log contains the same data.
        read: the brokers that it has read from ZooKeeper but not yet acted on, or None.
        notified: whether its watch on `/brokers/ids` has fired since it last read the brokers. A controller that has
            lost `/controller` is not notified any more: it hears of that before it hears of later changes.
        replicas: the replicas that it knows, in order.
        step: the next step to complete the reassignment (`REMOVE` or `WRITE`), `RESIGN` if the controller can only
            resign, or an empty string if it is handling no event.
        asked: the `ControlledShutdown` requests that it has received but not yet handled. Each consists of a broker and
            the broker epoch with which the broker has sent the request.
        shutting_down: the brokers whose controlled shutdown it has begun. Its successor does not know them.
    """

    active: bool = False
    epoch: int = 0
    known: Sessions = ()
    partition: Quorum | None = None
    read: Sessions | None = None
    notified: bool = False
    replicas: tuple[int, ...] = ()
    step: str = ""
    asked: frozenset[tuple[int, int]] = frozenset()
    shutting_down: frozenset[int] = frozenset()

    @property
    def is_free(self) -> bool:
        """Whether the controller can handle the next event. It must have an epoch, and it must have finished the
        previous event.
        """
        return self.active and self.epoch > 0 and self.read is None and not self.step

    def considers_live(self, broker: int) -> bool:
        """Return whether the controller considers a broker live and not shutting down, so that it may elect it."""
        return self.known[broker] > 0 and broker not in self.shutting_down

    def reaches(self, broker: int) -> bool:
        """Return whether the controller sends requests to a broker, which may be shutting down."""
        return self.known[broker] > 0


@attrs.frozen(cache_hash=True)
class Heard:
    """What a broker has learned from controllers, apart from the state of its replica.

    Attributes:
        controller_epoch: the highest controller epoch in the requests that the broker has obeyed since it started.
        generation: the broker's own broker epoch. With KRaft, it is 0 until the controller has registered the broker.
        registering: whether the controller has written the broker's registration, but the quorum has not committed it
            (KRaft).
        asks: the epoch of the controller to which the broker sent its last `AlterPartition` request, or 0. The broker
            sends no later request to an older controller.
        may_stop: whether a controller has handled the broker's `ControlledShutdown` request, so that the broker stops.
        ahead: `APPLIED` if the broker has applied a record that the metadata log has lost, and `ANSWERED` if it has not
            applied it, but knows its content from the answer to its `AlterPartition` request. Empty otherwise.
    """

    controller_epoch: int = 0
    generation: int = 0
    registering: bool = False
    asks: int = 0
    may_stop: bool = False
    ahead: str = ""


@attrs.frozen(cache_hash=True)
class Cluster(Partition):
    """A state of the partition, its brokers, ZooKeeper and the controllers.

    Attributes:
        quorum: the partition state in ZooKeeper.
        registry: the rest of what ZooKeeper stores.
        controllers: the memory of each process that can be the controller.
        queues: the requests that controllers have sent to brokers, oldest first. The queue from controller c to broker
            b has the index ``c * brokers + b``. Requests in the same queue stay in order, but requests in different
            queues do not. With KRaft, the queue from controller 0 to a broker contains the committed records that the
            broker has not yet applied.
        heard: what each broker has learned from controllers.
    """

    registry: Registry = component()
    controllers: tuple[Controller, ...] = component(each="controller")
    queues: tuple[tuple[Request, ...], ...] = component(each="queue")
    heard: tuple[Heard, ...] = component(each="broker")
    bounds: Bounds = constant()  # type: ignore[assignment]  # it has what the functions of `kafka` need

    @property
    def protocol(self) -> Protocol:
        """The rules of the release."""
        return cast(Protocol, self.rules)

    def is_true_leader(self, broker: int) -> bool:
        """Return whether a broker is the leader and knows that it leads. Up to 2.6, it must also know the current ISR,
        because ZooKeeper otherwise refuses the ISR that the leader writes.
        """
        if self.protocol.in_flight:
            return super().is_true_leader(broker)
        return super().is_true_leader(broker) and self.replicas[broker].isr == self.quorum.isr

    def considers_alive(self, broker: int) -> bool:
        """Return whether the controller considers a broker alive. With KRaft, it does so until it fences the broker."""
        return self.registry.registered[broker]

    def queue(self, controller: int, broker: int) -> tuple[Request, ...]:
        """Return the requests that a controller has sent to a broker, oldest first."""
        return self.queues[controller * self.bounds.brokers + broker]

    def with_queue(self, controller: int, broker: int, queue: tuple[Request, ...]) -> Self:
        """Return a copy of the state with the given queue of requests from a controller to a broker."""
        return attrs.evolve(self, queues=_replaced(self.queues, controller * self.bounds.brokers + broker, queue))

    def with_controller(self, number: int, controller: Controller) -> Self:
        """Return a copy of the state with the given in-memory state of a controller."""
        return attrs.evolve(self, controllers=_replaced(self.controllers, number, controller))

    def with_heard(self, broker: int, heard: Heard) -> Self:
        """Return a copy of the state in which a broker has learned the given information from controllers."""
        return attrs.evolve(self, heard=_replaced(self.heard, broker, heard))

    def with_sessions(self, registry: Registry) -> Self:
        """Return a copy of the state with the given registry, in which the session of a broker has begun or ended. The
        watch of the broker whose id is in `/controller` fires (ZooKeeper only).
        """
        changed, number = attrs.evolve(self, registry=registry), registry.controller
        if number is None or not self.controllers[number].active:
            return changed
        return changed.with_controller(number, attrs.evolve(self.controllers[number], notified=True))

    def is_refused(self, broker: int) -> bool:
        """Return whether the metadata log has lost the registration of a running broker. The controller refuses its
        heartbeats and requests (STALE_BROKER_EPOCH), and the broker does not register again before it restarts: see
        `BrokerLifecycleManager.BrokerHeartbeatResponseHandler`.
        """
        return self.heard[broker].generation > self.registry.births[broker]

    def is_controller(self, number: int) -> bool:
        """Return whether a process acts as the controller and has not been replaced."""
        return self.controllers[number].active and self.registry.controller == number


def _replaced(values: tuple[T, ...], index: int, value: T) -> tuple[T, ...]:
    return (*values[:index], value, *values[index + 1 :])


def initial_states(bounds: Bounds, protocol: Protocol) -> Iterator[Cluster]:
    """Yield the initial state. All logs are empty, broker 0 leads in epoch 0, and controller 0 has controller epoch 1.

    Raises:
        SpecError: if the bounds are inconsistent, or the release does not support them.
    """
    check(bounds)
    if protocol.keeps_log and bounds.moves:
        raise SpecError(
            f"control/{protocol.name} does not model reassignments, because a reassignment with KRaft is a single "
            f"record of the metadata log. Use kafka/{protocol.name} instead"
        )
    if protocol.keeps_log and bounds.shutdowns:
        raise SpecError(
            f"control/{protocol.name} does not model controlled shutdown, because it needs no failover with KRaft: the "
            f"metadata log says which brokers are shutting down. Use kafka/{protocol.name} instead"
        )
    if bounds.metadata_rolls_back and not protocol.keeps_log:
        raise SpecError(f"control/{protocol.name} has no metadata_rolls_back, because ZooKeeper has no metadata log")
    if protocol.keeps_log and (bounds.lost_answers or bounds.lost_elections):
        raise SpecError(
            f"control/{protocol.name} has no lost_answers and no lost_elections, because with KRaft a controller sends "
            "no requests to brokers, and is elected by the Raft quorum"
        )
    replicas = tuple(range(bounds.replicas or bounds.brokers))
    every = frozenset(replicas)
    quorum = Quorum(leader=PREFERRED, epoch=0, isr=every)
    sessions = (1,) * bounds.brokers
    remote_leos = tuple(
        0 if broker in every and broker != PREFERRED else UNKNOWN_OFFSET for broker in range(bounds.brokers)
    )
    assigned = every if bounds.moves else None
    leading = Replica(epoch=0, leader=PREFERRED, isr=every, remote_leos=remote_leos, assigned=assigned)
    following = Replica(epoch=0, leader=PREFERRED, in_flight=FetchRequest(PREFERRED, epoch=0, offset=0))
    first = Controller(active=True, epoch=1)
    if not protocol.keeps_log:
        first = attrs.evolve(first, known=sessions, partition=quorum, replicas=replicas)
    yield Cluster(
        next_value=0,
        exposed=(),
        acked=(),
        deletable=0,
        deleted=0,
        spent=Spent(),  # type: ignore[arg-type]
        quorum=quorum,
        assignment=Assignment(replicas),
        requests=(None,),
        registrations=(Registration(),) * bounds.brokers,
        late=(None,) * bounds.brokers,
        replicas=(leading, *(following if broker in every else Replica() for broker in range(1, bounds.brokers))),
        registry=Registry(
            controller=0,
            controller_epoch=1,
            written_by=1,
            births=sessions,
            registered=(True,) * bounds.brokers,
        ),
        controllers=(first, *(Controller(),) * (bounds.controllers - 1)),
        queues=((),) * (bounds.controllers * bounds.brokers),
        heard=(Heard(controller_epoch=1, generation=1),) * bounds.brokers,
        protocol=protocol,
        bounds=bounds,
    )
