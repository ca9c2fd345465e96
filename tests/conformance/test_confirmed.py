"""The page of what recordings confirm, made again."""

from __future__ import annotations

from pathlib import Path

import pytest

from leadline.checker.errors import LeadlineError
from leadline.reports.conformance.confirmed import by_release, confirmed_by, page
from tests.conformance.test_recordings import RECORDINGS

PAGE = Path(__file__).parents[2] / "reports" / "pages" / "confirmed.md"


def test_the_page_is_what_the_recordings_confirm() -> None:
    """If this fails, `make page-confirmed` writes the page again."""
    assert page(by_release(map(confirmed_by, sorted(RECORDINGS.glob("*.jsonl"))))) == PAGE.read_text(encoding="utf-8")


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
