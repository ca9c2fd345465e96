"""A breadth-first search on Spark, level by level, with the same verdicts, counts and trace lengths as the oracle."""

from __future__ import annotations

import itertools
import pickle
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from leadline.checker.engines.budget import StopSearch
from leadline.checker.engines.compiled import kernel
from leadline.checker.engines.compiled.checkpoint import Checkpoint, Saved
from leadline.checker.engines.compiled.levels import Level, Part, in_order, read_states, split
from leadline.checker.engines.compiled.paths import Paths
from leadline.checker.engines.compiled.problem import Problem
from leadline.checker.engines.compiled.results import action_counts, sightings, violated
from leadline.checker.engines.compiled.search import CompiledSearch, HandOver
from leadline.checker.engines.compiled.snapshot import Snapshot
from leadline.checker.engines.compiled.storage import Block
from leadline.checker.engines.compiled.store import add_expanded
from leadline.checker.engines.evidence import property_results
from leadline.checker.engines.learning.comparison import refuse_contradicted
from leadline.checker.engines.learning.interrupts import interrupts_wait
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.restart import Adjustments
from leadline.checker.engines.learning.watch import Watch
from leadline.checker.engines.run import attempt, conclude
from leadline.checker.engines.spark import tasks
from leadline.checker.engines.spark.numbering import NewValues, Numbering, sizes_for
from leadline.checker.engines.spark.session import Session
from leadline.checker.engines.spark.sharding import by_shard
from leadline.checker.engines.spark.shipping import cloudpickled, packed
from leadline.checker.engines.spark.tasks import (
    BackDone,
    BackTask,
    ExpandDone,
    ExpandTask,
    Failure,
    KeepDone,
    KeepTask,
)
from leadline.checker.engines.spark.worker import Run, Worker, forget_news
from leadline.checker.errors import LeadlineError
from leadline.checker.result import Result, Statistics, Stop, StopKind, Verified
from leadline.checker.settings import SparkTuning
from leadline.checker.support.messages import counted

S = TypeVar("S")
T = TypeVar("T")


