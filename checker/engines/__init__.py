"""The search engines. `ENGINES` maps the name of each engine to the engine itself.

Every engine is called with a spec, limits, a progress function and settings, and returns a `Result`.
"""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar

import attrs

from leadline.checker.engines import compiled, oracle
from leadline.checker.engines.progress import Progress
from leadline.checker.engines.set_order import with_order_checked
from leadline.checker.engines.symmetric import SymmetricSearch
from leadline.checker.errors import SpecError
from leadline.checker.liveness.refusal import refuse_liveness
from leadline.checker.observing.line_coverage import with_source
from leadline.checker.result import Limits, Result
from leadline.checker.settings import CompiledSettings, EngineSettings, OracleSettings, RandomSettings, SparkSettings
from leadline.checker.spec import Spec

__all__ = ["ENGINES", "Engine"]

S = TypeVar("S")
Settings = TypeVar("Settings", bound=EngineSettings)
Taken = TypeVar("Taken", contravariant=True)


class Search(Protocol[Taken]):
    """The type of an engine's search function."""

    def __call__(self, spec: Spec[S], limits: Limits, progress: Progress | None, settings: Taken, /) -> Result: ...


@attrs.frozen
class Engine(Generic[Settings]):
    """A search engine. Call an instance to search a spec.

    Attributes:
        settings: the class of the engine's settings.
        search: the search function. It imports slow dependencies only when it is called.
        is_exhaustive: whether the engine searches every reachable state unless a limit stops it.
        measures_lines: whether the engine can measure the line coverage of the spec's functions. It does so if
            `Limits.coverage` is true.
    """

    settings: type[Settings]
    search: Search[Settings]
    is_exhaustive: bool = True
    measures_lines: bool = False

    def __call__(
        self,
        spec: Spec[S],
        limits: Limits | None = None,
        progress: Progress | None = None,
        settings: Settings | None = None,
    ) -> Result:
        """Search a spec.

        Parameters:
            limits: the limits of the search. By default, the search stops at the first violation, or when most of the
                free memory is used.
            progress: a function that is called regularly with the current statistics.
            settings: the settings of the engine. By default, an instance of `self.settings` with its default values.

        Returns:
            The result of the search. If the search was interrupted (Ctrl-C) or reached a limit, the result is marked as
            incomplete and contains everything that was found up to that point.

        Raises:
            SpecError: if an action or a property raised an exception or is not a pure function, or if `settings` is not
                an instance of `self.settings`, or exclude coverage.
            LeadlineError: if the engine cannot run with these settings.
        """
        settings = self.settings() if settings is None else settings
        if not isinstance(settings, self.settings):
            raise SpecError(
                f"the settings of this engine must be of type {self.settings.__name__}, not {type(settings).__name__}"
            )
        limits = limits or Limits()
        if limits.coverage:
            settings.allow_coverage()
        if limits.coverage and self.measures_lines:
            result = with_source(spec, lambda fresh: self.search(fresh, limits, progress, settings))
        else:
            result = self.search(spec, limits, progress, settings)
        return attrs.evolve(result, sought=limits.sought).resting()


def explore(
    spec: Spec[S],
    limits: Limits | None = None,
    progress: Progress | None = None,
    settings: CompiledSettings | None = None,
) -> Result:
    """Search every reachable state of a spec with the compiled engine. For the parameters, see `Engine.__call__`."""
    return ENGINES["compiled"](spec, limits, progress, settings)


def fuzz(
    spec: Spec[S],
    limits: Limits | None = None,
    progress: Progress | None = None,
    settings: RandomSettings | None = None,
) -> Result:
    """Run a random search of a spec. For the parameters, see `leadline.checker.engines.random.search.fuzz`."""
    return ENGINES["random"](spec, limits, progress, settings)


def searched(spec: Spec[S], limits: Limits | None = None, progress: Progress | None = None) -> Result:
    """Search a spec with the compiled engine, and check that the spec does not depend on the iteration order of sets.

    Raises:
        SpecError: if an action or a property raised an exception or is not a pure function, or if the spec depends on
            the iteration order of a set.
        KeyboardInterrupt: if the search was interrupted.
    """
    result = with_order_checked(spec, lambda: explore(spec, limits, progress))
    if result.interrupted:
        raise KeyboardInterrupt
    return result


def _oracle(spec: Spec[S], limits: Limits, progress: Progress | None, settings: OracleSettings) -> Result:
    kind = SymmetricSearch if settings.symmetry else None
    return oracle.explore(spec, limits, progress, tuning=settings.tuning, kind=kind)


# The next two engines are imported when they are called, because importing Numba takes a second. The compiled engine
# imports Numba only if it uses transition tables.


def _spark(spec: Spec[S], limits: Limits, progress: Progress | None, settings: SparkSettings) -> Result:
    from leadline.checker.engines import spark

    refuse_liveness(spec, "the spark engine", "select other properties (with -i), or use the compiled engine")
    spark.require_packages()
    from leadline.checker.engines.spark import launch

    return launch.explore(spec, limits, progress, settings)


def _random(spec: Spec[S], limits: Limits, progress: Progress | None, settings: RandomSettings) -> Result:
    from leadline.checker.engines.random import search

    return search.fuzz(spec, limits, progress, settings)


ENGINES: dict[str, Engine[Any]] = {
    "compiled": Engine(CompiledSettings, compiled.explore, measures_lines=True),
    "oracle": Engine(OracleSettings, _oracle, measures_lines=True),
    "spark": Engine(SparkSettings, _spark),
    "random": Engine(RandomSettings, _random, is_exhaustive=False),
}
"""All engines by name. The default engine is ``compiled``."""

EXHAUSTIVE = {name: engine for name, engine in ENGINES.items() if engine.is_exhaustive}
"""The engines that search every reachable state, keyed by name."""
