"""How fast recordings are checked, and in how much memory: ``python -m tests.bench.bench_conform``.

The recordings are random walks of the model of a release, projected to what a recorder sees. ``make figures`` puts the
table into `reports/pages/figures.md`. ``--sizes 1000000`` takes half an hour.
"""

from __future__ import annotations

import argparse
import heapq
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import attrs

from leadline.checker.conformance import Observation, follow, uncut
from leadline.model.kafka.conformance.following import FollowedRelease, forget
from leadline.model.kafka.conformance.observations import Observations
from leadline.model.kafka.conformance.observer import Window
from leadline.model.kafka.conformance.projection import Taken, seen
from leadline.model.kafka.conformance.window import cut
from leadline.model.kafka.releases import column_of
from leadline.model.kafka.state import Partition
from leadline.model.log import Log, Record
from leadline.reports.kafka.conformance.report import conformance_report
from tests.bench.machine import print_section
from tests.conformance.long import long_recording
from tests.conformance.walks import BROKERS, NOT_WALKED, RARE, beginning, release

RELEASE = "kafka/3.9"
SIZES = 100, 10_000, 100_000
RECORDS = 10_000
OBSERVATIONS_IN_THREE_ROUNDS = 13
"""In three rounds of `long_recording`, one record is appended, and six fetches are answered and handled."""
SPREAD = 1.5
CUT_EVERY = 64
DOWN = BROKERS - 1

WEIGHTS = RARE | {"crash": 0.001, "crash_after_append": 0.001, "session_expires": 0.001, "shrink_isr": 0.005}
WEIGHTS |= {"crash_losing_tail": 0, "produce": 0.2}
"""How often actions are tried, relative to others. Failures are rarer than in the tests. No log loses its end, because
logs that differ below high watermarks cannot be cut.
"""

CUT, DOWN_ALL_THE_TIME, WHOLE = "cut", "one broker down", "whole"
"""How logs are kept: cut; cut, but one broker without records is down, so that all records stay; and never cut."""

FILE = "from a file"
"""A recording in a file, as `leadline conform` reads it, with logs that are cut."""

TEXT = f"""\
`python -m tests.bench.bench_conform`. Each row is a process that checks a recording of three brokers against
`{RELEASE}`: a random walk of the model, in which windows of time overlap. At the beginning, the log of each broker has
{RECORDS:,} records. Observations a second and the time to make the recording are separate; the memory is the largest of
the process, which also makes the recording. `{CUT}`: the beginning of logs is cut, as `leadline conform` does.
`{DOWN_ALL_THE_TIME}`: the third broker is down from the beginning and has no records, so that nothing can be cut.
`{WHOLE}`: nothing is cut. `{FILE}`: `leadline conform` reads the recording from a file, with fetch sessions, in which
brokers replicate records one by one after {RECORDS:,} in batches; reading is part of the time.
"""


def walk(of: FollowedRelease, state: Partition, rng: random.Random, *, down: bool) -> Iterator[Taken]:
    """Yield the steps of an endless random walk. Its states are cut, so that it takes little memory."""
    names = [name for name in of.actions if name not in NOT_WALKED]
    weights = [WEIGHTS.get(name, 1.0) for name in names]
    value = state.replicas[0].log.end_offset
    for number in count():
        after: list[Partition] = []
        while not after:
            name = rng.choices(names, weights)[0]
            values = _values(of, name, state, rng)
            given = attrs.evolve(state, next_value=value) if name == "produce" else state
            after = [] if down and values[0] == DOWN else of.take(name, given, *values, most=1)
            after = [each for each in map(forget, after) if each != state]
        value += name == "produce"
        yield name, values, state, after[0]
        state = after[0]
        if number % CUT_EVERY == 0:
            (state,) = cut([state])


def _values(of: FollowedRelease, name: str, state: Partition, rng: random.Random) -> tuple[int, ...]:
    broker = rng.randrange(BROKERS)
    parameters = tuple(of.actions[name].domains)
    if len(parameters) == 1:
        return (broker,)
    if parameters[1] == "epoch":
        return broker, state.quorum.epoch
    if parameters[1] == "offset":
        return broker, max(0, state.replicas[broker].log.end_offset - 1)
    return broker, (broker + rng.randrange(1, BROKERS)) % BROKERS


