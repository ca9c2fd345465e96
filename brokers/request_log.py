"""Convert the files of `kafka.request.logger` to a recording.

Since Kafka 2.8, brokers that log requests write each request with its response as JSON when it is complete
(`RequestConvertToJson` in Kafka's code): which fields, and how long the request took, but of records only their size.
So a recording from these files has the offsets of records, and no values.

What the files do not contain is found from what they do:

- The number of records in an answer to a fetch: from the follower's next fetch. If there is none, the answer is left
  out.
- The number of records in a produce request: from the offset of the next one in the same leader epoch. Records that
  followers fetched, and that no complete produce request explains, are produce requests without an answer.
- Ends and starts of brokers: a broker has started again if a LeaderAndIsr request names another broker epoch.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs

from leadline.brokers.recording import RecordingError, RecordingWriter

MARK = "Completed request:"
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)[,.](\d{3,6})")

_NAMES = {
    "ALTER_ISR": "AlterPartition",
    "ALTER_PARTITION": "AlterPartition",
    "CONTROLLED_SHUTDOWN": "ControlledShutdown",
    "CREATE_TOPICS": "CreateTopics",
    "ELECT_LEADERS": "ElectLeaders",
    "FETCH": "Fetch",
    "LEADER_AND_ISR": "LeaderAndIsr",
    "OFFSET_FOR_LEADER_EPOCH": "OffsetForLeaderEpoch",
    "PRODUCE": "Produce",
}
"""The requests that are converted, by their names in the files."""

_LEFT_OUT = {"LiveLeaders", "Principal", "ErrorMessage", "RecordErrors"}
_SENDERS = ("ReplicaId", "ControllerId", "BrokerId")
_SIZES = ("RecordsSizeInBytes", "RecordSetSizeInBytes")
Key = tuple[object, int]
"""A topic, by its name or id, and the number of a partition."""


@attrs.define(eq=False)
class _Request:
    """A request that a broker has completed.

    Attributes:
        node: the broker that logged it.
        source: the process that sent it.
        begun, sent, done: when it arrived, when its response was sent, and when that was complete, in seconds.
        leader_epoch: for a produce request, the leader epoch in which it arrived.
    """

    node: int
    source: int | str
    api: str
    version: int
    connection: str
    body: dict[str, Any]
    answer: dict[str, Any] | None
    begun: float
    sent: float
    done: float


class _Writer(RecordingWriter):
    """A recording whose times are those of the files."""

    at = 0.0

    def now(self) -> float:
        return round(self.at, 6)


@attrs.frozen
class Converted:
    """What was found in the files.

    Attributes:
        requests: the number of requests in the recording.
        without_answer: the number of fetches whose response was left out, because nothing shows how many records it
            contained.
    """

    requests: int
    without_answer: int


def convert(files: Sequence[tuple[int, Path]], target: Path, *, clock_error: float, **about: Any) -> Converted:
    """Convert the files of a cluster's brokers to a recording.

    Parameters:
        files: the id of a broker and a file that it wrote, for each file.
        target: the path of the recording.
        clock_error: how much the times in the files may be wrong, in seconds: the difference between the clocks of the
            machines, and the time between a response and its line.
        about: additional fields for the first line of the recording.

    Raises:
        RecordingError: if a file cannot be read, is not a file of `kafka.request.logger`, or lacks what is needed; or
            if the recording cannot be written.
    """
    requests = [request for node, path in files for request in _requests(node, path)]
    if not any(each.api == "LeaderAndIsr" for each in requests):
        raise RecordingError(
            f"{files[0][1]}: no broker has logged a LeaderAndIsr request. With KRaft, request logs do not contain the "
            f"decisions of the controller: record the cluster with --broker and --controller"
        )
    requests.sort(key=lambda each: each.begun)
    first = requests[0].begun
    for each in requests:
        each.begun, each.sent, each.done = each.begun - first, each.sent - first, each.done - first
    without_answer = _count_fetched(requests)
    lost = _count_produced(requests)
    begun = datetime.fromtimestamp(first, UTC).isoformat()
    lines = sorted(_lines([*requests, *lost], clock_error), key=lambda line: line[0])
    with _Writer(target, begun=begun, hashed=True, **about) as recording:
        for at, event, fields in lines:
            recording.at = at
            recording.write(event, **fields)
    return Converted(len(requests), without_answer)


# --- the files ------------------------------------------------------------------------------------------------------


def _requests(node: int, path: Path) -> Iterator[_Request]:
    found = False
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                before, mark, text = line.partition(MARK)
                if mark:
                    found = True
                    request = _request(node, f"{path}:{number}", before, text)
                    if request is not None:
                        yield request
    except (OSError, UnicodeDecodeError) as error:
        raise RecordingError(f"{path} cannot be read: {error}") from error
    if not found:
        raise RecordingError(f"{path} is not a file of kafka.request.logger: no line contains {MARK!r}")


def _request(node: int, place: str, before: str, text: str) -> _Request | None:
    time = _TIME.search(before)
    if time is None:
        raise RecordingError(
            f"{place}: there is no time such as 2026-11-27 02:25:03,501 before {MARK!r}: the pattern of the appender "
            f"must contain %d"
        )
    try:
        told, _ = json.JSONDecoder().raw_decode(text)
        header = told["requestHeader"]
        name = _NAMES.get(header["requestApiKeyName"])
        done = datetime.fromisoformat(f"{time[1]}T{time[2]}.{time[3]}").replace(tzinfo=UTC).timestamp()
        if name is None:
            return None
        body, answer = _named(told["request"]), told["response"]
        return _Request(
            node=node,
            source=_sender(name, body),
            api=name,
            version=header["requestApiVersion"],
            connection=f"{node} {told['connection']}",
            body=body,
            answer=_named(answer) if isinstance(answer, Mapping) and name != "CreateTopics" else None,
            begun=done - told["totalTimeMs"] / 1000,
            sent=done - told["sendTimeMs"] / 1000,
            done=done,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecordingError(
            f"{place}: the request is not in the JSON format that kafka.request.logger has since Kafka 2.8"
        ) from error


def _named(value: Any) -> Any:
    """Return a body with the names of Kafka's definitions, which begin with a capital letter."""
    if isinstance(value, Mapping):
        named = {name[:1].upper() + name[1:]: _named(each) for name, each in value.items()}
        return {name: each for name, each in named.items() if name not in _LEFT_OUT}
    return [_named(each) for each in value] if isinstance(value, list) else value


