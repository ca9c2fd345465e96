"""`make bench`: the oracle and the compiled engine side by side, each run in a process of its own.

Machines are noisy: what counts is the ratio of two runs of one benchmark, and where others had the cores for more
than a few percent of the time, not even that. The oracle gets some seconds of each search only, which is enough for
its rate.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import attrs
import psutil
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
LARGE = "brokers=3,log_size=2,records=2"
ORACLE_SECONDS = 20

SEARCHES = {
    "small": ["atomic/kip-320", "--no-invariants"],
    "737,794 states": ["atomic/kip-320", "-b", f"{LARGE},max_epoch=2", "--no-invariants"],
    "737,794, all properties": ["atomic/kip-320", "-b", f"{LARGE},max_epoch=2"],
    "9,985,570 states": ["atomic/kip-320", "-b", f"{LARGE},max_epoch=3", "--no-invariants"],
    "9,985,570, all properties": ["atomic/kip-320", "-b", f"{LARGE},max_epoch=3"],
    "counters": [str(HERE / "counters.py")],
}


@attrs.frozen
class Run:
    """One search.

    Attributes:
        result: what it wrote.
        wall: seconds from the shell to its end.
        peak: the most memory it had, in bytes.
        stolen: the share of the cores' time that other machines on the host took meanwhile, from 0 to 1.
    """

    result: dict[str, Any]
    wall: float
    peak: int
    stolen: float

    @property
    def rate(self) -> float:
        """Distinct states a second of search."""
        return float(self.result["distinct_states"] / max(self.result["seconds"], 1e-3))


def run(arguments: list[str], **environment: str) -> Run:
    """Run `leadline explore` with some arguments."""
    command = [str(Path(sys.executable).with_name("leadline")), "explore", *arguments, "--json", "-"]
    with tempfile.TemporaryFile() as out:
        began, lost = time.monotonic(), stolen_seconds()
        process = subprocess.Popen(command, stdout=out, env={**os.environ, **environment})
        _, _, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
        out.seek(0)
        peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        return Run(json.load(out), wall, peak, (stolen_seconds() - lost) / wall / (os.cpu_count() or 1))


def stolen_seconds() -> float:
    """How long other machines on the host had the cores of this one, where an operating system tells."""
    return float(getattr(psutil.cpu_times(), "steal", 0.0))


def main() -> None:
    """Run everything and print the table."""
    console = Console(width=150 if not sys.stdout.isatty() else None)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = psutil.virtual_memory().total / 2**30
    console.print(f"{cores} cores, {memory:.0f} GiB, Python {platform.python_version()}, {platform.machine()}")
    with tempfile.TemporaryDirectory() as cache:
        first, second = (run(SEARCHES["small"], NUMBA_CACHE_DIR=cache) for _ in range(2))
    console.print(f"compiling, once on a machine: {first.wall - second.wall:.1f} s; start-up: {second.wall:.1f} s\n")
    table = Table(box=None, pad_edge=False)
    table.add_column("search")
    table.add_column("engine")
    numbers = (
        "distinct",
        "distinct/s",
        "generated/s",
        "ratio",
        "search",
        "from the shell",
        "peak memory",
        "calls",
        "stolen",
    )
    for title in numbers:
        table.add_column(title, justify="right")
    engines = {"oracle": ["--engine", "oracle", "--max-seconds", str(ORACLE_SECONDS)]}
    engines |= {f"compiled, {workers}": ["--workers", str(workers)] for workers in sorted({1, cores})}
    chosen = sys.argv[1:] or list(SEARCHES)
    for name in chosen:
        oracle_rate = 0.0
        for engine, options in engines.items():
            found = run([*SEARCHES[name], *options])
            result = found.result
            oracle_rate = oracle_rate or found.rate
            table.add_row(
                name,
                engine,
                f"{result['distinct_states']:,}{'' if result['reason'] is None else ' ...'}",
                f"{found.rate:,.0f}",
                f"{result['generated_states'] / max(result['seconds'], 1e-3):,.0f}",
                f"{found.rate / oracle_rate:,.1f}",
                f"{result['seconds']:.1f} s",
                f"{found.wall:.1f} s",
                f"{found.peak / 2**20:,.0f} MiB",
                f"{result['calls_learned']:,}" if result["calls_learned"] else "",
                f"{found.stolen:.0%}",
            )
    console.print(table)


if __name__ == "__main__":
    main()
