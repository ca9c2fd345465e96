"""Calls predicates directly, where their verdict alone is needed. `Property.complaint` also gives the reason."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CoroutineType
from typing import NamedTuple

from leadline.checker.door import check_reason
from leadline.checker.properties import Kind, Property


class Predicate(NamedTuple):
    """The predicate of a property, and whether it is a generator function.

    If the predicate does not decide alone, the function returns None.
    """

    item: Property
    function: Callable[..., object]
    yields: bool


def predicate(item: Property) -> Predicate:
    """Return the predicate of a property. Only that of an invariant that does not apply at rest decides alone."""
    if item.kind in (Kind.INVARIANT, Kind.STEP_INVARIANT) and not item.at_rest:
        return Predicate(item, item.function, inspect.isgeneratorfunction(item.function))
    return Predicate(item, _undecided, False)


def _undecided(*_: object) -> None:
    return None


def verdict(called: Predicate, *states: object) -> bool | None:
    """Return whether a predicate is true. Return None if `Spec.complaint` must decide, for example because the
    predicate raised an exception, or returned the generator of another function, which may return a value.
    """
    try:
        outcome = called.function(*states)
        if called.yields:
            for reason in outcome:  # type: ignore[attr-defined]
                check_reason(called.item.owner, called.item.function, reason)
                return False
            return True
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException:
        return None
    if isinstance(outcome, CoroutineType):
        outcome.close()  # Python would warn that it was never awaited
    return outcome if outcome is True or outcome is False else None
