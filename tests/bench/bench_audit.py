"""`make bench-audit`: the audit of a generated cluster beside a plain sequential read of the same bytes.

Both read from the page cache, so that the ratio is that of the work, not of a disk: on a disk that is slower than the
audit, the audit is as fast as the disk. Machines are noisy: what counts is the ratio of processor time, of the best of
some runs that alternate; for several processes, of which only the wall clock tells, that of seconds.

``python tests/bench/bench_audit.py [partitions] [batches] [bytes] [runs]`` chooses what is generated for each of three
brokers, and how often each is run: ``33334 5 200 1`` makes 100,002 directories of partitions, in 1.6 GB.
"""

from __future__ import annotations

import functools
import os
import platform
import resource
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[2]))

from leadline.invariants.audit.cluster import audit
from tests.disks.data_directories import Disk, Log, Metadata, batch, lines, partition_record, text_of, topic_record

TOPIC_ID = UUID(int=1 << 120)
BROKERS = (1, 2, 3)
RUNS = 3

CLUSTERS = {
    "large batches": (30, 1500, 16_000),
    "small batches": (3, 60_000, 100),
    "many partitions": (4000, 5, 200),
}
"""Partitions, batches in each, and bytes in a batch."""


def generate(folder: Path, partitions: int, batches: int, size: int) -> int:
    """Write the data directories of three brokers; the bytes of their logs.

    A batch's checksum does not cover its offset, so that all are made of one.
    """
    template = batch(0, 10, 1, size=max(1, size // 10)).data
    log = b"".join(struct.pack(">q", 10 * place) + template[8:] for place in range(batches))
    metadata = Metadata()
    metadata.add(topic_record("topic", TOPIC_ID))
    for number in range(partitions):
        metadata.add(partition_record(TOPIC_ID, number, BROKERS, BROKERS, 1, leader_epoch=1))
    end = 10 * batches
    for broker in BROKERS:
        disk = Disk(folder / f"broker-{broker}", broker)
        disk.logs["__cluster_metadata", 0] = metadata.log()
        disk.write()
        for number in range(partitions):
            place = disk.path / f"topic-{number}"
            place.mkdir()
            (place / f"{0:020d}.log").write_bytes(log)
            (place / "leader-epoch-checkpoint").write_text(lines((1, 0)))
            (place / "partition.metadata").write_text(f"version: 0\ntopic_id: {text_of(TOPIC_ID)}")
        rows = [("topic", number, end) for number in range(partitions)]
        for name in ("replication", "recovery-point"):
            (disk.path / f"{name}-offset-checkpoint").write_text(lines(*rows))
    assert Log([(0, [])], TOPIC_ID).end == 0
    return len(log) * partitions * len(BROKERS)


def read_plainly(folder: Path) -> None:
    """Read every segment from its beginning to its end, and do nothing with it."""
    buffer = bytearray(4 << 20)
    for path in sorted(folder.rglob("*.log")):
        descriptor = os.open(path, os.O_RDONLY)
        at = 0
        while got := os.preadv(descriptor, [buffer], at):
            at += got
        os.close(descriptor)


def timed(function: Callable[[], object]) -> tuple[float, float]:
    """The seconds that a call takes, and the processor time of this process in it."""
    began, used = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - began, time.process_time() - used


def main() -> None:
    """Generate clusters, measure, and print the table."""
    console = Console(width=130 if not sys.stdout.isatty() else None)
    cores = len(os.sched_getaffinity(0))
    console.print(f"{cores} cores, Python {platform.python_version()}, {platform.machine()}")
    given = tuple(map(int, sys.argv[1:4]))
    clusters = {"as given": given} if given else CLUSTERS
    runs = int(sys.argv[4]) if len(sys.argv) > 4 else RUNS
    table = Table(box=None, pad_edge=False)
    for title in ("cluster", "", "seconds", "CPU", "GB/s", "batches/s", "partitions/s", "times a plain read"):
        table.add_column(title, justify="left" if title in ("cluster", "") else "right")
    for name, (partitions, batches, size) in clusters.items():
        with tempfile.TemporaryDirectory() as path:
            folder = Path(path)
            total = generate(folder, partitions, batches, size)
            ways: dict[str, Callable[[], object]] = {"plain read": functools.partial(read_plainly, folder)}
            for workers in sorted({1, cores}):
                ways[f"audit, {workers}"] = functools.partial(audit, [path], workers=workers)
            ways["headers only, 1"] = functools.partial(audit, [path], workers=1, checksums=False)
            taken = _alternating(ways, runs)
            wall, processor = (
                {way: min(each[what] for each in every) for way, every in taken.items()} for what in (0, 1)
            )
            count = batches * partitions * len(BROKERS)
            for way, seconds in wall.items():
                alone = not way.startswith("audit") or way == "audit, 1"
                used = processor if alone else wall
                table.add_row(
                    f"{name}: {partitions:,} partitions, {total / 1e9:.2f} GB" if way == "plain read" else "",
                    way,
                    f"{seconds:.2f}",
                    f"{processor[way]:.2f}" if alone else "",
                    f"{total / used[way] / 1e9:.2f}",
                    f"{count / used[way]:,.0f}",
                    f"{partitions / used[way]:,.0f}",
                    f"{used[way] / used['plain read']:.1f}",
                )
    console.print(table)
    own, worker = (resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    console.print(f"peak memory: {own:,.0f} MiB, and {worker:,.0f} MiB in each worker process")


def _alternating(ways: dict[str, Callable[[], object]], runs: int) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for _ in range(runs):
        for way, function in ways.items():
            found[way].append(timed(function))
    return found


if __name__ == "__main__":
    main()
