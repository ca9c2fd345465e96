"""A search that one engine has saved is continued by the other, with the results of a search that nothing stopped."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import attrs
import pytest

from leadline.checker import Limits, Spec
from leadline.checker.engines import oracle
from leadline.checker.engines.compiled.storage import Storage
from leadline.checker.engines.spark import launch as distributed
from leadline.checker.engines.spark.session import Session
from leadline.checker.result import Result
from leadline.checker.settings import CompiledSettings, SparkSettings, SparkTuning, Tuning
from leadline.invariants.catalog import CATALOG
from tests.engines.test_spark_resume import of_sets
from tests.language.test_within import no_five
from tests.language.test_within import spec_of as within
from tests.specs import learning
from tests.specs.agreement import spark_answers as answers
from tests.suite.samples import sampled

pytestmark = pytest.mark.usefixtures("all_cores")

SMALL = Tuning(block=15, many_values=3)
TUNING = SparkTuning(large=15, small=25, compiled=SMALL)

SPECS: dict[str, Spec[Any]] = {
    "shipped": CATALOG["atomic/kip-279"],
    "sets": of_sets(10),
    "within": within(no_five),
    "several traces": CATALOG["atomic/hw-truncation"],
}

ON_SPARK, COMPILED = "spark", "compiled"


@pytest.fixture
def searched(spark: Session, tmp_path: Path) -> Callable[..., Result]:
    """A function that begins or continues a search."""

    def search(spec: Spec[Any], limits: Limits, engine: str, *, is_new: bool = False, place: str = "saved") -> Result:
        folder = tmp_path / place
        if engine == COMPILED:
            named: dict[str, Any] = {"checkpoint" if is_new else "resume": folder}
            settings = CompiledSettings(checkpoint_every=1e-9, tuning=SMALL, **named)
            return learning.explore(spec, limits, settings=settings)
        given: dict[str, Any] = {"work_dir" if is_new else "resume": str(folder)}
        on = SparkSettings(shards=3, keep_files=True, tuning=TUNING, **given)
        return distributed.explore(spec, limits, session=spark, settings=on)

    return search


@pytest.mark.parametrize(("name", "first"), sampled([*itertools.product(SPECS, [COMPILED, ON_SPARK])], 3))
def test_engines_continue_each_other(name: str, first: str, searched: Callable[..., Result]) -> None:
    spec, traces = SPECS[name], 3 if name == "several traces" else 1
    engines = [COMPILED, ON_SPARK] if first == COMPILED else [ON_SPARK, COMPILED]
    for turn, depth in enumerate([6, 8, 10, None]):
        limits = Limits(keep_going=True, depth=depth, traces=traces)
        found = searched(spec, limits, engines[turn % 2], is_new=not turn)
        assert answers(found) == answers(oracle.explore(spec, limits)), (depth, engines[turn % 2])


def test_a_search_that_stopped_within_a_level_is_continued_on_spark(searched: Callable[..., Result]) -> None:
    spec, limits = SPECS["shipped"], Limits(keep_going=True)
    stopped = searched(spec, attrs.evolve(limits, max_states=300), COMPILED, is_new=True)
    assert stopped.reason == "reached 300 states"
    assert answers(searched(spec, limits, ON_SPARK)) == answers(oracle.explore(spec, limits))


@pytest.mark.parametrize(("killed", "resumed"), [(COMPILED, ON_SPARK), (ON_SPARK, COMPILED), (ON_SPARK, ON_SPARK)])
def test_a_search_that_was_killed_while_it_was_saved_is_continued(
    killed: str, resumed: str, searched: Callable[..., Result], tmp_path: Path
) -> None:
    """The files are copied whenever `search.json` is about to be replaced, as a process that is killed leaves them."""
    spec, limits, write = SPECS["shipped"], Limits(keep_going=True), Storage.write_sealed
    copies = list[str]()

    def copying(storage: Storage, name: str, data: bytes) -> None:
        if name == "search.json":
            copies.append(f"copy-{len(copies)}")
            shutil.copytree(storage.root, tmp_path / copies[-1])
        write(storage, name, data)

    with mock.patch.object(Storage, "write_sealed", copying):
        searched(spec, limits, killed, is_new=True)
    assert len(copies) > 5
    for place in sampled([copies[len(copies) // 2], copies[0], copies[-1]], 3):
        found = searched(spec, limits, resumed, place=place)
        assert answers(found) == answers(oracle.explore(spec, limits)), place
