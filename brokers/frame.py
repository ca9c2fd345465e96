"""Frames that pass through a proxy, and rules that select frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import attrs

from leadline.brokers.ports import Node

Party = Node | Literal["client", "unknown"]
"""An end of a connection: a process of the cluster, this process ("client"), or another process ("unknown")."""


@attrs.define(eq=False)
class Frame:
    """A request or a response that a proxy received. Only `state`, `passed` and `raw` change.

    Attributes:
        number: the position of the frame in order of arrival, from 1.
        connection: the number of the connection.
        time: the time when the last byte arrived, in seconds since the proxy was created.
        source, target: the sender and the receiver.
        request: True for a request, False for a response. A watch event of ZooKeeper is a response without a request.
        api: the name of the API, such as "Fetch" or "LeaderAndIsr"; for ZooKeeper "connect", "setData", "multi",
            "watch" and so on; "?" if the API is unknown.
        correlation: the correlation id, or ZooKeeper's xid.
        client_id: the client id in the header of the request, or None.
        answers: the number of the request to which a response belongs, or None.
        body: the decoded body (see `leadline.brokers.messages`), or None if it was not decoded.
        undecoded: the reason why the body could not be decoded, or None.
        size: the number of bytes, without the length field.
        raw: the bytes, without the length field. Empty after the frame was forwarded or dropped.
        state: "arrived", "held" while a rule holds the frame, "passed" after it was forwarded, or "dropped".
        passed: the time of forwarding, in seconds since the proxy was created, or None.
    """

    number: int
    connection: int
    time: float
    source: Party
    target: Party
    request: bool
    api: str
    version: int
    correlation: int
    client_id: str | None
    answers: int | None
    body: Mapping[str, Any] | None
    undecoded: str | None
    size: int
    raw: bytes = attrs.field(repr=False)
    state: Literal["arrived", "held", "passed", "dropped"] = "arrived"
    passed: float | None = None

    def __str__(self) -> str:
        kind = "request" if self.request else "response"
        return f"frame {self.number}, {self.api} {kind} from {self.source} to {self.target}"


@attrs.frozen
class Rule:
    """A condition that frames can satisfy. An attribute with the value None matches every frame.

    Attributes:
        source, target: the sender and the receiver of the frame.
        request: True for requests only, False for responses only.
        where: a predicate on the decoded body. It is called by the proxy's thread. Frames that could not be decoded
            do not match.
    """

    source: Party | None = None
    target: Party | None = None
    api: str | None = None
    request: bool | None = None
    where: Callable[[Mapping[str, Any]], bool] | None = None

    def matches(self, frame: Frame) -> bool:
        """Return whether a frame satisfies the condition."""
        wanted = (self.source, self.target, self.api, self.request)
        found = (frame.source, frame.target, frame.api, frame.request)
        if any(w is not None and w != f for w, f in zip(wanted, found, strict=True)):
            return False
        return self.where is None or (frame.body is not None and self.where(frame.body))

    def __str__(self) -> str:
        kind = {True: "request", False: "response", None: "frame"}[self.request]
        ends = f"{'any' if self.source is None else self.source} to {'any' if self.target is None else self.target}"
        return f"{self.api or 'any'} {kind} from {ends}{' where ...' if self.where else ''}"
