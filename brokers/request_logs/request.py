"""A request that a broker or a KRaft controller has completed, with its response."""

from __future__ import annotations

from typing import Any

import attrs

_SIZES = ("RecordsSizeInBytes", "RecordSetSizeInBytes")


@attrs.define(eq=False)
class Request:
    """A request that a process has completed.

    Attributes:
        node: the process that logged it.
        source: the process that sent it.
        api, version: the name of the request, and its version.
        connection: the connection on which it arrived.
        body: the request, with the names of Kafka's message definitions.
        answer: the response, or None.
        begun, sent, done: the times, in seconds, at which it arrived, the process began to send the response, and the
            response was sent.
        place: the file and the number of the line.
    """

    node: int | str
    source: int | str
    api: str
    version: int
    connection: str
    body: dict[str, Any]
    answer: dict[str, Any] | None
    begun: float
    sent: float
    done: float
    place: str = ""


def take_size(part: dict[str, Any]) -> int:
    """Remove the size of a part's records, and return it."""
    return sum(part.pop(name, 0) for name in _SIZES)
