"""Convert the frames and events of a recording to observations, and find the time window of each step.

A step is executed after its cause has passed the proxy, and before the proxy receives the first frame that shows the
step's effect. For example, a leader handles a fetch request before it sends the response, and a follower handles the
response before it sends its next request.

Decisions of the controller, their announcements, and starts and ends of processes are rare, so they are kept in memory.
Fetch and produce requests are read from the file whenever they are needed, so memory usage does not grow with their
number.
"""

from __future__ import annotations

import heapq
import json
import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import Any

import attrs

from leadline.brokers.conformance.contradictions import contradictions
from leadline.brokers.conformance.exchanges import Exchange, fetches, produces, reads
from leadline.brokers.conformance.metadata import LOSES_DIRECTORY, Image, applied_by, assignment_of, bounds_of, settings
from leadline.brokers.conformance.partition import (
    NEVER,
    NONE,
    ZOOKEEPER,
    Announcement,
    Body,
    NotFollowed,
    PartitionRecording,
    Seen,
    expecting_the_format,
)
from leadline.checker.conformance import Observation
from leadline.model.kafka.assignment import Assignment
from leadline.model.kafka.conformance.following import FollowedRelease, followed_release
from leadline.model.kafka.conformance.observations import (
    ERRORS,
    OFFSET_OUT_OF_RANGE,
    Answer,
    Observations,
    SeenDiverging,
    SeenFetch,
    SeenOutOfRange,
    SeenRecords,
    Window,
)
from leadline.model.kafka.releases import Column
from leadline.model.kafka.state import Partition

UNDEFINED = -1
UNCLEAN = 1
ACKS = {-1: "all", 0: "0", 1: "1"}
INVALID_REQUIRED_ACKS = 21
FENCED, UNFENCED = 1, -1
AFTER_THE_APPEND = (0, 3, 6, 7, 20, 56)
"""The error codes of records that have been appended, and have an offset: NONE and, while the records wait for the ISR,
UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, REQUEST_TIMED_OUT, NOT_ENOUGH_REPLICAS_AFTER_APPEND and
KAFKA_STORAGE_ERROR (`DelayedProduce` in Kafka's code).
"""


@attrs.frozen
class Decision:
    """A decision of the controller, with its time window and the first frame that shows it. Brokers and epochs are
    numbered as in Kafka, except in `assignment`, which is None if the replicas never change. `is_reassigned` says
    whether the decision names replicas.
    """

    earliest: float
    latest: float
    leader: int
    epoch: int
    isr: tuple[int, ...]
    frame: int
    assignment: Assignment | None = None
    is_reassigned: bool = False


@attrs.frozen
class Told:
    """A leader epoch that a frame announced to a broker. `sent` is the time at which the controller sent the frame.
    `answered` is the time of the response, or infinity if there is none. With KRaft, this is a record of the metadata
    log: `offset` is its offset, and `assignment` the replicas as in `Decision`.
    """

    broker: int
    sent: float
    passed: float
    answered: float
    leader: int
    epoch: int
    isr: tuple[int, ...]
    frame: int
    assignment: Assignment | None = None
    offset: int = NONE
    partition_epoch: int = NONE


@attrs.define(eq=False)
class Life:
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


def _creates_id_of(node: object, frame: Seen) -> bool:
    """Return whether a frame is a request to ZooKeeper that registers a broker."""
    paths = [operation.get("path") for operation in frame.body.get("operations") or [frame.body]]
    return frame.request and frame.api in ("create", "create2", "multi") and f"/brokers/ids/{node}" in paths


def _ended(event: Any, node: object) -> bool:
    return event["node"] == node and event["event"] in ("killed", "terminated")


def release_of(read: PartitionRecording, column: Column, without: str = "") -> FollowedRelease:
    """Return a release with the configuration of a recorded partition.

    Parameters:
        read: the part of the recording that is about the partition.
        column: the release.
        without: the name of an action to omit from the spec, or an empty string.
    """
    least = read.configs.get("min.insync.replicas") or "1"
    if not (str(least).isdecimal() and int(least)):
        raise NotFollowed(f"{read.path}: min.insync.replicas is {least}; expected a positive whole number")
    configuration: dict[str, Any] = {"min_insync_replicas": int(least), "acks": "1", **bounds_of(read)}
    unclean = read.configs.get("unclean.leader.election.enable")
    if unclean is not None:
        configuration["unclean_leader_election"] = unclean == "true"
    if any(f.api == "ElectLeaders" and f.request and f.body.get("ElectionType") == UNCLEAN for f in read.frames):
        configuration["unclean_elections"] = -1
    if not column.protocol().forgets_newer_proposals:
        configuration.pop("late_records", None)  # when a leader applies the record makes no difference
    acks = read.acks & ACKS.keys()
    if len(acks) == 1:
        configuration["acks"] = ACKS[next(iter(acks))]
    return followed_release(column, len(read.assignment), without, **configuration)


