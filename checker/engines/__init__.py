"""The exhaustive engines, by name. Each takes the same spec and gives the same answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from leadline.checker.engines import oracle
from leadline.checker.engines.progress import Progress
from leadline.checker.errors import SpecError
from leadline.checker.observing.line_coverage import with_source
from leadline.checker.result import Limits, Result
from leadline.checker.settings import CompiledSettings, OracleSettings, SparkSettings
from leadline.checker.spec import Spec


class Engine(Protocol):
    """Searches every reachable state of a spec."""

    def __call__(
        self,
        spec: Spec[Any],
        limits: Limits | None = None,
        progress: Progress | None = None,
        settings: Any = None,
    ) -> Result:
        """Search a spec.

        Parameters:
            spec: what to search.
            limits: what may stop the search early; by default the first violation, and most of the free memory.
            progress: called every so often with the counts so far.
            settings: of the class that `SETTINGS` has for this engine; None: the defaults.

        Raises:
            SpecError: the spec misbehaved.
            LeadlineError: what the settings name cannot be used.
        """


def explore(
    spec: Spec[Any],
    limits: Limits | None = None,
    progress: Progress | None = None,
    settings: CompiledSettings | None = None,
) -> Result:
    """Search a spec with the compiled engine, the default. See `Engine`."""
    from leadline.checker.engines import (
        compiled,  # importing the compiler takes a second, which other commands need not wait
    )

    if limits is None or not limits.coverage:
        return compiled.explore(spec, limits, progress, settings)
    if settings is not None and settings.resume is not None:
        raise SpecError("coverage needs the whole search: what was run before it was saved is not known")
    return with_source(spec, lambda fresh: compiled.explore(fresh, limits, progress, settings))


def _oracle(
    spec: Spec[Any],
    limits: Limits | None = None,
    progress: Progress | None = None,
    settings: OracleSettings | None = None,
) -> Result:
    if limits is not None and limits.coverage:
        return with_source(spec, lambda fresh: oracle.explore(fresh, limits, progress))
    return oracle.explore(spec, limits, progress)


def _spark(
    spec: Spec[Any],
    limits: Limits | None = None,
    progress: Progress | None = None,
    settings: SparkSettings | None = None,
) -> Result:
    from leadline.checker.engines import spark as distributed

    if limits is not None and limits.coverage:
        raise SpecError("coverage is collected by the compiled engine and the oracle, not by spark")
    return distributed.explore(spec, limits, progress, settings)


ENGINES: dict[str, Engine] = {"compiled": explore, "oracle": _oracle, "spark": _spark}

SETTINGS: Mapping[str, type[Any]] = {"compiled": CompiledSettings, "oracle": OracleSettings, "spark": SparkSettings}
"""The class of each engine's settings."""


def searched(spec: Spec[Any], limits: Limits | None = None) -> Result:
    """Search a spec with the default engine, on the way to something else.

    Raises:
        KeyboardInterrupt: the search took the Ctrl-C that was meant for all.
    """
    result = ENGINES["compiled"](spec, limits or Limits())
    if result.interrupted:
        raise KeyboardInterrupt
    return result
