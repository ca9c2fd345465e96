"""States in files: the exact table of states that the search looks at, and what a search says."""

from __future__ import annotations

import errno
import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve
from numpy.typing import NDArray

from leadline.checker import Limits, Spec, Verdict
from leadline.checker.engines.compiled import disk_store, quotient
from leadline.checker.engines.compiled.buffers import Buffers
from leadline.checker.engines.compiled.disk_store import DiskStore
from leadline.checker.engines.compiled.forms import explore
from leadline.checker.engines.compiled.store import NotASearch
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.workers import Workers
from leadline.checker.result import StopKind
from leadline.checker.settings import CompiledSettings, Tuning
from leadline.invariants.catalog import CATALOG
from tests.liveness.test_compiled import ring
from tests.specs.agreement import answers
from tests.suite.command import call

SPEC = CATALOG["atomic/kip-320"]
KEEP_GOING = Limits(keep_going=True)
IN_SMALL_BLOCKS = Tuning(block=50, alone=3, learn_after=0)


@pytest.fixture
def workers() -> Iterator[Workers]:
    made = Workers(2)
    yield made
    made.close()


def packing(bits: list[int]) -> Packing:
    """A packing of one slot of these bits in each word."""
    return Packing.of_places([2**width for width in bits], len(bits), [(word, 0, w) for word, w in enumerate(bits)])


def block(states: NDArray[np.uint64], parts: int, regions: int) -> tuple[Buffers, NDArray[np.int64]]:
    """The buffers of a block that leads to these states, part by part, as the loops leave them."""
    shares = np.array_split(states, parts)
    buffers = Buffers(parts, len(states), states.shape[1], 0, regions, draws=False)
    for part, share in enumerate(shares):
        buffers.found[part, : len(share)] = share
        buffers.routes[part, : len(share)] = np.arange(len(share))
    return buffers, np.array([len(share) for share in shares])


