"""Recognise the requests with which brokers ask the controller for a controlled shutdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def asks_to_stop(api: str, body: Mapping[str, Any]) -> bool:
    """Return whether a request asks for a controlled shutdown. With KRaft, a heartbeat does so.

    Parameters:
        api: the name of the request, such as ``BrokerHeartbeat``.
    """
    return api == "ControlledShutdown" or (api == "BrokerHeartbeat" and bool(body.get("WantShutDown")))
