"""Waiting for what brokers do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

POLL_SECONDS = 0.05

T = TypeVar("T")


class NotMade(Exception):
    """A step could not be made: a frame did not come, or a process did not start."""


def until(found: Callable[[], T | None], limit: float, what: str) -> T:
    """Wait until a function returns something other than None and False, and return it.

    Parameters:
        found: the function, which is called again and again.
        limit: in seconds.
        what: why the step is not made otherwise.

    Raises:
        NotMade: if the function returned nothing in time.
    """
    end = time.monotonic() + limit
    while True:
        value = found()
        if value is not None and value is not False:
            return value
        if time.monotonic() > end:
            raise NotMade(what)
        time.sleep(POLL_SECONDS)
