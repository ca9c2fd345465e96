"""Read the requests in the files of `kafka.request.logger`.

Since Kafka 2.8, a line has a completed request and its response as JSON (`RequestConvertToJson` in Kafka's code), with
their fields and the durations, but only the size of records. Kafka 1.0 to 2.7 writes text; see
`leadline.brokers.request_logs.text`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from leadline.brokers.recording import RecordingError
from leadline.brokers.request_logs.fields import check_request
from leadline.brokers.request_logs.request import Request
from leadline.brokers.request_logs.text import HEADER, NOT_THE_FORMAT, NotText, api_of, read_text

MARK = "Completed request:"
_HEADER_UP_TO_0_11 = re.compile(r"\s*\{\w+=")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)[,.](\d{3,6})")

_NAMES = {
    "ALTER_ISR": "AlterPartition",
    "ALTER_PARTITION": "AlterPartition",
    "ASSIGN_REPLICAS_TO_DIRS": "AssignReplicasToDirs",
    "BROKER_HEARTBEAT": "BrokerHeartbeat",
    "BROKER_REGISTRATION": "BrokerRegistration",
    "CONTROLLED_SHUTDOWN": "ControlledShutdown",
    "CREATE_TOPICS": "CreateTopics",
    "ELECT_LEADERS": "ElectLeaders",
    "FETCH": "Fetch",
    "LEADER_AND_ISR": "LeaderAndIsr",
    "OFFSET_FOR_LEADER_EPOCH": "OffsetForLeaderEpoch",
    "PRODUCE": "Produce",
    "UPDATE_METADATA": "UpdateMetadata",
}
"""The requests that are read, by their names in the files."""

_WITHOUT_RESPONSE = (
    "the request is text without its response, as Kafka up to 0.11 writes it: record the cluster with --broker and "
    "--zookeeper"
)
_NOT_JSON = "the request is not in the JSON format that kafka.request.logger has used since Kafka 2.8"

_LEFT_OUT = {"LiveLeaders", "Principal", "ErrorMessage", "RecordErrors"}
_SENDERS = ("ReplicaId", "ControllerId", "BrokerId")


def requests_in(node: int, path: Path) -> Iterator[Request]:
    """Yield the requests in a file, in the order of its lines.

    Parameters:
        node: the id of the broker or controller that wrote the file.
        path: the path of the file.

    Raises:
        RecordingError: if the file cannot be read, or is not a file of `kafka.request.logger`.
    """
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
    is_json = text.lstrip().startswith("{") and not _HEADER_UP_TO_0_11.match(text)
    try:
        told = _read_json(text) if is_json else _read_text(text)
        if told is None:
            return None
        header, body, answer = told["requestHeader"], told["request"], told["response"]
        name = _NAMES[header["requestApiKeyName"]]
        answer = dict(answer) if isinstance(answer, Mapping) and name != "CreateTopics" else None
        check_request(name, body, answer)
        done = datetime.fromisoformat(f"{time[1]}T{time[2]}.{time[3]}").replace(tzinfo=UTC).timestamp()
        return Request(
            node=node,
            source=_sender(name, body),
            api=name,
            version=header["requestApiVersion"],
            connection=f"{node} {told['connection']}",
            body=body,
            answer=answer,
            begun=done - told["totalTimeMs"] / 1000,
            sent=done - told["sendTimeMs"] / 1000,
            done=done,
            place=place,
        )
    except NotText as error:
        raise RecordingError(f"{place}: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration) as error:
        why = f": {error}" if type(error) is ValueError else ""
        raise RecordingError(f"{place}: {_NOT_JSON if is_json else NOT_THE_FORMAT}{why}") from error


def _read_json(text: str) -> dict[str, Any] | None:
    told, _ = json.JSONDecoder().raw_decode(text.lstrip())
    if told["requestHeader"]["requestApiKeyName"] not in _NAMES:
        return None
    return {**told, "request": _named(told["request"]), "response": _named(told["response"])}


def _read_text(text: str) -> dict[str, Any] | None:
    if ",response:" not in text and not text.lstrip().startswith(HEADER):
        raise NotText(_WITHOUT_RESPONSE)
    return read_text(text) if api_of(text) in _NAMES else None


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
