"""Read the partition states in LeaderAndIsr requests, whose form depends on the version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def partition_states(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the partition states in the body of a LeaderAndIsr request, each with the name of its topic.

    Since version 2, the states are grouped by topic. See `LeaderAndIsrRequest.json` in Kafka's code.
    """
    for state in body.get("UngroupedPartitionStates") or ():
        yield state
    for topic in body.get("TopicStates") or ():
        for state in topic["PartitionStates"]:
            yield state | {"TopicName": topic["TopicName"]}
