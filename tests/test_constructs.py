"""Whatever a spec's code does to look at a state, the compiled engine gives the oracle's answers.

Each construct is used in an invariant and in an action, before and after everything else is read, with all comparisons
of learned calls switched off, so that recording has to be exact by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest

from checker import Limits, Spec, SpecError, compiled, oracle
from checker.compiled import calls, comparison, helpers, parts, search
from checker.compiled.reach import Reach
from checker.compiled.recording import Precision
from tests.constructs import CONSTRUCTS, RARE, Colour, State, spec_of


def answer(explore: Callable[..., Any], spec: Spec[State], **settings: Any) -> Any:
    """What an engine says, or "refused"."""
    try:
        result = explore(spec, Limits(), **settings)
    except SpecError:
        return "refused"
    (item,) = result.properties
    statistics = result.statistics
    return item.verdict, list(map(len, item.traces)), statistics.distinct, statistics.generated


@pytest.fixture(scope="module", autouse=True)
def no_comparisons() -> Iterator[None]:
    """All comparisons of what was learned with what functions do are off, and blocks are small."""
    with (
        mock.patch.multiple(calls, COMPARED=0),
        mock.patch.multiple(comparison, LOOKED_AT=0, ALL_OF=0),
        mock.patch.object(search, "ALL_OF", 0),
        mock.patch.multiple(search, BLOCK=50, ALONE=1000),
        mock.patch.multiple(parts, MOST_ASKED=5),
        mock.patch.multiple(helpers, STARTED_AFTER=10**9),
    ):
        yield


@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
@pytest.mark.parametrize("guard", [True, False], ids=["action", "invariant"])
@pytest.mark.parametrize("name", CONSTRUCTS)
def test_a_construct_is_exact_or_refused(name: str, guard: bool, first: bool) -> None:
    spec = spec_of(CONSTRUCTS[name], guard=guard, first=first)
    assert answer(compiled.explore, spec, workers=1) in (answer(oracle.explore, spec), "refused")


PRECISION = {
    "simple": Precision.COPIES,
    "colour is": Precision.COPIES,
    "none": Precision.COPIES,
    "match": Precision.ELEMENTS,
    "sorted with key": Precision.COPIES,
    "eq of states": Precision.COPIES,
    "isinstance": Precision.COPIES,
    "isinstance type(self)": Precision.FIELDS,
    "type is": Precision.FIELDS,
    "__class__ is self.__class__": Precision.COPIES,
    "copy": Precision.FIELDS,
    "cache": Precision.FIELDS,
    "descriptor": Precision.STATES,
    "is of procs": Precision.STATES,
    "referents": Precision.STATES,
    "eval": Precision.STATES,
}


@pytest.mark.parametrize(("name", "precision"), PRECISION.items())
def test_reads_are_recorded_as_precisely_as_a_construct_allows(name: str, precision: Precision) -> None:
    assert Reach(CONSTRUCTS[name], [RARE], copies=True).precision == precision


def test_is_with_a_part_of_the_state_tells_no_copies_apart() -> None:
    assert Reach(CONSTRUCTS["colour is"], [RARE], copies=True).told_apart == set()
    assert Reach(CONSTRUCTS["none in a loop"], [RARE], copies=True).told_apart == {type(None)}
    assert Reach(CONSTRUCTS["colour is, in a loop"], [RARE], copies=True).told_apart == {Colour}
