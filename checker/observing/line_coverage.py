"""Uses coverage.py to measure which lines and branches of a spec's functions run during a search.

An engine that records the results of calls does not call a function in every state. The coverage is still complete: an
engine skips a call only if an earlier call read the same values in the same order, and two such calls to a pure
function run the same lines.

Two features are turned off, so a search with coverage takes longer. Loops do not skip members (see `filters`), because
lines that run only for skipped members would not be counted. Helper processes are not used, because calls in these
processes are not measured.

A step witness is not evaluated again after it has been satisfied, and a step invariant is not evaluated again after the
requested number of counterexamples has been found. Lines that would run only in such a later evaluation are reported as
never run.
"""

from __future__ import annotations

import glob
import inspect
import json
import linecache
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import attrs

from leadline.checker.coverage import FunctionCoverage, SourceLine
from leadline.checker.observing.filters import filters_off
from leadline.checker.properties import Property
from leadline.checker.result import Result
from leadline.checker.spec import Spec
from leadline.checker.support.files import short_path

S = TypeVar("S")

PRODUCT = Path(__file__).resolve().parents[1]
"""The folder of the package `checker`, which the coverage does not include."""


def with_source(spec: Spec[S], search: Callable[[Spec[S]], Result]) -> Result:
    """Run a search, and add the lines that ran to the coverage in the search result.

    The search receives a copy of the spec without cached initial states and action instances. The functions that
    compute these values run again during the search, so their lines are counted.

    Parameters:
        spec: the spec whose functions are measured.
        search: a function that searches a spec with coverage and returns the result.
    """
    import coverage  # import late, because it takes 0.1 seconds

    own = list(dict.fromkeys(_functions(spec)))
    files = sorted(glob.escape(str(file)) for file in _files(own))
    if not files:
        return search(spec)
    measure = coverage.Coverage(data_file=None, branch=True, include=files, config_file=False, messages=False)
    measure.start()
    try:
        with filters_off():
            result = search(attrs.evolve(spec))
    finally:
        measure.stop()
    covered = result.statistics.covered
    if covered is not None:
        result.statistics.covered = attrs.evolve(covered, source=tuple(_called(_report(measure), own)))
    return result


def _functions(spec: Spec[S]) -> Iterator[FunctionType]:
    """Yield the Python functions of a spec's actions, properties and premises, and what limits its search.

    Functions of this package, such as that of `leadline.checker.enabled`, are left out.
    """
    checks = [item.function for item in spec.checks]
    named = [*(action.function for action in spec.actions), *checks, *spec.limits.values()]
    for given in [*named, *(item.premise for item in spec.checks)]:
        function = inspect.unwrap(given.written if isinstance(given, Property) else given) if given else None
        if inspect.isfunction(function):
            path = Path(function.__code__.co_filename)
            if path.is_file() and not path.resolve().is_relative_to(PRODUCT):
                yield function


def _files(own: list[FunctionType]) -> set[Path]:
    """Return the files of the given functions, and the files of imported modules in the same folders or packages."""
    files = {Path(function.__code__.co_filename).resolve() for function in own}
    folders, packages = {file.parent for file in files}, {_package(function.__module__) for function in own}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.endswith(".py"):
            path = Path(file).resolve()
            if path.parent in folders or _package(name) in packages:
                files.add(path)
    return {file for file in files if not file.is_relative_to(PRODUCT)}


def _package(module: str) -> str:
    """Return the package of a module. leadline's own packages are separate, because its reports call no spec."""
    parts = module.split(".")
    return ".".join(parts[: 2 if parts[0] == "leadline" else 1])


def _report(measure: Any) -> dict[str, Any]:
    """Return the coverage.py report for each file, or an empty dict if nothing was measured."""
    from coverage.exceptions import CoverageWarning, NoDataError

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", CoverageWarning)
        path = Path(folder) / "coverage.json"
        try:
            measure.json_report(outfile=str(path), ignore_errors=True)
        except NoDataError:
            return {}
        files: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["files"]
        return files


def _called(files: Mapping[str, Any], own: list[FunctionType]) -> Iterator[FunctionCoverage]:
    """Yield the coverage of a spec's functions and of all functions that they called. Functions that are not
    completely covered come first.
    """
    named = {(Path(f.__code__.co_filename).resolve(), f.__qualname__.replace(".<locals>", "")) for f in own}
    found = []
    for name, of_file in sorted(files.items()):
        path = Path(name).resolve()
        for function, of_function in of_file["functions"].items():
            if function and (of_function["executed_lines"] or (path, function) in named):
                found.append(FunctionCoverage(function, short_path(path), _lines(of_function, str(path))))
    yield from sorted(found, key=lambda each: each.is_complete)


def _lines(found: Mapping[str, Any], file: str) -> tuple[SourceLine, ...]:
    """Return the lines of a function, starting with its ``def``.

    Parameters:
        found: the function's entry in the coverage.py report.
        file: the path of the file that contains the function.
    """
    run, never = set(found["executed_lines"]), set(found["missing_lines"])
    first = found["start_line"]
    block = inspect.getblock(linecache.getlines(file)[first - 1 :])  # it ends with the last line of the last statement
    last = max(run | never | {first + len(block) - 1})
    missing: dict[int, list[int]] = {}
    for origin, target in found["missing_branches"]:
        if target <= last:  # for a function in a single line, coverage.py reports a branch to the line after it
            missing.setdefault(origin, []).append(max(target, 0))

    def line(number: int) -> SourceLine:
        mark = "never" if number in never else "partly" if number in missing else "run" if number in run else ""
        return SourceLine(
            number, linecache.getline(file, number).rstrip(), mark, tuple(sorted(missing.get(number, ())))
        )

    return tuple(line(number) for number in range(first, last + 1))
