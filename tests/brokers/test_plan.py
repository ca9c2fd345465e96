"""Plans of replays: computed for the traces of the archive and for random behaviours, without brokers."""

from __future__ import annotations

import random
from typing import Any

import attrs
import pytest

from leadline.brokers.driver.observed_state import differences, observed_state
from leadline.brokers.driver.plan import Plan, plan_of
from leadline.brokers.driver.schedule import schedule_of
from leadline.brokers.errors import NotExecutable
from leadline.brokers.releases import mixed_release
from leadline.checker.errors import LeadlineError
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace
from leadline.model.kafka import rolls
from leadline.model.kafka.actions import ACTIONS
from leadline.model.kafka.releases import KRAFT, ZOOKEEPER, column_of
from leadline.model.kafka.wire import ON_THE_WIRE, Operation, on_the_wire
from leadline.reports.kafka.broker_runs import counterexamples
from leadline.reports.kafka.broker_runs.schedules import bug_of, plan_on
from leadline.reports.kafka.bugs import read_archive
from leadline.reports.loading import load_spec

ARCHIVE = read_archive()
MADE = (
    *("KAFKA-14617", "KIP-101", "KAFKA-7164", "KIP-106", "KAFKA-13141", "KAFKA-2334", "KAFKA-14140", "KAFKA-15495"),
    *("KAFKA-1120", "KAFKA-1211", "KAFKA-3410", "KAFKA-6361", "KAFKA-6880", "KAFKA-7128", "KAFKA-7415", "KAFKA-15583"),
)
NOT_MADE = {
    "KAFKA-18106": "step 5 .*unless it fails over",
    "KAFKA-7235": "sent before the restart",
    "KAFKA-15221": "outlives its connection",
    "KAFKA-14704": "nothing can be seen",
}


def counterexample(ticket: str) -> Trace[Any]:
    """The counterexample of a bug in the last release that has it."""
    bug = bug_of(ARCHIVE, ticket)
    run = [run for run in ARCHIVE.runs(bug) if run.part == "affected"][-1]
    return counterexamples.counterexample(run)


def controller_of(spec: Spec[Any]) -> str:
    """The kind of controller of a release."""
    column = column_of(spec.name.partition("+")[0])
    assert column is not None
    return column.controller


def walk(name: str, seed: int, steps: int = 25, **bounds: int) -> Trace[Any]:
    """A random behaviour of a release, in which no follower falls behind: no such step can be planned."""
    spec, chosen = load_spec(name).with_bounds(bounds), random.Random(seed)
    states, instances = [next(iter(spec.initials()))], []
    made = [each for each in spec.instances if each.action.name != "falls_behind"]
    for _ in range(steps):
        enabled = [(each, after) for each in made for after in spec.take(each, states[-1])]
        if not enabled:
            break
        instance, after = chosen.choice(enabled)
        states.append(after)
        instances.append(instance)
    return Trace(spec, states, instances)


def check(plan: Plan, trace: Trace[Any]) -> None:
    """A plan is a behaviour of the model with all steps of the trace."""
    assert [step.number for step in plan.steps] == [*range(1, len(plan.steps) + 1)]
    for step in plan.steps:
        assert step.after in [*step.instance.successors(step.before)]
    made = [repr(step.instance) for step in plan.steps]
    assert not {*map(repr, trace.instances)} - {*made}
    assert plan.replicas[0] == 0
    assert len(plan.lines) >= len(plan.steps)


def test_every_action_says_how_it_appears() -> None:
    actions = (*ACTIONS, *rolls.ACTIONS)
    assert set(ON_THE_WIRE) == {action.name for action in actions}
    protocol = column_of("kafka/2.8").protocol()  # type: ignore[union-attr]
    for action in actions:
        for controller in (ZOOKEEPER, KRAFT):
            wire = on_the_wire(action.name, controller, protocol)
            assert wire.does or wire.passes or wire.within or wire.before or wire.unmade
            ends = {kind.source for kind in (*wire.passes, *wire.leaves)}
            assert ends <= {*action.domains, "leader", "controller"}


