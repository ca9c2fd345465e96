"""The page of what recordings confirm, made again."""

from __future__ import annotations

from pathlib import Path

import pytest

from leadline.checker.errors import LeadlineError
from tests.conformance.test_recordings import RECORDINGS
from tests.documents.confirmed import by_release, confirmed_by, page
from tests.suite.samples import EVERY

PAGE = Path(__file__).parents[2] / "reports" / "pages" / "confirmed.md"


ALL = sorted(path for path in RECORDINGS.rglob("*.jsonl") if path.parent.name != "mixes")
QUICK = "KAFKA-13141-2.8.2", "KAFKA-15495-4.0.2", "KIP-106-0.11.0.3", "walk-4.1.1"


@pytest.mark.skipif(not EVERY, reason="EVERY=1 makes the page again, which takes some minutes")
def test_the_page_is_what_the_recordings_confirm() -> None:
    """If this fails, `make page-confirmed` writes the page again."""
    assert page(by_release(map(confirmed_by, ALL))) == PAGE.read_text(encoding="utf-8")


def rows(text: str, first: str) -> dict[str, list[str]]:
    """Return the rows of the table whose head begins with `first`, keyed by the first cell."""
    table = text[text.index(f"| {first} |") :].split("\n\n")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return {first: rest for first, *rest in cells}


def test_the_page_names_all_recordings() -> None:
    told = rows(PAGE.read_text(encoding="utf-8"), "release")
    named = [name for release, cells in told.items() if release.startswith("`") for name in cells[0].split(", ")]
    assert sorted(named) == sorted(path.stem for path in ALL)


def test_the_page_of_real_brokers_has_the_same_shares() -> None:
    """If this fails, `make page-confirmed` writes both pages again."""
    shares = rows(PAGE.read_text(encoding="utf-8"), "release")
    assert rows(PAGE.with_name("reality.md").read_text(encoding="utf-8"), "release") == shares


def test_the_page_has_what_recordings_confirm() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rules, actions = rows(text, "rule"), rows(text, "action")
    for path in (path for path in ALL if path.stem in QUICK):
        found = confirmed_by(path)
        column = rules["rule"].index(f"`{found.column.name}`")
        assert found.rules
        for rule in found.rules:
            assert rules[f"`{rule}`"][column] == f"`{found.column.values[rule]}`"
        for action in found.actions:
            assert actions[f"`{action}`"][column] == "confirmed"


def test_a_recording_confirms_what_it_needs() -> None:
    found = confirmed_by(RECORDINGS / "KAFKA-14617-3.5.0.jsonl")
    assert found.column.name == "kafka/3.5"
    assert found.rules == {"truncation", "isr_write", "isr_eligibility", "shrink_epoch"}
    assert ("isr_eligibility", "shrink_epoch") in found.pairs
    assert {"shrink_isr", "crash_losing_tail"} <= found.actions
    assert not found.actions & {"crash", "handle_epoch_request", "session_expires"}


def test_a_recording_belongs_to_its_release_and_not_to_a_later_one_with_the_same_rules() -> None:
    assert confirmed_by(RECORDINGS / "KAFKA-13141-2.8.2.jsonl").column.name == "kafka/2.8.1"


def test_what_two_recordings_of_a_release_confirm_is_joined() -> None:
    one = confirmed_by(RECORDINGS / "KAFKA-14617-3.5.0.jsonl")
    (joined,) = by_release([one, one])
    assert joined.recordings == ("KAFKA-14617-3.5.0",) * 2
    assert (joined.rules, joined.pairs, joined.actions) == (one.rules, one.pairs, one.actions)


def test_a_recording_that_does_not_conform_is_refused(tmp_path: Path) -> None:
    text = (RECORDINGS / "KAFKA-14617-3.5.0.jsonl").read_text(encoding="utf-8")
    (tmp_path / "other.jsonl").write_text(text.replace("kafka/3.5", "kafka/3.4.1").replace("3.5.0", "3.4.1"))
    with pytest.raises(LeadlineError, match="does not conform to the model of its release"):
        confirmed_by(tmp_path / "other.jsonl")
