"""Start brokers, proxies and a client, and bring them to the model's first state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from leadline.brokers.behind_proxy import ObservedCluster
from leadline.brokers.driver.plan import Plan
from leadline.brokers.errors import BrokerError
from leadline.brokers.frame import Frame, Rule
from leadline.brokers.messages.leader_and_isr import partition_states
from leadline.brokers.messages.requests import read_metadata
from leadline.brokers.pending import Refused, Unanswered
from leadline.brokers.ports import Node
from leadline.brokers.recording import RecordingWriter
from leadline.brokers.releases import BrokerRelease
from leadline.brokers.timeout_scale import timeout_scale
from leadline.brokers.traffic import Hold
from leadline.model.disk.metadata import NO_LEADER_CHANGE
from leadline.model.kafka.bounds import OLD_MIN_ISR
from leadline.model.kafka.broker import ACTIVE, FENCED
from leadline.model.kafka.mixes import MixBounds
from leadline.model.quorum import NO_EPOCH

TOPIC, PARTITION = "t", 0
STATE_PATH = f"/brokers/topics/{TOPIC}/partitions/{PARTITION}/state"
"""The ZooKeeper node with the leader, leader epoch and ISR of the partition."""

SETTINGS = {"replica.high.watermark.checkpoint.interval.ms": "100"}
"""High watermarks are read from their checkpoints."""

HEARTBEAT_MS = 300
"""On an idle machine. Since 4.0, a heartbeat must be answered within two of these intervals."""

SESSION_MS = 120_000
"""Sessions end only when the driver ends them."""

ZOOKEEPER_SESSION_MS = 40_000
"""On an idle machine. It is longer than the lag time (`replica.lag.time.max.ms`) of any plan, for which a broker can be
down.
"""

SESSION_MS_SINCE_4 = 9000
"""On an idle machine. Since 4.0, a broker cannot register again before its session has timed out, even if it is fenced.
"""

UNDEFINED_EPOCH = -1
MIN_ISR = "min.insync.replicas"

METADATA_PARTITION = 0
"""The number of the partition of KRaft's metadata log."""

Where = Callable[[Mapping[str, Any]], bool]


