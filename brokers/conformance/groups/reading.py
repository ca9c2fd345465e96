"""Read from a recording what is about one consumer group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from leadline.brokers.conformance.fields import check_fields
from leadline.brokers.conformance.frames import NEVER, Seen, seen_frame
from leadline.brokers.conformance.groups.subscription import (
    Partitions,
    Subscription,
    bytes_of,
    read_assignment,
    read_subscription,
)
from leadline.brokers.conformance.not_followed import NotFollowed
from leadline.brokers.recording import Recording

CLASSIC, CONSUMER = "classic", "consumer"
FOLLOWED = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "ConsumerGroupHeartbeat")
"""The names of requests that are followed."""
CHANGES = ("DeleteGroups", "OffsetDelete")
TOPIC_CHANGES = ("CreateTopics", "CreatePartitions", "DeleteTopics")


@attrs.frozen
class Exchange:
    """A request of a member, and its response.

    Attributes:
        request, answer: the frames. None if there is no response.
    """

    request: Seen
    answer: Seen | None

    @property
    def body(self) -> Mapping[str, Any]:
        """The body of the request."""
        return self.request.body

    @property
    def told(self) -> Mapping[str, Any]:
        """The body of the response."""
        assert self.answer is not None
        return self.answer.body

    @property
    def begins(self) -> float:
        """The earliest time at which the coordinator may have handled the request."""
        return self.request.begins

    @property
    def ends(self) -> float:
        """The latest time at which the coordinator may have handled the request."""
        return NEVER if self.answer is None else self.answer.arrived

    @property
    def code(self) -> int | None:
        """The error code of the response. For OffsetCommit, that of its first partition. None without a response."""
        if self.answer is None:
            return None
        if self.request.api == "OffsetCommit":
            codes = [part["ErrorCode"] for topic in self.told["Topics"] for part in topic["Partitions"]]
            return next((code for code in codes if code), 0)
        code = int(self.told["ErrorCode"])
        return code or next((each["ErrorCode"] for each in self.told.get("Members") or () if "ErrorCode" in each), 0)

    @property
    def generation(self) -> int:
        """The generation or the member epoch in the request."""
        names = ("GenerationId", "GenerationIdOrMemberEpoch", "MemberEpoch")
        return int(next((self.body[name] for name in names if name in self.body), -1))

    @property
    def member_ids(self) -> list[str]:
        """The member ids in the request. Only LeaveGroup can have several."""
        if "Members" in self.body:
            return [each["MemberId"] for each in self.body["Members"]]
        return [self.body.get("MemberId", "")]

    @property
    def frames(self) -> tuple[int, ...]:
        """The numbers of the frames."""
        return (self.request.number,) if self.answer is None else (self.request.number, self.answer.number)


@attrs.define(eq=False)
class GroupRecording:
    """The part of a recording that is about one group.

    Attributes:
        recording: the recording.
        group: the name of the group.
        exchanges: the requests that are followed, in order of arrival.
        members: the number of each member id, in order of appearance.
        anonymous: the members whose JoinGroup request has no member id and no response, keyed by its frame. Their
            number is that of the id with which the leader learned of them, if it did.
        ends: the times at which brokers were killed or asked to shut down, with their ids.
        notes: how often each request that is not followed occurs.
        topic_changes: requests that change topics, and when they were answered.
        end: the time of the last line.
    """

    recording: Recording
    group: str
    exchanges: list[Exchange] = attrs.field(factory=list)
    members: dict[str, int] = attrs.field(factory=dict)
    anonymous: dict[int, int] = attrs.field(factory=dict)
    ends: list[tuple[float, object]] = attrs.field(factory=list)
    notes: Counter[str] = attrs.field(factory=Counter)
    topic_changes: list[tuple[Seen, float]] = attrs.field(factory=list)
    end: float = 0.0
    _partitions: dict[tuple[str, int], int] = attrs.field(factory=dict)
    _metadata: list[Any] = attrs.field(factory=list)
    _unread: dict[object, int] = attrs.field(factory=dict)

    @property
    def path(self) -> Path:
        """The path of the recording."""
        return self.recording.path

    @property
    def about(self) -> Mapping[str, Any]:
        """The content of the first line."""
        return self.recording.about

    @property
    def protocol(self) -> str:
        """The protocol of the group."""
        found = {each.request.api == "ConsumerGroupHeartbeat" for each in self.exchanges if _joins(each)}
        if len(found) == 2:
            raise NotFollowed(f"group {self.group} changes from one protocol to the other, which is not followed")
        return CONSUMER if True in found else CLASSIC

    @property
    def partitions(self) -> int:
        """The number of partitions that any member was assigned or owned."""
        return len(self._partitions)

    def member(self, member_id: str) -> int:
        """Return the number of a member id, which is new if it was not seen before."""
        return self.members.setdefault(member_id, len(self.members))

    def number(self, partitions: Partitions) -> frozenset[int]:
        """Return the numbers of partitions."""
        return frozenset(self._partitions.setdefault(each, len(self._partitions)) for each in sorted(partitions))

    def topic_partitions(self, topics: Iterable[Mapping[str, Any]]) -> frozenset[int]:
        """Return the numbers of partitions in a heartbeat of the consumer protocol, whose topics have ids."""
        return self.number(frozenset((each["TopicId"], number) for each in topics for number in each["Partitions"]))

    def of_topics(self, numbers: frozenset[int], topics: frozenset[str]) -> frozenset[int]:
        """Return those of the given partitions that belong to topics."""
        return numbers & {number for (topic, _), number in self._partitions.items() if topic in topics}

    def names(self, numbers: frozenset[int]) -> str:
        """Return the names of partitions."""
        names = [f"{topic}-{number}" for (topic, number), each in self._partitions.items() if each in numbers]
        return ", ".join(names) or "nothing"

    def metadata(self, protocols: Any) -> int:
        """Return the number of the metadata with which a member joins."""
        if protocols not in self._metadata:
            self._metadata.append(protocols)
        return self._metadata.index(protocols)

    def sent(self, metadata: int, protocol: Any) -> Any:
        """Return the metadata that a member has sent for an assignor."""
        return next((each["Metadata"] for each in self._metadata[metadata] if each["Name"] == protocol), None)

    def subscription(self, value: Any) -> Subscription:
        """Return the subscription in the metadata of a member. Of longer ones, a recording only has the checksum."""
        data = bytes_of(value)
        return Subscription() if data is None else read_subscription(data)

    def assignment(self, value: Any) -> frozenset[int]:
        """Return the numbers of the partitions of an assignment. Longer ones are compared by their checksums."""
        data = bytes_of(value)
        if data is not None:
            return self.number(read_assignment(data))
        return frozenset({-1 - self._unread.setdefault(_hashable(value), len(self._unread))})


def _joins(exchange: Exchange) -> bool:
    return exchange.request.api in ("JoinGroup", "ConsumerGroupHeartbeat")


def _hashable(value: Any) -> object:
    if isinstance(value, Mapping):
        return tuple((name, _hashable(each)) for name, each in sorted(value.items()))
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def groups_of(recording: Recording) -> list[str]:
    """Return the names of the groups that have members, in order."""
    found: dict[str, None] = {}
    for line in recording.events():
        frame = seen_frame(line)
        if frame is not None and frame.request and frame.api in ("JoinGroup", "ConsumerGroupHeartbeat"):
            check_fields(recording.path, line)
            found.setdefault(frame.body["GroupId"])
    return list(found)


def read_group(recording: Recording, group: str) -> GroupRecording:
    """Return the part of a recording that is about a group.

    Raises:
        NotFollowed: if the recording has requests that change groups in ways that are not followed.
        RecordingError: if the file is not a complete recording.
    """
    read = GroupRecording(recording, group)
    requests: dict[int, Seen] = {}
    answers: dict[int, Seen] = {}
    numbers, sent = set[int](), set[tuple[int, int]]()
    for line in recording.events():
        check_fields(recording.path, line)
        read.end = max(read.end, line["time"])
        if line["event"] in ("killed", "terminated"):
            read.ends.append((line["time"], line["node"]))
        frame = seen_frame(line)
        if frame is None:
            continue
        if frame.request and _names(frame, group):
            if frame.api in CHANGES:
                raise NotFollowed(f"frame {frame.number}: {frame.api} of group {group} is not followed")
            if frame.passed is not None and frame.api in FOLLOWED:
                requests[frame.number] = frame
            else:
                read.notes[f"{frame.api} requests"] += 1
        elif frame.api in TOPIC_CHANGES and frame.request:
            read.topic_changes.append((frame, line["time"]))
        elif frame.answers in requests:
            if frame.answers in answers:
                raise NotFollowed(f"{recording.path}: frame {frame.number} is a second response to {frame.answers}")
            answers[frame.answers] = frame
        key = frame.connection, line.get("correlation", -1)
        if frame.number in numbers or (frame.request and key[1] >= 0 and key in sent):
            raise NotFollowed(f"{recording.path}: frame {frame.number} is repeated")
        numbers.add(frame.number)
        if frame.request:
            sent.add(key)
    read.exchanges = [Exchange(frame, answers.get(number)) for number, frame in sorted(requests.items())]
    _number_members(read)
    return read


def _names(frame: Seen, group: str) -> bool:
    """Return whether a request is about a group. Some name several, or each as an object."""
    names = [frame.body.get("GroupId"), frame.body.get("Key"), *(frame.body.get("CoordinatorKeys") or ())]
    listed = [*(frame.body.get("GroupsNames") or ()), *(frame.body.get("Groups") or ())]
    return group in names + [each.get("GroupId") if isinstance(each, Mapping) else each for each in listed]


def _number_members(read: GroupRecording) -> None:
    """Number the member ids in the order in which they appear."""
    listed = dict[str, None]()
    for each in read.exchanges:
        for member_id in each.member_ids:
            if member_id:
                read.member(member_id)
        if each.answer is not None and each.told.get("MemberId"):
            read.member(each.told["MemberId"])
        if each.answer is not None and each.request.api == "JoinGroup":
            listed |= dict.fromkeys(member["MemberId"] for member in each.told["Members"])
    unknown = [member_id for member_id in listed if member_id not in read.members]
    nameless = [each for each in read.exchanges if each.request.api == "JoinGroup" and not each.member_ids[0]]
    for each in nameless:
        if each.answer is None:
            name = unknown.pop(0) if unknown else f"of frame {each.request.number}"
            read.anonymous[each.request.number] = read.member(name)
    for name in unknown:
        read.member(name)
