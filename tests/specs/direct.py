"""The search by direct calls of the compiled engine finds all that the oracle finds, in the same order."""

from __future__ import annotations

from typing import Any

import attrs

from leadline.checker import Limits, Result, Spec, SpecError
from leadline.checker.engines.compiled.direct import DirectSearch
from leadline.checker.engines.oracle import OracleSearch
from leadline.checker.settings import DEFAULT, Tuning

Searched = tuple[OracleSearch[Any], Result]


def same_by_direct_calls(spec: Spec[Any], limits: Limits, tuning: Tuning = DEFAULT) -> Searched:
    """Search a spec with the oracle and by direct calls, and see that both find the same.

    Returns:
        The oracle's search.

    Raises:
        SpecError: both searches raised it.
    """
    expected, found = (_searched(cls, spec, limits, tuning) for cls in (OracleSearch, DirectSearch))
    if isinstance(expected, SpecError):
        assert str(found) == str(expected)
        raise expected
    assert not isinstance(found, SpecError), found
    assert _told(*found) == _told(*expected)
    return expected


def _searched(cls: type[OracleSearch[Any]], spec: Spec[Any], limits: Limits, tuning: Tuning) -> Searched | SpecError:
    try:
        search = cls(spec, limits, tuning=tuning)
        return search, search.run()
    except SpecError as error:
        return error


def _told(search: OracleSearch[Any], result: Result) -> Any:
    statistics = attrs.asdict(result.statistics)
    del statistics["seconds"], statistics["memory"]
    if statistics["liveness"] is not None:
        del statistics["liveness"]["seconds"]
    # as text, because True equals 1
    arrivals = [(repr(state), repr([*steps])) for state, steps in search.arrivals.items()]
    sightings = [(item.name, [(repr(s.state), repr(s.step)) for s in seen]) for item, seen in search.sightings.items()]
    properties = [(item.property.name, item.verdict, item.premise, repr(item.traces)) for item in result.properties]
    return result.verdict, result.stop, result.exhausted, result.note, statistics, arrivals, sightings, properties
