"""Start brokers with ZooKeeper, and hold messages to and from the controllers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from leadline.brokers import zookeeper
from leadline.brokers.behind_proxy import CONTROLLER_PATH, READY_SECONDS, ObservedCluster
from leadline.brokers.control.observed_state import ObservedControl, SeenBroker, SeenRequest, SeenZooKeeper
from leadline.brokers.control.plan import ControlPlan
from leadline.brokers.driver.stage import PARTITION, STATE_PATH, TOPIC
from leadline.brokers.driver.waiting import StepFailed, until
from leadline.brokers.errors import BrokerError
from leadline.brokers.frame import Frame, Rule
from leadline.brokers.messages.leader_and_isr import partition_errors, partition_states
from leadline.brokers.pending import Refused, Unanswered
from leadline.brokers.recording import RecordingWriter
from leadline.brokers.releases import BrokerRelease
from leadline.brokers.traffic import Hold

EPOCH_PATH = "/controller_epoch"
BROKERS_PATH = "/brokers/ids"
"""The ZooKeeper nodes of the controller epoch and of the live brokers."""

SETTINGS = {"zookeeper.session.timeout.ms": "60000"}
"""While what a controller sends is held, its session must not expire. ZooKeeper allows 20 ticks."""

Where = Callable[[Mapping[str, Any]], bool]


def is_about(path: str) -> Where:
    """Return a predicate that is true for a ZooKeeper frame, or a transaction, about the given node."""

    def check(body: Mapping[str, Any]) -> bool:
        return any(each.get("path") == path for each in (body, *body.get("operations", ())))

    return check


class ControlStage(ObservedCluster):
    """A cluster whose controllers receive and send only messages that a driver releases. For the parameters, see
    `ObservedCluster`.
    """

    def __init__(
        self, release: BrokerRelease, plan: ControlPlan, folder: Path, recording: RecordingWriter | None = None
    ) -> None:
        self.replicas = range(plan.brokers)
        self.controllers = range(plan.brokers, plan.brokers + plan.start.bounds.controllers)
        """The broker that is controller 0, the one that is controller 1, and so on. They have no replica."""
        self.down: set[int] = set()
        self.requests: dict[tuple[int, int], Hold] = {}
        """The held requests of each controller to each broker."""
        self.told: dict[int, Hold] = {}
        """What ZooKeeper tells each process about `/controller`, which is held."""
        self.changed: dict[int, Hold] = {}
        """What ZooKeeper tells each controller about the live brokers, which is held."""
        self._since = dict.fromkeys(self.replicas, 0)
        super().__init__(release, folder, len(self.replicas) + len(self.controllers), SETTINGS, recording)

    def start(self) -> None:
        """Start the cluster, create the topic, and hold messages to and from controllers.

        Raises:
            BrokerError: if a process does not start, or the topic cannot be created or replicated.
        """
        self.start_processes(self.replicas, self.controllers)
        limit = READY_SECONDS * self.timeout_scale
        try:
            until(self._all_are_known, limit, "the brokers are not registered")
            self.client.create_topic(self.controllers[0], TOPIC, [list(self.replicas)])
            until(self._is_replicated, limit, "the topic is not replicated")
        except (StepFailed, Refused, Unanswered) as error:
            raise BrokerError(f"cannot start the replay: {error}") from error
        for controller in self.controllers:
            for broker in self.replicas:
                self.requests[controller, broker] = self.proxy.hold(Rule(controller, broker, "LeaderAndIsr", True))
            self.hold_changes(controller)

    def hold_changes(self, controller: int) -> None:
        """Hold ZooKeeper's notifications to a controller about changes of the live brokers."""
        rule = Rule("zookeeper", controller, "watch", False, is_about(BROKERS_PATH))
        self.changed[controller] = self.proxy.hold(rule)

    def hold_elections(self, controller: int) -> None:
        """Hold back ZooKeeper's notifications about `/controller`, except those for the given controller."""
        for process in (*self.replicas, *self.controllers):
            if process != controller:
                rule = Rule("zookeeper", process, "watch", False, is_about(CONTROLLER_PATH))
                self.told[process] = self.proxy.hold(rule)

    def end_elections(self) -> None:
        """Release ZooKeeper's notifications about `/controller`."""
        for hold in self.told.values():
            hold.end()
        self.told.clear()

    def _all_are_known(self) -> bool:
        with suppress(Unanswered, Refused):
            told = self.client.metadata(self.controllers[0], timeout=5)
            known = {each["NodeId"] for each in told["Brokers"]}
            return known >= {*self.replicas, *self.controllers} and told["ControllerId"] == self.controllers[0]
        return False

    def _is_replicated(self) -> bool:
        with suppress(Unanswered, Refused):
            views = [self.client.partition(broker, TOPIC, PARTITION) for broker in self.replicas]
            expected = (self.replicas[0], frozenset(self.replicas), 0)
            return all(view is not None and (view.leader, view.isr, view.error) == expected for view in views)
        return False

    # --- ZooKeeper ------------------------------------------------------------------------------------------------

    @property
    def _port(self) -> int:
        return self.cluster.ports.real["zookeeper"]

    def read(self, path: str) -> Any:
        """Return the JSON content of a node of ZooKeeper, or None if the node is empty or does not exist."""
        return zookeeper.read_json(self._port, path)

    def delete_controller_node(self) -> None:
        """Delete `/controller`, as operators do."""
        zookeeper.delete(self._port, CONTROLLER_PATH)

    def close_session(self, process: int) -> None:
        """Close the session of a broker."""
        session = self.proxy.session(process)
        if session is not None:
            zookeeper.close_session(self._port, session)
        self.proxy.note("session_closed", node=process)

    def is_registered(self, broker: int) -> bool:
        """Return whether a broker is registered in ZooKeeper."""
        return self.read(f"{BROKERS_PATH}/{broker}") is not None

    # --- what can be observed ---------------------------------------------------------------------------------------

    def forget(self, broker: int) -> None:
        """Forget the requests that a broker has obeyed, because the broker is down."""
        self._since[broker] = self.proxy.newest

    def observed(self) -> ObservedControl:
        """Return the observable part of the current state.

        Raises:
            OSError: if ZooKeeper does not answer.
        """
        holder, state = self.read(CONTROLLER_PATH), self.read(STATE_PATH)
        live = frozenset(broker for broker in self.replicas if self.is_registered(broker))
        registry = SeenZooKeeper(
            None if holder is None else holder["brokerid"] - len(self.replicas),
            self.read(EPOCH_PATH) or 0,
            state["leader"],
            state["leader_epoch"],
            frozenset(state["isr"]),
            state["controller_epoch"],
            live,
        )
        return ObservedControl(registry, tuple(map(self._broker, self.replicas)))

    def _broker(self, broker: int) -> SeenBroker:
        if broker in self.down:
            return SeenBroker(up=False)
        obeys, epoch = self._obeyed(broker)
        requests = tuple(self._next(controller, broker) for controller in self.controllers)
        return SeenBroker(True, self.leads(broker), obeys, epoch, requests)

    def leads(self, broker: int) -> bool:
        """Return whether a broker responds to a consumer as the leader."""
        with suppress(Refused, Unanswered):
            return not self.client.fetch(broker, TOPIC, 0, max_wait_ms=0).error
        return False

    def _obeyed(self, broker: int) -> tuple[int, int | None]:
        """Return the highest controller epoch of the requests that a broker has accepted since it started, and the
        leader epoch in the last request that it has obeyed. The broker's responses show both.
        """
        obeys, epoch, asked = 0, None, dict[int, Frame]()
        for frame in self.proxy.frames:
            if frame.api != "LeaderAndIsr" or frame.number <= self._since[broker]:
                continue
            if frame.request and frame.target == broker:
                asked[frame.number] = frame
            elif (
                frame.source == broker and frame.answers in asked and not (frame.body or {"ErrorCode": 1})["ErrorCode"]
            ):
                request = asked[frame.answers].body or {}
                obeys = max(obeys, request["ControllerEpoch"])
                if (state := state_in(request)) is not None and not error_in(frame.body or {}):
                    epoch = state["LeaderEpoch"]
        return obeys, epoch

    def _next(self, controller: int, broker: int) -> SeenRequest | None:
        hold = self.requests[controller, broker]
        for frame in hold.held[:1]:
            body = frame.body or {}
            state = state_in(body)
            if state is not None:
                return SeenRequest(
                    body["ControllerEpoch"], state["Leader"], state["LeaderEpoch"], frozenset(state["Isr"])
                )
        return None


def state_in(request: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the partition state in a LeaderAndIsr request, or None if the request is not about the partition."""
    return next((state for state in partition_states(request) if state.get("TopicName") == TOPIC), None)


def error_in(response: Mapping[str, Any]) -> int:
    """Return the error for the partition in a response to a LeaderAndIsr request."""
    return next((int(error["ErrorCode"]) for error in partition_errors(response)), 0)
