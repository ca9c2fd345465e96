"""Read what consumers send each other through the coordinator of the classic protocol: subscriptions and assignments
(Kafka's ConsumerProtocolSubscription.json and ConsumerProtocolAssignment.json, versions 0 to 3).
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Any

import attrs

from leadline.brokers.conformance.not_followed import NotFollowed
from leadline.model.disk.wire import Malformed, Wire

NO_GENERATION = -1

Partitions = frozenset[tuple[str, int]]
"""Pairs of a topic and the number of a partition."""


@attrs.frozen
class Subscription:
    """What a consumer says when it joins.

    Attributes:
        topics: the topics that it subscribes to.
        owned: the partitions that it owns.
        generation: the generation in which it got them, or -1. None before version 2.
    """

    topics: frozenset[str] = frozenset()
    owned: Partitions = frozenset()
    generation: int | None = None


def bytes_of(value: Any) -> bytes | None:
    """Return recorded bytes, or None if the recording only has their checksum."""
    if isinstance(value, Mapping):
        return b64decode(value["base64"]) if "base64" in value else None
    return str(value).encode()


def read_subscription(data: bytes) -> Subscription:
    """Return a subscription. Fields of later versions, and what an assignor adds, are not read.

    Raises:
        NotFollowed: if the bytes are not a subscription, as those of Kafka Connect.
    """
    try:
        wire = Wire(data)
        version = wire.int16()
        topics = frozenset(_string(wire) for _ in range(wire.int32()))
        wire.take(max(wire.int32(), 0))
        owned = _partitions(wire) if version >= 1 else frozenset()
        return Subscription(topics, owned, wire.int32() if version >= 2 else None)
    except Malformed as error:
        raise NotFollowed(f"the metadata of a member is not a consumer's subscription: {error}") from error


def read_assignment(data: bytes) -> Partitions:
    """Return the partitions of an assignment. An empty one has no bytes.

    Raises:
        NotFollowed: if the bytes are not an assignment.
    """
    try:
        wire = Wire(data)
        if not data:
            return frozenset()
        wire.int16()
        return _partitions(wire)
    except Malformed as error:
        raise NotFollowed(f"an assignment is not that of a consumer: {error}") from error


def _partitions(wire: Wire) -> Partitions:
    found = set[tuple[str, int]]()
    for _ in range(wire.int32()):
        topic = _string(wire)
        found |= {(topic, wire.int32()) for _ in range(wire.int32())}
    return frozenset(found)


def _string(wire: Wire) -> str:
    try:
        return wire.take(wire.int16()).decode()
    except UnicodeDecodeError as error:
        raise Malformed("a string is not UTF-8") from error
