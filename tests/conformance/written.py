"""Recordings of several partitions, written as another recorder would write them, from recording.md alone."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs

STEP = 0.001
CLIENT, CONTROLLER = "client", "controller"
BROKERS = 0, 1, 2
REPLICAS = {("t", 0): (0, 1, 2), ("t", 1): (1, 2, 0)}
"""The replicas of each partition. The first one leads."""
Key = tuple[str, int]


@attrs.define
class Log:
    """A partition as its leader has it: the record counts of its batches, and what the leader knows of the others."""

    isr: list[int]
    batches: list[tuple[int, int]] = attrs.field(factory=list)
    reached: dict[int, int] = attrs.field(factory=dict)
    high_watermark: int = 0

    @property
    def end(self) -> int:
        return self.batches[-1][1] if self.batches else 0

    def advance(self, leader: int) -> None:
        others = [self.reached.get(broker, 0) for broker in self.isr if broker != leader]
        self.high_watermark = max(self.high_watermark, min([self.end, *others]))


class Written:
    """Writes what the brokers of a KRaft cluster do. All partitions stay in their first leader epoch."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self._numbers = itertools.count(1)
        self._offsets = itertools.count()
        self._logs = {key: Log(list(replicas)) for key, replicas in REPLICAS.items()}
        self._fetched = {(broker, key): 0 for broker in BROKERS for key in REPLICAS}
        records: list[tuple[str, dict[str, Any]]] = [("TopicRecord", {"Name": "t", "TopicId": "T"})]
        for (_, number), ids in REPLICAS.items():
            told = {"PartitionId": number, "TopicId": "T", "Replicas": [*ids], "Isr": [*ids], "Leader": ids[0]}
            records.append(("PartitionRecord", {**told, "LeaderEpoch": 0}))
        self._announce(*records)

    def _frame(self, source: object, target: object, api: str, body: dict[str, Any], answers: int | None = None) -> int:
        number = next(self._numbers)
        at = round(number * STEP, 6)
        ends = {"connection": 1, "source": source, "target": target, "request": answers is None, "answers": answers}
        what = {"event": "frame", "number": number, "api": api, "version": 12, "body": body}
        times = {"time": at, "arrived": at, "passed": at}
        self.lines.append({**what, **ends, **times})
        return number

    def exchange(self, source: object, target: object, api: str, body: dict[str, Any], answer: dict[str, Any]) -> None:
        self._frame(target, source, api, answer, self._frame(source, target, api, body))

    def _announce(self, *records: tuple[str, dict[str, Any]]) -> None:
        told = [
            {"offset": next(self._offsets), "key": None, "value": {"record": name, "version": 0, "body": body}}
            for name, body in records
        ]
        batch = {"first": told[0]["offset"], "last": told[-1]["offset"], "leader_epoch": 1, "records": told}
        part = {"PartitionIndex": 0, "Records": {"batches": [batch]}}
        for broker in BROKERS:
            self.exchange(broker, CONTROLLER, "Fetch", {"Topics": []}, {"Responses": [{"Partitions": [part]}]})

    def _records(self, key: Key, batches: Iterable[tuple[int, int]], epoch: int) -> dict[str, Any]:
        found = [
            {
                "first": first,
                "last": end - 1,
                "leader_epoch": epoch,
                "records": [{"offset": at, "key": None, "value": f"{key} {at}"} for at in range(first, end)],
            }
            for first, end in batches
        ]
        return {"batches": found}

    def produce(self, key: Key, *counts: int) -> None:
        """A client writes batches with these numbers of records, in one request."""
        log, leader = self._logs[key], REPLICAS[key][0]
        base, added = log.end, []
        for count in counts:
            log.batches.append((log.end, log.end + count))
            added.append(log.batches[-1])
        part = {"Index": key[1], "Records": self._records(key, added, -1)}
        told = {"Index": key[1], "ErrorCode": 0, "BaseOffset": base}
        body = {"Acks": 1, "TopicData": [{"Name": key[0], "PartitionData": [part]}]}
        answer = {"Responses": [{"Name": key[0], "PartitionResponses": [told]}]}
        self.exchange(CLIENT, leader, "Produce", body, answer)

    def fetch(self, follower: int, leader: int) -> None:
        """A follower fetches all partitions that a broker leads, in one request."""
        asked, told = [], []
        for key, replicas in REPLICAS.items():
            if replicas[0] != leader:
                continue
            log, offset = self._logs[key], self._fetched[follower, key]
            last = {"LastFetchedEpoch": 0 if offset else -1}
            asked.append({"Partition": key[1], "CurrentLeaderEpoch": 0, "FetchOffset": offset, **last})
            log.reached[follower] = offset
            log.advance(leader)
            told.append(self._told(key, offset, log.end))
            self._fetched[follower, key] = log.end
        answer = {"ErrorCode": 0, "SessionId": 0, "Responses": [{"TopicId": "T", "Partitions": told}]}
        self.exchange(follower, leader, "Fetch", {"Topics": [{"TopicId": "T", "Partitions": asked}]}, answer)

    def _told(self, key: Key, offset: int, end: int) -> dict[str, Any]:
        log = self._logs[key]
        batches = [each for each in log.batches if each[1] > offset and each[0] < end]
        records = self._records(key, batches, 0) if batches else None
        return {"PartitionIndex": key[1], "ErrorCode": 0, "HighWatermark": log.high_watermark, "Records": records}

    def change_isr(self, key: Key, isr: Sequence[int]) -> None:
        """A leader proposes an ISR, and the controller takes it."""
        leader, log = REPLICAS[key][0], self._logs[key]
        part = {"PartitionIndex": key[1], "LeaderEpoch": 0, "NewIsr": [*isr]}
        told = {"PartitionIndex": key[1], "ErrorCode": 0, "LeaderId": leader, "LeaderEpoch": 0, "Isr": [*isr]}
        topic: dict[str, Any] = {"TopicId": "T"}
        asked = self._frame(leader, CONTROLLER, "AlterPartition", {"Topics": [topic | {"Partitions": [part]}]})
        self._announce(("PartitionChangeRecord", {"PartitionId": key[1], "TopicId": "T", "Isr": [*isr]}))
        self._frame(CONTROLLER, leader, "AlterPartition", {"Topics": [topic | {"Partitions": [told]}]}, asked)
        log.isr = [*isr]
        log.advance(leader)

    def read(self, key: Key, offset: int, broker: int | None = None) -> None:
        """A consumer reads all records from an offset to the high watermark."""
        leader, log = REPLICAS[key][0], self._logs[key]
        asked = {"Partition": key[1], "CurrentLeaderEpoch": -1, "FetchOffset": offset, "LastFetchedEpoch": -1}
        body = {"ReplicaId": -1, "Topics": [{"TopicId": "T", "Partitions": [asked]}]}
        told = self._told(key, offset, log.high_watermark)
        answer = {"ErrorCode": 0, "SessionId": 0, "Responses": [{"TopicId": "T", "Partitions": [told]}]}
        self.exchange(CLIENT, leader if broker is None else broker, "Fetch", body, answer)

    def save(self, path: Path) -> Path:
        first = {"format": "leadline recording", "version": 1, "release": "3.9.1"}
        last = {"event": "end", "time": 0.0, "lines": len(self.lines) + 2, "interrupted_by": None}
        path.write_text("".join(json.dumps(each) + "\n" for each in (first, *self.lines, last)), encoding="utf-8")
        return path
