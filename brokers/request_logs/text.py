"""Read the lines that Kafka 1.0 to 2.7 writes for completed requests. They are text.

A line has the header of the request, its body, the response and the durations (`RequestChannel.updateRequestMetrics` in
Kafka's code). Bodies are in the format of `Struct.toString`: ``{name=value,...}`` with lists in ``[...]``. Values are
not quoted, so a value ends where the next name, or the end of the struct, begins. The body of a Produce request is in a
format of its own, `ProduceRequest.toString`, with the sizes of partitions only at level TRACE.

Until 2.3, and for some requests until 2.5, structs have other names than the message definitions of later releases. The
result has the names of those.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

HEADER = "RequestHeader(apiKey="
"""The beginning of a completed request."""

_LINE = re.compile(
    r"\s*RequestHeader\(apiKey=(?P<api>\w+), apiVersion=(?P<version>\d+), clientId=(?P<client>.*?), "
    r"correlationId=-?\d+\) -- (?P<request>\{.*\}),response:(?P<response>(?:\{.*\})?) from connection "
    r"(?P<connection>[^;]+);totalTime:(?P<total>[\d.E-]+),.*?,sendTime:(?P<send>[\d.E-]+)",
    re.DOTALL,
)
_API = re.compile(r"\s*RequestHeader\(apiKey=(\w+),")
_FETCHER = re.compile(r"broker-(\d+)-fetcher-\d+")
_NAME = re.compile(r"(\w+)=")
_OF_RECORDS = re.compile(r"[^{}]*?(?=,_tagged_fields=|\})")
_SCALAR = re.compile(r"[^{}]*?(?=,\w+=|\})")
_ELEMENT = re.compile(r"[^{},\[\]]*")
_NUMBER = re.compile(r"-?\d+")
_SIZE = re.compile(r"\w+Records\(size=(\d+)")

_TEXTS = {"topic", "topic_name", "name", "value", "config_name", "config_value"}
"""Fields that are text, whatever they contain."""
_RECORDS = ("record_set", "records")
_LEFT_OUT = {"_tagged_fields", "record_errors", "error_message"}

_RENAMED = {
    "config_entries": "Configs",
    "config_name": "Name",
    "config_value": "Value",
    "create_topic_requests": "Topics",
    "epoch": "SessionEpoch",
    "forgetten_topics_data": "ForgottenTopicsData",
}
"""Names that differ from those of later releases in more than their form."""

NOT_THE_FORMAT = "the request is not in the text format that kafka.request.logger has used from Kafka 1.0 to 2.7"
WITHOUT_SIZES = "the sizes of partitions are missing: kafka.request.logger must have the level TRACE on all brokers"


class NotText(Exception):
    """Raised when a line is not in the format of Kafka 1.0 to 2.7. The message says what is wrong."""


def api_of(text: str) -> str:
    """Return the name of a completed request, such as ``FETCH``.

    Raises:
        NotText: if the text does not begin with the header of a request.
    """
    found = _API.match(text)
    if found is None:
        raise NotText(NOT_THE_FORMAT)
    return found[1]


def read_text(text: str) -> dict[str, Any]:
    """Read the text of a completed request, without the words before it.

    Returns:
        The same fields as in the JSON of later releases, with the names of Kafka's message definitions in bodies.

    Raises:
        NotText: if the text is not in the format, or lacks necessary data.
    """
    found = _LINE.match(text)
    if found is None:
        raise NotText(NOT_THE_FORMAT)
    api = found["api"]
    body = _produced(found["request"]) if api == "PRODUCE" else _body(api, found["request"])
    fetcher = _FETCHER.fullmatch(found["client"])
    if api == "OFFSET_FOR_LEADER_EPOCH" and "ReplicaId" not in body and fetcher is not None:
        body["ReplicaId"] = int(fetcher[1])  # up to version 2, the request does not name its sender
    return {
        "requestHeader": {"requestApiKeyName": api, "requestApiVersion": int(found["version"])},
        "request": body,
        "response": _body(api, found["response"]) if found["response"] and api != "CREATE_TOPICS" else None,
        "connection": found["connection"],
        "totalTimeMs": float(found["total"]),
        "sendTimeMs": float(found["send"]),
    }


def _produced(text: str) -> dict[str, Any]:
    found = re.fullmatch(r"\{acks=(-?\d+),timeout=-?\d+,partitionSizes=\[(.*)\]\}", text)
    if found is None:
        raise NotText(
            WITHOUT_SIZES
            if ",numPartitions=" in text
            else "the Produce request is not in the format of Kafka 1.0 to 2.7"
        )
    topics: dict[str, list[dict[str, int]]] = {}
    for each in filter(None, found[2].split(",")):
        partition = re.fullmatch(r"(.+)-(\d+)=(\d+)", each)
        if partition is None:
            raise NotText(f"{each!r} in a Produce request must be TOPIC-PARTITION=SIZE")
        topics.setdefault(partition[1], []).append(
            {"Index": int(partition[2]), "RecordSetSizeInBytes": int(partition[3])}
        )
    return {
        "Acks": int(found[1]),
        "TopicData": [{"Name": name, "PartitionData": parts} for name, parts in topics.items()],
    }


def _body(api: str, text: str) -> dict[str, Any]:
    value, end = _struct(text, 0)
    if end != len(text):
        raise NotText(f"{text[end : end + 20]!r} follows the end of a struct")
    body: dict[str, Any] = _named(value)
    if api in ("LEADER_AND_ISR", "UPDATE_METADATA"):
        _rename_states(body)
    elif api == "CREATE_TOPICS":
        for topic in body["Topics"]:
            _rename(topic, "Topic", "Name")
    return body


def _struct(text: str, at: int) -> tuple[dict[str, Any], int]:
    """Read the struct that begins at a position. Return its fields, and the position after it."""
    found: dict[str, Any] = {}
    at = _expect(text, at, "{")
    while not text.startswith("}", at):
        if found:
            at = _expect(text, at, ",")
        name = _NAME.match(text, at)
        if name is None:
            raise NotText(f"expected a name and '=', but found {text[at : at + 20]!r}")
        found[name[1]], at = _value(name[1], text, name.end())
    return found, at + 1


def _value(name: str, text: str, at: int) -> tuple[Any, int]:
    if text.startswith("{", at):
        return _struct(text, at)
    if text.startswith("[", at) and name not in _RECORDS and name not in _TEXTS:
        return _list(text, at)
    scalar = (_OF_RECORDS if name in _RECORDS else _SCALAR).match(text, at)
    if scalar is None:
        raise NotText(f"the end of the value of {name} is missing")
    if name in _RECORDS:
        return _size(scalar[0]), scalar.end()
    return scalar[0] if name in _TEXTS and scalar[0] != "null" else _scalar(scalar[0]), scalar.end()


def _list(text: str, at: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    at = _expect(text, at, "[")
    while not text.startswith("]", at):
        if found:
            at = _expect(text, at, ",")
        if text.startswith("{", at):
            element, at = _struct(text, at)
        else:
            scalar = _ELEMENT.match(text, at)
            assert scalar is not None  # it matches nothing too
            if not scalar[0]:
                raise NotText(f"expected an element of a list, but found {text[at : at + 20]!r}")
            element, at = _scalar(scalar[0]), scalar.end()
        found.append(element)
    return found, at + 1


def _expect(text: str, at: int, mark: str) -> int:
    if not text.startswith(mark, at):
        raise NotText(f"expected {mark!r}, but found {text[at : at + 20]!r}")
    return at + 1


def _scalar(text: str) -> Any:
    if _NUMBER.fullmatch(text):
        return int(text)
    return {"null": None, "true": True, "false": False}.get(text, text)


def _size(text: str) -> int:
    """Return the size of records in bytes, or 1 if only their existence is known.

    Until 2.3, records in memory are a list of records, and records in a file, of which there is at least one for a
    follower, are the name of a Java class.
    """
    if text in ("[]", "null"):
        return 0
    size = _SIZE.match(text)
    return 1 if size is None else int(size[1])


def _named(value: Any) -> Any:
    """Return a struct with the names of Kafka's message definitions."""
    if isinstance(value, Mapping):
        found: dict[str, Any] = {}
        for name, each in value.items():
            if name == "partition_header":
                found |= _named(each)
            elif name in _RECORDS:
                found["RecordSetSizeInBytes"] = each
            elif name not in _LEFT_OUT:
                found[_RENAMED.get(name) or "".join(map(str.capitalize, name.split("_")))] = _named(each)
        return found
    return [_named(each) for each in value] if isinstance(value, list) else value


def _rename_states(body: dict[str, Any]) -> None:
    """Rename the fields of partition states that differed before 2.4."""
    if "PartitionStates" in body:
        body["UngroupedPartitionStates"] = body.pop("PartitionStates")
    for topic in body.get("TopicStates") or ():
        _rename(topic, "Topic", "TopicName")
        for state in topic["PartitionStates"]:
            _rename(state, "Partition", "PartitionIndex")
    for state in body.get("UngroupedPartitionStates") or ():
        _rename(state, "Topic", "TopicName")
        _rename(state, "Partition", "PartitionIndex")


def _rename(fields: dict[str, Any], old: str, new: str) -> None:
    if old in fields:
        fields[new] = fields.pop(old)
