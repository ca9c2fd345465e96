"""Trace and result files cannot make leadline run code or read other files."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from leadline.checker.engines.oracle import explore
from leadline.checker.traces.itf import write_trace
from leadline.invariants.catalog import CATALOG
from tests.suite.command import STAIRS, Run, call, write

CLIMB = "stairs.py-spec-top3-third_step_free.itf.json"

RAN = 'import pathlib\npathlib.Path(__file__).with_name("RAN").touch()\n'
"""What a file begins with that leaves a trace of having been run."""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What `explore` saves of the stairs: the trace, and the result."""
    folder = write(tmp_path_factory.mktemp("saved"), stairs=STAIRS)
    options = ["-b", "top=3", "--engine", "oracle", "--trace-out", ".", "--json", "r.json"]
    assert call("explore", "stairs.py", *options, folder=folder).code == 1
    return {name: (folder / name).read_text(encoding="utf-8") for name in (CLIMB, "r.json")}


@pytest.fixture
def folder(tmp_path: Path, saved: dict[str, str]) -> Path:
    """A folder with the trace and the result in a folder of their own, and above it a spec that notices being run."""
    for name in ("here", "here/artifact"):
        write(made(tmp_path / name), stairs=RAN + STAIRS)
    for name, text in saved.items():
        (tmp_path / "here" / "artifact" / name).write_text(text, encoding="utf-8")
    return tmp_path / "here"


def made(folder: Path) -> Path:
    """A new folder."""
    folder.mkdir()
    return folder


def name_spec(file: Path, spec: str) -> None:
    """Have a trace file name a spec."""
    content = json.loads(file.read_text(encoding="utf-8"))
    content["#meta"]["spec"] = spec
    file.write_text(json.dumps(content), encoding="utf-8")


VIEWS: dict[str, tuple[list[str], int]] = {
    "trace": (["show", f"artifact/{CLIMB}"], 0),
    **{f"trace as {form}": (["show", f"artifact/{CLIMB}", "--format", form], 0) for form in ("mermaid", "json")},
    "trace as dot": (["show", f"artifact/{CLIMB}", "--format", "dot"], 2),
    "replay": (["replay", f"artifact/{CLIMB}"], 2),
    "report of a file": (["show", f"artifact/{CLIMB}", "--html", "o.html"], 0),
    "report of a folder": (["show", "artifact", "--html", "o.html"], 0),
    "report of a result": (["show", "artifact/r.json", "--html", "o.html"], 0),
}


@pytest.mark.parametrize("what", VIEWS)
@pytest.mark.parametrize("spec", ["stairs.py:spec", "stairs.py", "artifact/stairs.py:spec", "../here/stairs.py", "{}"])
def test_viewing_runs_no_file_that_a_trace_names(folder: Path, what: str, spec: str) -> None:
    arguments, code = VIEWS[what]
    named = spec.format(folder / "stairs.py:spec")
    name_spec(folder / "artifact" / CLIMB, named)
    run = call(*arguments, folder=folder)
    assert run.code == code
    assert not list(folder.rglob("RAN"))
    _, found, line = run.err.rstrip("\n").partition(" To replay the trace, type: leadline ")
    assert found
    assert shlex.split(line) == [*arguments, "--spec", named]
    if what != "trace as dot":  # there is a test for each format elsewhere
        assert call(*shlex.split(line), folder=folder).code == 0
        assert list(folder.rglob("RAN"))  # what is typed is run


def test_a_line_to_type_is_quoted(folder: Path) -> None:
    name = "it's; touch RAN $(touch RAN).py"
    (folder / name).write_text(STAIRS, encoding="utf-8")
    name_spec(folder / "artifact" / CLIMB, f"{name}:spec")
    complaint = call("replay", f"artifact/{CLIMB}", folder=folder).complaint
    _, _, line = complaint.partition(" type: ")
    words = shlex.split(line)
    assert words[-2:] == ["--spec", f"{name}:spec"]
    assert call(*words[1:], folder=folder).code == 0


@pytest.mark.parametrize("spec", ["x\n--help.py", "x\u202e.py:spec", "\ud800.py"])
def test_a_name_that_cannot_be_typed_as_it_is_shown_is_not_in_the_line(folder: Path, spec: str) -> None:
    name_spec(folder / "artifact" / CLIMB, spec)
    complaint = call("replay", f"artifact/{CLIMB}", folder=folder).complaint
    assert complaint.endswith(f" type: leadline replay artifact/{CLIMB} --spec PATH:NAME")


