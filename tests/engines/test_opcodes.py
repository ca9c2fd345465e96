"""The recording understands only what is on its lists; any other function gets whole states."""

from __future__ import annotations

import dis
import functools
import operator
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import attrs
import pytest

from leadline.checker import Spec, Verdict, action, component, invariant
from leadline.checker.engines import compiled, oracle
from leadline.checker.observing import opcodes
from leadline.checker.observing.lazy import make_lazy, make_ordinary
from leadline.checker.observing.reach import Reach, _packages, reach, reaching
from leadline.checker.observing.recording import Precision
from leadline.checker.properties import AT_REST
from leadline.checker.settings import CompiledSettings
from leadline.checker.update import field_of
from leadline.invariants import catalog
from tests.specs import learning
from tests.specs.agreement import answers
from tests.specs.going_wrong import ONLY_LEARNED


@attrs.frozen
class State:
    bits: tuple[int, ...] = component(default=(0, 0, 0))
    box: frozenset[int] = frozenset()


@action(place=range(3))
def flip(s: State, place: int) -> Iterator[State]:
    yield attrs.evolve(s, bits=(*s.bits[:place], 1 - s.bits[place], *s.bits[place + 1 :]))


@action(number=range(8))
def fill(s: State, number: int) -> Iterator[State]:
    yield attrs.evolve(s, box=frozenset({number}))


IN_PLACE: Callable[[Any, Any], Any] = operator.ior


def merge(total: set[int], part: frozenset[int]) -> None:
    total |= part


def merged(s: State) -> set[int]:
    total: set[int] = set()
    merge(total, s.box)
    return total


def merged_by_function(s: State) -> set[int]:
    total: set[int] = set()
    IN_PLACE(total, s.box)
    return total


def merged_by_reduce(s: State) -> set[int]:
    total: set[int] = set()
    functools.reduce(operator.ior, [s.box], total)
    return total


def last_in_else(s: State) -> set[int]:
    number = -1
    for number in s.box:
        if number == 99:
            break
    else:
        return {number}
    return set()


def last_after_inner_loop(s: State) -> set[int]:
    found = set()
    for number in (50, 60):
        for number in s.box:
            if number == 99:
                found.add(0)
        found.add(number)
    return found


@pytest.mark.parametrize("members", [merged, merged_by_function, merged_by_reduce, last_in_else, last_after_inner_loop])
def test_a_set_is_looked_through_as_python_does(members: Callable[[State], set[int]]) -> None:
    @invariant("5 is never found where all bits are set")
    def safe(s: State) -> bool:
        return not (5 in members(s) and sum(s.bits) == 3)

    spec = Spec(name="sets", initial_states=lambda _: [State()], actions=[flip, fill], properties=[safe])
    tuning = attrs.evolve(ONLY_LEARNED, many_values=3)
    assert compiled.explore(spec, settings=CompiledSettings(workers=1, tuning=tuning)).verdict is Verdict.VIOLATED


def simple(s: Any) -> bool:
    return bool(s.bits[0] == 1)


def test_lazy_classes_lower_no_precision() -> None:
    """While calls are recorded, `attrs.evolve` and the classes of states hold functions of the recording."""
    make_lazy(frozenset([State]))
    try:
        assert reach(flip.function, [State()], copies=True).precision == Precision.COPIES
    finally:
        make_ordinary()


def test_an_unknown_opcode_has_the_function_given_states() -> None:
    assert reach(simple, [State()], copies=True).precision == Precision.COPIES
    known = list(dis.get_instructions(simple))
    invented = [*known[:1], known[0]._replace(opname="SUMMON"), *known[1:]]
    opcodes.read.cache_clear()
    with mock.patch("dis.get_instructions", return_value=invented):
        found = reach(simple, [State()], copies=True)
    opcodes.read.cache_clear()
    assert found.precision == Precision.STATES
    assert found.because is not None
    assert found.because[:3] == ("SUMMON", "simple", simple.__code__.co_filename)


PYTHONS: dict[str, Any] = tomllib.loads(Path("tests/specs/opcodes.toml").read_text())
VERSIONS = {version: set(names.split()) for version, names in PYTHONS["versions"].items()}
LEFT_OUT = {name for names in PYTHONS["left_out"].values() for name in names}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_opcode_is_understood_or_left_out_on_purpose(version: str) -> None:
    assert VERSIONS[version] - opcodes.OPCODES.keys() - LEFT_OUT == set()
    assert LEFT_OUT.isdisjoint(opcodes.OPCODES)


def test_no_opcode_is_listed_that_no_supported_python_has() -> None:
    known = set().union(*VERSIONS.values())
    assert opcodes.OPCODES.keys() <= known
    assert known >= LEFT_OUT


def test_the_data_is_of_the_supported_pythons() -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    first, last = (tuple(map(int, version.split("."))) for version in (min(VERSIONS), max(VERSIONS)))
    assert project["requires-python"] == f">={first[0]}.{first[1]},<{last[0]}.{last[1] + 1}"
    prefix = "Programming Language :: Python :: "
    named = [text.removeprefix(prefix) for text in project["classifiers"] if text.startswith(prefix)]
    assert named == sorted(VERSIONS)


