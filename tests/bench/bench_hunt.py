"""Measure how much of what is known a hunt finds again, by `make bench-hunt`.

A hunt of each column gets the same processor time. It may use rules to go on, but neither the archive of known bugs
nor `causes.toml`: both are empty while it runs. Only afterwards, its traces are held against the archive. A trace
counts for an entry if, in the world and within the bounds in which it was found, the fix of this entry alone cures it:
the property holds there in all states. If the fixes of several entries do, the trace is listed as ambiguous, and counts
for none of them. Entries with one and the same fix are told apart by their property, and then by their bounds.

Each entry and column that has it make a pair. Not counted are behaviours by design, and bugs that no rule of the model
fixes, because no trace can count for them. The mistakes of `leadline mutate`, which no release has, are hunted for in
the newest column in which each can be made. One counts as found if the steps of a trace break the property with the
mistake, and not without it.

    python -m tests.bench.bench_hunt --folder hunts kafka/2.8 control/2.1
    python -m tests.bench.bench_hunt --folder hunts --mistakes group
"""

from __future__ import annotations

import argparse
import functools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import attrs

from leadline.checker.engines import ENGINES
from leadline.checker.engines.compiled.search import compile_ahead
from leadline.checker.result import Limits, StopKind, Verdict
from leadline.checker.settings import CompiledSettings
from leadline.invariants.catalog import FAMILIES
from leadline.model.mistakes import Mistake
from leadline.reports.cli.hunt import hunt
from leadline.reports.diagnosis import allows
from leadline.reports.hunt import cures
from leadline.reports.hunt.cures import base_spec
from leadline.reports.hunt.hunt import cpu_seconds
from leadline.reports.hunt.plan import shipped_plan
from leadline.reports.hunt.report import Cause, SpecHunt, read_hunt
from leadline.reports.hunt.traces import trace_of
from leadline.reports.kafka.bugs import Archive, Bug, fix_of, read_archive
from leadline.reports.loading import load_spec, shipped_column

MISTAKE = """\
from leadline.invariants.catalog import FAMILIES

family = FAMILIES[{family!r}]
(mistake,) = (each for each in family.mutations.mistakes if each.name == {name!r})
spec = family.with_mistake(mistake, family.find({column!r}))
"""
"""The file of a spec with a mistake, which is hunted as anybody's own spec is."""


_MOST = 20.0
"""How many times as long as its processor time a hunt may take, on a machine that does other things, too."""


def hunted(reference: str, folder: Path, seconds: float, *mistaken: str) -> Path:
    """Hunt one spec in a process of its own, unless that was done, and return the file with the hunt.

    Parameters:
        mistaken: for a column with a mistake, its plan and the column. The hunt ends when it finds the mistake.
    """
    saved = folder.resolve() / f"{reference.replace('/', '_').removesuffix('.py')}.json"
    if not saved.exists() or not _ended(saved, seconds, *mistaken[1:]):
        command = [sys.executable, "-m", "tests.bench.bench_hunt", "--child", reference, str(saved), str(seconds)]
        with saved.with_suffix(".log").open("a") as log:
            run = subprocess.run([*command, *mistaken], stdout=log, stderr=log, check=False)
        if run.returncode == 2:
            raise SystemExit(f"the hunt of {reference} failed: see {saved.with_suffix('.log')}")
    return saved


def _ended(saved: Path, seconds: float, right: str = "") -> bool:
    own = read_hunt(saved).specs[0]
    return own.cpu_seconds >= seconds - 1 or not own.left or (bool(right) and _noticed(own, right) is not None)


def hunt_alone(reference: str, saved: Path, seconds: float, plan: str = "", right: str = "") -> int:
    """Hunt without the archive, for what is left of the given processor time, and end as by Ctrl-C."""
    left = seconds - (read_hunt(saved).specs[0].cpu_seconds if saved.exists() else 0)
    compile_ahead(base_spec(reference))  # needed once on each machine, and no part of a hunt
    began = cpu_seconds()

    def watch() -> None:
        while cpu_seconds() - began < left:
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for processes in the background
    threading.Thread(target=watch, daemon=True).start()
    arguments = [reference, "--minutes", f"{_MOST * seconds / 60}", "--save", str(saved), "--workers", "1"]

    def found(_: str, cause: Cause) -> None:
        if right and is_of_mistake(cause, right):
            os.kill(os.getpid(), signal.SIGINT)

    with (
        mock.patch.object(cures, "archive_with_causes", return_value=Archive(bugs=[])),
        mock.patch.object(sys.modules[hunt.callback.__module__], "_found", found),
    ):
        result: int = hunt.main([*arguments, *(["--plan", plan] if plan else [])], standalone_mode=False)
    return result


