"""Find the partitions in requests and responses that list them by topic. The names of fields depend on the message and
its version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_TOPICS = ("Topics", "Responses", "TopicData")
_PARTITIONS = ("Partitions", "PartitionData", "PartitionResponses")
_NUMBERS = ("Partition", "PartitionIndex", "Index")


def topics_in(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the topics in the body of a request or response."""
    for field in _TOPICS:
        yield from body.get(field) or ()


def partitions_in(topic: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the partitions of a topic in a request or response."""
    for field in _PARTITIONS:
        yield from topic.get(field) or ()


def number_of(partition: Mapping[str, Any]) -> Any:
    """Return the number of a partition in a request or response, or None if it has no such field."""
    return next((partition[name] for name in _NUMBERS if name in partition), None)