def recording(of: FollowedRelease, steps: Iterator[Taken], rng: random.Random) -> Iterator[Observation[Partition]]:
    """Yield what a recorder sees of the steps, in the order in which the windows begin. Disks at crashes are seen."""
    make = Observations(of)
    waiting: list[tuple[float, int, Observation[Partition]]] = []
    taken: list[Taken] = []

    def kept() -> Iterator[Taken]:
        for step in steps:
            taken[:] = [step]
            yield step

    for number, see in seen(of, kept()):
        name, (broker, *_), _, after = taken[0]
        window = Window(number - rng.uniform(0, SPREAD), number + rng.uniform(0, SPREAD))
        disk = after.replicas[broker]
        if name.startswith("crash"):
            observation = make.killed(window, broker, cut_to=disk.log.end_offset, checkpoint=disk.high_watermark)
        else:
            observation = see(window)
        heapq.heappush(waiting, (observation.earliest, number, observation))
        while waiting and waiting[0][0] < number - SPREAD:
            yield heapq.heappop(waiting)[2]


def with_records(state: Partition, *, down: bool) -> Partition:
    """Return the state in which the brokers have records of epoch 0, except for one that is down if `down` is true."""
    log = Log(tuple(Record(value, 0) for value in range(RECORDS)))
    replicas = [attrs.evolve(each, log=log, high_watermark=RECORDS) for each in state.replicas]
    if down:
        replicas[DOWN] = attrs.evolve(state.replicas[DOWN], up=False)
    return attrs.evolve(state, replicas=tuple(replicas))


def measure(size: int, way: str) -> str:
    """Check a recording, and return a row of the table."""
    column = column_of(RELEASE)
    assert column is not None
    of, rng, down = release(column), random.Random(size), way == DOWN_ALL_THE_TIME
    first = with_records(beginning(of), down=down)
    observations = islice(recording(of, walk(of, first, rng, down=down), rng), size)
    making = 0.0

    def timed() -> Iterator[Observation[Partition]]:
        nonlocal making
        while True:
            began = time.process_time()
            observation = next(observations, None)
            making += time.process_time() - began
            if observation is None:
                return
            yield observation

    began = time.process_time()
    cuts = uncut if way == WHOLE else cut
    result = follow([first], timed(), of.hidden, forget=forget, cut=cuts, kept_steps=10)
    seconds = time.process_time() - began - making
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    answer = f"{result.answer.value} {result.reason}".strip()
    cells = f"{size:,}", way, answer, f"{result.observations / seconds:,.0f}", f"{memory:,.0f}", str(result.largest)
    return f"| {' | '.join(cells)} |"


def measure_file(size: int) -> str:
    """Check a recording in a file, and return a row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recording.jsonl"
        long_recording(path, round(size * 3 / OBSERVATIONS_IN_THREE_ROUNDS), records=RECORDS, sessions=True)
        began = time.process_time()
        checked = conformance_report(path, RELEASE, None, keeps_logs=False).checked[0]
        seconds = time.process_time() - began
    result, memory = checked.conformance, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    answer = f"{result.answer.value} {result.reason}".strip()
    speed = f"{result.observations / seconds:,.0f}"
    cells = f"{result.observations:,}", FILE, answer, speed, f"{memory:,.0f}", str(result.largest)
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Measure each size in a process of its own, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of observations")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.row:
        size = arguments.sizes[0]
        print(measure_file(size) if arguments.row == FILE else measure(size, arguments.row))
        return 0
    print_section("Checking recordings", TEXT)
    print("| observations | logs | answer | observations a second | memory, MiB | most states |")
    print("| ---: | --- | --- | ---: | ---: | ---: |", flush=True)
    rows = [(arguments.sizes[0], WHOLE), (arguments.sizes[0], DOWN_ALL_THE_TIME), *((n, CUT) for n in arguments.sizes)]
    rows += [(n, FILE) for n in arguments.sizes]
    for size, way in rows:
        command = [sys.executable, "-m", "tests.bench.bench_conform", "--sizes", str(size), "--row", way]
        print(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip(), flush=True)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