class Stage(ObservedCluster):
    """A cluster of brokers, and proxies that hold back the replication traffic. For the parameters, see
    `ObservedCluster`.
    """

    def __init__(self, release: BrokerRelease, plan: Plan, folder: Path, recording: RecordingWriter | None = None):
        self.plan = plan
        self.replicas = range(plan.brokers)
        self.assigned = tuple(broker for broker in plan.replicas if broker in plan.start.assignment.replicas)
        """The brokers with a replica in the first state, in the order of the assignment."""
        self.partition = PARTITION + 1 if plan.start.bounds.first_partition else PARTITION
        """The partition that is observed. Partition 0 also exists if its number of replicas matters."""
        self.controller: Node = "controller" if release.kraft else plan.brokers
        """The controller. With ZooKeeper, it is a broker without replicas that is started first."""
        self.known: dict[int, int] = dict.fromkeys(self.replicas, NO_EPOCH)
        """For each broker, the largest leader epoch, as numbered by brokers, of which it may have learned."""
        self.catching_up: dict[int, int] = {}
        """For each broker that reads the metadata log after a start, the offset from which on elections are held."""
        self._holds: dict[tuple[str, bool, Node, Node], Hold] = {}
        failing = 0 if release.kraft else 1 + plan.fails_over
        self._controllers = range(plan.brokers, plan.brokers + failing)
        """The brokers without replicas: the controller, and those that may become the controller later (ZooKeeper)."""
        per_broker: dict[int, dict[str, str]] = {broker: {} for broker in range(plan.brokers)}
        for leader, seconds in plan.lag_seconds.items():
            per_broker[leader]["replica.lag.time.max.ms"] = str(int(seconds * timeout_scale() * 1000))
        bounds = plan.start.bounds
        min_isr = OLD_MIN_ISR if bounds.min_isr_raises else bounds.min_insync_replicas
        self._min_isr = {MIN_ISR: str(min(max(min_isr, 1), bounds.brokers))}
        if isinstance(bounds, MixBounds) and bounds.min_isr_in_files:
            for own in per_broker.values():
                own |= self._min_isr
            self._min_isr = {}
        log_dirs = 2 if bounds.lost_directories else 1
        count = plan.brokers + failing
        stages = plan.stages(*(self._controllers or [self.controller]))
        super().__init__(
            release,
            folder,
            count,
            _settings(release, timeout_scale()),
            recording,
            per_broker,
            log_dirs=log_dirs,
            stages=stages,
        )

    def start(self) -> None:
        """Start the cluster, create the topic, and hold its replication, so that the brokers are in the first state of
        the model.

        Raises:
            BrokerError: if a process does not start, or the topic cannot be created or replicated.
        """
        self.start_processes(self.replicas, self._controllers)
        bounds = self.plan.start.bounds
        configs = {"unclean.leader.election.enable": str(bounds.unclean_leader_election).lower(), **self._min_isr}
        self.until("the brokers are not registered", self._all_brokers_are_known)
        try:
            self.client.create_topic(self._any_broker, TOPIC, [self.assigned] * (1 + self.partition), configs)
        except (Refused, Unanswered) as error:
            raise BrokerError(f"cannot create the topic: {error}") from error
        self.until("the topic is not replicated", self._is_replicated)
        if bounds.first_partition and bounds.first_partition < len(self.assigned):
            self.client.reassign(self.controller, TOPIC, self.assigned[: bounds.first_partition])
        self.known = dict.fromkeys(self.replicas, 0)
        self._hold_everything()
        for follower in self.assigned[1:]:
            self.until(f"broker {follower} has not sent a fetch request", partial(self._fetches, follower))

    def data_directory(self, broker: int) -> Path:
        """Return the log directory that contains a broker's replica, or the first log directory if the broker has no
        replica.
        """
        directories = self.cluster.data_directories(broker)
        having = (each for each in directories if (each / f"{TOPIC}-{self.partition}").exists())
        return next(having, directories[0])

    def _fetches(self, follower: int) -> bool:
        """Release the response to a follower's earlier fetch request, and return whether the follower's next fetch
        request is held.
        """
        answer = self.held("Fetch", False, 0, follower)
        if answer is not None:
            self.release_frame(answer)
        return self.held("Fetch", True, follower, 0) is not None

    def hide_from_controller(self) -> Hold:
        """Hold the frames that ZooKeeper sends to the controller. Return the `Hold`."""
        return self.proxy.hold(Rule("zookeeper", self.controller))

    def fail_over(self) -> int:
        """Kill the controller, which is a broker without replicas. The next broker without replicas takes over.

        All other brokers are notified only after the new controller is elected.

        Returns:
            The new controller.
        """
        old = self.controller
        following = old + 1 if isinstance(old, int) else 0
        others = [*self.replicas, *range(following + 1, self._controllers.stop)]
        self.move_controller(following - 1, following, others)
        self.controller = following
        moved = {old: following}
        self._holds = {
            (api, request, moved.get(source, source), moved.get(target, target)): hold
            for (api, request, source, target), hold in self._holds.items()
        }
        return following

    @property
    def _any_broker(self) -> int:
        return 0 if self.release.kraft else self.plan.brokers

    def _all_brokers_are_known(self) -> bool:
        try:
            told = self.client.metadata(self._any_broker, timeout=5)
        except (Unanswered, Refused):
            return False
        return {each["NodeId"] for each in told["Brokers"]} >= set(self.replicas) and told["ControllerId"] >= 0

    def _is_replicated(self) -> bool:
        """Return whether the preferred leader leads, and every other replica fetches from it."""
        if not all(self._sees_first_epoch(broker) for broker in self.replicas):
            return False
        frames = [frame for frame in self.proxy.frames if frame.api == "Fetch" and frame.state == "passed"]
        answered = {
            frame.answers
            for frame in frames
            if partition_of(frame.body or {}, self.partition).get("ErrorCode", -1) == 0
        }
        fetched = {frame.source for frame in frames if frame.target == 0 and frame.number in answered}
        return fetched >= set(self.assigned[1:])

    def _sees_first_epoch(self, broker: int) -> bool:
        try:
            view = self.client.partition(broker, TOPIC, self.partition)
        except (Unanswered, Refused):
            return False
        return view is not None and (view.leader, view.isr, view.error) == (0, frozenset(self.assigned), 0)

    # --- what is held -------------------------------------------------------------------------------------------

    def _hold_everything(self) -> None:
        for key, where in self._rules():
            api, request, source, target = key
            any_end = api in ("LeaderAndIsr",)
            rule = Rule(None if any_end else source, target, api, request, where)
            self._holds[key] = self.proxy.hold(rule)

    def _rules(self) -> Iterator[tuple[tuple[str, bool, Node, Node], Where | None]]:
        for own in self.replicas:
            for other in self.replicas:
                for api in ("Fetch", "OffsetForLeaderEpoch") if own != other else ():
                    yield (api, True, own, other), None
                    yield (api, False, own, other), None
            yield ("AlterPartition", True, own, self.controller), None
            yield ("AlterPartition", False, self.controller, own), None
            if self.release.kraft:
                yield ("Fetch", False, self.controller, own), self._announces(own)
                yield ("BrokerHeartbeat", False, self.controller, own), lambda body: bool(body["ShouldShutDown"])
                if self.plan.holds_directories:
                    yield ("AssignReplicasToDirs", True, own, self.controller), None
            else:
                yield ("LeaderAndIsr", True, self.controller, own), self._requests(own)
                yield ("ControlledShutdown", False, self.controller, own), None

    def _requests(self, broker: int) -> Where:
        """Return a predicate that is true for a LeaderAndIsr request if its epoch is later than all epochs that a
        broker may know.
        """
        return lambda body: any(epoch > self.known[broker] for epoch in epochs_of_request(body))

    def _announces(self, broker: int) -> Where:
        """Return a predicate that is true for a part of the metadata log that tells a broker something new about the
        partition, the topic's configuration, or a feature.
        """

        def is_news(body: Mapping[str, Any]) -> bool:
            caught_up_at = self.catching_up.get(broker)
            changes = self.changes_in(body)
            if caught_up_at is None:
                return bool(changes) or self.changes_settings(body)
            return any(
                offset >= caught_up_at and record.get("Leader", NO_LEADER_CHANGE) != NO_LEADER_CHANGE
                for offset, record in changes
            )

        return is_news

    def changes_in(self, body: Mapping[str, Any]) -> list[tuple[int, dict[str, Any]]]:
        """Return an (offset, record) pair for each record about the partition in a part of the metadata log."""
        found = ((offset, record) for offset, name, record in self._records(body) if name == "PartitionChangeRecord")
        return [(offset, record) for offset, record in found if record["PartitionId"] == self.partition]

    def changes_settings(self, body: Mapping[str, Any]) -> bool:
        """Return whether a part of the metadata log changes the topic's configuration, the level, or a feature."""
        return any(
            name == "FeatureLevelRecord" or (name == "ConfigRecord" and record["ResourceName"] == TOPIC)
            for _, name, record in self._records(body)
        )

    def last_offset(self, body: Mapping[str, Any]) -> int:
        """Return the offset of the last record in a part of the metadata log, or -1 if there is none."""
        return max((offset for offset, *_ in self._records(body)), default=-1)

    def _records(self, body: Mapping[str, Any]) -> Sequence[tuple[int, str, dict[str, Any]]]:
        data = partition_of(body, METADATA_PARTITION).get("Records")
        return read_metadata(self.definitions, data) if data else []

    def registered(self, broker: int, after: int) -> str | None:
        """Return the status of a broker by the record of its last registration (`FENCED` or `ACTIVE`), or None if the
        frames after the given one have no such record. The next heartbeat can change the status.
        """
        frames = [frame for frame in self.proxy.frames if frame.number > after and frame.source == "controller"]
        records = (each for frame in frames if frame.api == "Fetch" for each in self._records(frame.body or {}))
        own = [body for _, name, body in records if name == "RegisterBrokerRecord" and body["BrokerId"] == broker]
        return (FENCED if own[-1]["Fenced"] else ACTIVE) if own else None

    def held(self, api: str, request: bool, source: Node, target: Node) -> Frame | None:
        """Return a held frame with the given API, direction, source and target, or None if there is none.

        LeaderAndIsr and AlterPartition frames, and frames from a KRaft controller, are returned oldest first. For all
        other frames, the newest is returned, and all older ones are dropped, because their connections are closed.
        """
        if api == "Fetch" and request:
            self.held("OffsetForLeaderEpoch", False, target, source)  # which may have to be let through first
        hold = self._holds.get((api, request, source, target))
        frames = [] if hold is None else hold.held
        if api in ("LeaderAndIsr", "AlterPartition", "AssignReplicasToDirs") or source == "controller":
            return frames[0] if frames else None
        for stale in frames[:-1]:
            if hold is not None:
                hold.drop(stale)
        if not frames or (api == "OffsetForLeaderEpoch" and not request and self._answers_nothing(frames[-1])):
            return None
        return frames[-1]

    def _answers_nothing(self, response: Frame) -> bool:
        """Release a response if it cannot change the follower's log. Return whether the response was released."""
        asked = next((frame for frame in self.proxy.frames if frame.number == response.answers), None)
        if asked is None or asked.body is None or not self.asks_in_vain(asked):
            return False
        self.release_frame(response)
        return True

    def asks_in_vain(self, request: Frame) -> bool:
        """Return whether the response to an OffsetForLeaderEpoch request cannot change the follower's log.

        In releases up to 2.0, a follower with an empty leader epoch cache asks about an undefined epoch before it
        fetches. In 2.0 and later, a broker that has led without writing a record asks about the epoch in which it led
        (KAFKA-10706), even if its log is empty.
        """
        epoch = partition_of(request.body or {}, self.partition).get("LeaderEpoch", UNDEFINED_EPOCH)
        return epoch == UNDEFINED_EPOCH or (isinstance(request.source, int) and self._log_is_empty(request.source))

    def _log_is_empty(self, broker: int) -> bool:
        segments = (self.data_directory(broker) / f"{TOPIC}-{self.partition}").glob("*.log")
        return not any(segment.stat().st_size for segment in segments)

    def release_frame(self, frame: Frame) -> None:
        """Release a held frame."""
        self._hold_of(frame).release(frame)

    def drop(self, frame: Frame) -> None:
        """Drop a held frame, and close its connection."""
        self._hold_of(frame).drop(frame)

    def lose_messages_of(self, broker: int) -> None:
        """Drop the held frames from and to a killed broker, except its responses to followers.

        A response may still arrive after the leader has failed. All remaining messages are lost with the connection.
        """
        for (api, request, source, target), hold in self._holds.items():
            survives = api in ("Fetch", "OffsetForLeaderEpoch") and not request and source == broker
            if broker in (source, target) and not survives:
                for frame in hold.held:
                    hold.drop(frame)

    def _hold_of(self, frame: Frame) -> Hold:
        return next(hold for hold in self._holds.values() if frame in hold.held)

    def hold_session(self, broker: int) -> None:
        """Hold the frames that renew a broker's session."""
        if self.release.kraft:
            key = ("BrokerHeartbeat", True, broker, self.controller)
            rule = Rule(broker, "controller", "BrokerHeartbeat", True)
        else:
            key = ("session", True, broker, "zookeeper")
            rule = Rule(broker, "zookeeper", None, True)
        self._holds[key] = self.proxy.hold(rule)

    def resume_session(self, broker: int) -> None:
        """Release the frames that renew a broker's session."""
        for api in ("BrokerHeartbeat", "session"):
            for target in ("controller", "zookeeper"):
                hold = self._holds.pop((api, True, broker, target), None)
                if hold is not None:
                    hold.end()

    def end_holds(self) -> None:
        """Release all held frames, and stop holding frames."""
        for hold in self._holds.values():
            hold.end()
        self._holds.clear()


