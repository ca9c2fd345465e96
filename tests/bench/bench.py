"""`make bench`: the oracle and the compiled engine side by side, each run in a process of its own.

`make bench` also searches the protocols in `tests/public/`, in the style of TLA+, and the large sizes in parts as well.
Their ratio is of states per second of user CPU time, start-up included, which other processes disturb less; "TLC" is
what TLC took.

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

HERE = Path(__file__).parents[1]
sys.path.insert(0, str(HERE.parent))

from tests.public.figures import PROTOCOLS  # noqa: E402

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
        user: seconds of user CPU time.
        peak: the most memory it had, in bytes.
        stolen: the share of the cores' time that other machines on the host took meanwhile, from 0 to 1.
    """

    result: dict[str, Any]
    wall: float
    user: float
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
        return Run(json.load(out), wall, usage.ru_utime, peak, (stolen_seconds() - lost) / wall / (os.cpu_count() or 1))


def stolen_seconds() -> float:
    """How long other machines on the host had the cores of this one, where an operating system tells."""
    return float(getattr(psutil.cpu_times(), "steal", 0.0))


def public_protocols(chosen: list[str]) -> Table:
    """The protocols in `tests/public/`: each style, and the oracle for a while."""
    table = Table(box=None, pad_edge=False)
    table.add_column("protocol")
    table.add_column("how")
    for title in ("distinct", "user CPU", "ratio", "TLC", "peak memory", "search"):
        table.add_column(title, justify="right")
    sizes = [
        (protocol, size)
        for protocol in PROTOCOLS
        if protocol.name in chosen
        for size in (*(size for size in protocol.small if size not in protocol.large), *protocol.large)
    ]
    for protocol, size in sizes:
        bounds = ",".join(f"{name}={value}" for name, value in size.bounds.items())
        options = ["-b", bounds] if bounds else []
        natural, *parts = protocol.files()
        rows = [("oracle", natural, ["--engine", "oracle", "--max-seconds", str(ORACLE_SECONDS)])]
        rows += [("compiled", natural, []), *(("in parts", file, []) for file in parts if size in protocol.large)]
        oracle_rate = 0.0
        for how, file, others in rows:
            found = run([file, *options, *others])
            distinct, whole = found.result["distinct_states"], found.result["reason"] is None
            if whole and distinct != size.states:
                raise SystemExit(f"{file} has {distinct:,} states, not {size.states:,}")
            rate = distinct / found.user
            oracle_rate = oracle_rate or rate
            table.add_row(
                f"{protocol.name} {bounds}",
                how,
                f"{distinct:,}{'' if whole else ' ...'}",
                f"{found.user:.1f} s",
                f"{rate / oracle_rate:,.2f}",
                f"{size.tlc:.1f} s" if size.tlc else "",
                f"{found.peak / 2**20:,.0f} MiB",
                f"{found.result['seconds']:.1f} s",
            )
    return table


def main() -> None:
    """Run everything and print the tables."""
    console = Console(width=150 if not sys.stdout.isatty() else None)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = psutil.virtual_memory().total / 2**30
    console.print(f"{cores} cores, {memory:.0f} GiB, Python {platform.python_version()}, {platform.machine()}")
    with tempfile.TemporaryDirectory() as cache:
        first, second = (run(SEARCHES["737,794 states"], NUMBA_CACHE_DIR=cache) for _ in range(2))
    start = second.wall - second.result["seconds"]
    console.print(f"compiling, once on a machine: {first.wall - second.wall:.1f} s; start-up: {start:.1f} s\n")
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
    public = [protocol.name for protocol in PROTOCOLS]
    chosen = sys.argv[1:] or [*SEARCHES, *public]
    for name in SEARCHES:
        if name not in chosen:
            continue
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
    if table.row_count:
        console.print(table)
    console.print(public_protocols(chosen))


if __name__ == "__main__":
    main()
