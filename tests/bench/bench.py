"""`make bench`: the engines on the same searches, as Markdown tables. Each search runs in its own process.

    python -m tests.bench.bench                           # everything
    python -m tests.bench.bench small two_phase_commit    # these searches and protocols only
    python -m tests.bench.bench spark                     # Spark on this machine only

The protocols in `tests/public/` are written as TLA+ users write them, and the large sizes also with their states in
parts. Their ratio is of states per second of user CPU time, start-up included, which other processes disturb less.

Machines are noisy: only the ratio of two runs of one benchmark means anything, and not even that if other machines on
the host took more than a few percent of the cores' time. The oracle gets some seconds of each search only, which is
enough for its rate.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs
import psutil

from leadline.checker.engines.learning.workers import usable_cores
from tests.bench.machine import print_section
from tests.public.figures import PROTOCOLS, Protocol, Size

LARGE = "brokers=3,log_size=2,records=2"
ORACLE_SECONDS = 20
ORACLE = ["--engine", "oracle", "--max-seconds", str(ORACLE_SECONDS)]

SEARCHES = {
    "small": ["atomic/kip-320", "--no-invariants"],
    "737,794 states": ["atomic/kip-320", "-b", f"{LARGE},max_epoch=2", "--no-invariants"],
    "737,794, all properties": ["atomic/kip-320", "-b", f"{LARGE},max_epoch=2"],
    "9,985,570 states": ["atomic/kip-320", "-b", f"{LARGE},max_epoch=3", "--no-invariants"],
    "9,985,570, all properties": ["atomic/kip-320", "-b", f"{LARGE},max_epoch=3"],
    "counters": [str(Path(__file__).with_name("counters.py"))],
}

SPARK = SEARCHES["9,985,570 states"]
SHARDS = (1, 2, 4, 8)
"""Shards for each core."""


@attrs.frozen
class Run:
    """One search.

    Attributes:
        result: the result that it wrote as JSON.
        wall: seconds from the shell to its end.
        user: seconds of user CPU time.
        peak: its peak memory, in bytes.
        stolen: the share of the cores' time that other machines on the host took meanwhile, from 0 to 1.
    """

    result: dict[str, Any]
    wall: float
    user: float
    peak: int
    stolen: float

    @property
    def rate(self) -> float:
        """Distinct states per second of search."""
        return float(self.result["distinct_states"] / max(self.result["seconds"], 1e-3))

    @property
    def states(self) -> str:
        """The number of distinct states, with dots if a limit ended the search."""
        return f"{self.result['distinct_states']:,}{'' if self.result['reason'] is None else ' ...'}"

    @property
    def memory(self) -> str:
        """Peak memory."""
        return f"{self.peak / 2**20:,.0f} MiB"


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
    """How long other machines on the host used the cores of this one, if the operating system tells; else 0."""
    return float(getattr(psutil.cpu_times(), "steal", 0.0))


def print_table(columns: str, rows: Iterable[tuple[str, ...]]) -> None:
    """Print a Markdown table, each row as soon as it is measured.

    Parameters:
        columns: the titles, separated by commas.
        rows: the cells of each row.
    """
    titles = columns.split(", ")
    print(f"| {' | '.join(titles)} |\n{'| --- ' * len(titles)}|")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)
    print()


def searches(names: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Rows for searches in `SEARCHES`: the oracle for a while, and the compiled engine with one worker, with all, and
    with its states in files.
    """
    workers = sorted({1, usable_cores()})
    engines = {"oracle": ORACLE} | {f"compiled, {count}": ["--workers", str(count)] for count in workers}
    engines |= {"compiled, in files": ["--disk", tempfile.gettempdir()]}
    for name in names:
        oracle_rate = 0.0
        for engine, options in engines.items():
            found = run([*SEARCHES[name], *options])
            oracle_rate = oracle_rate or found.rate
            yield (
                f"`{name}`" if name == "counters" else name,
                engine,
                found.states,
                f"{found.rate:,.0f}",
                f"{found.rate / oracle_rate:,.1f}",
                f"{found.result['seconds']:.1f} s",
                f"{found.wall:.1f} s",
                found.memory,
                f"{found.result['calls_learned']:,}" if found.result["calls_learned"] else "",
                f"{found.stolen:.0%}",
            )