def test_diff_reads_no_traces_and_runs_only_what_is_named(folder: Path) -> None:
    assert call("diff", "atomic/kip-320", "atomic/kip-320", "-b", "log_size=1,records=1", folder=folder).code == 0
    assert not list(folder.rglob("RAN"))


def test_traces_of_shipped_specs_are_replayed_beside_those_of_a_file_that_is_named(folder: Path) -> None:
    shipped = explore(CATALOG["atomic/hw-truncation"].with_properties(["strong_isr"])).properties[0].traces[0]
    write_trace(shipped, folder / "artifact" / "shipped.itf.json")
    run = call("show", "artifact", "--html", "o.html", "--spec", "stairs.py", folder=folder)
    assert (run.code, run.out, run.err) == (0, "saved o.html: 2 traces\n", "")
    run = call("show", "artifact", "--html", "o.html", folder=folder)
    assert (run.code, run.err.count("\n")) == (0, 1)
    assert "strong_isr is violated" in (folder / "o.html").read_text(encoding="utf-8")


# Files that a result names


def result_with(folder: Path, file: str) -> Run:
    """The report of a result that names one trace file."""
    path = folder / "artifact" / "r.json"
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for item in content["properties"]:
        item["trace_files"] = [file] if item["name"] == "third_step_free" else []
    path.write_text(json.dumps(content), encoding="utf-8")
    return call("show", "artifact/r.json", "--html", "o.html", folder=folder)


@pytest.mark.parametrize("place", ["{}/", "../", "artifact/../../", "", 300 * "x"])
def test_a_result_leads_to_no_file_that_is_not_beside_it(folder: Path, place: str) -> None:
    (folder / "artifact" / CLIMB).rename(folder / "secret.itf.json")
    named = f"{place.format(folder)}secret.itf.json"
    run = result_with(folder, named)
    assert (run.code, run.out) == (2, "saved o.html: 0 traces\n")
    reason = f"not shown: {named} is not in the folder of artifact/r.json or below it"
    assert run.err == f"leadline: {reason}\n"
    page = (folder / "o.html").read_text(encoding="utf-8")
    assert reason in page
    assert "t1-s1" not in page


@pytest.mark.parametrize("place", ["{}/artifact/", "", "elsewhere/before/"])
def test_a_result_was_written_from_any_folder(folder: Path, place: str) -> None:
    below = made(folder / "artifact" / "below")
    (folder / "artifact" / CLIMB).rename(below / "x.itf.json")
    run = result_with(folder, f"{place.format(folder)}below/x.itf.json")
    assert (run.code, run.out) == (0, "saved o.html: 1 trace\n")


# Files that cannot be read


def test_a_torn_file_is_named_on_the_page_of_the_others(folder: Path, saved: dict[str, str]) -> None:
    artifact = folder / "artifact"
    (artifact / "a torn one.itf.json").write_text(saved[CLIMB][:300], encoding="utf-8")
    (artifact / "no trace.itf.json").write_text("[]", encoding="utf-8")
    (artifact / "a folder.itf.json").mkdir()
    os.mkfifo(artifact / "a pipe.itf.json")
    run = call("show", "artifact", "--html", "o.html", "--spec", "stairs.py", folder=folder)
    assert (run.code, run.out) == (2, "saved o.html: 1 trace\n")
    first, second = run.err.splitlines()
    assert first.startswith("leadline: not shown: artifact/a torn one.itf.json is not valid JSON: ")
    assert second.startswith("leadline: not shown: artifact/no trace.itf.json is not an ITF trace: ")
    page = (folder / "o.html").read_text(encoding="utf-8")
    assert first.removeprefix("leadline: ") in page
    assert "third_step_free is violated" in page


def test_a_torn_trace_of_a_result_is_named_on_its_page(folder: Path, saved: dict[str, str]) -> None:
    (folder / "artifact" / CLIMB).write_text(saved[CLIMB][:300], encoding="utf-8")
    run = call("show", "artifact/r.json", "--html", "o.html", folder=folder)
    assert (run.code, run.out) == (2, "saved o.html: 0 traces\n")
    assert f"not shown: artifact/{CLIMB} is not valid JSON: " in run.err


def test_a_single_file_that_is_torn_makes_no_page(folder: Path, saved: dict[str, str]) -> None:
    (folder / "artifact" / CLIMB).write_text(saved[CLIMB][:300], encoding="utf-8")
    complaint = call("show", f"artifact/{CLIMB}", "--html", "o.html", folder=folder).complaint
    assert complaint.startswith(f"artifact/{CLIMB} is not valid JSON: ")
    assert not (folder / "o.html").exists()