def entered(store: DiskStore, states: NDArray[np.uint64], parts: int) -> list[bool]:
    """Enter states into the table, keep those that are new, and return which are."""
    store.grow(len(states))
    buffers, filled = block(states, parts, store.workers.count)
    new = store.insert(buffers, filled, alone=False)
    places = np.concatenate([buffers.places[part, :count] for part, count in enumerate(filled)])
    assert new.sum() == np.count_nonzero(places >= 0)
    some = states[places >= 0]
    store.states[store.count : store.count + len(some)] = some
    store.counters[0] += len(some)
    is_new: list[bool] = (places >= 0).tolist()
    return is_new


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("bits", [[5], [64], [9, 9], [30, 3], [12, 1, 20], [8, 8, 8, 8, 8], [64, 64, 64]])
def test_the_table_has_exactly_the_states_that_were_entered(
    bits: list[int], seed: int, workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """States that were entered before, in the same block, or that differ in one bit from one that was; in tables that
    are small, full, with short distances, and made again."""
    random = np.random.default_rng([seed, *bits])
    monkeypatch.setattr(quotient, "SMALLEST", [8, 64, 4096][seed % 3])
    monkeypatch.setattr(quotient, "FULLEST", [0.5, 0.9][seed % 2])
    monkeypatch.setattr(quotient, "MOST_DISTANCES", [3, 16][seed // 2 % 2])
    store = DiskStore(tmp_path, packing(bits), 1, workers, constrained=False)
    masks = np.array([2**width - 1 for width in bits], np.uint64)
    known: set[bytes] = set()
    for _ in range(12):
        states = random.integers(0, 2**64, (random.integers(1, 400), len(bits)), np.uint64) & masks
        if store.count:
            some = store.states[random.integers(0, store.count, len(states))]
            flipped = np.zeros_like(some)
            cells = random.integers(0, len(bits), len(some))
            shifts = random.integers(0, np.array(bits)[cells]).astype(np.uint64)
            flipped[np.arange(len(some)), cells] = np.uint64(1) << shifts
            states = np.concatenate([states, some, some ^ flipped, states])[random.permutation(4 * len(states))]
        expected = []
        for state in states:
            expected.append(state.tobytes() not in known)
            known.add(state.tobytes())
        assert entered(store, states, parts=int(random.integers(1, 4))) == expected
        assert store.count == len(known)


@pytest.mark.parametrize("distances", [2, 3, 16])
def test_a_table_that_is_nearly_full_has_each_of_all_states_once(
    distances: int, workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quotient, "FULLEST", 0.97)
    monkeypatch.setattr(quotient, "MOST_DISTANCES", distances)
    store = DiskStore(tmp_path, packing([7, 7]), 1, workers, constrained=False)
    every = np.array([(one, two) for one in range(2**7) for two in range(2**7)], np.uint64)
    for states in np.array_split(np.random.default_rng(distances).permutation(every), 40):
        assert all(entered(store, states, parts=2))
    for states in np.array_split(every, 4):
        assert not any(entered(store, states, parts=2))


def test_states_that_differ_only_in_a_slot_that_was_added_are_all_new(workers: Workers, tmp_path: Path) -> None:
    growing = Packing([2**20])
    store = DiskStore(tmp_path, growing, 1, workers, constrained=False)
    states = np.arange(100, dtype=np.uint64).reshape(-1, 1)
    for bit in range(20, 64):
        assert all(entered(store, states | np.uint64(1 << bit - 1), parts=1))
        assert growing.add([*growing.sizes, 2])
    assert not any(entered(store, store.states[: store.count], parts=2))


@pytest.mark.parametrize("count", range(1, 9))
def test_the_table_of_the_indices_of_a_few_states_has_room_in_each_region(
    count: int, workers: Workers, tmp_path: Path
) -> None:
    store = DiskStore(tmp_path, packing([20, 20]), 1, workers, constrained=False)
    store.add(np.arange(2 * count, dtype=np.uint64).reshape(-1, 2))
    assert np.count_nonzero(store.indexed.table) == count


def test_a_table_with_states_that_are_equal_is_refused(workers: Workers, tmp_path: Path) -> None:
    store = DiskStore(tmp_path, packing([20, 20]), 1, workers, constrained=False)
    with pytest.raises(NotASearch, match="state 3 is equal to an earlier state"):
        store.add(np.array([[1, 2], [2, 1], [1, 1], [2, 1]], np.uint64))


def test_words_have_whole_components_and_about_as_many_bits() -> None:
    groups = ["controller", *["first"] * 3, *["second"] * 3, *["third"] * 3]
    made = Packing([2**28, *[2**5] * 9], groups=groups)
    word_of = {group: {made.places[slot][0] for slot, each in enumerate(groups) if each == group} for group in groups}
    assert all(len(words) == 1 for words in word_of.values())
    bits = [sum(width for word, _, width in made.places if word == each) for each in range(made.words)]
    assert sorted(bits) == [30, 43]
    wide = Packing([2**20] * 9, groups=["one"] * 9)
    assert wide.words == 3
    assert Packing.of_places(wide.sizes, wide.words, wide.places).words == 3  # no two slots share bits


def searched(spec: Spec[Any], limits: Limits = KEEP_GOING, **settings: Any) -> Any:
    return answers(explore(spec, limits, settings=CompiledSettings(**{"tuning": IN_SMALL_BLOCKS} | settings)))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_search_says_the_same_with_states_in_files(workers: int, tmp_path: Path) -> None:
    assert searched(SPEC, disk=tmp_path, workers=workers) == searched(SPEC, workers=workers)
    covered = evolve(KEEP_GOING, coverage=True)
    assert searched(SPEC, covered, disk=tmp_path, workers=workers) == searched(SPEC, covered, workers=workers)
    assert not list(tmp_path.iterdir())


def test_traces_limits_and_violations_are_the_same(tmp_path: Path) -> None:
    broken = CATALOG["atomic/kip-101"].with_bounds({"max_epoch": 2})
    for limits in (Limits(traces=3), Limits(max_states=200, keep_going=True), Limits(depth=7), Limits()):
        assert searched(broken, limits, disk=tmp_path) == searched(broken, limits)


def test_a_search_with_a_constraint_and_with_liveness_says_the_same(tmp_path: Path) -> None:
    judged = ring(3, fair="weak")
    assert judged.liveness
    assert searched(judged, disk=tmp_path) == searched(judged)
    constrained = evolve(SPEC, within=lambda state: state.replicas[0].high_watermark == 0)
    assert searched(constrained, disk=tmp_path) == searched(constrained)


def test_a_search_with_symmetry_says_the_same(tmp_path: Path) -> None:
    assert searched(SPEC, disk=tmp_path, symmetry=True) == searched(SPEC, symmetry=True)


def test_a_saved_search_goes_on_with_states_in_files(tmp_path: Path) -> None:
    saved, expected = tmp_path / "saved", searched(SPEC)
    searched(SPEC, Limits(keep_going=True, max_states=400), disk=tmp_path, checkpoint=saved)
    assert searched(SPEC, disk=tmp_path, resume=saved, checkpoint_every=1e-9) == expected
    assert searched(SPEC, resume=saved) == expected


def test_a_full_disk_ends_the_search_as_incomplete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_store, "STEP", 2**11)

    def allocate(file: int, begin: int, more: int) -> None:
        if begin + more > 2**12:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", allocate)
    result = explore(SPEC, KEEP_GOING, settings=CompiledSettings(disk=tmp_path, tuning=IN_SMALL_BLOCKS))
    assert result.verdict is Verdict.INCOMPLETE
    assert result.stop is not None
    assert result.stop.kind is StopKind.MEMORY
    assert result.reason == f"cannot keep more states in {tmp_path}: No space left on device"
    assert result.statistics.distinct > 200
    assert result.statistics.spilled <= 2**14


@pytest.mark.parametrize("made", [0, 3, 4])
def test_a_file_that_cannot_be_made_ends_the_search_as_incomplete(
    made: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the beginning, and when states are packed again."""
    files = itertools.count()
    make = tempfile.TemporaryFile

    def temporary(**given: Any) -> Any:
        if next(files) == made:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return make(**given)

    saved, settings = tmp_path / "saved", CompiledSettings(disk=tmp_path, tuning=IN_SMALL_BLOCKS)
    monkeypatch.setattr(tempfile, "TemporaryFile", temporary)
    result = explore(SPEC, KEEP_GOING, settings=evolve(settings, checkpoint=saved))
    assert result.verdict is Verdict.INCOMPLETE
    assert result.reason == f"cannot keep more states in {tmp_path}: Too many open files"
    assert searched(SPEC, disk=tmp_path, resume=saved) == searched(SPEC)


def test_states_that_cannot_be_written_end_the_search_as_incomplete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thin disk can be full although its file system has taken the space."""

    def sync(file: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", sync)
    result = explore(SPEC, KEEP_GOING, settings=CompiledSettings(disk=tmp_path, tuning=IN_SMALL_BLOCKS))
    assert result.verdict is Verdict.INCOMPLETE
    assert result.reason == f"cannot keep more states in {tmp_path}: Input/output error"


def test_the_command_names_a_folder_that_is_missing_and_an_engine_without_files(tmp_path: Path) -> None:
    missing = call("explore", "atomic/kip-320", "--disk", "none", folder=tmp_path)
    assert missing.code == 2
    assert "does not exist" in missing.err
    other = call("explore", "atomic/kip-320", "--engine", "oracle", "--disk", ".", folder=tmp_path)
    assert other.code == 2
    assert "--disk" in other.err
    most = ("-b", "brokers=3", "--max-states", "30000")
    stopped = call("explore", "atomic/kip-320", "--disk", ".", *most, folder=tmp_path)
    assert stopped.code == 3
    assert " in files" in stopped.out
