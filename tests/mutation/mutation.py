"""`make mutants`: change one thing at a time in the models and invariants, and see which changes no test notices.

A mutant is one small mistake in one function: a guard dropped or negated, a field that `evolve` does not set, a
constant off by one, another comparison. The tests are run against each in a copy of the project. Those that survive
either show what no test says, or change nothing that can be observed: `explained.toml` explains the latter.
`mutation.toml` says which tests are run for which files.

    python tests/mutation/mutation.py                            # all files and tests of mutation.toml
    python tests/mutation/mutation.py --sample 100               # 100 mutants of each group, always the same ones
    python tests/mutation/mutation.py --only with_leader --list  # the mutants whose name contains a text
    python tests/mutation/mutation.py checker/engines/compiled --tests tests/engines/test_compiled.py
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import attrs

from leadline.checker.errors import LeadlineError
from leadline.checker.mutation.mutations import Change, changes_of
from leadline.checker.mutation.processes import answers
from leadline.reports.mutation import read_explained, sampled

PROJECT = Path(__file__).parents[2]
SETTINGS = Path(__file__).with_suffix(".toml")
EXPLAINED = Path(__file__).with_name("explained.toml")
DAY = 86_400.0
NOT_COPIED = (".*", "__pycache__", "node_modules")

# --- mutants ------------------------------------------------------------------------------------------------


class Refused(LeadlineError):
    """A request that cannot be met; the text says why."""


@attrs.frozen
class Mutant:
    """One mistake in one file.

    Attributes:
        path: the file, from the project's root.
        change: the mistake.
    """

    path: str
    change: Change

    def __str__(self) -> str:
        return f"{self.name}  [line {self.change.line}]"

    @property
    def name(self) -> str:
        """What `explained.toml` calls it: it does not change when lines move."""
        return f"{self.path} {self.change.name}"


def mutants_of(path: str) -> list[Mutant]:
    """Every mutant of a file."""
    return [Mutant(path, change) for change in changes_of((PROJECT / path).read_bytes())]


# --- running tests against them -----------------------------------------------------------------------------


@attrs.frozen
class Outcome:
    """What became of a mutant: ``killed``, ``timed out`` or ``survived``, and the first test that failed."""

    mutant: Mutant
    verdict: str
    test: str = ""


class Copy:
    """A copy of the project, in which one file at a time is changed.

    Parameters:
        folder: where to put it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        shutil.copytree(PROJECT, self.folder, symlinks=True, ignore=shutil.ignore_patterns(*NOT_COPIED))
        self._environment = {
            **os.environ,
            "PYTHONPATH": f"{self.folder / 'src'}:{self.folder}",
            "NUMBA_CACHE_DIR": str(folder / "numba"),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # halves the start of a run
        }

    def run(self, tests: list[str]) -> tuple[int, str]:
        """Run tests up to the first failure. Returns the exit code of pytest, and its output."""
        command = [sys.executable, "-m", "pytest", "-x", "-r", "fE", "--tb=no", "--no-header", "-p", "no:cacheprovider"]
        ended = subprocess.run(
            [*command, *tests],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return ended.returncode, ended.stdout

    def seconds(self, tests: list[str]) -> float:
        """How long the tests take without a mutant, once everything is compiled. Raises Refused: they fail."""
        self.run(tests)
        began = time.monotonic()
        code, printed = self.run(tests)
        if code != 0:
            raise Refused(f"the tests fail without a mutant:\n{printed}")
        return time.monotonic() - began

    def judge(self, mutant: Mutant, tests: list[str], stamp: int) -> tuple[str, str]:
        """Run tests against a mutant, and take it back.

        Parameters:
            mutant, tests: the mutant, and the tests to run.
            stamp: the time of the changed file, another for each mutant, and less than the present: otherwise Python
                could run byte code that it kept of another mutant.

        Returns:
            The verdict, and the first test that failed.
        """
        path = self.folder / mutant.path
        path.write_bytes(mutant.change.text((PROJECT / mutant.path).read_bytes()))
        os.utime(path, (stamp, stamp))
        try:
            code, printed = self.run(tests)
        finally:
            self.take_back(mutant)
        if code == 0:
            return "survived", ""
        lines = [line.partition(" - ")[0] for line in printed.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        failed = [line.partition(" ")[2] for line in lines]
        return "killed", failed[0] if failed else f"pytest ended with exit code {code}"

    def take_back(self, mutant: Mutant) -> None:
        """Restore the file of a mutant."""
        shutil.copy2(PROJECT / mutant.path, self.folder / mutant.path)


def outcomes(mutants: list[Mutant], tests: list[str], jobs: int) -> Iterator[Outcome]:
    """What becomes of mutants, as soon as it is known.

    Raises:
        Refused: the tests fail without a mutant.
    """
    by_name = {mutant.name: (stamp, mutant) for stamp, mutant in enumerate(mutants, start=1)}
    with tempfile.TemporaryDirectory(prefix="mutation-", ignore_cleanup_errors=True) as folder:
        copies = [Copy(Path(folder) / str(job)) for job in range(jobs)]
        longest = 0.0
        measured = ((str(job), partial(copy.seconds, tests)) for job, copy in enumerate(copies))
        for ready in answers(measured, jobs, DAY):
            if not isinstance(ready.found, float):
                raise Refused(str(ready.found))
            longest = max(longest, ready.found)
        used: dict[str, Copy] = {}

        def calls() -> Iterator[tuple[str, Callable[[], tuple[str, str]]]]:
            for name, (stamp, mutant) in by_name.items():  # as soon as a copy is free
                used[name] = copies.pop()
                yield name, partial(used[name].judge, mutant, tests, stamp)

        for answer in answers(calls(), jobs, 30 + 4 * longest):
            _, mutant = by_name[answer.name]
            copies.append(copy := used.pop(answer.name))
            if isinstance(answer.found, tuple):
                yield Outcome(mutant, *answer.found)
            elif answer.is_late:
                copy.take_back(mutant)
                yield Outcome(mutant, "timed out")
            else:
                raise Refused(str(answer.found))


# --- the command --------------------------------------------------------------------------------------------


def files_in(places: list[str]) -> list[str]:
    """The Python files in folders, or named themselves, from the project's root."""
    found: list[Path] = []
    for place in places:
        path = PROJECT / place
        if not path.exists():
            raise Refused(f"{place} does not exist")
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return [path.relative_to(PROJECT).as_posix() for path in found]


def chosen(paths: list[str], options: argparse.Namespace) -> list[Mutant]:
    """The mutants to judge, in the order of the files."""
    mutants = [mutant for path in paths for mutant in mutants_of(path) if options.only in mutant.name]
    return sampled(mutants, options.sample, options.seed)


def main() -> int:
    """Judge mutants. Returns the exit code: 0 if every survivor is explained, 1 if one is not."""
    parser = argparse.ArgumentParser(description="Find mistakes that no test notices.")
    parser.add_argument("files", nargs="*", help="files and folders to change (default: those of mutation.toml)")
    parser.add_argument("--tests", nargs="+", help="what to give to pytest for these files; the fastest first")
    parser.add_argument("--only", default="", help="only mutants whose name contains this text")
    parser.add_argument("--sample", type=int, help="at most this many mutants of each group")
    parser.add_argument("--seed", type=int, default=0, help="which ones: the same seed takes the same ones")
    parser.add_argument("--jobs", type=int, default=1, help="mutants that are judged at the same time")
    parser.add_argument("--list", action="store_true", help="print the mutants, and run nothing")
    options = parser.parse_args()
    if bool(options.files) != bool(options.tests):
        parser.error("files and --tests go together")

    settings = tomllib.loads(SETTINGS.read_text())
    groups = settings["groups"]
    if options.files:
        groups = [{"files": options.files, "tests": options.tests}]
    explained = read_explained(EXPLAINED)

    verdicts: Counter[str] = Counter()
    unexplained: list[str] = []
    for group in groups:
        mutants = chosen(files_in(group["files"]), options)
        if options.list:
            print(*mutants, sep="\n")
            continue
        print(f"{' '.join(group['files'])}: {len(mutants)} mutants", flush=True)
        for outcome in outcomes(mutants, group["tests"], options.jobs):
            name = outcome.mutant.name
            why = explained.get(name)
            verdicts[outcome.verdict] += 1
            known = f"explained: {why}" if why else ""
            if outcome.verdict == "survived" and not why:
                unexplained.append(name)
                known = "not explained in explained.toml"
            print(f"  {outcome.verdict:<10} {outcome.mutant}")
            print(*(f"{'':<13}{line}" for line in (outcome.test, known) if line), sep="\n", flush=True)
    if verdicts:
        print(", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))
    for name in unexplained:
        print(f"not explained: {name}")
    return 1 if unexplained else 0


if __name__ == "__main__":
    for signal_number in (signal.SIGTERM, signal.SIGINT):  # a shell has processes in its background ignore Ctrl-C
        signal.signal(signal_number, lambda *_: sys.exit(130))
    try:
        sys.exit(main())
    except Refused as refused:
        print(refused, file=sys.stderr)
        sys.exit(2)
