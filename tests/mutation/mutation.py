"""`make mutants`: change one thing at a time in the models and invariants, and see which changes no test notices.

A mutant is one small mistake in one function: a guard dropped or negated, a field that `evolve` does not set, a
constant off by one, another comparison. The tests are run against each in a copy of the project. Those that survive
either show what no test says, or change nothing that can be observed: `mutation.toml` explains the latter, and says
which tests are run for which files.

    python tests/mutation/mutation.py                            # all files and tests of mutation.toml
    python tests/mutation/mutation.py --sample 100               # 100 mutants of each group, always the same ones
    python tests/mutation/mutation.py --only with_leader --list  # the mutants whose name contains a text
    python tests/mutation/mutation.py checker/engines/compiled --tests tests/engines/test_compiled.py
"""

from __future__ import annotations

import argparse
import itertools
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import attrs

from leadline.checker.mutation.mutations import Change, changes_of

PROJECT = Path(__file__).parents[2]
SETTINGS = Path(__file__).with_suffix(".toml")
NOT_COPIED = (".*", "__pycache__", "node_modules")

# --- mutants ------------------------------------------------------------------------------------------------


class Refused(Exception):
    """What was asked for cannot be done; the text says why."""


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
        """What `mutation.toml` calls it: it does not change when lines move."""
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
        self._times = itertools.count(int(time.time()))
        self._running: subprocess.Popen[str] | None = None

    def run(self, tests: list[str], seconds: float | None = None) -> tuple[int | None, str]:
        """Run tests up to the first failure.

        Returns:
            The exit code of pytest, None if it took longer than some seconds, and what it printed.
        """
        command = [sys.executable, "-m", "pytest", "-x", "-r", "fE", "--tb=no", "--no-header", "-p", "no:cacheprovider"]
        self._running = process = subprocess.Popen(
            [*command, *tests],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            printed, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.stop()
            process.communicate()
            return None, ""
        return process.returncode, printed

    def stop(self) -> None:
        """Kill the tests that are running, with all that they started."""
        if self._running is not None and self._running.poll() is None:
            os.killpg(self._running.pid, signal.SIGKILL)

    def judge(self, mutant: Mutant, tests: list[str], seconds: float) -> Outcome:
        """Run tests against a mutant, and take it back."""
        original = (PROJECT / mutant.path).read_bytes()
        self._write(mutant.path, mutant.change.text(original))
        try:
            code, printed = self.run(tests, seconds)
        finally:
            self._write(mutant.path, original)
        if code is None:
            return Outcome(mutant, "timed out")
        if code == 0:
            return Outcome(mutant, "survived")
        lines = [line.partition(" - ")[0] for line in printed.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        failed = [line.partition(" ")[2] for line in lines]
        return Outcome(mutant, "killed", failed[0] if failed else f"pytest ended with exit code {code}")

    def _write(self, path: str, text: bytes) -> None:
        """Write a file with a time of its own, so that no byte code of another mutant is taken for it."""
        (self.folder / path).write_bytes(text)
        stamp = next(self._times)
        os.utime(self.folder / path, (stamp, stamp))


def outcomes(mutants: list[Mutant], tests: list[str], jobs: int) -> Iterator[Outcome]:
    """What becomes of mutants, as soon as it is known.

    Raises:
        Refused: the tests fail without a mutant.
    """
    waiting: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    for mutant in mutants:
        waiting.put(mutant)
    done: queue.SimpleQueue[Outcome | BaseException] = queue.SimpleQueue()

    copies: list[Copy] = []
    stopping = threading.Event()

    def work(folder: str) -> None:
        try:
            copy = Copy(Path(folder))
            copies.append(copy)
            copy.run(tests)  # compiles what is compiled once
            began = time.monotonic()
            code, printed = copy.run(tests)
            if code != 0:
                raise Refused(f"the tests fail without a mutant:\n{printed}")
            seconds = 30 + 4 * (time.monotonic() - began)
            while not stopping.is_set():
                done.put(copy.judge(waiting.get_nowait(), tests, seconds))
        except queue.Empty:
            pass
        except BaseException as error:
            done.put(error)

    with tempfile.TemporaryDirectory(prefix="mutation-", ignore_cleanup_errors=True) as folder:
        threads = [threading.Thread(target=work, args=(f"{folder}/{job}",)) for job in range(jobs)]
        for thread in threads:
            thread.start()
        try:
            for _ in mutants:
                outcome = done.get()
                if isinstance(outcome, BaseException):
                    raise outcome
                yield outcome
        finally:
            stopping.set()
            while any(thread.is_alive() for thread in threads):
                for copy in copies:
                    copy.stop()
                time.sleep(0.1)


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
    if options.sample is not None and options.sample < len(mutants):
        places = sorted(random.Random(options.seed).sample(range(len(mutants)), options.sample))
        mutants = [mutants[place] for place in places]
    return mutants


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
    explained = {item["mutant"]: item["why"] for item in settings["harmless"]}

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
            known = f"mutation.toml: {why}" if why else ""
            if outcome.verdict == "survived" and not why:
                unexplained.append(name)
                known = "not explained in mutation.toml"
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
