"""The situation in which each bug of the archive does harm is reached without the bug, and the bug needs it."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from leadline.checker import Spec
from leadline.checker.engines import ENGINES
from leadline.checker.engines.learning.kept import Kept
from leadline.checker.result import Verdict
from leadline.checker.settings import CompiledSettings
from leadline.reports.kafka.bugs import BugSearch
from leadline.reports.loading import load_spec
from tests.suite.archive import ARCHIVE, runs_of

SLOW = {"no ticket: outdated log end", "KAFKA-15665"}
"""Bugs whose searches take minutes."""

WITHOUT_FIX = {
    *("KAFKA-20716", "KAFKA-14808", "KAFKA-14205", "no ticket: sync timer"),
    *("no ticket: unclaimed partition", "no ticket: late static member"),
    *("no ticket: downgraded group", "no ticket: late classic member"),
}
"""Bugs without a release or a rule that fixes them, so that no *holds* rests on their situation."""


def of_part(part: str) -> list[BugSearch]:
    """Return the first search of this part for each bug."""
    found: dict[tuple[str, str], BugSearch] = {}
    for bug in ARCHIVE.bugs:
        for run in runs_of(bug):
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
    settings = CompiledSettings(kept=Kept())  # both have the same actions
    assert ENGINES["compiled"](run.spec, settings=settings).verdict is Verdict.VIOLATED
    assert ENGINES["compiled"](avoiding(run), settings=settings).verdict is Verdict.HOLDS


def avoiding(run: BugSearch) -> Spec[Any]:
    """Return the spec of a search that does not go on from the situation, and that excuses the situation itself.

    The functions of the situation are called directly, so that the engine can learn what they read.
    """
    situations = load_spec(run.spec.name).with_properties(run.bug.situation).checks
    of_states = tuple(each.function for each in situations if not each.kind.of_steps)
    of_steps = tuple(each.function for each in situations if each.kind.of_steps)
    (item,) = run.spec.checks
    function = item.function

    def is_none(state: Any) -> bool:
        return not any(is_one(state) for is_one in of_states)

    def excused(state: Any) -> Any:
        return True if any(is_one(state) for is_one in of_states) else function(state)

    def excused_step(before: Any, after: Any) -> Any:
        at_a_state = any(is_one(before) or is_one(after) for is_one in of_states)
        return True if at_a_state or any(is_one(before, after) for is_one in of_steps) else function(before, after)

    if not item.kind.is_liveness:
        item = attrs.evolve(item, function=excused_step if item.kind.of_steps else excused)
    return attrs.evolve(run.spec, within=is_none, properties=[item], optional=())
