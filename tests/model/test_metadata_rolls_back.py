"""What a partition loses if the newest committed records of the metadata log are lost, by what the records say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import pytest

from leadline.checker import Result, Spec, SpecError
from leadline.checker.engines import ENGINES
from leadline.model.control.metadata_log import committed
from leadline.model.control.rollback import metadata_rolls_back
from leadline.model.control.state import ANSWERED, APPLIED, Cluster, Image
from leadline.reports.loading import load_spec
from tests.model.replaced_actions import with_actions

PROMISES = ["committed_never_lost", "acked_never_lost", "log_matching", "one_leader_per_epoch", "led_at_rest"]


def shrinks(old: Image, new: Image) -> bool:
    return old.partition.leader == new.partition.leader and new.partition.isr < old.partition.isr


def grows(old: Image, new: Image) -> bool:
    return new.partition.isr > old.partition.isr


def elects(old: Image, new: Image) -> bool:
    return new.partition.epoch > old.partition.epoch and new.partition.leader != old.partition.leader


def registers(old: Image, new: Image) -> bool:
    return any(after > before for before, after in zip(old.births, new.births, strict=True))


def takes_out_of_elr(old: Image, new: Image) -> bool:
    return not old.partition.elr <= new.partition.elr


def losing(name: str, bounds: Mapping[str, Any], kind: Callable[[Image, Image], bool]) -> Spec[Any]:
    """A spec in which the metadata log loses its newest records only if one of them is of the given kind."""

    def function(state: Cluster, records: int) -> Iterator[Cluster]:
        if any(kind(*pair) for pair in pairwise((*state.registry.undoable[-records:], committed(state)))):
            yield from metadata_rolls_back(state, records)

    spec: Spec[Any] = load_spec(name).with_bounds({"metadata_rolls_back": 1, **bounds})
    return with_actions(spec, {metadata_rolls_back: function})


def lengths(spec: Spec[Any], *properties: str) -> dict[str, int]:
    """The lengths of the traces of the violated properties. Records must have been lost, and all is searched without a
    violation.
    """
    result: Result = ENGINES["compiled"](spec.with_properties(list(properties)))
    found = {item.property.name: len(item.traces[0]) for item in result.properties if item.traces}
    assert found or result.exhausted
    assert result.statistics.actions["metadata_rolls_back"].generated
    return found


SHRINK = {"crashes": 0, "isr_shrinks": 1}
ELECTION = {"crashes": 0, "session_expiries": 1, "records": 2}
LATER_SHRINK = {"crashes": 0, "isr_shrinks": 2, "records": 2}
RESTART = {"records": 0, "metadata_rolls_back": 2}
LOSSY_RESTART = {"crashes": 0, "lossy_crashes": 1, "isr_shrinks": 1, "min_insync_replicas": 2}

Row = tuple[str, Mapping[str, Any], Callable[[Image, Image], bool], list[str], dict[str, int]]

ROWS: dict[str, Row] = {
    "a smaller ISR: a clean election of a broker without the records": (
        *("control/4.1", SHRINK, shrinks),
        ["committed_never_lost"],
        {"committed_never_lost": 13},
    ),
    "a smaller ISR, which begins a leader epoch": (
        *("control/3.3", SHRINK, shrinks),
        ["committed_never_lost"],
        {"committed_never_lost": 20},
    ),
    "a larger ISR: nothing": ("control/3.9", SHRINK | {"crashes": 1}, grows, PROMISES, {}),
    "an election: two records at one offset in one leader epoch": (
        *("control/4.1", ELECTION, elects),
        ["log_matching"],
        {"log_matching": 18},
    ),
    "an election, if a smaller ISR begins a leader epoch": (
        *("control/3.3", ELECTION, elects),
        ["log_matching"],
        {"log_matching": 13},
    ),
    "any ISR that the leader knows from the answer: its requests are refused": (
        *("control/4.1", SHRINK, shrinks),
        ["isr_writable_at_rest"],
        {"isr_writable_at_rest": 11},
    ),
    "the same of a larger ISR": (
        *("control/4.3", LATER_SHRINK, grows),
        ["isr_writable_at_rest"],
        {"isr_writable_at_rest": 20},
    ),
    "a registration: a broker that runs is fenced for ever": (
        *("control/3.9", RESTART, registers),
        ["led_at_rest"],
        {"led_at_rest": 21},
    ),
    "a registration that takes the broker out of the ISR": ("control/4.1", RESTART, registers, ["led_at_rest"], {}),
    "a registration after an unclean restart, with an ELR: a broker leads that has lost the end of its log": (
        *("control/4.1", LOSSY_RESTART, takes_out_of_elr),
        ["acked_never_lost"],
        {"acked_never_lost": 21},
    ),
}


@pytest.mark.parametrize("row", ROWS)
def test_which_lost_record_loses_which_promise(row: str) -> None:
    name, bounds, kind, properties, known = ROWS[row]
    assert lengths(losing(name, bounds, kind), *properties) == known


def states(name: str, bounds: Mapping[str, Any], *steps: str) -> Iterator[Cluster]:
    """The states after the given steps. The number after a ``#`` chooses among the states to which a step leads."""
    spec: Spec[Any] = load_spec(name).with_bounds(bounds)
    instances = {str(instance): instance for instance in spec.instances}
    (state,) = spec.initials()
    for step in steps:
        instance, _, number = step.partition("#")
        state = list(instances[instance].successors(state))[int(number or 0)]
        yield state