def test_a_release_without_alter_partition_requests_leaves_none() -> None:
    old, new = (column_of(name).protocol() for name in ("kafka/2.4", "kafka/2.7"))  # type: ignore[union-attr]
    assert not on_the_wire("shrink_isr", ZOOKEEPER, old).leaves
    assert on_the_wire("shrink_isr", ZOOKEEPER, new).leaves


def test_a_leader_at_the_old_level_sends_no_alter_partition_request_to_a_controller_at_the_new_one() -> None:
    bounds = {"upgraded": "0-1", "controller": "new", "roll": "levels", "isr_shrinks": 1}
    shrunk = ("produce(leader=0)", "shrink_isr(leader=0, member=1)")
    trace = taken(load_spec("kafka/2.6.1..2.7").with_bounds(bounds), "controller_becomes(to=new level)", *shrunk)
    assert not plan_of(trace, ZOOKEEPER).steps[-1].wire.leaves


@pytest.mark.parametrize(
    ("spec", "release"), [("txn/3.9", "3.9.1..4.1.1"), ("kafka/4.0", "4.0.1..4.1.1"), ("kafka/4.0..4.1", "4.0.1")]
)
def test_a_mix_is_replayed_on_two_releases_and_nothing_else_is(spec: str, release: str) -> None:
    loaded = load_spec(spec)
    with pytest.raises(LeadlineError, match=f"for a trace of {spec}, not {release}"):
        plan_on(Trace(loaded, [next(iter(loaded.initials()))], []), mixed_release(release))


@pytest.mark.parametrize("ticket", MADE)
def test_traces_of_the_archive_are_planned(ticket: str) -> None:
    trace = counterexample(ticket)
    check(plan_of(trace, controller_of(trace.spec)), trace)


@pytest.mark.parametrize("ticket", NOT_MADE)
def test_a_step_that_cannot_be_made_is_named(ticket: str) -> None:
    trace = counterexample(ticket)
    with pytest.raises(NotExecutable, match=NOT_MADE[ticket]):
        plan_of(trace, controller_of(trace.spec))


@pytest.mark.parametrize("name", ["kafka/0.10.2", "kafka/2.0.1", "kafka/2.8", "kafka/3.4.1", "kafka/4.1"])
def test_random_behaviours_are_planned_or_refused_with_a_reason(name: str) -> None:
    refused, walks = [], 12
    for seed in range(walks):
        trace = walk(name, seed, brokers=3, max_epoch=4, crashes=2, session_expiries=1, isr_shrinks=1)
        try:
            check(plan_of(trace, controller_of(trace.spec)), trace)
        except NotExecutable as error:
            refused.append(error)
    assert len(refused) < walks
    assert all(error.reason and 1 <= error.step <= 60 for error in refused)


def test_a_broker_without_a_session_learns_of_a_leader_only_after_it_has_a_session_again() -> None:
    """ZooKeeper's controller sends nothing to a broker without a session; the counterexample has the other order."""
    trace = counterexample("KAFKA-7415")
    orders = []
    for steps in (trace.instances, [step.instance for step in plan_of(trace, ZOOKEEPER).steps]):
        names = [repr(instance) for instance in steps]
        orders.append(names.index("become_follower(broker=0, epoch=1)") < names.index("session_resumes(broker=0)"))
    assert orders == [True, False]


