"""The option --watch: run a command again whenever a file changes, and say which verdicts changed."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from leadline.checker.support.escapes import visible
from leadline.reports.exit_codes import INCOMPLETE
from leadline.reports.lines import say

Command = TypeVar("Command", bound=Callable[..., int])

SECONDS = 0.3
"""The time in seconds between two looks at the files. A person does not notice it, and it costs no processor time."""

WATCHED = (".py", ".toml")

UNWATCHED = ("__pycache__", "node_modules")
"""Folders that may have many files, none of which is a user's."""


def watch_option(command: Command) -> Command:
    """Add the option --watch to a command that has an option --json."""

    @functools.wraps(command)
    def watched(*arguments: Any, watch: bool, **options: Any) -> int:
        return _watched() if watch else command(*arguments, **options)

    return click.option(
        "--watch",
        is_flag=True,
        help="Run the command again whenever a Python or TOML file below the folder of the file changes, until Ctrl-C, "
        "and say which verdicts changed.",
    )(cast(Command, watched))


def _watched() -> int:
    words = [word for word in sys.orig_argv[1:] if word != "--watch"]
    if any(word.startswith(("--json", "--junit", "--sarif")) for word in words):
        raise click.UsageError("--watch cannot be used with a report for programs: leave one of them out")
    return watch([sys.executable, *words], folders_of(words))


def folders_of(words: Sequence[str]) -> list[Path]:
    """Return the folders of the files that a command line names, or the working directory if it names none."""
    named = {Path(word.partition(".py:")[0] + ".py" if ".py:" in word else word) for word in words}
    found = {path.resolve().parent for path in named if path.suffix in WATCHED and path.is_file()}
    return sorted(found or {Path.cwd()})


def watch(command: Sequence[str], folders: Sequence[Path]) -> int:
    """Run a command, and run it again whenever a file below the folders changes, until this process is interrupted.

    Parameters:
        command: the command, which takes the option --json.

    Returns:
        The exit code of the last run, or that of an incomplete run if it was interrupted.
    """
    code, before = INCOMPLETE, dict[str, str]()
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        try:
            while True:
                seen = times(folders)
                report.unlink(missing_ok=True)
                code = INCOMPLETE
                ended = _run([*command, "--json", str(report)], functools.partial(_have_changed, folders, seen))
                if ended is not None:
                    code = ended
                    now = verdicts(report)
                    for line in changes(before, now) if before and now else []:
                        say(line)
                    before = now or before
                    say(f"waiting for a change in {', '.join(visible(str(each)) for each in folders)} (Ctrl-C ends)")
                while not _have_changed(folders, seen):
                    time.sleep(SECONDS)
                say(f"\n--- {time.strftime('%H:%M:%S')}: a file changed")
        except KeyboardInterrupt:
            return code


def _run(command: Sequence[str], is_outdated: Callable[[], bool]) -> int | None:
    """Run a command. Return its exit code, or None if it was ended because it was outdated."""
    # Python takes a module from its cache if the file has the same size and second, as after two quick changes
    process = subprocess.Popen(command, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})
    try:
        while True:
            try:
                return process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                if is_outdated():
                    return None
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)  # it has already had the signal of a Ctrl-C, and ignores a second one
            process.wait()


def _have_changed(folders: Sequence[Path], seen: Mapping[str, int]) -> bool:
    return times(folders) != seen


def times(folders: Sequence[Path]) -> dict[str, int]:
    """Return the time of the last change of each watched file below the folders, in nanoseconds."""
    return {path: changed for folder in folders for path, changed in _times(str(folder))}


def _times(folder: str) -> Iterator[tuple[str, int]]:
    for place, inner, files in os.walk(folder):
        inner[:] = [name for name in inner if name[0] != "." and name not in UNWATCHED]
        for name in files:
            if name.endswith(WATCHED) and name[0] != ".":  # editors keep locks and backups in hidden files
                path = os.path.join(place, name)
                try:
                    yield path, os.stat(path).st_mtime_ns
                except OSError:  # an editor has just replaced it
                    yield path, 0


def verdicts(report: Path) -> dict[str, str]:
    """Return the verdict of each check or property in a report, or nothing if there is no report."""
    try:
        content = json.loads(report.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if "checks" in content:
        return {item["name"]: _verdict(item["status"], item["result"] or {}) for item in content["checks"]}
    found = {item["name"]: _verdict(item["verdict"], item) for item in content["properties"]}
    return {**found, "distinct states": f"{content['distinct_states']:,}"}


def _verdict(word: str, about: Mapping[str, Any]) -> str:
    length = about.get("trace_length")
    return f"{word} ({length} states)" if length else word


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return a line for each verdict that changed, or one line that says that none did."""
    names = list(dict.fromkeys([*before, *now]))
    found = [
        f"  {visible(name)}: {before.get(name, 'not checked')} -> {now.get(name, 'not checked')}"
        for name in names
        if before.get(name) != now.get(name)
    ]
    return ["what changed:", *found] if found else ["no verdict changed"]
