"""Runs a search or a part of a search, and returns why it stopped. Engines handle their stops only here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from leadline.checker.engines.budget import Budget, LimitReached, StopSearch
from leadline.checker.engines.evidence import nothing_searched
from leadline.checker.result import Result, Stop
from leadline.checker.spec import Spec

S = TypeVar("S")
T = TypeVar("T")


def attempt(
    budget: Budget, part: Callable[[], Stop | None], out_of_memory: Callable[[], Stop] | None = None
) -> Stop | None:
    """Run a part of a search until it ends, is interrupted, or exceeds a limit.

    Parameters:
        budget: the time and the memory of the search.
        part: the function to run. It returns why the search must stop, or None.
        out_of_memory: called if an allocation failed; returns why the search must stop. By default,
            `Budget.memory_failed`.

    Returns:
        The reason why the search must stop; None if the part ended normally.
    """
    try:
        return part()
    except StopSearch as limit:
        return limit.stop
    except KeyboardInterrupt as interrupt:
        return budget.caught(interrupt)
    except MemoryError:
        return budget.memory_failed() if out_of_memory is None else out_of_memory()


def conclude(budget: Budget, stop: Stop | None) -> Stop | None:
    """Protect the result of a search: from now on, limits do not interrupt it.

    Parameters:
        budget: the time and the memory of the search.
        stop: why the search stopped; None if it ended normally.

    Returns:
        `stop`, or the reason of an interrupt if the spec caught one that was meant for the search.
    """
    budget.relax()
    return budget.swallowed or stop


def within(budget: Budget, spec: Spec[S], engine: str, search: Callable[[], T]) -> T | Result:
    """Run a complete search, and interrupt it if it exceeds a limit during a call.

    Parameters:
        budget: the time and the memory of the search.
        spec: the spec that is searched.
        engine: the name of the engine.
        search: runs the search. It handles interrupts itself once it has something to report.

    Returns:
        The result of `search`, or the result of an empty search if a limit was reached before the search had begun.
    """
    try:
        with budget.enforced():
            return search()
    except LimitReached as limit:
        return nothing_searched(spec, engine, limit.stop)
