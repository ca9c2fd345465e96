"""Tasks: what runs on workers. Each is a function of the files of earlier levels; what it returns is small."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.budget import StopSearch
from leadline.checker.engines.compiled.expander import StepSeen
from leadline.checker.engines.learning.calls import NotRecorded
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.spark import visited
from leadline.checker.engines.spark.levels import Level, Part, read_part, read_states
from leadline.checker.engines.spark.numbering import NewValues
from leadline.checker.engines.spark.sharding import by_shard
from leadline.checker.engines.spark.storage import Block, Storage
from leadline.checker.engines.spark.visited import ShardStates
from leadline.checker.engines.spark.worker import Run, Worker, loaded
from leadline.checker.errors import LeadlineError
from leadline.checker.observing.domains import NewKind
from leadline.checker.observing.nodes import ShapeChanged

T = TypeVar("T")

FOUND = "found"
LEVELS = "levels"


def level_file(level: int) -> str:
    """The file that says where the states of a level are."""
    return f"{LEVELS}/{level:04}.json"


@attrs.frozen
class ExpandTask:
    """Expand a part of a level.

    Attributes:
        run: the run.
        revision: of the numbers.
        parts: the states.
        level: the number of the level that is found.
        samples, steps_wanted: see `Worker.expand`.
    """

    run: Run
    revision: int
    parts: list[Part]
    level: int
    samples: int
    steps_wanted: list[int]


@attrs.frozen
class ExpandDone:
    """What comes of it; see `Expansion`.

    Attributes:
        blocks: for each shard, its next states.
        calls, compared: how many calls were learned from, and compared with calls on other states.
        verified: see `Verification.counts`.
    """

    blocks: list[Block]
    generated: list[int]
    counters: list[int]
    steps_seen: list[list[StepSeen]]
    dead: list[int]
    calls: int
    compared: int
    verified: NDArray[np.int64]
    bytes: int


@attrs.frozen
class KeepTask:
    """Find which of the next states that belong to a shard are new.

    Attributes:
        run, revision: as of `ExpandTask`.
        shard: its number.
        level: the number of the level that is found.
        blocks: the next states, from each part of the level before.
        wanted: for each state predicate, how many more states are wanted that show it.
    """

    run: Run
    revision: int
    shard: int
    level: int
    blocks: list[Block]
    wanted: list[int]


@attrs.frozen
class KeepDone:
    """What comes of it.

    Attributes:
        blocks: the new states from each part of the level before.
        distinct: for each action instance, how many it found that are not outside of `Spec.within`.
        outside: how many are.
        seen: for each state predicate, states that show it: the part they were found from, and their position.
        bytes: that the visited set takes.
        calls, compared: how many calls were learned from, and compared with calls on other states.
        verified: see `Verification.counts`.
        restored: how many states were read back into a visited set that was lost.
    """

    blocks: list[Block]
    distinct: list[int]
    outside: int
    seen: list[list[tuple[int, int]]]
    bytes: int
    calls: int
    compared: int
    verified: NDArray[np.int64]
    restored: int


@attrs.frozen
class BackTask:
    """Find the steps from a part of a level into some states of the next.

    Attributes:
        run, revision, parts: as of `ExpandTask`.
        targets: the states, by their slots' numbers.
    """

    run: Run
    revision: int
    parts: list[Part]
    targets: list[list[int]]


@attrs.frozen
class BackDone:
    """What comes of it: the state's place in the part, its slots' numbers, the action instance, the target."""

    steps: list[tuple[int, list[int], int, int]]


@attrs.frozen
class Failure:
    """A task that would fail as often as it is tried.

    Attributes:
        error: what was raised: the driver raises it again.
    """

    error: Exception


def answering(task: Callable[..., T]) -> Callable[..., T | Failure]:
    """A task that returns an error that it would only raise again, so that Spark does not try it again."""

    @functools.wraps(task)
    def run(*arguments: Any) -> T | Failure:
        try:
            return task(*arguments)
        except (LeadlineError, NewValues, NewKind, ShapeChanged, NotRecorded, StopSearch) as error:
            return Failure(error)

    return run


_kept: dict[str, Worker[Any]] = {}


def worker_of(run: Run) -> Worker[Any]:
    """This process's worker of a run."""
    if run.id not in _kept:
        _kept.clear()
        _kept[run.id] = loaded(run)
    return _kept[run.id]


@answering
def prepare(run: Run) -> None:
    """Load what a worker needs."""
    worker_of(run)


