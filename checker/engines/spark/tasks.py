"""Tasks: the functions that run on workers. Each depends only on the files of earlier levels, and returns little."""

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

S = TypeVar("S")
T = TypeVar("T")

FOUND = "found"
LEVELS = "levels"


def level_file(level: int) -> str:
    """The file that describes where the states of a level are."""
    return f"{LEVELS}/{level:04}.json"


@attrs.frozen
class ExpandTask:
    """Expand a part of a level.

    Attributes:
        run: the run.
        revision: the revision of the numbering.
        parts: the states to expand.
        level: the number of the next level.
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
    """The result of an `ExpandTask`; see `Expansion`.

    Attributes:
        blocks: for each shard, its next states.
        calls, compared: the number of calls learned from, and of calls compared with what was learned.
        verified: see `Verification.counts`.
        bytes: the size of the blocks in memory.
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
    """Find which next states of a shard are new.

    Attributes:
        run, revision: see `ExpandTask`.
        shard: the number of the shard.
        level: the number of the next level.
        blocks: the next states, from each part of the previous level.
        wanted: for each state predicate, the number of further states wanted that satisfy it.
    """

    run: Run
    revision: int
    shard: int
    level: int
    blocks: list[Block]
    wanted: list[int]


@attrs.frozen
class KeepDone:
    """The result of a `KeepTask`.

    Attributes:
        blocks: the new states from each part of the previous level.
        distinct: for each action instance, the number of new states it found that are within `Spec.within`.
        outside: the number of new states outside of `Spec.within`.
        seen: for each state predicate, states that satisfy it: the part that found them, and their position.
        bytes: the size of the visited set in bytes.
        calls, compared: see `ExpandDone`.
        verified: see `Verification.counts`.
        restored: the number of states read back into a visited set that was lost.
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
    """Find the steps from a part of a level into some states of the next level.

    Attributes:
        run, revision, parts: see `ExpandTask`.
        targets: the slot numbers of those states.
    """

    run: Run
    revision: int
    parts: list[Part]
    targets: list[list[int]]


@attrs.frozen
class BackDone:
    """The result of a `BackTask`: for each step, the index of its state in the part, the state's slot numbers, the
    action instance, and the index of the target."""

    steps: list[tuple[int, list[int], int, int]]


@attrs.frozen
class Failure:
    """The failure of a task that would fail at every attempt.

    Attributes:
        error: the exception, which the driver raises again.
    """

    error: Exception


def answering(task: Callable[..., T]) -> Callable[..., T | Failure]:
    """Wrap a task to return a `Failure` for an error that every attempt would raise, so that Spark does not retry."""

    @functools.wraps(task)
    def run(*arguments: object) -> T | Failure:
        try:
            return task(*arguments)
        except (LeadlineError, NewValues, NewKind, ShapeChanged, NotRecorded, StopSearch) as error:
            return Failure(error)

    return run


_kept: dict[str, Worker[Any]] = {}


def worker_of(run: Run) -> Worker[Any]:
    """The worker of this process for a run."""
    if run.id not in _kept:
        _kept.clear()
        _kept[run.id] = loaded(run)
    return _kept[run.id]


@answering
def prepare(run: Run) -> None:
    """Load the spec and the tables in advance."""
    worker_of(run)


@answering
def expand(task: ExpandTask) -> ExpandDone:
    """Expand a part of a level. See `ExpandTask`."""
    return expand_with(worker_of(task.run), task)


def expand_with(worker: Worker[S], task: ExpandTask) -> ExpandDone:
    """Expand a part of a level with the given worker."""
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
    """Find the new states of a shard. See `KeepTask`."""
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
        if worker.tables.spec.constraint is not None:  # it is the last predicate, and its sightings are not collected
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


def back_with(worker: Worker[S], task: BackTask) -> BackDone:
    """Find steps into some states with the given worker."""
    packing = worker.agree(task.revision)
    level = read_parts(worker.storage, task.parts, packing)
    targets = np.array([packing.pack(row) for row in task.targets], np.uint64)
    steps = worker.steps_into(level, targets)
    return BackDone([(place, packing.unpack(level["state"][place]), tree, target) for place, tree, target in steps])


def read_parts(storage: Storage, parts: list[Part], packing: Packing) -> dict[str, NDArray[Any]]:
    """Read the columns of several parts, concatenated in order."""
    read = [read_part(storage, part, packing) for part in parts]
    return {name: np.concatenate([columns[name] for columns in read]) for name in read[0]}
