"""Read from a recording with ZooKeeper what the controller decided and announced, and what brokers write to ZooKeeper.

The controller writes a decision to ZooKeeper, and announces it to brokers in LeaderAndIsr requests.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import attrs

from leadline.brokers.conformance.context import Context
from leadline.brokers.conformance.controller import Controller, Decision, Notice
from leadline.brokers.conformance.frames import NEVER, ZOOKEEPER, Body, Seen
from leadline.brokers.conformance.not_followed import NotFollowed
from leadline.brokers.conformance.partition import PartitionRecording
from leadline.brokers.conformance.processes import creates_id_of
from leadline.checker.conformance import Observation
from leadline.model.kafka.conformance.observer import Window
from leadline.model.kafka.state import Partition


def read_controller(read: PartitionRecording) -> Controller:
    """Return what the controller decided and announced.

    Raises:
        NotFollowed: if the replicas change, or a state in ZooKeeper is not in the format.
    """
    decisions: dict[int, Decision] = {}
    told: list[Notice] = []
    for frame in read.frames:
        if frame.api != "LeaderAndIsr" or not frame.request or read.replica(frame.target) is None:
            continue
        answer = read.answer.get(frame.number)
        for state in read.states(frame):
            _expect_replicas(read, frame, state)
            leader, epoch, isr = state["Leader"], state["LeaderEpoch"], tuple(state["Isr"])
            decisions.setdefault(epoch, Decision(0.0, frame.arrived, leader, epoch, isr, frame.number))
            is_refused = answer is not None and read.refuses(answer)  # a former controller's, for example
            if frame.passed is not None and not is_refused:
                answered = NEVER if answer is None else answer.arrived
                times = frame.arrived, frame.passed, answered
                told.append(Notice(frame.target, *times, leader, epoch, isr, frame.number))  # type: ignore[arg-type]
    written = written_epochs(read)
    first = min(decisions, default=0)
    made = []
    earliest = 0.0
    for epoch in sorted(decisions):
        decision = decisions[epoch]
        begun, ended, isr, leader = written.get(epoch, (earliest, decision.latest, decision.isr, decision.leader))
        earliest = begun
        if epoch != first:
            latest = min(ended, decision.latest)
            made.append(attrs.evolve(decision, earliest=min(begun, latest), latest=latest, isr=isr, leader=leader))
    return Controller(tuple(made), tuple(told))


def _expect_replicas(read: PartitionRecording, frame: Seen, state: Body) -> None:
    """Check the replicas that a state names, if it names any.

    Raises:
        NotFollowed: if they are not those with which the partition was created.
    """
    replicas = state.get("Replicas")
    if replicas is not None and tuple(replicas) != read.assignment:
        raise NotFollowed(
            f"{read.path}: frame {frame.number} names the replicas {replicas}, but the partition was created "
            f"with {list(read.assignment)}: reassignments are not supported"
        )


def state_writes(read: PartitionRecording) -> Iterator[tuple[Seen, dict[str, Any]]]:
    """Yield a (request, state) pair for each request that writes the partition's state to ZooKeeper."""
    path = f"/brokers/topics/{read.topic}/partitions/{read.partition}/state"
    for frame in read.frames:
        if frame.target == ZOOKEEPER and frame.request:
            operations = frame.body.get("operations") or [{"operation": frame.api, **frame.body}]
            for operation in operations:
                if operation.get("path") == path and operation.get("operation") in ("setData", "create", "create2"):
                    yield frame, _written_state(read, frame, operation)


def _written_state(read: PartitionRecording, frame: Seen, operation: Body) -> dict[str, Any]:
    try:
        state = json.loads(operation["data"])
        numbers = state["leader"], state["leader_epoch"], *state["isr"]
    except (KeyError, TypeError, ValueError):
        numbers = (None,)
    if not all(isinstance(each, int) for each in numbers):
        raise NotFollowed(
            f"{read.path}: frame {frame.number}: data is not the state of a partition; expected JSON with "
            f"numbers for leader, leader_epoch and isr"
        )
    return dict(state)


def _succeeded(read: PartitionRecording, frame: Seen) -> Seen | None:
    """Return ZooKeeper's response to a write request, or None if the write failed."""
    answer = read.answer.get(frame.number)
    if answer is None or answer.body.get("error"):
        return None
    return answer


def written_epochs(read: PartitionRecording) -> dict[int, tuple[float, float, tuple[int, ...], int]]:
    """Return the first write to ZooKeeper in each leader epoch: its time window, its ISR and its leader."""
    found: dict[int, tuple[float, float, tuple[int, ...], int]] = {}
    for frame, state in state_writes(read):
        answer = _succeeded(read, frame)
        if answer is not None and frame.passed is not None:
            told = frame.passed, answer.arrived, tuple(state["isr"]), state["leader"]
            found.setdefault(state["leader_epoch"], told)
    return found


def isr_writes(context: Context) -> Iterator[Observation[Partition]]:
    """Yield the ISR changes that leaders write to ZooKeeper (in releases up to 2.6)."""
    read = context.read
    if any(frame.api == "AlterPartition" for frame in read.frames):
        return
    begun: set[int] = set()
    for frame, state in state_writes(read):
        writer, answer, epoch = read.replica(frame.source), _succeeded(read, frame), state["leader_epoch"]
        if answer is None or frame.passed is None:
            continue
        first = epoch not in begun  # the controller's, who may be the leader too
        begun.add(epoch)
        if not first and writer is not None and frame.source == state["leader"]:
            window = Window(frame.passed, answer.arrived, (frame.number, answer.number))
            yield context.make.isr_written(window, writer, read.isr(list(state["isr"])))


def resumptions(context: Context) -> Iterator[Observation[Partition]]:
    """Yield an observation for each broker that registered in ZooKeeper again after its session had expired."""
    read = context.read
    starts = {life.begun[0] for lives in context.processes.lives.values() for life in lives}
    created = min(told.sent for told in context.controller.told)
    for frame in read.frames:
        broker = read.replica(frame.source)
        if broker is None or frame.passed is None or frame.passed < created or frame.passed in starts:
            continue
        if creates_id_of(frame.source, frame) and _succeeded(read, frame) is not None:
            window = Window(frame.passed, NEVER, (frame.number,))
            yield context.make.fenced(window, broker, fenced=False, optional=True)