def _sender(api: str, body: Mapping[str, Any]) -> int | str:
    if api in ("CreateTopics", "ElectLeaders", "Produce"):
        return "client"
    told = {**body, **(body.get("ReplicaState") or {})}
    sender = next(told[name] for name in _SENDERS if name in told)
    return int(sender) if sender >= 0 else "client"


# --- records --------------------------------------------------------------------------------------------------------


def _parts(body: Mapping[str, Any] | None) -> Iterator[tuple[Key, dict[str, Any]]]:
    """Yield the partitions of a request or response."""
    for field in ("Topics", "Responses", "TopicData"):
        for topic in (body or {}).get(field) or ():
            name = topic.get("Topic") or topic.get("Name") or topic.get("TopicId")
            for inner in ("Partitions", "PartitionData", "PartitionResponses"):
                for part in topic.get(inner) or ():
                    index = next(part[each] for each in ("Partition", "PartitionIndex", "Index") if each in part)
                    yield (name, index), part


def _size(part: dict[str, Any]) -> int:
    """Remove the size of a part's records, and return it."""
    return sum(part.pop(name, 0) for name in _SIZES)


def _count_fetched(requests: Iterable[_Request]) -> int:
    """Add record batches to the responses to fetches. Return the number of fetches whose response was removed."""
    waiting: dict[tuple[object, ...], tuple[_Request, int, dict[str, Any]]] = {}
    offsets: dict[tuple[object, ...], int] = {}
    without = 0
    for request in requests:
        if request.api != "Fetch" or request.source == "client":
            continue
        pair = request.source, request.node
        for key, part in _parts(request.body):
            offset = part["FetchOffset"]
            known = waiting.pop((*pair, *key), None)
            if known is not None and offset > known[1]:
                known[2]["Records"] = _batches(known[1], offset, None)
            elif known is not None:
                known[0].answer, without = None, without + 1
            offsets[*pair, *key] = offset
        for key, part in _parts(request.answer):
            if _size(part):
                waiting[*pair, *key] = request, offsets.get((*pair, *key), -1), part
    for request, _, _ in waiting.values():
        request.answer, without = None, without + 1
    return without


def _batches(first: int, end: int, records: list[dict[str, Any]] | None) -> dict[str, Any]:
    batch = {"first": first, "last": end - 1, "leader_epoch": -1, "records": records}
    return {"size": 0, "batches": [batch]}


