"""The exhaustive engines, by name. Each takes the same spec and gives the same answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from checker import oracle
from checker.result import Limits, Result
from checker.spec import Spec


def _compiled(*arguments: Any, **settings: Any) -> Result:
    from checker import compiled  # importing the compiler takes a second, which other commands need not wait

    return compiled.explore(*arguments, **settings)


def _spark(*arguments: Any, **settings: Any) -> Result:
    from checker import distributed

    return distributed.explore(*arguments, **settings)


ENGINES: dict[str, Callable[..., Result]] = {"compiled": _compiled, "oracle": oracle.explore, "spark": _spark}
"""Each takes a spec, limits and a progress function, and has settings of its own: see the functions."""


def searched(spec: Spec[Any], limits: Limits | None = None) -> Result:
    """Search a spec with the default engine, on the way to something else.

    Raises:
        KeyboardInterrupt: the search took the Ctrl-C that was meant for all.
    """
    result = ENGINES["compiled"](spec, limits or Limits())
    if result.interrupted:
        raise KeyboardInterrupt
    return result
