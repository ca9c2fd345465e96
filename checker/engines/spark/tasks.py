"""The tasks that workers run. A task reads and writes files, so its argument and its result are small."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.budget import StopSearch
from leadline.checker.engines.compiled.checkpoint import part_file
from leadline.checker.engines.compiled.expander import StepSeen
from leadline.checker.engines.compiled.levels import Level, Part, read_part, read_states
from leadline.checker.engines.compiled.storage import Block, Storage
from leadline.checker.engines.learning.calls import NotRecorded
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.spark import visited
from leadline.checker.engines.spark.numbering import NewValues
from leadline.checker.engines.spark.sharding import by_shard
from leadline.checker.engines.spark.visited import ShardStates
from leadline.checker.engines.spark.worker import Run, Worker, loaded
from leadline.checker.errors import LeadlineError
from leadline.checker.observing.nodes import ShapeChanged

S = TypeVar("S")
T = TypeVar("T")

FOUND = "found"
"""The folder for the next states of a level, which may be found several times."""


@attrs.frozen
class ExpandTask:
    """A request to a worker to expand some states of a level.

    Attributes:
        run: the data shared by all tasks of the run.
        revision: the revision number of the value numbering. The result must use this numbering.
        level: the level to which the next states belong.
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
    """The result of an `ExpandTask`.

    Attributes:
        blocks: for each shard, a block of next states.
        generated, counters, steps_seen, dead: see `Expansion`.
        calls: the number of calls to the spec's functions that were recorded and added to the transition tables.
        compared: the number of calls whose result was compared with the transition tables.
        verified: the counts of the verification; see `Verification.counts`.
        bytes: the size of the blocks in memory, in bytes.
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
    """A request to a worker to find the new states of one shard among the next states of a level.

    Attributes:
        run, revision: see `ExpandTask`.
        shard: the index of the shard.
        blocks: for each part of the previous level, a block of next states in this shard.
        wanted: for each predicate on states, the maximum number of states to report that violate its property or
            satisfy its witness.
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
        blocks: for each part of the previous level, a block of new states.
        distinct: for each action instance, the number of its new states that satisfy `Spec.within`.
        outside: the number of new states that do not satisfy `Spec.within`.
        seen: for each predicate on states, the new states that violate its property or satisfy its witness. Each state
            is given by the part of the previous level from which it was first reached, and by its position; see `Part`.
        bytes: the size of the shard's set of visited states, in bytes.
        calls, compared, verified: see `ExpandDone`.
        restored: the number of states read from files to rebuild a lost set of visited states.
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
    """A request to a worker to find the steps from given states of one level to given states of the next level.

    Attributes:
        run, revision: see `ExpandTask`.
        parts: the states where the steps begin.
        targets: for each state to which the steps lead, the index of the value in each slot.
    """

    run: Run
    revision: int
    parts: list[Part]
    targets: list[list[int]]


@attrs.frozen
class BackDone:
    """The result of a `BackTask`.

    Attributes:
        steps: the steps. Each step is a tuple of four items: the index (within the task) of the state where it begins;
            the index of the value in each slot of this state; the action instance; and the index of the state to which
            it leads, among `BackTask.targets`.
    """

    steps: list[tuple[int, list[int], int, int]]


@attrs.frozen
class Failure:
    """The result of a task that failed and would fail again if it were repeated.

    Attributes:
        error: the exception for the driver to raise.
    """

    error: Exception


def answering(task: Callable[..., T]) -> Callable[..., T | Failure]:
    """Decorate a task so that it returns a `Failure` if it raises an error that would occur again.

    If the task raises any other exception, Spark repeats the task.
    """

    @functools.wraps(task)
    def run(*arguments: object) -> T | Failure:
        try:
            return task(*arguments)
        except (LeadlineError, NewValues, ShapeChanged, NotRecorded, StopSearch) as error:
            return Failure(error)

    return run


_kept: dict[str, Worker[Any]] = {}


def worker_of(run: Run) -> Worker[Any]:
    """Return this process's worker for a run. The first call loads the worker."""
    if run.id not in _kept:
        _kept.clear()
        _kept[run.id] = loaded(run)
    return _kept[run.id]


@answering
def prepare(run: Run) -> None:
    """Load the spec and the transition tables on a worker before it runs its first task."""
    worker_of(run)


@answering
def expand(task: ExpandTask) -> ExpandDone:
    """Run an `ExpandTask` with this process's worker: expand the states, and write their next states to files."""
    return expand_with(worker_of(task.run), task)


def expand_with(worker: Worker[S], task: ExpandTask) -> ExpandDone:
    """Run an `ExpandTask` with the given worker: expand the states, and write their next states to files."""
    packing, tables, verification = worker.agree(task.revision), worker.tables, worker.verification
    calls, compared, verified = tables.calls, tables.compared, verification.counts
    done = worker.expand(read_parts(worker.storage, task.parts, packing), task.samples, task.steps_wanted)
    folder = f"{FOUND}/{task.level:04}"
    split = by_shard(done.found, packing, task.run.shards)
    return ExpandDone(
        blocks=worker.storage.write(folder, split, packing),
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
    """Run a `KeepTask` with this process's worker: find the new states of a shard, and write them to files."""
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
            for blocks in Level.loaded(storage, part_file(task.run.levels, level)).blocks:
                if blocks[task.shard].rows:
                    known.add(read_states(storage, blocks[task.shard], packing)["state"])
        restored = known.count

    def kept(known: ShardStates, source: int, block: Block) -> dict[str, NDArray[Any]]:
        nonlocal outside
        columns = read_states(storage, block, packing)
        new = known.add(columns["state"])
        columns = {name: column[new] for name, column in columns.items()}
        shown, within = worker.shown(columns["state"], packing, missing), np.ones(len(columns["state"]), np.bool_)
        if worker.tables.spec.constraint is not None:  # the constraint is the last predicate
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
        blocks = storage.write(f"{task.run.levels}/{task.level:04}", rows, packing)
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
    """Run a `BackTask` with this process's worker: find the steps that lead to the target states."""
    return back_with(worker_of(task.run), task)


def back_with(worker: Worker[S], task: BackTask) -> BackDone:
    """Run a `BackTask` with the given worker: find the steps that lead to the target states."""
    packing = worker.agree(task.revision)
    level = read_parts(worker.storage, task.parts, packing)
    targets = np.array([packing.pack(row) for row in task.targets], np.uint64)
    steps = worker.steps_into(level, targets)
    return BackDone([(place, packing.unpack(level["state"][place]), tree, target) for place, tree, target in steps])


def read_parts(storage: Storage, parts: list[Part], packing: Packing) -> dict[str, NDArray[Any]]:
    """Return the columns of several parts of a level, concatenated in order."""
    read = [read_part(storage, part, packing) for part in parts]
    return {name: np.concatenate([columns[name] for columns in read]) for name in read[0]}
