"""No hash seed decides a verdict: a spec that depends on the order of a set is refused, under every seed alike."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from leadline.checker import Spec, SpecError
from leadline.checker.engines import ENGINES, set_order
from leadline.checker.engines.set_order import SEEDS, makes_sets, with_order_checked
from leadline.checker.result import Result
from leadline.reports.loading import load_spec
from leadline.reports.testing import assert_holds, assert_not_violated, assert_violated
from tests.suite.command import STAIRS, run_leadline, write

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
    "action choose() depends on the order of a set, in State(taken=frozenset(), first=None): "
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


@pytest.mark.parametrize("seed", ["0", "1", "7", "random"])
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
    with pytest.raises(SpecError, match=r"^invariant one_first depends on the order of a set, in State\(taken="):
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


def test_a_spec_that_no_file_holds_is_not_checked_and_a_warning_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    known = load_spec(str(write(tmp_path, it=choice(MEMBERS["strings"], EACH, "True")) / "it.py"))
    local = Spec(name="local", initial_states=lambda bounds: known.initials(), actions=known.actions)
    with caplog.at_level(logging.WARNING):
        assert_holds(local)
    assert "whether local depends on the order of a set was not checked: only a spec at the top level" in caplog.text


def test_a_file_that_cannot_be_imported_again_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = f"import os\nopen('once', 'x').close()\n{choice(MEMBERS['strings'], EACH, 'True')}"
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        spec = load_spec(str(write(tmp_path, it=text) / "it.py"))
        with caplog.at_level(logging.WARNING):
            assert_holds(spec)
    finally:
        os.chdir(before)
    assert "was not checked: FileExistsError" in caplog.text


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
    monkeypatch.setattr(set_order, "_answers", None)
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
from leadline.checker.engines import set_order
from leadline.invariants.catalog import CATALOG
set_order.MOST_STATES, set_order.CPU_SECONDS = 10, 60
for name in sys.argv[1:]:
    print(json.dumps([{**row, "state": ""} for row in set_order.Prefix(CATALOG[name]).rows()]))
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
