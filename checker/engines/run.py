"""Runs a search, or a part of one, and says why it stopped: the one place where engines handle their stops."""

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
        part: what to run. It returns why the search must stop, or None.
        out_of_memory: called if Python could not get memory; says why the search must stop. By default, the budget
            says that.

    Returns:
        Why the search must stop; None if the part ended normally.
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
    """Protect what a search has found: from here on, no limit interrupts it.

    Parameters:
        budget: the time and the memory of the search.
        stop: why the search stopped; None if it came to its end.

    Returns:
        The same; or, if the spec caught an interrupt that was meant for the search, that interrupt.
    """
    budget.relax()
    return budget.swallowed or stop


def within(budget: Budget, spec: Spec[S], engine: str, search: Callable[[], T]) -> T | Result:
    """Run a whole search, and interrupt it when it exceeds a limit in the middle of a call.

    Parameters:
        budget: the time and the memory of the search.
        spec: what is searched.
        engine: the name of the engine.
        search: runs the search. It handles interrupts itself once it has something to report.

    Returns:
        What the search returned; or the result of an empty search, if a limit was reached before it had begun.
    """
    try:
        with budget.enforced():
            return search()
    except LimitReached as limit:
        return nothing_searched(spec, engine, limit.stop)
