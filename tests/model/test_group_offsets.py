"""Positions and committed offsets of groups: what is acknowledged is kept, nothing is skipped, and what is read twice.

The figures are from our own runs.
"""

from __future__ import annotations

import pytest

from leadline.checker import Limits, Verdict
from leadline.checker.engines import ENGINES
from leadline.model.group.bounds import Bounds
from leadline.model.group.offsets import NO_OFFSET, Offsets, first_offsets
from leadline.reports.loading import load_spec
from tests.model.test_groups import only, violated

KEPT, SKIPPED = "acknowledged_offsets_kept", "no_record_skipped"


def offsets(perturbations: int = 1, **bounds: int) -> dict[str, int]:
    """Bounds with one partition and records, in which only the given perturbations happen."""
    return only(records=1, partitions=1) | {"perturbations": perturbations} | bounds


@pytest.mark.parametrize(
    ("release", "bounds", "found"),
    [
        ("2.0.1", offsets(expiries=1), {KEPT: 8}),
        ("2.1.0", offsets(expiries=1), {}),
        ("2.1.0", offsets(2, expiries=1, leaves=1), {}),
        ("3.9.2", offsets(lost_commits=1), {}),
        ("4.2.1", offsets(lost_commits=1), {KEPT: 8}),
        ("4.2.2", offsets(lost_commits=1), {}),
        ("4.3.0", offsets(lost_commits=1), {KEPT: 8}),
        ("4.4.0", offsets(lost_commits=1), {}),
        ("3.7.0-consumer", offsets(lost_commits=1), {KEPT: 7}),
        ("4.3.0-consumer", offsets(lost_commits=1), {KEPT: 7}),
        ("4.3.1-consumer", offsets(lost_commits=1), {}),
        ("4.4.0-consumer", offsets(2, expiries=1, leaves=1), {}),
    ],
)
def test_what_was_acknowledged_is_kept_or_not(release: str, bounds: dict[str, int], found: dict[str, int]) -> None:
    """KAFKA-4682 and KIP-211: a group in use. KAFKA-20634: a commit that was not replicated."""
    assert violated(f"group/{release}", bounds, [KEPT])[0] == found


@pytest.mark.parametrize(("release", "is_found"), [("2.0.1", True), ("2.1.0", False)])
def test_where_offsets_of_a_group_in_use_expire_its_next_consumer_skips_records(release: str, is_found: bool) -> None:
    bounds = offsets(2, expiries=1, crashes=1, records=2) | {"reset_to_latest": True}
    assert bool(violated(f"group/{release}", bounds, [SKIPPED])[0]) is is_found


@pytest.mark.parametrize("release", ["3.4.1", "4.4.0-consumer"])
def test_a_group_goes_on_where_it_has_committed_also_when_it_was_empty(release: str) -> None:
    spec = load_spec(f"group/{release}").with_bounds(offsets(clients=1, leaves=1))
    names = [KEPT, SKIPPED, "group_stable"]
    result = ENGINES["oracle"](spec.with_properties(names), Limits(keep_going=True))
    assert {item.property.name: item.verdict for item in result.properties} == dict.fromkeys(names, Verdict.HOLDS)
    two = load_spec(f"group/{release}").with_bounds(offsets(leaves=1)).with_properties(["goes_on_at_committed"])
    assert ENGINES["oracle"](two).verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("release", "crashes", "found"),
    [("3.4.1", 0, {"read_once": 14}), ("3.4.1", 1, {"read_once": 13}), ("4.4.0-consumer", 1, {"read_once": 12})],
)
def test_a_record_is_read_twice_by_design(release: str, crashes: int, found: dict[str, int]) -> None:
    """Without any failure, too: if it is not committed before a rebalance gives its partition away."""
    assert violated(f"group/{release}", offsets(crashes, crashes=crashes), ["read_once"])[0] == found


@pytest.mark.parametrize("release", ["2.0.1", "4.2.0-consumer"])
def test_the_engines_agree(release: str) -> None:
    found = []
    for engine in ("oracle", "compiled"):
        spec = load_spec(f"group/{release}").with_bounds(offsets(2, expiries=1, crashes=1))
        result = ENGINES[engine](spec.with_properties([KEPT, SKIPPED]), Limits(keep_going=True))
        counts = result.statistics
        verdicts = [(item.property.name, item.verdict, len(item.traces)) for item in result.properties]
        found.append((verdicts, counts.distinct, counts.generated, counts.depth))
    assert found[0] == found[1]


def test_offsets_begin_where_they_are_committed_or_reset() -> None:
    bounds = Bounds(partitions=2, records=2)
    nothing = first_offsets(bounds)
    written = nothing.writing(0).writing(0)
    assert [written.first_position(0, each) for each in (bounds, Bounds(records=2, reset_to_latest=True))] == [0, 2]
    known = written.committing((1, NO_OFFSET))
    assert (known.committed, known.acknowledged) == ((1, NO_OFFSET), (1, NO_OFFSET))
    assert known.first_position(0, bounds) == 1
    assert known.committing((2, NO_OFFSET), stored=False).committed == (1, NO_OFFSET)
    assert known.committing((2, NO_OFFSET), answered=False).acknowledged == (1, NO_OFFSET)
    assert known.expired(in_use=True).acknowledged == (1, NO_OFFSET)
    assert known.expired(in_use=False) == written
    assert first_offsets(Bounds()) == Offsets()
