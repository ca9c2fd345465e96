"""Perform the operations of a step, such as a client's request, or the start of a process."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

from leadline.brokers import zookeeper
from leadline.brokers.client import ELIGIBLE_REPLICAS, METADATA_VERSION, PREFERRED, UNCLEAN
from leadline.brokers.driver.observer import Observer, payload
from leadline.brokers.driver.plan import PlannedStep, stages_in
from leadline.brokers.driver.schedule import keeps_up, obeys_late_requests
from leadline.brokers.driver.sessions import Sessions
from leadline.brokers.driver.stage import MIN_ISR, TOPIC, Stage
from leadline.brokers.driver.step_report import Produced
from leadline.brokers.driver.waiting import POLL_SECONDS, StepFailed, until
from leadline.brokers.frame import Rule
from leadline.brokers.pending import Pending, Refused, Unanswered
from leadline.brokers.ports import Node
from leadline.brokers.traffic import Hold
from leadline.model.disk.text import HIGH_WATERMARKS
from leadline.model.kafka.messages import FetchResponse
from leadline.model.kafka.rolls import NEW_LEVEL, OLD_FEATURES
from leadline.model.kafka.wire import Operation
from leadline.model.quorum import NO_EPOCH

_CONTROLLER_SECONDS = 2.0
"""The time that a controller gets to react to a notification from ZooKeeper, in seconds."""

_PREFERRED_ELECTION = "/admin/preferred_replica_election"
_FIRST_WITH_ELECT_LEADERS = (2, 2)
_FIRST_WITH_UNCLEAN_ELECTIONS = (2, 4)


class Operations:
    """Performs the operations of steps on real brokers: client requests, and what is done to a process, a disk or a
    session.

    Parameters:
        stage: the cluster and its proxies.
        observer: the observer of the brokers, which also records which of them are down.
        did: a list to which a line is added for each operation.
    """

    def __init__(self, stage: Stage, observer: Observer, did: list[str]) -> None:
        self.stage, self.observer, self._did = stage, observer, did
        self.produced: list[Produced] = []
        self._shutting_down: set[int] = set()
        self._threads = ThreadPoolExecutor(thread_name_prefix="driver")
        self._sessions = Sessions(stage, self._threads)
        self._operations: dict[Operation, Callable[[PlannedStep, float], None]] = {
            Operation.PRODUCE: self._produce,
            Operation.KILL: self._kill,
            Operation.CUT_LOG: self._cut_log,
            Operation.SET_CHECKPOINT: self._set_checkpoint,
            Operation.START: self._start,
            Operation.TERMINATE: self._terminate,
            Operation.WAIT_FOR_EXIT: self._wait_for_exit,
            Operation.END_SESSION: self._end_session,
            Operation.HOLD_SESSION: self._hold_session,
            Operation.RESUME_SESSION: self._resume_session,
            Operation.WAIT_FOR_LAG: self._wait_for_lag,
            Operation.ELECT_PREFERRED: self._elect_preferred,
            Operation.ELECT_UNCLEANLY: self._elect_uncleanly,
            Operation.REASSIGN: self._reassign,
            Operation.CANCEL: self._cancel,
            Operation.RAISE_MIN_ISR: self._raise_min_isr,
            Operation.REMOVE_DIRECTORY: self._remove_directory,
            Operation.REPLACE_DIRECTORY: self._replace_directory,
            Operation.MOVE_CONTROLLER: self._move_controller,
            Operation.CHANGE_FEATURE: self._change_feature,
        }

    def do(self, step: PlannedStep, limit: float) -> None:
        """Perform the operations of a step, in order.

        Parameters:
            limit: the time limit of each operation, in seconds.

        Raises:
            StepFailed: if an operation has no effect within the time limit.
        """
        for operation in step.wire.does:
            self._operations[operation](step, limit)

    def close(self) -> None:
        """Stop all threads that perform operations."""
        self._sessions.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def bring_back(self, broker: int) -> None:
        """Start a broker again after the last step.

        Raises:
            BrokerError: if the broker does not start.
            StepFailed: if the session of the killed broker cannot be ended.
        """
        if broker in self._sessions.open:
            self._did.append(self._sessions.end(broker))
        self.stage.cluster.start_broker(broker)
        self.stage.proxy.note("started", node=broker)
        self.observer.down.discard(broker)

    def await_exits(self, limit: float) -> None:
        """Wait until all brokers that are shutting down have exited.

        Raises:
            StepFailed: if a broker does not exit within the time limit, in seconds.
        """
        for broker in sorted(self._shutting_down):
            self._await_exit(broker, limit)

    def await_acknowledgements(self) -> None:
        """Wait briefly for the acknowledgements that have not arrived yet."""
        end = time.monotonic() + 1.0
        while time.monotonic() < end and any(record.outcome == "waiting" for record in self.produced):
            time.sleep(POLL_SECONDS)

    def _produce(self, step: PlannedStep, limit: float) -> None:
        leader, value = step.broker, step.before.next_value
        acks = -1 if step.before.bounds.acks == "all" else 1
        sent = self.stage.client.send_produce(
            leader, TOPIC, payload(value), partition=self.stage.partition, acks=acks, timeout_ms=600_000
        )
        record = Produced(value, leader)
        self.produced.append(record)
        self._threads.submit(self._await_acknowledgement, record, sent)
        self._did.append(f"produced m{value} to broker {leader}, acks={step.before.bounds.acks}")

    def _await_acknowledgement(self, record: Produced, sent: Pending[int]) -> None:
        try:
            record.offset = sent.result(600.0)
            record.outcome = f"acknowledged at offset {record.offset}"
        except (Unanswered, Refused) as error:
            record.outcome = f"not acknowledged: {error}"

    def _wait_for_lag(self, step: PlannedStep, limit: float) -> None:
        """Wait until the leader removes a follower from the ISR. Meanwhile, let other followers fetch, without new
        data.

        In releases up to 2.0, a leader also removes a follower that has every record but does not fetch.
        """
        leader, member = step.instance.values
        others = [
            broker
            for broker in self.stage.replicas
            if broker not in (leader, member) and keeps_up(step.before, leader, broker)
        ]
        end = time.monotonic() + limit
        while time.monotonic() < end and not self._has_shrunk(leader, member):
            for follower in others:
                self._fetch_without_news(step, leader, follower)
            time.sleep(POLL_SECONDS)
        for follower in others:
            asks = partial(self._asks_again, leader, follower)
            until(asks, limit, f"broker {follower} does not fetch again")
        if others:
            self._did.append(f"broker {' and '.join(map(str, others))} fetched in the meantime, without news")

    def _asks_again(self, leader: int, follower: int) -> bool:
        """If the response to a follower's fetch request is held, drop the response, because it contains new data.
        Return whether the follower's next fetch request is held.
        """
        answer = self.stage.held("Fetch", False, leader, follower)
        if answer is not None:
            self.stage.drop(answer)
        return self.stage.held("Fetch", True, follower, leader) is not None

    def _has_shrunk(self, leader: int, member: int) -> bool:
        proposed = self.stage.held("AlterPartition", True, leader, self.stage.controller)
        return proposed is not None or member not in self.observer.decision().isr

    def _fetch_without_news(self, step: PlannedStep, leader: int, follower: int) -> None:
        request = self.stage.held("Fetch", True, follower, leader)
        answer = self.stage.held("Fetch", False, leader, follower)
        message = self.observer.message(answer)
        known = step.before.replicas[follower].high_watermark
        if answer is not None and isinstance(message, FetchResponse) and message.high_watermark == known:
            self.stage.release_frame(answer)
        elif answer is None and request is not None:
            self.stage.release_frame(request)

    def _kill(self, step: PlannedStep, limit: float) -> None:
        broker = step.broker
        if broker in self._sessions.open:
            self._sessions.keep(broker)
        self.stage.cluster.kill(broker)
        self.stage.proxy.note("killed", node=broker)
        self.stage.lose_messages_of(broker)
        self.stage.resume_session(broker)  # when the broker starts again, it gets a new session
        self.observer.down.add(broker)
        self.stage.known[broker] = NO_EPOCH
        self._did.append(f"killed broker {broker}")

    def _cut_log(self, step: PlannedStep, limit: float) -> None:
        broker, offset = step.instance.values
        self.stage.cluster.cut_log(broker, TOPIC, self.stage.partition, offset)
        self.stage.proxy.note("log_cut", node=broker, topic=TOPIC, partition=self.stage.partition, to_offset=offset)
        self._did.append(f"cut the log of broker {broker} to offset {offset}")

    def _set_checkpoint(self, step: PlannedStep, limit: float) -> None:
        """Write the model's high watermark to the checkpoint of a killed broker. It may be lower than the current
        value.
        """
        broker, wanted = step.broker, step.after.replicas[step.broker].high_watermark
        found = self.observer.high_watermark(broker)
        if found == wanted:
            return
        path = self.stage.data_directory(broker) / HIGH_WATERMARKS
        path.write_text(f"0\n1\n{TOPIC} {self.stage.partition} {wanted}\n", encoding="ascii")
        self.stage.proxy.note(
            "checkpoint_set", node=broker, topic=TOPIC, partition=self.stage.partition, high_watermark=wanted
        )
        self._did.append(f"set the high watermark checkpoint of broker {broker} from {found} to {wanted}")

    def _start(self, step: PlannedStep, limit: float) -> None:
        broker = step.broker
        unseen = self.stage.hide_from_controller() if step.is_hidden else None
        if broker in self._sessions.open:
            self._did.append(self._sessions.end(broker))
        self.stage.upgrade(broker, stages_in(step.after)[broker])
        if self.stage.release.kraft:
            self.stage.catching_up[broker] = self.stage.cluster.controller_metadata().end
        self.stage.cluster.start_broker(broker)
        self.stage.proxy.note("started", node=broker)
        self._sessions.open.add(broker)
        self.observer.down.discard(broker)
        if self.stage.release.kraft:
            del self.stage.catching_up[broker]
            self.stage.known[broker] = self.observer.numbers[-1]
        self._did.append(f"started broker {broker}{self._release_of(broker)}")
        if unseen is not None:
            self._fail_over(unseen)

    def _fail_over(self, unseen: Hold) -> None:
        """Let ZooKeeper notify the controller of a broker's restart, and then kill the controller.

        In releases since 2.2, a controller would miss the restart if it were killed before it compared broker epochs.
        """
        before = self.observer.decision()
        unseen.end()
        time.sleep(_CONTROLLER_SECONDS)
        if self.observer.decision() != before:
            raise StepFailed(f"the controller has noticed the restart: {self.observer.quorum()}")
        self._did.append(f"the controller has not noticed; broker {self.stage.fail_over()} is the controller now")

    def _terminate(self, step: PlannedStep, limit: float) -> None:
        pid = self.stage.cluster.pid(step.broker)
        if pid is None:
            raise StepFailed(f"broker {step.broker} is not running")
        os.kill(pid, signal.SIGTERM)
        self._shutting_down.add(step.broker)
        self.stage.proxy.note("terminated", node=step.broker)
        self._did.append(f"asked broker {step.broker} to shut down")

    def _wait_for_exit(self, step: PlannedStep, limit: float) -> None:
        self._await_exit(step.broker, limit)

    def _await_exit(self, broker: int, limit: float) -> None:
        until(lambda: self.stage.cluster.pid(broker) is None or None, limit, f"broker {broker} does not end")
        self._shutting_down.discard(broker)
        self.stage.lose_messages_of(broker)
        self._sessions.open.discard(broker)
        self.observer.down.add(broker)
        self._did.append(f"broker {broker} has ended")

    def _end_session(self, step: PlannedStep, limit: float) -> None:
        self._did.append(self._sessions.end(step.broker))

    def _hold_session(self, step: PlannedStep, limit: float) -> None:
        self.stage.hold_session(step.broker)
        self._did.append(f"held: what broker {step.broker} sends to renew its session")

    def _resume_session(self, step: PlannedStep, limit: float) -> None:
        """Let a broker renew its session, and wait until the controller sees the broker again.

        A ZooKeeper controller then sends the broker a request for its replicas. Earlier requests are released, and a
        broker that compares broker epochs (KIP-380) refuses them. A KRaft controller unfences the broker.
        """
        broker, last = step.broker, self.stage.proxy.newest
        self.stage.resume_session(broker)
        self._sessions.open.add(broker)
        self._did.append(f"let through: what broker {broker} sends to renew its session")
        if self.stage.release.kraft:
            sign = Rule("controller", broker, "BrokerHeartbeat", False, lambda body: not body["IsFenced"])
        else:
            sign = Rule(None, broker, "LeaderAndIsr", True)
        seen = self.stage.proxy.wait(sign, after=last, timeout=limit)
        if obeys_late_requests(step.before, broker):
            return
        while (
            old := self.stage.held("LeaderAndIsr", True, self.stage.controller, broker)
        ) and old.number < seen.number:
            self.stage.release_frame(old)

    def _elect_preferred(self, step: PlannedStep, limit: float) -> None:
        self._did.append("asked for the election of the preferred leader")
        if not self.stage.release.kraft and self._controllers_version() < _FIRST_WITH_ELECT_LEADERS:
            data = b'{"version":1,"partitions":[{"topic":"%s","partition":%d}]}' % (
                TOPIC.encode(),
                self.stage.partition,
            )
            zookeeper.create(self.stage.cluster.ports.real["zookeeper"], _PREFERRED_ELECTION, data)
        else:
            self._threads.submit(self._elect, PREFERRED)

    def _elect_uncleanly(self, step: PlannedStep, limit: float) -> None:
        if self._controllers_version() < _FIRST_WITH_UNCLEAN_ELECTIONS:
            raise StepFailed("releases before 2.4 have no request that triggers an unclean election (KIP-460)")
        self._did.append("asked for an unclean election")
        self._threads.submit(self._elect, UNCLEAN)

    def _reassign(self, step: PlannedStep, limit: float) -> None:
        (target,) = step.instance.values
        self.stage.client.reassign("controller", TOPIC, target, partition=self.stage.partition)
        self._did.append(f"asked for a reassignment to brokers {' '.join(map(str, target))}")

    def _cancel(self, step: PlannedStep, limit: float) -> None:
        self.stage.client.reassign("controller", TOPIC, None, partition=self.stage.partition)
        self._did.append("cancelled the reassignment")

    def _raise_min_isr(self, step: PlannedStep, limit: float) -> None:
        value = step.before.bounds.min_insync_replicas
        self.stage.client.configure_topic("controller", TOPIC, MIN_ISR, str(value))
        self._did.append(f"set {MIN_ISR} of the topic to {value}")

    def _remove_directory(self, step: PlannedStep, limit: float) -> None:
        removed = self.stage.data_directory(step.broker)
        self.stage.cluster.remove_data_directory(step.broker, removed)
        self.stage.proxy.note("directory_removed", node=step.broker, directory=removed.name)
        self._did.append(f"removed the directory {removed.name} of broker {step.broker} from log.dirs")

    def _replace_directory(self, step: PlannedStep, limit: float) -> None:
        emptied = self.stage.data_directory(step.broker)
        shutil.rmtree(emptied)
        emptied.mkdir()
        self.stage.proxy.note("directory_replaced", node=step.broker, directory=emptied.name)
        self._did.append(
            f"emptied the directory {emptied.name} of broker {step.broker}, which is formatted again when it starts"
        )

    def _move_controller(self, step: PlannedStep, limit: float) -> None:
        """Kill the controller, and let one of another release take its place. With KRaft, it has the same data."""
        if self.stage.release.kraft:
            self.stage.cluster.kill("controller")
            self.stage.proxy.note("killed", node="controller")
            self.stage.upgrade("controller", stages_in(step.after)[-1])
            self.stage.cluster.start(["controller"])
            self.stage.proxy.note("started", node="controller")
        else:
            self.stage.fail_over()
        controller = self.stage.controller
        self._did.append(f"{controller} is the controller now{self._release_of(controller)}")

    def _release_of(self, node: Node) -> str:
        mixed = self.stage.release.newer is not None
        return f", which runs {self.stage.cluster.release_of(node).number}" if mixed else ""

    def _change_feature(self, step: PlannedStep, limit: float) -> None:
        stage = stages_in(step.after)[-1]
        name = METADATA_VERSION if stage == NEW_LEVEL else ELIGIBLE_REPLICAS
        level = self.stage.client.set_feature("controller", name, 0 if stage == OLD_FEATURES else None)
        self._did.append(f"set {name} to {level}")

    def _controllers_version(self) -> tuple[int, ...]:
        return self.stage.cluster.release_of(self.stage.controller).version

    def _elect(self, kind: int) -> None:
        """Request an election. A broker whose request is held may delay the response."""
        asked = self.stage.controller
        running = (each for each in self.stage.replicas if each not in self.observer.down)
        with suppress(Unanswered, Refused):  # an election that does not happen is seen at the controller
            self.stage.client.elect(
                asked if isinstance(asked, int) else next(running), TOPIC, kind, partition=self.stage.partition
            )
