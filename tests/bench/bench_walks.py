"""The speed of random search, and its time to find known flaws: ``python -m tests.bench.bench_walks --seeds 20``.

Each flaw is searched for by uniform walks and by guided walks, each with many seeds, and exhaustively, where states are
counted instead of steps. A search ends with the first counterexample, or after a number of steps or seconds. One that
found nothing counts as longer than all others; ">" marks a median or percentile that is such a search. The steps of a
seed are the same on every machine, unless seconds end the search.

The first search of each way learns the spec, and its seconds are those that a user waits. They are shown apart. The
others keep what was learned, which makes no difference to their steps.

The catalogued mutants of specs can take the place of the flaws. Which property notices each of them is read from the
report of an exhaustive search::

    leadline mutate kafka/4.1 rpc/kip-320 atomic/kip-320 --kind rule --kind mistake --json mutants.json
    python -m tests.bench.bench_walks --mutants mutants.json --seeds 100 --most-steps 100000
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import attrs
import numpy as np

from leadline.checker import explore
from leadline.checker.engines.budget import Budget
from leadline.checker.engines.learning.watch import Watch
from leadline.checker.engines.learning.workers import Workers, usable_cores
from leadline.checker.engines.purity import Purity
from leadline.checker.engines.random.walkers import Walks
from leadline.checker.observing.lazy import make_ordinary
from leadline.checker.result import Limits
from leadline.checker.spec import Spec
from leadline.invariants.catalog import CATALOG, find
from leadline.reports.kafka.bugs import read_archive
from leadline.reports.loading import known_mutations, load_spec
from tests.bench.machine import print_paragraph, print_section

THREE_BROKERS = {"brokers": 3, "log_size": 2, "records": 2, "max_epoch": 2}

DESIGNS: list[tuple[str, dict[str, Any], str]] = [
    ("atomic/hw-truncation", {}, "strong_isr"),
    ("atomic/kip-101", THREE_BROKERS, "strong_isr"),
    ("atomic/kip-279", THREE_BROKERS, "strong_isr"),
    ("atomic/kip-320-first-try", THREE_BROKERS, "strong_isr"),
    ("rpc/hw-truncation", {}, "committed_never_lost"),
    ("rpc/kip-101", {"max_epoch": 2}, "logs_prefix_consistent"),
    ("rpc/kip-279", {"max_epoch": 3, "acks": "all", "min_insync_replicas": 2}, "committed_never_lost"),
]
"""Designs of the articles and KIPs, bounds, and the property that is violated."""

SPACES: list[tuple[str, dict[str, Any]]] = [
    ("atomic/hw-truncation", {}),
    ("atomic/kip-320", {**THREE_BROKERS, "max_epoch": 3}),
    ("tests/natural/klotski.py", {}),
    ("tests/natural/nano.py", {}),
]
"""Where the rate is measured: a small space, all of which is soon expanded; one of 9,985,570 states, which soon fills
the frontier; and two of specs of which little can be reused, so that most calls are made again."""

WAYS = ("uniform", "guided", "exhaustive")

LENGTH = 60
"""The most steps of a behaviour."""


EASY = 1_000
"""Steps of a median uniform search, below which guidance can hardly save any."""


class Flaw(NamedTuple):
    """A flaw, and the spec that has it, with the one property that it violates."""

    name: str
    spec: Spec[Any]


class Search(NamedTuple):
    """The cost of a search for a flaw: steps (or states), seconds, and whether it found the flaw."""

    steps: int
    seconds: float
    found: bool


def flaws() -> Iterator[Flaw]:
    """The flaws of the designs, and each bug of the archive in the first release that it affects."""
    for name, bounds, violated in DESIGNS:
        yield Flaw(name, CATALOG[name].with_bounds(bounds).with_properties([violated]))
    archive = read_archive()
    for bug in archive.bugs:
        run = next(run for run in archive.runs(bug) if run.part == "affected")
        yield Flaw(f"{bug.ticket}, `{run.spec.name}`", run.spec)


def mutants(report: Path) -> Iterator[Flaw]:
    """The catalogued mutants of a ``leadline mutate`` report, each with the property of its shortest counterexample."""
    content = json.loads(report.read_bytes())
    for of_spec in content.get("reports", [content]):
        spec = find(of_spec["spec"])
        assert spec is not None
        known = {mutation.name: mutation for mutation in known_mutations(spec.name)}
        for mutant in of_spec["mutants"]:
            lengths = {name: states for name, states in mutant["violated"].items() if states}
            if lengths and mutant["name"] in known:
                mutation = known[mutant["name"]]
                made = mutation.made(spec.with_bounds(mutation.bounds))
                yield Flaw(
                    f"{mutation.name}, `{spec.name}`", made.with_properties([min(lengths, key=lengths.__getitem__)])
                )


def walk(spec: Spec[Any], seeds: int, uniform: bool, most_steps: int, most_seconds: float) -> Iterator[Search]:
    """Search at random, with one seed after the other.

    Parameters:
        spec: with the one property that is violated.
        most_steps, most_seconds: after which a search is given up.
    """
    (violated,) = spec.checks
    workers, began = Workers(usable_cores()), time.monotonic()
    try:
        watch = Watch(Budget(Limits()), workers)
        walks = Walks(spec, 10**9, LENGTH, 0, watch, Purity(spec), uniform=uniform)
        for seed in range(seeds):
            if seed:
                began = time.monotonic()
                walks.begin(seed, uniform=uniform)
            while walks.round() and violated not in walks.traces:
                if walks.steps >= most_steps or time.monotonic() - began >= most_seconds:
                    break
            yield Search(walks.steps, time.monotonic() - began, violated in walks.traces)
    finally:
        workers.close()
        make_ordinary()


def exhaust(spec: Spec[Any], most: float) -> Search:
    """Search exhaustively, up to the level of the first violation."""
    result = explore(spec, Limits(max_seconds=most))
    found = any(item.traces for item in result.properties)
    return Search(result.statistics.distinct, result.statistics.seconds, found)


def rate(spec: Spec[Any], uniform: bool, seconds: float) -> float:
    """Steps a second with all properties, in the second half of some seconds: most is learned by then."""
    workers, began, before, since = Workers(usable_cores()), time.monotonic(), 0, 0.0
    try:
        watch = Watch(Budget(Limits()), workers)
        walks = Walks(spec, 10**9, LENGTH, 0, watch, Purity(spec), uniform=uniform)
        while walks.round() and time.monotonic() - began < seconds:
            if not since and time.monotonic() - began > seconds / 2:
                before, since = walks.steps, time.monotonic()
    finally:
        workers.close()
        make_ordinary()
    return (walks.steps - before) / (time.monotonic() - since)


class Percentile(NamedTuple):
    """A percentile of the steps or the seconds of searches, and whether it is that of a search that found the flaw."""

    value: float
    found: bool

    def text(self, digits: int) -> str:
        return f"{'' if self.found else '>'}{self.value:,.{digits}f}"


def tlc_rate(jar: Path, module: Path, seconds: float) -> str:
    """States a second of TLC's random simulation, with as many workers as there are cores; and the version of TLC.

    Parameters:
        jar: ``tla2tools.jar``.
        module: a TLA+ file, with its configuration beside it.
        seconds: the least time of the last run. The start of TLC does not count: the run before it is subtracted.
    """
    cores, behaviours, states, took = usable_cores(), 64, 0, 0.0
    while True:
        with tempfile.TemporaryDirectory() as folder:
            options = ["-simulate", f"num={behaviours}", "-depth", str(LENGTH), "-workers", str(cores), "-deadlock"]
            command = ["java", "-cp", str(jar.resolve()), "tlc2.TLC", *options, "-metadir", folder, module.name]
            began = time.monotonic()
            run = subprocess.run(command, cwd=module.parent, capture_output=True, text=True, check=False)
        took_before, states_before, took = took, states, time.monotonic() - began
        counted = re.search(r"The number of states generated: (\d+)", run.stdout)
        if run.returncode or counted is None:
            raise SystemExit(f"TLC ended with exit code {run.returncode}:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
        states = int(counted[1])
        if took > seconds and took_before:
            version = next(line for line in run.stdout.splitlines() if line.startswith("TLC2"))
            return f"{(states - states_before) / (took - took_before):,.0f} states/s, {cores} workers, {version}"
        behaviours *= 4


def percentile(searches: list[Search], percent: float, what: str) -> Percentile:
    """A percentile of some searches.

    Parameters:
        what: ``steps`` or ``seconds``.
    """
    ordered = sorted((not search.found, getattr(search, what)) for search in searches)
    unfound, value = ordered[int(np.ceil(len(ordered) * percent / 100)) - 1]
    return Percentile(value, not unfound)


def cell(searches: list[Search]) -> str:
    """What searches at random took: three columns of the table."""
    steps = ", ".join(percentile(searches, each, "steps").text(0) for each in (50, 95))
    later = ", ".join(percentile(searches[1:], each, "seconds").text(2) for each in (50, 95)) if searches[1:] else ""
    return f"{sum(search.found for search in searches)}: {steps} | {later} | {searches[0].seconds:.1f}"


def summary(found: dict[str, dict[str, list[Search]]]) -> Iterator[str]:
    """How ways of searching at random compare over all flaws, in sentences.

    Parameters:
        found: the searches by flaw and way.
    """
    for way in [way for way in WAYS if any(way in searches for searches in found.values())]:
        shares = [sum(search.found for search in searches[way]) / len(searches[way]) for searches in found.values()]
        medians = {name: percentile(searches[way], 50, "steps") for name, searches in found.items()}
        longest = max(medians, key=lambda name: (not medians[name].found, medians[name].value))
        yield (
            f"{way}: {sum(share >= 0.95 for share in shares)} of {len(shares)} found with at least 95 % of the seeds, "
            f"{sum(share == 0 for share in shares)} with none; "
            f"longest median: {medians[longest].text(0)} steps, {longest}"
        )
    both = {name: searches for name, searches in found.items() if {"uniform", "guided"} <= searches.keys()}
    for fewest in (0, EASY):
        ratios: dict[str, Percentile] = {}
        for name, searches in both.items():
            uniform, guided = (percentile(searches[way], 50, "steps") for way in ("uniform", "guided"))
            if guided.found and uniform.value >= fewest:
                ratios[name] = Percentile(uniform.value / guided.value, uniform.found)
        if ratios:
            lowest = min(ratios, key=ratios.__getitem__)
            yield (
                f"uniform / guided, median steps of {len(ratios)} with a guided median"
                f"{f' and a uniform one of {fewest:,} or more' if fewest else ''}: "
                f"median {statistics.median(each.value for each in ratios.values()):.1f}; "
                f"at least 5 in {sum(each.value >= 5 for each in ratios.values())}; "
                f"lowest {ratios[lowest].value:.1f}, {lowest}; "
                f"{sum(not each.found for each in ratios.values())} are lower bounds: the uniform median is not known"
            )


def main() -> None:
    """Print the rate, a table and a summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="searches at random for each flaw")
    parser.add_argument("--most-steps", type=int, default=2_000_000, help="steps of each search at random")
    parser.add_argument("--most", type=float, default=60.0, help="seconds of each search")
    parser.add_argument("--mutants", type=Path, metavar="FILE", help="mutants of this report instead of known flaws")
    parser.add_argument("--flaw", nargs="+", default=[""], help="only flaws whose names contain one of these")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--without-distance", action="store_true", help="do not guide searches by the specs' distances")
    parser.add_argument("--rate-seconds", type=float, default=10.0, help="seconds for each measurement of the rate")
    parser.add_argument(
        "--tlc",
        nargs=2,
        type=Path,
        metavar=("JAR", "MODULE"),
        help="measure TLC's simulation too: tla2tools.jar, and a TLA+ file with its configuration beside it",
    )
    given = parser.parse_args()
    list(walk(CATALOG["atomic/hw-truncation"].with_properties(["strong_isr"]), 1, False, 1, 1.0))  # compiles the loops
    print_section(
        "Random search",
        f"Steps per second in the second half of {given.rate_seconds:g} seconds, with all properties checked:",
    )
    if given.rate_seconds:
        for name, bounds in SPACES:
            spec = load_spec(name).with_bounds(bounds)
            uniform, guided = (rate(spec, uniform, given.rate_seconds) for uniform in (True, False))
            print(f"- `{spec.name}` {spec.named_bounds}: {uniform:,.0f} uniform, {guided:,.0f} guided", flush=True)
    if given.tlc:
        jar, module = given.tlc
        print(f"- TLC -simulate, {module.name}: {tlc_rate(jar, module, given.rate_seconds)}")
    print()
    print_paragraph(
        f"Steps to the first counterexample, with at most {LENGTH} steps in a behaviour, over {given.seeds} seeds: the "
        "number of searches that found the flaw, then the median and the 95th percentile. A state that is expanded "
        f"counts as a step. A search ends after {given.most_steps:,} steps or {given.most:g} seconds. One that found "
        "nothing counts as longer than all others; `>` marks a percentile that is such a search. The seconds are the "
        "median and the 95th percentile without the first search, then those of the first search, which learns the "
        "spec. The flaws are those of designs in the articles and KIPs, and bugs of the archive, each in the first "
        "release that it affects. Their bounds are in `tests/bench/bench_walks.py` and `reports/kafka/bugs.toml`."
    )
    print(
        "| flaw | uniform, found: steps | s | first s | guided, found: steps | s | first s | exhaustive: states | s |"
    )
    print("| --- " * 9 + "|")
    found: dict[str, dict[str, list[Search]]] = {}
    for name, spec in mutants(given.mutants) if given.mutants else flaws():
        if not any(part in name for part in given.flaw):
            continue
        if given.without_distance:
            spec = attrs.evolve(spec, distance=None)
        cells = {way: " | " if way == "exhaustive" else " |  | " for way in WAYS}
        for way in given.ways:
            if way == "exhaustive":
                whole = exhaust(spec, given.most)
                cells[way] = f"{'' if whole.found else '>'}{whole.steps:,} | {whole.seconds:.1f}"
            else:
                searches = list(walk(spec, given.seeds, way == "uniform", given.most_steps, given.most))
                found.setdefault(name, {})[way] = searches
                cells[way] = cell(searches)
        print(f"| {name} | {' | '.join(cells.values())} |", flush=True)
    print("", *(f"- {line}" for line in summary(found)), sep="\n")


if __name__ == "__main__":
    main()
