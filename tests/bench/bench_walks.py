"""How fast random search is, and how soon it finds known flaws: ``python -m tests.bench.bench_walks --seeds 20``.

Each flaw is searched for in three ways: by uniform walks, by guided walks, and exhaustively, where states are counted
instead of steps. A search ends with the first counterexample, or after a minute. Seconds include learning the spec. A
search that found nothing counts with what it took.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
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

THREE_BROKERS = {"brokers": 3, "log_size": 2, "records": 2, "max_epoch": 2}

FLAWS: list[tuple[str, dict[str, Any], str, int]] = [
    ("atomic/hw-truncation", {}, "strong_isr", 50),
    ("atomic/kip-101", THREE_BROKERS, "strong_isr", 40),
    ("atomic/kip-320-first-try", THREE_BROKERS, "strong_isr", 40),
    ("rpc/kip-279", {"max_epoch": 3, "acks": "all", "min_insync_replicas": 2}, "committed_never_lost", 60),
]
"""Specs, bounds, the property that is violated, and the most steps of a behaviour."""

WAYS = ("uniform", "guided", "exhaustive")


class Search(NamedTuple):
    """What a search for a flaw took: steps (or states), seconds, and whether it found the flaw."""

    steps: int
    seconds: float
    found: bool


def walk(spec: Spec[Any], length: int, seed: int, uniform: bool, most: float) -> Search:
    """Search at random.

    Parameters:
        spec: with the property that is violated.
        length: the most steps of a behaviour.
        most: seconds after which the search is given up.
    """
    workers, began = Workers(usable_cores()), time.monotonic()
    try:
        watch = Watch(Budget(Limits()), workers)
        walks = Walks(spec, 10**9, length, seed, watch, Purity(spec), uniform=uniform)
        while walks.round() and not walks.traces and time.monotonic() - began < most:
            pass
    finally:
        workers.close()
        make_ordinary()
    return Search(walks.steps, time.monotonic() - began, bool(walks.traces))


def exhaust(spec: Spec[Any], most: float) -> Search:
    """Search exhaustively, up to the level of the first violation."""
    result = explore(spec, Limits(max_seconds=most))
    found = any(item.traces for item in result.properties)
    return Search(result.statistics.distinct, result.statistics.seconds, found)


def rate(name: str, bounds: dict[str, Any], length: int, uniform: bool, seconds: float) -> float:
    """Steps a second with all properties, in the second half of some seconds: most is learned by then."""
    spec = CATALOG[name].with_bounds(bounds)
    workers, began, before, since = Workers(usable_cores()), time.monotonic(), 0, 0.0
    try:
        watch = Watch(Budget(Limits()), workers)
        walks = Walks(spec, 10**9, length, 0, watch, Purity(spec), uniform=uniform)
        while walks.round() and time.monotonic() - began < seconds:
            if not since and time.monotonic() - began > seconds / 2:
                before, since = walks.steps, time.monotonic()
    finally:
        workers.close()
        make_ordinary()
    return (walks.steps - before) / (time.monotonic() - since)


def main() -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="searches at random for each flaw")
    parser.add_argument("--most", type=float, default=60.0, help="seconds of each search")
    parser.add_argument("--flaw", default="", help="only specs whose names contain this")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--rate-seconds", type=float, default=10.0, help="seconds for each measurement of the rate")
    given = parser.parse_args()
    walk(CATALOG["atomic/hw-truncation"], 50, 0, False, 1.0)  # compiles the loops
    print(f"{usable_cores()} cores, load {os.getloadavg()[0]:.1f}")
    if given.rate_seconds:
        print("\n| learned spec, all properties | uniform: steps/s | guided: steps/s |\n|---|---|---|")
    for name, bounds, _, length in FLAWS[:1] if given.rate_seconds else ():
        rates = [rate(name, bounds, length, uniform, given.rate_seconds) for uniform in (True, False)]
        print(f"| {name} | {rates[0]:,.0f} | {rates[1]:,.0f} |", flush=True)
    print("\n| flaw | way | found | steps (states): median, 95 % | seconds: median, 95 % | a second |")
    print("|---|---|---|---|---|---|")
    for name, bounds, violated, length in FLAWS:
        spec = CATALOG[name].with_bounds(bounds).with_properties([violated])
        for way in given.ways if given.flaw in name else ():
            if way == "exhaustive":
                runs = [exhaust(spec, given.most)]
            else:
                runs = [walk(spec, length, seed, way == "uniform", given.most) for seed in range(given.seeds)]
            steps, seconds, found = zip(*runs, strict=True)
            print(
                f"| {name} | {way} | {sum(found)} of {len(found)} "
                f"| {statistics.median(steps):,.0f}, {np.percentile(steps, 95):,.0f} "
                f"| {statistics.median(seconds):.1f}, {np.percentile(seconds, 95):.1f} "
                f"| {sum(steps) / sum(seconds):,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
