"""Well-known protocols have the states that were published, with both engines and in both styles."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from leadline.checker import Verdict
from leadline.checker.engines import oracle, set_order
from leadline.checker.engines.compiled import search
from leadline.checker.result import Limits
from leadline.checker.spec import Spec
from leadline.reports.loading import load_spec
from tests.documents.blocks import text_of
from tests.natural import figures as natural
from tests.public.figures import HERE, OWN, PROTOCOLS, Protocol, Size
from tests.specs import learning
from tests.suite.samples import EVERY

SIZES = [
    pytest.param(protocol, size, id="-".join([protocol.name, *(f"{key}={size.bounds[key]}" for key in size.bounds)]))
    for protocol in PROTOCOLS
    for size in protocol.small
]


def of_size(file: str, size: Size) -> Spec[Any]:
    """The spec in a file, with the bounds of a size."""
    spec = load_spec(file)
    return attrs.evolve(spec, bounds=attrs.evolve(spec.bounds, **size.bounds))


LARGE = 10_000
"""From this many states on, the oracle searches only with ``EVERY=1``: the published counts are compared anyway."""


@pytest.mark.parametrize(("protocol", "size"), SIZES)
def test_states_are_those_published(protocol: Protocol, size: Size) -> None:
    first = of_size(protocol.files()[0], size)
    by_oracle = EVERY or size.states < LARGE
    expected = oracle.explore(first) if by_oracle else learning.explore(first)
    counted = expected.statistics

    assert expected.verdict is Verdict.HOLDS
    assert counted.distinct == size.states
    assert size.depth in (counted.depth, None)
    for file in protocol.files()[not by_oracle :]:
        found = learning.explore(of_size(file, size))
        statistics = found.statistics
        assert (statistics.distinct, statistics.generated, statistics.depth, found.verdict) == (
            counted.distinct,
            counted.generated,
            counted.depth,
            Verdict.HOLDS,
        ), file


ONE_CLIENT = {"clients": 1, "elections": 1}


@pytest.mark.parametrize(("perturbations", "expected"), [(0, Verdict.HOLDS), (1, Verdict.VIOLATED)])
def test_liveness_of_kip_848_is_that_of_tlc(perturbations: int, expected: Verdict) -> None:
    """By a fault of the specification, a group need not converge after a perturbation."""
    spec = load_spec(str(HERE / "kafka_kip_848.py")).with_bounds({"topics": 1, "perturbations": perturbations})
    assert oracle.explore(spec.with_properties(["eventually_converges"])).verdict is expected


def test_no_property_of_kip_848_notices_that_epochs_are_not_compared() -> None:
    """A client has one connection and one request in flight, so that no heartbeat is outdated. Offset commits can be:
    `leadline.invariants.consumer_groups.commit_by_holder` notices the mistake.
    """
    spec = load_spec(str(HERE / "kafka_kip_848.py"))
    bounds = {"topics": 1, "perturbations": 1}
    right, wrong = (oracle.explore(spec.with_bounds(bounds | {"compares_epochs": each})) for each in (True, False))
    assert right.verdict is wrong.verdict is Verdict.HOLDS
    assert wrong.exhausted


@pytest.mark.parametrize(
    ("name", "bounds", "expected"),
    [
        ("kafka_init_pid", {"clients": 1}, Verdict.HOLDS),
        ("kafka_init_pid", {"clients": 2}, Verdict.HOLDS),
        ("kafka_transactions", {**ONE_CLIENT, "elections": 0}, Verdict.HOLDS),
        ("kafka_transactions", ONE_CLIENT, Verdict.HOLDS),
        ("kafka_transactions", {**ONE_CLIENT, "elections": 2}, Verdict.HOLDS),
        ("kafka_transactions", {**ONE_CLIENT, "brokers": 3}, Verdict.VIOLATED),
    ],
)
def test_liveness_of_transactions_is_that_of_tlc(name: str, bounds: dict[str, int], expected: Verdict) -> None:
    """With three brokers, one never hears of the election, and the log's leader waits for it for ever."""
    spec = load_spec(str(HERE / f"{name}.py")).with_bounds(bounds)
    result = oracle.explore(spec.with_properties([item.name for item in spec.optional]))
    assert [item.verdict for item in result.properties] == [expected] * len(spec.optional)


