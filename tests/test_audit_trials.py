"""A sample of the trials of `tests/disk_trials.py`, and states of specs that are written as disks."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from checker.properties import Kind
from checker.result import Verdict
from checker.spec import Spec
from invariants.audit.cluster import audit
from invariants.audit.partition import CHECKS
from invariants.audit.result import AuditResult
from invariants.catalog import CATALOG
from reports.suite import SHIPPED, read_suite
from tests.disk_damage import KINDS
from tests.disk_states import write_state
from tests.disk_trials import damaged, is_found, undamaged


@pytest.mark.parametrize("seed", range(len(KINDS)), ids=list(KINDS))
def test_damage_is_found_by_its_name_and_nothing_in_the_undamaged_twin(seed: int) -> None:
    done, result, twin = damaged(seed)
    assert is_found(done, result), [finding.text for finding in result.errors]
    assert (twin.verdict, twin.errors) == (Verdict.HOLDS, ())


@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_found_where_nothing_is_wrong(seed: int) -> None:
    result = undamaged(5000 + seed)
    assert result.errors == ()
    assert result.verdict is (Verdict.INCOMPLETE if seed % 2 else Verdict.HOLDS)
    assert result.batches > 30


# A state of a spec, written as disks: the audit says what the spec says.

ON_DISKS = {check.name for check in CHECKS}
"""Whom disks can be asked. What clients were told is on no disk."""

ONLY_SHOWN_BY_HISTORY = {"committed_never_lost"}
"""The spec remembers what could be read. A disk shows it by a high watermark, which a broker may have moved over
records that it never shared: then the disk shows more. Where nobody has the record any more, it shows less."""

ONLY_SOMETIMES_SHOWN = {"follower_log_is_prefix"}
"""A follower that has fetched nothing in its leader's epoch may have yet to truncate, as far as its disk shows."""


def said_by_spec(spec: Spec[Any], state: Any) -> set[str]:
    return {
        item.name
        for item in spec.checks
        if item.kind is Kind.INVARIANT and item.name in ON_DISKS and item.complaint(state) is not None
    }


def said_by_disks(state: Any, folder: Path) -> AuditResult:
    write_state(state, folder)
    result = audit([str(folder)], workers=1)
    assert all(reason.startswith("no broker given knows that it leads ") for reason in result.reasons)
    return result


def assert_the_same(spec: Spec[Any], state: Any, folder: Path) -> set[str]:
    """Have the disks of a state say what the spec says of it, as far as disks can; what they say."""
    expected, result = said_by_spec(spec, state), said_by_disks(state, folder)
    found = {finding.check for finding in result.errors}
    unsure = ONLY_SHOWN_BY_HISTORY | ONLY_SOMETIMES_SHOWN
    assert found - unsure == expected - unsure
    assert not found & ONLY_SOMETIMES_SHOWN - expected
    return found


COUNTEREXAMPLES = {each.title: each for each in read_suite(SHIPPED) if each.check.expect == "violated"}


@pytest.mark.parametrize("title", COUNTEREXAMPLES)
def test_the_end_of_every_counterexample_is_wrong_on_disks_as_it_is_in_the_spec(title: str, tmp_path: Path) -> None:
    """All but a record that was acknowledged and never committed: no disk knows of that."""
    for item in COUNTEREXAMPLES[title].run(None).result.properties:
        if item.verdict is not Verdict.VIOLATED or item.property.kind is not Kind.INVARIANT:
            continue
        (trace, *_) = item.traces
        spec = CATALOG[trace.spec.name].with_properties([each.name for each in CATALOG[trace.spec.name].checks])
        found = assert_the_same(spec, trace.states[-1], tmp_path / item.property.name)
        if item.property.name in ON_DISKS:
            assert item.property.name in found


@pytest.mark.parametrize("name", ["atomic/hw-truncation", "atomic/kip-320", "rpc/kip-101", "rpc/kip-320"])
def test_states_at_random_are_judged_alike(name: str, tmp_path: Path) -> None:
    spec, chance = CATALOG[name], random.Random(name)
    spec = spec.with_bounds({"max_epoch": 2, "brokers": 3})
    state = spec.initials()[0]
    for step in range(160):
        following = [after for _, after in spec.successors(state)]
        state = chance.choice(following) if following and step % 40 else spec.initials()[0]
        if step % 10 == 9:
            found = assert_the_same(spec, state, tmp_path / str(step))
            assert not found or name not in ("atomic/kip-320", "rpc/kip-320"), found