def protocols(names: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Rows for the protocols in `tests/public/`: each style, and the oracle for a while."""
    for protocol in PROTOCOLS:
        if protocol.name in names:
            small = [size for size in protocol.small if size not in protocol.large]
            for size in (*small, *protocol.large):
                yield from protocol_rows(protocol, size)


def protocol_rows(protocol: Protocol, size: Size) -> Iterator[tuple[str, ...]]:
    """Rows for one size of a protocol."""
    bounds = ",".join(f"{name}={value}" for name, value in size.bounds.items())
    natural, *parts = protocol.files()
    ways = [("oracle", natural, ORACLE), ("compiled", natural, [])]
    if size in protocol.large:
        ways += [("compiled, in parts", file, []) for file in parts]
    oracle_rate = 0.0
    for way, file, options in ways:
        found = run([file, *(["-b", bounds] if bounds else []), *options])
        if found.result["reason"] is None and found.result["distinct_states"] != size.states:
            raise SystemExit(f"{file} has {found.result['distinct_states']:,} states, not {size.states:,}")
        rate = found.result["distinct_states"] / found.user
        oracle_rate = oracle_rate or rate
        yield (
            f"`{protocol.name}` {bounds}".strip(),
            way,
            found.states,
            f"{found.user:.1f} s",
            f"{rate / oracle_rate:,.1f}",
            f"{size.tlc:.1f} s" if size.tlc else "",
            found.memory,
            f"{found.result['seconds']:.1f} s",
        )


def spark_searches() -> Iterator[tuple[str, ...]]:
    """Rows for one search: by one compiled worker, and by Spark on one core and on all, with more and more shards."""
    ways: list[tuple[str, int, list[str]]] = [("compiled", 1, ["--workers", "1"])]
    for cores in sorted({1, usable_cores()}):
        for shards in SHARDS:
            options = ["--engine", "spark", "--master", f"local[{cores}]", "--shards", str(shards * cores)]
            ways.append((f"spark, {shards * cores} shards", cores, options))
    for way, cores, options in ways:
        found = run([*SPARK, *options])
        micros = found.result["seconds"] / found.result["distinct_states"] * 1e6
        yield (
            way,
            str(cores),
            f"{found.result['seconds']:.0f} s",
            f"{found.wall:.0f} s",
            f"{micros:.1f}",
            f"{micros * cores:.1f}",
        )


def print_start_up() -> None:
    """Say how long compiling takes, with an empty cache, and how long a start without it."""
    with tempfile.TemporaryDirectory() as cache:
        first, second = (run(SEARCHES["737,794 states"], NUMBA_CACHE_DIR=cache) for _ in range(2))
    start = second.wall - second.result["seconds"]
    print(f"Compiling, once on a machine, took {first.wall - second.wall:.1f} s; a start takes {start:.1f} s.\n")


def main() -> None:
    """Measure the named searches, or all of them, and print the tables."""
    names = [*SEARCHES, *(protocol.name for protocol in PROTOCOLS), "spark"]
    unknown = set(sys.argv[1:]) - set(names)
    if unknown:
        raise SystemExit(f"there is no {', '.join(sorted(unknown))}; there are: {', '.join(names)}")
    chosen = sys.argv[1:] or names
    if any(name in SEARCHES for name in chosen):
        print_section(
            "Engines",
            "The searches are of `atomic/kip-320`, with 3 brokers unless *small*, and of `tests/bench/counters.py`. "
            f"The oracle gets {ORACLE_SECONDS} seconds of each, marked `...`. The number after *compiled* is the "
            "number of workers. The ratio is to the oracle. *Stolen* is the share of the cores' time that other "
            "machines on the host took.",
        )
        print_start_up()
        columns = "search, engine, distinct states, states/s, ratio, search, from the shell, peak memory, calls learned"
        print_table(f"{columns}, stolen", searches(name for name in SEARCHES if name in chosen))
    if any(protocol.name in chosen for protocol in PROTOCOLS):
        print_section(
            "Well-known protocols",
            "The protocols are in `tests/public/`. *CPU* is user CPU time from the shell. The ratio is of states per "
            f"second of CPU time, to the oracle, which gets {ORACLE_SECONDS} seconds of each, marked `...`. The "
            "figures of TLC were measured once, on a similar machine with two workers, for spaces of 100,000 "
            "states and more.",
        )
        print_table("protocol, engine, states, CPU, ratio, TLC, peak memory, search", protocols(chosen))
    if "spark" in chosen and importlib.util.find_spec("pyspark"):
        print_section(
            "Spark",
            "A search of 9,985,570 states (`atomic/kip-320`, no properties). With one core, Java and the driver use "
            "another if there is one.",
        )
        columns = "engine, cores, search, from the shell, µs per state, µs per state and core"
        print_table(columns, spark_searches())


if __name__ == "__main__":
    main()