def test_a_broker_refuses_requests_that_were_sent_before_its_session() -> None:
    """KIP-380: since 2.2, a new session has a new broker epoch, and requests with an older one are refused."""
    bounds: dict[str, Any] = {"brokers": 3, "max_epoch": 2, "crashes": 1, "session_expiries": 1}
    fails_over = ("crash(broker=0)", "controller_notices_failure(broker=0)")
    renews = ("session_expires(broker=1)", "session_resumes(broker=1)")

    def planned(name: str, *steps: str, **mixed: str) -> list[str]:
        plan = plan_of(taken(load_spec(name).with_bounds(bounds | mixed), *steps), ZOOKEEPER)
        return [repr(step.instance) for step in plan.steps]

    learns = "become_follower(broker=1, epoch=2)"
    skipped = (*fails_over, *renews, learns)
    assert planned("kafka/2.2", *skipped) == [*skipped]
    # at the level of 2.1, the requests of a controller of 2.2 have no broker epoch
    late = planned("kafka/2.1..2.2", *skipped, upgraded="0-1-2", controller="new")
    assert late == [*fails_over, *renews, "become_leader(broker=1, epoch=1)", learns]
    # a controller of 2.0 ends no session before the broker has answered
    assert planned("kafka/2.0.1", *skipped) == [*fails_over, "become_leader(broker=1, epoch=1)", *renews, learns]


def test_a_broker_that_exits_is_followed_to_the_end_of_its_process() -> None:
    step = plan_of(counterexample("KAFKA-3410"), ZOOKEEPER).steps[-1]
    assert step.instance.action.name == "handle_fetch_response"
    assert step.wire.does == (Operation.WAIT_FOR_EXIT,)
    assert not step.wire.leaves


def test_a_broker_that_missed_a_request_gets_it_first() -> None:
    """ZooKeeper's controller sends requests in order, so the plan adds the step that the counterexample leaves out."""
    spec = load_spec("kafka/2.0.1").with_bounds({"brokers": 3, "max_epoch": 2, "crashes": 2})
    trace = taken(
        spec,
        "crash(broker=0)",
        "controller_notices_failure(broker=0)",
        "crash(broker=1)",
        "controller_notices_failure(broker=1)",
        "become_leader(broker=2, epoch=2)",
    )
    plan = plan_of(trace, ZOOKEEPER)
    assert [repr(step.instance) for step in plan.steps[-2:]] == [
        "become_follower(broker=2, epoch=1)",
        "become_leader(broker=2, epoch=2)",
    ]


def test_a_broker_that_registers_in_kraft_learns_the_epoch_in_the_same_step() -> None:
    spec = load_spec("kafka/3.4.1").with_bounds({"brokers": 3, "max_epoch": 3, "crashes": 1})
    trace = taken(
        spec,
        "crash(broker=2)",
        "controller_notices_failure(broker=2)",
        "restart(broker=2)",
        "become_leader(broker=0, epoch=1)",
    )
    names = [repr(instance) for instance in schedule_of(trace, KRAFT).instances]
    assert names[2:4] == ["restart(broker=2)", "become_follower(broker=2, epoch=1)"]


def test_a_broker_stops_in_kraft_after_all_others_have_learned_of_the_leader_instead() -> None:
    """The controller lets it stop only when all active brokers have read the metadata log so far."""
    spec = load_spec("kafka/4.1").with_bounds({"brokers": 3, "max_epoch": 2, "shutdowns": 1})
    stopping = ("begin_shutdown(broker=0)", "stop(broker=0)", "restart(broker=0)", "become_follower(broker=0, epoch=1)")
    trace = taken(spec, *stopping, "become_leader(broker=1, epoch=1)")
    names = [repr(instance) for instance in schedule_of(trace, KRAFT).instances]
    others = {"become_leader(broker=1, epoch=1)", "become_follower(broker=2, epoch=1)"}
    assert names[0] == stopping[0]
    assert {*names[1:3]} == others, "one of them is not in the trace"
    assert names[3:] == [*stopping[1:]]


def test_a_broker_that_learns_of_an_epoch_late_reads_about_it_in_time() -> None:
    """Broker 1 hears of two elections at once, and broker 2 of one after the other, when both are over."""
    run = next(run for run in ARCHIVE.runs(bug_of(ARCHIVE, "outdated log end")) if run.spec.name == "kafka/4.1")
    plan = plan_of(counterexamples.counterexample(run), KRAFT)
    begun = {step.after.quorum.epoch: plan.late_learners(step) for step in plan.steps if step.elects}
    assert begun == {1: [], 2: [2], 3: [], 4: []}


