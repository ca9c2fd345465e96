"""Recordings of any length, written as another recorder would write them, from recording.md alone.

A leader and two followers replicate records, in one leader epoch. Followers fetch with or without sessions (KIP-227).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
STEP = 0.001
ISR = [0, 1, 2]


def long_recording(path: Path, rounds: int, *, records: int = 0, batch: int = 1000, sessions: bool = False) -> None:
    """Write a recording.

    Parameters:
        path: the path of the file.
        rounds: how often both followers fetch. Before every third time, a record is produced.
        records: the number of records that are produced and fetched in batches before that.
        batch: the number of records in such a batch.
        sessions: whether followers fetch in sessions.
    """
    with path.open("w", encoding="utf-8") as file:
        first = {"format": "leadline recording", "version": 1, "release": "3.9.1"}
        lines = 1
        file.write(json.dumps(first) + "\n")
        for line in _Writer(sessions).lines(rounds, records, batch):
            file.write(json.dumps(line) + "\n")
            lines += 1
        file.write(json.dumps({"event": "end", "time": 0.0, "lines": lines + 1, "interrupted_by": None}) + "\n")


class _Writer:
    def __init__(self, sessions: bool) -> None:
        self._sessions = sessions
        self._clock, self._numbers = 0.0, itertools.count(1)
        self._end = self._high_watermark = 0
        self._offsets = {1: 0, 2: 0}
        self._fetched = {1: 0, 2: 0}
        self._acknowledged = {1: 0, 2: 0}
        self._told: dict[int, int | None] = {1: None, 2: None}
        self._last: dict[int, dict[str, Any]] = {1: {}, 2: {}}

    def lines(self, rounds: int, records: int, batch: int) -> Iterator[dict[str, Any]]:
        yield from self._creation()
        for _ in range(records // batch):
            yield from self._round(batch)
        for number in range(rounds):
            yield from self._round(number % 3 == 0)

    def _round(self, count: int) -> Iterator[dict[str, Any]]:
        if count:
            yield from self._produce(count)
        for follower in self._offsets:
            yield from self._fetch(follower)

    def _creation(self) -> Iterator[dict[str, Any]]:
        records = [
            ("TopicRecord", {"Name": "t", "TopicId": TOPIC_ID}),
            (
                "PartitionRecord",
                {"PartitionId": 0, "TopicId": TOPIC_ID, "Replicas": ISR, "Isr": ISR, "Leader": 0, "LeaderEpoch": 0},
            ),
        ]
        told = [
            {"offset": offset, "timestamp": 0, "key": None, "value": {"record": name, "version": 0, "body": body}}
            for offset, (name, body) in enumerate(records)
        ]
        for broker in ISR:
            batches = {"batches": [{"first": 0, "last": 1, "leader_epoch": 1, "records": told}]}
            body = {"Responses": [{"Partitions": [{"PartitionIndex": 0, "Records": batches}]}]}
            asked = self._frame(broker, "controller", "Fetch", {"Topics": []})
            yield asked
            yield self._frame("controller", broker, "Fetch", body, asked["number"])

    def _produce(self, count: int) -> Iterator[dict[str, Any]]:
        part = {"Index": 0, "Records": self._batch(self._end, count, -1)}
        asked = self._frame("client", 0, "Produce", {"Acks": 1, "TopicData": [{"Name": "t", "PartitionData": [part]}]})
        yield asked
        told = {"Index": 0, "ErrorCode": 0, "BaseOffset": self._end}
        self._end += count
        body = {"Responses": [{"Name": "t", "PartitionResponses": [told]}]}
        yield self._frame(0, "client", "Produce", body, asked["number"])

    def _fetch(self, follower: int) -> Iterator[dict[str, Any]]:
        offset, number = self._offsets[follower], self._fetched[follower]
        part = {
            "Partition": 0,
            "CurrentLeaderEpoch": 0,
            "FetchOffset": offset,
            "LastFetchedEpoch": 0 if offset else -1,
        }
        goes_on = self._sessions and number > 0
        changed = not goes_on or self._last[follower] != part
        self._last[follower] = part
        body = {
            "SessionId": 7 + follower if goes_on else 0,
            "SessionEpoch": number if self._sessions else -1,
            "Topics": [{"TopicId": TOPIC_ID, "Partitions": [part]}] if changed else [],
        }
        asked = self._frame(follower, 0, "Fetch", body)
        yield asked
        self._fetched[follower] += 1
        self._acknowledged[follower] = offset
        self._high_watermark = max(self._high_watermark, min(self._end, *self._acknowledged.values()))
        count = self._end - offset
        told = {
            "PartitionIndex": 0,
            "ErrorCode": 0,
            "HighWatermark": self._high_watermark,
            "Records": self._batch(offset, count, 0) if count else None,
        }
        news = not goes_on or bool(count) or self._told[follower] != self._high_watermark
        self._told[follower] = self._high_watermark
        answer = {
            "ErrorCode": 0,
            "SessionId": 7 + follower if self._sessions else 0,
            "Responses": [{"TopicId": TOPIC_ID, "Partitions": [told]}] if news else [],
        }
        self._offsets[follower] += count
        yield self._frame(0, follower, "Fetch", answer, asked["number"])

    def _batch(self, first: int, count: int, epoch: int) -> dict[str, Any]:
        records = [{"offset": first + n, "key": None, "value": str(first + n)} for n in range(count)]
        batch = {"first": first, "last": first + count - 1, "leader_epoch": epoch, "records": records}
        return {"size": 60 + count, "batches": [batch]}

    def _frame(
        self, source: object, target: object, api: str, body: dict[str, Any], answers: int | None = None
    ) -> dict[str, Any]:
        self._clock = round(self._clock + STEP, 6)
        return {
            "event": "frame",
            "time": self._clock,
            "number": next(self._numbers),
            "connection": 1,
            "source": source,
            "target": target,
            "request": answers is None,
            "api": api,
            "version": 12,
            "answers": answers,
            "arrived": self._clock,
            "passed": self._clock,
            "body": body,
        }