@answering
def expand(task: ExpandTask) -> ExpandDone:
    """Expand a part of a level. See `ExpandTask`."""
    return expand_with(worker_of(task.run), task)


def expand_with(worker: Worker[Any], task: ExpandTask) -> ExpandDone:
    """The same, with a worker that is at hand."""
    packing, tables, verification = worker.agree(task.revision), worker.tables, worker.verification
    calls, compared, verified = tables.calls, tables.compared, verification.counts
    done = worker.expand(read_parts(worker.storage, task.parts, packing), task.samples, task.steps_wanted)
    folder = f"{FOUND}/{task.level:04}"
    split = by_shard(done.found, packing, task.run.shards)
    return ExpandDone(
        blocks=worker.storage.write(folder, split, packing.sizes),
        generated=done.generated,
        counters=done.counters,
        steps_seen=done.steps_seen,
        dead=done.dead,
        calls=tables.calls - calls,
        compared=tables.compared - compared,
        verified=verification.counts - verified,
        bytes=sum(column.nbytes for column in done.found.values()),
    )


@answering
def keep(task: KeepTask) -> KeepDone:
    """Find which next states of a shard are new. See `KeepTask`."""
    worker = worker_of(task.run)
    packing, tables, storage = worker.agree(task.revision), worker.tables, worker.storage
    calls, compared, verified = tables.calls, tables.compared, worker.verification.counts
    distinct = np.zeros(tables.instances, np.int64)
    missing = list(task.wanted)
    seen: list[list[tuple[int, int]]] = [[] for _ in missing]
    restored = outside = 0

    def fill(known: ShardStates) -> None:
        nonlocal restored
        for level in range(1, task.level):
            for blocks in Level.loaded(storage, level_file(level)).blocks:
                if blocks[task.shard].rows:
                    known.add(read_states(storage, blocks[task.shard], packing)["state"])
        restored = known.count

    def kept(known: ShardStates, source: int, block: Block) -> dict[str, NDArray[Any]]:
        nonlocal outside
        columns = read_states(storage, block, packing)
        new = known.add(columns["state"])
        columns = {name: column[new] for name, column in columns.items()}
        shown, within = worker.shown(columns["state"], missing), np.ones(len(columns["state"]), np.bool_)
        if worker.tables.spec.constraint is not None:  # the last predicate, of which no sightings are wanted
            within, columns["outside"] = ~shown[:, -1], shown[:, -1].astype(np.uint8)
            shown[:, -1] = False
            outside += int(columns["outside"].sum())
        np.add(distinct, np.bincount(columns["arrival"][within], minlength=len(distinct)), out=distinct)
        for number, column in enumerate(shown.T):
            places = np.flatnonzero(column)[: missing[number]].tolist()
            seen[number] += [(source, int(columns["position"][place])) for place in places]
            missing[number] -= len(places)
        return columns

    folder = visited.scratch(task.run.id) / str(task.shard)
    with visited.opened(folder, task.level, packing.sizes, packing.words, fill) as known:
        rows = (kept(known, source, block) for source, block in enumerate(task.blocks))
        blocks = storage.write(f"{LEVELS}/{task.level:04}", rows, packing.sizes)
        size = known.bytes_used
    return KeepDone(
        blocks=blocks,
        distinct=distinct.tolist(),
        outside=outside,
        seen=seen,
        bytes=size,
        calls=tables.calls - calls,
        compared=tables.compared - compared,
        verified=worker.verification.counts - verified,
        restored=restored,
    )


@answering
def back(task: BackTask) -> BackDone:
    """Find steps into some states. See `BackTask`."""
    return back_with(worker_of(task.run), task)


def back_with(worker: Worker[Any], task: BackTask) -> BackDone:
    """The same, with a worker that is at hand."""
    packing = worker.agree(task.revision)
    level = read_parts(worker.storage, task.parts, packing)
    targets = np.array([packing.pack(row) for row in task.targets], np.uint64)
    steps = worker.steps_into(level, targets)
    return BackDone([(place, packing.unpack(level["state"][place]), tree, target) for place, tree, target in steps])


def read_parts(storage: Storage, parts: list[Part], packing: Packing) -> dict[str, NDArray[Any]]:
    """The columns of several parts, one after the other."""
    read = [read_part(storage, part, packing) for part in parts]
    return {name: np.concatenate([columns[name] for columns in read]) for name in read[0]}
