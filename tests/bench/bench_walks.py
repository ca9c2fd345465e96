"""How fast random search is, and how soon it finds known flaws: ``python -m tests.bench.bench.bench_walks --seeds 20``.

Each search ends with the first counterexample or after a minute. Seconds include learning the spec. A search that found
nothing counts with what it took.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np

from checker.engines.budget import Budget
from checker.engines.compiled.learn.recording import make_ordinary
from checker.engines.compiled.threads import Workers, usable_cores
from checker.engines.compiled.walks import Walks
from checker.engines.purity import Purity
from checker.result import Limits
from invariants.catalog import CATALOG

FLAWS: list[tuple[str, dict[str, Any], str, int]] = [
    ("atomic/hw-truncation", {}, "strong_isr", 50),
    ("atomic/kip-101", {"brokers": 3, "log_size": 2, "records": 2, "max_epoch": 2}, "strong_isr", 40),
    ("atomic/kip-320-first-try", {"brokers": 3, "log_size": 2, "records": 2, "max_epoch": 2}, "strong_isr", 40),
    (
        "rpc/kip-279",
        {"max_epoch": 3, "acks": "all", "min_insync_replicas": 2},
        "committed_never_lost",
        60,
    ),
]
"""Specs, bounds, the property that is violated, and the most steps of a behaviour."""


def search(flaw: tuple[str, dict[str, Any], str, int], seed: int, uniform: bool, most: float) -> tuple[int, float, int]:
    """Search until a flaw is found: the steps taken, the seconds, and the states of the behaviour; 0 if not found."""
    name, bounds, violated, length = flaw
    spec = CATALOG[name].with_bounds(bounds).with_properties([violated])
    workers, began = Workers(usable_cores()), time.monotonic()
    try:
        walks = Walks(spec, 10**9, length, seed, workers, Budget(Limits()), Purity(spec), uniform=uniform)
        while walks.round() and not walks.traces and time.monotonic() - began < most:
            pass
    finally:
        workers.close()
        make_ordinary()
    return walks.steps, time.monotonic() - began, max(map(len, walks.traces.values()), default=0)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--most", type=float, default=60.0, help="seconds of each search")
    parser.add_argument("--flaw", default="", help="only specs whose names contain this")
    given = parser.parse_args()
    search(FLAWS[0], 0, False, 1.0)  # compiles the loops
    print("| flaw | walk | found | steps: median, 95 % | seconds: median, 95 % | steps/s |\n|---|---|---|---|---|---|")
    for flaw in FLAWS:
        for uniform in (True, False) if given.flaw in flaw[0] else ():
            runs = [search(flaw, seed, uniform, given.most) for seed in range(given.seeds)]
            steps, seconds, found = zip(*runs, strict=True)
            print(
                f"| {flaw[0]} | {'uniform' if uniform else 'guided'} | {sum(map(bool, found))} of {len(found)} "
                f"| {statistics.median(steps):,.0f}, {np.percentile(steps, 95):,.0f} "
                f"| {statistics.median(seconds):.1f}, {np.percentile(seconds, 95):.1f} "
                f"| {sum(steps) / sum(seconds):,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
