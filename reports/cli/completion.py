"""What a shell completes: names of shipped specs and their parts, names of checks, and files.

No Python file is read or run. Therefore nothing is completed about a spec that is in a file.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import click

from leadline.checker.bounds import describe_bounds
from leadline.checker.errors import LeadlineError
from leadline.reports.loading import shipped_column, shipped_spec
from leadline.reports.suite import SHIPPED, find_suite, read_entries, suite_and_names, titles

Completer = Callable[[click.Context, click.Parameter, str], list[str]]
Names = Callable[[str], Iterable[str]]
"""A function that yields what can be named, given the reference to a spec. It may raise `LeadlineError`."""


def complete_files(*suffixes: str) -> Completer:
    """Return a function that completes names of folders, and of files that end with one of the suffixes."""

    def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
        found = sorted(glob.glob(f"{glob.escape(incomplete)}*"))
        names = [f"{name}/" if os.path.isdir(name) else name for name in found]
        return [name for name in names if name.endswith(("/", *suffixes))]

    return complete


def complete_spec(*suffixes: str) -> Completer:
    """Return a function that completes a spec, its changed rules, and names of files."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        from leadline.invariants.catalog import CATALOG

        reference, plus, _ = incomplete.rpartition("+")
        if plus:
            return _continued(incomplete, "+", reference, changed_rules)
        shipped = [name for name in CATALOG if name.startswith(incomplete)]
        return [*shipped, *complete_files(*suffixes)(context, parameter, incomplete)]

    return complete


def complete_part(names: Names) -> Completer:
    """Return a function that completes a list of parts of the spec on the command line."""

    def complete(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
        given = [context.params.get(name) for name in ("what", "spec", "first")]
        first = next(filter(None, [*given, *context.args]), "")  # click keeps arguments there before an open option
        reference = "+".join([first, *(context.params.get("rules") or ())])
        return _continued(incomplete, ",", reference, names)

    return complete


def _continued(incomplete: str, separator: str, reference: str, names: Names) -> list[str]:
    """Return the names that continue the last word of a list."""
    before = incomplete[: incomplete.rfind(separator) + 1]
    with suppress(LeadlineError):
        return [f"{before}{name}" for name in names(reference) if name.startswith(incomplete[len(before) :])]
    return []


def changed_rules(reference: str) -> Iterator[str]:
    """Yield the values that the rules of a spec can be changed to."""
    column = shipped_column(reference)
    if column is not None:
        yield from (f"{rule}={value.name}" for rule in column.changeable for value in column.table[rule].values)


def bounds(reference: str) -> Iterator[str]:
    """Yield the bounds of a spec, and the values of those that are words or switches."""
    for name, value, _, allowed in describe_bounds(shipped_spec(reference).bounds):
        words = allowed.removeprefix("one of ").split(", ") if allowed.startswith("one of ") else [""]
        yield from (f"{name}={word}" for word in (["true", "false"] if isinstance(value, bool) else words))


def properties(reference: str, only_witnesses: bool = False) -> list[str]:
    """Return the names of a spec's properties and witnesses, or only of its witnesses."""
    spec = shipped_spec(reference)
    return [item.name for item in (*spec.properties, *spec.optional) if item.kind.is_witness or not only_witnesses]


def complete_check(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Complete the name of a check, or the file of a suite."""
    file, names = suite_and_names(context.params.get("words") or ())
    path = SHIPPED if context.params.get("shipped") else file or find_suite(Path())
    found = complete_files(".toml")(context, parameter, incomplete) if not (file or names) else []
    with suppress(LeadlineError):
        found += titles(read_entries(path)) if path is not None else []
    return [name for name in found if name.startswith(incomplete)]