def test_two_brokers_lead_in_the_epoch_of_a_lost_election() -> None:
    bounds = {"brokers": 3, "records": 0, "session_expiries": 1, "metadata_rolls_back": 1}
    *_, elected, halted = states(
        *("control/4.3", bounds, "broker_session_expires(broker=0)", "broker_dies(broker=0)", "commit(record=0)"),
        *("apply_record(broker=1)", "controller_session_expires(controller=0)", "metadata_rolls_back(records=1)"),
        *("become_controller(controller=1)", "fence(broker=0)#1", "commit(record=0)", "apply_record(broker=2)"),
        "halt(broker=1)",
    )
    assert [(broker, replica.epoch) for broker, replica in elected.believed_leaders()] == [(1, 1), (2, 1)]
    assert [heard.ahead for heard in elected.heard] == ["", APPLIED, ""]
    assert [replica.up for replica in halted.replicas] == [False, False, True]


def test_a_broker_notices_nothing_of_records_that_it_has_not_applied() -> None:
    bounds = {"metadata_rolls_back": 1, "session_expiries": 1}
    steps = ("broker_session_expires(broker=1)", "commit(record=0)", "controller_dies(controller=0)")
    before, *_, last = states("control/4.3", bounds, *steps)
    assert last.queue(0, 0)
    assert last.registry.undoable
    *_, after = states("control/4.3", bounds, *steps, "metadata_rolls_back(records=1)")
    assert (after.quorum, after.registry.registered) == (before.quorum, (True, True))
    assert (after.queues, after.registry.undoable) == (before.queues, ())
    assert [heard.ahead for heard in after.heard] == ["", ""]


def test_an_answer_to_a_lost_record_arrives_or_not() -> None:
    bounds = {"metadata_rolls_back": 1, "isr_shrinks": 1}
    asks = ("produce(leader=0)", "shrink_isr(leader=0, member=1)", "handle_alter_partition(controller=0, leader=0)")
    steps = (*asks, "commit(record=0)", "controller_dies(controller=0)")
    *_, again = states("control/4.3", bounds, *steps, "metadata_rolls_back(records=1)#0")
    *_, knows = states("control/4.3", bounds, *steps, "metadata_rolls_back(records=1)#1")
    assert again.replicas[0].proposal is not None
    assert again.replicas[0].proposal.sent
    assert (knows.heard[0].ahead, knows.replicas[0].isr, knows.quorum.isr) == (
        ANSWERED,
        frozenset({0}),
        frozenset({0, 1}),
    )


def test_records_are_lost_once_and_no_more_than_the_bound_says() -> None:
    bounds = {"metadata_rolls_back": 1, "session_expiries": 2, "failovers": 2}
    steps = ("broker_session_expires(broker=1)", "commit(record=0)", "broker_session_expires(broker=0)")
    *_, two = states("control/4.3", bounds, *steps, "commit(record=0)")
    assert len(two.registry.undoable) == 1
    *_, last = states(
        *("control/4.3", bounds, *steps[:2], "controller_dies(controller=0)", "metadata_rolls_back(records=1)"),
        *("become_controller(controller=0)", "broker_session_expires(broker=1)", "commit(record=0)"),
    )
    assert last.registry.undoable == ()


def test_zookeeper_has_no_metadata_log() -> None:
    spec = load_spec("control/2.8").with_bounds({"metadata_rolls_back": 1})
    with pytest.raises(SpecError, match="no metadata log"):
        spec.initials()
