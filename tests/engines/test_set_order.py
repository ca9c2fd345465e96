"""Verdicts do not depend on the hash seed: a spec that depends on the order of a set is refused under every seed."""

from __future__ import annotations

import builtins
import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from leadline.checker import Spec, SpecError
from leadline.checker.engines import ENGINES, hash_seeds, set_order
from leadline.checker.engines.hash_seeds import SEEDS
from leadline.checker.engines.set_order import makes_sets, with_order_checked
from leadline.checker.result import Result
from leadline.checker.stateful import state_machine
from leadline.reports.loading import load_spec
from leadline.reports.testing import assert_holds, assert_not_violated, assert_violated
from tests.suite.command import STAIRS, run_leadline, write
from tests.suite.samples import sampled

CHOICE = """
from collections.abc import Iterator
from enum import Enum
from attrs import frozen
from leadline.checker import Spec, action, invariant

class Colour(Enum):
    RED = "r"
    GREEN = "g"
    BLUE = "b"

A, B, C = {members}

@frozen
class State:
    taken: frozenset = frozenset()
    first: object = None

@action("choose")
def choose(state: State) -> Iterator[State]:
    left = {{A, B, C}} - state.taken
    {choice}
        yield State(state.taken | {{one}}, state.first or one)

@invariant("one is first")
def one_first(state: State) -> bool:
    return {property}

spec = Spec(name="choice", initial_states=lambda bounds: [State()], actions=[choose], properties=[one_first])
"""

MEMBERS = {
    "strings": "'a', 'b', 'c'",
    "bytes": "b'a', b'b', b'c'",
    "enums": "Colour",
    "tuples": "(1, 'a'), (2, 'b'), (3, 'c')",
}
FIRST = "for one in list(left)[:1]:"
EACH = "for one in left:"
DEPENDS = (
    "action choose() depends on the order of a set, for example in State(taken=frozenset(), first=None): "
    "use sorted(), or yield one next state for each member"
)


def choice(members: str, choice: str = FIRST, property: str = "state.first != B") -> str:
    return CHOICE.format(members=members, choice=choice, property=property)


@pytest.mark.parametrize("members", MEMBERS.values(), ids=MEMBERS)
def test_a_choice_by_the_order_of_a_set_is_refused(members: str, tmp_path: Path) -> None:
    spec = load_spec(str(write(tmp_path, it=choice(members)) / "it.py"))
    with pytest.raises(SpecError) as refused:
        with_order_checked(spec, lambda: ENGINES["oracle"](spec))
    assert str(refused.value) == DEPENDS


@pytest.mark.parametrize("seed", sampled(["0", "7", "random", "1"], 2))
def test_every_hash_seed_gives_the_same_answer(seed: str, tmp_path: Path) -> None:
    write(tmp_path, depends=choice(MEMBERS["strings"]), each=choice(MEMBERS["strings"], EACH, "True"))
    command = ("explore", "--engine", "oracle")
    assert run_leadline(*command, "depends.py", folder=tmp_path, PYTHONHASHSEED=seed).complaint == DEPENDS
    run = run_leadline(*command, "each.py", folder=tmp_path, PYTHONHASHSEED=seed)
    assert (run.code, run.err) == (0, "")
    assert "13 distinct states" in run.out  # no member, or a set that is not empty with one of its members: 1 + 3 * 4


def test_a_property_that_depends_on_the_order_of_a_set_is_refused(tmp_path: Path) -> None:
    text = choice(MEMBERS["strings"], EACH, "next(iter({A, B, C})) != B")
    spec = load_spec(str(write(tmp_path, it=text) / "it.py"))
    with pytest.raises(
        SpecError, match=r"^invariant one_first depends on the order of a set, for example in State\(taken="
    ):
        with_order_checked(spec, lambda: ENGINES["oracle"](spec))


