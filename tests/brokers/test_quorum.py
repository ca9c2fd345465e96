"""Plans of replays on KafkaRaftClients, what is compared, and what is said without a Java that can run them."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from leadline.brokers.errors import BrokerError, NotExecutable
from leadline.brokers.quorum.observed_state import differences, observed_in, observed_state
from leadline.brokers.quorum.operations import SENTENCES, UNMADE
from leadline.brokers.quorum.plan import plan_of
from leadline.brokers.quorum.process import Controllers
from leadline.brokers.releases import broker_release
from leadline.checker.spec import Spec
from leadline.checker.trace import Trace, complaint_at_end
from leadline.invariants.raft import quorum_leader_complete
from leadline.model.raft.actions import ACTIONS
from leadline.model.raft.state import HALTED, LEADER, RESIGNED, UNATTACHED, Node, Quorum, Record
from leadline.reports.kafka.broker_runs.counterexamples import counterexample
from leadline.reports.kafka.broker_runs.schedules import affected_release, bug_of, fixed_release, schedules_of
from leadline.reports.kafka.bugs import read_archive
from leadline.reports.loading import load_spec
from tests.brokers.fake_java import install
from tests.suite.command import call

ELECTION = ("time_out(own=0)", "ask_vote(own=0, other=1)")


def behaviour(name: str, steps: tuple[str, ...], **bounds: int) -> Trace[Quorum]:
    """The behaviour of a spec with these steps. If one leads to several states, it is the first of them."""
    spec: Spec[Quorum] = load_spec(name).with_bounds(bounds)  # type: ignore[assignment]
    states, taken = list(spec.initials()), []
    for step in steps:
        (instance,) = (each for each in spec.instances if repr(each) == step)
        states.append(spec.take(instance, states[-1])[0])
        taken.append(instance)
    return Trace(spec, states, taken)


def test_each_action_is_executed_or_says_why_it_cannot_be() -> None:
    assert {*SENTENCES, *UNMADE} == {each.name for each in ACTIONS}
    assert not SENTENCES.keys() & UNMADE.keys()


def test_a_trace_that_needs_what_the_classes_do_not_show_is_refused() -> None:
    with pytest.raises(NotExecutable, match="step 3 cannot be made from outside: what was not flushed is not known"):
        plan_of(behaviour("quorum/3.9", (*ELECTION, "lose_power(own=0)"), power_losses=1))
    with pytest.raises(NotExecutable, match=r"step 1 .*: losses and snapshots with kraft.version 1 are not compared"):
        plan_of(behaviour("quorum/3.9", ("replace_disk(own=0)",), dynamic=True, disks=1))


def test_two_steps_that_the_classes_make_at_once_are_compared_together() -> None:
    steps = ("time_out(own=0)",) * 3
    plan = plan_of(behaviour("quorum/4.0", steps))
    assert [step.is_made for step in plan.steps] == [False, False, True]
    assert plan.steps[1].shown == plan.steps[2].after
    assert next(iter(plan.steps[2].operations)) == "the node did it with the step before"
    with pytest.raises(NotExecutable, match=r"step 2 .*node 0 does not wait here: its next time_out"):
        plan_of(behaviour("quorum/4.0", steps[:2]))


def test_a_release_departs_where_its_controller_is_told_something_else() -> None:
    """No state differs, since what a controller is told follows from the state by the rule of the release."""
    steps = (*ELECTION, "restart(own=0)")
    trace = behaviour("quorum/3.8", steps, restarts=1)
    assert plan_of(trace, behaviour("quorum/3.8", ()).spec.with_bounds({"restarts": 1})).departs is None
    assert plan_of(trace, behaviour("quorum/3.9", ()).spec.with_bounds({"restarts": 1})).departs == 3


def elected(release: str, own: int, *others: int) -> tuple[str, ...]:
    """Steps with which a node leads. Since 4.0, it asks for pre-votes first."""
    asks = [f"ask_vote(own={own}, other={other})" for other in others]
    return (f"time_out(own={own})", *asks * (2 if release >= "4" else 1))


def missed_change(release: str, *, truncates: bool = True) -> Trace[Quorum]:
    """Node 1 does not read that node 2 is removed, because its log was longer before: it leads beside another leader.
    If it does not truncate, it reads it, and begins an election in which it does not ask node 2.
    """
    first = [*elected(release, 1, 2), "begin_epoch(own=1, other=0)"] if truncates else []
    steps = (
        *(*first, *("append(own=1)",) * (2 * truncates), *elected(release, 0, 2), "begin_epoch(own=0, other=1)"),
        *("fetch(own=1, other=0)",) * (2 + truncates),
        *("change_voters(own=0, other=2)", *("fetch(own=1, other=0)",) * 2, "change_voters(own=0, other=1)"),
        *(elected(release, 1, 2) if truncates else ["time_out(own=1)"]),
    )
    return behaviour(f"quorum/{release}", steps, dynamic=True, changes=2, values=2, max_epoch=3)


def unknown_leader(release: str) -> Trace[Quorum]:
    """A node follows a leader that was added in a record that it lacks, starts again, and asks that leader."""
    adds = ("fetch(own=3, other=0)", "fetch(own=1, other=0)")
    votes = (0, 2, 0, 1) if release >= "4" else (0, 1)
    steps = (
        *(*elected(release, 0, 1), "begin_epoch(own=0, other=1)", *("fetch(own=1, other=0)",) * 2),
        *(*("fetch(own=3, other=0)",) * 3, "change_voters(own=0, other=3)", *adds * 2, "resign(own=0)"),
        *("time_out(own=3)", *(f"ask_vote(own=3, other={other})" for other in votes)),
        *("begin_epoch(own=3, other=2)", "restart(own=2)", "fetch(own=2, other=3)"),
    )
    bounds = {"nodes": 4, "observers": 1, "dynamic": True, "changes": 1, "resignations": 1, "restarts": 1}
    return behaviour(f"quorum/{release}", steps, **bounds)


def resigned_stranger(release: str) -> Trace[Quorum]:
    """A node whose voters lack the leader hears that it has resigned before it hears that it led."""
    steps = (
        *elected(release, 2, 1),
        "change_configuration(own=0, other=2)",
        "restart(own=2)",
        "end_epoch(own=2, other=0)",
    )
    return behaviour(f"quorum/{release}", steps, configurations=1, restarts=1)


def older_snapshot(release: str) -> Trace[Quorum]:
    """A node with a record of epoch 2 gets a snapshot of epoch 1 from the leader of epoch 3, stops, and starts."""
    steps = (
        *(*elected(release, 0, 1), "time_out(own=1)", *["ask_vote(own=1, other=2)"] * (release >= "4")),
        *("ask_vote(own=1, other=0)", "ask_vote(own=1, other=2)", *elected(release, 0, 2)),
        *("begin_epoch(own=0, other=2)", *["fetch(own=2, other=0)"] * 3, "take_snapshot(own=0)"),
        *("delete_segments(own=0)", "begin_epoch(own=0, other=1)", "fetch(own=1, other=0)", "start_again(own=1)"),
    )
    return behaviour(f"quorum/{release}", steps, max_epoch=3, values=0, snapshots=1)


@pytest.mark.parametrize(("release", "role"), [("3.8", UNATTACHED), ("3.9", HALTED), ("4.0", HALTED)])
def test_a_request_that_does_not_say_where_a_leader_is_is_not_expected_everywhere(release: str, role: str) -> None:
    assert resigned_stranger(release).states[-1].nodes[0].role == role


@pytest.mark.parametrize("release", ["3.9", "4.0"])
def test_a_node_that_misses_a_change_of_voters_leads_without_what_is_committed(release: str) -> None:
    last = missed_change(release).states[-1]
    assert not quorum_leader_complete(last)
    assert [node.role for node in last.nodes] == [LEADER, LEADER, UNATTACHED]
    right = missed_change(release, truncates=False)
    (asks,) = (each for each in right.spec.instances if str(each) == "ask_vote(own=1, other=2)")
    assert not right.states[-1].nodes[1].missed
    assert not right.spec.take(asks, right.states[-1])


LED = {
    "start": 0,
    "snapshot": 0,
    "oldest": 0,
    "halted": "",
    "role": "Leader",
    "epoch": 1,
    "leader": 0,
    "announced": -1,
    "high_watermark": 0,
    "told": False,
    "file": '{"leaderId": 0, "leaderEpoch": 1, "votedId": -1}',
    "log": [{"offset": 0, "epoch": 1, "leader": 0}],
    "sent": {},
}
IDLE = LED | {"role": "Unattached", "epoch": 0, "leader": -1, "file": "", "log": []}
VOTED = LED | {"role": "Voted", "leader": -1, "log": [], "file": '{"leaderId": -1, "leaderEpoch": 1, "votedId": 0}'}


def test_what_is_seen_is_compared_with_the_model() -> None:
    model = observed_state(behaviour("quorum/3.8", ELECTION).states[-1])
    assert differences(model, observed_in({0: LED, 1: VOTED, 2: IDLE}, 3)) == []
    (told,) = differences(model, observed_in({0: LED | {"told": True}, 1: VOTED, 2: IDLE}, 3))
    assert told.startswith(
        "node 0: leader, epoch 1, leader 0, file 1 leader 0 vote -, log L0@1, HW 0, announced 0, its"
    )
    (forgot,) = differences(model, observed_in({0: LED, 1: VOTED | {"file": ""}, 2: IDLE}, 3))
    assert "file 0 leader - vote -" in forgot
    (ended,) = differences(model, observed_in({0: LED, 1: VOTED}, 3))
    assert ended.startswith("node 2: dead; in the model: unattached")
    (stopped,) = differences(model, observed_in({0: LED, 1: VOTED | {"halted": "IllegalStateException"}, 2: IDLE}, 3))
    assert stopped.startswith("node 1: halted: IllegalStateException; in the model")


def test_what_nodes_take_for_the_voters_is_compared_with_kraft_version_1() -> None:
    model = observed_state(behaviour("quorum/3.9", (), dynamic=True).states[0])
    seen = IDLE | {"voters": [2, 0, 1]}
    assert differences(model, observed_in(dict.fromkeys(range(3), seen), 3)) == []
    (differs,) = differences(model, observed_in({0: seen, 1: seen | {"voters": [1, 2]}, 2: seen}, 3))
    assert differs.startswith("node 1: unattached")
    assert "voters 1 2;" in differs
    static = observed_state(behaviour("quorum/3.9", ()).states[0])
    assert differences(static, observed_in(dict.fromkeys(range(3), seen | {"voters": [1]}), 3)) == []


LEFT_OUT = {
    "missed change of voters": "leader 0 appends a record",
    "unknown leader": "node 1 restarts",
    "resigned stranger": "node 2 restarts",
    "former candidate": "node 1 restarts",
    "older snapshot": "node 0 takes a snapshot",
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_no_release_has_fixed_is_replayed_with_and_without_the_event_that_decides(name: str) -> None:
    archive = read_archive()
    bug = bug_of(archive, name)
    affected = affected_release(bug, None)
    schedules = schedules_of(archive, bug, affected, fixed_release(bug, affected, None), counterexample)
    assert (schedules.control, schedules.left_out) == (affected, LEFT_OUT[name])
    both = [schedules.plan.trace, schedules.control_plan.trace]
    assert [complaint_at_end(each.spec, each.spec.checks[0], each.states) is None for each in both] == [False, True]


def test_what_a_controller_is_told_is_not_compared_while_its_leader_resigns() -> None:
    """The controller hears of it when its node leaves the role."""
    state = behaviour("quorum/4.0", ()).states[0]
    node = Node(role=LEADER, epoch=1, leader=0, log=(Record(1, 0),), high_watermark=1)
    assert observed_state(state.with_node(0, node)).nodes[0].told is True
    assert observed_state(state.with_node(0, attrs.evolve(node, role=RESIGNED))).nodes[0].told is None
    assert observed_state(state.with_node(0, attrs.evolve(node, role=RESIGNED, restarted=True))).nodes[0].told is False


def started(folder: Path, monkeypatch: pytest.MonkeyPatch, java: int) -> str:
    """The error of nodes that are started with a Java that is not real."""
    release = broker_release("3.8.1")
    monkeypatch.setattr("leadline.brokers.java.find_spec", lambda name: None)
    for name, value in install(folder, release, java).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", "/nothing")
    with pytest.raises(BrokerError) as error:
        Controllers(release, folder / "nodes")
    return str(error.value)


def test_a_java_that_is_too_old_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert started(tmp_path, monkeypatch, 11).startswith("Kafka 3.8.1 needs Java 17 to 25, but JAVA_HOME=")


def test_a_java_that_ends_is_an_error_of_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = started(tmp_path, monkeypatch, 17)
    assert said.startswith("the Java process with nodes of Kafka 3.8.1 has ended: ")
    assert "\n" not in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--release", "4.3.1", "--quorum"], "--quorum requires --walks"),
        (
            ["--release", "4.3.1", "--quorum", "--walks", "1", "--chaos", "1"],
            "--chaos cannot be combined with --quorum",
        ),
        (["--quorum"], "--walks, --quorum, --chaos, --minutes and --keep require --release"),
    ],
)
def test_options_of_walks_that_do_not_fit_are_refused(options: list[str], said: str, tmp_path: Path) -> None:
    run = call("conform", *options, folder=tmp_path)
    assert (run.code, said in run.err) == (2, True)
