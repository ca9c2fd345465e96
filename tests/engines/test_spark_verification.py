"""Verification in Spark tasks: an error in what a worker has learned is found there, and the search begins again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from leadline.checker.engines import oracle
from leadline.checker.engines.learning.calls import NotRecorded
from leadline.checker.engines.learning.restart import Adjustments
from leadline.checker.engines.spark import launch as distributed
from leadline.checker.engines.spark import tasks
from leadline.checker.engines.spark.session import Session
from leadline.checker.engines.spark.tasks import ExpandDone, ExpandTask, Failure
from leadline.checker.result import Result, Statistics
from leadline.checker.settings import SparkSettings, SparkTuning
from tests.specs.going_wrong import ONLY_LEARNED
from tests.specs.grid import grid

pytestmark = pytest.mark.usefixtures("all_cores")

SIZE = 5
WRONG = "action right(by=1)"


def seeded() -> Callable[[ExpandTask], ExpandDone | Failure]:
    """A task in which `WRONG` is learned to have no step from states with x = 3, unless it reads whole states.

    Spark sends the function by value, so it imports what it needs in the worker.
    """
    wrong = WRONG

    def expand(task: ExpandTask) -> ExpandDone | Failure:
        from unittest import mock

        from leadline.checker.engines.learning.calls import Call, Caller, Row
        from leadline.checker.engines.spark import tasks as of_worker

        make = Caller.make

        def made(caller: Caller[Any], tree: int, rows: tuple[Row, ...]) -> Call:
            call = make(caller, tree, rows)
            is_seeded = caller.name_of(tree) == wrong and tree not in task.run.adjustments.given_states
            if is_seeded and caller.layout.state(rows[0]).x == 3:
                return attrs.evolve(call, gave=[])
            return call

        with mock.patch.object(Caller, "make", made):
            return of_worker.expand(task)

    return expand


def searched(session: Session, verify: float) -> Result:
    tuning = SparkTuning(large=1, small=1, compiled=attrs.evolve(ONLY_LEARNED, verify=None))
    settings = SparkSettings(shards=2, verify=verify, tuning=tuning)
    return distributed.explore(grid(SIZE), session=session, settings=settings)


def test_an_error_in_a_worker_is_found_if_all_is_verified(spark: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    noticed: list[str] = []
    after = Adjustments.after

    def noting(adjustments: Adjustments, change: Exception) -> Adjustments:
        assert isinstance(change, NotRecorded)
        noticed.append(change.name)
        return after(adjustments, change)

    monkeypatch.setattr(tasks, "expand", seeded())
    monkeypatch.setattr(Adjustments, "after", noting)
    expected: Statistics = oracle.explore(grid(SIZE)).statistics
    unverified = searched(spark, 0.0).statistics
    assert unverified.generated < expected.generated, "without the net the answer is wrong, so this test can fail"
    assert noticed == []
    found = searched(spark, 1.0).statistics
    assert noticed == [WRONG]
    assert (found.generated, found.distinct, found.levels) == (
        expected.generated,
        expected.distinct,
        expected.levels,
    )
