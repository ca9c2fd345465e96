"""Runs the search of an engine, and determines the reason why the search stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from leadline.checker.engines.budget import Budget, LimitReached, StopSearch
from leadline.checker.engines.evidence import nothing_searched
from leadline.checker.observing.lazy import lazy_instances
from leadline.checker.result import Result, Stop
from leadline.checker.spec import Spec

S = TypeVar("S")
T = TypeVar("T")


def attempt(
    budget: Budget, part: Callable[[], Stop | None], out_of_memory: Callable[[], Stop] | None = None
) -> Stop | None:
    """Run a part of a search until it ends, is interrupted, or exceeds a limit.

    Parameters:
        budget: the time and the memory that the search may use.
        part: the part of the search. It returns the reason why the search must stop, or None.
        out_of_memory: a function that is called if an allocation fails. It returns the reason why the search must stop.
            By default, `Budget.memory_failed` is called.

    Returns:
        The reason why the search must stop, or None if the part ended normally.
    """
    try:
        return part()
    except StopSearch as limit:
        return limit.stop
    except KeyboardInterrupt as interrupt:
        return budget.caught(interrupt)
    except MemoryError:
        return budget.memory_failed() if out_of_memory is None else out_of_memory()
    finally:
        lazy_instances.clear()


def conclude(budget: Budget, stop: Stop | None) -> Stop | None:
    """Stop enforcing the limits, so that the result is not lost, and return the reason why the search stopped.

    Parameters:
        budget: the time and the memory that the search may use.
        stop: the reason that the search recorded, or None if it ended normally.

    Returns:
        The reason for the interrupt if the spec's code suppressed an interrupt, otherwise `stop`.
    """
    budget.relax()
    return budget.swallowed or stop


def within(budget: Budget, spec: Spec[S], engine: str, search: Callable[[], T]) -> T | Result:
    """Run a search, and interrupt it if it exceeds a limit on time or on memory.

    Parameters:
        budget: the time and the memory that the search may use.
        search: a function that runs the search. Once it has a partial result, it handles interrupts itself and returns
            this result.

    Returns:
        The result of `search`, or a result without states if the search was interrupted before it had a partial result.
    """
    try:
        with budget.enforced():
            return search()
    except LimitReached as limit:
        return nothing_searched(spec, engine, limit.stop)