def test_the_data_is_right_of_this_python() -> None:
    """Names that the interpreter makes while it runs have higher numbers, or begin with INSTRUMENTED."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    named = {name for name, number in dis.opmap.items() if number < 256 and not name.startswith("INSTRUMENTED")}
    assert named == VERSIONS[version]


def test_a_test_that_the_compiler_adds_tells_no_values_apart() -> None:
    """Python 3.14 asks whether ``any`` is its own with ``is``, before it runs the loop itself."""
    assert opcodes.IdentityTest((("LOAD_COMMON_CONSTANT", any),)).has_one_object({})


NUMBER, WORDS = 3, "%s of %s"


def by_constant(s: Any) -> Any:
    return s.bits[0] % 2


def by_sum(s: Any) -> Any:
    return (s.bits[0] + 1) % s.bits[1]


def by_global(s: Any) -> Any:
    return s.bits[0] % NUMBER


def in_place(s: Any) -> Any:
    found = s.bits[0]
    found %= len(s.bits)
    return found


def in_comprehension(s: Any) -> Any:
    return [-bit % s.bits[0] for bit in s.bits]


def by_text(s: Any) -> Any:
    return WORDS % s.bits


def by_unknown(s: Any) -> Any:
    words = WORDS
    words %= s.bits
    return words


def by_own_len(s: Any, len: Any = str) -> Any:
    return len("%s%s%s") % s.bits


def by_own_number(s: Any) -> Any:
    NUMBER = WORDS  # noqa: N806
    return [NUMBER % s.bits for _ in range(1)]


def by_product(s: Any) -> Any:
    return ("%s" * 3) % s.bits


NO_SOURCE: dict[str, Any] = {}
exec("def without_source(s): return s.bits[0] % 2", NO_SOURCE)


@pytest.mark.parametrize("function", [by_constant, by_sum, by_global, in_place, in_comprehension])
def test_a_remainder_of_a_number_lowers_no_precision(function: Callable[..., Any]) -> None:
    assert reach(function, [State()], copies=True).precision == Precision.COPIES


@pytest.mark.parametrize(
    "function", [by_text, by_unknown, by_own_len, by_own_number, by_product, NO_SOURCE["without_source"]]
)
def test_a_remainder_that_may_be_text_is_given_tuples(function: Callable[..., Any]) -> None:
    """A view in place of a tuple would be formatted as one value."""
    assert reach(function, [State()], copies=True).precision == Precision.FIELDS


def test_if_text_were_taken_for_a_number_the_answer_would_be_wrong() -> None:
    @invariant("the last bit is not set")
    def short(s: State) -> bool:
        return "%s" % s.bits[2:] != "1"  # noqa: UP031

    spec = Spec(name="text", initial_states=lambda _: [State()], actions=[flip], properties=[short])
    settings = CompiledSettings(workers=1, tuning=ONLY_LEARNED)
    assert learning.explore(spec, settings=settings).verdict is Verdict.VIOLATED
    with mock.patch.object(opcodes, "is_number", return_value=True):
        assert learning.explore(spec, settings=settings).verdict is Verdict.HOLDS


@attrs.frozen
class Counters:
    left: int = 0
    right: int = 0
    names: tuple[str, ...] = ("left", "right")

    @property
    def both(self) -> int:
        return self.left + self.right


@action(name=("left", "right"))
def count(s: Counters, name: str) -> Iterator[Counters]:
    if field_of(s, name) < 3:
        yield attrs.evolve(s, **{name: field_of(s, name) + 1})


@invariant("the counters are small")
def small(s: Counters) -> bool:
    return all(field_of(s, name) < 3 for name in s.names)


def test_a_field_is_read_alone_by_its_name() -> None:
    """Unlike with ``getattr``, whose result can be anything."""
    assert reach(count.function, [Counters()], copies=True).precision == Precision.COPIES
    spec = Spec(name="counters", initial_states=lambda _: [Counters()], actions=[count], properties=[small])
    found = learning.explore(spec)
    assert found.verdict is Verdict.VIOLATED
    assert answers(found) == answers(oracle.explore(spec))
    everything = spec.with_properties([])
    assert learning.explore(everything).statistics.distinct == oracle.explore(everything).statistics.distinct == 16


@pytest.mark.parametrize("name", ["both", "__class__", "nothing"])
def test_what_is_no_field_is_not_read_by_its_name(name: str) -> None:
    with pytest.raises(TypeError, match=f"'{name}' is none of Counters"):
        field_of(Counters(), name)
    with pytest.raises(TypeError):
        field_of((1, 2), "count")


@pytest.mark.parametrize("name", ["atomic/kip-320", "kafka/4.1", "txn/4.1", "group/3.9", "quorum/4.0"])
def test_what_functions_have_in_common_may_be_searched_first(name: str) -> None:
    """`reaching` begins with the state; here each function comes first, and nothing is shared."""
    spec = catalog.find(name)
    assert spec is not None
    given = [spec.initials()[0], *(value for instance in spec.instances for value in instance.values)]
    shared = reaching(given)
    functions = [(action.function, True) for action in spec.actions]
    for function, copies in (*functions, *((item.function, False) for item in spec.properties if item != AT_REST)):
        alone = Reach([], _packages(function, given[0])).of(function, given, copies)
        found = shared(function, (), copies)
        assert found.precision == alone.precision
        assert (found.because is None) == (alone.because is None)
        assert (found.lasting == "") == (alone.lasting == "")
        assert {*found._walk.met} - {id(function)} == {*alone._walk.met} - {id(function)}
        assert found._walk.names == alone._walk.names