def test_helpers_that_raise_are_refused_in_a_test_suite_too(tmp_path: Path) -> None:
    spec = load_spec(str(write(tmp_path, it=choice(MEMBERS["strings"])) / "it.py"))
    for check in (
        lambda: assert_holds(spec),
        lambda: assert_violated(spec, "one_first"),
        lambda: assert_not_violated(spec),
    ):
        with pytest.raises(SpecError, match=r"^action choose"):
            check()


WAYS = """
import functools, heapq, itertools, json, operator, random
from collections import Counter, deque
from collections.abc import Iterator
from attrs import frozen
from leadline.checker import Bag, Spec, action

@frozen
class State:
    taken: frozenset = frozenset()
    first: object = None

@functools.cache
def kept(members):
    return list(members)[0]

class Walked:
    def __init__(self, members):
        self.members = members

    def __iter__(self):
        return iter(self.members)

def made(s):
    {made}

@action("choose")
def choose(state: State) -> Iterator[State]:
    left = {{"a", "b", "c", "d"}} - state.taken
    if len(left) > 2:
        yield State(state.taken | {{"c" if state.taken else "d"}}, made(left))

spec = Spec(name="ways", initial_states=lambda bounds: [State()], actions=[choose])
"""

OTHER = """
from attrs import evolve
from leadline.checker import invariant

@invariant("a second property")
def second(state: State) -> bool:
    return True

other = evolve(spec, properties=[second])
"""

DEPENDING = [
    *("next(iter(s))", "list(s)[0]", "tuple(s)[0]", "[*s][0]", "set(s).pop()", "(lambda a, *b: a)(*s)", "''.join(s)"),
    *("sorted(s, key=len)[0]", "min(s, key=len)", "max(s, key=len)", "max(enumerate(s))[1]", "s.__iter__().__next__()"),
    *("next(x for x in s)", "[x for x in s][0]", "next(iter({x for x in s}))", "{i: x for i, x in enumerate(s)}[0]"),
    *("list(dict.fromkeys(s))[0]", "dict(zip(s, 'wxyz'))['a']", "list({k: 1 for k in s}.keys() & s)[0]"),
    *("functools.reduce(operator.add, s)", "functools.reduce(lambda a, b: b, s)", "functools.partial(list, s)()[0]"),
    *("next(itertools.islice(s, 1))", "next(itertools.chain(s, s))", "next(itertools.chain.from_iterable([s]))"),
    *("list(itertools.combinations(s, 2))[0]", "list(map(list, [s]))[0][0]", "next(zip(s, range(9)))[0]"),
    *("Counter(s).most_common(1)[0][0]", "deque(s)[0]", "heapq.nsmallest(1, s, key=len)[0]", "next(filter(len, s))"),
    *("random.Random(0).choice(list(s))", "json.dumps(list(s))", "kept(frozenset(s))", "next(iter(Walked(s)))"),
    *(
        "str(s)",
        "repr(s)",
        "ascii(s)",
        "format(s)",
        "f'{s}'",
        "f'{s!r:>40}'",
        "'%s' % s",
        "'%s' % (s,)",
        "'{}'.format(s)",
    ),
    *(
        "str([s])",
        "repr((1, frozenset(s)))",
        "f'{ {1: s} }'",
        "'{a}'.format(a=s)",
        "''.join(map(str, [s]))",
        "repr({frozenset(s)})",
    ),
    *(
        "operator.mod('%s', s)",
        "sorted(s, key=lambda x: str(s).index(x))[0]",
        "repr({'k': [(s,)]})",
        "ascii([{(1, frozenset(s)): 2}])",
    ),
    *(
        "next(iter(Bag(s)))",
        "list(s | {'e'})[0]",
        "(lambda: (yield from s))().__next__()",
        "next(iter(sorted(s, key=len)))",
    ),
]
DEPENDING_STATEMENTS = [
    "for x in s: break\n    return x",
    "for x in s: y = x\n    return y",
    "a, *b = s\n    return a",
    "(a, *b), c = s, 1\n    return a",
    "l = []\n    l += s\n    return l[0]",
    "l = [1]\n    l[0:1] = s\n    return l[0]",
    "l = []\n    l.extend(s)\n    return l[0]",
    "for i, x in enumerate(s):\n        if i == 1: return x",
    "for a in zip(*[s]): return a",
    "t = '%s'\n    t %= s\n    return t",
]
INDEPENDENT = [
    *("len(s)", "sorted(s)[0]", "min(s)", "max(s)", "frozenset(s)", "any(x == 'a' for x in s)", "all(x for x in s)"),
    *("sum(1 for x in s)", "'c' in s", "frozenset(x + 'y' for x in s)", "Bag(s)", "tuple(sorted(s))", "s == {'a'}"),
    *("frozenset(filter(None, s))", "functools.reduce(operator.or_, [s, s]) == s", "frozenset(set.union(s, s))"),
    *(
        "s.issubset('abcd')",
        "frozenset(map(str, s))",
        "next(x for x in s if x == 'c')",
        "len([x for x in s if x > 'b'])",
    ),
    *("Counter(s) == Counter(sorted(s))", "isinstance(s, set)", "{x: 1 for x in s} == dict.fromkeys(s, 1)"),
    *(
        "len(str(s))",
        "sorted(repr(s))[0]",
        "f'{sorted(s)}'",
        "'%d' % len(s)",
        "str(frozenset(sorted(s)[:1]))",
        "print(s)",
    ),
    *("frozenset(itertools.chain.from_iterable([s, s]))", "f'{len(s)}'", "{*s} == s", "sum(map(len, s))"),
]