# --- entries of the archive ------------------------------------------------------------------------------------


def pairs(archive: Archive, column: str) -> list[Bug]:
    """Return the entries that make a pair with a column: those that change a rule of this column, or a default."""
    rules = shipped_column(column)
    assert rules is not None
    found = [bug for bug in archive.bugs if column in bug.affected and not bug.by_design]
    return [bug for bug in found if bug.defaults or (bug.rules and fix_of(bug, rules))]


def fix_in(bug: Bug, cause: Cause) -> tuple[Mapping[str, str], Mapping[str, Any]]:
    """Return the rules and the bounds that fix a bug in the world of a finding. Both are empty if it is fixed there.

    If a cure in this world is a part of the fix, the fix is what is left of it.
    """
    column, affected = shipped_column(cause.spec), shipped_column(bug.affected[0])
    assert column is not None
    assert affected is not None
    fix = fix_of(bug, affected) if bug.rules else {}
    needed = {rule for rule, value in fix.items() if value == bug.rules[rule]}
    rules = {rule: fix[rule] for rule, value in bug.rules.items() if column.values[rule] == value}
    rules = {rule: value for rule, value in rules.items() if rule not in needed}
    if any(column.values[rule] != bug.rules[rule] for rule in needed):
        rules = {}
    at_fixed = {} if bug.rules else attrs.asdict(load_spec(bug.fixed[0]).bounds)
    return rules, {name: at_fixed[name] for name, old in bug.defaults.items() if cause.bounds.get(name) == old}


def matching(cause: Cause, bugs: Sequence[Bug], seconds: float) -> tuple[list[Bug], list[Bug]]:
    """Return the entries for which a finding counts, at most one, and those between which it is ambiguous."""
    found = list[tuple[Bug, frozenset[tuple[str, Any]]]]()
    for bug in bugs:
        rules, bounds = fix_in(bug, cause)
        if (rules or bounds) and cures_it(cause, rules, bounds, seconds):
            found.append((bug, frozenset([*rules.items(), *bounds.items()])))
    found = [each for each in found if not any(fix < each[1] for _, fix in found)]  # a part of it is enough
    if len({fix for _, fix in found}) == 1:
        same = [bug for bug, _ in found]
        same = [bug for bug in same if bug.property == cause.violates] or same
        found = [each for each in found if each[0] in same]
        if len(found) > 1:
            found = [each for each in found if is_within(cause, each[0])] or found
    named = [bug for bug, _ in found]
    return (named, []) if len(named) == 1 else ([], named)


@functools.cache
def cached(reference: str) -> Any:
    return load_spec(reference)


def cures_it(cause: Cause, rules: Mapping[str, str], bounds: Mapping[str, Any], seconds: float) -> bool:
    """Return whether a property holds with a fix, in all states of the world in which a violation was found."""
    trace, column = trace_of(cause), shipped_column(cause.spec)
    assert column is not None
    changed = FAMILIES[cause.spec.partition("/")[0]].spec(column.with_rules(dict(rules)))
    spec = changed.with_bounds({**cause.bounds, **bounds}).with_properties([cause.violates])
    if trace is None or allows(spec, trace):
        return False
    result = ENGINES["compiled"](spec, Limits(max_cpu_seconds=seconds), None, CompiledSettings(workers=1))
    if result.stop is not None and result.stop.kind is StopKind.TIME:
        print(f"    not decided in {seconds:g} s: {cause.violates} with {rules or bounds}", flush=True)
    return result.verdict is Verdict.HOLDS and result.exhausted


def is_within(cause: Cause, bug: Bug) -> bool:
    """Return whether the bounds of a finding are no larger than those of an entry."""
    needed = attrs.asdict(cached(cause.spec.partition("+")[0]).with_bounds(bug.bounds_for(cause.spec)).bounds)
    return all(0 <= int(cause.bounds[name]) <= most for name, most in needed.items() if type(most) is int and most >= 0)


