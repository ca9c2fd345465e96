"""Trace files: every kind of value, an independent reader, and files that cannot be read."""

from __future__ import annotations

import dataclasses
import enum
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import attrs
import itf_py
import pytest
from frozendict import frozendict
from hypothesis import given
from hypothesis import strategies as st

from leadline.checker import Spec, Trace, TraceError
from leadline.checker.engines.oracle import explore
from leadline.checker.state import component, constant
from leadline.checker.traces.itf import (
    RecordedState,
    TraceFile,
    canonical,
    decode_trace,
    encode,
    encode_state,
    encode_trace,
    read_trace,
    shown,
    write_trace,
)
from tests.specs.machines import below_ceiling, clock, counters, no_bad_node, stutter, walks
from tests.specs.refusals import refused
from tests.specs.two_phase_commit import tm_commits_too_soon, two_phase_commit


class Colour(enum.Enum):
    """Two members."""

    RED = 1
    BLUE = "two"


class Level(enum.IntEnum):
    """Members that are integers too."""

    LOW = 0
    HIGH = 1


class Fruit(enum.Enum):
    """A member with the name of another class's, and one called as None is."""

    RED = 1
    Nil = 2


class May(enum.Flag):
    """Members that are combined."""

    READ = 1
    WRITE = 2


@dataclasses.dataclass(frozen=True)
class Pair:
    """Not an attrs class."""

    one: Any
    other: Any
    note: str = dataclasses.field(default="", compare=False)


@attrs.frozen
class Commit:
    """A message without content."""


@attrs.frozen
class Abort:
    """Another."""


class Silent:
    """An object without a `repr` of its own."""


@attrs.frozen
class Point:
    """A record."""

    x: Any
    y: Any = 0


@attrs.frozen
class Labelled:
    """A record with a field that is constant."""

    label: str
    rules: Any = constant(default=None)


# Values.


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, {"#bigint": "0"}),
        (-7, {"#bigint": "-7"}),
        (2**70, {"#bigint": "1180591620717411303424"}),
        (True, True),
        (False, False),
        ("", ""),
        ("a word", "a word"),
        ((), {"#tup": []}),
        ((1, "x"), {"#tup": [{"#bigint": "1"}, "x"]}),
        (frozenset(), {"#set": []}),
        (frozenset({"b", "a"}), {"#set": ["a", "b"]}),
        (frozenset({10, 9}), {"#set": [{"#bigint": "9"}, {"#bigint": "10"}]}),
        (frozendict({"k": 1}), {"#map": [["k", {"#bigint": "1"}]]}),
        (frozendict({2: True, 1: False}), {"#map": [[{"#bigint": "1"}, False], [{"#bigint": "2"}, True]]}),
        (
            Point(1, (2,)),
            {"tag": "Point", "value": {"x": {"#bigint": "1"}, "y": {"#tup": [{"#bigint": "2"}]}}},
        ),
        (Labelled("a", rules="not written"), {"tag": "Labelled", "value": {"label": "a"}}),
        (Pair("a", 1, "not compared"), {"tag": "Pair", "value": {"one": "a", "other": {"#bigint": "1"}}}),
        (
            frozenset({Commit(), Abort()}),
            {"#set": [{"tag": "Abort", "value": {}}, {"tag": "Commit", "value": {}}]},
        ),
        (None, {"tag": "Nil", "value": "U_OF_UNIT"}),
        (Colour.BLUE, {"tag": "Colour", "value": "BLUE"}),
        (Fruit.Nil, {"tag": "Fruit", "value": "Nil"}),
        (Level.HIGH, {"tag": "Level", "value": "HIGH"}),
        (May.READ | May.WRITE, {"tag": "May", "value": {"#bigint": "3"}}),
        (May(0), {"tag": "May", "value": {"#bigint": "0"}}),
        (Silent(), {"#unserializable": "<tests.language.test_itf.Silent object>"}),
        (1.5, {"#unserializable": "1.5"}),
        (b"raw", {"#unserializable": "b'raw'"}),
    ],
)
def test_how_each_kind_of_value_is_written(value: Any, encoded: Any) -> None:
    assert encode(value) == encoded


