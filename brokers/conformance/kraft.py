"""Read from a recording with KRaft what the controller decided and announced, and when brokers applied it.

The controller writes a decision to the metadata log, which brokers fetch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from leadline.brokers.conformance.context import Context
from leadline.brokers.conformance.controller import Controller, Decision, Fence, Notice
from leadline.brokers.conformance.exchanges import Exchange, fetches, seen_answer
from leadline.brokers.conformance.frames import NEVER, NONE
from leadline.brokers.conformance.metadata import assignment_of
from leadline.brokers.conformance.partition import Announcement, PartitionRecording
from leadline.brokers.conformance.processes import Processes, ended_at, has_ended
from leadline.checker.conformance import Observation
from leadline.model.disk.metadata import PartitionState
from leadline.model.kafka.conformance.observer import Window
from leadline.model.kafka.conformance.seen import SeenRecords
from leadline.model.kafka.state import Partition

FENCED, UNFENCED = 1, -1


def read_controller(read: PartitionRecording) -> Controller:
    """Return what the controller decided and announced."""
    shown: dict[int, Announcement] = {}
    arrivals: list[tuple[int, float, int, int]] = []
    for each in read.metadata:
        shown.setdefault(each.offset, each)
        if each.frame.passed is not None and each.body:
            arrivals.append((each.frame.target, each.frame.passed, each.offset, each.frame.number))  # type: ignore[arg-type]
    decisions: list[Decision] = []
    fences: list[Fence] = []
    images: dict[int, PartitionState] = {}
    image, before = PartitionState(), 0.0
    names_elr = any(each.body.get("EligibleLeaderReplicas") for each in read.metadata)
    for offset in sorted(shown):
        frame, name, body = shown[offset].frame, shown[offset].name, shown[offset].body
        at = frame.arrived
        if name in ("PartitionRecord", "PartitionChangeRecord") and read.is_mine(body):
            image = images[offset] = image.after(body)
            if name == "PartitionChangeRecord":
                known = *_leads(image), frame.number, assignment_of(read, image)
                elr = (tuple(image.elr), tuple(image.last_known)) if names_elr else None
                is_reassigned = body.get("Replicas") is not None
                decisions.append(Decision(min(before, at), at, *known, is_reassigned, image.partition_epoch, elr))
        elif name == "BrokerRegistrationChangeRecord" and body.get("Fenced") in (FENCED, UNFENCED) and images:
            broker = read.replica(body["BrokerId"])
            if broker is not None:
                fences.append(Fence(min(before, at), at, broker, body["Fenced"] == FENCED, frame.number))
        before = at
    told = [
        _told_at(read, target, passed, images[offset], offset, number)
        for target, passed, offset, number in arrivals
        if offset in images
    ]
    told += _read_at_start(read, images, arrivals)
    return Controller(tuple(decisions), tuple(sorted(told, key=lambda each: each.passed)), tuple(fences))


def _told_at(
    read: PartitionRecording, broker: int, at: float, image: PartitionState, offset: int, frame: int
) -> Notice:
    assignment = assignment_of(read, image)
    return Notice(broker, at, at, NEVER, *_leads(image), frame, assignment, offset, image.partition_epoch)


def _leads(image: PartitionState) -> tuple[int, int, tuple[int, ...]]:
    """Return the leader, the leader epoch and the ISR, as records name them."""
    return NONE if image.leader is None else image.leader, image.leader_epoch, tuple(sorted(image.isr))


def _read_at_start(
    read: PartitionRecording, images: dict[int, PartitionState], arrivals: list[tuple[int, float, int, int]]
) -> Iterator[Notice]:
    """Yield the partition states that brokers read from their own copies of the metadata log at startup."""
    for event in read.events:
        if event["event"] == "started":
            node, at = event["node"], event["time"]
            ends = ((place, e) for place, e in enumerate(read.events) if has_ended(e, node) and e["time"] <= at)
            killed = max((ended_at(read, place, e) for place, e in ends), default=0.0)
            had = [(o, n) for target, passed, o, n in arrivals if target == node and passed <= killed and o in images]
            if had:
                offset, number = max(had)
                yield _told_at(read, node, math.nextafter(killed, NEVER), images[offset], offset, number)


def note_early_starts(read: PartitionRecording, processes: Processes) -> None:
    """Find the brokers that change their logs after a start, before the controller lets them register."""
    for broker, lives in processes.lives.items():
        gaps = [(before, life) for before, life in pairwise(lives) if before.ended < life.begun[0]]
        first: dict[int, float] = {}
        for fetch in fetches(read, broker) if gaps else ():
            at = fetch.frame.arrived
            gap = next((k for k, (before, life) in enumerate(gaps) if before.ended <= at < life.begun[0]), None)
            if gap is not None:
                first.setdefault(gap, at)
                if _has_news(read, fetch):
                    gaps[gap][1].early = first[gap]


def _has_news(read: PartitionRecording, fetch: Exchange) -> bool:
    """Return whether the answer to a fetch changes the log of the follower."""
    answer, told = fetch.answer, fetch.told
    if answer is None or told is None or answer.passed is None or told["ErrorCode"]:
        return False
    seen = seen_answer(read, fetch, told)
    return not isinstance(seen, SeenRecords) or bool(seen.records)


def fences(context: Context) -> Iterator[Observation[Partition]]:
    """Yield the observations that the controller fences and unfences brokers."""
    lives = context.processes.lives.items()
    first = {context.unfenced(broker, life) for broker, runs in lives for life in runs[1:]}
    for each in context.controller.fences:
        window = Window(each.earliest, each.latest, (each.frame,))
        kind = {"fenced": each.fenced, "has_registered": each in first}
        yield context.make.fenced(window, each.broker, **kind, may_have_moved=_assigns_later(context, each))


def _assigns_later(context: Context, fence: Fence) -> bool:
    """Return whether a broker later tells the controller in which log directory its replica is. Until then, the
    controller does not elect it (`ReplicationControlManager.LeaderAcceptor`).
    """
    dies = context.processes.dies(fence.broker, fence.earliest)
    return any(
        frame.api == "AssignReplicasToDirs"
        and frame.request
        and context.read.replica(frame.source) == fence.broker
        and fence.earliest <= frame.arrived < dies
        for frame in context.read.frames
    )
