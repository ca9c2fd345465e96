"""Ports of public specifications: the compiled engine against the oracle, in CPU seconds; ``make bench-natural``.

Every search runs in a process of its own, with one worker. Its CPU time includes the start of Python, and the time to
load compiled loops. A conjunction is compared with the same property that is split by hand.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys

from attrs import evolve, frozen

from tests.natural.figures import LARGE, SMALL, Size

ONE = """
import json, resource, sys
from leadline.checker import Limits
from leadline.checker.engines import ENGINES
from leadline.checker.settings import CompiledSettings
from leadline.reports.loading import load_spec
engine, file, bounds, names = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
spec = load_spec(file).with_bounds(bounds)
settings = CompiledSettings(workers=1) if engine == "compiled" else None
result = ENGINES[engine](spec.with_properties(names) if names else spec, Limits(keep_going=True), None, settings)
print(result.statistics.distinct, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@frozen
class Cost:
    """What a search took.

    Attributes:
        states: the distinct states.
        seconds: CPU seconds.
        megabytes: the largest memory of the process.
    """

    states: int
    seconds: float
    megabytes: int


def cost(engine: str, size: Size) -> Cost:
    """Search a port with an engine, in another process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    given = [engine, size.file, json.dumps(dict(size.bounds)), json.dumps(size.properties)]
    done = subprocess.run([sys.executable, "-c", ONE, *given], check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(int(done.stdout.split()[0]), seconds, int(done.stdout.split()[1]))


def main() -> int:
    """Print the table. Return 1 if a count is not as published."""
    parser = argparse.ArgumentParser(prog="tests.bench.bench_natural", description=__doc__)
    parser.add_argument("--small", action="store_true", help="the sizes of the tests")
    parser.add_argument("--only", default="", help="only ports whose names contain this text")
    given = parser.parse_args()
    wrong = 0
    print("| port | states | compiled, s | oracle, s | oracle / compiled | compiled, MB |")
    print("| --- | --- | --- | --- | --- | --- |")
    for size in SMALL if given.small else LARGE:
        if given.only not in size.name:
            continue
        compiled, direct = cost("compiled", size), cost("oracle", size)
        wrong += not compiled.states == direct.states == size.states
        bounds = ", ".join(f"{name}={value}" for name, value in size.bounds.items())
        print(
            f"| {size.name}{f' ({bounds})' if bounds else ''} | {compiled.states:,}"
            f"{' (published)' if size.published else ''} | {compiled.seconds:.1f} | {direct.seconds:.1f} "
            f"| {direct.seconds / compiled.seconds:.1f} | {compiled.megabytes} |",
            flush=True,
        )
        if size.name == "counters":
            split = cost("compiled", evolve(size, properties=("split",)))
            print(
                f"| the same property split | {split.states:,} | {split.seconds:.1f} | | "
                f"conjunction / split: {compiled.seconds / split.seconds:.2f} of the time, "
                f"{compiled.megabytes / split.megabytes:.2f} of the memory | {split.megabytes} |",
                flush=True,
            )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