@pytest.mark.parametrize(
    ("encoded", "value"),
    [
        ({"#bigint": "-0012"}, -12),
        (12, 12),
        (True, True),
        ("x", "x"),
        ([1, 2], (1, 2)),
        ({"#tup": [1, {"#tup": []}]}, (1, ())),
        ({"#set": [2, 1, {"#bigint": "2"}]}, frozenset({1, 2})),
        ({"#map": [[2, []], [1, True]]}, frozendict({1: True, 2: ()})),
        ({"value": {"y": {"#set": [2, 1]}, "x": 0}, "tag": "Point"}, Point(0, frozenset({1, 2}))),
    ],
)
def test_what_another_tool_wrote_is_read_as_we_would_write_it(encoded: Any, value: Any) -> None:
    assert canonical(encoded) == encode(value)


@pytest.mark.parametrize(
    "encoded",
    [
        None,
        1.5,
        {"#bigint": 5},
        {"#bigint": "five"},
        {"#bigint": ""},
        {"#bigint": "--5"},
        {"#tup": {}},
        {"#set": "ab"},
        {"#map": [[1, 2, 3]]},
        {"#map": [1]},
        {"#unknown": []},
        {"x": {"#bigint": None}},
        [[{"#set": None}]],
    ],
)
def test_what_is_not_itf_is_refused(encoded: Any) -> None:
    with refused("is not a value in the ITF format", error=TraceError):
        canonical(encoded)


def test_a_refusal_quotes_the_innermost_value() -> None:
    with refused('{"#bigint": "five"} is not a value in the ITF format', error=TraceError):
        canonical({"#tup": [1, {"#set": [{"x": {"#bigint": "five"}}]}]})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (True, "True"),
        ("a word", "a word"),
        (Colour.RED, "Colour.RED"),
        (May.READ | May.WRITE, "May(3)"),
        (Point(1, Colour.RED), "Point(x=1, y=Colour.RED)"),
        (Point(Point(None, 2), (Colour.RED, 3)), "Point(x=Point(x=None, y=2), y=(Colour.RED, 3))"),
        (frozendict({2: Colour.RED, 1: None}), "{1: None, 2: Colour.RED}"),
        ((Colour.RED, None), "(Colour.RED, None)"),
        ((7,), "(7,)"),
        (frozenset(), "{}"),
        (frozenset({3, 20, 1}), "{1, 3, 20}"),
        (1.5, "1.5"),
    ],
)
def test_how_values_read_from_a_file_are_shown(value: Any, text: str) -> None:
    assert shown(encode(value)) == text


def test_a_record_read_from_a_file_is_shown_with_its_names() -> None:
    assert shown(canonical({"x": 1, "y": ["a"]})) == "(x=1, y=(a,))"


leaves = st.integers() | st.booleans() | st.text()
plain_values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4).map(tuple) | st.frozensets(inner, max_size=4), max_leaves=12
)


