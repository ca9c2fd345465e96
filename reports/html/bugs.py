"""Write the HTML page of known bugs. It describes each bug, and shows the bug's searches and a trace."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
from markupsafe import Markup

from leadline.checker.bounds import bounds_text
from leadline.reports.bug_report import BugsReport, comparison, described, later_text, release_text, size_text
from leadline.reports.bugs import Bug, BugResult
from leadline.reports.diagnosis import lines
from leadline.reports.html import Chapter, chapter, page, rendered
from leadline.reports.narrative import told
from leadline.reports.origin import Origin
from leadline.reports.traces.story import story_of


@attrs.frozen
class _Row:
    """A row in the table of searches.

    Attributes:
        verdict: the verdict of the search.
        looks: the CSS class of the verdict.
        release: the release that was searched.
        size: how much was searched, in words.
        failure: if the verdict is not as expected, the expected verdict in words. Otherwise empty.
        link: the URL fragment that identifies the trace. Empty if there is no trace.
    """

    verdict: str
    looks: str
    release: str
    size: str
    failure: str = ""
    link: str = ""


@attrs.frozen
class _Section:
    """The section about one bug on the page of known bugs.

    Attributes:
        bug: the bug.
        sentence: the sentence of the property that the bug violates.
        bounds: the bounds of the searches, as text.
        rows: the searches.
        diagnosis: the lines of the diagnosis.
        comparison: the command that compares the last affected release with the fixed release, or an empty string.
        narrative: what an operator has to know, keyed by headings.
    """

    bug: Bug
    sentence: str
    bounds: str
    rows: tuple[_Row, ...]
    diagnosis: tuple[str, ...]
    comparison: str
    narrative: dict[str, str]


def bugs_page(report: BugsReport) -> str:
    """Return the HTML page of known bugs. It shows a trace of each bug in the first affected release."""
    sections, chapters = [], list[Chapter]()
    for bug, own in report.by_bug:
        link = ""
        if own[0].trace_length:
            story = story_of(own[0].result.properties[0].traces[0])
            chapters.append(chapter(len(chapters) + 1, story, f"A trace of {bug.ticket} in {own[0].run.spec.name}"))
            link = chapters[-1].start.name
        diagnosis = report.diagnoses.get(bug.ticket)
        sections.append(
            _Section(
                bug=bug,
                sentence=own[0].result.properties[0].property.sentence,
                bounds=bounds_text(bug.bounds),
                rows=tuple(_rows(own, link)),
                diagnosis=tuple(lines(diagnosis)) if diagnosis is not None else (),
                comparison=comparison(own),
                narrative=about.lines if (about := told(own[0])) is not None else {},
            )
        )
    names = [section.bug.ticket for section in sections] or [bug.ticket for bug in report.unreached]
    title = (
        f"{names[0]}: a known bug of Kafka's replication" if len(names) == 1 else "Known bugs of Kafka's replication"
    )
    above = Markup(rendered("bugs.html", sections=sections, unreached=report.unreached))
    return page(title, chapters, above=above, origin=Origin.now())


def _rows(own: list[BugResult], link: str) -> Iterator[_Row]:
    for outcome in described(own):
        verdict = outcome.result.verdict.value
        failure = "" if outcome.as_expected else f"expected {outcome.run.expected}"
        address = link if outcome is own[0] else ""
        yield _Row(verdict, verdict, release_text(outcome), size_text(outcome), failure, address)
    if (later := later_text(own)) is not None:
        yield _Row("holds", "holds", *later)
