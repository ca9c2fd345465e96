"""Files that are given to commands may be anything: a device, larger than memory, or with absurd values."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from leadline.checker import LeadlineError
from leadline.checker.support import files
from leadline.reports.cli.app import MOST_CHARACTERS
from leadline.reports.cli.outputs import write_output
from leadline.reports.cli.show import MOST_STATES
from tests.suite.command import STAIRS, call, write

READERS = {
    "check": ["check", "FILE"],
    "answers": ["check", "FILE", "--answers", "-"],
    "trace": ["show", "FILE"],
    "replay": ["replay", "FILE"],
    "page": ["show", "FILE", "--html", "page.html"],
    "matrix": ["matrix", "FILE"],
    "explained": ["mutate", "stairs.py", "--explained", "FILE"],
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("file", ["/dev/zero", "pipe"])
def test_only_regular_files_are_read(name: str, file: str, tmp_path: Path) -> None:
    write(tmp_path, stairs=STAIRS)
    os.mkfifo(tmp_path / "pipe")
    complaint = call(*[file if each == "FILE" else each for each in READERS[name]], folder=tmp_path).complaint
    assert complaint == f"cannot read {file}: it is not a regular file"


def test_a_file_may_not_be_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_BYTES", 2**20)
    (tmp_path / "large.itf.json").write_bytes(b" " * (2**20 + 1))
    complaint = call("show", "large.itf.json", folder=tmp_path).complaint
    assert complaint == "cannot read large.itf.json: it is larger than 1 MiB"


def test_a_page_shows_no_trace_that_takes_minutes(tmp_path: Path) -> None:
    states = [{"a": 1}] * (MOST_STATES + 1)
    (tmp_path / "long.itf.json").write_text(json.dumps({"vars": ["a"], "states": states}))
    complaint = call("show", "long.itf.json", "--html", "page.html", folder=tmp_path).complaint
    assert complaint == "long.itf.json has 3,001 states, but a page can show at most 3,000: leave out --html"
    assert not (tmp_path / "page.html").exists()


def test_a_directory_without_a_name_is_refused(tmp_path: Path) -> None:
    for arguments in (["audit", ""], ["audit", "data", "--before", ""]):
        complaint = call(*arguments, folder=tmp_path).complaint
        assert complaint == "a directory has an empty name: check that every shell variable in the command is set"


@pytest.mark.parametrize("command", ["matrix", "check"])
def test_a_number_of_thousands_of_digits_is_refused(command: str, tmp_path: Path) -> None:
    (tmp_path / "file.toml").write_text(f"max_states = {'1' * 5000}\n")
    complaint = call(command, "file.toml", folder=tmp_path).complaint
    assert complaint.startswith("file.toml is not valid TOML: Exceeds the limit")


def test_a_result_with_a_wrong_value_is_refused(tmp_path: Path) -> None:
    write(tmp_path, stairs=STAIRS)
    assert call("explore", "stairs.py", "--json", "result.json", folder=tmp_path).code == 0
    result = json.loads((tmp_path / "result.json").read_text())
    (tmp_path / "result.json").write_text(json.dumps({**result, "states_per_depth": ["x"]}))
    complaint = call("show", "result.json", "--html", "page.html", folder=tmp_path).complaint
    assert complaint == "result.json was not written by this version of leadline: create it again with --json"


@pytest.mark.parametrize("command", ["explore", "fuzz"])
def test_a_state_with_thousands_of_digits_is_one_line(command: str, tmp_path: Path) -> None:
    write(tmp_path, stairs=STAIRS.replace("height=state.height + 1", "height=10**5000"))
    run = call(command, "stairs.py", folder=tmp_path)
    assert run.code == 2
    lines = [line for line in run.err.splitlines() if "is violated; its trace" not in line]
    assert lines == [
        "leadline: a value is an integer of more than 4,300 digits, which Python cannot print: use smaller values"
    ]


def test_an_error_without_a_text_is_one_line(tmp_path: Path) -> None:
    odd = "class Odd(Exception):\n    def __str__(self):\n        raise ValueError\nraise Odd\n"
    complaint = call("specs", "odd.py", folder=write(tmp_path, odd=odd)).complaint
    assert complaint == "cannot load odd.py, line 4: Odd: an error whose text cannot be shown"


def test_an_error_line_repeats_no_long_name(tmp_path: Path) -> None:
    complaint = call("specs", "x" * 100_000, folder=tmp_path).complaint
    assert f"unknown spec '{'x' * 99}... (100," in complaint
    assert len(call("specs", "x y " * 100_000, folder=tmp_path).complaint) < MOST_CHARACTERS + 100


def test_a_file_is_written_as_a_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, link = tmp_path / "result.json", tmp_path / "link.json"
    write_output(path, "first")
    link.symlink_to(path)
    path.chmod(0o600)
    write_output(link, "second")
    assert (link.is_symlink(), path.read_text(), path.stat().st_mode & 0o777) == (True, "second", 0o600)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LeadlineError, match=r"cannot write .*: No space left on device"):
        write_output(path, "third")
    assert path.read_text() == "second"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.json", "result.json"]


def test_a_matrix_of_specs_with_different_properties_asks_for_those_to_compare(tmp_path: Path) -> None:
    write(tmp_path, one=STAIRS, two=STAIRS.replace("on_stairs", "on_steps"))
    matrix = 'specs = ["one.py", "two.py"]\n[[configurations]]\nname = "plain"\n'
    (tmp_path / "matrix.toml").write_text(matrix)
    refused = call("matrix", "matrix.toml", folder=tmp_path)
    assert refused.code == 2
    assert refused.complaint.endswith(
        'have different properties, such as on_stairs: list the properties to compare, as in properties = ["NAME"]'
    )
    (tmp_path / "matrix.toml").write_text(f'properties = ["top_reached"]\n{matrix}')
    assert call("matrix", "matrix.toml", folder=tmp_path).code == 0
