"""The state of a partition whose controller can die, for the `control` family.

The brokers' replicas and the partition state are those of the `kafka` family, so that its functions apply to these
states. This module adds what ZooKeeper or the metadata log stores, the controllers, and what controllers send.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self, TypeVar

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

Sessions = tuple[int, ...]
"""The broker epoch of each broker. It is 0 if the broker has no session."""


@attrs.frozen(cache_hash=True)
class Image:
    """What the metadata log says after a record (KRaft).

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
    """What ZooKeeper stores beside the partition state, which is `Partition.quorum`. With KRaft, what the committed
    records of the metadata log say: `controller` is then the leader of the Raft quorum, `controller_epoch` its epoch,
    and `registered` says which brokers are not fenced.

    There are no version numbers: a write that compares the version of a node compares its value instead. In a leader
    epoch, an ISR that has changed and changed back is the same ISR.

    Attributes:
        controller: the controller in `/controller`, or None if this ephemeral node does not exist.
        controller_epoch: the number in `/controller_epoch`.
        written_by: the epoch of the controller that has last written the partition state.
        births: for each broker, how often it has registered. Its broker epoch (the creation zxid of `/brokers/ids/N`)
            is this number.
        registered: whether `/brokers/ids/N` exists, for each broker.
        target: the replicas that an operator has requested, until the partition has them. Empty if there are none.
        uncommitted: the records that the controller has written and the Raft quorum has not committed, oldest first.
            Always empty with ZooKeeper.
    """

    controller: int | None
    controller_epoch: int
    written_by: int
    births: Sessions
    registered: tuple[bool, ...]
    target: tuple[int, ...] = ()
    uncommitted: tuple[Image, ...] = ()

    @property
    def sessions(self) -> Sessions:
        """The broker epoch of each registered broker, and 0 for the others."""
        return tuple(birth if is_there else 0 for birth, is_there in zip(self.births, self.registered, strict=True))

    def born(self, broker: int) -> Registry:
        """Return the registry after a broker has registered, with a new broker epoch."""
        births = _replaced(self.births, broker, self.births[broker] + 1)
        return attrs.evolve(self, births=births, registered=_replaced(self.registered, broker, True))

    def back(self, broker: int) -> Registry:
        """Return the registry after a broker has a session again, with the same broker epoch (KRaft)."""
        return attrs.evolve(self, registered=_replaced(self.registered, broker, True))

    def gone(self, broker: int) -> Registry:
        """Return the registry after the session of a broker has ended."""
        return attrs.evolve(self, registered=_replaced(self.registered, broker, False))


