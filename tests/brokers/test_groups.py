"""Replays of consumer groups: what is planned, and how a broker is compared with the model. Without brokers."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from leadline.brokers.errors import BrokerError, NotExecutable
from leadline.brokers.groups.classic import _assigned, _assignment
from leadline.brokers.groups.consumer import HeartbeatingConsumers
from leadline.brokers.groups.driver import LONG_SECONDS, SHORT, _timeouts
from leadline.brokers.groups.observed_state import (
    commit_code,
    differences,
    heartbeat_code,
    observed_state,
    sends_heartbeats,
)
from leadline.brokers.groups.plan import OPERATIONS, UNMADE, GroupsPlan, Operation, plan_of
from leadline.brokers.plans import AnyPlan
from leadline.brokers.releases import broker_release
from leadline.checker.action import ActionInstance
from leadline.checker.errors import LeadlineError
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace
from leadline.model.group.classic.actions import ACTIONS
from leadline.model.group.conformance.errors import (
    ILLEGAL_GENERATION,
    REBALANCE_IN_PROGRESS,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
)
from leadline.model.group.consumer.actions import ACTIONS as CONSUMER_ACTIONS
from leadline.model.group.perturbed import Commit
from leadline.reports.kafka.bugs import GROUPS
from leadline.reports.loading import load_spec
from tests.suite.archive import ARCHIVE, schedules

NOT_MADE = {
    "KAFKA-12984": "a bug of consumers",
    "KAFKA-13419": "a bug of consumers",
    "KAFKA-14639": "a bug of consumers",
    "KAFKA-20634": "resigns as soon as it begins to follow",
    "no ticket: lost response": "a bug of consumers",
    "no ticket: outdated commit": "no assignor that assigns anything",
    **dict.fromkeys(("KAFKA-20640", "no ticket: downgraded group"), "consumers of one group have one protocol"),
    "no ticket: late classic member": "consumers of one group have one protocol",
}


def made(plan: AnyPlan) -> GroupsPlan:
    assert isinstance(plan, GroupsPlan)
    return plan


def taken(name: str, *steps: str, **bounds: Any) -> Trace[Any]:
    """The trace of the given steps, such as ``send_join 0``."""
    loaded: Any = load_spec(name)
    spec: Spec[Any] = loaded.with_bounds(bounds).with_properties([])
    states, instances = [spec.initials()[0]], list[ActionInstance[Any]]()
    for step in steps:
        action, *values = step.split()
        (instance,) = (i for i in spec.instances if i.action.name == action and [*map(str, i.values)] == values)
        after = spec.take(instance, states[-1])
        assert after, step
        states.append(after[0])
        instances.append(instance)
    return Trace(spec, states, instances)


STABLE_OF_ONE = ("send_join 0", "send_join 0", "end_join_phase", "send_sync 0")
REBALANCING = (*STABLE_OF_ONE, "send_join 1", "send_join 1")


@pytest.mark.parametrize("ticket", [bug.ticket for bug in ARCHIVE.of_family(GROUPS).bugs])
def test_every_ticket_is_planned_or_says_why_not(ticket: str) -> None:
    if ticket in NOT_MADE:
        with pytest.raises((NotExecutable, LeadlineError), match=NOT_MADE[ticket]):
            schedules(ticket)
    else:
        assert schedules(ticket).plan.steps


def test_every_action_has_an_operation_or_a_reason() -> None:
    names = {action.name for action in ACTIONS} | {action.name for action in CONSUMER_ACTIONS}
    assert names == OPERATIONS.keys() | UNMADE.keys()
    assert not OPERATIONS.keys() & UNMADE.keys()


def test_the_release_with_the_fix_goes_on_from_the_state_in_which_the_other_rests() -> None:
    found = schedules("KAFKA-12890")
    assert (found.affected.name, found.control.name) == ("2.8.0", "2.8.2")
    affected, control = made(found.plan), made(found.control_plan)
    assert (affected.rests, affected.waits, affected.departs) == (True, frozenset(), None)
    assert (control.rests, control.waits, control.departs) == (False, {"time_out_sync"}, len(control.steps))
    assert len(control.steps) == len(affected.steps) + 1


def test_the_control_of_a_bug_that_nobody_fixed_has_no_failover() -> None:
    found = schedules("no ticket: sync timer")
    assert (found.affected, found.left_out) == (found.control, "another broker becomes coordinator")
    assert made(found.plan).steps[-1].operation is Operation.FAIL_OVER
    assert made(found.control_plan).steps[-1].instance.action.name == "time_out_sync"


def test_a_release_departs_where_a_broker_shows_it() -> None:
    """Other members' fields, which the coordinator does not describe, differ before."""
    found = schedules("KAFKA-16249")
    control = made(found.control_plan)
    assert (control.departs, control.refused is not None) == (7, True)
    assert [step.operation for step in control.steps[5:]] == [Operation.WITH_NEXT, Operation.SEND]
    assert control.steps[5].shown == control.steps[5].before
    assert control.steps[6].with_last
    assert (schedules("KAFKA-16147").control_plan.departs, found.control.name) == (5, "3.8.1")


def test_only_time_outs_that_a_plan_waits_for_are_short() -> None:
    control = _timeouts(made(schedules("KAFKA-12890").control_plan), 1.0)
    assert (control.session, control.rebalance) == (LONG_SECONDS, SHORT.rebalance)
    assert _timeouts(made(schedules("KAFKA-12890").plan), 2.0) == attrs.evolve(
        SHORT, session=2 * SHORT.session, rebalance=2 * SHORT.rebalance, first_join=2 * SHORT.first_join
    )
    expiring = _timeouts(made(schedules("KAFKA-4682").plan), 1.0)
    assert (expiring.session, expiring.rebalance) == (LONG_SECONDS, LONG_SECONDS)


