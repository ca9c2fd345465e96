"""The CPU time of the protocols in `tests/public/` at the sizes that tests use, in this checkout and in another one.

    python -m tests.bench.bench_public ../before/tests/public ../before/.venv/bin/leadline
    python -m tests.bench.bench_public ../before/tests/public ../before/.venv/bin/leadline paxos raft --rounds 5

Each protocol is searched by the default engine, in a process of its own, in turn in both checkouts. The time is that of
the process and of all that it starts. Of several rounds the least time counts, as other processes only ever add to it.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from pathlib import Path

from tests.public.figures import HERE, PROTOCOLS, Size


def cpu_seconds(command: list[str], folder: Path, name: str, size: Size) -> float:
    """The CPU time of one search, with that of its child processes."""
    bounds = ",".join(f"{bound}={value}" for bound, value in size.bounds.items())
    options = [str(folder / f"{name}.py"), *(["-b", bounds] if bounds else []), "--json", "-"]
    search = [*command, "explore", *options]
    process = subprocess.Popen(search, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{shlex.join(search)} failed")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the protocols of the other checkout")
    parser.add_argument("command", help="the command of the other checkout")
    parser.add_argument("names", nargs="*", help="protocols; by default, all")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    ours = [str(Path(sys.executable).with_name("leadline"))]
    print("| protocol | bounds | before | now | ratio |\n| --- | --- | --- | --- | --- |")
    before_all = now_all = 0.0
    for protocol in PROTOCOLS:
        for size in protocol.small if not given.names or protocol.name in given.names else ():
            for file in protocol.files():
                name = Path(file).stem
                times = [
                    (
                        cpu_seconds(shlex.split(given.command), given.folder, name, size),
                        cpu_seconds(ours, HERE, name, size),
                    )
                    for _ in range(given.rounds)
                ]
                before, now = map(min, zip(*times, strict=True))
                before_all, now_all = before_all + before, now_all + now
                bounds = ",".join(f"{bound}={value}" for bound, value in size.bounds.items())
                print(f"| {name} | {bounds} | {before:.2f} s | {now:.2f} s | {now / before:.2f} |", flush=True)
    print(f"| all | | {before_all:.2f} s | {now_all:.2f} s | {now_all / before_all:.2f} |")


if __name__ == "__main__":
    main()
