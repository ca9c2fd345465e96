"""`--watch`: a command runs again when a file changes, and says which verdicts changed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from leadline.reports.cli.watch import _run, changes, folders_of, times, verdicts
from tests.suite.command import COMMAND, STAIRS, call, environment, read_until, terminal, write

WAITS = "waiting for a change in .*ends\\)"
HOLDS = STAIRS.replace("state.height == 3", "state.height == 12")


@contextmanager
def watched(folder: Path, *words: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """A command that watches, and the end of its terminal that can be read."""
    with terminal(100) as (shown, written):
        process = subprocess.Popen(
            [COMMAND, *words, "--watch"], cwd=folder, env=environment(), stdout=written, stderr=written
        )
        os.close(written)
        try:
            yield shown, process
        finally:
            process.kill()
            process.wait()


def test_a_changed_file_is_searched_again_and_the_new_verdicts_are_named(tmp_path: Path) -> None:
    write(tmp_path, stairs=STAIRS)
    with watched(tmp_path, "explore", "stairs.py", "-b", "top=3") as (shown, process):
        first = read_until(shown, WAITS)
        assert "third_step_free is violated" in first
        assert "what changed" not in first
        write(tmp_path, stairs=HOLDS)
        second = read_until(shown, WAITS)
        assert "third_step_free: violated (4 states) -> holds" in second
        write(tmp_path, stairs=f"{HOLDS}(")
        assert "cannot load stairs.py" in read_until(shown, WAITS), "an error does not end it"
        write(tmp_path, stairs=f"{HOLDS}\n# only a comment")
        assert "no verdict changed" in read_until(shown, WAITS)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0, "the exit code of the last run"


def test_a_run_that_is_outdated_is_ended(tmp_path: Path) -> None:
    write(tmp_path, stairs=f"import time\n\nprint('sleeps', flush=True)\ntime.sleep(600)\n{HOLDS}")
    with watched(tmp_path, "explore", "stairs.py", "-b", "top=3") as (shown, _):
        read_until(shown, "sleeps")
        write(tmp_path, stairs=HOLDS)
        assert "every reachable state was searched" in read_until(shown, WAITS)


def test_a_run_leaves_no_cache_that_hides_a_change_in_the_same_second() -> None:
    with mock.patch.dict(os.environ):
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        assert _run([sys.executable, "-c", "import sys; sys.exit(sys.dont_write_bytecode)"], lambda: False) == 1


def test_reports_for_programs_are_refused(tmp_path: Path) -> None:
    for word in ("--json", "--junit"):
        with mock.patch.object(sys, "orig_argv", ["leadline", "check", word, "r", "--watch"]):
            run = call("check", word, "r", "--watch", folder=tmp_path)
        assert run.complaint == "--watch cannot be used with a report for programs: leave one of them out"


def test_the_folders_of_files_are_watched_without_hidden_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    inner, hidden = tmp_path / "inner", tmp_path / ".venv"
    inner.mkdir()
    hidden.mkdir()
    write(inner, one="")
    write(hidden, two="")
    (inner / ".#one.py").symlink_to("a@b.1:2")  # the lock of an editor
    (inner / "notes.txt").write_text("", encoding="utf-8")
    assert folders_of(["explore", "inner/one.py:spec", "-b", "top=3"]) == [inner]
    assert folders_of(["check"]) == folders_of(["explore", "kafka/3.7"]) == [tmp_path]
    seen = times([tmp_path])
    assert [Path(path).name for path in seen] == ["one.py"]
    os.utime(inner / "one.py", ns=(1, 1))
    assert times([tmp_path]) != seen
    (inner / "one.py").unlink()
    assert times([tmp_path]) == {}


def test_verdicts_are_read_from_the_reports_of_each_command(tmp_path: Path) -> None:
    (tmp_path / "leadline.toml").write_text(
        '[[check]]\nspec = "stairs.py"\nbounds = { top = 3 }\nexpect = "holds"\n', encoding="utf-8"
    )
    write(tmp_path, stairs=STAIRS)
    call("check", "--json", "suite.json", folder=tmp_path)
    call("explore", "stairs.py", "--json", "run.json", folder=tmp_path)
    assert verdicts(tmp_path / "suite.json") == {"stairs.py": "failed"}
    found = verdicts(tmp_path / "run.json")
    assert found["distinct states"] == "3"
    assert found["top_reached"] == "holds (3 states)"
    assert verdicts(tmp_path / "missing.json") == {}
    (tmp_path / "torn.json").write_text(json.dumps(found)[:9], encoding="utf-8")
    assert verdicts(tmp_path / "torn.json") == {}


def test_what_changed_names_new_and_lost_checks() -> None:
    assert changes({"a": "holds"}, {"a": "holds"}) == ["no verdict changed"]
    assert changes({"a": "holds", "b": "holds"}, {"a": "violated", "c": "holds"}) == [
        "what changed:",
        "  a: holds -> violated",
        "  b: holds -> not checked",
        "  c: not checked -> holds",
    ]