def _count_produced(requests: Sequence[_Request]) -> list[_Request]:
    """Add records to produce requests. Return produce requests for those records that were fetched, and that no
    request explains.
    """
    terms: dict[tuple[object, ...], list[tuple[int, _Request, dict[str, Any]]]] = {}
    ends: Counter[tuple[object, ...]] = Counter()
    epochs: dict[tuple[int, Key], int] = {}
    begins: dict[tuple[object, ...], float] = {}
    numbers = iter(range(2**62))
    for request in requests:
        if request.api == "LeaderAndIsr":
            for topic in request.body.get("TopicStates") or ():
                for state in topic["PartitionStates"]:
                    for name in (topic["TopicName"], topic.get("TopicId")):
                        epochs[request.node, (name, state["PartitionIndex"])] = state["LeaderEpoch"]
                        begins.setdefault(
                            (request.node, (name, state["PartitionIndex"]), state["LeaderEpoch"]), request.begun
                        )
        elif request.api == "Produce":
            bases = {key: part.get("BaseOffset", -1) for key, part in _parts(request.answer)}
            for key, part in _parts(request.body):
                _size(part)
                part["Records"] = _batches(0, 1, _new_records(1, numbers))
                if bases.get(key, -1) >= 0:
                    term = request.node, key, epochs.get((request.node, key), -1)
                    terms.setdefault(term, []).append((bases[key], request, part))
        elif request.api == "Fetch":
            for key, part in _parts(request.answer):
                batches = (part.get("Records") or {}).get("batches") or [{"last": -1}]
                term = request.node, key, epochs.get((request.node, key), -1)
                ends[term] = max(ends[term], batches[0]["last"] + 1)
    lost = []
    for term, produced in terms.items():
        produced.sort(key=lambda each: each[0])
        for (base, _, part), (following, _, _) in zip(produced, produced[1:], strict=False):
            part["Records"] = _batches(base, following, _new_records(following - base, numbers))
        base, last, part = produced[-1]
        part["Records"] = _batches(base, base + 1, _new_records(1, numbers))
        lost += [_lost(last, term[1], _new_records(1, numbers)) for _ in range(base + 1, ends[term])]
    return lost


def _new_records(count: int, numbers: Iterator[int]) -> list[dict[str, Any]]:
    """Return records that differ from all others."""
    return [{"offset": 0, "key": None, "value": f"unknown record {next(numbers)}"} for _ in range(count)]


def _lost(after: _Request, key: Key, records: list[dict[str, Any]]) -> _Request:
    """Return a produce request without an answer."""
    part = {"Index": key[1], "Records": _batches(0, 1, records)}
    topic = {"Name": key[0], "PartitionData": [part]}
    return attrs.evolve(after, body={"Acks": after.body["Acks"], "TopicData": [topic]}, answer=None)


# --- the recording --------------------------------------------------------------------------------------------------


def _lines(requests: Sequence[_Request], error: float) -> Iterator[tuple[float, str, dict[str, Any]]]:
    """Yield the time, the name and the fields of each event."""
    yield from _restarts(requests, error)
    ordered = sorted(requests, key=lambda each: each.begun)
    arrivals = [(each.begun, 0, number) for number, each in enumerate(ordered)]
    arrivals += [(each.done, 1, number) for number, each in enumerate(ordered) if each.answer is not None]
    numbers = {(kind, place): number for number, (_, kind, place) in enumerate(sorted(arrivals), 1)}
    connections = {name: n for n, name in enumerate(dict.fromkeys(each.connection for each in ordered), 1)}
    for place, each in enumerate(ordered):
        common = {"connection": connections[each.connection], "api": each.api, "version": each.version}
        asked = {
            **common,
            "number": numbers[0, place],
            "source": each.source,
            "target": each.node,
            "request": True,
            "answers": None,
            "arrived": max(each.begun, 0.0) + error,
            "passed": max(each.begun - error, 0.0),
            "body": each.body,
        }
        yield asked["arrived"], "frame", asked
        if each.answer is not None:
            answered = {
                **common,
                "number": numbers[1, place],
                "source": each.node,
                "target": each.source,
                "request": False,
                "answers": asked["number"],
                "arrived": each.done + error,
                "passed": max(each.sent - error, asked["passed"]),
                "body": each.answer,
            }
            yield answered["arrived"], "frame", answered


def _restarts(requests: Sequence[_Request], error: float) -> Iterator[tuple[float, str, dict[str, Any]]]:
    """Yield the ends and starts of brokers, each before the first request with the broker's next epoch."""
    epochs: dict[int, int] = {}
    stopping: set[int] = set()
    for request in requests:
        if request.api == "ControlledShutdown":
            stopping.add(request.body["BrokerId"])
        epoch = request.body.get("BrokerEpoch", -1) if request.api == "LeaderAndIsr" else -1
        if epoch < 0:
            continue
        if epochs.setdefault(request.node, epoch) < epoch:
            at = max(request.begun - error, 0.0)
            yield at, "terminated" if request.node in stopping else "killed", {"node": request.node}
            yield at, "started", {"node": request.node}
            stopping.discard(request.node)
        epochs[request.node] = max(epoch, epochs[request.node])
