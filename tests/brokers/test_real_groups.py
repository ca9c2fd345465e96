"""Consumer groups on real brokers: known bugs, a commit across a rebalance, and random behaviours of the model."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from leadline.brokers.driver.replay import replay
from leadline.brokers.errors import NotExecutable
from leadline.brokers.groups.driver import GroupsDriver
from leadline.brokers.groups.observed_state import AnyGroup
from leadline.brokers.groups.plan import GroupsPlan, Operation, plan_of
from leadline.brokers.releases import broker_release
from leadline.checker.engines import ENGINES
from leadline.checker.trace import Trace
from leadline.reports.loading import load_spec
from tests.brokers.test_reproduction import replays

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(sys.platform != "linux", reason="real brokers run on Linux only"),
]

UNDISTURBED = {"crashes": 0, "pauses": 0, "leaves": 0, "failovers": 0, "mutes": 0, "rejoins": 0}


@pytest.mark.parametrize("ticket", ["KAFKA-12890", "KAFKA-16147", "KAFKA-16249", "no ticket: sync timer"])
def test_a_bug_of_coordinators_is_reproduced(ticket: str) -> None:
    affected, control = replays(ticket)
    assert (affected["judgement"], control["judgement"]) == ("reproduced", "absent")


@pytest.mark.parametrize(
    ("witness", "error"),
    [("commit_accepted_in_join_phase", "no error"), ("commit_refused_after_join_phase", "error 22")],
)
def test_a_commit_across_a_rebalance(witness: str, error: str, tmp_path: Path) -> None:
    """Accepted in the join phase, and refused afterwards, because its generation is over."""
    spec = load_spec("group/2.8.1").with_bounds({**UNDISTURBED, "delayed": 1}).with_properties([witness])
    plan = plan_of(ENGINES["oracle"](spec).properties[0].traces[0])
    made = replay(plan, GroupsDriver, broker_release("2.8.1"), tmp_path / "replay")
    assert (made.not_made, made.difference) == ("", "")
    assert made.steps[-1].did == (f"the response to OffsetCommit has {error}",)


def walk(name: str, seed: int, steps: int) -> GroupsPlan:
    """A random behaviour that a broker can make without waiting for a time-out. Steps that end it early are left out."""
    bounds = {"perturbations": 9, "crashes": 1, "leaves": 2, "failovers": 1, "delayed": 2, "rejoins": 2, "mutes": 0}
    spec = load_spec(name).with_bounds({**bounds, "records": 2, "partitions": 3, "clients": 3}).with_properties([])
    chosen, trace = random.Random(seed), Trace[AnyGroup](spec, [spec.initials()[0]], [])
    plan = plan_of(trace)
    while len(trace) <= steps:
        enabled = [(each, after) for each in spec.instances for after in spec.take(each, trace.states[-1])]
        chosen.shuffle(enabled)
        for instance, after in enabled:
            longer = Trace(spec, [*trace.states, after], [*trace.instances, instance])
            try:
                following = plan_of(longer)
            except NotExecutable:
                continue
            if following.steps[-1].operation is not Operation.WAIT and after != trace.states[-1]:
                trace, plan = longer, following
                break
        else:
            break
    return plan


@pytest.mark.parametrize(
    ("name", "release", "seed"),
    [("group/2.8", "2.8.0", 1), ("group/4.3.1", "4.4.0", 2), ("group/3.8-consumer", "3.8.1", 3)],
)
def test_a_random_behaviour_is_that_of_a_broker(name: str, release: str, seed: int, tmp_path: Path) -> None:
    plan = walk(name, seed, 30)
    made = replay(plan, GroupsDriver, broker_release(release), tmp_path / "replay")
    assert (made.not_made, made.difference) == ("", "")
    assert len(made.steps) == len(plan.steps) >= 30
