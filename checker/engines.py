"""The exhaustive engines, by name. Each takes the same spec and gives the same answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from checker import oracle
from checker.progress import Progress
from checker.result import Limits, Result
from checker.spec import Spec


def _compiled(spec: Spec[Any], limits: Limits | None = None, progress: Progress | None = None) -> Result:
    from checker import compiled  # importing the compiler takes a second, which other commands need not wait

    return compiled.explore(spec, limits, progress)


ENGINES: dict[str, Callable[[Spec[Any], Limits | None, Progress | None], Result]] = {
    "compiled": _compiled,
    "oracle": oracle.explore,
}