def test_a_client_that_need_not_ask_again_gets_no_producer_id() -> None:
    spec = load_spec(str(HERE / "kafka_init_pid.py")).with_properties(["all_clients_get_pid"])
    result = oracle.explore(attrs.evolve(spec, fairness={"send_init_pid": ""}))
    assert result.verdict is Verdict.VIOLATED


def test_pull_raft_is_violated_by_a_restart_as_in_tlc() -> None:
    """By a fault of the specification, a voter restarts as a follower of nobody, who cannot follow its candidate."""
    spec = load_spec(str(HERE / "kafka_pull_raft.py"))
    found = oracle.explore(spec.with_bounds({"servers": 2, "elections": 1, "restarts": 1}))
    (trace,) = (trace for item in found.properties for trace in item.traces)
    assert (found.verdict, len(trace)) == (Verdict.VIOLATED, 7)


@pytest.mark.parametrize("bounds", [{"servers": 2}, {"elections": 0, "values": 2, "diverged": True}])
def test_no_value_of_pull_raft_is_stuck_as_in_tlc(bounds: dict[str, int]) -> None:
    spec = load_spec(str(HERE / "kafka_pull_raft.py")).with_bounds(bounds)
    assert oracle.explore(spec.with_properties(["values_not_stuck"])).verdict is Verdict.HOLDS


def test_a_search_that_begins_with_many_states_takes_them_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = next(protocol for protocol in PROTOCOLS if protocol.name == "ewd840")
    spec = of_size(protocol.files()[0], Size(7_742, 15, OWN, {"nodes": 5}))

    assert len(list(spec.initials())) == 5_120
    monkeypatch.setattr(search, "SEARCHED_AGAIN", 1_000)
    statistics = learning.explore(spec).statistics
    assert (statistics.distinct, statistics.depth) == (7_742, 15)
    assert statistics.calls < 1_000


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_no_protocol_depends_on_the_order_of_a_set(protocol: Protocol, caplog: pytest.LogCaptureFixture) -> None:
    for file in protocol.files():
        spec = load_spec(file)
        search = functools.partial(oracle.explore, spec, Limits(max_states=10))
        result = set_order.with_order_checked(spec, search)
        assert result.statistics.distinct == 10
    assert caplog.text == ""


def test_the_page_for_people_from_tla_lists_the_published_counts() -> None:
    rows = re.findall(
        r"^\| `(\w+/\w+)` \| ([^|]*?) \| ([\d,]+) \| (\d*) ?\| (\w+) \|",
        text_of("checker/coming-from-tla.md"),
        re.MULTILINE,
    )
    listed = {(name, bounds, int(states.replace(",", "")), depth) for name, bounds, states, depth, _ in rows}
    public = {
        (f"public/{each.name}", text_of_bounds(size.bounds), size.states, f"{size.depth or ''}")
        for each in PROTOCOLS
        for size in (*each.small, *each.large)
        if size.source != OWN
    }
    ports = {
        (f"natural/{size.name}", text_of_bounds(size.bounds), size.states, "")
        for size in (*natural.SMALL, *natural.LARGE)
        if size.published
    }
    assert listed == public | ports
    assert len(rows) == len(listed)
    small = {f"public/{each.name}": {size.states for size in each.small} for each in PROTOCOLS}
    for size in natural.SMALL:
        small.setdefault(f"natural/{size.name}", set()).add(size.states)
    for name, _, states, _, searched_by in rows:
        assert (searched_by == "tests") == (int(states.replace(",", "")) in small.get(name, set()))


def text_of_bounds(bounds: Mapping[str, int]) -> str:
    """Bounds as the page writes them."""
    return ", ".join(f"{name}={value}" for name, value in bounds.items())
