"""Read fetch and produce requests with their responses from a recording, without keeping them in memory.

Lines of a recording are in the order in which frames were forwarded. Therefore, the lines of a held request and its
response come after those of requests that arrived later. `PartitionRecording.delay` is the longest such delay in the
recording. A request is complete when the file has been read up to the time of its arrival plus this delay.

Followers can fetch in sessions (KIP-227): a request names only the partitions that changed since the previous request
of the session, and a response names only the partitions with changes. `_Sessions` adds the omitted parts.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import attrs

from leadline.brokers.conformance.frames import NONE, Body, Seen, seen_frame
from leadline.brokers.conformance.partition import PartitionRecording
from leadline.model.kafka.conformance.errors import OUT_OF_RANGE, said
from leadline.model.kafka.conformance.seen import (
    Answer,
    SeenDiverging,
    SeenFetch,
    SeenOutOfRange,
    SeenRecords,
)

CLIENTS = "client", "unknown"
"""The processes outside the cluster."""
CONSUMER = -1
"""The id of a consumer, in the place of the id of a replica."""


@attrs.frozen
class Exchange:
    """A request about the partition, and its response.

    Attributes:
        frame: the request.
        part: the part of the request that is about the partition.
        answer: the response, or None if there is none.
        told: the part of the response that is about the partition, or None if there is none.
    """

    frame: Seen
    part: Body
    answer: Seen | None
    told: Body | None


def fetches(read: PartitionRecording, follower: int | None = None) -> Iterator[Exchange]:
    """Yield the fetches of a follower, or of all followers, in order of arrival.

    Parameters:
        read: the recording of the partition.
        follower: the number of the follower in the model, or None for all followers.
    """
    node = None if follower is None else read.assignment[follower]
    sessions = _Sessions(read)
    for frame, answer in _pairs(read, lambda each: read.is_fetch(each) and node in (None, each.source)):
        part = sessions.asked(frame)
        if part is not None:
            yield Exchange(frame, part, answer, None if answer is None else sessions.answered(frame, part, answer))


def produces(read: PartitionRecording) -> Iterator[Exchange]:
    """Yield the produce requests for the partition, in order of arrival."""
    for frame, answer in _pairs(read, lambda each: each.api == "Produce" and read.replica(each.target) is not None):
        part = read.part(frame.body)
        if part is not None:
            yield Exchange(frame, part, answer, None if answer is None else read.part(answer.body))


def reads(read: PartitionRecording) -> Iterator[Exchange]:
    """Yield the fetches of consumers, in order of arrival."""
    sessions = _Sessions(read)
    for frame, answer in _pairs(read, lambda each: _is_read(read, each)):
        part = sessions.asked(frame)
        if part is not None:
            yield Exchange(frame, part, answer, None if answer is None else sessions.answered(frame, part, answer))


def questions(read: PartitionRecording, broker: int) -> Iterator[Seen]:
    """Yield the OffsetForLeaderEpoch requests of a broker, in order of arrival."""
    for frame in read.frames:
        if frame.api == "OffsetForLeaderEpoch" and frame.request and frame.source == broker:
            part = read.part(frame.body)
            if part is not None and part.get("LeaderEpoch", NONE) != NONE:
                yield frame


def seen_fetch(read: PartitionRecording, fetch: Exchange) -> SeenFetch:
    """Return the request of a fetch in the model's terms."""
    frame, part = fetch.frame, fetch.part
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
        _continues_session(frame),
    )


def seen_answer(read: PartitionRecording, fetch: Exchange, told: Body) -> Answer:
    """Return the response of a fetch in the model's terms. `told` is its part about the partition."""
    if said("Fetch", told["ErrorCode"]) == OUT_OF_RANGE:
        return SeenOutOfRange()
    diverging = told.get("DivergingEpoch") or {}
    if diverging.get("EndOffset", NONE) >= 0:
        return SeenDiverging(read.epoch(diverging["Epoch"]), diverging["EndOffset"], told["HighWatermark"])
    base, records = read.records_from(told.get("Records"), fetch.part["FetchOffset"])
    return SeenRecords(records, told["HighWatermark"], base)


def _is_read(read: PartitionRecording, frame: Seen) -> bool:
    """Return whether a frame is the fetch request of a consumer to a replica of the partition. The ids -2 and below are
    those of tools that read past the high watermark.
    """
    if frame.api != "Fetch" or frame.source not in CLIENTS or read.replica(frame.target) is None:
        return False
    told = frame.body.get("ReplicaState") or frame.body
    return bool(told.get("ReplicaId", CONSUMER) == CONSUMER)


def _pairs(read: PartitionRecording, wanted: Callable[[Seen], bool]) -> Iterator[tuple[Seen, Seen | None]]:
    requests: list[tuple[int, Seen]] = []
    numbers: set[int] = set()
    answers: dict[int, Seen] = {}
    now = 0.0
    for line in read.recording.events():
        now = max(now, line["time"])
        frame = seen_frame(line)
        if frame is not None and frame.request and wanted(frame):
            heapq.heappush(requests, (frame.number, frame))
            numbers.add(frame.number)
        elif frame is not None and frame.answers in numbers:
            answers[frame.answers] = frame
        while requests and requests[0][1].arrived < now - read.delay:
            yield _taken(requests, numbers, answers)
    while requests:
        yield _taken(requests, numbers, answers)


def _taken(requests: list[tuple[int, Seen]], numbers: set[int], answers: dict[int, Seen]) -> tuple[Seen, Seen | None]:
    number, frame = heapq.heappop(requests)
    numbers.discard(number)
    return frame, answers.pop(number, None)


class _Sessions:
    """The entries for the partition in the followers' fetch sessions."""

    def __init__(self, read: PartitionRecording) -> None:
        self._read = read
        self._asked: dict[tuple[object, object, int], Body] = {}
        self._high_watermarks: dict[tuple[object, object, int], int] = {}

    def asked(self, frame: Seen) -> Body | None:
        """Return the entry for the partition in a request, or None if the partition is not fetched."""
        part = self._read.part(frame.body)
        key = frame.source, frame.target, frame.body.get("SessionId", 0)
        if not _continues_session(frame):
            self._asked.pop(key, None)
            return part
        if any(self._forgets(topic) for topic in frame.body.get("ForgottenTopicsData") or ()):
            self._asked.pop(key, None)
        if part is not None:
            self._asked[key] = part
        return self._asked.get(key)

    def answered(self, frame: Seen, part: Body, answer: Seen) -> Body | None:
        """Return the entry for the partition in a response, or None if there is none, for example after an error."""
        told = self._read.part(answer.body)
        key = frame.source, frame.target, answer.body.get("SessionId", 0)
        if key[2]:
            self._asked.setdefault(key, part)
        if told is None:
            known = self._high_watermarks.get(key)
            if answer.body.get("ErrorCode") or known is None or not _continues_session(frame):
                return None
            return {"ErrorCode": 0, "HighWatermark": known, "Records": None}  # nothing new
        if key[2]:
            self._high_watermarks[key] = told["HighWatermark"]
        return told

    def _forgets(self, topic: Mapping[str, Any]) -> bool:
        return self._read.names(topic) and self._read.partition in (topic.get("Partitions") or ())


def _continues_session(frame: Seen) -> bool:
    """Return whether a request names only what has changed since the previous request of its session."""
    return bool(frame.body.get("SessionId", 0) > 0 and frame.body.get("SessionEpoch", -1) > 0)