def of_way(body: str, folder: Path) -> Spec[Any]:
    return load_spec(str(write(folder, it=WAYS.format(made=body)) / "it.py"))


@pytest.mark.parametrize("body", sampled([*(f"return {value}" for value in DEPENDING), *DEPENDING_STATEMENTS], 2))
def test_ways_to_depend_on_the_order_of_a_set_are_refused(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    spec = of_way(body, tmp_path)
    with pytest.raises(
        SpecError, match=r"^action choose\(\) depends on the order of a set, for example in State\(taken=frozenset\("
    ):
        with_order_checked(spec, lambda: ENGINES["oracle"](spec))


@pytest.mark.parametrize("value", sampled([*INDEPENDENT], 2))
def test_ways_to_use_a_set_that_do_not_depend_on_its_order_start_no_process(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    spec = of_way(f"return {value}", tmp_path)
    assert with_order_checked(spec, lambda: ENGINES["oracle"](spec)).exhausted


@pytest.mark.parametrize(
    "value", sampled(["str(State(s))", "f'{State(s)}'", "repr([Bag(s)])", "s.__repr__()", "hash('a') % 64"], 2)
)
def test_what_is_not_understood_is_run_under_other_hash_seeds(value: str, tmp_path: Path) -> None:
    spec = of_way(f"return {value}", tmp_path)
    with pytest.raises(SpecError, match=r"^action choose\(\) depends on the order of a set, for example in State"):
        with_order_checked(spec, lambda: ENGINES["oracle"](spec))


def test_the_text_of_a_parameter_may_depend_on_the_order_of_a_set(tmp_path: Path) -> None:
    """Other processes call the functions, because those of a refinement are in no file of the spec."""
    text = (
        "from attrs import evolve, frozen\nfrom leadline.checker import Spec, action, refines, subsets\n"
        "@frozen\nclass State:\n    held: frozenset = frozenset()\n"
        "@action('', rs=subsets(('r1', 'r2'), at_least=1))\ndef request(state, rs):\n"
        "    if not state.held:\n        yield evolve(state, held=rs)\n"
        "one = Spec(name='one', initial_states=lambda _: [State()], actions=[request])\n"
        "spec = evolve(one, name='other', properties=refines(one, lambda state: state))\n"
    )
    spec = load_spec(f"{write(tmp_path, it=text) / 'it.py'}:spec")
    assert with_order_checked(spec, lambda: ENGINES["oracle"](spec)).statistics.distinct == 4


def test_a_state_machine_is_refused_too(tmp_path: Path) -> None:
    spec = load_spec(str(write(tmp_path, it=choice(MEMBERS["strings"])) / "it.py"))
    machine = state_machine(spec)
    with pytest.raises(SpecError) as refused:
        machine.TestCase().runTest()
    assert str(refused.value) == DEPENDS
    state_machine(load_spec(str(write(tmp_path, each=choice(MEMBERS["strings"], EACH, "True")) / "each.py")))()


def test_mutants_of_a_spec_that_is_refused_are_not_searched(tmp_path: Path) -> None:
    write(tmp_path, it=choice(MEMBERS["strings"]))
    run = run_leadline("mutate", "it.py", folder=tmp_path)
    assert (run.code, run.complaint) == (2, DEPENDS)


def test_functions_are_as_they_were_after_a_check(tmp_path: Path) -> None:
    spec = of_way("return frozenset(s)", tmp_path)
    before = spec.actions[0].function.__code__
    with_order_checked(spec, lambda: ENGINES["oracle"](spec))
    assert spec.actions[0].function.__code__ is before


def test_functions_are_as_they_were_after_an_interrupt(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = WAYS.format(made="if INTERRUPTS and not INTERRUPTS.pop(): raise KeyboardInterrupt\n    return 1")
    spec = load_spec(str(write(tmp_path, it=f"INTERRUPTS = []\n{text}") / "it.py"))
    before = spec.actions[0].function.__code__

    def search() -> Result:
        result = ENGINES["oracle"](spec)
        sys.modules[spec.initial_states.__module__].INTERRUPTS.extend([False, True])
        return result

    assert with_order_checked(spec, search).exhausted
    assert spec.actions[0].function.__code__ is before
    assert not hasattr(builtins, "__leadline_set_iteration__")
    assert "was not checked: interrupted" in caplog.text


def test_initial_states_and_parameters_that_depend_on_the_order_of_a_set_are_refused(tmp_path: Path) -> None:
    text = WAYS.format(made="return 1")
    initial = text.replace("[State()]", "[State(first=list({'a', 'b'})[0])]")
    spec = load_spec(str(write(tmp_path, initial=initial) / "initial.py"))
    with pytest.raises(SpecError, match=r"^initial_states of .* depends on the order of a set: use sorted\(\)"):
        with_order_checked(spec, lambda: ENGINES["oracle"](spec))
    parameter = text.replace('@action("choose")', '@action("choose", one=lambda bounds: list({"a", "b"})[:1])')
    parameter = parameter.replace("choose(state: State)", "choose(state: State, one: str)")
    spec = load_spec(str(write(tmp_path, parameter=parameter) / "parameter.py"))
    with pytest.raises(SpecError, match=r"^a parameter in .* depends on the order of a set: use sorted\(\)"):
        with_order_checked(spec, lambda: ENGINES["oracle"](spec))


def test_a_spec_that_no_file_holds_is_checked_too(tmp_path: Path) -> None:
    known = load_spec(str(write(tmp_path, it=choice(MEMBERS["strings"])) / "it.py"))
    local = Spec(name="local", initial_states=known.initial_states, actions=known.actions)
    with pytest.raises(SpecError, match=r"^action choose"):
        assert_holds(local)


def test_a_spec_that_no_file_holds_is_not_run_by_other_processes_and_a_warning_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    known = of_way("return len(str(State(s)))", tmp_path)
    local = Spec(name="local", initial_states=lambda bounds: known.initials(), actions=known.actions)
    with caplog.at_level(logging.WARNING):
        assert_holds(local)
    assert (
        "whether local depends on the order of a set was not checked: no module defines the spec at its top level"
        in caplog.text
    )


def test_a_spec_with_other_properties_than_the_first_of_its_file_is_checked(tmp_path: Path) -> None:
    text = WAYS.format(made="return str(State(s))") + OTHER
    write(tmp_path, it=text)
    with pytest.raises(SpecError, match=r"^action choose\(\) depends on the order of a set, for example in State"):
        assert_holds(load_spec(str(tmp_path / "it.py:other")).with_properties(["second"]))


def test_each_check_of_a_file_is_checked(tmp_path: Path) -> None:
    write(tmp_path, it=WAYS.format(made="return str(State(s))") + OTHER)
    check = '[[check]]\nspec = "it.py:{}"\nexpect = "holds"\n'
    (tmp_path / "leadline.toml").write_text(check.format("other") + check.format("spec"))
    run = run_leadline("check", folder=tmp_path)
    assert "was not checked" not in run.err
    assert "depends on the order of a set" in run.out + run.err


def test_a_file_that_cannot_be_imported_again_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = f"import os\nopen('once', 'x').close()\n{WAYS.format(made='return len(str(State(s)))')}"
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        spec = load_spec(str(write(tmp_path, it=text) / "it.py"))
        with caplog.at_level(logging.WARNING):
            assert_holds(spec)
    finally:
        os.chdir(before)
    assert "was not checked: FileExistsError" in caplog.text


MAPPED = """
from leadline.checker import refines

abstract = Spec(name="abstract", initial_states=lambda _: [State()], actions=[choose])


def mapping(state):
    return State("b" if str(frozenset("ab")).startswith("frozenset({'b'") else "")


spec = Spec(name="it", initial_states=lambda _: [State()], actions=[choose], properties=refines(abstract, mapping))
"""


def test_a_spec_that_other_processes_refuse_depends_on_the_order_of_a_set(tmp_path: Path) -> None:
    spec = load_spec(str(write(tmp_path, it=WAYS.format(made="return 1") + MAPPED) / "it.py:spec"))
    with pytest.raises(SpecError, match=r"depends on the order of a set: with another one, .* abstract does not begin"):
        hash_seeds.compare_seeds(spec, [sys.modules[spec.initial_states.__module__]])


def test_code_without_sets_starts_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    spec = load_spec(str(write(tmp_path, stairs=STAIRS) / "stairs.py"))
    assert not makes_sets(sys.modules[spec.initial_states.__module__])
    assert with_order_checked(spec, lambda: ENGINES["oracle"](spec)).exhausted


@pytest.mark.parametrize(
    ("text", "makes"),
    [
        ("x = {1, 2}", True),
        ("x = [y in {'a', 'b'} for y in z]", False),
        ("for x in {'a', 'b'}: pass", True),
        ("def f():\n    return lambda: frozenset()", True),
        ("x = {y for y in z}", True),
        ("x = [1, 2]", False),
        ("from elsewhere import *", True),
    ],
)
def test_which_code_may_make_a_set(text: str, makes: bool) -> None:
    assert set_order._code_makes_sets(compile(text, "it.py", "exec")) == makes


def test_an_interrupted_search_is_not_kept_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_order, "first_states", None)
    monkeypatch.setattr(hash_seeds, "_answers", None)
    spec = load_spec(str(write(tmp_path, it=choice(MEMBERS["strings"])) / "it.py"))

    def stopped() -> Result:
        result = ENGINES["oracle"](spec)
        object.__setattr__(result, "stop", set_order_stop())
        return result

    assert with_order_checked(spec, stopped).interrupted


def set_order_stop() -> object:
    from leadline.checker.result import Stop, StopKind

    return Stop(StopKind.INTERRUPT, "interrupted")


ROWS = """
import json, sys
from leadline.checker.engines import hash_seeds
from leadline.invariants.catalog import CATALOG
for name in sys.argv[1:]:
    print(json.dumps([{**row, "state": ""} for row in hash_seeds.Prefix(CATALOG[name], 10, 60).rows()]))
"""


def test_shipped_specs_do_not_depend_on_the_order_of_a_set() -> None:
    """That is why `with_order_checked` leaves them out."""
    names = ["kafka/2.8", "kafka/4.1", "rpc/kip-320", "atomic/kip-279"]
    found = [
        subprocess.run(
            [sys.executable, "-c", ROWS, *names],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for seed in SEEDS
    ]
    assert [len(json.loads(rows)) for rows in found[0]] == [10] * len(names)
    assert found[0] == found[1] == found[2]
