"""Disturb real brokers at random, and record what they do.

Brokers are killed, paused and shut down, the ends of their logs are cut off, messages between them are held or lost,
preferred leaders are elected and, with KRaft, the partition is reassigned, while producers write batches, compressed or
not, and a consumer reads. The settings are close to Kafka's defaults, with short timeouts: followers use fetch sessions
and fetch many records at a time, and leaders and ISRs change by themselves.

A mix of two releases is upgraded meanwhile: the brokers and the controller restart with the new release, one after the
other, and then the level and features rise. In a chain, such as ``3.9.1..4.1.1..4.3.1``, further upgrades follow.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from leadline.brokers import zookeeper
from leadline.brokers.behind_proxy import ObservedCluster
from leadline.brokers.client import ELIGIBLE_REPLICAS, METADATA_VERSION
from leadline.brokers.errors import BrokerError
from leadline.brokers.frame import Rule
from leadline.brokers.pending import Refused, Unanswered
from leadline.brokers.ports import Node
from leadline.brokers.recording import RecordingWriter
from leadline.brokers.releases import BrokerRelease
from leadline.brokers.timeout_scale import timeout_scale
from leadline.model.disk import text
from leadline.model.disk.batches import read_headers
from leadline.model.disk.directory import read_log_directory
from leadline.model.disk.files import LocalFiles
from leadline.model.disk.text import HIGH_WATERMARKS
from leadline.model.kafka.conformance.following import chain_of
from leadline.model.kafka.rolls import NEW_FEATURES, NEW_LEVEL, NEW_RELEASE

TOPIC, PARTITION = "t", 0
REPLICAS = range(3)
STOP_SECONDS = 20.0
_FAILURES = (BrokerError, Unanswered, Refused, OSError, TimeoutError)
_FIRST_WITH_SESSIONS = (1, 1)
_FIRST_WITH_ELECT_LEADERS = (2, 2)
_PRODUCERS = 2
_LARGEST_BATCH = 4


def chaos(release: BrokerRelease, folder: Path, recording: RecordingWriter, seed: int, seconds: float) -> list[str]:
    """Start three brokers, create a topic, and disturb the brokers at random.

    Parameters:
        folder: an empty folder for the cluster.
        recording: the recording to which all frames and disturbances are written.
        seed: the seed of the random choices. The behaviour of the brokers also depends on timing.
        seconds: how long to disturb the brokers, in seconds on an idle machine.

    Returns:
        A sentence for each disturbance, in order.

    Raises:
        BrokerError: if the brokers cannot be started, or the topic cannot be created.
    """
    brokers = len(REPLICAS) + (0 if release.kraft else 1 if release.newer is None else 2)
    with ObservedCluster(release, folder, brokers, _settings(release), recording) as observed:
        return _Chaos(release, observed, seed).run(seconds)


def _settings(release: BrokerRelease) -> dict[str, str]:
    milliseconds = str(int(4000 * timeout_scale()))
    settings = {
        "replica.fetch.max.bytes": str(2**20),
        "replica.lag.time.max.ms": milliseconds,
        "broker.session.timeout.ms": milliseconds,
        "zookeeper.session.timeout.ms": milliseconds,
    }
    if release.version >= _FIRST_WITH_SESSIONS:
        settings["max.incremental.fetch.session.cache.slots"] = "1000"
    return settings


class _Chaos:
    def __init__(self, release: BrokerRelease, observed: ObservedCluster, seed: int) -> None:
        self._release, self._observed = release, observed
        self._proxy, self._cluster, self._client = observed.proxy, observed.cluster, observed.client
        self._random = random.Random(seed)
        self._down: set[int] = set()
        self._controller: Node = "controller" if release.kraft else len(REPLICAS)
        self._done = threading.Event()
        self._did: list[str] = []

    def run(self, seconds: float) -> list[str]:
        self._begin()
        clients = [threading.Thread(target=self._produce, args=(each,), daemon=True) for each in range(_PRODUCERS)]
        clients.append(threading.Thread(target=self._consume, daemon=True))
        for client in clients:
            client.start()
        end = time.monotonic() + seconds * timeout_scale()
        steps = self._upgrade() if self._release.newer is not None else iter(())
        following = next(steps, None)
        try:
            while time.monotonic() < end or following is not None:
                time.sleep(self._random.uniform(0.2, 2.0) * timeout_scale())
                with suppress(*_FAILURES):
                    self._random.choice(self._disturbances())()
                if following is not None:
                    following()
                    following = next(steps, None)
            for broker in sorted(self._down):
                with suppress(*_FAILURES):
                    self._bring_back(broker)
            time.sleep(3.0 * timeout_scale())
        finally:
            self._done.set()
            for client in clients:
                client.join(10)
        return self._did

    def _disturbances(self) -> list[Callable[[], None]]:
        found = [self._kill, self._kill, self._stop, self._start, self._start, self._start, self._pause]
        found += [self._hold, self._hold, self._lose]
        if self._release.version >= _FIRST_WITH_ELECT_LEADERS:
            found.append(self._prefer)
        if self._release.kraft:
            found.append(self._reassign)
        return found

    # --- an upgrade -----------------------------------------------------------------------------------------------

    def _upgrade(self) -> Iterator[Callable[[], None]]:
        """Yield the steps of the documented upgrade: all restart with the new release, and then the level rises. With
        ZooKeeper, they restart once more for it. In a chain, the next upgrade follows.
        """
        release = self._cluster.release
        for stage in (NEW_RELEASE,) if self._release.kraft else (NEW_RELEASE, NEW_LEVEL):
            for broker in self._random.sample(REPLICAS, len(REPLICAS)):
                yield partial(self._restart_as, broker, stage)
            yield partial(self._move_controller, stage)
        if self._release.kraft:
            yield partial(self._raise, METADATA_VERSION)
            if len(chain_of(release.spec).stages) > NEW_FEATURES:
                yield partial(self._raise, ELIGIBLE_REPLICAS)
        if release.newer is not None and release.newer.newer is not None:
            yield self._go_on
            yield from self._upgrade()

    def _go_on(self) -> None:
        """Begin the next upgrade, after all brokers have applied the new level and features."""
        time.sleep(3.0 * timeout_scale())
        self._cluster.begin_next_upgrade()
        self._did.append(f"finished the upgrade to {self._cluster.release.number}")

    def _restart_as(self, broker: int, stage: int) -> None:
        """Restart a broker with the new release or level, also if it is down."""
        if broker not in self._down:
            self._end(broker)
        self._observed.upgrade(broker, stage)
        self._bring_back(broker)

    def _move_controller(self, stage: int) -> None:
        """Let a controller of the new release or level take over from the old one."""
        old = self._controller
        if not isinstance(old, int):
            self._cluster.kill(old)
            self._observed.upgrade(old, stage)
            self._cluster.start([old])
        else:
            self._controller = following = 2 * len(REPLICAS) + 1 - old
            self._restart_as(following, stage)
            self._observed.move_controller(old, following, REPLICAS)
            self._down.add(old)
            self._restart_as(old, stage)
        self._did.append("a controller of the new release or level took over")

    def _raise(self, feature: str) -> None:
        level = self._client.set_feature(self._controller, feature, None)
        self._did.append(f"set {feature} to {level}")

    def _begin(self) -> None:
        """Start all processes, and create the topic. With ZooKeeper, a broker without a replica is the controller."""
        others = range(len(REPLICAS), len(self._cluster.nodes) - 1)
        self._observed.start_processes(REPLICAS, others)
        configs = {"min.insync.replicas": str(self._random.choice([1, 1, 2]))}
        self._until(lambda: self._created(configs), "the topic cannot be created")
        self._until(lambda: self._leader() is not None, "the topic has no leader")

    def _created(self, configs: dict[str, str]) -> bool:
        known = {each["NodeId"] for each in self._client.metadata(self._any, timeout=5)["Brokers"]}
        if not known >= set(REPLICAS):
            return False
        self._client.create_topic(self._any, TOPIC, [[*REPLICAS]], configs)
        return True

    @property
    def _any(self) -> int:
        """A broker that is running. With ZooKeeper, this is the broker without a replica, which is never disturbed."""
        return self._controller if isinstance(self._controller, int) else min(set(REPLICAS) - self._down)

    def _until(self, is_so: Callable[[], bool], what: str) -> None:
        def is_so_now() -> bool:
            with suppress(*_FAILURES):
                return is_so()
            return False

        self._observed.until(what, is_so_now)

    def _leader(self) -> int | None:
        view = self._client.partition(self._any, TOPIC, PARTITION)
        return None if view is None or view.error else view.leader

    def _produce(self, producer: int) -> None:
        number, choices = 0, random.Random(producer)
        while not self._done.wait(choices.uniform(0.3, 0.8)):
            try:
                leader = self._leader()
                if leader is None or leader in self._down:
                    continue
                values = [
                    f"p{producer} m{number + each}".encode() for each in range(choices.randint(1, _LARGEST_BATCH))
                ]
                number += len(values)
                how: dict[str, Any] = {"acks": choices.choice([-1, -1, 1]), "gzip": choices.random() < 0.5}
                self._client.produce(leader, TOPIC, *values, timeout=2.0, **how)
            except _FAILURES:
                self._done.wait(5.0 * timeout_scale())  # each request without an answer doubles what may have happened

    def _consume(self) -> None:
        offset = 0
        while not self._done.wait(1.0):
            with suppress(*_FAILURES):
                leader = self._leader()
                if leader is not None and leader not in self._down:
                    offset += len(self._client.fetch(leader, TOPIC, offset).records)

    # --- disturbances ---------------------------------------------------------------------------------------------

    def _running(self) -> int:
        return self._random.choice(sorted(set(REPLICAS) - self._down))

    def _kill(self) -> None:
        if len(self._down) == len(REPLICAS) - 1:
            return
        broker = self._running()
        self._cluster.kill(broker)
        self._proxy.note("killed", node=broker)
        self._down.add(broker)
        self._did.append(f"killed broker {broker}")
        if self._random.random() < 0.5 and (self._cluster.data_directory(broker) / f"{TOPIC}-{PARTITION}").exists():
            self._cut(broker)
        checkpoint = self._cluster.data_directory(broker) / HIGH_WATERMARKS
        offsets = text.offsets(LocalFiles(), str(checkpoint)) if checkpoint.exists() else {}
        known = offsets.get((TOPIC, PARTITION), 0)
        self._proxy.note("checkpoint_set", node=broker, topic=TOPIC, partition=PARTITION, high_watermark=known)

    def _cut(self, broker: int) -> None:
        """Cut off the last batches of a killed broker's log, as a power loss would."""
        directory = self._cluster.data_directory(broker) / f"{TOPIC}-{PARTITION}"
        segments = read_log_directory(LocalFiles(), str(directory)).segments
        with LocalFiles().opened(str(segments[-1][1])) as source:
            starts = [int(batch["first"]) for batch in read_headers(source).batches]
        if not starts:
            return
        offset = self._random.choice(starts[-2:])
        self._cluster.cut_log(broker, TOPIC, PARTITION, offset)
        self._proxy.note("log_cut", node=broker, topic=TOPIC, partition=PARTITION, to_offset=offset)
        self._did.append(f"cut the log of broker {broker} to offset {offset}")

    def _stop(self) -> None:
        """Shut down a broker. If it does not end in time, because others have to agree, it is killed."""
        if len(self._down) == len(REPLICAS) - 1:
            return
        self._end(self._running())

    def _end(self, broker: int) -> None:
        self._down.add(broker)
        try:
            self._cluster.stop(broker, STOP_SECONDS * timeout_scale())
            self._proxy.note("terminated", node=broker)
            self._did.append(f"shut down broker {broker}")
        except BrokerError:
            self._cluster.kill(broker)
            self._proxy.note("killed", node=broker)
            self._did.append(f"killed broker {broker}, which did not shut down")

    def _prefer(self) -> None:
        self._client.elect(self._running(), TOPIC)
        self._did.append("asked for the election of the preferred leader")

    def _reassign(self) -> None:
        """Ask for other replicas, as `kafka-reassign-partitions` does."""
        target = self._random.sample(REPLICAS, self._random.choice([2, 3, 3]))
        self._client.reassign("controller", TOPIC, target)
        self._did.append(f"asked for a reassignment to brokers {' '.join(map(str, target))}")

    def _start(self) -> None:
        if self._down:
            self._bring_back(self._random.choice(sorted(self._down)))

    def _bring_back(self, broker: int) -> None:
        session = None if self._release.kraft else self._proxy.session(broker)
        if session is not None:  # a broker cannot start while its id is registered
            zookeeper.close_session(self._cluster.ports.real["zookeeper"], session)
            self._proxy.note("session_closed", node=broker)
        self._cluster.start_broker(broker)
        self._proxy.note("started", node=broker)
        self._down.discard(broker)
        self._did.append(f"started broker {broker}")

    def _pause(self) -> None:
        broker, seconds = self._running(), self._random.uniform(0.5, 6.0) * timeout_scale()
        self._cluster.pause(broker)
        time.sleep(seconds)
        self._cluster.resume(broker)
        self._did.append(f"paused broker {broker} for {seconds:.1f} s")

    def _hold(self, *, drop: bool = False) -> None:
        source, target = self._random.sample(REPLICAS, 2)
        controller = self._controller
        news = Rule(controller, source, "Fetch", False) if self._release.kraft else Rule(None, source, "LeaderAndIsr")
        rules = [
            news,
            Rule(source, target, "Fetch", True),
            Rule(target, source, "Fetch", False),
            Rule(source, controller, "AlterPartition", True),
            Rule(controller, source, "AlterPartition", False),
            Rule(controller, source, "Fetch", False)
            if self._release.kraft
            else Rule(None, source, "LeaderAndIsr", True),
        ]
        rule, seconds = self._random.choice(rules), self._random.uniform(0.2, 3.0) * timeout_scale()
        hold = self._proxy.hold(rule)
        time.sleep(seconds)
        hold.end(drop=drop)
        self._did.append(f"{'lost' if drop else 'held'} for {seconds:.1f} s: {rule}")

    def _lose(self) -> None:
        self._hold(drop=True)
