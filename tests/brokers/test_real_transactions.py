"""Transactions on real brokers: known bugs, and random behaviours of the model."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from leadline.brokers.driver.replay import replay
from leadline.brokers.releases import broker_release
from leadline.brokers.transactions.driver import TransactionsDriver
from leadline.brokers.transactions.plan import plan_of
from leadline.checker.action import ActionInstance
from leadline.checker.trace import Trace
from leadline.invariants.catalog import CATALOG
from leadline.model.txn.state import Transactions
from tests.brokers.test_reproduction import replays

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(sys.platform != "linux", reason="real brokers run on Linux only"),
]

TOGETHER = {"leader_verifies": "leader_appends", "late_verification": "late_record"}
"""Steps that a broker makes in one."""


def walk(name: str, seed: int, steps: int) -> Trace[Transactions]:
    """A random behaviour in which the coordinator writes its markers at once, as on a broker."""
    spec = CATALOG[name].with_bounds(
        {"delayed": 3, "lost_responses": 1, "records": 2, "transactions": 4, "producers": 2}
    )
    chosen, states = random.Random(seed), [next(iter(spec.initials()))]
    taken: list[ActionInstance[Transactions]] = []
    while len(taken) < steps or states[-1].coordinator.is_prepared or taken[-1].action.name in TOGETHER:
        enabled = [(each, after) for each in spec.instances for after in spec.take(each, states[-1])]
        own = [each for each in enabled if each[0].action.name in ("write_marker", "complete")]
        if taken and (second := TOGETHER.get(taken[-1].action.name)):
            same = [each for each in enabled if each[0].action.name == second and each[0].values == taken[-1].values]
            enabled = same or enabled
        if not enabled:
            break
        instance, after = chosen.choice(own[:1] or enabled)
        taken.append(instance)
        states.append(after)
    return Trace(spec, states, taken)


@pytest.mark.parametrize(("name", "release", "seed"), [("txn/2.6", "3.5.2", 12), ("txn/3.6", "3.9.2", 1)])
def test_a_random_behaviour_is_that_of_brokers(name: str, release: str, seed: int, tmp_path: Path) -> None:
    plan = plan_of(walk(name, seed, 25))
    made = replay(plan, TransactionsDriver, broker_release(release), tmp_path / "replay")
    assert (made.not_made, made.difference) == ("", "")
    assert len(made.steps) == len(plan.steps) >= 25


def test_a_transaction_hangs_and_does_not_where_leaders_ask_the_coordinator() -> None:
    affected, fixed = replays("KAFKA-14053")
    assert (affected["judgement"], fixed["judgement"]) == ("reproduced", "absent")
    assert affected["steps"][-1]["seen"]["partitions"][0]["log"] == ["A@0", "t1@0"]
    assert "open since offset 1" in "; ".join(affected["evidence"])
    assert fixed["refused"] == "late_record(partition=0)"
    assert fixed["steps"][-1]["seen"]["partitions"][0]["log"] == ["A@0"]


def test_a_late_commit_ends_the_next_transaction() -> None:
    affected, control = replays("KIP-890")
    assert (affected["judgement"], control["judgement"]) == ("reproduced", "absent")
    read = [each["steps"][-1]["seen"]["partitions"][0]["read"] for each in (affected, control)]
    assert read == [["t2@0"], []]
