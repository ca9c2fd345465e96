"""Convert request logs, which are written by `kafka.request.logger`, to a recording.

Since Kafka 2.8, a request log contains each completed request and its response as JSON (`RequestConvertToJson` in
Kafka's code). It contains their fields and the duration of the request, but only the size of records. Therefore, the
recording contains the offsets of records, but not their values.

Missing data is derived from the data in the files:

- The number of records in requests and responses: see `leadline.brokers.request_log_records`.
- Starts and ends of brokers: a broker has restarted if a LeaderAndIsr request contains a different broker epoch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs

from leadline.brokers.recording import RecordingError, RecordingWriter
from leadline.brokers.request_log_records import Request, add_records

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

_PROXY = "record the cluster with --broker and --zookeeper"
_TEXT = (
    "the request is text, as Kafka 1.0 to 2.7 writes it, and only JSON is read. Up to 2.6, such files also lack the "
    f"changes of the ISR, which leaders write to ZooKeeper: {_PROXY}"
)
_TEXT_WITHOUT_RESPONSE = (
    f"the request is text without its response, as Kafka up to 0.11 writes it, and not JSON: {_PROXY}"
)
"""Why files in the format before 2.8 are not converted (`RequestChannel.updateRequestMetrics` in Kafka's code)."""

_LEFT_OUT = {"LiveLeaders", "Principal", "ErrorMessage", "RecordErrors"}
_SENDERS = ("ReplicaId", "ControllerId", "BrokerId")


class _Writer(RecordingWriter):
    """A writer for a recording with the times in the files."""

    at = 0.0

    def now(self) -> float:
        return round(self.at, 6)


@attrs.frozen
class Converted:
    """The result of converting the files.

    Attributes:
        requests: the number of requests in the recording.
        without_answer: the number of responses that were left out, because the requests that would explain them are
            missing.
    """

    requests: int
    without_answer: int


def convert(files: Sequence[tuple[int, Path]], target: Path, *, clock_error: float, **about: Any) -> Converted:
    """Convert the files of a cluster's brokers to a recording.

    Parameters:
        files: for each file, the id of the broker that wrote it, and its path.
        target: the path of the recording.
        clock_error: the maximum error of the times in the files, in seconds. It includes the difference between the
            machines' clocks, and the time between a response and its line in the file.
        about: additional fields for the first line of the recording.

    Raises:
        RecordingError: if a file cannot be read, is not a file of `kafka.request.logger`, or lacks necessary data, or
            if the recording cannot be written.
    """
    requests = [request for node, path in files for request in _requests(node, path)]
    if not any(each.api == "LeaderAndIsr" for each in requests):
        raise RecordingError(
            f"{files[0][1]}: no broker has logged a LeaderAndIsr request. With ZooKeeper, the files must begin before "
            f"the topic is created. With KRaft, the controller's decisions are in the metadata log, of whose records "
            f"request logs have only the size: record the cluster with --broker and --controller"
        )
    requests.sort(key=lambda each: each.begun)
    first = requests[0].begun
    for each in requests:
        each.begun, each.sent, each.done = each.begun - first, each.sent - first, each.done - first
    without_answer, lost = add_records(requests)
    begun = datetime.fromtimestamp(first, UTC).isoformat()
    lines = sorted(_lines([*requests, *lost], clock_error), key=lambda line: line[0])
    with _Writer(target, begun=begun, hashed=True, **about) as recording:
        for at, event, fields in lines:
            recording.at = at
            recording.write(event, **fields)
    return Converted(len(requests), without_answer)


# --- the files ------------------------------------------------------------------------------------------------------


def _requests(node: int, path: Path) -> Iterator[Request]:
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
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RecordingError(f"{path} is not a file of kafka.request.logger: it is not UTF-8 text") from error
    if not found:
        raise RecordingError(f"{path} is not a file of kafka.request.logger: no line contains {MARK!r}")


def _request(node: int, place: str, before: str, text: str) -> Request | None:
    time = _TIME.search(before)
    if time is None:
        raise RecordingError(
            f"{place}: there is no time such as 2026-11-27 02:25:03,501 before {MARK!r}: the pattern of the appender "
            f"must contain %d"
        )
    if not text.lstrip().startswith("{"):
        raise RecordingError(f"{place}: {_TEXT if 'response:' in text else _TEXT_WITHOUT_RESPONSE}")
    try:
        told, _ = json.JSONDecoder().raw_decode(text)
        header = told["requestHeader"]
        name = _NAMES.get(header["requestApiKeyName"])
        done = datetime.fromisoformat(f"{time[1]}T{time[2]}.{time[3]}").replace(tzinfo=UTC).timestamp()
        if name is None:
            return None
        body, answer = _named(told["request"]), told["response"]
        return Request(
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
            f"{place}: the request is not in the JSON format that kafka.request.logger has used since Kafka 2.8"
        ) from error


def _named(value: Any) -> Any:
    """Return a body with field names that begin with a capital letter, as in Kafka's message definitions."""
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


# --- the recording --------------------------------------------------------------------------------------------------


def _lines(requests: Sequence[Request], error: float) -> Iterator[tuple[float, str, dict[str, Any]]]:
    """Yield the time, the name and the fields of each event."""
    yield from _restarts(requests, error)
    ordered = sorted(requests, key=lambda each: each.begun)
    arrivals = [(each.begun, 0, number) for number, each in enumerate(ordered)]
    arrivals += [(each.done, 1, number) for number, each in enumerate(ordered) if each.answer is not None]
    numbers = {(kind, place): number for number, (_, kind, place) in enumerate(sorted(arrivals), 1)}
    connections = {name: n for n, name in enumerate(dict.fromkeys(each.connection for each in ordered), 1)}
    for place, each in enumerate(ordered):
        number, arrived, passed = numbers[0, place], max(each.begun, 0.0) + error, max(each.begun - error, 0.0)
        common = {"connection": connections[each.connection], "api": each.api, "version": each.version}
        ends: dict[str, Any] = {"source": each.source, "target": each.node, "request": True, "answers": None}
        times = {"arrived": arrived, "passed": passed}
        yield arrived, "frame", {"number": number, **common, **ends, **times, "body": each.body}
        if each.answer is not None:
            ends = {"source": each.node, "target": each.source, "request": False, "answers": number}
            times = {"arrived": each.done + error, "passed": max(each.sent - error, passed)}
            number = numbers[1, place]
            yield times["arrived"], "frame", {"number": number, **common, **ends, **times, "body": each.answer}


def _restarts(requests: Sequence[Request], error: float) -> Iterator[tuple[float, str, dict[str, Any]]]:
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
