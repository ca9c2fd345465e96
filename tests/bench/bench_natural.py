"""Ports of public specifications: the compiled engine against the oracle, in CPU seconds; ``make bench-natural``.

Every search runs in a process of its own, with one worker. Its CPU time includes the start of Python, and the time to
load compiled loops. No search may take more CPU time than the oracle. The small ones, and those beside other processes
that use all cores, may take `MOST` times that. A conjunction is compared with the same property that is split by hand.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from attrs import evolve, frozen

from tests.natural.figures import LARGE, LOADED, SMALL, Size

MOST, AHEAD = 1.3, 1.0
"""The compiled engine may take at most this many times the CPU time of the oracle: always, and where it has to be
ahead."""

CONJUNCTION = 1.5
"""A conjunction may take at most this many times the CPU time and memory of the property that is split by hand."""

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


@contextmanager
def busy() -> Iterator[None]:
    """Return a context manager during which other processes use all cores twice."""
    with ExitStack() as stack:
        for _ in range(2 * (os.cpu_count() or 1)):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            stack.callback(process.kill)
        yield


def compare(size: Size, name: str, most: float) -> tuple[Cost, bool]:
    """Print a row of the table. Return the cost with the compiled engine, and whether it and the counts are right."""
    compiled, direct = cost("compiled", size), cost("oracle", size)
    bounds = ", ".join(f"{name}={value}" for name, value in size.bounds.items())
    is_slow = compiled.seconds > most * direct.seconds
    print(
        f"| {name}{f' ({bounds})' if bounds else ''} | {compiled.states:,}"
        f"{' (published)' if size.published else ''} | {compiled.seconds:.1f} | {direct.seconds:.1f} "
        f"| {compiled.seconds / direct.seconds:.2f}{f', more than {most}' if is_slow else ''} | {compiled.megabytes} |",
        flush=True,
    )
    return compiled, compiled.states == direct.states == size.states and not is_slow


def main() -> int:
    """Print the table. Return 1 if a count is not as published, or if a search takes too much time or memory."""
    parser = argparse.ArgumentParser(prog="tests.bench.bench_natural", description=__doc__)
    parser.add_argument("--small", action="store_true", help="the sizes of the tests")
    parser.add_argument("--only", default="", help="only ports whose names contain this text")
    given = parser.parse_args()
    sizes = [size for size in (SMALL if given.small else LARGE) if given.only in size.name]
    right = True
    print("| port | states | compiled, s | oracle, s | compiled / oracle | compiled, MB |")
    print("| --- | --- | --- | --- | --- | --- |")
    for size in sizes:
        compiled, is_right = compare(size, size.name, MOST if given.small else AHEAD)
        right &= is_right
        if size.name == "counters":
            split = cost("compiled", evolve(size, properties=("split",)))
            seconds, megabytes = compiled.seconds / split.seconds, compiled.megabytes / split.megabytes
            right &= max(seconds, megabytes) <= CONJUNCTION
            print(
                f"| the same property split | {split.states:,} | {split.seconds:.1f} | | "
                f"conjunction / split: {seconds:.2f} of the time, {megabytes:.2f} of the memory | {split.megabytes} |",
                flush=True,
            )
    for name in LOADED:
        for size in [each for each in sizes if each.name == name][:1]:
            with busy():
                right &= compare(size, f"{name}, on a loaded machine", MOST)[1]
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
