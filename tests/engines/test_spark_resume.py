"""A search on Spark is resumed only if the spec still leads to the saved states, and no file is executed."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import pickle
import shutil
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import attrs
import pytest

from leadline.checker import LeadlineError, Limits, Spec, action
from leadline.checker.engines import oracle
from leadline.checker.engines.compiled import search_identity
from leadline.checker.engines.spark import launch as distributed
from leadline.checker.engines.spark.session import Session
from leadline.checker.settings import SparkSettings, SparkTuning, Tuning
from leadline.checker.support.durable import sealed
from tests.engines.test_checkpoint import Malice
from tests.specs.agreement import spark_answers as answers
from tests.suite.samples import sampled

pytestmark = pytest.mark.usefixtures("all_cores")

SIZES = SparkTuning(large=6, small=8)

SOURCE = """
import enum, functools, json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from attrs import frozen
from leadline.checker import Spec, action

def limits():
    return json.loads(Path(__file__).with_name("limits.json").read_text())

{form}

@frozen
class Pair:
    first: int = 0
    second: int = 0

@action()
def count_first(state: Pair) -> Iterator[Pair]:
    if state.first < most():
        yield Pair(state.first + 1, state.second)

@action()
def count_second(state: Pair) -> Iterator[Pair]:
    if state.second < 9:
        yield Pair(state.first, state.second + 1)

spec = Spec(name="pair", initial_states=lambda bounds: [Pair()], actions=[count_first, count_second])
"""

FORMS = {
    "namespace": "DATA = SimpleNamespace(**limits())\ndef most(): return DATA.most",
    "cache": "@functools.cache\ndef most(): return limits()['most']",
    "class attribute": "class Data:\n    most = limits()['most']\ndef most(): return Data.most",
    "enum": "class Data(enum.Enum):\n    MOST = limits()['most']\ndef most(): return Data.MOST.value",
}


def loaded(file: Path) -> Spec[Any]:
    """The spec of a file, which is executed again each time."""
    found = importlib.util.spec_from_file_location(file.stem, file)
    assert found is not None
    assert found.loader is not None
    module = sys.modules[file.stem] = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    spec: Spec[Any] = module.spec
    return spec


@pytest.mark.parametrize("form", sampled([*FORMS], 4))
def test_changed_data_is_refused(form: str, spark: Session, tmp_path: Path) -> None:
    """Even where the digest of the code does not show the change: all saved states are expanded again."""
    file, place = tmp_path / f"{form.replace(' ', '_')}_pair.py", tmp_path / "work"
    file.write_text(SOURCE.format(form=FORMS[form]))
    (tmp_path / "limits.json").write_text(json.dumps({"most": 7}))
    with mock.patch.object(search_identity, "code_digest", return_value="same"):
        distributed.explore(
            loaded(file),
            Limits(depth=12),
            session=spark,
            settings=SparkSettings(work_dir=str(place), shards=2, tuning=SIZES),
        )
        assert len(list((place / "levels").glob("*/*.json"))) == 12
        (tmp_path / "limits.json").write_text(json.dumps({"most": 8}))
        changed = f"the search in {place} cannot be resumed because the spec or its data has changed: "
        with pytest.raises(LeadlineError, match=changed):
            distributed.explore(loaded(file), settings=SparkSettings(resume=str(place), tuning=SIZES))
        (tmp_path / "limits.json").write_text(json.dumps({"most": 7}))
        spec = loaded(file)
        resumed = distributed.explore(spec, session=spark, settings=SparkSettings(resume=str(place), tuning=SIZES))
    assert answers(resumed) == answers(oracle.explore(spec))


@attrs.frozen
class Bag:
    """What was put into it, and how often something was."""

    held: frozenset[int] = frozenset()
    times: int = 0


def of_sets(most: int) -> Spec[Any]:
    """A spec whose set is taken apart, and has new members until late."""

    @action(number=range(1, 4))
    def put(bag: Bag, number: int) -> Any:
        if bag.times + number < most:
            held = bag.held | {bag.times} if number != 2 else bag.held
            yield Bag(held, bag.times + number)

    @action(number=range(most))
    def take(bag: Bag, number: int) -> Any:
        if number in bag.held and bag.times > 5:
            yield Bag(bag.held - {number}, bag.times)

    return Spec(name="sets", initial_states=lambda _: [Bag()], actions=[put, take])


APART = attrs.evolve(SIZES, large=50, small=20, compiled=Tuning(many_values=3))


def test_sets_that_are_taken_apart_may_get_new_members_on_spark(spark: Session, tmp_path: Path) -> None:
    spec, place = of_sets(10), str(tmp_path / "work")
    settings = SparkSettings(work_dir=place, shards=2, tuning=APART)
    distributed.explore(spec, Limits(depth=8), session=spark, settings=settings)
    resumed = distributed.explore(spec, session=spark, settings=SparkSettings(resume=place, tuning=APART))
    assert answers(resumed) == answers(oracle.explore(spec))


# --- other users ---


@pytest.fixture(scope="module")
def saved(spark: Session, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The work directory of a search that was stopped."""
    place = tmp_path_factory.mktemp("resume") / "saved"
    settings = SparkSettings(work_dir=str(place), shards=2, tuning=APART)
    distributed.explore(of_sets(9), Limits(depth=7), session=spark, settings=settings)
    return place


def resume(place: Path) -> None:
    distributed.explore(of_sets(9), Limits(depth=7), settings=SparkSettings(resume=str(place), tuning=APART))


@pytest.mark.parametrize("name", ["search.pickle", "search.json", "spec.json"])
def test_no_pickle_in_a_folder_is_executed(name: str, saved: Path, tmp_path: Path) -> None:
    place = tmp_path / "work"
    shutil.copytree(saved, place)
    (place / name).write_bytes(sealed(pickle.dumps(Malice(tmp_path / "executed"))))
    for path in place.glob("run/*/*"):
        path.write_bytes(sealed(pickle.dumps(Malice(tmp_path / "executed"))))
    with contextlib.suppress(LeadlineError), mock.patch.object(Session, "__init__", side_effect=LeadlineError):
        resume(place)
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("name", ["", "search.json", "levels"])
def test_what_others_can_write_is_refused_before_it_is_read(name: str, saved: Path, tmp_path: Path) -> None:
    place = tmp_path / "work"
    shutil.copytree(saved, place)
    place.chmod(0o755)
    (place / name).chmod(0o777)
    with mock.patch("json.loads", side_effect=AssertionError), mock.patch("pickle.loads", side_effect=AssertionError):
        with pytest.raises(LeadlineError, match=f"other users can write to {place / name}"):
            resume(place)
        if os.geteuid() == 0:
            (place / name).chmod(0o755)
            os.chown(place / name, 12345, 12345)
            with pytest.raises(LeadlineError, match=f"{place / name} belongs to a different user"):
                resume(place)
