"""Specs with an omission: an unlisted action or property, an empty domain, a single state."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tests.suite.command import STAIRS, call, write

FORGETFUL = """
from collections.abc import Iterator
from attrs import frozen
from leadline.checker import Spec, action, invariant, step_witness

@frozen
class State:
    count: int = 0

@action(to=DOMAIN)
def move(state: State, to: int) -> Iterator[State]:
    yield State(to)

@action()
def drop(state: State) -> Iterator[State]:
    yield State(3)

@invariant("never true")
def never(state: State) -> bool:
    return False

@step_witness("a move")
def moves(before: State, after: State) -> bool:
    return True

spec = Spec(name="forgetful", initial_states=lambda _: [State()], actions=[move])
"""


def forgetful(folder: Path, domain: str = "range(2)") -> Path:
    """A folder with a spec that lists one action of two, and no property."""
    return write(folder, forgetful=FORGETFUL.replace("DOMAIN", domain))


@pytest.mark.parametrize("command", ["explore", "fuzz", "specs"])
def test_actions_and_properties_that_no_spec_lists_are_named(tmp_path: Path, command: str) -> None:
    run = call(command, "forgetful.py", folder=forgetful(tmp_path))
    assert run.err.splitlines() == [
        f"leadline: {name} is decorated with @{kind}, but no spec in forgetful.py lists it"
        for name, kind in (("drop", "action"), ("never", "invariant"), ("moves", "step_witness"))
    ]


def test_a_suite_says_so_once(tmp_path: Path) -> None:
    check = '[[check]]\nspec = "forgetful.py"\nexpect = "holds"\n'
    (forgetful(tmp_path) / "leadline.toml").write_text(2 * check)
    run = call("check", folder=tmp_path)
    assert (run.code, len(run.err.splitlines())) == (0, 3)


@pytest.mark.parametrize(
    "listing",
    [
        "others = [Spec(name='o', initial_states=spec.initial_states, actions=[drop], properties=[never, moves])]",
        "others = {'o': Spec(name='o', initial_states=spec.initial_states, actions=[drop], properties=[never, moves])}",
        "others = [Spec(name='o', initial_states=spec.initial_states, actions=[drop], optional=[never, moves])]",
    ],
)
def test_what_another_spec_of_the_file_lists_is_not_forgotten(tmp_path: Path, listing: str) -> None:
    write(tmp_path, forgetful=FORGETFUL.replace("DOMAIN", "range(2)") + listing)
    assert call("explore", "forgetful.py", folder=tmp_path).err == ""


def test_what_is_imported_is_not_forgotten(tmp_path: Path) -> None:
    write(tmp_path, stairs=STAIRS, own="from stairs import *\nspec = spec.with_properties([])\n")
    assert call("explore", "own.py", folder=tmp_path).err == ""


@pytest.mark.parametrize("domain", ["()", "[]", "range(0)"])
def test_an_empty_domain_is_refused(tmp_path: Path, domain: str) -> None:
    run = call("explore", "forgetful.py", folder=forgetful(tmp_path, domain))
    assert run.code == 2
    assert run.complaint.endswith("action move: the domain of 'to' is empty: give at least one value")


@pytest.mark.parametrize("command", ["explore", "fuzz"])
def test_a_spec_without_an_action_that_can_be_taken_is_refused(tmp_path: Path, command: str) -> None:
    run = call(command, "forgetful.py", folder=forgetful(tmp_path, "lambda bounds: ()"))
    assert run.code == 2
    reason = "no action can be taken: with no bounds, every action has a parameter whose domain is empty: move"
    assert run.err.splitlines()[-1] == f"leadline: {reason}"


@pytest.mark.parametrize("command", [("explore",), ("fuzz", "--examples", "5")])
def test_a_space_of_one_state_is_remarked_upon(tmp_path: Path, command: tuple[str, ...]) -> None:
    remark = "only 1 state was found: no action leads to another state"
    assert remark in call(*command, "forgetful.py", folder=forgetful(tmp_path, "range(1)")).lines
    assert remark not in call(*command, "forgetful.py", folder=forgetful(tmp_path, "range(2)")).out


@pytest.mark.parametrize("uniform", [(), ("--uniform",)])
def test_a_random_search_that_ends_in_its_first_step_has_found_more_than_one_state(
    tmp_path: Path, uniform: tuple[str, ...]
) -> None:
    moving = FORGETFUL.replace("DOMAIN", "range(1, 2)").replace("return False", "return state.count == 0")
    write(tmp_path, forgetful=moving.replace("actions=[move]", "actions=[move], properties=[never]"))
    run = call("fuzz", "forgetful.py", *uniform, folder=tmp_path)
    assert run.code == 1
    assert "only 1 state was found" not in run.out


@pytest.mark.parametrize(
    ("decorated", "kind"),
    [
        ("@action()\ndef drop(state):\n    yield State(0)\n", "action"),
        ("@step_witness('b')\ndef drop(a, b): ...\n", "step"),
    ],
)
def test_a_function_that_replaces_another_is_refused(tmp_path: Path, decorated: str, kind: str) -> None:
    """Python keeps the second of two functions with one name, so that nothing would check the first."""
    write(tmp_path, own=FORGETFUL.replace("DOMAIN", "range(2)") + decorated)
    run = call("explore", "own.py", folder=tmp_path)
    assert (run.code, run.out) == (2, "")
    assert f"{kind}" in run.complaint
    assert "drop replaces another drop, of line 14, so that nothing would check that one" in run.complaint
    assert run.complaint.endswith("(own.py, line 27)")


def test_a_function_that_a_spec_has_already_can_be_replaced(tmp_path: Path) -> None:
    """The next spec of the file has the second one."""
    second = "@action()\ndef move(state):\n    yield State(1)\n"
    write(tmp_path, own=FORGETFUL.replace("DOMAIN", "range(2)") + second)
    assert call("explore", "own.py", folder=tmp_path).code == 0


def test_a_file_that_is_loaded_again_after_it_was_edited_replaces_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, own=FORGETFUL.replace("DOMAIN", "range(2)")) / "own.py"
    module = ModuleType("own")
    for lines in ("", "\n\n"):  # as importlib.reload does
        path.write_text(lines + path.read_text())
        exec(compile(path.read_text(), str(path), "exec"), vars(module))
    assert vars(module)["spec"].actions[0] is vars(module)["move"]


def test_an_imported_spec_does_not_make_a_file_ambiguous(tmp_path: Path) -> None:
    write(tmp_path, stairs=STAIRS, own="from stairs import spec as other\n" + FORGETFUL.replace("DOMAIN", "range(2)"))
    assert "own.py:spec" in call("specs", "own.py", folder=tmp_path).out
