"""How fast random search is, and how soon it finds known flaws: ``python -m tests.bench.bench_walks --seeds 20``.

Each flaw is searched for by uniform walks and by guided walks, each with many seeds, and exhaustively, where states are
counted instead of steps. A search ends with the first counterexample, or after a number of steps or seconds. One that
found nothing counts as longer than all others; ">" marks a median or percentile that is such a search. The steps of a
seed are the same on every machine, unless seconds end the search.

The first search of each way learns the spec, and its seconds are those that a user waits. The others keep what was
learned, which makes no difference to their steps.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from checker import explore
from checker.engines.budget import Budget
from checker.engines.compiled.learn.lazy import make_ordinary
from checker.engines.compiled.threads import Workers, usable_cores
from checker.engines.compiled.walks import Walks
from checker.engines.compiled.watch import Watch
from checker.engines.purity import Purity
from checker.result import Limits
from checker.spec import Spec
from invariants.catalog import CATALOG
from reports.bugs import read_archive

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

WAYS = ("uniform", "guided", "exhaustive")

LENGTH = 60
"""The most steps of a behaviour."""


class Flaw(NamedTuple):
    """A flaw, and the spec that has it, with the one property that it violates."""

    name: str
    spec: Spec[Any]


class Search(NamedTuple):
    """What a search for a flaw took: steps (or states), seconds, and whether it found the flaw."""

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


def rate(name: str, uniform: bool, seconds: float) -> float:
    """Steps a second with all properties, in the second half of some seconds: most is learned by then."""
    spec = CATALOG[name]
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


def at(searches: list[Search], percentile: float) -> str:
    """A percentile of the steps of searches; marked if it is that of a search that found nothing."""
    steps = sorted((not search.found, search.steps) for search in searches)
    unfound, some = steps[int(np.ceil(len(steps) * percentile / 100)) - 1]
    return ">" * unfound + f"{some:,}"


def main() -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="searches at random for each flaw")
    parser.add_argument("--most-steps", type=int, default=2_000_000, help="steps of each search at random")
    parser.add_argument("--most", type=float, default=60.0, help="seconds of each search")
    parser.add_argument("--flaw", nargs="+", default=[""], help="only flaws whose names contain one of these")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--rate-seconds", type=float, default=10.0, help="seconds for each measurement of the rate")
    given = parser.parse_args()
    list(walk(CATALOG["atomic/hw-truncation"].with_properties(["strong_isr"]), 1, False, 1, 1.0))  # compiles the loops
    print(f"{usable_cores()} cores, load {os.getloadavg()[0]:.1f}")
    if given.rate_seconds:
        rates = [rate("atomic/hw-truncation", uniform, given.rate_seconds) for uniform in (True, False)]
        print(f"atomic/hw-truncation, all properties: {rates[0]:,.0f} uniform steps/s, {rates[1]:,.0f} guided")
    print(f"\n{given.seeds} seeds; median, 95th percentile of steps; seconds of the first search\n")
    print("| flaw | uniform, found: steps | s | guided, found: steps | s | exhaustive: states | s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, spec in flaws():
        if not any(part in name for part in given.flaw):
            continue
        cells = dict.fromkeys(WAYS, " | ")
        for way in given.ways:
            if way == "exhaustive":
                whole = exhaust(spec, given.most)
                cells[way] = f"{'' if whole.found else '>'}{whole.steps:,} | {whole.seconds:.1f}"
                continue
            searches = list(walk(spec, given.seeds, way == "uniform", given.most_steps, given.most))
            found = sum(search.found for search in searches)
            cells[way] = f"{found}: {at(searches, 50)}, {at(searches, 95)} | {searches[0].seconds:.1f}"
        print(f"| {name} | {' | '.join(cells.values())} |", flush=True)


if __name__ == "__main__":
    main()
