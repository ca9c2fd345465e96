"""Check that the fields of requests that are read exist, and have the types of Kafka's message definitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from leadline.brokers.conformance.fields import wrong_fields
from leadline.brokers.messages.leader_and_isr import partition_states
from leadline.brokers.messages.topics import all_partitions_in, number_of

_NUMBERS = {"BrokerEpoch", "ControllerId", "Id", "RecordSetSizeInBytes", "RecordsSizeInBytes", "ReplicaId", "ZkVersion"}
"""Numbers that are read here, besides those that `leadline conform` reads."""
_OF_STATES = ("TopicName", "PartitionIndex", "Leader", "LeaderEpoch", "Isr")


def check_request(api: str, body: Any, answer: Any) -> None:
    """Check the fields of a request and of its response.

    Raises:
        ValueError: if a field is missing, or has another type than in Kafka's message definitions.
    """
    for value in (body, {} if answer is None else answer):
        if not isinstance(value, Mapping):
            raise ValueError("a body must be an object")
        for name, wrong, expected in (*wrong_fields(value), *_wrong_numbers(value)):
            raise ValueError(f"{name} is {wrong!r}; expected {expected}")
        for part in all_partitions_in(value):
            if number_of(part) is None:
                raise ValueError("Partition is missing")
    if api in ("LeaderAndIsr", "UpdateMetadata"):
        for state in partition_states(body):
            _expect(state, *_OF_STATES, "PartitionEpoch" if "PartitionEpoch" in state else "ZkVersion")
        for broker in body.get("LiveBrokers") or ():
            _expect(broker, "Id")
    elif api == "Fetch":
        for part in all_partitions_in(body):
            _expect(part, "FetchOffset")
    elif api == "Produce":
        _expect(body, "Acks")
    elif api in ("BrokerHeartbeat", "BrokerRegistration"):
        _expect(body, "BrokerId", *(["IncarnationId"] if api == "BrokerRegistration" else []))


def _expect(fields: Mapping[str, Any], *names: str) -> None:
    for name in names:
        if fields.get(name) is None:
            raise ValueError(f"{name} is missing")


def _wrong_numbers(value: Any) -> Iterator[tuple[str, Any, str]]:
    if isinstance(value, list):
        for each in value:
            yield from _wrong_numbers(each)
    elif isinstance(value, Mapping):
        for name, each in value.items():
            if name in _NUMBERS and (not isinstance(each, int) or isinstance(each, bool)):
                yield name, each, "a whole number"
            elif name != "Directories":  # whose ids are text
                yield from _wrong_numbers(each)
