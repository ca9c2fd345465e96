"""The verdict matrix: specs x properties x configurations, each cell from a search."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import cattrs

from checker.engines import ENGINES
from checker.errors import LeadlineError
from checker.progress import Progress
from checker.result import Limits, PropertyResult, Result, Verdict
from checker.spec import Spec
from reports.loading import load_spec

SHIPPED = Path(__file__).with_name("matrix.toml")

Values = dict[str, int | bool | str]


@attrs.frozen(kw_only=True)
class Configuration:
    """A way to configure the specs.

    Attributes:
        name: what it is called.
        bounds: the bounds that differ from the matrix's own.
    """

    name: str
    bounds: Values = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Matrix:
    """What to search.

    Attributes:
        specs: the names of the specs.
        bounds: the bounds of all searches, where a configuration does not say otherwise.
        configurations: the configurations.
        properties: the properties; by default all of each spec's.
        max_states: a search stops at so many distinct states.
    """

    specs: list[str]
    configurations: list[Configuration]
    bounds: Values = attrs.field(factory=dict)
    properties: list[str] | None = None
    max_states: int | None = None

    def bounds_of(self, configuration: Configuration) -> Values:
        """The bounds of a configuration's searches that differ from the specs' own."""
        return self.bounds | configuration.bounds

    def prepared(self) -> list[tuple[Configuration, Spec[Any]]]:
        """The searches to make, each found to make sense before any is run.

        Raises:
            LeadlineError: an unknown spec or property, an impossible bound.
        """
        return [(each, self._spec(reference, each)) for each in self.configurations for reference in self.specs]

    def _spec(self, reference: str, configuration: Configuration) -> Spec[Any]:
        spec = load_spec(reference).with_bounds(self.bounds_of(configuration))
        return spec if self.properties is None else spec.with_properties(self.properties)

    def columns(self, progress: Progress | None = None) -> Iterator[Column]:
        """The results, by configuration and then by spec, as they come."""
        limits = Limits(keep_going=True, max_states=self.max_states)
        for configuration, spec in self.prepared():
            result = ENGINES["compiled"](spec, limits, progress)
            yield Column(
                configuration, spec.name, {item.property.name: Cell.of(item, result) for item in result.properties}
            )


@attrs.frozen
class Cell:
    """A verdict on one property, with the number that goes with it.

    Attributes:
        verdict: the verdict.
        text: the verdict in words; with the distinct states if it holds, the states of a shortest trace
            if it is violated, the depth reached if the search is incomplete.
    """

    verdict: Verdict
    text: str

    @classmethod
    def of(cls, item: PropertyResult, result: Result) -> Cell:
        """What a search says of a property."""
        verdict, statistics = item.verdict, result.statistics
        length = len(item.traces[0]) if item.traces else 0
        if item.property.kind.is_witness and verdict is not Verdict.INCOMPLETE:
            return cls(verdict, f"shown ({length})" if length else "never shown")
        number = {
            Verdict.HOLDS: f"{statistics.distinct:,}",
            Verdict.VIOLATED: f"{length}",
            Verdict.INCOMPLETE: f"depth {statistics.depth}",
        }[verdict]
        return cls(verdict, f"{verdict.value} ({number})")


@attrs.frozen
class Column:
    """What a search of one spec in one configuration says, by property."""

    configuration: Configuration
    spec: str
    cells: dict[str, Cell]


def read_matrix(path: Path) -> Matrix:
    """Read a matrix from a TOML file.

    Parameters:
        path: a file with ``specs``, ``[[configurations]]``, and perhaps ``bounds``, ``properties``, ``max_states``.

    Raises:
        LeadlineError: the file cannot be read or makes no sense.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        return _converter().structure(content, Matrix)
    except OSError as error:
        raise LeadlineError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LeadlineError(f"{path} is not TOML: {error}") from error
    except cattrs.BaseValidationError as error:
        first = cattrs.transform_error(error)[0]
        raise LeadlineError(f"{path} is no matrix: {first.replace(' @ $.', ', at ').replace(' @ $', '')}") from error


def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True)
    converter.register_structure_hook_func(lambda kind: bool(kind == Values), _values)
    return converter


def _values(value: Any, _: Any) -> Values:
    if type(value) is not dict or not {int, bool, str}.issuperset(map(type, value.values())):
        raise TypeError(f"must be a table of integers, booleans and strings, not {value!r}")
    return value