def test_the_order_of_the_replicas_decides_who_is_elected() -> None:
    spec = load_spec("kafka/2.8").with_bounds({"brokers": 3, "max_epoch": 1, "crashes": 1})
    crash = "crash(broker=0)"
    instances = {repr(each): each for each in spec.instances}
    states = [next(iter(spec.initials()))]
    states.append(spec.take(instances[crash], states[-1])[0])
    notices = instances["controller_notices_failure(broker=0)"]
    after = next(state for state in spec.take(notices, states[-1]) if state.quorum.leader == 2)  # type: ignore[attr-defined]
    trace: Trace[Any] = Trace(spec, [*states, after], [instances[crash], notices])
    assert plan_of(trace, ZOOKEEPER).replicas == (0, 2, 1)


def test_a_controller_may_elect_a_broker_whose_failure_it_has_not_noticed() -> None:
    """The model elects brokers that run; a controller takes the first whose session is alive."""
    spec = load_spec("kafka/3.9").with_bounds({"brokers": 3, "max_epoch": 1, "crashes": 1, "session_expiries": 1})
    trace = taken(spec, "crash(broker=1)", "session_expires(broker=0)")
    assert trace.states[-1].quorum.leader == 2
    assert plan_of(trace, KRAFT).replicas == (0, 2, 1)


@pytest.mark.parametrize(("spec", "controller"), [("kafka/2.8", ZOOKEEPER), ("kafka/3.9", KRAFT), ("kafka/4.1", KRAFT)])
def test_the_model_does_not_elect_a_dead_broker_and_a_controller_would(spec: str, controller: str) -> None:
    """So the partition has no leader only if the controller has noticed that all members of the ISR are down."""
    bounds = {"brokers": 2, "max_epoch": 1, "crashes": 2, "session_expiries": 1}
    unnoticed = "crash(broker=1)", "session_expires(broker=0)"
    noticed = "crash(broker=1)", "controller_notices_failure(broker=1)", "crash(broker=0)"
    of_release = load_spec(spec).with_bounds(bounds)
    with pytest.raises(NotExecutable, match="has not noticed that broker 1 is down, and elects it"):
        plan_of(taken(of_release, *unnoticed), controller)
    assert plan_of(taken(of_release, *noticed, "controller_notices_failure(broker=0)"), controller)


def test_a_controller_elects_uncleanly_in_the_decision_in_which_the_leader_is_lost() -> None:
    """In the model, the unclean election is another step, and another broker can start in between."""
    bounds = {"brokers": 3, "max_epoch": 4, "crashes": 2, "isr_shrinks": 1, "unclean_leader_election": True}
    lost: tuple[str, ...] = "crash(broker=2)", "controller_notices_failure(broker=2)"
    lost += "become_leader(broker=0, epoch=1)", "shrink_isr(leader=0, member=1)"
    lost += "crash(broker=0)", "controller_notices_failure(broker=0)"
    spec = load_spec("kafka/0.10.2").with_bounds(bounds)
    assert plan_of(taken(spec, *lost, "controller_elects_uncleanly(broker=1)"), ZOOKEEPER)
    with pytest.raises(NotExecutable, match="the controller elects broker 1 at once"):
        plan_of(taken(spec, *lost, "restart(broker=2)", "controller_elects_uncleanly(broker=2)"), ZOOKEEPER)


def test_a_leader_without_a_request_learns_the_isr_from_the_metadata() -> None:
    spec = load_spec("kafka/4.1").with_bounds({"brokers": 3, "max_epoch": 1, "crashes": 1})
    trace = taken(spec, "crash(broker=2)", "controller_notices_failure(broker=2)", "hear_isr(leader=0)")
    (kind,) = plan_of(trace, KRAFT).steps[-1].wire.passes
    assert (kind.api, kind.source, kind.target) == ("Fetch", "controller", "leader")
    answered = taken(
        load_spec("kafka/4.1").with_bounds({"brokers": 2, "isr_shrinks": 1}),
        "produce(leader=0)",
        "shrink_isr(leader=0, member=1)",
        "handle_alter_partition(leader=0)",
        "hear_isr(leader=0)",
    )
    (kind,) = plan_of(answered, KRAFT).steps[-1].wire.passes
    assert (kind.api, kind.request) == ("AlterPartition", False)