class Events:
    """Converts the recording of a partition to observations.

    Parameters:
        read: the part of the recording that is about the partition.
        release: the release against whose spec the observations will be checked.

    Raises:
        NotFollowed: if the recording cannot be converted to observations.
    """

    def __init__(self, read: PartitionRecording, release: FollowedRelease) -> None:
        self._read, self.release = read, release
        self.notes: Counter[str] = Counter()
        self._fences: list[tuple[float, float, int, bool, int]] = []
        self._decisions, self._told = self._kraft() if read.kraft else self._zookeeper()
        if not self._told:
            raise NotFollowed(f"the recording does not show that a broker learns of {read.topic}-{read.partition}")
        first = min(self._told, key=lambda told: told.epoch)
        read.number_epochs([e for e, leader in self._leaders() if leader >= 0])
        leader = read.replica(first.leader)
        if leader is None:
            raise NotFollowed("the partition has no leader when the recording begins")
        self.beginning: Partition = self.release.beginning(leader, read.isr(list(first.isr)))
        self._make = Observations(self.release)
        self._lives = self._processes()
        self._note_early_starts()
        self._questions = {broker: list(self._questions_of(broker)) for broker in read.assignment}
        self._shown, self._first_fetches = self._find_fetches()

    def _leaders(self) -> Iterator[tuple[int, int]]:
        yield from ((each.epoch, each.leader) for each in self._told)
        yield from ((each.epoch, each.leader) for each in self._decisions)

    def observations(self) -> Iterator[Observation[Partition]]:
        """Yield the observations, sorted by the start of their time windows. The file is read while iterating.

        Raises:
            NotFollowed: if the recording cannot be converted to observations.
        """
        with expecting_the_format(self._read.path):
            rare = [*self._learning(), *self._deciding(), *self._settings(), *self._assigning()]
            followers = [_in_order(self._fetching(follower)) for follower in range(len(self._read.assignment))]
            others = [*self._asking(), *self._living()]
            clients = [_in_order(self._producing()), _in_order(self._reading())]
            streams = [sorted(rare, key=_begins), *followers, sorted(others, key=_begins), *clients]
            yield from heapq.merge(*streams, key=_begins)

    def _window(self, earliest: float, latest: float, *frames: Seen) -> Window:
        """Return a window with frames. It says which of them never reached their receivers."""
        lost = (
            f", but the {'request' if frame.request else 'answer'} never reaches {self._named(frame.target)}"
            for frame in frames
            if frame.passed is None
        )
        return Window(earliest, latest, tuple(frame.number for frame in frames), "".join(lost))

    def _named(self, node: int | str) -> str:
        replica = self._read.replica(node)
        return (
            f"broker {replica}" if replica is not None else "the controller" if isinstance(node, int) else f"the {node}"
        )

    # --- the controller -------------------------------------------------------------------------------------------

    def _zookeeper(self) -> tuple[list[Decision], list[Told]]:
        read = self._read
        decisions: dict[int, Decision] = {}
        told: list[Told] = []
        for frame in read.frames:
            if frame.api != "LeaderAndIsr" or not frame.request or read.replica(frame.target) is None:
                continue
            answer = read.answer.get(frame.number)
            for state in read.states(frame):
                self._expect_replicas(frame, state)
                leader, epoch, isr = state["Leader"], state["LeaderEpoch"], tuple(state["Isr"])
                decisions.setdefault(epoch, Decision(0.0, frame.arrived, leader, epoch, isr, frame.number))
                is_refused = answer is not None and answer.body.get("ErrorCode")  # a former controller's, for example
                if frame.passed is not None and not is_refused:
                    answered = NEVER if answer is None else answer.arrived
                    times = frame.arrived, frame.passed, answered
                    told.append(Told(frame.target, *times, leader, epoch, isr, frame.number))  # type: ignore[arg-type]
        written = self._written_epochs()
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
        return made, told

    def _expect_replicas(self, frame: Seen, state: Body) -> None:
        """Check the replicas that a state names, if it names any.

        Raises:
            NotFollowed: if they are not those with which the partition was created.
        """
        replicas = state.get("Replicas")
        if replicas is not None and tuple(replicas) != self._read.assignment:
            raise NotFollowed(
                f"{self._read.path}: frame {frame.number} names the replicas {replicas}, but the partition was created "
                f"with {list(self._read.assignment)}: reassignments are not supported"
            )

    def _state_writes(self) -> Iterator[tuple[Seen, dict[str, Any]]]:
        """Yield a (request, state) pair for each request that writes the partition's state to ZooKeeper."""
        path = f"/brokers/topics/{self._read.topic}/partitions/{self._read.partition}/state"
        for frame in self._read.frames:
            if frame.target == ZOOKEEPER and frame.request:
                operations = frame.body.get("operations") or [{"operation": frame.api, **frame.body}]
                for operation in operations:
                    if operation.get("path") == path and operation.get("operation") in ("setData", "create", "create2"):
                        yield frame, self._written_state(frame, operation)

    def _written_state(self, frame: Seen, operation: Body) -> dict[str, Any]:
        try:
            state = json.loads(operation["data"])
            numbers = state["leader"], state["leader_epoch"], *state["isr"]
        except (KeyError, TypeError, ValueError):
            numbers = (None,)
        if not all(isinstance(each, int) for each in numbers):
            raise NotFollowed(
                f"{self._read.path}: frame {frame.number}: data is not the state of a partition; expected JSON with "
                f"numbers for leader, leader_epoch and isr"
            )
        return dict(state)

    def _succeeded(self, frame: Seen) -> Seen | None:
        """Return ZooKeeper's response to a write request, or None if the write failed."""
        answer = self._read.answer.get(frame.number)
        if answer is None or answer.body.get("error"):
            return None
        return answer

    def _written_epochs(self) -> dict[int, tuple[float, float, tuple[int, ...], int]]:
        """Return the first write to ZooKeeper in each leader epoch: its time window, its ISR and its leader."""
        found: dict[int, tuple[float, float, tuple[int, ...], int]] = {}
        for frame, state in self._state_writes():
            answer = self._succeeded(frame)
            if answer is not None and frame.passed is not None:
                told = frame.passed, answer.arrived, tuple(state["isr"]), state["leader"]
                found.setdefault(state["leader_epoch"], told)
        return found

    def _kraft(self) -> tuple[list[Decision], list[Told]]:
        read = self._read
        shown: dict[int, Announcement] = {}
        arrivals: list[tuple[int, float, int, int]] = []
        for each in read.metadata:
            shown.setdefault(each.offset, each)
            if each.frame.passed is not None and each.body:
                arrivals.append((each.frame.target, each.frame.passed, each.offset, each.frame.number))  # type: ignore[arg-type]
        decisions: list[Decision] = []
        images: dict[int, Image] = {}
        image, before = Image(), 0.0
        for offset in sorted(shown):
            frame, name, body = shown[offset].frame, shown[offset].name, shown[offset].body
            at = frame.arrived
            if name in ("PartitionRecord", "PartitionChangeRecord") and read.is_mine(body):
                image = images[offset] = image.after(name, body)
                if name == "PartitionChangeRecord":
                    known = image.leader, image.epoch, image.isr, frame.number, assignment_of(read, image)
                    decisions.append(Decision(min(before, at), at, *known, body.get("Replicas") is not None))
            elif name == "BrokerRegistrationChangeRecord" and body.get("Fenced") in (FENCED, UNFENCED) and images:
                broker = read.replica(body["BrokerId"])
                if broker is not None:
                    self._fences.append((min(before, at), at, broker, body["Fenced"] == FENCED, frame.number))
            before = at
        told = [
            self._told_at(target, passed, images[offset], offset, number)
            for target, passed, offset, number in arrivals
            if offset in images
        ]
        return decisions, sorted([*told, *self._read_at_start(images, arrivals)], key=lambda each: each.passed)

    def _told_at(self, broker: int, at: float, image: Image, offset: int, frame: int) -> Told:
        assignment = assignment_of(self._read, image)
        known = image.leader, image.epoch, image.isr
        return Told(broker, at, at, NEVER, *known, frame, assignment, offset, image.partition_epoch)

    def _read_at_start(self, images: dict[int, Image], arrivals: list[tuple[int, float, int, int]]) -> Iterator[Told]:
        """Yield the partition states that brokers read from their own copies of the metadata log at startup."""
        for event in self._read.events:
            if event["event"] == "started":
                node, at = event["node"], event["time"]
                killed = max((e["time"] for e in self._read.events if _ended(e, node) and e["time"] <= at), default=0.0)
                had = [
                    (o, n) for target, passed, o, n in arrivals if target == node and passed <= killed and o in images
                ]
                if had:
                    offset, number = max(had)
                    yield self._told_at(node, math.nextafter(killed, NEVER), images[offset], offset, number)

    def _deciding(self) -> Iterator[Observation[Partition]]:
        read, make = self._read, self._make
        explained: set[int] = set()
        for frame in read.frames:
            if frame.api != "AlterPartition" or not frame.request:
                continue
            part, leader = read.part(frame.body), read.replica(frame.source)
            if part is None or leader is None:
                continue
            ids = part.get("NewIsr") or [each["BrokerId"] for each in part.get("NewIsrWithEpochs") or ()]
            isr = read.isr(ids)
            window = Window(self._may_propose_since(frame), frame.arrived, (frame.number,))
            yield make.proposed(window, leader, read.epoch(part.get("LeaderEpoch")), isr)
            answer = read.answer.get(frame.number)
            if answer is None or frame.passed is None:
                self.notes["AlterPartition requests without an answer"] += 1
                continue
            told = read.part(answer.body)
            error = answer.body.get("ErrorCode") or (told or {}).get("ErrorCode")
            window = self._window(frame.passed, answer.arrived, frame, answer)
            if error or told is None:
                yield make.proposal_handled(window, leader, None)
                continue
            result = read.replica(told["LeaderId"]), read.epoch(told["LeaderEpoch"]), read.isr(told["Isr"])
            assignment = None
            for number, decision in enumerate(self._decisions):
                same = (decision.epoch, frozenset(decision.isr)) == (told["LeaderEpoch"], frozenset(told["Isr"]))
                if same and number not in explained and frame.passed <= decision.latest:
                    explained.add(number)
                    window = attrs.evolve(window, latest=min(answer.arrived, decision.latest))
                    assignment = decision.assignment
                    break
            yield make.proposal_handled(window, leader, result, assignment)
        for number, decision in enumerate(self._decisions):
            if number not in explained:
                yield self._decided(decision)
        first = {self._unfenced(broker, life) for broker, lives in self._lives.items() for life in lives[1:]}
        for fence in self._fences:
            earliest, latest, broker, fenced, number = fence
            window = Window(earliest, latest, (number,))
            yield make.fenced(window, broker, fenced=fenced, has_registered=fence in first)
        yield from self._isr_writes()
        for each in contradictions(read, () if read.kraft else self._state_writes()):
            yield make.contradicted(Window(each.at, each.at, each.frames), each.label, each.why)

    def _may_propose_since(self, frame: Seen) -> float:
        """Return the earliest time at which a leader may have decided to send a proposal. A leader first waits for the
        response to its previous proposal.
        """
        answered = [
            answer.passed
            for request in self._read.frames
            if request.api == "AlterPartition" and request.request and request.source == frame.source
            if request.number < frame.number and (answer := self._read.answer.get(request.number)) is not None
            if answer.passed is not None and answer.passed <= frame.arrived
        ]
        return max([0.0, *answered])

    def _decided(self, decision: Decision) -> Observation[Partition]:
        read = self._read
        leader = read.replica(decision.leader) if decision.leader >= 0 else None
        if leader is None and decision.leader >= 0:
            raise NotFollowed(
                f"frame {decision.frame} names broker {decision.leader} as leader, but that broker has no replica"
            )
        epoch = read.epoch(decision.epoch) if decision.leader >= 0 else None
        stopping = frozenset(
            broker
            for frame in read.frames
            if frame.passed is not None and frame.passed <= decision.latest and self._asks_to_stop(frame)
            if (broker := read.replica(frame.source)) is not None
        )
        window = Window(decision.earliest, decision.latest, (decision.frame,))
        isr = read.isr(list(decision.isr))
        replicas = decision.assignment, decision.is_reassigned
        return self._make.decided(window, leader, epoch, isr, stopping, *replicas)

    @staticmethod
    def _asks_to_stop(frame: Seen) -> bool:
        heartbeat = frame.api == "BrokerHeartbeat" and bool(frame.body.get("WantShutDown"))
        return frame.request and (frame.api == "ControlledShutdown" or heartbeat)

    def _isr_writes(self) -> Iterator[Observation[Partition]]:
        """Yield the ISR changes that leaders write to ZooKeeper (in releases up to 2.6)."""
        if self._read.kraft or any(frame.api == "AlterPartition" for frame in self._read.frames):
            return
        begun: set[int] = set()
        for frame, state in self._state_writes():
            writer, answer, epoch = self._read.replica(frame.source), self._succeeded(frame), state["leader_epoch"]
            if answer is None or frame.passed is None:
                continue
            first = epoch not in begun  # the controller's, who may be the leader too
            begun.add(epoch)
            if not first and writer is not None and frame.source == state["leader"]:
                window = Window(frame.passed, answer.arrived, (frame.number, answer.number))
                yield self._make.isr_written(window, writer, self._read.isr(list(state["isr"])))

    # --- what brokers learn ---------------------------------------------------------------------------------------

    def _learning(self) -> Iterator[Observation[Partition]]:
        read = self._read
        written = () if read.kraft else self._written_epochs()  # `contradictions` checks all ISRs of these
        for told in self._told:
            if told.leader < 0:
                self.notes["leader epochs without a leader, which the model does not number"] += 1
                continue
            broker, leader, epoch = read.replica(told.broker), read.replica(told.leader), read.epoch(told.epoch)
            if broker is None or leader is None or epoch is None:
                raise NotFollowed(
                    f"frame {told.frame} names broker {told.leader} as leader, but that broker has no replica"
                )
            dies = self._dies(broker, told.passed)
            if told.assignment is not None and broker not in told.assignment.replicas:
                yield from self._leaving(told, broker, epoch, dies)
                continue
            isr, is_again = read.isr(list(told.isr)), read.kraft and self._is_told_again(told)
            if not is_again:
                latest = self._shown.get(told, NEVER) if read.kraft else told.answered
                sure = latest < dies
                sent = told.sent if self._is_first(told) else told.passed
                window = Window(sent, min(latest, dies), (told.frame,))
                yield self._make.learned(
                    window, broker, leader, epoch, isr, optional=not sure, isr_is_known=told.epoch in written
                )
            if broker == leader and (is_again or told.assignment is not None):
                yield self._applying(told, broker, isr, dies)

    def _is_told_again(self, told: Told) -> bool:
        """Return whether a broker has already learned of a leader epoch since its start, so that a record of the
        metadata log changes only the ISR or the replicas.
        """
        broker = self._read.replica(told.broker)
        lives = [] if broker is None else self._lives[broker]
        ended = max((life.ended for life in lives if life.ended <= told.passed), default=0.0)
        return any(
            each.broker == told.broker and ended <= each.passed and each.offset < told.offset
            for each in self._told
            if (each.epoch, each.leader) == (told.epoch, told.leader)
            if each.assignment is None or broker in each.assignment.replicas
        )

    def _applying(self, told: Told, leader: int, isr: frozenset[int], dies: float) -> Observation[Partition]:
        """Return the observation that a leader has applied a record of the metadata log about its partition."""
        applied = applied_by(self._read, told.broker, told.offset, told.passed)
        window = Window(told.passed, min(applied, dies), (told.frame,))
        may_know_more = self._hears_of_a_later_change(told, window.latest)
        epoch = self._read.epoch(told.epoch)
        return self._make.record_applied(
            window, leader, epoch, isr, told.assignment, may_know_more=may_know_more, optional=applied >= dies
        )

    def _hears_of_a_later_change(self, told: Told, until: float) -> bool:
        """Return whether a leader may have got an answer about a later change than a record describes."""
        answers = (
            answer
            for answer in self._read.answer.values()
            if (answer.api, answer.target) == ("AlterPartition", told.broker)
            if answer.passed is not None and answer.passed <= until
        )
        parts = filter(None, (self._read.part(answer.body) for answer in answers))
        return any(part.get("PartitionEpoch", NONE) > told.partition_epoch for part in parts)

    def _settings(self) -> Iterator[Observation[Partition]]:
        """Yield the observations of an increase of `min.insync.replicas`, by the operator and then at each broker."""
        read, raised = self._read, False
        for each in sorted(settings(read), key=lambda each: each.frame.arrived):
            if not raised:
                raised = True
                before = (other.frame.arrived for other in read.metadata if other.offset < each.offset)
                earliest = min(max(before, default=0.0), each.frame.arrived)
                yield self._make.min_isr_raised(Window(earliest, each.frame.arrived, (each.frame.number,)))
            broker, passed = read.replica(each.frame.target), each.frame.passed
            if broker is not None and passed is not None:
                dies = self._dies(broker, passed)
                applied = applied_by(read, each.frame.target, each.offset, passed)
                window = Window(passed, min(applied, dies), (each.frame.number,))
                yield self._make.setting_applied(window, broker, optional=applied >= dies)

    def _assigning(self) -> Iterator[Observation[Partition]]:
        """Yield the observations that brokers tell the controller in which log directories their replicas are."""
        read = self._read
        for frame in read.frames:
            broker = read.replica(frame.source)
            if frame.api != "AssignReplicasToDirs" or not frame.request or broker is None or frame.passed is None:
                continue
            answer = read.answer.get(frame.number)
            latest = read.end if answer is None else answer.arrived
            window = Window(frame.passed, max(latest, frame.passed), (frame.number,))
            yield self._make.directory_assigned(window, broker, optional=answer is None)

    def _leaving(self, told: Told, broker: int, epoch: int, dies: float) -> Iterator[Observation[Partition]]:
        """Yield the observation that a broker deletes its replica, if the record removes it.

        If a later record gives the broker a replica again, it may apply both records at once, and then deletes nothing.
        """
        earlier = [each for each in self._told if each.broker == told.broker and each.offset < told.offset]
        known = max(earlier, key=lambda each: each.offset, default=None)
        if known is None or known.assignment is None or broker not in known.assignment.replicas:
            return
        applied = applied_by(self._read, told.broker, told.offset, told.passed)
        latest = min(applied, dies)
        again = any(
            each.broker == told.broker
            and each.offset > told.offset
            and each.passed <= latest
            and each.assignment is not None
            and broker in each.assignment.replicas
            for each in self._told
        )
        window = Window(told.passed, latest, (told.frame,))
        yield self._make.replica_deleted(window, broker, epoch, optional=again or applied >= dies)

    def _is_first(self, told: Told) -> bool:
        """Return whether an announcement is the first one that a broker receives after a start.

        In the model, such a broker learns only of the current epoch. If another epoch begins before the announcement
        arrives, the broker learns of the announced epoch when the controller sends it. No other process can notice the
        difference.
        """
        broker = self._read.replica(told.broker)
        lives = [] if broker is None else self._lives[broker]
        start = max((life.up for life in lives if life.up <= told.passed), default=0.0)
        return (
            not any(each.broker == told.broker and start <= each.passed < told.passed for each in self._told)
            and told.sent >= start
        )

    def _find_fetches(self) -> tuple[dict[Told, float], dict[int, Exchange]]:
        """Read all fetches once, and find those that show that a broker has learned of an epoch or handled a response.

        Returns:
            Two mappings. The first maps an announcement to the earliest time at which a fetch request or response shows
            that the broker has learned of the epoch. The second maps the number of a response to an
            OffsetForLeaderEpoch request to the first fetch that the follower sent after it.
        """
        read = self._read
        shown: dict[Told, float] = {}
        waiting: dict[int, list[Told]] = {}
        for told in self._told if read.kraft else ():
            waiting.setdefault(told.epoch, []).append(told)
        first: dict[int, Exchange] = {}
        asked = {broker: deque(self._answers_to(broker)) for broker in read.assignment}
        if not waiting and not any(asked.values()):
            return shown, first
        for fetch in fetches(read):
            follower = read.replica(fetch.frame.source)
            if follower is None or not self._is_registered(follower, fetch.frame.arrived):
                continue
            answers = asked[fetch.frame.source]  # type: ignore[index]
            while answers and answers[0].passed <= fetch.frame.arrived:  # type: ignore[operator]
                first[answers.popleft().number] = fetch
            epoch = fetch.part.get("CurrentLeaderEpoch", UNDEFINED)
            for told in waiting.get(epoch, ()):
                at = self._shows(told, fetch)
                if at is not None and told.passed <= at < self._dies_as_broker(told):
                    shown[told] = min(at, shown.get(told, NEVER))
            if epoch in waiting:  # a later request cannot show an earlier time
                waiting[epoch] = [each for each in waiting[epoch] if shown.get(each, NEVER) > fetch.frame.arrived]
        return shown, first

    @staticmethod
    def _shows(told: Told, fetch: Exchange) -> float | None:
        """Return the time at which a fetch shows that a broker knows the announced epoch, or None if it does not show
        this.
        """
        if fetch.frame.source == told.broker:
            return fetch.frame.arrived
        leads = fetch.frame.target == told.broker == told.leader
        if not leads or fetch.answer is None or fetch.told is None or fetch.told["ErrorCode"]:
            return None
        return fetch.answer.arrived

    def _dies_as_broker(self, told: Told) -> float:
        broker = self._read.replica(told.broker)
        return NEVER if broker is None else self._dies(broker, told.passed)

    def _answers_to(self, broker: int) -> list[Seen]:
        """Return the responses that a broker received to its OffsetForLeaderEpoch requests, sorted by time."""
        answers = [self._read.answer.get(frame.number) for frame in self._questions[broker]]
        arrived = [answer for answer in answers if answer is not None and answer.passed is not None]
        return sorted(arrived, key=lambda answer: answer.passed or 0.0)

    # --- fetches --------------------------------------------------------------------------------------------------

    def _seen(self, fetch: Exchange) -> SeenFetch:
        read, frame, part = self._read, fetch.frame, fetch.part
        leader, follower = read.replica(frame.target), read.replica(frame.source)
        assert leader is not None
        assert follower is not None
        return SeenFetch(
            leader,
            follower,
            read.epoch(part.get("CurrentLeaderEpoch")),
            part["FetchOffset"],
            read.epoch(part.get("LastFetchedEpoch")),
            "LastFetchedEpoch" in part,
        )

    def _fetching(self, follower: int) -> Iterator[_Group]:
        """Yield a group of observations for each fetch of a follower."""
        before, checked = -NEVER, False
        nothing: list[Exchange | None] = [None]
        for fetch, following in pairwise(chain(fetches(self._read, follower), nothing)):
            assert fetch is not None
            found: list[Observation[Partition]] = []
            registered = self._is_registered(follower, fetch.frame.arrived)
            if registered and not checked:
                sent = self._window(max(before, 0.0), fetch.frame.arrived, fetch.frame)
                found.append(self._make.fetch_sent(sent, self._seen(fetch)))
            checked = registered and self._continues(fetch, following)
            if fetch.frame.passed is not None:
                found += self._fetch(follower, fetch, following, checked, registered)
            before = fetch.frame.begins
            yield before, found

    def _is_registered(self, broker: int, at: float) -> bool:
        """Return whether a broker is registered. With KRaft, a broker that restarts after a kill fetches even while the
        controller refuses its registration because its previous session has not ended. If this changes its log, it
        counts as registered, and fenced.
        """
        return not any(before.ended <= at < life.up for before, life in pairwise(self._lives[broker]))

    def _is_dead(self, broker: int, at: float) -> bool:
        """Return whether a broker was killed before a time, and started again after it. A frame that is passed to it
        then is lost.
        """
        lives = pairwise(self._lives[broker])
        return any(before.kill is not None and before.kill[1] <= at < life.up for before, life in lives)

    def _note_early_starts(self) -> None:
        """Find the brokers that change their logs after a start, before the controller lets them register (KRaft)."""
        for broker, lives in self._lives.items() if self._read.kraft else ():
            gaps = [(before, life) for before, life in pairwise(lives) if before.ended < life.begun[0]]
            first: dict[int, float] = {}
            for fetch in fetches(self._read, broker) if gaps else ():
                at = fetch.frame.arrived
                gap = next((k for k, (before, life) in enumerate(gaps) if before.ended <= at < life.begun[0]), None)
                if gap is not None:
                    first.setdefault(gap, at)
                    if self._has_news(fetch):
                        gaps[gap][1].early = first[gap]

    def _has_news(self, fetch: Exchange) -> bool:
        """Return whether the answer to a fetch changes the log of the follower."""
        answer, told = fetch.answer, fetch.told
        if answer is None or told is None or answer.passed is None or told["ErrorCode"]:
            return False
        seen = self._answer(told, fetch.part["FetchOffset"])
        return not isinstance(seen, SeenRecords) or bool(seen.records)

    def _continues(self, fetch: Exchange, following: Exchange | None) -> bool:
        """Return whether a follower handled a fetch response, judging by its next fetch request."""
        answer, told, follower = fetch.answer, fetch.told, self._read.replica(fetch.frame.source)
        if following is None or answer is None or answer.passed is None or follower is None:
            return False
        if told is None or told["ErrorCode"] not in (0, OFFSET_OUT_OF_RANGE):
            return False
        arrived, passed = following.frame.arrived, answer.passed
        if self._is_dead(follower, passed):
            return False
        seen, after = self._seen(fetch), self._seen(following)
        asked = any(passed <= each.arrived < arrived for each in self._questions[fetch.frame.source])  # type: ignore[index]
        same = (after.leader, after.epoch) == (seen.leader, seen.epoch)
        return same and not asked and passed <= arrived < self._dies(follower, passed)

    def _fetch(
        self, follower: int, fetch: Exchange, following: Exchange | None, continues: bool, registered: bool
    ) -> Iterator[Observation[Partition]]:
        """Yield the observations of a fetch. In the model, a broker that is not registered is down, so only the leader
        takes part in its fetch.
        """
        make, frame, answer, told, passed = self._make, fetch.frame, fetch.answer, fetch.told, fetch.frame.passed
        assert passed is not None
        seen = self._seen(fetch)
        if answer is None or told is None:
            latest = min(self._dies(seen.leader, passed), self._read.end)
            yield make.fetch_unanswered(Window(passed, latest, (frame.number,)), seen)
            return
        window = self._window(passed, answer.arrived, frame, answer)
        error = told["ErrorCode"]
        if error and error != OFFSET_OUT_OF_RANGE:
            if error not in ERRORS:
                self.notes[f"fetch responses with error {error}"] += 1
            else:
                asked = fetch.part.get("CurrentLeaderEpoch", UNDEFINED)
                leaderless = self._may_have_no_leader(frame.target, asked, answer.arrived)
                yield make.fetch_refused(window, seen, error, may_have_no_leader=leaderless)
            return
        answered = self._answer(told, fetch.part["FetchOffset"])
        arrives = registered and answer.passed is not None and not self._is_dead(follower, answer.passed)
        yield make.fetch_answered(window, seen, answered, arrives=arrives)
        if arrives and answer.passed is not None:
            dies, after = self._dies(follower, answer.passed), None
            latest = dies
            if following is not None and following.frame.arrived < dies:
                latest = max(following.frame.arrived, answer.passed)
                after = self._seen(following) if continues else None
            window = Window(answer.passed, latest, (answer.number,))
            yield make.response_handled(window, seen, answered, after)

    def _may_have_no_leader(self, node: object, epoch: int, until: float) -> bool:
        """Return whether a broker has been told, until a time, of an epoch after the given one without a leader."""
        return any(
            each.leader < 0 and each.broker == node and each.passed <= until and each.epoch > epoch
            for each in self._told
        )

    def _answer(self, told: Any, offset: int) -> Answer:
        read = self._read
        if told["ErrorCode"] == OFFSET_OUT_OF_RANGE:
            return SeenOutOfRange()
        diverging = told.get("DivergingEpoch") or {}
        if diverging.get("EndOffset", UNDEFINED) >= 0:
            return SeenDiverging(read.epoch(diverging["Epoch"]), diverging["EndOffset"], told["HighWatermark"])
        base, records = read.records_from(told.get("Records"), offset)
        return SeenRecords(records, told["HighWatermark"], base)

    # --- OffsetsForLeaderEpoch ------------------------------------------------------------------------------------

    def _questions_of(self, broker: int) -> Iterator[Seen]:
        for frame in self._read.frames:
            if frame.api == "OffsetForLeaderEpoch" and frame.request and frame.source == broker:
                part = self._read.part(frame.body)
                if part is not None and part.get("LeaderEpoch", UNDEFINED) != UNDEFINED:
                    yield frame

    def _asking(self) -> Iterator[Observation[Partition]]:
        read, make = self._read, self._make
        for broker in read.assignment:
            for frame in self._questions[broker]:
                leader, follower = read.replica(frame.target), read.replica(frame.source)
                answer, part = read.answer.get(frame.number), read.part(frame.body)
                told = None if answer is None else read.part(answer.body)
                if leader is None or follower is None or part is None or frame.passed is None:
                    continue
                if answer is None or told is None:
                    self.notes["OffsetForLeaderEpoch requests without an answer"] += 1
                    continue
                window = self._window(frame.passed, answer.arrived, frame, answer)
                if told["ErrorCode"]:
                    yield make.epoch_refused(window, leader, follower, told["ErrorCode"])
                    continue
                wanted = read.epoch(part["LeaderEpoch"])
                epoch = read.epoch(told.get("LeaderEpoch")) if "LeaderEpoch" in told else None
                end = None if told["EndOffset"] == UNDEFINED else told["EndOffset"]
                yield make.epoch_answered(window, leader, follower, -2 if wanted is None else wanted, epoch, end)
                if answer.passed is not None:
                    yield self._truncates(follower, leader, answer)

    def _truncates(self, follower: int, leader: int, answer: Seen) -> Observation[Partition]:
        assert answer.passed is not None
        dies, fetch = self._dies(follower, answer.passed), self._first_fetches.get(answer.number)
        if fetch is not None and fetch.frame.arrived < dies:
            same = self._read.replica(fetch.frame.target) == leader
            window = Window(answer.passed, fetch.frame.arrived, (answer.number, fetch.frame.number))
            return self._make.epoch_response_handled(window, follower, fetch.part["FetchOffset"] if same else None)
        return self._make.epoch_response_handled(Window(answer.passed, dies, (answer.number,)), follower, None)

    # --- producers ------------------------------------------------------------------------------------------------

    def _producing(self) -> Iterator[_Group]:
        """Yield a group of observations for each produce request."""
        for request in produces(self._read):
            if request.frame.passed is not None:
                yield request.frame.begins, list(self._produced(request, request.frame.passed))

    def _produced(self, request: Exchange, passed: float) -> Iterator[Observation[Partition]]:
        read, make, frame, answer, told = self._read, self._make, request.frame, request.answer, request.told
        leader = read.replica(frame.target)
        assert leader is not None
        if frame.body["Acks"] not in ACKS:
            if told is not None and told["ErrorCode"] == INVALID_REQUIRED_ACKS:
                self.notes["produce requests with invalid acks, which are refused"] += 1
                return
            raise NotFollowed(f"{read.path}: frame {frame.number}: Acks is {frame.body['Acks']}; expected -1, 0 or 1")
        values = tuple(value for value, _ in read.records(request.part["Records"]) if value is not None)
        acks = ACKS[frame.body["Acks"]]
        if answer is None or told is None:
            latest = min(self._dies(leader, passed), read.end)
            yield make.produced(Window(passed, latest, (frame.number,)), leader, values, acks, None)
            return
        window = self._window(passed, answer.arrived, frame, answer)
        base, error = told.get("BaseOffset", UNDEFINED), told["ErrorCode"]
        if base >= 0 and error in AFTER_THE_APPEND:
            yield make.produced(window, leader, values, acks, base)
            if acks == "all" and not error:
                yield make.acknowledged(window, leader, base + len(values))
        elif error in ERRORS:
            leaderless = self._may_have_no_leader(frame.target, UNDEFINED, answer.arrived)
            yield make.produce_refused(window, leader, error, may_have_no_leader=leaderless)
        else:  # the records may have been appended
            yield make.produced(window, leader, values, acks, None)

    # --- consumers ------------------------------------------------------------------------------------------------

    def _reading(self) -> Iterator[_Group]:
        """Yield the observations of consumers' fetches, for each fetch."""
        for fetch in reads(self._read):
            if fetch.frame.passed is not None and fetch.answer is not None and fetch.told is not None:
                yield fetch.frame.begins, list(self._was_read(fetch, fetch.frame.passed, fetch.answer, fetch.told))

    def _was_read(self, fetch: Exchange, passed: float, answer: Seen, told: Body) -> Iterator[Observation[Partition]]:
        broker = self._read.replica(fetch.frame.target)
        assert broker is not None
        if told["ErrorCode"] or not self._is_registered(broker, answer.arrived):
            return
        seen = self._answer(told, fetch.part["FetchOffset"])
        if isinstance(seen, SeenRecords):
            window = Window(passed, answer.arrived, (fetch.frame.number, answer.number))
            yield self._make.watermark_read(window, broker, seen.high_watermark)
            if seen.base is not None:
                yield self._make.records_read(window, broker, seen.base, seen.records)

    # --- processes ------------------------------------------------------------------------------------------------

    def _processes(self) -> dict[int, list[Life]]:
        read = self._read
        lives = {broker: [Life((0.0, 0.0))] for broker in range(len(read.assignment))}
        for place, event in enumerate(read.events):
            broker, what, at = read.replica(event["node"]), event["event"], event["time"]
            if broker is None:
                continue
            life = lives[broker][-1]
            if _ended(event, event["node"]):
                if life.kill is not None:
                    raise NotFollowed(
                        f"broker {event['node']} is {what} at {at}, but nothing says that it was started after it was "
                        f"killed at {life.kill[1]}"
                    )
                life.ended = at
            if what in LOSES_DIRECTORY:
                life.lost = at, what
            elif what == "killed":
                life.kill = read.last_sent[place], at
            elif what == "started":
                lives[broker].append(Life(self._registration(event["node"], life, at)))
            elif what in ("log_cut", "checkpoint_set") and (event["topic"], event["partition"]) == (
                read.topic,
                read.partition,
            ):
                if what == "log_cut":
                    life.cut_to = event["to_offset"]
                else:
                    life.checkpoint = event["high_watermark"]
        return lives

    def _registration(self, node: object, before: Life, at: float) -> tuple[float, float]:
        """Return the time window of a broker's registration at startup, from the request to the response.

        Usually, this is the first registration after the broker's previous run ended. If that run ended by itself, its
        end time is unknown, so the last registration before the recorded start is used instead.
        """
        ended = before.begun[1] if before.ended == NEVER else before.ended
        frames = [frame for frame in self._read.frames if frame.source == node and ended <= frame.arrived <= at]
        for frame in reversed(frames) if before.ended == NEVER else frames:
            if not frame.request or frame.passed is None:
                continue
            answer = self._read.answer.get(frame.number)
            if answer is None or answer.body.get("ErrorCode") or answer.body.get("error"):
                continue
            if frame.api == "BrokerRegistration" or _creates_id_of(node, frame):
                return frame.passed, answer.arrived
        return ended, at

    def _resuming(self) -> Iterator[Observation[Partition]]:
        """Yield an observation for each broker that registered in ZooKeeper again after its session had expired."""
        starts = {life.begun[0] for lives in self._lives.values() for life in lives}
        created = min(told.sent for told in self._told)
        for frame in () if self._read.kraft else self._read.frames:
            broker = self._read.replica(frame.source)
            if broker is None or frame.passed is None or frame.passed < created or frame.passed in starts:
                continue
            if _creates_id_of(frame.source, frame) and self._succeeded(frame) is not None:
                window = Window(frame.passed, NEVER, (frame.number,))
                yield self._make.fenced(window, broker, fenced=False, optional=True)

    def _dies(self, broker: int, at: float) -> float:
        """Return the first time, at or after the given time, at which a broker is killed. Return infinity if there is
        none.
        """
        return next((life.kill[1] for life in self._lives[broker] if life.kill and life.kill[1] >= at), NEVER)

    def _elected_after(self, broker: int, killed: float, until: float) -> float:
        """Return the time until which a killed broker may count as running. This is the time of the kill, or a later
        time if the controller elects the broker because it has not noticed the kill.

        In the model, only running brokers are elected. A killed broker does nothing that other processes could see, so
        the model can kill it after the election.
        """
        node = self._read.assignment[broker]
        elected = [each.latest for each in self._decisions if each.leader == node and killed < each.latest < until]
        return max([killed, *(math.nextafter(each, NEVER) for each in elected)])

    def _unfenced(self, broker: int, life: Life) -> tuple[float, float, int, bool, int] | None:
        """Return when the controller unfences a broker after a start, or None if no record shows this."""
        return next((each for each in self._fences if each[2:4] == (broker, False) and each[1] >= life.begun[0]), None)

    def _lost_directory(self, broker: int, life: Life) -> Iterator[Observation[Partition]]:
        """Yield the observation that a broker has lost the log directory of its replica after a run."""
        if life.lost is not None:
            at, event = life.lost
            yield self._make.directory_lost(Window(at, at), broker, replaced=event == "directory_replaced")

    def _living(self) -> Iterator[Observation[Partition]]:
        yield from self._resuming()
        for broker, lives in self._lives.items():
            for number, life in enumerate(lives):
                if number:
                    fenced = self._unfenced(broker, life) is not None
                    yield self._make.restarted(Window(*life.begun), broker, early=life.early is not None, fenced=fenced)
                if life.early is not None:
                    ended = lives[number - 1].ended
                    fenced = any(each[2:4] == (broker, True) and ended < each[1] <= life.early for each in self._fences)
                    yield self._make.started(Window(ended, life.early), broker, fenced=fenced)
                yield from self._lost_directory(broker, life)
                if self._read.kraft and life.kill is None and life.ended < NEVER:
                    again = lives[number + 1].up if number + 1 < len(lives) else NEVER
                    yield self._make.stopped(Window(life.ended, again), broker, optional=again == NEVER)
                if life.kill is not None:
                    until = lives[number + 1].up if number + 1 < len(lives) else NEVER
                    window = Window(life.kill[0], self._elected_after(broker, life.kill[1], until))
                    yield self._make.killed(window, broker, cut_to=life.cut_to, checkpoint=life.checkpoint)
        for frame in self._read.frames:
            stopping = self._read.replica(frame.source)
            if (
                stopping is not None
                and frame.passed is not None
                and frame.api == "ControlledShutdown"
                and frame.request
            ):
                yield self._make.stopped(Window(frame.passed, math.inf, (frame.number,)), stopping, optional=True)


_Group = tuple[float, list[Observation[Partition]]]
"""Observations, with a time before which the observations of later groups do not begin."""


def _begins(observation: Observation[Partition]) -> tuple[float, float]:
    return observation.earliest, observation.latest


def _in_order(groups: Iterable[_Group]) -> Iterator[Observation[Partition]]:
    """Yield the observations of groups, sorted by the start of their time windows."""
    waiting: list[tuple[tuple[float, float], int, Observation[Partition]]] = []
    number = 0
    for at, group in groups:
        for each in group:
            heapq.heappush(waiting, (_begins(each), number, each))
            number += 1
        while waiting and waiting[0][0][0] < at:
            yield heapq.heappop(waiting)[2]
    while waiting:
        yield heapq.heappop(waiting)[2]
