"""Which lines and branches of a spec's functions were never run, as coverage.py finds it.

Of engines that learn this is complete too, though they call a function on few of the states. They leave out a call only
where an earlier one read the same values from all that it read, in the same order. A pure function does the same again
for these, so it would have run the same lines. Other processes, in which calls are not seen, make none in such a run.

A step witness is no longer asked once it is shown, nor a step invariant once it has as many counterexamples as were
wanted: what they would have run after that is not known to have been run.
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
from typing import Any

import attrs

from leadline.checker.coverage import FunctionCoverage, SourceLine
from leadline.checker.properties import Property
from leadline.checker.result import Result
from leadline.checker.spec import Spec

PRODUCT = Path(__file__).resolve().parents[1]
"""The checker itself, whose lines nobody wants to see."""


def with_source(spec: Spec[Any], search: Callable[[Spec[Any]], Result]) -> Result:
    """Run a search, and add to its coverage which lines it ran.

    The search gets a copy of the spec, which has not yet made its initial states and its action instances: so they are
    made within the limits of the search, and whether that is seen does not depend on earlier searches.

    Parameters:
        spec: whose functions are of interest.
        search: searches a spec; its result has coverage.
    """
    import coverage  # which takes a tenth of a second

    own = list(dict.fromkeys(_functions(spec)))
    files = sorted(glob.escape(str(file)) for file in _files(own))
    if not files:
        return search(spec)
    measure = coverage.Coverage(data_file=None, branch=True, include=files, config_file=False, messages=False)
    measure.start()
    try:
        result = search(attrs.evolve(spec))
    finally:
        measure.stop()
    covered = result.statistics.covered
    if covered is not None:
        result.statistics.covered = attrs.evolve(covered, source=tuple(_called(_report(measure), own)))
    return result


def _functions(spec: Spec[Any]) -> Iterator[Any]:
    """The Python functions that a spec names."""
    within = [] if spec.within is None else [spec.within]
    named = [action.function for action in spec.actions] + [item.function for item in spec.checks] + within
    for given in [*named, *(item.premise for item in spec.checks)]:
        function = inspect.unwrap(given.function if isinstance(given, Property) else given) if given else None
        if inspect.isfunction(function) and Path(function.__code__.co_filename).is_file():
            yield function


def _files(own: list[Any]) -> set[Path]:
    """The files of some functions, and of the modules beside them and in their packages, as far as these are loaded."""
    files = {Path(function.__code__.co_filename).resolve() for function in own}
    folders, packages = {file.parent for file in files}, {function.__module__.partition(".")[0] for function in own}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.endswith(".py"):
            path = Path(file).resolve()
            if path.parent in folders or name.partition(".")[0] in packages:
                files.add(path)
    return {file for file in files if not file.is_relative_to(PRODUCT)}


def _report(measure: Any) -> dict[str, Any]:
    """What coverage.py reports, by file; empty if it has seen nothing."""
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


def _called(files: Mapping[str, Any], own: list[Any]) -> Iterator[FunctionCoverage]:
    """The functions that a spec names, and those that these have called, the incomplete ones first."""
    named = {(Path(f.__code__.co_filename).resolve(), f.__qualname__.replace(".<locals>", "")) for f in own}
    found = []
    for name, of_file in sorted(files.items()):
        path = Path(name).resolve()
        for function, of_function in of_file["functions"].items():
            if function and (of_function["executed_lines"] or (path, function) in named):
                found.append(FunctionCoverage(function, _short(path), _lines(of_function, str(path))))
    yield from sorted(found, key=lambda each: each.is_complete)


def _lines(found: Mapping[str, Any], file: str) -> tuple[SourceLine, ...]:
    """The lines of a function, from its ``def`` on.

    Parameters:
        found: what coverage.py reports of it.
        file: its file.
    """
    run, never = set(found["executed_lines"]), set(found["missing_lines"])
    first = found["start_line"]
    block = inspect.getblock(linecache.getlines(file)[first - 1 :])  # to the last line of its last statement
    last = max(run | never | {first + len(block) - 1})
    missing: dict[int, list[int]] = {}
    for origin, target in found["missing_branches"]:
        if target <= last:  # a line beyond follows the `def` of a function that is all in one line
            missing.setdefault(origin, []).append(max(target, 0))

    def line(number: int) -> SourceLine:
        mark = "never" if number in never else "partly" if number in missing else "run" if number in run else ""
        return SourceLine(
            number, linecache.getline(file, number).rstrip(), mark, tuple(sorted(missing.get(number, ())))
        )

    return tuple(line(number) for number in range(first, last + 1))


def _short(path: Path) -> str:
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else "/".join(path.parts[-3:])