def _settings(release: BrokerRelease, timeout_scale: float) -> dict[str, str]:
    times: dict[str, float] = {"zookeeper.session.timeout.ms": ZOOKEEPER_SESSION_MS * timeout_scale}
    if release.kraft:
        session = SESSION_MS_SINCE_4 * min(timeout_scale, 3) if release.newest.version >= (4,) else SESSION_MS
        times = {"broker.session.timeout.ms": session, "broker.heartbeat.interval.ms": HEARTBEAT_MS * timeout_scale}
    return SETTINGS | {name: str(int(milliseconds)) for name, milliseconds in times.items()}


def partition_of(body: Mapping[str, Any], number: int) -> Mapping[str, Any]:
    """Return the first partition with the given number in a request or response, or an empty mapping."""
    for name in ("Topics", "Responses", "PartitionStates", "UngroupedPartitionStates"):
        for topic in body.get(name) or ():
            for partition in topic.get("Partitions", ()):
                found: Mapping[str, Any] = partition
                if found.get("PartitionIndex", found.get("Partition")) == number:
                    return found
    return {}


def epochs_of_request(body: Mapping[str, Any]) -> list[int]:
    """Return the leader epochs of the partition in a LeaderAndIsr request, except epochs without a leader.

    An epoch in which the partition has no leader changes nothing on a broker, and has no number in the model.
    """
    states = (state for state in partition_states(body) if state.get("TopicName") == TOPIC)
    return [state["LeaderEpoch"] for state in states if state["Leader"] >= 0]
