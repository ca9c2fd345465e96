"""Consumer groups on real brokers: known bugs, a commit across a rebalance, and random behaviours of the model."""

from __future__ import annotations

import random
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from leadline.brokers.driver.replay import replay
from leadline.brokers.errors import NotExecutable
from leadline.brokers.groups.driver import GroupsDriver
from leadline.brokers.groups.observed_state import AnyGroup
from leadline.brokers.groups.plan import OPERATIONS, GroupsPlan, Operation, plan_of
from leadline.brokers.releases import broker_release
from leadline.checker.action import ActionInstance
from leadline.checker.engines import ENGINES
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace
from leadline.reports.loading import load_spec
from tests.brokers.test_reproduction import replays

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(sys.platform != "linux", reason="real brokers run on Linux only"),
]

NOT_WALKED = (Operation.WAIT, Operation.WITH_NEXT)
UNDISTURBED = {"crashes": 0, "pauses": 0, "leaves": 0, "failovers": 0, "mutes": 0, "rejoins": 0}


@pytest.mark.parametrize("ticket", ["KAFKA-12890", "KAFKA-16147", "KAFKA-16249", "no ticket: sync timer"])
def test_a_bug_of_coordinators_is_reproduced(ticket: str) -> None:
    affected, control = replays(ticket)
    assert (affected["judgement"], control["judgement"]) == ("reproduced", "absent")


@pytest.mark.parametrize(
    ("witness", "error"),
    [("commit_accepted_in_join_phase", "no error"), ("commit_refused_after_join_phase", "ILLEGAL_GENERATION")],
)
def test_a_commit_across_a_rebalance(witness: str, error: str, tmp_path: Path) -> None:
    """Accepted in the join phase, and refused afterwards, because its generation is over."""
    spec = load_spec("group/2.8.1").with_bounds({**UNDISTURBED, "delayed": 1}).with_properties([witness])
    plan = plan_of(ENGINES["oracle"](spec).properties[0].traces[0])
    made = replay(plan, GroupsDriver, broker_release("2.8.1"), tmp_path / "replay")
    assert (made.not_made, made.difference) == ("", "")
    assert made.steps[-1].did == (f"the response to OffsetCommit has {error}",)


def walk(name: str, seed: int, steps: int, **settings: bool) -> GroupsPlan:
    """A random behaviour that a broker can make without waiting for a time-out, up to a number of steps.

    Two consumers share two partitions: otherwise, which one the coordinator's assignor gives more depends on their ids.
    """
    bounds = {"perturbations": 9, "crashes": 1, "leaves": 2, "failovers": 1, "delayed": 2, "rejoins": 2, "mutes": 0}
    loaded: Any = load_spec(name)
    spec: Spec[AnyGroup] = loaded.with_bounds({**bounds, "records": 2, **settings}).with_properties([])
    chosen, trace = random.Random(seed), Trace[AnyGroup](spec, [spec.initials()[0]], [])
    possible = [each for each in spec.instances if OPERATIONS.get(each.action.name, Operation.WAIT) not in NOT_WALKED]
    while len(trace) <= steps:
        chosen.shuffle(possible)
        longer = next((each for each in map(partial(_extended, trace), possible) if each is not None), None)
        if longer is None:
            break
        trace = longer
    return plan_of(trace)


def _extended(trace: Trace[AnyGroup], instance: ActionInstance[AnyGroup]) -> Trace[AnyGroup] | None:
    """The trace with one more step, or None if it changes nothing or a broker cannot make it there."""
    after = next(iter(trace.spec.take(instance, trace.states[-1])), trace.states[-1])
    longer = Trace(trace.spec, [*trace.states, after], [*trace.instances, instance])
    try:
        plan_of(longer)
    except NotExecutable:
        return None
    return None if after == trace.states[-1] else longer


@pytest.mark.parametrize(
    ("name", "release", "seed"),
    [("group/2.8", "2.8.0", 1), ("group/4.3.1", "4.4.0", 2), ("group/3.8-consumer", "3.8.1", 1)],
)
def test_a_random_behaviour_is_that_of_a_broker(name: str, release: str, seed: int, tmp_path: Path) -> None:
    plan = walk(name, seed, 30)
    made = replay(plan, GroupsDriver, broker_release(release), tmp_path / "replay")
    assert (made.not_made, made.difference) == ("", "")
    assert len(made.steps) == len(plan.steps) >= 30