@attrs.frozen(cache_hash=True)
class LeaderAndIsr:
    """A `LeaderAndIsr` request.

    Attributes:
        controller_epoch: the epoch of the controller that sent the request.
        leader, epoch, isr: the leader, leader epoch and ISR as the controller knows them.
        generation: the broker epoch for which the request is meant (KIP-380), or 0 if the request does not contain it.
        replicas: the replicas as the controller knows them. Empty if every broker always has a replica.
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
    """A `StopReplica` request, which deletes the replica.

    Attributes:
        controller_epoch, epoch, generation: see `LeaderAndIsr`. Up to 2.5, brokers do not receive the leader epoch.
    """

    controller_epoch: int
    epoch: int
    generation: int = 0

    def __str__(self) -> str:
        return f"c{self.controller_epoch}: stop and delete, epoch {self.epoch}"


Request = LeaderAndIsr | StopReplica


@attrs.frozen(cache_hash=True)
class Controller:
    """The memory of a process that can be the controller.

    Attributes:
        active: whether it acts as the controller. It may have been replaced without knowing it.
        epoch: its controller epoch. 0 if it is not active, or has not taken an epoch yet.
        known: the live brokers with their broker epochs, as it knows them.
        partition: the leader, leader epoch and ISR as it knows them. With KRaft, an active controller knows them from
            its log, so that this is None until it is replaced.
        read: the brokers that it has read from ZooKeeper and not acted on yet, or None.
        replicas: the replicas as it knows them, in order.
        step: the next step of the completion of a reassignment that it has begun: `REMOVE`, `WRITE`, or empty.
    """

    active: bool = False
    epoch: int = 0
    known: Sessions = ()
    partition: Quorum | None = None
    read: Sessions | None = None
    replicas: tuple[int, ...] = ()
    step: str = ""

    @property
    def is_free(self) -> bool:
        """Whether the controller can handle an event: it has finished the one before, and has an epoch."""
        return self.active and self.epoch > 0 and self.read is None and not self.step

    def considers_live(self, broker: int) -> bool:
        """Return whether the controller considers a broker live."""
        return self.known[broker] > 0


@attrs.frozen(cache_hash=True)
class Heard:
    """What a broker has heard, besides what its replica stores.

    Attributes:
        controller_epoch: the highest controller epoch in the requests that the broker has obeyed since it started.
        generation: the broker's own broker epoch. With KRaft, it is 0 until the controller has registered the broker.
        registering: whether the controller has written the broker's registration and has not committed it (KRaft).
        asks: the epoch of the controller to which the broker has sent its last `AlterPartition` request, or 0. It sends
            no request to an older controller after that.
    """

    controller_epoch: int = 0
    generation: int = 0
    registering: bool = False
    asks: int = 0


@attrs.frozen(cache_hash=True)
class Cluster(Partition):
    """A state of the partition, its brokers, ZooKeeper and the controllers.

    Attributes:
        quorum: the partition state in ZooKeeper.
        registry: the rest of what ZooKeeper stores.
        controllers: the memory of each process that can be the controller.
        queues: the requests that controllers have sent to brokers, oldest first. The queue from controller c to broker
            b is number ``c * brokers + b``. Requests in a queue stay in order; those of two controllers do not. With
            KRaft, the queue from controller 0 to a broker has the committed records that the broker has not applied.
        heard: what each broker has heard from controllers.
    """

    registry: Registry = component()
    controllers: tuple[Controller, ...] = component(each="controller")
    queues: tuple[tuple[Request, ...], ...] = component(each="queue")
    heard: tuple[Heard, ...] = component(each="broker")
    protocol: Protocol = constant()
    bounds: Bounds = constant()  # type: ignore[assignment]  # it has what the functions of `kafka` need

    def is_true_leader(self, broker: int) -> bool:
        """Return whether a broker is the leader and knows it. Up to 2.6, it must also know the ISR, because ZooKeeper
        otherwise refuses the ISR that the leader writes.
        """
        if self.protocol.in_flight:
            return super().is_true_leader(broker)
        return super().is_true_leader(broker) and self.replicas[broker].isr == self.quorum.isr

    def considers_alive(self, broker: int) -> bool:
        """Return whether the controller considers a broker alive. With KRaft, it does until it fences the broker."""
        return self.registry.registered[broker]

    def queue(self, controller: int, broker: int) -> tuple[Request, ...]:
        """Return the requests that a controller has sent to a broker, oldest first."""
        return self.queues[controller * self.bounds.brokers + broker]

    def with_queue(self, controller: int, broker: int, queue: tuple[Request, ...]) -> Self:
        """Return the state with the requests from a controller to a broker replaced."""
        return attrs.evolve(self, queues=_replaced(self.queues, controller * self.bounds.brokers + broker, queue))

    def with_controller(self, number: int, controller: Controller) -> Self:
        """Return the state with the memory of a controller replaced."""
        return attrs.evolve(self, controllers=_replaced(self.controllers, number, controller))

    def with_heard(self, broker: int, heard: Heard) -> Self:
        """Return the state with what a broker has heard replaced."""
        return attrs.evolve(self, heard=_replaced(self.heard, broker, heard))

    def is_controller(self, number: int) -> bool:
        """Return whether a process acts as the controller, and ZooKeeper agrees."""
        return self.controllers[number].active and self.registry.controller == number


def _replaced(values: tuple[T, ...], index: int, value: T) -> tuple[T, ...]:
    return (*values[:index], value, *values[index + 1 :])


def initial_states(bounds: Bounds, protocol: Protocol) -> Iterator[Cluster]:
    """Yield the initial state: logs are empty, broker 0 leads in epoch 0, and controller 0 has controller epoch 1.

    Raises:
        SpecError: if the bounds do not fit together, or do not fit the release.
    """
    check(bounds)
    if protocol.keeps_log and bounds.moves:
        raise SpecError(
            f"control/{protocol.name} has no reassignments: with KRaft, a reassignment is one record of the metadata "
            f"log, and kafka/{protocol.name} has it"
        )
    replicas = tuple(range(min(bounds.replicas or bounds.brokers, bounds.brokers)))
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