def test_a_leader_removes_all_lagging_followers_at_once() -> None:
    bounds = {"brokers": 3, "isr_shrinks": 2, "records": 2}
    kept = ("produce(leader=0)", "shrink_isr(leader=0, member=2)")
    shrinks = taken(
        load_spec("kafka/2.2").with_bounds(bounds), *kept, "produce(leader=0)", "shrink_isr(leader=0, member=1)"
    )
    steps = plan_of(shrinks, ZOOKEEPER).steps
    assert [step.instance.action.name for step in steps] == ["produce", "shrink_isr", "shrink_isr", "produce"]
    assert [step.with_next for step in steps] == [False, True, False, False]
    with pytest.raises(NotExecutable, match="broker 0 also removes broker 1, which lags as well"):
        plan_of(taken(load_spec("kafka/3.9").with_bounds(bounds), *kept), KRAFT)


def test_a_plan_for_the_fixed_release_ends_where_its_model_departs() -> None:
    trace = counterexample("KAFKA-13141")
    fixed = load_spec("kafka/2.8.1").with_bounds(attrs_of(trace)).with_properties(["committed_never_lost"])
    plan = plan_of(trace, ZOOKEEPER, fixed)  # type: ignore[arg-type]
    assert plan.refused is not None
    assert plan.refused.instance.action.name == "handle_alter_partition"
    assert plan.departs == plan.refused.number - 1


def test_a_slow_step_before_a_shrink_lengthens_the_lag() -> None:
    plan = plan_of(counterexample("KAFKA-15495"), KRAFT)
    assert set(plan.lag_seconds) == {0}
    assert plan.lag_seconds[0] > 2
    assert any(Operation.WAIT_FOR_LAG in step.wire.does for step in plan.steps)


def test_what_is_seen_of_equal_states_does_not_differ() -> None:
    trace = walk("kafka/2.8", 3)
    observations = [observed_state(state) for state in trace.states]
    assert not any(differences(observed, observed) for observed in observations)
    for before, after in zip(trace.states, trace.states[1:], strict=False):
        logs = [[replica.log for replica in state.replicas] for state in (before, after)]
        if logs[0] != logs[1]:
            assert any(
                "the log of broker" in each for each in differences(observed_state(before), observed_state(after))
            )


def taken(spec: Spec[Any], *names: str) -> Trace[Any]:
    """The trace with these steps; the first successor of each is taken."""
    instances = {repr(each): each for each in spec.instances}
    states = [next(iter(spec.initials()))]
    for name in names:
        states.append(spec.take(instances[name], states[-1])[0])
    return Trace(spec, states, [instances[name] for name in names])


def attrs_of(trace: Trace[Any]) -> dict[str, Any]:
    """The bounds of a trace by name."""
    return attrs.asdict(trace.spec.bounds)


def test_a_crash_after_an_append_needs_the_response_of_the_leader() -> None:
    spec = load_spec("kafka/3.9").with_bounds({"brokers": 3, "crashes": 1})
    steps = ("produce(leader=0)", "handle_fetch(leader=0, follower=1)", "crash_after_append(broker=1)")
    step = plan_of(taken(spec, *steps), KRAFT).steps[-1]
    assert (step.end("leader"), step.end("follower"), step.broker) == (0, 1, 1)


def test_a_follower_that_falls_behind_cannot_be_made() -> None:
    steps = ("crash(broker=0)", "controller_notices_failure(broker=0)", "become_leader(broker=1, epoch=1)")
    more = ("restart(broker=0)", "become_follower(broker=0, epoch=1)", "park_fetch(leader=1, follower=0)")
    trace = taken(load_spec("kafka/2.8"), *steps, *more, "falls_behind(leader=1, follower=0)")
    with pytest.raises(NotExecutable, match=r"step 7 .*for which followers a leader waits"):
        plan_of(trace, ZOOKEEPER)
