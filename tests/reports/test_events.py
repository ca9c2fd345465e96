"""What happened: the turning points of traces, by a spec's drawing or by what actions read and wrote."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from leadline.checker import Spec, Trace, action, component, invariant
from leadline.checker.drawing import Drawing, Event, Row
from leadline.checker.engines import ENGINES
from leadline.checker.engines.learning.causal_slice import Cause, causes
from leadline.checker.engines.oracle import explore
from leadline.checker.traces.replay import executed
from leadline.invariants.catalog import CATALOG
from leadline.model.kafka.mistakes import the_leader_alone
from leadline.model.kafka.releases import column_of
from leadline.reports.differences import differing_rules
from leadline.reports.kafka.bugs import read_archive
from leadline.reports.kafka.kept_behaviours import kept, kept_steps
from leadline.reports.traces.story import what_happened
from tests.model.kafka_mutants import of_release
from tests.specs.refusals import refused


def found(name: str, item: str, **bounds: Any) -> Trace[Any]:
    """The shortest counterexample of a shipped spec."""
    spec = CATALOG[name].with_bounds(bounds).with_properties([item])
    return ENGINES["compiled"](spec).properties[0].traces[0]


def told(trace: Trace[Any]) -> list[tuple[int, str]]:
    """The steps that are explained, as views number them, each with its label."""
    return [(event.state + 1, event.label) for event in what_happened(trace)]


def test_a_lost_record_is_followed_from_its_commit_to_the_violation() -> None:
    trace = found("rpc/hw-truncation", "committed_never_lost")
    assert told(trace) == [(5, "committed"), (6, "HW lost"), (8, "lost"), (11, "elected"), (12, "violated")]
    _, missed, lost, elected, seen = (event.text for event in what_happened(trace))
    assert elected == "the controller elects broker 1, the only member of the ISR; broker 0 has m0, but is down"
    assert missed == "broker 1 crashes, and the response that carried high watermark 1 is lost: broker 1's own stays 0"
    assert "truncates to its own high watermark, 0" in lost
    assert "rule truncation=high-watermark" in lost
    assert "loses m0, committed in step 5" in lost
    assert seen == trace.complaint


@pytest.mark.parametrize(
    ("name", "item", "bounds", "steps"),
    [
        # never replicated: nobody truncates it
        ("rpc/kip-101", "acked_never_lost", {}, [(2, "acknowledged"), (5, ""), (6, "lost"), (6, "violated")]),
        # KIP-279's fast leader changes: the logs differ and the answer does not show it
        (
            "rpc/kip-101",
            "logs_prefix_consistent",
            {"max_epoch": 2},
            [(2, "written"), (9, "written"), (12, "kept"), (14, "violated")],
        ),
        # the articles' loss: a believed leader's own ISR lacks the record
        ("atomic/hw-truncation", "weak_isr", {}, [(8, "committed"), (9, "lost"), (9, "violated")]),
        # a crash takes what was not flushed
        (
            "rpc/hw-truncation",
            "logs_prefix_consistent",
            {"lossy_crashes": 1},
            [(3, "committed"), (6, "lost"), (8, "elected"), (10, "overwritten"), (11, "kept"), (11, "violated")],
        ),
        # KAFKA-7128: a follower joins the ISR by a high watermark that is behind
        (
            "atomic/kip-279",
            "strong_isr",
            {"brokers": 3, "log_size": 1, "records": 1},
            [(7, "not awaited"), (8, "elected"), (10, "committed"), (12, "joined"), (12, "violated")],
        ),
        # the last replica standing: another broker has the record, but may not be elected
        (
            "kafka/4.0",
            "durable_as_promised",
            {"acks": "all", "min_insync_replicas": 2, "max_epoch": 2, "crashes": 0, "lossy_crashes": 1},
            [(6, "committed"), (7, "left"), (8, "lost"), (10, "elected"), (11, "violated")],
        ),
        ("atomic/kip-101", "strong_isr", {"max_epoch": 2}, [(9, "committed"), (12, "lost"), (12, "violated")]),
    ],
)
def test_each_kind_of_loss_and_divergence_has_its_turning_points(
    name: str, item: str, bounds: dict[str, Any], steps: list[tuple[int, str]]
) -> None:
    assert told(found(name, item, **bounds)) == steps


# Without a word from the spec


@attrs.frozen
class Lamp:
    on: bool = False


@attrs.frozen
class Room:
    presses: int
    lamps: tuple[Lamp, ...] = component(each="lamp")


@action("lamp {lamp} is switched on", lamp=range(3))
def switch(state: Room, lamp: int) -> Iterator[Room]:
    if not state.lamps[lamp].on and (lamp == 0 or state.lamps[lamp - 1].on):
        lamps = (*state.lamps[:lamp], Lamp(on=True), *state.lamps[lamp + 1 :])
        yield attrs.evolve(state, lamps=lamps)


@invariant("lamp 1 is off")
def second_is_off(state: Room) -> bool:
    return not state.lamps[1].on


def room(**changes: Any) -> Spec[Room]:
    parts: dict[str, Any] = {
        "name": "room",
        "initial_states": lambda _: [Room(0, (Lamp(), Lamp(), Lamp()))],
        "actions": [switch],
        "properties": [second_is_off],
    }
    return Spec(**parts | changes)


STEPS_OF_13141 = [
    *("produce(leader=0)", "shrink_isr(leader=0, member=1)", "handle_alter_partition(leader=0)", "crash(broker=0)"),
    *("controller_notices_failure(broker=0)", "restart(broker=0)", "become_follower(broker=0, epoch=1)"),
    *("become_leader(broker=2, epoch=1)", "handle_fetch(leader=2, follower=0)", "handle_alter_partition(leader=2)"),
    *("hear_isr(leader=2)", "produce(leader=2)", "controller_elects(broker=0)", "become_leader(broker=0, epoch=2)"),
]
"""A shortest loss with three brokers: the follower is counted, and joins the ISR, before the record is written."""


def test_with_three_brokers_the_fetch_that_was_counted_and_the_join_are_told() -> None:
    spec = CATALOG["kafka/2.8"].with_bounds({"acks": "all", "min_insync_replicas": 2, "brokers": 3})
    trace = executed(spec.with_properties(["committed_never_lost"]), STEPS_OF_13141)
    assert trace is not None
    causes = {event.state + 1: event.text for event in what_happened(trace) if event.label in ("counted", "joined")}
    assert causes == {
        10: "broker 2 assumes that broker 0's log end offset is 1, and later takes m1 to be there",
        11: "broker 0 joins the ISR",
    }


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("forgotten proposal", ["", "not awaited", "committed", "joined", "", "lost", "violated"]),
        ("outdated log end", ["", "", "counted", "committed", "not awaited", "", "lost", "violated"]),
        ("eligible without a replica", ["eligible", "not awaited", "committed", "", "lost", "violated"]),
        ("directory removed", ["committed", "eligible", "lost", "elected", "violated"]),
        ("directory assigned", ["committed", "eligible", "lost", "left", "elected", "violated"]),
        ("setting applied late", ["eligible", "committed", "not awaited", "", "lost", "violated"]),
        ("replicas of the first partition", ["committed", "lost", "eligible", "elected", "violated"]),
    ],
)
def test_the_story_of_a_loss_without_a_ticket_has_its_cause(name: str, labels: list[str]) -> None:
    archive = read_archive()
    bug = archive.about(name)[0][0]
    traces = [kept(run) for run in archive.runs(bug) if run.part == "affected"]
    trace = [trace for trace in traces if trace is not None][-1]
    assert [event.label for event in what_happened(trace)] == labels


def test_a_member_of_the_isr_that_a_leader_did_not_wait_for_is_told_also_if_it_joined_before_the_commit() -> None:
    """Up to 3.5, the leader may forget the proposal only after the controller has accepted it."""
    archive = read_archive()
    run = next(run for run in archive.runs(archive.about("forgotten proposal")[0][0]) if run.spec.name == "kafka/3.5")
    ((*before, apply_record, accept, elect, lead),) = kept_steps(run.bug.ticket, run.spec.name)
    trace = executed(run.spec, [*before, accept, apply_record, elect, lead])
    assert trace is not None
    told = {event.label: event.state for event in what_happened(trace) if event.label}
    assert told["joined"] < told["committed"] == told["not awaited"] < told["lost"]
    (join,) = (event for event in what_happened(trace) if event.label == "joined")
    assert trace.instances[join.state - 1].action.name == "handle_alter_partition"
    assert join.text == "broker 0 joins the ISR without m0"


def test_a_step_tells_the_values_of_a_tuple_and_no_counter_of_the_bounds() -> None:
    archive = read_archive()
    runs = [run for run in archive.runs(archive.about("override")[0][0]) if run.part == "affected"]
    trace = [trace for trace in map(kept, runs) if trace is not None][-1]
    told = [event.text for event in what_happened(trace)]
    assert told[0].startswith("an operator reassigns the partition to brokers 0, 2: sets assignment.replicas, ")
    assert not any("spent." in text for text in told)


def test_the_causes_are_the_steps_that_wrote_what_was_read_later() -> None:
    (trace,) = explore(room()).properties[0].traces
    assert causes(trace) == [
        Cause(1, ("lamps[0].on",), readers=(2,), read_by_property=False),
        Cause(2, ("lamps[1].on",), readers=(), read_by_property=True),
    ]
    assert [event.text for event in what_happened(trace)] == [
        "lamp 0 is switched on: sets lamps[0].on, read by step 3",
        "lamp 1 is switched on: sets lamps[1].on, read by the property",
        "lamp 1 is off",
    ]


@action("a lamp is looked at")
def look(state: Room) -> Iterator[Room]:
    yield attrs.evolve(state, presses=state.presses + 1)


def test_a_step_that_nothing_depends_on_is_no_cause() -> None:
    spec = room(actions=[look, switch])
    states = [*spec.initials()]
    instances = [spec.instances[0], *spec.instances[1:3]]
    for instance in instances:
        states += spec.take(instance, states[-1])
    assert [each.state for each in causes(Trace(spec, states, instances, second_is_off))] == [2, 3]


def test_a_spec_may_say_itself_what_happened() -> None:
    drawing: Drawing[Any] = Drawing(
        rows=lambda state: {"room": Row()},
        events=lambda steps: [Event(len(steps), "it is bright"), Event(1, "a hand is at lamp 0", "begun", good=True)],
    )
    (trace,) = explore(room(drawing=drawing)).properties[0].traces
    assert told(trace) == [(2, "begun"), (3, ""), (3, "violated")]


@pytest.mark.parametrize(
    ("events", "complaint"),
    [
        (lambda steps: ["bright"], "the drawing's events must be Event objects, not 'bright'"),
        (lambda steps: [Event(9, "late")], "the drawing's events refer to state 9, but the behaviour ends at state 2"),
        (lambda steps: 1 // 0, "the drawing's events raised ZeroDivisionError"),
    ],
)
def test_events_that_make_no_sense_are_refused(events: Any, complaint: str) -> None:
    spec = room(drawing=Drawing(rows=lambda state: {}, events=events))
    (trace,) = explore(room()).properties[0].traces
    with refused(complaint):
        spec.events(tuple(trace.steps))


# Rules


def test_the_rules_in_which_two_protocols_differ_are_named() -> None:
    rules = differing_rules(CATALOG["atomic/kip-101"], CATALOG["atomic/kip-279"])
    question, *answers = rules
    assert question.startswith("rule truncates_to: end_of_own_last_epoch → end_of_agreement (to which offset ")
    assert [answer.split()[0] for answer in answers] == ["end_of_own_last_epoch:", "end_of_agreement:"]
    assert differing_rules(CATALOG["atomic/kip-101"], CATALOG["atomic/kip-101"]) == []
    assert differing_rules(CATALOG["atomic/kip-101"], CATALOG["rpc/kip-101"]) == []


@pytest.mark.parametrize(
    ("before", "after"), [("2.0.0", "2.0.1"), ("2.7", "2.8"), ("3.1", "3.2-kraft"), ("3.4.1", "3.5"), ("4.0", "4.1")]
)
def test_a_release_differs_in_the_rules_that_changed_in_it(before: str, after: str) -> None:
    lines = differing_rules(CATALOG[f"kafka/{before}"], CATALOG[f"kafka/{after}"])
    column = column_of(f"kafka/{after}")
    assert column is not None
    assert {line.split()[1] for line in lines if line.startswith("rule ")} == {f"{rule}:" for rule in column.changed}


def test_a_rule_that_is_in_no_table_and_bounds_that_differ_are_named_too() -> None:
    lines = differing_rules(
        CATALOG["kafka/3.7"].with_bounds({"acks": "1"}), of_release("kafka/3.7", counts=the_leader_alone)
    )
    assert lines == ["rule counts: the maximal isr → the leader alone", "bound acks: 1 → all"]
