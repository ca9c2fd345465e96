"""When the brokers of a partition started and ended."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import attrs

from leadline.brokers.conformance.frames import NEVER, Seen
from leadline.brokers.conformance.metadata import LOSES_DIRECTORY
from leadline.brokers.conformance.not_followed import NotFollowed
from leadline.brokers.conformance.partition import PartitionRecording


@attrs.define(eq=False)
class ProcessRun:
    """One run of a broker's process, from its registration to its end.

    `early` is the time of its first fetch, if it fetches records before it is registered.
    """

    begun: tuple[float, float]
    early: float | None = None
    ended: float = NEVER
    kill: tuple[float, float] | None = None
    cut_to: int | None = None
    checkpoint: int | None = None
    lost: tuple[float, str] | None = None

    @property
    def up(self) -> float:
        """The time from which the broker is running in the model."""
        return self.begun[0] if self.early is None else self.early


@attrs.frozen(eq=False)
class Processes:
    """The runs of the brokers, in order, keyed by the number of the broker in the model."""

    lives: dict[int, list[ProcessRun]]

    def dies(self, broker: int | None, at: float) -> float:
        """Return the first time, at or after the given time, at which a broker is killed. Return infinity if there is
        none.
        """
        lives = [] if broker is None else self.lives[broker]
        return next((life.kill[1] for life in lives if life.kill and life.kill[1] >= at), NEVER)

    def is_registered(self, broker: int, at: float) -> bool:
        """Return whether a broker is registered. With KRaft, a broker that restarts after a kill fetches even while the
        controller refuses its registration because its previous session has not ended. If this changes its log, it
        counts as registered, and fenced.
        """
        return not any(before.ended <= at < life.up for before, life in pairwise(self.lives[broker]))

    def is_dead(self, broker: int, at: float) -> bool:
        """Return whether a broker was killed before a time, and started again after it. A frame that is passed to it
        then is lost.
        """
        lives = pairwise(self.lives[broker])
        return any(before.kill is not None and before.kill[1] <= at < life.up for before, life in lives)

    def started(self, broker: int | None, at: float) -> float:
        """Return the time from which a broker has been running, or 0 if that was before the recording."""
        lives = [] if broker is None else self.lives[broker]
        return max((life.up for life in lives if life.up <= at), default=0.0)

    def ended(self, broker: int | None, at: float) -> float:
        """Return the time at which the previous run of a broker ended, or 0 if there is none."""
        lives = [] if broker is None else self.lives[broker]
        return max((life.ended for life in lives if life.ended <= at), default=0.0)


def read_processes(read: PartitionRecording) -> Processes:
    """Return the runs of the brokers.

    Raises:
        NotFollowed: if a broker is killed twice, but not started in between.
    """
    lives = {broker: [ProcessRun((0.0, 0.0))] for broker in range(len(read.assignment))}
    for place, event in enumerate(read.events):
        broker, what, at = read.replica(event["node"]), event["event"], event["time"]
        if broker is None:
            continue
        life = lives[broker][-1]
        if has_ended(event, event["node"]):
            if life.kill is not None:
                raise NotFollowed(
                    f"broker {event['node']} is {what} at {at}, but nothing says that it was started after it was "
                    f"killed at {life.kill[1]}"
                )
            life.ended = ended_at(read, place, event)
        if what in LOSES_DIRECTORY:
            life.lost = at, what
        elif what == "killed":
            life.kill = read.last_sent[place], at
        elif what == "started":
            lives[broker].append(ProcessRun(_registration(read, event["node"], life, at)))
        elif what in ("log_cut", "checkpoint_set") and (event["topic"], event["partition"]) == (
            read.topic,
            read.partition,
        ):
            if what == "log_cut":
                life.cut_to = event["to_offset"]
            else:
                life.checkpoint = event["high_watermark"]
    return Processes(lives)


def has_ended(event: Any, node: object) -> bool:
    """Return whether an event says that a process has ended."""
    return event["node"] == node and event["event"] in ("killed", "terminated")


def ended_at(read: PartitionRecording, place: int, event: Any) -> float:
    """Return when a process had ended, by the event that says so, and its position in `PartitionRecording.events`.

    Some recorders note `terminated` when they ask a process to end, but it goes on until it has shut down.
    """
    at = float(event["time"])
    return at if event["event"] == "killed" else max(at, read.last_sent[place])


def _registration(read: PartitionRecording, node: object, before: ProcessRun, at: float) -> tuple[float, float]:
    """Return the time window of a broker's registration at startup, from the request to the response.

    Usually, this is the first registration after the broker's previous run ended. If that run ended by itself, its end
    time is unknown, so the last registration before the recorded start is used instead.
    """
    ended = before.begun[1] if before.ended == NEVER else before.ended
    frames = [frame for frame in read.frames if frame.source == node and ended <= frame.arrived <= at]
    for frame in reversed(frames) if before.ended == NEVER else frames:
        if not frame.request or frame.passed is None:
            continue
        answer = read.answer.get(frame.number)
        if answer is None or answer.body.get("ErrorCode") or answer.body.get("error"):
            continue
        if frame.api == "BrokerRegistration" or creates_id_of(node, frame):
            return frame.passed, answer.arrived
    return ended, at


def creates_id_of(node: object, frame: Seen) -> bool:
    """Return whether a frame is a request to ZooKeeper that registers a broker."""
    paths = [operation.get("path") for operation in frame.body.get("operations") or [frame.body]]
    return frame.request and frame.api in ("create", "create2", "multi") and f"/brokers/ids/{node}" in paths
