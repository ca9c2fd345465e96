"""Controllers that die: what each release allows, within small bounds. The figures are from our own runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from leadline.checker import Limits, Spec, SpecError, Step, Verdict
from leadline.checker.engines import ENGINES
from leadline.invariants import controllers
from leadline.invariants.catalog import CATALOG, find, mutations
from leadline.invariants.families.control import PROPERTIES as CONTROL_PROPERTIES
from leadline.model.control.drawing import DRAWING, rows
from leadline.model.control.explanation import events
from leadline.model.control.releases import COLUMNS, column_of
from leadline.model.control.rules import RULES
from leadline.reports.loading import load_spec
from leadline.reports.suite import SHIPPED, read_suite
from tests.suite.command import call
from tests.suite.samples import EVERY, sampled

SAFETY = [item.name for item in CONTROL_PROPERTIES if not item.kind.is_witness]
MOVED: Mapping[str, Any] = {
    "brokers": 3, "replicas": 2, "reassignments": 1, "target": "0-2", "records": 0, "failovers": 0, "crashes": 0,
}  # fmt: skip
MOVED_TO_ONE: Mapping[str, Any] = {**MOVED, "brokers": 2, "replicas": 1, "target": "1"}


def searched(name: str, bounds: Mapping[str, Any], properties: list[str] | None = None) -> dict[str, int]:
    """The lengths of the traces of the violated properties."""
    spec = load_spec(name).with_bounds(bounds).with_properties(properties or SAFETY)
    result = ENGINES["compiled"](spec, Limits(keep_going=True))
    assert result.exhausted
    return {item.property.name: len(item.traces[0]) for item in result.properties if item.traces}


MISSED = {"agreed_at_rest": 3, "led_at_rest": 3}
EARLY = {**MISSED, "former_controllers_fenced": 7, "dead_not_in_isr": 5}
WRONG: Mapping[str, dict[str, int]] = {
    **dict.fromkeys(("control/0.10.2", "control/0.11", "control/2.0.0", "control/2.0.1"), EARLY),
    "control/2.1": {**MISSED, "dead_not_in_isr": 4},
    "control/2.2": {"dead_not_in_isr": 4},
    "control/3.2-kraft": {"isr_writable_at_rest": 14},
}


@pytest.mark.parametrize("name", sampled([*WRONG][::-1], 2))
def test_what_goes_wrong_with_a_failover_and_a_crash(name: str) -> None:
    """KAFKA-1120 until 2.1, KAFKA-6082 until 2.0, and KAFKA-3143 until 2.2. Up to 2.0, an election is a step longer."""
    assert searched(name, {"records": 0}) == WRONG[name]


def test_the_shipped_suite_finds_nothing_wrong_in_the_other_releases_within_these_bounds() -> None:
    """``make check`` runs the suite."""
    whole = [check for check in read_suite(SHIPPED) if not check.check.properties and check.check.expect == "holds"]
    holds = {check.check.spec for check in whole if dict(check.check.bounds) == {"records": 0}}
    assert {column.name for column in COLUMNS} <= {*WRONG, *holds}


@pytest.mark.parametrize(
    ("name", "counts"),
    sampled(
        [
            ("control/2.1", (998, 15)),
            ("control/0.10.2", (2373, 21)),
            ("control/2.4", (1098, 15)),
            ("control/2.2", (971, 15)),
            ("control/4.1", (416, 14)),
            ("control/3.2-kraft", (470, 16)),
            ("control/2.7", (1147, 16)),
        ],
        2,
    ),
)
def test_the_numbers_of_states(name: str, counts: tuple[int, int]) -> None:
    result = ENGINES["oracle"](CATALOG[name].with_bounds({"records": 0}), Limits(keep_going=True))
    assert (result.statistics.distinct, result.statistics.depth) == counts


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("control/2.0.1", True),
        ("control/2.1+controller_writes=unless-written-since", True),
        ("control/2.1", False),
    ],
)
def test_kafka_6082(name: str, broken: bool) -> None:
    bounds = {"records": 0, "crashes": 0, "session_expiries": 1}  # with a crash, KAFKA-1120 is shorter
    assert ("agreed_at_rest" in searched(name, bounds, ["agreed_at_rest"])) is broken


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("control/2.1", {"isr_writable_at_rest": 15, "dead_not_in_isr": 4}),  # KIP-380: a request to its earlier life
        *([("control/2.4", {})] if EVERY else []),
    ],
)
def test_what_goes_wrong_with_a_failover_and_two_crashes(name: str, expected: dict[str, int]) -> None:
    bounds = {"records": 0, "crashes": 2}
    assert searched(name, bounds, ["dead_not_in_isr", "isr_writable_at_rest"]) == expected


@pytest.mark.parametrize("controlled", sampled([column.name for column in COLUMNS], 4))
def test_with_one_controller_that_stays_the_verdicts_are_those_of_the_kafka_family(controlled: str) -> None:
    """For every property of the `kafka` family. Its elections without a failure are those of the preferred leader."""
    bounds = {"brokers": 2, "records": 1, "crashes": 1, "isr_shrinks": 0, "unclean_leader_election": False}
    own = load_spec(controlled).with_bounds(
        {**bounds, "acks": "1", "failovers": 0, "controllers": 1, "preferred_elections": 1}
    )
    other = load_spec(controlled.replace("control/", "kafka/"))
    other = other.with_bounds({**bounds, "acks": "1", "max_epoch": 3, "missed_bounces": 0})
    checked = [item for item in other.checks if not item.kind.is_witness]
    verdicts = [
        {item.property.name: item.verdict for item in ENGINES["compiled"](spec, Limits(keep_going=True)).properties}
        for spec in (attrs.evolve(own, properties=checked), attrs.evolve(other, properties=checked))
    ]
    assert verdicts[0] == verdicts[1]
    assert Verdict.VIOLATED in verdicts[0].values()


# --- findings without a ticket, and others that need special bounds -------------------------------------------------


@pytest.mark.parametrize("name", sampled(["control/2.6", "control/2.2", "control/2.1"], 3))
def test_a_restart_that_spans_a_failover_is_missed_in_all_releases(name: str) -> None:
    bounds = {"records": 2, "crashes": 0, "lossy_crashes": 1}
    assert searched(name, bounds, ["log_matching"]) == {"log_matching": 10}
    assert searched(name, {**bounds, "failovers": 0}, ["log_matching"]) == {}


def test_kafka_7235_a_request_that_is_sent_again_after_a_restart() -> None:
    bounds = {"records": 2, "failovers": 0, "lossy_crashes": 1, "lost_answers": 1}
    assert searched("control/2.4+broker_epoch=none", bounds, ["log_matching"]) == {"log_matching": 14}
    if EVERY:
        assert searched("control/2.4", bounds, ["log_matching"]) == {}


def test_an_election_in_two_writes_leaves_a_controller_that_brokers_refuse() -> None:
    bounds = {"records": 0, "crashes": 0, "failovers": 2}
    assert searched("control/2.0.1", bounds) == {"controlled_at_rest": 11}
    assert searched("control/2.1", bounds) == {}


def test_kafka_13972_a_cancelled_reassignment_leaves_a_replica() -> None:
    bounds = {**MOVED_TO_ONE, "cancellations": 1}
    assert searched("control/2.4", bounds, ["agreed_at_rest"]) == {}
    assert searched("control/2.6", bounds, ["agreed_at_rest"]) == {"agreed_at_rest": 11}
    assert searched("control/2.6+stop_replica=not-older", bounds, ["agreed_at_rest"]) == {}


def test_kafka_9672_a_broker_that_is_not_a_replica_stays_in_the_isr() -> None:
    bounds = {**MOVED_TO_ONE, "cancellations": 1}
    assert searched("control/2.4", bounds) == {"isr_within_replicas_at_rest": 12}
    assert searched("control/2.4+shrinks_unassigned=yes", bounds) == {}
    assert searched("control/3.9-zk", bounds) == {}


def test_a_reassignment_is_replaced_while_it_is_in_progress() -> None:
    """KAFKA-13972, KAFKA-9672 and KAFKA-14808 need no cancellation: a second request does the same."""
    bounds = {**MOVED_TO_ONE, "overrides": 1}
    found = {"agreed_at_rest": 11, "isr_within_replicas_at_rest": 12}
    assert searched("control/2.6", bounds) == found
    assert searched("control/3.9-zk", bounds) == {}
    added = {**bounds, "isr_shrinks": 1, "preferred_elections": 1}
    assert searched("control/2.4", added, ["led_at_rest"]) == {"led_at_rest": 15}


def test_a_second_request_moves_on_from_the_first() -> None:
    spec = load_spec("control/3.9-zk").with_bounds({**MOVED, "overrides": 1})
    begun = taken(spec, "reassign(target=(0, 2))", "add_replicas(controller=0)")[-1].after
    assert str(begun.assignment) == "0 +2 -1"
    steps = taken(
        spec, "reassign(target=(0, 2))", "add_replicas(controller=0)", "override(controller=0, target=(2, 1))"
    )
    after = steps[-1].after
    assert str(after.assignment) == "+2 1 -0"
    assert after.registry.target == (2, 1)
    assert after.quorum.epoch == begun.quorum.epoch + 1
    dropped = taken(
        spec, "reassign(target=(0, 2))", "add_replicas(controller=0)", "override(controller=0, target=(1,))"
    )[-1].after
    assert str(dropped.assignment) == "1 -0"
    assert [str(each) for each in dropped.queue(0, 2)][-1].startswith("c1: stop and delete")
    assert not any("override" in action.name for action in load_spec("control/2.3").actions)


def test_kafka_13407_a_broker_wins_an_election_and_does_not_know_it() -> None:
    bounds = {"records": 0, "crashes": 0, "lost_elections": 1}
    for name in ("control/0.10.2", "control/3.9-zk"):
        assert searched(name, bounds, ["controlled_at_rest"]) == {"controlled_at_rest": 3}
        cured = f"{name}+own_node=starts"
        assert searched(cured, bounds, ["controlled_at_rest", "one_controller_per_epoch"]) == {}
    steps = taken(
        load_spec("control/2.4+own_node=starts").with_bounds(bounds),
        "controller_dies(controller=0)",
        "lose_election(controller=1)",
        "become_controller(controller=1)",
    )
    assert (steps[1].after.registry.controller, steps[1].after.registry.controller_epoch) == (1, 2)
    assert (steps[-1].after.controllers[1].epoch, steps[-1].after.registry.controller_epoch) == (2, 2)
    assert next(event.text for event in events(steps)).startswith("controller 1 has won the election in ZooKeeper")


# --- controlled shutdown --------------------------------------------------------------------------------------------


def test_a_controlled_shutdown_beside_a_failover_harms_nothing() -> None:
    assert searched("control/2.4", {"records": 0, "crashes": 0, "shutdowns": 1}) == {}


def test_kafka_7235_a_request_to_shut_down_outlives_its_broker() -> None:
    bounds = {"records": 0, "failovers": 0, "shutdowns": 1}
    assert searched("control/2.1+broker_change=epochs", bounds, ["agreed_at_rest"]) == {"agreed_at_rest": 13}
    if EVERY:
        assert searched("control/2.2", bounds) == {}


def test_a_controller_moves_the_leader_that_shuts_down_and_its_successor_does_not_know() -> None:
    spec = load_spec("control/2.4").with_bounds({"records": 0, "shutdowns": 1})
    moved = taken(spec, "begin_shutdown(broker=0)", "ask_to_stop(broker=0)", "handle_shutdown(controller=0, broker=0)")
    state = moved[-1].after
    assert (state.quorum.leader, state.quorum.epoch, state.quorum.isr) == (1, 1, frozenset({1}))
    assert state.controllers[0].shutting_down == {0}
    assert len(state.queue(0, 0)) == 1
    follower = taken(
        spec,
        "begin_shutdown(broker=1)",
        "ask_to_stop(broker=1)",
        "handle_shutdown(controller=0, broker=1)",
        "deliver(controller=0, broker=1)",
    )
    assert follower[-1].after.quorum.isr == {0}
    assert str(follower[-1].before.queue(0, 1)[0]) == "c1: stop, epoch 0 for broker epoch 1"
    (asked, number) = (moved[1].after, moved[1].after.registry.controller)
    assert asked.controllers[number].asked == {(0, 1)}
    replaced = taken(
        spec,
        "begin_shutdown(broker=0)",
        "ask_to_stop(broker=0)",
        "controller_dies(controller=0)",
        "become_controller(controller=1)",
        "ask_to_stop(broker=0)",
        "handle_shutdown(controller=1, broker=0)",
        "stop(broker=0)",
    )[-1].after
    assert not replaced.replicas[0].up
    assert (replaced.quorum.leader, replaced.registry.registered) == (1, (False, True))


def test_a_broker_that_shuts_down_is_not_the_preferred_leader() -> None:
    spec = load_spec("control/2.4").with_bounds({"records": 0, "shutdowns": 1, "preferred_elections": 1})
    state = taken(spec, "begin_shutdown(broker=0)", "ask_to_stop(broker=0)", "handle_shutdown(controller=0, broker=0)")
    instances = {str(instance): instance for instance in spec.instances}
    assert list(spec.take(instances["elect_preferred(controller=0)"], state[-1].after)) == []


def test_kraft_has_no_controlled_shutdown_in_this_family() -> None:
    with pytest.raises(SpecError, match=r"control/4\.1 does not model controlled shutdown"):
        ENGINES["compiled"](CATALOG["control/4.1"].with_bounds({"shutdowns": 1}))


LOST_BETWEEN_ROUNDS = (
    "reassign(target=(0, 2))",
    "add_replicas(controller=0)",
    "deliver(controller=0, broker=2)",
    "deliver(controller=0, broker=0)",
    "produce(leader=0)",
    "handle_fetch(leader=0, follower=2)",
    "complete(controller=0)",
    "deliver(controller=0, broker=0)",
    "shrink_isr(leader=0, member=2)",
    "controller_dies(controller=0)",
    "broker_dies(broker=0)",
    "become_controller(controller=1)",
    "deliver(controller=1, broker=1)",
    "deliver(controller=1, broker=1)",
)
"""The replicas that are no longer requested have not been removed yet: one of them is elected, without the record."""


def lost_between_rounds(name: str = "control/2.3") -> Spec[Any]:
    bounds = {**MOVED, "records": 1, "failovers": 1, "crashes": 1}
    return load_spec(name).with_bounds(bounds).with_properties(["committed_never_lost"])


def test_a_record_is_lost_between_the_rounds_of_a_reassignment() -> None:
    """A step may have several outcomes, such as what is written to a log: all are followed."""
    spec = lost_between_rounds()
    (lost,), states = spec.checks, spec.initials()
    instances = {str(instance): instance for instance in spec.instances}
    for step in LOST_BETWEEN_ROUNDS:
        assert [spec.complaint(lost, state) for state in states] == [None] * len(states)
        states = [after for state in states for after in spec.take(instances[step], state)]
    assert any(spec.complaint(lost, state) is not None for state in states)


def test_from_2_4_to_2_8_the_leader_cannot_shrink_the_isr_between_the_rounds() -> None:
    spec = lost_between_rounds("control/2.6")
    instances = {str(instance): instance for instance in spec.instances}
    states, shrinks = spec.initials(), LOST_BETWEEN_ROUNDS.index("shrink_isr(leader=0, member=2)")
    for step in LOST_BETWEEN_ROUNDS[:shrinks]:
        states = [after for state in states for after in spec.take(instances[step], state)]
    assert states
    assert not [after for state in states for after in spec.take(instances[LOST_BETWEEN_ROUNDS[shrinks]], state)]


@pytest.mark.skipif(not EVERY, reason="EVERY=1 searches a million states for a shorter loss between the rounds")
def test_no_record_is_lost_sooner_between_the_rounds_of_a_reassignment() -> None:
    (found,) = ENGINES["compiled"](lost_between_rounds()).properties
    assert len(found.traces[0]) == 1 + len(LOST_BETWEEN_ROUNDS)


@pytest.mark.parametrize(
    "name", sampled(["control/0.10.2", "control/2.4", "control/2.1", "control/3.9-zk", "control/2.7"], 3)
)
def test_a_reassignment_ends_with_the_requested_replicas(name: str) -> None:
    spec = load_spec(name).with_bounds(MOVED)
    result = ENGINES["compiled"](spec.with_properties(["reassigned_at_rest", "isr_within_replicas_at_rest"]))
    assert result.verdict is Verdict.HOLDS
    assert all(item.premise for item in result.properties)


def test_kafka_14154_a_former_controller_refuses_a_leader_that_is_ahead() -> None:
    """The request in the new leader epoch reaches the former controller, after it has been replaced."""
    spec = load_spec("control/3.2-kraft").with_bounds({"records": 0}).with_properties(["isr_writable_at_rest"])
    (found,) = ENGINES["compiled"](spec).properties
    steps = [str(step.instance) for step in found.traces[0].steps]
    expired = steps.index("controller_session_expires(controller=0)")
    refused = steps.index("handle_alter_partition(controller=0, leader=0)")
    assert expired < steps.index("become_controller(controller=1)") < refused
    told = [event.text for event in events(list(found.traces[0].steps))]
    assert "former controller 0 handles the request of broker 0" in told
    assert "stuck" not in [event.label for event in DRAWING.events(list(found.traces[0].steps))], "by KAFKA-12686"
    assert searched("control/3.3", {"records": 0}, ["leader_can_write"]) == {}


def test_kafka_18635_a_leader_registers_before_it_is_fenced() -> None:
    bounds = {"records": 2, "failovers": 0, "crashes": 0, "lossy_crashes": 1}
    assert searched("control/3.9", bounds, ["log_matching"]) == {"log_matching": 10}
    assert searched("control/4.0", bounds, ["log_matching"]) == {}


def test_registrations_in_the_log_show_a_restart_that_spans_a_failover() -> None:
    assert searched("control/4.0", {"records": 2, "crashes": 0, "lossy_crashes": 1}, ["log_matching"]) == {}


def test_kafka_14808_the_leader_is_stopped_when_its_reassignment_is_cancelled() -> None:
    bounds = {**MOVED_TO_ONE, "cancellations": 1, "isr_shrinks": 1}
    assert searched("control/2.4", {**bounds, "preferred_elections": 1}, ["led_at_rest"]) == {"led_at_rest": 15}
    assert searched("control/2.4", bounds, ["led_at_rest"]) == {}


@pytest.mark.parametrize(
    ("property_", "bounds", "told"),
    [
        (
            "isr_within_replicas_at_rest",
            {**MOVED, "cancellations": 1},
            "broker 0 has not heard that broker 2 is not a replica, and adds it to the ISR",
        ),
        (
            "led_at_rest",
            {
                **MOVED, "brokers": 2, "replicas": 1, "target": "1", "cancellations": 1, "isr_shrinks": 1,
                "preferred_elections": 1,
            },
            "broker 1 was the leader and the only member of the ISR: nobody leads",
        ),
    ],
)  # fmt: skip
def test_a_cancelled_reassignment_is_explained(property_: str, bounds: Mapping[str, Any], told: str) -> None:
    """KAFKA-9672 and KAFKA-14808."""
    spec = load_spec("control/2.4").with_bounds(bounds).with_properties([property_])
    (found,) = ENGINES["compiled"](spec).properties
    texts = [event.text for event in events(list(found.traces[0].steps))]
    assert told in texts
    assert any("tells broker" in text for text in texts)


def test_a_failover_undoes_records_that_are_not_committed() -> None:
    spec = load_spec("control/4.1").with_bounds({"records": 0})
    before = taken(spec, "broker_dies(broker=1)", "fence(broker=1)")[-1].after
    assert before.quorum.isr == {0, 1}
    assert [image.partition.isr for image in before.registry.uncommitted] == [frozenset({0})]
    steps = taken(spec, "broker_dies(broker=1)", "fence(broker=1)", "controller_dies(controller=0)")
    assert steps[-1].after.registry.uncommitted == ()
    assert steps[-1].after.registry.registered == (True, True)
    assert "a record that the quorum has not committed is undone" in [event.text for event in events(steps)]


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        ("reassignments", "does not model reassignments"),
        ("lost_answers", "has no lost_answers"),
        ("lost_elections", "has no lost_answers and no lost_elections"),
    ],
)
def test_bounds_that_kraft_does_not_have_are_refused(bound: str, said: str) -> None:
    with pytest.raises(SpecError, match=rf"control/4\.1 {said}"):
        ENGINES["compiled"](CATALOG["control/4.1"].with_bounds({bound: 1}))


# --- a trace, step by step ------------------------------------------------------------------------------------------


def taken(spec: Spec[Any], *steps: str) -> list[Step[Any]]:
    """The steps of a behaviour, each named like ``deliver(controller=1, broker=0)``."""
    instances = {str(instance): instance for instance in spec.instances}
    (state,), found = spec.initials(), []
    for name in steps:
        (after,) = spec.take(instances[name], state)
        found.append(Step(state, instances[name], after))
        state = after
    return found


def possible(spec: Spec[Any], state: Any, containing: str) -> list[str]:
    """The action instances that are enabled, of those whose names contain a text."""
    return [
        str(instance) for instance in spec.instances if containing in str(instance) and list(spec.take(instance, state))
    ]


ZOMBIE = (
    "broker_dies(broker=0)",
    "read_brokers(controller=0)",
    "controller_session_expires(controller=0)",
    "restart(broker=0)",
    "become_controller(controller=1)",
    "start(controller=1)",
    "act_on_brokers(controller=0)",
    "deliver(controller=1, broker=0)",
    "deliver(controller=1, broker=1)",
    "deliver(controller=0, broker=0)",
    "deliver(controller=0, broker=1)",
)
"""KAFKA-6082 as its ticket tells it."""


def test_the_ticket_s_own_behaviour_is_one_of_the_model_and_is_explained() -> None:
    spec = load_spec("control/2.0.1").with_bounds({"records": 0})
    steps = taken(spec, *ZOMBIE[:9])
    told = [(event.state, event.text) for event in events(steps)]
    assert (7, "former controller 0 still acts on what it read in step 3: broker 0 was down then") in told
    assert (
        7,
        "the controller of epoch 1 writes leader 1 in leader epoch 1, and ZooKeeper accepts it, although there is a "
        "controller of epoch 2",
    ) in told
    last = steps[-1].after
    assert (last.quorum.leader, last.quorum.epoch) == (1, 1)
    assert [(replica.leader, replica.epoch) for replica in last.replicas] == [(0, 0), (0, 0)]
    refused = taken(spec, *ZOMBIE[:9], "deliver(controller=0, broker=1)")[-1].after
    assert refused.replicas == last.replicas
    at_rest = taken(spec, *ZOMBIE[:9], "resign(controller=0)")[-1].after
    assert spec.complaint(CATALOG["control/2.0.1"].properties[0], last) is None  # its queues are not empty
    assert not CATALOG["control/2.0.1"].properties[0](at_rest)


OUTDATED = (
    "broker_session_expires(broker=1)",
    "controller_session_expires(controller=0)",
    "become_controller(controller=1)",
    "start(controller=1)",
    "deliver(controller=1, broker=0)",
    "read_brokers(controller=0)",
    "act_on_brokers(controller=0)",
)
"""KAFKA-2729: the leader's version of the partition state is behind ZooKeeper's."""


def test_leader_with_an_outdated_version_is_explained() -> None:
    spec = load_spec("control/2.0.1").with_bounds({"records": 0, "crashes": 0, "session_expiries": 1})
    steps = taken(spec, *OUTDATED)
    assert [(event.state, event.text) for event in events(steps)][-1] == (
        7,
        "broker 0 still leads in epoch 0: ZooKeeper refuses every ISR from a leader that has not heard of epoch 1",
    )
    assert not steps[-1].after.is_true_leader(0)


def test_a_controller_that_reads_a_former_controller_s_leader_epoch_tells_the_leader() -> None:
    """It reads the state to remove a dead broker, which is not in the ISR any more."""
    spec = load_spec("control/0.10.2").with_bounds({"records": 0, "session_expiries": 1})
    steps = taken(
        spec,
        "broker_session_expires(broker=1)",
        "read_brokers(controller=0)",
        "register(broker=1)",
        "controller_session_expires(controller=0)",
        "become_controller(controller=1)",
        "start(controller=1)",
        "deliver(controller=1, broker=0)",
        "act_on_brokers(controller=0)",
        "broker_dies(broker=1)",
        "read_brokers(controller=1)",
        "act_on_brokers(controller=1)",
        "deliver(controller=1, broker=0)",
    )
    assert steps[-2].before.replicas[0].epoch < steps[-2].before.quorum.epoch
    assert steps[-1].after.is_true_leader(0)


def test_zookeeper_refuses_the_former_controller_since_2_1() -> None:
    spec = load_spec("control/2.1").with_bounds({"records": 0})
    last = taken(spec, *(name for name in ZOMBIE[:7] if not name.startswith("start(")))[-1]
    assert last.after.quorum == last.before.quorum
    assert last.after.queue(0, 1) == last.before.queue(0, 1) == ()
    assert possible(spec, last.after, "(controller=0") == ["resign(controller=0)"]


def test_a_former_controller_that_reads_what_its_successor_has_written_goes_on() -> None:
    """It writes nothing, and so ZooKeeper refuses nothing: it sends what it knows to the broker that has restarted."""
    spec = load_spec("control/2.4").with_bounds({"records": 0})
    steps = taken(
        spec,
        "broker_dies(broker=1)",
        "controller_session_expires(controller=0)",
        "become_controller(controller=1)",
        "restart(broker=1)",
        "read_brokers(controller=0)",
        "act_on_brokers(controller=0)",
    )
    assert (steps[2].after.quorum.epoch, steps[2].after.registry.written_by) == (1, 2)
    assert [str(request) for request in steps[-1].after.queue(0, 1)] == [
        "c1: leader 0, epoch 0, ISR 0,1 for broker epoch 2"
    ]


def test_a_leader_proposes_a_broker_that_has_failed() -> None:
    """KIP-841: up to 3.2, the next controller does not check it."""
    steps = (
        "broker_dies(broker=1)",
        "restart(broker=1)",
        "read_brokers(controller=0)",
        "act_on_brokers(controller=0)",
        "deliver(controller=0, broker=1)",
        "deliver(controller=0, broker=0)",
        "readmit(leader=0, follower=1)",
        "controller_session_expires(controller=0)",
        "broker_dies(broker=1)",
        "become_controller(controller=1)",
        "handle_alter_partition(controller=1, leader=0)",
    )
    for name, isr in (("control/3.0", {0, 1}), ("control/3.3-zk", {0})):
        spec = load_spec(name).with_bounds({"records": 0, "crashes": 2})
        last = taken(spec, *steps)[-1].after
        assert last.quorum.isr == isr
        assert controllers.dead_not_in_isr(last) is (isr == {0})


def test_a_former_controller_hears_of_no_later_change() -> None:
    """A watch fires once, and ZooKeeper notifies a client of changes in their order."""
    spec = load_spec("control/2.4").with_bounds({"records": 0, "crashes": 2})
    unaware = taken(spec, "controller_session_expires(controller=0)", "broker_dies(broker=1)")[-1].after
    assert "read_brokers(controller=0)" not in possible(spec, unaware, "(controller=0")
    notified = ("broker_dies(broker=1)", "controller_session_expires(controller=0)")
    read = taken(spec, *notified, "read_brokers(controller=0)", "act_on_brokers(controller=0)", "restart(broker=1)")
    assert read[-1].after.controllers[0].known == (1, 0)
    assert "read_brokers(controller=0)" not in possible(spec, read[-1].after, "(controller=0")


def test_a_controller_without_a_session_reads_nothing_and_resigns_before_it_registers() -> None:
    spec = load_spec("control/2.6").with_bounds({"records": 0, "colocated": True})
    expired = taken(spec, "controller_session_expires(controller=0)", "broker_dies(broker=1)")[-1].after
    instances = {str(instance): instance for instance in spec.instances}
    assert list(spec.take(instances["read_brokers(controller=0)"], expired)) == []
    assert list(spec.take(instances["register(broker=0)"], expired)) == []
    (resigned,) = spec.take(instances["resign(controller=0)"], expired)
    assert len(list(spec.take(instances["register(broker=0)"], resigned))) == 1


def test_rows_show_what_a_controller_has_read_and_what_brokers_obey() -> None:
    spec = load_spec("control/2.2").with_bounds({"records": 0})
    drawn = rows(taken(spec, *ZOMBIE[:2])[-1].after)
    assert drawn["ZooKeeper"].columns["log"] == "controller: 0, c1; live: 1#1; written by c1"
    assert drawn["controller 0"].columns["log"] == "live: 0#1 1#1; has read live: 1#1"
    assert drawn["broker 1"].columns["obeys"] == "c1, broker epoch 1"
    assert list(drawn["controller 1"].badges) == ["not the controller"]
    assert "obeys c1, broker epoch 1" in drawn["broker 1"].badges


# --- the table of rules, names, and bad input -----------------------------------------------------------------------


def test_every_value_is_that_of_a_column_or_was_replaced_before_or_after_them() -> None:
    unused = {
        (rule.name, value.name)
        for rule in RULES
        for value in rule.values
        if all(column.values[rule.name] != value.name for column in COLUMNS)
    }
    assert unused == {("controller_epoch", "adopts"), ("controller_requests", "obeyed"), ("own_node", "starts")}


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("control/1.0", "control/0.11"),
        ("control/2.3.1", "control/2.3"),
        ("control/2.5", "control/2.4"),
        ("control/3.8-zk", "control/3.9-zk"),
        ("control/3.1-kraft", "control/3.2-kraft"),
        ("control/4.2", "control/4.1"),
    ],
)
def test_a_release_has_a_column(name: str, same: str) -> None:
    column, spec = column_of(name), find(name)
    assert column is not None
    assert spec is not None
    assert column.same_as == same
    assert spec.note.startswith(f"stands for {same}: ")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"reassignments": 1, "target": "0-2"}, "broker 2 does not exist, because brokers are numbered from 0 to 1"),
        ({"reassignments": 1, "target": "0,1"}, "expected different brokers separated by hyphens, such as 0-2"),
        ({"reassignments": 1, "target": "1-1"}, "expected different brokers separated by hyphens"),
        ({"reassignments": 1, "target": "0--1"}, "expected different brokers separated by hyphens"),
        ({"controllers": 3}, "controllers=3 must not be greater than brokers=2"),
        ({"replicas": 3}, "replicas=3 must not be greater than brokers=2"),
    ],
)
def test_bounds_that_do_not_fit_together_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        ENGINES["compiled"](CATALOG["control/2.4"].with_bounds(given))


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    for given, said in (
        ("reassignments=1,target=0-7", "target=0-7: broker 7 does not exist"),
        ("controllers=4", "controllers=4 must not be greater than brokers=2"),
    ):
        run = call("explore", "control/2.4", "-b", given, folder=tmp_path)
        assert run.code == 2
        assert said in run.err
        assert len(run.err.strip().splitlines()) == 1


# --- coverage and mutants -------------------------------------------------------------------------------------------


REPLACED: Mapping[str, Any] = {
    "replicas": 1, "target": "1", "reassignments": 1, "cancellations": 1, "overrides": 2, "records": 0, "crashes": 0,
}  # fmt: skip

SHOWING: tuple[tuple[str, Mapping[str, Any], int | None], ...] = (
    ("control/0.10.2+controller_epoch=adopts", {"records": 0, "crashes": 0, "failovers": 2}, None),
    ("control/2.4", {"crashes": 2, "failovers": 0}, None),
    ("control/2.4", {"records": 0, "crashes": 0, "lost_answers": 1, "isr_shrinks": 1}, None),
    ("control/2.4", {"records": 0, "crashes": 0, "session_expiries": 1}, None),
    ("control/2.4", {"records": 0, "preferred_elections": 1}, None),
    ("control/2.4", {"records": 0, "crashes": 0, "lost_elections": 1}, None),
    ("control/2.4", REPLACED, 10),
    ("control/2.4", {"records": 0, "crashes": 0, "shutdowns": 1}, None),
    ("control/2.7", {"records": 0, "isr_shrinks": 1}, None),
    ("control/2.8", {"crashes": 2, "failovers": 0, "isr_shrinks": 1}, None),
    ("control/4.1", {"crashes": 0, "lossy_crashes": 1, "session_expiries": 1, "failovers": 0}, None),
    ("control/4.1", {"crashes": 0, "session_expiries": 1, "metadata_rolls_back": 1}, None),
)
"""Searches of two brokers and two controllers, all but one without a limit, in which every action instance is taken,
except those with one broker twice: no broker fetches from itself, asks itself about epochs, or admits itself to the ISR
or removes itself from it.
"""


ACTIONS = {action.name for column in COLUMNS for action in load_spec(column.name).actions}


def test_every_action_is_taken_within_small_bounds() -> None:
    taken_steps: Counter[str] = Counter()
    for name, bounds, depth in SHOWING:
        spec = load_spec(name).with_bounds(bounds).with_properties([])
        result = ENGINES["compiled"](spec, Limits(depth=8 if depth else 11))
        taken_steps.update({action: count.generated for action, count in result.statistics.actions.items()})
    assert ACTIONS - {action for action, count in taken_steps.items() if count} == set()


@pytest.mark.slow
@pytest.mark.skipif(not EVERY, reason="EVERY=1 counts action instances, and without it actions are counted")
def test_every_action_instance_is_taken_within_small_bounds() -> None:
    taken_steps: Counter[str] = Counter()
    for name, bounds, depth in SHOWING:
        spec = load_spec(name).with_bounds(bounds).with_properties([])
        result = ENGINES["compiled"](spec, Limits(coverage=True, depth=depth))
        assert result.exhausted is (depth is None)
        assert result.statistics.covered is not None
        for instance, count in result.statistics.covered.instances.items():
            taken_steps[str(instance)] += count.generated
    assert {instance.partition("(")[0] for instance in taken_steps} >= ACTIONS
    with_itself = {
        f"{action}(leader={broker}, {other}={broker})"
        for broker in range(2)
        for action, other in (
            *((action, "follower") for action in ("handle_fetch", "park_fetch", "readmit", "handle_epoch_request")),
            ("shrink_isr", "member"),
        )
    }
    assert {instance for instance, count in taken_steps.items() if not count} == with_itself


@pytest.mark.parametrize(
    ("name", "bounds", "reason"),
    [
        ("control/2.4", "crashes=1,lossy_crashes=1,failovers=0", "min.insync.replicas=1 does not promise"),
        *(
            (name, "crashes=2,failovers=0,unclean_leader_election=true", "unclean.leader.election.enable=true does not")
            for name in (("control/2.4", "control/4.1") if EVERY else ("control/4.1",))
        ),
    ],
)
def test_a_loss_by_design_is_called_so(name: str, bounds: str, reason: str, tmp_path: Path) -> None:
    run = call("explore", name, "-b", bounds, "-i", "committed_never_lost", "--diagnose", "0", folder=tmp_path)
    assert run.code == 1
    assert f"committed_never_lost is violated by design: {reason}" in run.out


@pytest.mark.parametrize(
    ("name", "mutation"),
    sampled([(name, each) for name in ("control/2.4", "control/3.9", "control/4.1") for each in mutations(name)], 3),
    ids=lambda each: getattr(each, "name", each),
)
def test_every_other_value_of_a_rule_is_noticed_or_does_no_harm(name: str, mutation: Any) -> None:
    spec = mutation.replace(CATALOG[name].with_bounds({"records": 0, **mutation.bounds}))
    result = ENGINES["compiled"](spec.with_properties(SAFETY))
    assert (result.verdict is Verdict.VIOLATED) is not bool(mutation.harmless)