class SparkSearch(Generic[S]):
    """One attempt at a search. Use `launch.explore` to run a search, which can take several attempts.

    Parameters:
        problem: the spec to search, with the limits and the resources.
        adjustments: facts about the spec that were found in earlier attempts.
        checkpoint: the work directory.
        shards: the number of shards, or None for one shard per core.
        spark: a function that returns the Spark session. Its first call starts Spark.
        tuning: the sizes of levels and tasks.
        saved: the saved search to resume, or None to start a new search.
    """

    def __init__(
        self,
        problem: Problem[S],
        adjustments: Adjustments,
        checkpoint: Checkpoint,
        shards: int | None,
        spark: Callable[[], Session],
        tuning: SparkTuning,
        saved: Saved | None,
    ) -> None:
        self.spec, self.limits, self.progress = problem.spec, problem.limits, problem.progress
        self._checkpoint, self._storage = checkpoint, checkpoint.storage
        self._shards, self._spark = shards, spark
        self._adjustments, self.budget = adjustments, problem.budget
        self._search = CompiledSearch(problem, adjustments, saved)
        self._tables, self._expander = self._search.expander.tables, self._search.expander
        self._tuning = tuning
        self._levels: list[Level] = []
        self._ends = [0]  # the number of states before the first level, and up to the end of each level
        self._revision = self._calls = self._compared = self._bytes = self._spilled = 0
        self._skew = 0.0
        self._verified = np.zeros(3, np.int64)  # the counts of this run; see `Verification.counts`

    def run(self) -> Result:
        """Search until no states are left to expand, a level with a violation is complete, or a limit is reached."""
        try:
            result = self._search.run()
        except HandOver:
            pass
        else:
            return attrs.evolve(result, engine="spark")
        stop = conclude(self.budget, attempt(self.budget, self._search_on_spark))
        paths = self._paths = Paths(self.spec, self._state_at, self._level_of, self._steps_into)
        seen = sightings(self._tables, self._at.seen, self._at.steps_seen, self._at.dead, paths.target)
        arrivals = paths.arrivals()
        statistics = self._statistics()
        if self.progress is not None:
            self.progress(statistics)
        properties = property_results(self.spec, seen, arrivals, self.limits, stop is None)
        refuse_contradicted(self._tables, (trace for item in properties for trace in item.traces))
        return Result(
            spec=self.spec,
            engine="spark",
            stop=stop,
            statistics=statistics,
            properties=properties,
        )

    def _search_on_spark(self) -> Stop | None:
        """Search the remaining levels on Spark, starting where the driver stopped or from a saved position."""
        try:
            with interrupts_wait():  # there is no result to report before the states are written
                began = time.monotonic()
                # a forked helper would keep the input of Java open, and Java exits only when its input is closed
                self._search.workers.end_helpers(for_good=True)
                session = self._spark()
                self._hand_over(self._shards or session.cores)
                self._begin_run(session)
                self.budget.started += time.monotonic() - began - self._at.seconds
        except MemoryError as error:
            raise LeadlineError("there is not enough memory to begin a search on Spark") from error
        return self._go_on()

    def _hand_over(self, shards: int) -> None:
        """Write the states found by the driver to files, level by level, and continue at its position.

        The states of a saved search are written again, divided into shards. They count once all of them are written.
        """
        searched, store = self._search.at, self._expander.store
        self._verified += self._expander.learner.verification.counts
        self._number_of_shards, packing = shards, Packing(self._tables.layout.sizes())
        self._checkpoint.write_again()
        for first, last in itertools.pairwise([*searched.levels, searched.level_end]):
            base = self._ends[-2] if len(self._ends) > 1 else 0
            columns: dict[str, NDArray[Any]] = {
                "state": store.packing.repack(store.states[first:last], packing),
                "position": np.arange(last - first, dtype=np.uint32),
                "parent": store.parents[first:last] - np.uint32(base),
                "arrival": store.arrivals[first:last],
            }
            if self.spec.constraint is not None:
                columns["outside"] = store.outside[first:last].view(np.uint8)
            self._spilled += sum(column.nbytes for column in columns.values())
            split_up = by_shard(columns, packing, shards)
            folder = f"{self._checkpoint.own}/{len(self._ends):04}"
            self._add(Level([base], [self._storage.write(folder, split_up, packing)]))
        outside = [*searched.outside, *[0] * (len(self._levels) - len(searched.outside))]
        self._at, self._counters, self._sizes = attrs.evolve(searched, outside=outside), store.counters, packing.sizes
        self._calls, self._compared = self._tables.calls, self._tables.compared
        self._save()

    def _add(self, level: Level) -> None:
        """Add a complete level, whose states are in files."""
        self._checkpoint.append(level)
        self._levels.append(level)
        self._ends.append(self._ends[-1] + level.count)

    def _save(self) -> None:
        """Save the position after a complete level."""
        ends = self._ends
        self._at.next, self._at.checked, self._at.level_end, self._at.levels = ends[-2], ends[-1], ends[-2], ends[:-2]
        self._counters[kernel.STATES] = ends[-1]
        snapshot = Snapshot(self._adjustments, ends[1], self._counters, self._at)
        self._checkpoint.save(snapshot, self._tables.numbers)

    @property
    def _packing(self) -> Packing:
        return self._expander.store.packing

    def _begin_run(self, session: Session) -> None:
        """Start the workers, and send them the spec, the tables and the indices of values."""
        place, own = self._storage.place, self._checkpoint.own
        self._run = Run(uuid.uuid4().hex, place, own, self._number_of_shards, self.limits.traces, self._adjustments)
        crate = packed(self.spec, self._tables)
        self._storage.write_sealed(self._run.crate, pickle.dumps(crate))
        self._tables.agree()
        self._expander.learner.forget_index()
        watch = Watch(self.budget, self._expander.workers)  # without a progress function: `_tick` reports the progress
        self._expander.watch = watch
        self._worker = Worker(self._run, self._expander, self.budget)
        self._publish_numbers()
        succeeded(session.run(tasks.prepare, [self._run] * session.cores, lambda: None))

    def _publish_numbers(self) -> None:
        self._revision += 1
        numbering = Numbering([list(domain.values) for domain in self._tables.layout.domains], self._sizes)
        name = self._run.numbering(self._revision)
        self._storage.write_sealed(name, cloudpickled(numbering))
        self._worker.agree(self._revision)

    def _go_on(self) -> Stop | None:
        at = self._at
        while True:
            level, distinct = self._levels[-1], self._ends[-1]
            if not level.count:
                return None
            if stop := self.limits.stop_after(self._violated(), distinct - sum(at.outside)):
                return stop
            if level.count == at.outside[-1]:
                return None  # no state of the level satisfies `Spec.within`
            if self.limits.depth is not None and len(self._levels) >= self.limits.depth:
                return Stop(StopKind.DEPTH, f"reached depth {self.limits.depth}")
            if self.limits.max_states is not None and distinct > self.limits.max_states:
                states = counted(self.limits.max_states, "state")
                return Stop(StopKind.STATES, f"reached {states}, and searched their level to its end")
            if stop := self._tick():
                return stop
            self._advance(level)
            self._tick()

    def _advance(self, level: Level) -> None:
        """Expand a level on the driver or on Spark, and save the next level and the position."""
        small, ends = self._cut(level)
        expanded = self._expand([level.parts(*part) for part in ends], small)
        kept = self._keep([done.blocks for done in expanded])
        bases = [self._ends[-2] + first for first, _ in ends]
        following = Level(bases, [[done.blocks[source] for done in kept] for source in range(len(ends))])
        if stop := self.budget.swallowed:  # the spec caught an interrupt, so the level may be wrong
            raise StopSearch(stop)
        with interrupts_wait():
            self._add(following)
            self._count(bases, expanded, kept, following)
            self._at.seconds = self.budget.seconds
            self._save()
        with suppress(LeadlineError):  # best effort: leftovers are harmless
            self._storage.remove(f"{tasks.FOUND}/{len(self._levels):04}")

    def _cut(self, level: Level) -> tuple[bool, list[tuple[int, int]]]:
        """Return whether the driver expands a level itself, and the range of states that each task expands."""
        if level.count < self._tuning.small:
            return True, [(0, level.count)]
        return False, split(
            level.count, min(level.count, max(self._number_of_shards, -(-level.count // self._tuning.task)))
        )

    def _expand(self, parts: list[list[Part]], small: bool) -> list[ExpandDone]:
        """Expand the parts of a level. If new values are found, assign indices to them and expand the parts again."""
        done = dict[int, ExpandDone]()
        wanted = [self.limits.traces - len(seen) for seen in self._at.steps_seen]
        samples = -(-self._expander.learner.comparison.level_states // len(parts))
        while len(done) < len(parts):
            missing = [number for number in range(len(parts)) if number not in done]
            work = [
                ExpandTask(self._run, self._revision, parts[number], len(self._ends), samples, wanted)
                for number in missing
            ]
            answers: Sequence[ExpandDone | Failure]
            if small:
                answers = [tasks.answering(tasks.expand_with)(self._worker, task) for task in work]
            else:
                answers = self._spark().run(tasks.expand, work, self._tick)
            news: list[tuple[int, object]] = []
            for number, answer in zip(missing, answers, strict=True):
                if isinstance(answer, Failure):
                    if not isinstance(answer.error, NewValues):
                        raise answer.error
                    news += answer.error.values
                else:
                    done[number] = answer
            if news:
                self._number(news)
        return [done[number] for number in range(len(parts))]

    def _number(self, news: list[tuple[int, object]]) -> None:
        """Assign indices to the values that workers have found, and publish the indices for all workers."""
        forget_news(self._expander)
        domains = self._tables.layout.domains
        for slot, value in news:
            domains[slot].number(value)
        self._tables.agree()
        self._sizes = sizes_for(self._tables.layout.sizes(), self._packing)
        self._publish_numbers()

    def _keep(self, found: list[list[Block]]) -> list[KeepDone]:
        """Find the new states of each shard.

        Parameters:
            found: for each part of the level and each shard, a block of next states.
        """
        wanted = [self.limits.traces - len(seen) for seen in self._at.seen]
        work = [
            KeepTask(self._run, self._revision, shard, len(self._ends), [blocks[shard] for blocks in found], wanted)
            for shard in range(self._number_of_shards)
        ]
        return succeeded(self._spark().run(tasks.keep, work, self._tick, at_home=True))

    def _count(
        self, bases: list[int], expanded: Sequence[ExpandDone], kept: Sequence[KeepDone], following: Level
    ) -> None:
        at, traces = self._at, self.limits.traces
        for base, part in zip(bases, expanded, strict=True):
            at.counts[:, 0] += part.generated
            for seen, steps in zip(at.steps_seen, part.steps_seen, strict=True):
                more = [(base + place, tree, row) for place, tree, row in steps]
                seen += more[: traces - len(seen)]
            at.dead += [base + place for place in part.dead][: traces - len(at.dead)]
            add_expanded(self._counters, part.counters)
            self._calls += part.calls
            self._compared += part.compared
            self._verified += part.verified
            self._spilled += part.bytes
        for shard in kept:
            at.counts[:, 1] += shard.distinct
            self._calls += shard.calls
            self._compared += shard.compared
            self._verified += shard.verified
        for number, seen_now in enumerate(at.seen):
            finds = sorted(itertools.chain.from_iterable(shard.seen[number] for shard in kept))
            for source, position in finds[: traces - len(seen_now)]:
                seen_now.append(self._ends[-2] + self._number_of(following, source, position))
        rows = [sum(block.rows for block in shard.blocks) for shard in kept]
        at.outside.append(sum(shard.outside for shard in kept))
        self._bytes = sum(shard.bytes for shard in kept)
        self._skew = max(rows) * len(rows) / sum(rows) - 1 if sum(rows) else 0.0
        self._spilled += sum(rows) * (8 * self._packing.words + 4 + 4 + 2)

    def _number_of(self, level: Level, source: int, position: int) -> int:
        """Return the index of a state in its level.

        Parameters:
            source: the part of the previous level from which the state was first reached.
            position: the position of the state among the states first reached from this part.
        """
        blocks = [self._storage.read(block)[0]["position"] for block in level.blocks[source]]
        return level.starts[source] + sum(int((positions < position).sum()) for positions in blocks)

    def _level_of(self, index: int) -> int:
        """Return the level of a state, which is 1 for the initial states."""
        return int(np.searchsorted(self._ends[1:], index, side="right")) + 1

    def _violated(self) -> list[str]:
        at = self._at
        return violated(self._tables, at.seen, at.steps_seen, bool(at.dead))

    def _tick(self) -> Stop | None:
        """Report the progress. Return the reason why the search must stop, or None if it can continue."""
        if self.progress is not None:
            self.progress(self._statistics())
        stop = self.budget.swallowed or self.budget.out_of_time() or self.budget.out_of_memory()
        if stop:
            self.budget.relax()  # an interrupt during the cleanup would leave Spark in an undefined state
        return stop

    def _statistics(self) -> Statistics:
        at, outside = self._at, sum(self._at.outside)
        steps, counters, distinct = int(at.counts[:, 0].sum()), self._counters.tolist(), self._ends[-1]
        levels = [level.count - beyond for level, beyond in zip(self._levels, at.outside, strict=True)]
        expanded = counters[kernel.EXPANDED] - sum(at.outside[:-1])
        return Statistics(
            distinct=distinct - outside,
            outside=outside,
            generated=steps + len(self.spec.initials()),
            depth=len(levels) if levels[-1] else len(levels) - 1,
            queue=distinct - outside - expanded,
            expanded=expanded,
            successors=steps,
            out_degree_min=counters[kernel.FEWEST],
            out_degree_max=counters[kernel.MOST],
            deadlocks=counters[kernel.DEADLOCKS],
            seconds=self.budget.seconds,
            actions=action_counts(self.spec, at.counts),
            memory=self._bytes,
            calls=self._calls,
            compared=self._compared,
            whole_reads=self._tables.whole_reads(),
            verified=Verified(*self._verified.tolist()),
            levels=tuple(filter(None, levels)),
            shards=self._number_of_shards,
            skew=self._skew,
            spilled=self._spilled,
        )

    def _state(self, row: Sequence[int]) -> S:
        state: S = self._tables.layout.state(row)
        return state

    def _state_at(self, index: int) -> S:
        return self._state(self._found(index)[2])

    def _found(self, index: int) -> tuple[int, int, list[int]]:
        """Return the index of a state's predecessor, the action instance of the step from it, and, for each slot, the
        index of the state's value.
        """
        number = self._level_of(index) - 1
        level, place = self._levels[number], index - self._ends[number]
        source = int(np.searchsorted(level.starts, place, side="right")) - 1
        (part,) = level.parts(place, place + 1)
        blocks = [read_states(self._storage, block, self._packing) for block in part.blocks]
        columns = in_order(blocks, part)
        before = level.bases[source] + int(columns["parent"][0])
        return before, int(columns["arrival"][0]), self._packing.unpack(columns["state"][0])

    def _steps_into(self, places: Sequence[int]) -> list[tuple[int, int, int]]:
        """Return the steps from the previous level to the given states of a level.

        If only one trace is requested, return for each of these states only the step that first reached it.
        """
        found = [self._found(place) for place in places]
        if self.limits.traces == 1:
            return [(before, tree, place) for place, (before, tree, _) in zip(places, found, strict=True)]
        number = self._level_of(places[0]) - 2
        level, base = self._levels[number], self._ends[number]
        small, ends = self._cut(level)
        rows = [row for _, _, row in found]
        work = [BackTask(self._run, self._revision, level.parts(*part), rows) for part in ends]
        answers: Sequence[BackDone | Failure]
        if small:
            answers = [tasks.answering(tasks.back_with)(self._worker, task) for task in work]
        else:
            answers = self._spark().run(tasks.back, work, lambda: None)
        steps = []
        for (first, _), done in zip(ends, succeeded(answers), strict=True):
            for place, row, tree, target in done.steps:
                self._paths.know(base + first + place, self._state(row))
                steps.append((base + first + place, tree, places[target]))
        return steps


def succeeded(answers: Sequence[T | Failure]) -> list[T]:
    """Return the results of tasks. If a task failed, raise its error."""
    done = []
    for answer in answers:
        if isinstance(answer, Failure):
            raise answer.error
        done.append(answer)
    return done
