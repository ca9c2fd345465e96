"""Real brokers of two releases in one cluster, and upgrades of it while it runs. `make real` runs these tests.

Each behaviour is replayed with a control: the same steps without the one that decides, or in another mix.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any

import attrs
import pytest

from leadline.brokers.client import METADATA_VERSION, Client
from leadline.brokers.cluster import Cluster, nodes_of
from leadline.brokers.driver.driver import Driver
from leadline.brokers.driver.observed_state import ObservedState
from leadline.brokers.driver.plan import plan_of
from leadline.brokers.driver.replay import Outcome, Replay, replay
from leadline.brokers.messages.jars import definitions_of
from leadline.brokers.ports import Ports, free_ports
from leadline.brokers.recorder import Address, Recorder
from leadline.brokers.releases import mixed_release
from leadline.checker.engines import explore
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace
from leadline.model.kafka.mixes import STAGES
from leadline.model.kafka.rolls import NEW_LEVEL, NEW_RELEASE
from leadline.reports.kafka.broker_runs.schedules import controller_of
from leadline.reports.loading import load_spec
from tests.suite.command import call

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(sys.platform != "linux", reason="real brokers run on Linux only"),
]

QUIET = {"acks": "all", "isr_shrinks": 0, "missed_bounces": 0, "unclean_leader_election": False}
NEW = {**QUIET, "upgraded": "0-1", "controller": "new"}
RAISED = {**NEW, "level": "new", "max_epoch": 2, "min_insync_replicas": 2}


def spec_of(mix: str, **bounds: Any) -> Spec[Any]:
    spec: Spec[Any] = load_spec(f"kafka/{mix}").with_bounds(bounds)
    return spec


def steps(spec: Spec[Any], *names: str) -> Trace[Any]:
    """The trace with the given steps, of which each has one next state, or the first one of several."""
    states, taken = list(spec.initials()), []
    for name in names:
        instance = next(each for each in spec.instances if str(each) == name)
        states.append(next(iter(instance.successors(states[-1]))))
        taken.append(instance)
    return Trace(spec, states, taken)


def replayed(trace: Trace[Any], releases: str, folder: Path, expected: Spec[Any] | None = None) -> Replay:
    release = mixed_release(releases)
    return replay(plan_of(trace, controller_of(release), expected), Driver, release, folder / releases)


def outcome(trace: Trace[Any], releases: str, folder: Path) -> Outcome:
    """What is left after a trace whose steps are all as in the model."""
    made = replayed(trace, releases, folder)
    assert made.is_as_in_model, made.not_made or made.difference
    assert made.outcome is not None
    return made.outcome


@pytest.mark.parametrize("bounds", [{"upgraded": "0"}, {"upgraded": "", "roll": "releases"}])
def test_an_upgrade_from_2_7_1_loses_an_acknowledged_record(bounds: dict[str, Any], tmp_path: Path) -> None:
    """A follower of the new release diverges, and a leader of 2.7.1 counts its offset. From 2.7.2 on, it does not."""
    spec = spec_of("2.7..2.8.1", **QUIET, **bounds).with_properties(["committed_never_lost"])
    trace = explore(spec).properties[0].traces[0]
    assert outcome(trace, "2.7.1..2.8.1", tmp_path).lost == (1,)
    control = replayed(trace, "2.7.2..2.8.1", tmp_path, spec_of("2.7.2..2.8.1", **attrs.asdict(spec.bounds)))
    assert control.is_as_in_model
    assert control.plan.departs is not None
    assert control.outcome is not None
    assert not control.outcome.lost


def test_a_partition_stays_without_leader_when_the_elr_is_raised_while_it_has_none(tmp_path: Path) -> None:
    """After the last step, the driver starts the broker again."""
    raised = spec_of("4.0..4.1", **NEW | {"brokers": 1, "upgraded": "0", "roll": "features"}, records=0, crashes=1)
    down = ("crash(broker=0)", "controller_notices_failure(broker=0)", "change_level(to=new level)")
    stuck = steps(raised, *down, "change_level(to=new features)")
    assert outcome(stuck, "4.0.1..4.1.1", tmp_path / "raised").leader is None
    assert outcome(steps(raised, *down), "4.0.1..4.1.1", tmp_path / "level").leader == 0


LOWERED = "change_level(to=old features)"


def test_a_partition_stays_without_leader_when_an_election_follows_a_lower_elr(tmp_path: Path) -> None:
    spec = spec_of("4.0..4.1", **RAISED, roll="back", records=0, crashes=2, session_expiries=1)
    down = [f"{event}(broker={broker})" for broker in (1, 0) for event in ("crash", "controller_notices_failure")]
    again = ("session_expires(broker=1)", "session_resumes(broker=1)")
    empty = [*down, "restart(broker=1)"]
    stuck = steps(spec, *empty, LOWERED, *again, "restart(broker=0)")
    assert outcome(stuck, "4.0.1..4.1.1", tmp_path / "lowered").leader is None
    assert outcome(steps(spec, *empty, *again, "restart(broker=0)"), "4.0.1..4.1.1", tmp_path / "kept").leader == 0
    assert outcome(steps(spec, *empty, LOWERED, "restart(broker=0)"), "4.0.1..4.1.1", tmp_path / "at-once").leader == 0


def test_a_broker_that_has_lost_a_record_is_elected_when_the_elr_is_lowered(tmp_path: Path) -> None:
    spec = spec_of("4.0..4.1", **RAISED, roll="back", records=1, lossy_crashes=1, shutdowns=1, crashes=0)
    lost = (
        *("produce(leader=0)", "handle_fetch(leader=0, follower=1)", "handle_fetch_response(follower=1)"),
        *("handle_fetch(leader=0, follower=1)", "crash_losing_tail(broker=1, offset=0)"),
        *("controller_notices_failure(broker=1)", "begin_shutdown(broker=0)", "stop(broker=0)"),
    )
    found = outcome(steps(spec, *lost, LOWERED, "restart(broker=1)"), "4.0.1..4.1.1", tmp_path / "lowered")
    assert (found.leader, found.lost) == (1, (0,))
    kept = outcome(steps(spec, *lost, "restart(broker=1)"), "4.0.1..4.1.1", tmp_path / "kept")
    assert not kept.lost


SHRUNK = ("shrink_isr(leader=0, member=1)", "handle_alter_partition(leader=0)", "hear_isr(leader=0)")


@pytest.mark.parametrize(
    ("releases", "applied", "in_files", "high_watermark"),
    [
        ("4.0.1..4.1.1", 0, True, 1),
        ("4.0.1..4.1.1", 0, False, 0),
        ("4.0.1..4.2.2", 2, True, 1),  # while the leader waits for the answer
    ],
)
def test_one_replica_is_enough_for_acks_all_once_the_elr_is_raised(
    releases: str, applied: int, in_files: bool, high_watermark: int, tmp_path: Path
) -> None:
    """`min.insync.replicas=2` is in the files of the brokers, or set for the topic. Disks show the high watermark, with
    which the leader acknowledges the record.
    """
    bounds = {**NEW, "records": 1, "max_epoch": 0, "crashes": 0, "isr_shrinks": 1, "min_insync_replicas": 2}
    spec = spec_of("4.0..4.1", **bounds, roll="features", min_isr_in_files=in_files)
    applies = "apply_level(broker=0)"
    raised = ("produce(leader=0)", "change_level(to=new level)", applies, "change_level(to=new features)")
    made = replayed(steps(spec, *raised, *SHRUNK[:applied], applies, *SHRUNK[applied:]), releases, tmp_path)
    assert made.is_as_in_model, made.not_made or made.difference
    observed = made.steps[-1].observed
    assert isinstance(observed, ObservedState)
    seen = observed.replicas[0]
    assert (seen.high_watermark, len(seen.log)) == (high_watermark, 1)


@pytest.mark.parametrize(
    ("releases", "wrong"),
    [
        ("3.9.1..4.1.1", "kafka/3.3..4.1"),
        ("2.7.2..2.8.1", "kafka/0.11..2.0.0"),
        ("3.9.1..4.1.1..4.3.1", "kafka/3.3..4.1..4.3"),
        ("2.4.1..2.8.2..3.9.1-zk", "kafka/0.11..2.0.0..3.9-zk"),
    ],
)
def test_brokers_that_are_upgraded_and_disturbed_conform(releases: str, wrong: str, tmp_path: Path) -> None:
    """All restart with the new release, and the level rises, while brokers are killed and messages are lost. In a
    chain, the next upgrade follows.
    """
    run = call("conform", "--release", releases, "--chaos", "1", "--keep", "kept", folder=tmp_path)
    assert run.code == 0, run.out + run.err
    recording = "kept/chaos-1/recording.jsonl"
    assert call("conform", recording, folder=tmp_path).code == 0
    assert call("conform", recording, "--spec", wrong, folder=tmp_path).code == 1


REGISTERED = {**NEW, "roll": "levels", "records": 1, "max_epoch": 1, "crashes": 0, "isr_shrinks": 1}


@pytest.mark.parametrize(("releases", "status"), [("3.6.2..3.7.0", "fenced"), ("3.6.2..3.7.1", "active")])
def test_a_broker_that_applies_the_level_of_3_7_registers_again(releases: str, status: str, tmp_path: Path) -> None:
    """KAFKA-16757: in 3.7.0, the controller fences it until its next heartbeat."""
    mix = "3.6..3.7" if status == "fenced" else "3.6..3.7.1"
    raised = steps(spec_of(mix, **REGISTERED), "change_level(to=new level)", "apply_level(broker=0)")
    made = replayed(raised, releases, tmp_path)
    assert made.is_as_in_model, made.not_made or made.difference
    assert f"broker 0 registers again: {status}" in made.steps[-1].did


@pytest.mark.parametrize(
    ("mix", "releases", "isr"), [("3.6..3.7.1", "3.6.2..3.7.1", {0}), ("3.6..3.9", "3.6.2..3.9.1", {0, 1})]
)
def test_a_broker_with_another_epoch_cannot_join_the_isr(
    mix: str, releases: str, isr: set[int], tmp_path: Path
) -> None:
    """KAFKA-16952: up to 3.8, a broker that registers again gets another broker epoch, and the controller refuses what
    the leader has proposed with the earlier one.
    """
    left = ("shrink_isr(leader=0, member=1)", "handle_alter_partition(leader=0)", "hear_isr(leader=0)")
    joins = (
        "handle_fetch(leader=0, follower=1)",
        "handle_fetch_response(follower=1)",
        "park_fetch(leader=0, follower=1)",
    )
    raised = ("change_level(to=new level)", "apply_level(broker=1)", "handle_alter_partition(leader=0)")
    made = replayed(steps(spec_of(mix, **REGISTERED), "produce(leader=0)", *left, *joins, *raised), releases, tmp_path)
    assert made.is_as_in_model, made.not_made or made.difference
    observed = made.steps[-1].observed
    assert isinstance(observed, ObservedState)
    assert observed.quorum.isr == isr


@pytest.mark.parametrize(
    ("mix", "releases", "rolled"),
    [
        ("2.7.2..2.8.1", "2.7.2..2.8.1", ("restart_as(broker=1, to=new release)",)),
        ("3.9..4.1", "3.9.1..4.1.1", ("restart_as(broker=1, to=new release)",)),
    ],
)
def test_the_controller_moves_to_the_new_release(
    mix: str, releases: str, rolled: tuple[str, ...], tmp_path: Path
) -> None:
    spec = spec_of(mix, **QUIET, upgraded="0", roll="releases", records=1, crashes=1)
    down = ("crash(broker=1)", "controller_notices_failure(broker=1)", "controller_becomes(to=new release)")
    trace = steps(spec, *down, *rolled, "produce(leader=0)")
    assert outcome(trace, releases, tmp_path).leader == 0


# --- a recording of an own cluster ------------------------------------------------------------------------------------


def roll(cluster: Cluster, client: Client, told: Path) -> None:
    """Restart all nodes of a cluster with the new release, and raise its level. With ZooKeeper, say so before."""
    brokers, new = (0, 1), cluster.release.newest
    client.create_topic(0, "t", [[0, 1]], {"min.insync.replicas": "2"})
    for stage in (NEW_RELEASE, NEW_LEVEL)[: 1 if new.kraft else 2]:
        for node in brokers:
            cluster.stop(node)
            with told.open("a", encoding="utf-8") as file:
                file.write(f"{node} {STAGES[stage]}\n")
            cluster.stages[node] = stage
            client.forget(node)
            time.sleep(1.0)
            cluster.start_broker(node)
            written(client, 1 - node)
    if new.kraft:
        cluster.kill("controller")
        cluster.stages["controller"] = NEW_RELEASE
        cluster.start(["controller"])
        client.set_feature("controller", METADATA_VERSION, None)
        time.sleep(2.0)
        written(client, 0)


def written(client: Client, broker: int) -> None:
    """Write a record once both replicas are in the ISR."""
    for _ in range(120):
        view = client.partition(broker, "t")
        if view is not None and view.leader is not None and len(view.isr) == 2:
            client.produce(view.leader, "t", f"{time.monotonic()}".encode(), acks=-1)
            return
        time.sleep(0.5)
    raise AssertionError("the ISR has not recovered")


def watch(recorder: Recorder, done: threading.Event) -> None:
    while not done.is_set():
        recorder.run(0.3)


@pytest.mark.parametrize(
    ("releases", "wrong"), [("3.9.1..4.1.1", "kafka/3.3..3.6"), ("2.7.2..2.8.1", "kafka/0.11..2.0.0")]
)
def test_a_cluster_that_is_upgraded_is_recorded(releases: str, wrong: str, tmp_path: Path) -> None:
    release, told = mixed_release(releases), tmp_path / "told"
    told.touch()
    real = free_ports(nodes_of(release, 2))
    at: Any = {node: Address("127.0.0.1", port) for node, port in real.items()}
    controllers = [(100, at["controller"])] if release.kraft else []
    about: Any = {"release": release.name, "spec": release.spec}
    with Recorder(definitions_of(release), tmp_path / "run.jsonl", host="127.0.0.1", **about) as recorder:
        recorder.listen([(0, at[0]), (1, at[1])], controllers, at.get("zookeeper"))
        recorder.follow_upgrade(release, None if release.kraft else told)
        advertised = {each.node: each.port for each in recorder.listeners if each.client is None}
        zookeeper = {each.client: each.port for each in recorder.listeners if each.client is not None}
        client = Client(definitions_of(release), advertised)
        done = threading.Event()
        watching = threading.Thread(target=watch, args=(recorder, done))
        with Cluster(release, tmp_path / "cluster", brokers=2, ports=Ports(real, advertised, zookeeper)) as cluster:
            watching.start()
            try:
                cluster.start()
                roll(cluster, client, told)
            finally:
                done.set()
                watching.join()
    assert call("conform", "run.jsonl", "--partition", "t-0", folder=tmp_path).code == 0
    assert call("conform", "run.jsonl", "--partition", "t-0", "--spec", wrong, folder=tmp_path).code == 1
