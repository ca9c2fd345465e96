"""Read the partition states in LeaderAndIsr requests, and the errors in their responses. Their form depends on the
version.
"""

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


def partition_errors(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the result of each partition in the body of a LeaderAndIsr response, with the name or the id of its topic.

    Since version 5, the results are grouped by topic. See `LeaderAndIsrResponse.json` in Kafka's code.
    """
    yield from body.get("PartitionErrors") or ()
    for topic in body.get("Topics") or ():
        for error in topic["PartitionErrors"]:
            yield {**error, "TopicName": "", "TopicId": topic.get("TopicId")}
