"""Frames that pass a proxy, and rules that select some of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import attrs

from leadline.brokers.ports import Node

Party = Node | Literal["client", "unknown"]
"""An end of a connection: a process of the cluster, this process ("client"), or another process ("unknown")."""


@attrs.define(eq=False)
class Frame:
    """A request or response. Only `state`, `passed` and `raw` change.

    Attributes:
        number: counts the frames of a proxy in the order in which they arrived, from 1 on.
        connection: the number of its connection.
        time: when it had arrived completely, in seconds since the proxy was created.
        source, target: the process that sent it and the one that it is for.
        request: whether it is a request. A watch of ZooKeeper is a response without a request.
        api: for example "Fetch" or "LeaderAndIsr"; of ZooKeeper "connect", "setData", "multi", "watch", ...; "?" if
            the frame could not be attributed to an API.
        version: the version of the request; 0 for ZooKeeper.
        correlation: the correlation id, or ZooKeeper's xid.
        client_id: the client id in the header of the request, if there is one.
        answers: the number of the request that a response answers, or None.
        body: the decoded body, or None. See `leadline.brokers.messages.fields` and `.zookeeper`.
        undecoded: why there is no body; None if there is one.
        size: the number of bytes, without the length in front.
        raw: the bytes, without the length in front; empty once the frame has passed or was dropped.
        state: "held" while a rule holds it, "passed" once its bytes were sent on, "dropped" if they never will be, and
            "arrived" for the moment in between.
        passed: when it passed, in seconds since the proxy was created, or None.
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
    """A condition on frames. An attribute that is None matches every frame.

    Attributes:
        source, target: the ends of the frame.
        api: the name of the API.
        request: True for requests only, False for responses only.
        where: a predicate on the decoded body, which is not called for frames that could not be decoded; they do not
            match. It is called by the proxy's thread.
    """

    source: Party | None = None
    target: Party | None = None
    api: str | None = None
    request: bool | None = None
    where: Callable[[Mapping[str, Any]], bool] | None = None

    def matches(self, frame: Frame) -> bool:
        """Return whether a frame meets the condition."""
        wanted = (self.source, self.target, self.api, self.request)
        found = (frame.source, frame.target, frame.api, frame.request)
        if any(w is not None and w != f for w, f in zip(wanted, found, strict=True)):
            return False
        return self.where is None or (frame.body is not None and self.where(frame.body))

    def __str__(self) -> str:
        kind = {True: "request", False: "response", None: "frame"}[self.request]
        ends = f"{'any' if self.source is None else self.source} to {'any' if self.target is None else self.target}"
        return f"{self.api or 'any'} {kind} from {ends}{' where ...' if self.where else ''}"
