"""The situation in which each bug of the archive does harm is reached without the bug, and the bug needs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from leadline.checker import Property, Spec
from leadline.checker.engines import ENGINES
from leadline.checker.result import Verdict
from leadline.reports.kafka.bugs import BugSearch, read_archive
from leadline.reports.loading import load_spec

ARCHIVE = read_archive()

SLOW = {"no ticket: outdated log end", "KAFKA-15665"}
"""Bugs whose searches take minutes."""

WITHOUT_FIX = {"KAFKA-20716", "KAFKA-14808", "KAFKA-14205", "no ticket: sync timer"}
"""Bugs without a release or a rule that fixes them, so that no *holds* rests on their situation."""


def of_part(part: str) -> list[BugSearch]:
    """Return the first search of this part for each bug."""
    found: dict[tuple[str, str], BugSearch] = {}
    for bug in ARCHIVE.bugs:
        for run in ARCHIVE.runs(bug):
            if run.part == part and bug.ticket not in SLOW:
                found.setdefault((bug.ticket, bug.property), run)
    return [*found.values()]


def named(run: BugSearch) -> str:
    return f"{run.bug.ticket} ({run.spec.name.partition('/')[0]})"


def test_every_bug_that_has_a_fix_names_its_situation() -> None:
    assert {bug.ticket for bug in ARCHIVE.bugs if not bug.situation} == WITHOUT_FIX


@pytest.mark.parametrize("run", of_part("fixed"), ids=named)
def test_a_release_with_the_fix_reaches_the_situation(run: BugSearch) -> None:
    result = run.searched().result
    assert result.verdict is Verdict.HOLDS
    assert all(result.of(name).traces for name in run.bug.situation)


@pytest.mark.parametrize("run", of_part("put back"), ids=named)
def test_the_old_rule_is_found_and_only_through_the_situation(run: BugSearch) -> None:
    assert ENGINES["compiled"](run.spec).verdict is Verdict.VIOLATED
    situations = situations_of(run)
    (item,) = run.spec.checks

    def excused(*states: object) -> bool:
        return any(is_one(situations, states)) or item.complaint(*states) is None

    needing = item if item.kind.is_liveness else attrs.evolve(item, function=excused)
    assert ENGINES["compiled"](avoiding(run.spec, situations, needing)).verdict is Verdict.HOLDS


def situations_of(run: BugSearch) -> list[Property]:
    spec: Spec[Any] = load_spec(run.spec.name).with_properties(run.bug.situation)
    return list(spec.checks)


def is_one(situations: list[Property], states: tuple[object, ...]) -> list[bool]:
    of_states = [bool(each.function(state)) for each in situations if not each.kind.of_steps for state in states]
    steps = [states] if len(states) == 2 else []
    return of_states + [bool(each.function(*step)) for each in situations if each.kind.of_steps for step in steps]


def avoiding(spec: Spec[Any], situations: list[Property], item: Property) -> Spec[Any]:
    """Return a spec that does not go on from a situation."""

    def is_none(state: Any) -> bool:
        return not any(is_one(situations, (state,)))

    within: Callable[[Any], bool] = is_none
    return attrs.evolve(spec, within=within, properties=[item], optional=())
