"""What clients may rely on: which specs keep it, and that a spec that does not is found."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from leadline.checker import Limits, SpecError, Verdict, explore, refines
from leadline.checker.engines import oracle
from leadline.checker.result import Result
from leadline.checker.spec import Spec
from leadline.checker.state import variables
from leadline.invariants.catalog import CATALOG, find
from leadline.invariants.families.clients import LARGEST, LOG
from leadline.model.atomic.replica import Replica
from leadline.model.clients import Clients
from leadline.model.quorum import Request
from leadline.reports.hunt import cures
from leadline.reports.traces.story import story_of

KAFKA_13141 = {"max_epoch": 2, "crashes": 1, "isr_shrinks": 0}


def searched(name: str, bounds: dict[str, int | str]) -> Result:
    spec = find(name)
    assert spec is not None
    return explore(spec.with_bounds(bounds))


@pytest.mark.parametrize(
    ("name", "bounds", "states"),
    [
        ("clients/atomic/kip-320", {}, 961),
        ("clients/atomic/kip-320", {"max_epoch": 2, "records": 1, "log_size": 1}, None),
        ("clients/kafka/2.8.1", KAFKA_13141, 4_055),
        ("clients/rpc/kip-320", {"records": 1}, None),
    ],
)
def test_clients_may_rely_on(name: str, bounds: dict[str, int | str], states: int | None) -> None:
    result = searched(name, bounds)
    assert result.verdict is Verdict.HOLDS
    assert states in (result.statistics.distinct, None)


@pytest.mark.parametrize(
    ("name", "bounds", "length"),
    [
        ("clients/atomic/hw-truncation", {"max_epoch": 2}, 11),
        ("clients/rpc/hw-truncation", {}, 10),
        ("clients/kafka/0.10.2", {}, None),
        ("clients/kafka/2.8", KAFKA_13141, 11),
        ("clients/kafka/2.8.1", {**KAFKA_13141, "acks": "1"}, None),
    ],
)
def test_clients_may_not_rely_on(name: str, bounds: dict[str, int | str], length: int | None) -> None:
    found = searched(name, bounds).of("refines_clients_log")
    assert found.verdict is Verdict.VIOLATED
    (trace,) = found.traces
    assert length in (len(trace), None)
    last = story_of(trace).frames[-1].along
    assert last["clients/log"] == "no step leads here"
    assert all("no step leads here" not in frame.along.values() for frame in story_of(trace).frames[:-1])
    told = {*trace_of(trace, -2).acknowledged, *trace_of(trace, -2).read}
    assert not told <= {*enumerate(trace_of(trace, -1).log)}


def trace_of(trace: Any, place: int) -> Clients:
    """The abstract state beside a state of a trace."""
    beside = trace.about.beside(trace.states[place], None)
    names = [field.name for field in attrs.fields(Clients)]
    return Clients(**{name: beside[f"clients/log.{name}"] for name in names})


def test_the_abstract_spec_keeps_what_it_promises_and_promises_no_more() -> None:
    result = oracle.explore(LOG.with_bounds({"records": 2}))
    assert (result.verdict, result.statistics.distinct) == (Verdict.HOLDS, 39)
    told = Clients(2, (1, 0), frozenset({(0, 1)}), frozenset())
    (truncate,) = [each for each in LARGEST.instances if each.action.name == "truncate"]
    after = {each.log for each in truncate.successors(told)}
    assert after == {(1,)}  # the record without an answer may go, and the other one may not


def test_the_states_of_other_specs_stay_the_same_without_the_history() -> None:
    plain, remembering = CATALOG["atomic/kip-320"], CATALOG["clients/atomic/kip-320"]
    states = {values_of(each) for each in reached(plain)}
    assert len(states) > 200
    assert {values_of(each) for each in reached(remembering)} == states


def values_of(state: Any) -> tuple[Any, ...]:
    return tuple(getattr(state, field.name) for field in variables(state) if field.name != "told")


def reached(spec: Spec[Any]) -> list[Any]:
    small = spec.with_bounds({"records": 1, "log_size": 1})
    found = dict.fromkeys(small.initials())
    for state in (waiting := list(found)):
        for _, after in small.successors(state):
            if after not in found:
                found[after] = None
                waiting.append(after)
    return waiting


def test_requests_are_no_refinement_of_brokers_that_read_logs_at_once() -> None:
    """Not even without failures: the high watermark reaches a follower by itself."""
    atomic, rpc = (CATALOG[f"{family}/kip-320"] for family in ("atomic", "rpc"))
    atomic = atomic.with_bounds({"records": 9, "log_size": 9, "max_epoch": 0})
    rpc = rpc.with_bounds({"records": 1, "max_epoch": 0, "crashes": 0, "isr_shrinks": 0})
    (first,) = atomic.initials()

    def of_rpc(state: Any) -> Any:
        quorum, isr = state.quorum, state.replicas[0].isr
        return attrs.evolve(
            first,
            next_value=state.next_value,
            quorum=quorum,
            requests=(frozenset({Request(quorum.leader, quorum.isr)}), frozenset()),
            replicas=tuple(Replica(each.log, each.high_watermark, 0, 0, isr) for each in state.replicas),
        )

    begun = attrs.evolve(atomic, initial_states=lambda _: [of_rpc(rpc.initials()[0])])
    found = explore(attrs.evolve(rpc, properties=refines(begun, of_rpc, name="refines")), Limits(keep_going=True))
    (trace,) = found.of("refines").traces
    assert [replica.high_watermark for replica in trace.states[-2].replicas] == [1, 0]
    assert [replica.high_watermark for replica in trace.states[-1].replicas] == [1, 1]
    assert trace.states[-1].replicas[1].log == trace.states[-2].replicas[1].log
    assert found.of("refines_replicate").verdict is Verdict.HOLDS


def test_deletions_are_refused() -> None:
    with pytest.raises(SpecError, match="leave the bounds deletes and retentions at 0"):
        searched("clients/kafka/2.8", {"deletes": 1})


def test_a_spec_of_another_family_has_no_such_name() -> None:
    assert find("clients/txn/kip-98") is None
    assert find("clients/kafka/9.9") is None
    with pytest.raises(SpecError, match="unknown rule 'x'"):
        find("clients/kafka/2.8+x=y")


@pytest.mark.parametrize("name", ["clients/log", "clients/atomic/hw-truncation", "clients/kafka/2.8"])
def test_every_kind_of_spec_can_be_hunted_in(name: str) -> None:
    spec = find(name)
    assert spec is not None
    assert {type(each) for each in spec.family.like(spec.column)} <= {type(spec.column)}
    assert all(cure.rules for cure in cures._of_table(spec))
