"""End the sessions of brokers, and keep the sessions of killed brokers alive."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from leadline.brokers import zookeeper
from leadline.brokers.driver.stage import Stage
from leadline.brokers.driver.waiting import StepFailed
from leadline.brokers.pending import Refused, Unanswered


class Sessions:
    """The sessions of the brokers in a replay.

    A KRaft controller notices missing heartbeats on its own. Therefore, this process sends the heartbeats of a killed
    broker until the step in which the controller notices the failure.

    Parameters:
        stage: the cluster and its proxies.
        threads: the thread pool that sends heartbeats.
    """

    def __init__(self, stage: Stage, threads: ThreadPoolExecutor) -> None:
        self._stage, self._threads = stage, threads
        self.open = set(stage.replicas)
        """The brokers whose sessions have not ended."""
        self._alive: dict[int, threading.Event] = {}

    def close(self) -> None:
        """Stop sending heartbeats."""
        for each in self._alive.values():
            each.set()

    def end(self, broker: int) -> str:
        """End the session of a broker now, as if it had timed out, and return a description of the operation.

        ZooKeeper closes a session for any client that knows its password. In a heartbeat, a broker can request its own
        fencing from a KRaft controller. The controller then handles the broker like one whose session has timed out
        (ReplicationControlManager.handleBrokerFenced).

        Raises:
            StepFailed: if the broker has sent no heartbeat yet.
        """
        self.open.discard(broker)
        if self._stage.release.kraft:
            body, version = self._last_heartbeat(broker)
            self._end_keeping(broker)
            self._stage.client.ask("controller", "BrokerHeartbeat", {**body, "WantFence": True}, version=version)
            return f"ended the session of broker {broker} at the controller, which fences it"
        session = self._stage.proxy.session(broker)
        if session is not None:
            zookeeper.close_session(self._stage.cluster.ports.real["zookeeper"], session)
        self._stage.proxy.note("session_closed", node=broker)
        return f"closed the ZooKeeper session of broker {broker}"

    def keep(self, broker: int) -> None:
        """Send heartbeats for a broker that is being killed, until `end` is called. With ZooKeeper, do nothing."""
        if self._stage.release.kraft:
            body, version = self._last_heartbeat(broker)
            self._alive[broker] = threading.Event()
            self._threads.submit(self._send_heartbeats, body, version, self._alive[broker])

    def _last_heartbeat(self, broker: int) -> tuple[dict[str, Any], int]:
        """Return the body and the version of a broker's last heartbeat."""
        sent = [
            frame
            for frame in self._stage.proxy.frames
            if frame.api == "BrokerHeartbeat" and frame.request and frame.source == broker and frame.body
        ]
        if not sent or sent[-1].body is None:
            raise StepFailed(f"broker {broker} has sent no heartbeat")
        return {**sent[-1].body, "WantFence": False, "WantShutDown": False}, sent[-1].version

    def _send_heartbeats(self, body: dict[str, Any], version: int, ended: threading.Event) -> None:
        while not ended.is_set():
            with suppress(Unanswered, Refused):
                self._stage.client.ask("controller", "BrokerHeartbeat", body, version=version, timeout=2)
            ended.wait(0.3)

    def _end_keeping(self, broker: int) -> None:
        ended = self._alive.pop(broker, None)
        if ended is not None:
            ended.set()
