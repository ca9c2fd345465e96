"""Replays of controllers that die: what is planned, and how brokers are compared with the model. Without brokers."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest

from leadline.brokers.control import plan, schedule
from leadline.brokers.control.observed_state import SeenRequest, differences, observed_state
from leadline.brokers.control.plan import ControlPlan, plan_of
from leadline.brokers.control.schedule import schedule_of
from leadline.brokers.control.stage import error_in, is_about, state_in
from leadline.brokers.errors import NotExecutable
from leadline.brokers.plans import AnyPlan
from leadline.checker.errors import LeadlineError
from leadline.model.control.actions import ACTIONS
from leadline.model.control.wire import ON_THE_WIRE
from leadline.reports.kafka.broker_runs.schedules import affected_release
from leadline.reports.kafka.bugs import CONTROL
from leadline.reports.loading import load_spec
from tests.suite.archive import ARCHIVE, schedules

STATE = {"LeaderEpoch": 1, "Leader": 1, "Isr": [1], "TopicName": "t"}


def made(plan: AnyPlan) -> ControlPlan:
    assert isinstance(plan, ControlPlan)
    return plan


def names(plan: ControlPlan) -> list[str]:
    return [step.instance.action.name for step in plan.steps]


def test_every_action_says_how_it_appears_or_why_it_does_not() -> None:
    assert set(ON_THE_WIRE) == {action.name for action in ACTIONS}
    for wire in ON_THE_WIRE.values():
        assert sum((bool(wire.does or wire.passes), wire.alone, bool(wire.unmade))) == 1


def test_a_controller_is_replaced_while_it_handles_an_event() -> None:
    """A real controller hears of /controller at once, unless it has read the brokers and not acted yet."""
    found = schedules("KAFKA-6082")
    assert (found.affected.name, found.control.name) == ("2.0.1", "2.1.1")
    steps = names(made(found.plan))
    assert steps.index("read_brokers") < steps.index("controller_session_expires") < steps.index("become_controller")
    assert steps[-3:] == ["act_on_brokers", "deliver", "resign"]
    assert [step.is_last for step in made(found.plan).steps] == [False] * 10 + [True]
    control = made(found.control_plan)
    assert control.departs == 1 + names(control).index("act_on_brokers")
    assert control.steps[control.departs - 1].after.quorum.epoch == 0
    assert {state.quorum.epoch for state in control.rests} == {0}


def test_a_release_that_sees_the_restart_heals() -> None:
    found = schedules("KIP-380")
    assert (found.affected.name, found.control.name) == ("2.1.1", "2.2.2")
    assert names(made(found.plan)) == ["broker_dies", "restart"]
    control = made(found.control_plan)
    assert control.departs == 3
    assert names(control)[2:4] == ["read_brokers", "act_on_brokers"]
    assert [step.heals for step in control.steps[:3]] == [False, False, True]
    spec = control.trace.spec
    assert control.rests
    assert all(spec.is_at_rest(state) and state.quorum.leader == 1 for state in control.rests)


def test_what_no_release_of_the_family_shows() -> None:
    with pytest.raises(LeadlineError, match=r"was fixed before Kafka 0\.10\.2"):
        schedules("KAFKA-532")
    late = next(bug for bug in ARCHIVE.of_family(CONTROL).bugs if bug.ticket == "KAFKA-7235")
    with pytest.raises(LeadlineError, match=r"shown in control/2\.1\+broker_change=epochs, which is not a release"):
        affected_release(late, None)
    shown = {"KIP-380", "KAFKA-6082", "KAFKA-3143"}
    for bug in ARCHIVE.of_family(CONTROL).bugs:
        if bug.ticket not in shown:
            with pytest.raises(LeadlineError):
                schedules(bug.ticket)


def test_a_bug_that_needs_records_is_not_made() -> None:
    spec: Any = load_spec("control/2.6").with_bounds({"lossy_crashes": 1, "crashes": 0, "records": 1, "failovers": 0})
    with pytest.raises(NotExecutable, match="does not hold back replication"):
        schedule_of(spec.with_properties(["log_matching"]))


def test_a_search_for_a_plan_ends_at_its_limit() -> None:
    spec: Any = load_spec("control/2.1").with_bounds({"records": 0}).with_properties(["agreed_at_rest"])
    with mock.patch.object(schedule, "MOST_STATES", 2), pytest.raises(NotExecutable, match="within 2 states"):
        schedule_of(spec)
    with mock.patch.object(plan, "MOST_STATES", 2), pytest.raises(NotExecutable, match="to more than 2 states"):
        plan_of(schedules("KIP-380").plan.trace)


def test_the_differences_between_brokers_and_the_model() -> None:
    plan = made(schedules("KAFKA-6082").plan)
    one, other = observed_state(plan.steps[-1].before), observed_state(plan.start)
    assert differences(one, one) == []
    assert differences(one, other)[0].startswith(
        "ZooKeeper: leader 0, epoch 0, ISR 0 1, written by c1; controller 0, c1"
    )
    sent = next(step.after for step in plan.steps if step.instance.action.name == "act_on_brokers")
    assert observed_state(sent).brokers[1].requests == (SeenRequest(1, 1, 1, frozenset({1})), None)


def test_a_plan_without_a_property_at_rest_has_no_rest() -> None:
    spec: Any = load_spec("control/2.2").with_bounds({"records": 0}).with_properties(["dead_not_in_isr"])
    plan = plan_of(schedule_of(spec))
    assert plan.rests == frozenset()
    assert not any(step.is_last or step.heals for step in plan.steps)
    assert "let through: watch response from zookeeper to controller" in "\n".join(plan.lines)


@pytest.mark.parametrize(
    "request_body",
    [
        {"UngroupedPartitionStates": [STATE], "TopicStates": []},
        {
            "TopicStates": [
                {"TopicName": "other", "PartitionStates": [{}]},
                {"TopicName": "t", "PartitionStates": [STATE]},
            ]
        },
    ],
)
def test_the_state_in_a_request_of_each_version(request_body: dict[str, Any]) -> None:
    assert state_in(request_body) == STATE
    assert state_in({}) is None


def test_frames_about_a_node() -> None:
    about = is_about("/x")
    assert about({"path": "/x"})
    assert about({"operations": [{"path": "/y"}, {"path": "/x"}]})
    assert not about({"path": "/x/y"})
    assert error_in({"PartitionErrors": [{"ErrorCode": 11}]}) == 11
    assert error_in({"Topics": [{"PartitionErrors": [{"ErrorCode": 77}]}]}) == 77
    assert error_in({}) == 0