def measure(column: str, folder: Path, seconds: float, deciding: float) -> tuple[int, int]:
    """Hunt a column, print what it found again, and return the numbers of pairs found and of all."""
    archive = read_archive()
    wanted = pairs(archive, column)
    own = read_hunt(hunted(column, folder, seconds)).specs[0]
    counted = dict[str, Cause]()
    for cause in own.causes:
        named, ambiguous = matching(cause, wanted, deciding)
        for bug in named:
            counted.setdefault(bug.ticket, cause)
        what = (
            named[0].ticket if named else "ambiguous: " + ", ".join(b.ticket for b in ambiguous) if ambiguous else "-"
        )
        print(f"    {cause.violates}, {cause.length} states, after {cause.cpu_seconds} s: {what}", flush=True)
    missed = [bug.ticket for bug in wanted if bug.ticket not in counted]
    print(f"{column}: {len(counted)} of {len(wanted)}; missed: {', '.join(missed) or 'none'}", flush=True)
    return len(counted), len(wanted)


# --- mistakes --------------------------------------------------------------------------------------------------


def mistakes(name: str) -> Iterator[tuple[Mistake, str]]:
    """Yield the mistakes of a family, each with the newest column in which it can be made."""
    family = FAMILIES[name]
    assert family.mutations is not None
    for mistake in family.mutations.mistakes:
        for column in reversed(family.columns):
            concerned = mistake.concerns(column.protocol(), family.spec(column).actions)
            if not mistake.harmless and concerned and family.mutations.may_be_made_in(column):
                yield mistake, column.name
                break


def measure_mistakes(name: str, folder: Path, seconds: float, only: Sequence[str]) -> tuple[int, int]:
    found, number = 0, 0
    for mistake, column in mistakes(name):
        if only and mistake.name not in only:
            continue
        file = folder / f"{name}-{mistake.name}.py"
        file.write_text(MISTAKE.format(family=name, name=mistake.name, column=column))
        own = read_hunt(hunted(str(file), folder, seconds, str(shipped_plan(base_spec(column))), column)).specs[0]
        number += 1
        noticed = _noticed(own, column)
        found += noticed is not None
        said = "missed" if noticed is None else f"{noticed.violates} after {noticed.cpu_seconds} s"
        print(f"    {mistake.name} in {column}: {said}", flush=True)
    print(f"mistakes of {name}: {found} of {number}", flush=True)
    return found, number


def _noticed(own: SpecHunt, right: str) -> Cause | None:
    """Return the first finding of a mistake, or None."""
    return next((cause for cause in own.causes if is_of_mistake(cause, right)), None)


def is_of_mistake(cause: Cause, column: str) -> bool:
    trace = trace_of(cause)
    right = cached(column).with_bounds(cause.bounds).with_properties([cause.violates])
    return trace is not None and not allows(right, trace)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "columns", nargs="*", help="columns, or families of mistakes; by default all columns with entries"
    )
    parser.add_argument("--folder", type=Path, default=Path("hunts"), help="where hunts are kept, to be resumed")
    parser.add_argument(
        "--seconds", type=float, default=360.0, help="the processor time for each hunt: three minutes of two cores"
    )
    parser.add_argument("--deciding", type=float, default=60.0, help="the time to decide whether a fix cures a trace")
    parser.add_argument("--mistakes", action="store_true", help="hunt for the mistakes of families")
    parser.add_argument("--only", nargs="*", default=(), help="the names of mistakes")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    began, sums = time.monotonic(), (0, 0)
    every = sorted({name for bug in read_archive().bugs for name in bug.affected if pairs(read_archive(), name)})
    families = [name for name, each in FAMILIES.items() if each.mutations is not None]
    for name in options.columns or (families if options.mistakes else every):
        if options.mistakes:
            found, number = measure_mistakes(name, options.folder, options.seconds, options.only)
        else:
            found, number = measure(name, options.folder, options.seconds, options.deciding)
        sums = sums[0] + found, sums[1] + number
    share = f"{100 * sums[0] / sums[1]:.0f} %" if sums[1] else "-"
    print(f"found again: {sums[0]} of {sums[1]} ({share}), {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        sys.exit(hunt_alone(sys.argv[2], Path(sys.argv[3]), float(sys.argv[4]), *sys.argv[5:]))
    main()
