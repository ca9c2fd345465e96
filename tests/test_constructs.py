"""Whatever a spec's code does to look at a state, the compiled engine gives the oracle's answers.

Each construct is used in an invariant and in an action, before and after everything else is read, with all comparisons
of learned calls switched off, so that recording has to be exact by itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from types import MappingProxyType, SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from checker import Limits, Spec, SpecError, compiled, oracle
from checker.compiled import calls, comparison, helpers, parts, search
from checker.compiled.reach import reach
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
    assert reach(CONSTRUCTS[name], [RARE], copies=True).precision == precision


def test_is_with_a_part_of_the_state_tells_no_copies_apart() -> None:
    assert reach(CONSTRUCTS["colour is"], [RARE], copies=True).told_apart == frozenset()
    assert reach(CONSTRUCTS["none in a loop"], [RARE], copies=True).told_apart == {type(None)}
    assert reach(CONSTRUCTS["colour is, in a loop"], [RARE], copies=True).told_apart == {Colour}


class Slotted:
    """Holds a function where no dictionary shows it."""

    __slots__ = ("function",)

    def __init__(self, function: Any) -> None:
        self.function = function


def same_numbers(state: Any) -> bool:
    first, second = state
    return first is second


HOLDERS = {
    "slots": Slotted(same_numbers),
    "a namespace": SimpleNamespace(function=same_numbers),
    "a mapping": SimpleNamespace(function=MappingProxyType({0: same_numbers}).__getitem__(0)),
    "a mapping in slots": Slotted(MappingProxyType({0: [same_numbers]})),
    "a queue": Slotted(deque([same_numbers])),
}


@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS.keys())
def test_functions_are_found_whatever_holds_them(holder: Any) -> None:
    """Missed, its reads would be recorded more precisely than its code allows."""
    assert reach(lambda state: holder.function(state), [RARE], copies=True).precision == Precision.STATES
