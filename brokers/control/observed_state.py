"""The observable part of a state of the `control` family. Its form is the same for the model and for real brokers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from leadline.model.control.state import Cluster, LeaderAndIsr

NOBODY = -1
"""The leader of a partition that has none."""


@attrs.frozen
class SeenRequest:
    """A LeaderAndIsr request in flight: the epoch of its controller, the leader, the leader epoch and the ISR."""

    controller_epoch: int
    leader: int
    epoch: int
    isr: frozenset[int]

    def __str__(self) -> str:
        return f"c{self.controller_epoch}: leader {self.leader}, epoch {self.epoch}, ISR {_numbers(self.isr)}"


@attrs.frozen
class SeenZooKeeper:
    """The observable data in ZooKeeper: the controller or None, the controller epoch, the partition state with the
    epoch of the controller that last wrote it, and the brokers with a session.
    """

    controller: int | None
    controller_epoch: int
    leader: int
    epoch: int
    isr: frozenset[int]
    written_by: int
    live: frozenset[int]

    def __str__(self) -> str:
        leads = "no leader" if self.leader == NOBODY else f"leader {self.leader}"
        holder = "no controller" if self.controller is None else f"controller {self.controller}"
        return (
            f"{leads}, epoch {self.epoch}, ISR {_numbers(self.isr)}, written by c{self.written_by}; {holder}, "
            f"c{self.controller_epoch}; live: {_numbers(self.live)}"
        )


@attrs.frozen
class SeenBroker:
    """The observable part of a broker.

    Attributes:
        up: whether the process is running.
        leads: whether it responds to a consumer as the leader.
        obeys: the highest controller epoch in the requests that it has accepted since it started, or 0.
        epoch: the leader epoch in the last request that it has obeyed since it started, or None.
        requests: for each controller, the next request in flight to the broker, or None. Empty if the broker is down.
    """

    up: bool
    leads: bool = False
    obeys: int = 0
    epoch: int | None = None
    requests: tuple[SeenRequest | None, ...] = ()

    def __str__(self) -> str:
        if not self.up:
            return "down"
        leads = "leads" if self.leads else "does not lead"
        epoch = "no epoch" if self.epoch is None else f"epoch {self.epoch}"
        waiting = [f"from controller {number}: {each}" for number, each in enumerate(self.requests) if each is not None]
        return "; ".join([f"{leads}, {epoch}, obeys c{self.obeys}", *waiting])


@attrs.frozen
class ObservedControl:
    """The observable part of a state: ZooKeeper, and the brokers with a replica."""

    zookeeper: SeenZooKeeper
    brokers: tuple[SeenBroker, ...]

    @property
    def columns(self) -> dict[str, str]:
        """The observed state as text for each row in the drawing of a state, keyed by the name of the row."""
        rows = {f"broker {number}": str(broker) for number, broker in enumerate(self.brokers)}
        return rows | {"ZooKeeper": str(self.zookeeper)}

    @property
    def as_object(self) -> dict[str, Any]:
        """The observed state as an object for `json.dumps`."""
        return {"zookeeper": str(self.zookeeper), "brokers": [str(broker) for broker in self.brokers]}


def observed_state(state: Cluster) -> ObservedControl:
    """Return the observable part of a model state."""
    quorum, registry = state.quorum, state.registry
    return ObservedControl(
        SeenZooKeeper(
            registry.controller,
            registry.controller_epoch,
            NOBODY if quorum.leader is None else quorum.leader,
            quorum.epoch,
            quorum.isr,
            registry.written_by,
            frozenset(broker for broker, is_there in enumerate(registry.registered) if is_there),
        ),
        tuple(_broker(state, broker) for broker in range(len(state.replicas))),
    )


def _broker(state: Cluster, broker: int) -> SeenBroker:
    replica = state.replicas[broker]
    if not replica.up:
        return SeenBroker(up=False)
    return SeenBroker(
        up=True,
        leads=replica.leader == broker,
        obeys=state.heard[broker].controller_epoch,
        epoch=None if replica.leader is None else replica.epoch,
        requests=tuple(_next(state, number, broker) for number in range(len(state.controllers))),
    )


def _next(state: Cluster, controller: int, broker: int) -> SeenRequest | None:
    for request in state.queue(controller, broker)[:1]:
        if isinstance(request, LeaderAndIsr):
            return SeenRequest(request.controller_epoch, request.leader, request.epoch, request.isr)
    return None


def differences(model: ObservedControl, real: ObservedControl) -> list[str]:
    """Return a sentence for each difference between real brokers and the model."""
    return list(_differences(model, real))


def _differences(model: ObservedControl, real: ObservedControl) -> Iterator[str]:
    if model.zookeeper != real.zookeeper:
        yield f"ZooKeeper: {real.zookeeper}; in the model: {model.zookeeper}"
    for number, (own, other) in enumerate(zip(model.brokers, real.brokers, strict=True)):
        if own != other:
            yield f"broker {number}: {other}; in the model: {own}"


def _numbers(brokers: frozenset[int]) -> str:
    return " ".join(map(str, sorted(brokers))) or "-"
