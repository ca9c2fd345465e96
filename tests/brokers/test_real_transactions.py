"""Transactions on real brokers: known bugs, and random behaviours of the model."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from leadline.brokers.client import Client
from leadline.brokers.cluster import Cluster, nodes_of
from leadline.brokers.driver.replay import replay
from leadline.brokers.messages.batches import InTransaction, write_batch
from leadline.brokers.messages.jars import definitions_of
from leadline.brokers.ports import Ports
from leadline.brokers.releases import broker_release
from leadline.brokers.transactions.driver import SETTINGS, TransactionsDriver
from leadline.brokers.transactions.plan import plan_of
from leadline.brokers.transactions.requests import TOPIC, TRANSACTIONAL_ID, Answer, send
from leadline.checker.action import ActionInstance
from leadline.checker.trace import Trace
from leadline.invariants.catalog import CATALOG
from leadline.model.txn.messages import InitProducerId
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


# --- the level of transactions falls ----------------------------------------------------------------------------------

TRANSACTION_VERSION = "transaction.version"
TIMEOUT_MS = 3_000


@pytest.mark.parametrize("lowered", [False, True])
def test_a_transaction_hangs_if_transaction_version_is_lowered_while_it_is_open(lowered: bool, tmp_path: Path) -> None:
    """The coordinator cannot write, at the lower level, that the producer knows version 2. The transaction does not
    even time out. It does once the level is raised and the coordinator has started again.
    """
    release = broker_release("4.1.1")
    ports = Ports.without_proxy(nodes_of(release, 1))
    client = Client(definitions_of(release), ports.advertised)
    with Cluster(release, tmp_path / "cluster", brokers=1, ports=ports, settings=SETTINGS) as cluster:
        cluster.start()
        client.create_topic(0, TOPIC, [[0]])
        own = initialised(client)
        place = InTransaction(own.producer, own.epoch, 0)
        data = {"Index": 0, "Records": write_batch([b"x"], int(time.time() * 1000), transaction=place)}
        body: dict[str, Any] = {"TransactionalId": TRANSACTIONAL_ID, "Acks": -1, "TimeoutMs": 30_000}
        body["TopicData"] = [{"Name": TOPIC, "PartitionData": [data]}]
        (answer,) = client.ask(0, "Produce", body, version=12)["Responses"][0]["PartitionResponses"]
        assert answer["ErrorCode"] == 0
        if lowered:
            client.set_feature("controller", TRANSACTION_VERSION, 0)
            time.sleep(2.0)
        body = {"TransactionalId": TRANSACTIONAL_ID, "ProducerId": own.producer, "ProducerEpoch": own.epoch}
        ended = client.ask(0, "EndTxn", body | {"Committed": False}, version=5)
        assert (ended["ErrorCode"] != 0) is lowered
        time.sleep(3 * TIMEOUT_MS / 1000)
        assert state_of(client) == ("Ongoing" if lowered else "CompleteAbort")
        if lowered:
            client.set_feature("controller", TRANSACTION_VERSION, 2)
            cluster.kill(0)
            cluster.start_broker(0)
            initialised(client)
            assert state_of(client) != "Ongoing"


def initialised(client: Client) -> Answer:
    """The answer to a producer's first request, which is repeated while the coordinator is not ready."""
    for _ in range(120):
        if not client.ask(0, "FindCoordinator", {"Key": TRANSACTIONAL_ID, "KeyType": 1})["ErrorCode"]:
            answer = send(client, InitProducerId(0, None), -1, TIMEOUT_MS).result(30.0)
            if not answer.code:
                return answer
        time.sleep(0.5)
    raise AssertionError("there is no answer within a minute")


def state_of(client: Client) -> str:
    (found,) = client.ask(0, "DescribeTransactions", {"TransactionalIds": [TRANSACTIONAL_ID]})["TransactionStates"]
    return str(found["TransactionState"])
