"""The page on why a *holds* is true: what it names exists, and mistakes outside of what it trusts are no verdicts."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from leadline.checker.mutation.mutations import changes_of
from leadline.checker.mutation.processes import answers
from tests.reference.compare import LEARNING, ORACLE
from tests.reference.outside import PAGE, ROOT, Mistake, cases, core, files, outcomes

TESTS = Path(__file__).parents[1]


def test_the_page_names_modules_and_tests_that_exist() -> None:
    rows = [line.split("|") for line in PAGE.read_text().splitlines() if re.match(r"\| \d+", line)]
    assert [int(row[1]) for row in rows] == [*range(1, len(rows) + 1)]
    for row in rows:
        for root, cell in ((ROOT, row[3]), (TESTS, row[4])):
            names = re.findall(r"`([^`]+)`", cell)
            assert names, row
            assert [name for name in names if not (root / name).is_file()] == []
    assert len(core()) == len(set(core()))


def test_mistakes_outside_of_the_core_make_no_spec_hold_falsely() -> None:
    found = [*outcomes(files(), 5, [0], ["plain"], [LEARNING])]
    assert len(found) == 5
    assert not [each for each in found if each[1].startswith("holds")]


def test_mistakes_in_the_verdict_make_a_spec_hold_falsely() -> None:
    (case,) = cases([0], ["plain"], [ORACLE])
    file = ROOT / "result.py"
    judged = [Mistake(file, change) for change in changes_of(file.read_bytes()) if change.function == "judge"]
    calls = [(str(each), functools.partial(each.judge, case)) for each in judged]
    told = [str(answer.found) for answer in answers(calls, 1, 60)]
    assert "not falsely" in told
    assert [each for each in told if each.startswith(f"holds falsely: {case.text.name} (oracle): p")]
