"""What operators read about a bug: derived from its trace where it can be, and otherwise in the archive."""

from __future__ import annotations

from pathlib import Path

import pytest

from leadline.brokers import reproduction
from leadline.invariants.promises import LOSS_PROPERTIES
from leadline.reports.kafka.bugs import NO_TICKET, Bug
from leadline.reports.kafka.kept_behaviours import kept
from leadline.reports.kafka.narrative import OF_CANDIDATES, OF_DATA, OF_REQUESTS, Narrative, narrative
from tests.suite.archive import ARCHIVE, runs_of

PAGE = Path(__file__).parents[2] / "reports" / "pages" / "findings" / "bugs.md"


def of_kept_trace(bug: Bug) -> Narrative | None:
    """The narrative of a bug from its kept trace in the last affected release that has one."""
    runs = [run for run in runs_of(bug) if run.part == "affected"]
    trace = next((trace for run in reversed(runs) if (trace := kept(run)) is not None), None)
    return None if trace is None else narrative(bug, trace)


def about(name: str) -> Narrative:
    found = of_kept_trace(ARCHIVE.about(name)[0][0])
    assert found is not None
    return found


@pytest.mark.parametrize("bug", ARCHIVE.bugs, ids=lambda bug: f"{bug.ticket}-{bug.property}")
def test_each_bug_says_what_is_seen_and_what_to_do(bug: Bug) -> None:
    for text in (bug.seen, bug.check, bug.until):
        assert len(text) > 15, bug.ticket
        assert text.endswith("."), bug.ticket
        assert text.count("`") % 2 == 0, bug.ticket


@pytest.mark.parametrize("bug", ARCHIVE.bugs, ids=lambda bug: f"{bug.ticket}-{bug.property}")
def test_the_page_says_of_each_bug_what_its_trace_shows(bug: Bug) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert f"### {bug.ticket}\n\n{bug.sentence}" in page
    assert f"- **What you see**: {bug.seen}" in page
    if (told := of_kept_trace(bug)) is not None:
        for name, text in told.lines.items():
            assert f"- **{name.capitalize()}**: {text}" in page


@pytest.mark.parametrize(
    ("name", "severity", "coincidence"),
    [
        # a leader that shuts down cleanly three times loses a record
        ("outdated log end", "critical", "controlled shutdowns: 3; further leader epochs: 4"),
        ("KAFKA-13141", "critical", "crashes that lose no records: 1; further leader epochs: 2"),
        # a disk loses something
        (
            "directory removed",
            "high",
            "controlled shutdowns: 2; log directories that fail or are taken out of a broker's configuration: 1; "
            "further leader epochs: 1",
        ),
        # the limit of isr_shrinks is none in this search, so that its states count no shrinking
        (
            "KAFKA-15495",
            "high",
            "crashes that lose any number of records at the end of a log: 1; removals of running followers from the "
            "ISR because they are slow: 1; further leader epochs: 1",
        ),
        ("KAFKA-7128", "high", "crashes that lose no records: 1; further leader epochs: 2"),
        ("KAFKA-14053", "medium", "requests that arrive after their sender has given up waiting: 1"),
        ("override", "low", "reassignments that an operator requests: 2"),
        ("KAFKA-18575", "critical", "no failure and no request of an operator"),
    ],
)
def test_the_severity_is_that_of_the_loss_and_of_what_must_coincide(name: str, severity: str, coincidence: str) -> None:
    told = about(name)
    assert told.severity == severity
    assert told.coincidence.partition("; with ")[0] == coincidence


def test_a_lost_record_is_counted_on_all_copies() -> None:
    assert about("outdated log end").lost == (
        "m0, which was acknowledged: the leader, broker 2, lacks it; 1 of 3 copies has it, on broker 1"
    )
    assert about("KAFKA-13207").lost.endswith("the leader, broker 0, lacks it; no copy has it")


def test_where_nothing_is_lost_yet_it_is_said_what_is_wrong() -> None:
    assert about("KAFKA-14617").lost.startswith(
        "nothing by itself: broker 1 joins the ISR and has no record at offset 0"
    )


def test_every_property_has_one_class() -> None:
    classes = [*OF_DATA, *OF_CANDIDATES, *OF_REQUESTS]
    assert len(classes) == len(set(classes))
    known = {bug.property for bug in ARCHIVE.bugs}
    assert LOSS_PROPERTIES == reproduction.LOSS_PROPERTIES
    assert set(OF_CANDIDATES) <= known
    assert set(OF_REQUESTS) <= known


@pytest.mark.parametrize(
    "bug", [bug for bug in ARCHIVE.bugs if bug.ticket.startswith(NO_TICKET)], ids=lambda bug: str(bug.ticket)
)
def test_the_page_of_findings_has_each_with_its_severity_and_what_must_coincide(bug: Bug) -> None:
    name = bug.ticket.removeprefix(NO_TICKET)
    told = about(name)
    row = f"| [{name}](#{name.replace(' ', '-')}) | {told.severity} | {told.coincidence.partition('; with ')[0]} | "
    page = PAGE.with_name("README.md").read_text(encoding="utf-8")
    assert row in page
    assert f"\n## {name.capitalize()}\n" in page
