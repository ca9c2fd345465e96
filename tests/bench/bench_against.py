"""The CPU time of searches here and in another checkout: ``python -m tests.bench.bench_against FOLDER``.

    python -m tests.bench.bench_against ../before                    # every table
    python -m tests.bench.bench_against ../before natural small      # these tables only
    python -m tests.bench.bench_against ../before --only klotski nano --rounds 5

Each row is searched in a process of its own, in turn in both checkouts, with the Python and the packages of this one.
Its time is the CPU time of the process and of all that it starts. Of several rounds the least time counts, as other
processes only ever add to it. The time of random search is that of the later half of its steps.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from tests.bench.bench import SEARCHES
from tests.natural.figures import LARGE
from tests.public.figures import PROTOCOLS, Protocol, Size

HERE = Path(__file__).parents[2]

WALK = """
import json, os, sys
from leadline.checker.engines.budget import Budget
from leadline.checker.engines.learning.watch import Watch
from leadline.checker.engines.learning.workers import Workers
from leadline.checker.engines.purity import Purity
from leadline.checker.engines.random.walkers import Walks
from leadline.checker.result import Limits
from leadline.reports.loading import load_spec
name, bounds, uniform, behaviours, length, steps = json.loads(sys.argv[1])
spec, workers = load_spec(name).with_bounds(bounds), Workers(1)
walks = Walks(spec, behaviours, length, 0, Watch(Budget(Limits()), workers), Purity(spec), uniform=uniform)
half = 0, 0.0
while walks.round() and walks.steps < steps:
    if not half[0] and walks.steps >= steps // 2:
        half = walks.steps, sum(os.times()[:4])
print((sum(os.times()[:4]) - half[1]) / (walks.steps - half[0]) * steps / 2)
workers.close()
"""

LARGE_BOUNDS = {"brokers": 3, "log_size": 2, "records": 2, "max_epoch": 3}

WALKS: dict[str, tuple[str, dict[str, int], bool, int, int, int]] = {
    "uniform, all states known": ("atomic/hw-truncation", {}, True, 10**9, 60, 1_500_000),
    "guided, all states known": ("atomic/hw-truncation", {}, False, 10**9, 60, 1_500_000),
    "uniform, a large space": ("atomic/kip-320", LARGE_BOUNDS, True, 10**9, 60, 1_500_000),
    "guided, a large space": ("atomic/kip-320", LARGE_BOUNDS, False, 10**9, 60, 1_500_000),
    "one long behaviour": ("tests/bench/counters.py", {}, True, 1, 40_000, 40_000),
}
"""For each row, the spec and its bounds, whether the search is uniform, the number of behaviours and their length, and
the number of steps."""


@frozen
class Row:
    """A row of a table.

    Attributes:
        command: arguments of Python.
        prints: whether the command prints its own CPU time. Otherwise, all of its CPU time counts.
    """

    name: str
    command: list[str]
    prints: bool = False


def explore(name: str, *arguments: str) -> Row:
    return Row(name, ["-m", "leadline", "explore", *arguments, "--workers", "1", "--json", os.devnull])


def of_sizes(protocol: Protocol, sizes: tuple[Size, ...]) -> Iterator[Row]:
    for size in sizes:
        bounds = ",".join(f"{name}={value}" for name, value in size.bounds.items())
        for file in protocol.files():
            yield explore(f"{Path(file).stem} {bounds}", file, *(["-b", bounds] if bounds else []))


def tables(folder: Path) -> Iterator[tuple[str, list[Row]]]:
    """Yield each table: its name and its rows.

    Parameters:
        folder: where to write the spec of the guide.
    """
    guide = (HERE / "checker" / "README.md").read_text(encoding="utf-8")
    (lock,) = re.findall(r"```python\n# lock\.py\n(.*?)```", guide, re.DOTALL)
    (folder / "lock.py").write_text(lock, encoding="utf-8")
    small = [row for protocol in PROTOCOLS for row in of_sizes(protocol, protocol.small)]
    suite = Row("the shipped suite", ["-m", "leadline", "check", "--shipped"])
    yield "small", [explore("lock.py of the guide", str(folder / "lock.py")), *small, suite]
    yield "engines", [explore(name, *arguments) for name, arguments in SEARCHES.items()]
    yield "public", [row for protocol in PROTOCOLS for row in of_sizes(protocol, protocol.large)]
    natural = []
    for size in LARGE:
        bounds = ",".join(f"{name}={value}" for name, value in size.bounds.items())
        options = [*(["-b", bounds] if bounds else []), *(each for name in size.properties for each in ("-i", name))]
        natural.append(explore(f"{size.name} {bounds}".strip(), size.file, "--keep-going", *options))
    yield "natural", natural
    yield "walks", [Row(name, ["-c", WALK, json.dumps(given)], prints=True) for name, given in WALKS.items()]


def cpu_seconds(row: Row, checkout: Path) -> float:
    """Return the CPU time of a command in a checkout, with that of its child processes."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    with tempfile.TemporaryFile() as out:
        command = [sys.executable, *row.command]
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, env=environment, cwd=HERE)
        _, status, usage = os.wait4(process.pid, 0)
        out.seek(0)
        if os.waitstatus_to_exitcode(status) not in (0, 1, 3):  # a verdict is no error
            raise SystemExit(f"{row.name} failed in {checkout}: {command}")
        return float(out.read()) if row.prints else usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the other checkout")
    parser.add_argument("tables", nargs="*", help="tables; by default, all: small, engines, public, natural and walks")
    parser.add_argument("--only", nargs="+", default=[""], help="only rows whose names contain one of these")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    other = given.folder.resolve()
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in tables(Path(folder)):
            chosen = [row for row in rows if any(part in row.name for part in given.only)]
            if not chosen or (given.tables and name not in given.tables):
                continue
            print(f"\n| {name} | before | now | ratio |\n| --- | --- | --- | --- |")
            totals, ratios = [0.0, 0.0], []
            for row in chosen:
                pairs = [(cpu_seconds(row, other), cpu_seconds(row, HERE)) for _ in range(given.rounds)]
                before, now = map(min, zip(*pairs, strict=True))
                totals = [totals[0] + before, totals[1] + now]
                ratios.append(now / before)
                print(f"| {row.name} | {before:.2f} s | {now:.2f} s | {now / before:.2f} |", flush=True)
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(
                f"| all; mean ratio {mean:.2f} | {totals[0]:.2f} s | {totals[1]:.2f} s | {totals[1] / totals[0]:.2f} |"
            )


if __name__ == "__main__":
    main()
