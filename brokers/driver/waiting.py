"""Wait for brokers to do something."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

POLL_SECONDS = 0.05

T = TypeVar("T")


class StepFailed(Exception):
    """Raised when a step cannot be executed: for example, a frame does not arrive, or a process does not start."""


def until(found: Callable[[], T | None], limit: float, what: str) -> T:
    """Call a function repeatedly until it returns a value other than None or False, and return this value.

    Parameters:
        found: the function to call.
        limit: the time limit, in seconds.
        what: the error message.

    Raises:
        StepFailed: if the function returns no such value within the time limit.
    """
    end = time.monotonic() + limit
    while True:
        value = found()
        if value is not None and value is not False:
            return value
        if time.monotonic() > end:
            raise StepFailed(what)
        time.sleep(POLL_SECONDS)


def until_alike(observe: Callable[[], T], differences: Callable[[T], list[str]], limit: float) -> tuple[T, list[str]]:
    """Observe repeatedly until the observation is as in the model or the time limit is reached.

    Parameters:
        observe: a function that returns an observation.
        differences: a function that returns a sentence for each difference between an observation and the model.
        limit: the time limit, in seconds.

    Returns:
        The last observation, and its differences from the model.
    """
    end = time.monotonic() + limit
    while True:
        seen = observe()
        found = differences(seen)
        if not found or time.monotonic() > end:
            return seen, found
        time.sleep(POLL_SECONDS)