def nested(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Values of every kind, made of some leaves."""
    return st.recursive(
        leaves | st.none() | st.sampled_from([*Colour, *Fruit]),
        lambda inner: (
            st.lists(inner, max_size=3).map(tuple)
            | st.frozensets(inner, max_size=3)
            | st.builds(Point, inner, inner)
            | st.builds(Pair, inner, inner)
            | st.dictionaries(inner, inner, max_size=3).map(frozendict)
        ),
        max_leaves=10,
    )


all_values = nested(leaves)
values_without_booleans = nested(st.integers() | st.text())  # Python holds True and 1 for equal


def through_json(encoded: Any) -> Any:
    """Written to a file and read again."""
    return json.loads(json.dumps(encoded))


@given(plain_values)
def test_plain_values_come_back_as_they_were(value: Any) -> None:
    assert as_tuples(itf_py.value_from_json(through_json(canonical(through_json(encode(value)))))) == value


@given(plain_values)
def test_an_independent_reader_reads_plain_values_as_they_were(value: Any) -> None:
    assert as_tuples(itf_py.value_from_json(through_json(encode(value)))) == value


@given(plain_values)
def test_what_an_independent_writer_wrote_is_read(value: Any) -> None:
    assert canonical(through_json(itf_py.value_to_json(value))) == encode(value)


@given(all_values)
def test_every_value_can_be_read_and_is_the_same_each_time(value: Any) -> None:
    encoded = encode(value)

    assert through_json(encoded) == encoded
    assert canonical(through_json(encoded)) == encoded


@given(values_without_booleans, values_without_booleans)
def test_values_are_equal_in_a_file_just_when_they_are_equal(one: Any, other: Any) -> None:
    assert (encode(one) == encode(other)) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (False, 0),
        (True, 1),
        (Level.HIGH, 1),
        (Colour.RED, Fruit.RED),
        (Fruit.Nil, None),
        (May.READ, Level.HIGH),
        (Commit(), Abort()),
        (Point(1, 2), Pair(1, 2)),
        (frozenset({Commit()}), frozenset({Abort()})),
        ("U_OF_UNIT", None),
        ("1", 1),
    ],
)
def test_values_of_two_kinds_are_told_apart(one: Any, other: Any) -> None:
    assert encode(one) != encode(other)


@given(st.lists(all_values, min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_sets_and_maps_are_written_in_one_order(items: list[Any], random: Any) -> None:
    shuffled = random.sample(items, len(items))
    numbers = {item: repr(item) for item in frozenset(items)}

    assert json.dumps(encode(frozenset(items))) == json.dumps(encode(frozenset(shuffled)))
    assert json.dumps(encode(frozendict(numbers))) == json.dumps(
        encode(frozendict((item, numbers[item]) for item in sorted(numbers, key=shuffled.index)))
    )


def as_tuples(value: Any) -> Any:
    """What itf_py read, with its immutable lists as tuples."""
    if isinstance(value, frozenset):
        return frozenset(map(as_tuples, value))
    return tuple(map(as_tuples, value)) if isinstance(value, list | tuple) else value


WRITE_NAMES = """
from leadline.checker.traces.itf import encode
import json
print(json.dumps(encode(frozenset(["leader", "follower", ("a", frozenset("xyz")), "epoch", None]))))
"""


def test_sets_are_written_in_the_same_order_by_another_process() -> None:
    written = {
        subprocess.run(
            [sys.executable, "-c", WRITE_NAMES],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }

    assert len(written) == 1


# Whole traces.


def counterexample(spec: Spec[Any]) -> Trace[Any]:
    """The first trace that a search of a spec finds."""
    return next(trace for item in explore(spec).properties for trace in item.traces)


SPECS: dict[str, Callable[[], Spec[Any]]] = {
    "counters": lambda: counters(below_ceiling, counters=3, ceiling=2),
    "walk": lambda: walks("axb bxc", no_bad_node, bad="c"),
    "two-phase commit": lambda: two_phase_commit(3, tm_commits_too_soon),
    "one state": lambda: walks("axb", no_bad_node, bad="a"),
}


@pytest.fixture(params=SPECS)
def trace(request: pytest.FixtureRequest) -> Trace[Any]:
    """A trace of each spec."""
    return counterexample(SPECS[request.param]())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a trace may be written."""
    return tmp_path / "trace.itf.json"


def same(ours: Any, read: Any) -> bool:
    """Whether a value of the model is what itf_py read: records and variants are its namedtuples."""
    if isinstance(ours, enum.Enum) or ours is None:
        tag, value = ("Nil", "U_OF_UNIT") if ours is None else (type(ours).__name__, ours.name)
        return type(read).__name__ == tag and read._asdict() == {"value": value}
    if attrs.has(type(ours)):
        return same_parts(attrs.asdict(ours, recurse=False, filter=lambda field, _: bool(field.eq)), read._asdict())
    if isinstance(ours, tuple):
        return type(read) is tuple and same_parts(dict(enumerate(ours)), dict(enumerate(read)))
    if isinstance(ours, frozenset):
        return len(ours) == len(read) and all(any(same(one, other) for other in read) for one in ours)
    return type(ours) is type(read) and bool(ours == read)


def same_parts(ours: dict[Any, Any], read: dict[Any, Any]) -> bool:
    """Whether all parts are the same, and have the same names."""
    return ours.keys() == read.keys() and all(same(ours[name], read[name]) for name in ours)


def test_an_independent_reader_reads_the_states_of_a_whole_trace(trace: Trace[Any], file: Path) -> None:
    write_trace(trace, file)
    read = itf_py.trace_from_json(json.loads(file.read_text(encoding="utf-8")))

    assert len(read.states) == len(trace)
    for state, itf_state in zip(trace.states, read.states, strict=True):
        variables = attrs.asdict(state, recurse=False, filter=lambda field, _: bool(field.eq))
        assert list(variables) == read.vars
        assert same_parts(variables, itf_state.values)


def test_an_independent_reader_reads_the_actions_and_their_parameters(trace: Trace[Any], file: Path) -> None:
    write_trace(trace, file)
    read = itf_py.trace_from_json(json.loads(file.read_text(encoding="utf-8")))

    assert [state.meta["index"] for state in read.states] == list(range(len(trace)))
    assert "action" not in read.states[0].meta
    for instance, state in zip(trace.instances, read.states[1:], strict=True):
        parameters = {name: itf_py.value_from_json(value) for name, value in state.meta["parameters"].items()}
        assert (state.meta["action"], parameters) == (instance.action.name, instance.arguments)


def test_an_independent_writer_writes_what_we_read(file: Path) -> None:
    states = [itf_py.State(meta={"index": 0}, values={"x": frozenset({(1, "a")}), "y": True})]
    ours = decode_trace(through_json(itf_py.trace_to_json(itf_py.Trace({}, [], ["x", "y"], states, None))))

    assert ours.states == (RecordedState({"x": encode(frozenset({(1, "a")})), "y": True}, None, {}),)
    assert (ours.spec, ours.bounds, ours.about, ours.sentence) == (None, {}, None, "")


def test_a_trace_says_what_it_is_about(file: Path) -> None:
    write_trace(counterexample(counters(below_ceiling, counters=1, ceiling=1)), file)
    read = read_trace(file)

    assert (read.spec, read.bounds) == ("tests/counters", {"counters": 1, "limit": 2, "ceiling": 1})
    assert (read.about, read.sentence) == ("below_ceiling", "the sum of the counters is not above the ceiling")
    assert json.loads(file.read_text())["#meta"]["kind"] == "invariant"


def test_a_trace_is_read_with_its_states_and_actions(file: Path) -> None:
    write_trace(counterexample(counters(below_ceiling, counters=1, ceiling=1)), file)
    read = read_trace(file)

    def counter(value: int) -> dict[str, Any]:
        return {"counters": {"#tup": [{"value": {"#bigint": str(value)}}]}}

    assert read.states == (
        RecordedState(counter(0), None, {}),
        RecordedState(counter(1), "increment", {"index": {"#bigint": "0"}}),
        RecordedState(counter(2), "increment", {"index": {"#bigint": "0"}}),
    )
    assert read.states[1].label == "increment(index=0)"


def test_a_trace_about_nothing_is_read_as_such(file: Path) -> None:
    spec = clock(stutter)
    write_trace(Trace(spec, spec.initials(), []), file)

    assert read_trace(file) == TraceFile("clock", {}, None, "", (RecordedState({"hour": {"#bigint": "0"}}, None, {}),))


def test_text_that_is_not_ascii_survives(file: Path) -> None:
    @attrs.frozen
    class Greeting:
        words: str

    spec: Spec[Any] = attrs.evolve(cast(Any, clock(stutter)), initial_states=lambda _: [Greeting("καλημέρα ✓")])
    write_trace(Trace(spec, spec.initials(), []), file)

    assert read_trace(file).states[0].values == {"words": "καλημέρα ✓"}


@attrs.frozen
class Idle:
    """The state of one process."""

    since: int = 0


@attrs.frozen
class Busy:
    """What another is, with the same fields."""

    since: int = 0


@attrs.frozen
class Room:
    """Processes, a part that may be there, and a leaf."""

    processes: tuple[Any, ...] = component(each="process")
    door: Any = component()
    last: Any = Idle()


def test_a_component_is_a_record_and_one_of_another_class_than_at_first_says_which() -> None:
    first = Room((Idle(), Idle()), Idle())

    assert encode_state(Room((Idle(), Busy(2)), None, Idle()), first) == {
        "processes": {"#tup": [{"since": encode(0)}, {"tag": "Busy", "value": {"since": encode(2)}}]},
        "door": encode(None),
        "last": {"tag": "Idle", "value": {"since": encode(0)}},
    }


def test_the_same_trace_is_written_as_the_same_bytes(trace: Trace[Any], file: Path) -> None:
    write_trace(trace, file)
    first = file.read_bytes()
    write_trace(Trace(trace.spec, trace.states, trace.instances, trace.about), file)

    assert file.read_bytes() == first
    assert first.endswith(b"}\n")


# Files that cannot be read.


@pytest.fixture
def written() -> Any:
    """A good trace, as JSON."""
    return through_json(encode_trace(counterexample(counters(below_ceiling, counters=1, ceiling=1))))


def test_refuses_a_file_that_is_not_there(file: Path) -> None:
    with refused(f"cannot read {file}", "No such file", error=TraceError):
        read_trace(file)


def test_refuses_a_folder(tmp_path: Path) -> None:
    with refused(f"cannot read {tmp_path}", "directory", error=TraceError):
        read_trace(tmp_path)


@pytest.mark.parametrize("part", [0, 0.25, 0.5, 0.75, 0.99])
def test_refuses_a_file_that_is_cut_short(written: Any, file: Path, part: float) -> None:
    text = json.dumps(written, indent=1)
    file.write_text(text[: int(part * len(text))])

    with refused(f"{file} is not valid JSON", "at line", error=TraceError):
        read_trace(file)


def test_says_in_which_line_a_file_is_broken(file: Path) -> None:
    file.write_text('{"vars": ["x"],\n "states": [oops]}\n')

    with refused("not valid JSON", "at line 2", error=TraceError):
        read_trace(file)


@pytest.mark.parametrize("content", [b"\xff\xfe{\x00}\x00", b'{"vars": ["\xe9"]}', bytes(range(256))])
def test_refuses_a_file_that_is_not_utf_8(file: Path, content: bytes) -> None:
    file.write_bytes(content)

    with refused(f"{file} is not a trace file", "not UTF-8", error=TraceError):
        read_trace(file)


@pytest.mark.parametrize("content", ["[" * 100_000, '{"vars": ["x"], "states": [{"x": %s}]}' % ("9" * 5_000)])
def test_refuses_a_file_that_json_chokes_on(file: Path, content: str) -> None:
    file.write_text(content)

    with refused(f"{file} is not a trace file", error=TraceError):
        read_trace(file)


def test_refuses_an_integer_that_python_does_not_read(file: Path) -> None:
    file.write_text(json.dumps({"vars": ["x"], "states": [{"x": {"#bigint": "9" * 5_000}}]}))

    with refused(f"{file} is not an ITF trace", "digits", error=TraceError):
        read_trace(file)


@pytest.mark.parametrize(
    "content", [[], "trace", 5, None, {}, {"states": [{}]}, {"vars": ["x"]}, {"vars": "x", "states": [{}]}]
)
def test_refuses_json_without_vars_or_states(file: Path, content: Any) -> None:
    file.write_text(json.dumps(content))

    with refused(f"{file} is not an ITF trace", '"vars" or "states"', error=TraceError):
        read_trace(file)


def test_refuses_vars_that_are_not_names(written: Any) -> None:
    with refused('"vars"', error=TraceError):
        decode_trace({**written, "vars": [["counters"]]})


def test_refuses_no_states(written: Any) -> None:
    with refused("no states", error=TraceError):
        decode_trace({**written, "states": []})


def test_refuses_a_state_that_lacks_a_variable(written: Any) -> None:
    del written["states"][1]["counters"]

    with refused("state 1 lacks the variable 'counters'", error=TraceError):
        decode_trace(written)


def test_refuses_a_state_that_is_not_an_object(written: Any) -> None:
    written["states"][2] = ["counters"]

    with refused("state 2 is not a JSON object", error=TraceError):
        decode_trace(written)


def test_refuses_a_value_that_is_not_itf_and_says_in_which_state(written: Any) -> None:
    written["states"][2]["counters"] = {"#tup": None}

    with refused('state 2: {"#tup": null} is not a value in the ITF format', error=TraceError):
        decode_trace(written)


def test_refuses_a_parameter_that_is_not_itf_and_says_in_which_state(written: Any) -> None:
    written["states"][1]["#meta"]["parameters"]["index"] = {"#bigint": 0}

    with refused('state 1: {"#bigint": 0} is not a value in the ITF format', error=TraceError):
        decode_trace(written)


@pytest.mark.parametrize("meta", [[], "meta", {"spec": 5}, {"bounds": [1]}, {"property": {}}])
def test_refuses_a_meta_that_is_not_ours(written: Any, meta: Any) -> None:
    with refused('"#meta"', error=TraceError):
        decode_trace({**written, "#meta": meta})