def test_the_broker_ends_a_join_phase_at_once() -> None:
    """Except for the first one. No other consumer can be given a member id between the last request and the end."""
    plan: Any = plan_of(taken("group/2.8", *REBALANCING, "send_heartbeat 0", "send_join 0", "end_join_phase"))
    assert [step.shown.group.state for step in plan.steps[1:4]] == [
        "PreparingRebalance",
        "CompletingRebalance",
        "Stable",
    ]
    assert plan.steps[7].after.group.state == "PreparingRebalance"
    assert plan.steps[7].shown == plan.steps[8].after
    late = taken("group/2.8", *REBALANCING, "send_heartbeat 0", "send_join 0", "send_join 2", clients=3)
    with pytest.raises(NotExecutable, match=r"step 9 .* as soon as all members have joined"):
        plan_of(late)


def test_what_cannot_be_made() -> None:
    waiting = taken("group/2.8", "send_join 0", "send_join 0", "send_join 1", "pause 1", "expire_session 1")
    with pytest.raises(NotExecutable, match=r"step 5 .* the first join phase ends after a delay"):
        plan_of(waiting)
    changed = taken("group/3.8-consumer", "send_heartbeat 0", "change_topics", "begin_reconciliation 0")
    with pytest.raises(NotExecutable, match=r"step 2 .* with its next heartbeat"):
        plan_of(changed)
    joining = taken("group/3.8-consumer", "send_heartbeat 0", "change_topics", "send_heartbeat 1")
    with pytest.raises(NotExecutable, match=r"step 2 .* with its next heartbeat"):
        plan_of(joining)
    with pytest.raises(NotExecutable, match="no producer"):
        plan_of(taken("group/2.8", "send_join 0", transactional=True))


def test_a_commit_in_flight_arrives_at_the_end() -> None:
    plan = plan_of(taken("group/2.8", *REBALANCING, "send_commit 0", delayed=1))
    assert [step.operation for step in plan.steps[-2:]] == [Operation.HOLD_COMMIT, Operation.COMMIT_ARRIVES]
    assert plan.departs == 8  # the step is not in the trace


def test_error_codes_are_those_of_the_coordinator() -> None:
    trace = taken("group/2.8", *REBALANCING, "send_heartbeat 0", "send_join 0", "end_join_phase")
    stable, preparing, completing = (trace.states[n] for n in (4, 6, 9))
    assert [heartbeat_code(each, 0) for each in (stable, preparing, completing)] == [0, REBALANCE_IN_PROGRESS, 0]
    ignoring = attrs.evolve(completing, protocol=taken("group/2.5").states[0].protocol)
    assert heartbeat_code(ignoring, 0) == REBALANCE_IN_PROGRESS
    assert [sends_heartbeats(trace.states[n], 0) for n in (2, 3, 8)] == [False, True, False]
    codes = [commit_code(completing, Commit(m, epoch, frozenset({0}))) for m, epoch in ((0, 2), (0, 1), (7, 2))]
    assert codes == [REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID]
    assert commit_code(preparing, Commit(0, 1, frozenset({0}))) == 0
    member = taken("group/3.8-consumer", "send_heartbeat 0").states[-1]
    assert commit_code(member, Commit(0, 0, frozenset({0}))) == STALE_MEMBER_EPOCH


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"group": "Empty"}, "the group is Empty; in the model: Stable"),
        ({"members": ((0, "1"),)}, "the members are m0 1; in the model: m0 0 1"),
        ({"members": ((0, "0 1"), (-1, "-"))}, "the members are m0 0 1; m- -; in the model: m0 0 1"),
        ({"codes": ((0, 25),)}, "a heartbeat of consumer 0 gets UNKNOWN_MEMBER_ID; in the model: no error"),
        ({"committed": (1,)}, "the committed offsets are [1]; in the model: []"),
    ],
)
def test_every_difference_is_named(changes: dict[str, Any], said: str) -> None:
    model = observed_state(taken("group/2.8", *STABLE_OF_ONE).states[-1])
    assert differences(model, model) == []
    (found,) = differences(model, attrs.evolve(model, **changes))
    assert found == said


def test_a_group_of_the_consumer_protocol_has_epochs() -> None:
    trace = taken("group/3.8-consumer", "send_heartbeat 0", "send_heartbeat 1", "send_heartbeat 0")
    assert [observed_state(each).group for each in trace.states[:2]] == [
        "Empty, epoch 0, target@0",
        "Stable, epoch 1, target@1",
    ]
    last = observed_state(trace.states[-1])
    assert last.group == "Reconciling, epoch 2, target@2"
    assert last.text == "m0 @1 is assigned 0, target 0; m1 @2 is assigned -, target 1"
    assert last.as_object["members"][0] == {"member": 0, "described": "@1 is assigned 0, target 0"}


@pytest.mark.parametrize("release", ["2.8.1", "3.8.1-zk"])
def test_releases_without_the_consumer_protocol_are_refused(release: str) -> None:
    with pytest.raises(BrokerError, match=f"Kafka {release} has no consumer protocol"):
        HeartbeatingConsumers.settings(broker_release(release), SHORT)


def test_assignments_are_read_as_they_are_written() -> None:
    for given in (frozenset[int](), frozenset({1}), frozenset({0, 2})):
        assert _assigned(_assignment(given)) == given
