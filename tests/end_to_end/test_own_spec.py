"""Every command works with the spec of checker/README.md in a folder outside of the project."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.documents.blocks import blocks
from tests.suite.command import Run, call, run_leadline, write

(LOCK,) = (block.text for block in blocks("checker/README.md", "python") if block.file == "lock.py")


def ends_like(run: Run, *last: str) -> bool:
    """Whether a run said some lines, in that order."""
    lines = iter(run.lines)
    return all(line in lines for line in last)


@pytest.mark.parametrize(("name", "command"), [("lock", call), ("model", run_leadline)], ids=["lock.py", "model.py"])
def test_every_command_works_on_it_also_where_its_file_is_called_as_a_package_of_ours(
    tmp_path: Path, name: str, command: Callable[..., Run]
) -> None:
    write(tmp_path, **{name: LOCK})
    spec = f"{name}.py:spec"

    listed = run_leadline("specs", f"{name}.py", folder=tmp_path)
    assert (listed.code, listed.err) == (0, "")
    assert listed.lines[:3] == [spec, "", "processes that look at a lock, and then take it"]

    explored = run_leadline("explore", spec, "--trace-out", "traces", folder=tmp_path)
    file = f"traces/{name}.py-spec-mutual_exclusion.itf.json"
    assert (explored.code, explored.err) == (1, "")
    assert ends_like(explored, "violated: mutual_exclusion", f"saved {file}")
    assert "9 distinct states, 15 generated, depth 5, 1 on queue" in explored.lines

    fuzzed = run_leadline("fuzz", spec, "--trace-out", "fuzzed", folder=tmp_path)
    assert fuzzed.code == 1
    assert re.fullmatch(
        r"leadline: .*: mutual_exclusion is violated; its trace of \d+ states is shortened later\n", fuzzed.err
    )
    assert ends_like(fuzzed, " 5/5  process 0 takes the lock and goes in  [violated]", "violated: mutual_exclusion")

    shown = run_leadline("show", file, "--spec", spec, folder=tmp_path)
    assert (shown.code, shown.err) == (0, "")
    assert ends_like(
        shown,
        " 5/5  process 0 takes the lock and goes in  [violated]",
        "       enter(process=0)",
        "       process 0           inside*",
        "mutual_exclusion is violated: it requires that at most one process is inside",
    )

    for saved in (file, f"fuzzed/{name}.py-spec-seed0-mutual_exclusion.itf.json"):
        replayed = run_leadline("replay", saved, "--spec", spec, folder=tmp_path)
        assert (replayed.code, replayed.err) == (0, "")
        assert replayed.out == f"as recorded: {spec}, 5 states, which violates mutual_exclusion\n"

    suite = f'[[check]]\nspec = "{spec}"\nexpect = "violated"\nviolates = "mutual_exclusion"\ntrace_length = 5\n'
    (tmp_path / "leadline.toml").write_text(suite, encoding="utf-8")
    checked = run_leadline("check", folder=tmp_path)
    assert (checked.code, checked.err) == (0, "")
    assert checked.lines[-2] == "1 of 1 checks as expected"


def test_files_called_as_all_packages_of_ours_do_not_get_in_the_way(tmp_path: Path) -> None:
    write(tmp_path, checker=LOCK, invariants=LOCK, model=LOCK, reports=LOCK)
    run = run_leadline("explore", "checker.py", "--json", "-", folder=tmp_path)
    assert (run.code, run.json["verdict"]) == (1, "violated")
    kafka = run_leadline("explore", "atomic/kip-320", "--max-states", "9", "--json", "-", folder=tmp_path)
    assert kafka.json["spec"] == "atomic/kip-320"


def test_its_bug_once_mended_every_property_holds(tmp_path: Path) -> None:
    door = 'state.processes[process].at == "at the door":  # the bug: the lock may be taken by now'
    assert door in LOCK
    mended = LOCK.replace(door, 'state.processes[process].at == "at the door" and not state.locked:')
    run = call("explore", "lock.py", "-b", "processes=3", "--json", "-", folder=write(tmp_path, lock=mended))
    assert run.code == 0
    assert [item["verdict"] for item in run.json["properties"]] == ["holds"] * 3
    assert run.json["distinct_states"] == 2**3 + 3 * 2**2  # nobody inside, or one of three


def test_its_bounds_change_how_many_processes_there_are(tmp_path: Path) -> None:
    write(tmp_path, lock=LOCK)
    alone = call("explore", "lock.py", "-b", "processes=1", "--json", "-", folder=tmp_path)
    assert (alone.code, alone.json["distinct_states"]) == (0, 3)
    assert call("explore", "lock.py", "-b", "processes=5", folder=tmp_path).complaint == (
        "bound processes=5 is out of range: it must be an integer from 1 to 4"
    )


def test_it_may_import_its_neighbours_and_lie_in_another_folder(tmp_path: Path) -> None:
    specs = tmp_path / "specs of mine"
    specs.mkdir()
    write(specs, lock=LOCK.replace('"at the door"', "places.DOOR").replace("# lock.py\n", "import places\n"))
    write(specs, places='DOOR = "at the door"\n')
    run = run_leadline("explore", "specs of mine/lock.py:spec", "--trace-out", ".", "--json", "-", folder=tmp_path)
    assert (run.code, run.json["distinct_states"]) == (1, 9)
    (mutual_exclusion,) = (item for item in run.json["properties"] if item["name"] == "mutual_exclusion")
    refused = call("replay", mutual_exclusion["trace_file"], folder=tmp_path).complaint
    _, _, line = refused.partition(" type: leadline ")
    assert shlex.split(line) == ["replay", mutual_exclusion["trace_file"], "--spec", "specs of mine/lock.py:spec"]
    assert call(*shlex.split(line), folder=tmp_path).code == 0


def test_neighbours_of_two_files_with_one_name_are_not_taken_for_each_other(tmp_path: Path) -> None:
    checks = ""
    for folder, door in (("one", "at the door"), ("other", "before the door"), ("one", "at the door")):
        (tmp_path / folder).mkdir(exist_ok=True)
        lock = LOCK.replace('"at the door"', "places.DOOR").replace("# lock.py\n", "import places\n")
        named = f"""

@witness("the door is called so")
def so_called(state: System) -> bool:
    return state.processes[0].at == {door!r}

"""
        lock = lock.replace("\nspec = Spec(", f"{named}\nspec = Spec(").replace(
            "someone_inside],", "someone_inside, so_called],"
        )
        write(tmp_path / folder, lock=lock, places=f"DOOR = {door!r}\n")
        checks += f"""
[[check]]
spec = "{folder}/lock.py"
properties = ["so_called"]
expect = "holds"
"""
    (tmp_path / "leadline.toml").write_text(checks, encoding="utf-8")
    run = call("check", folder=tmp_path)
    assert run.code == 0, run.out
    assert run.lines[-2] == "3 of 3 checks as expected"
