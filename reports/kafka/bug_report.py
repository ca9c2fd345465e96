"""The report on searches for known bugs: its document, its HTML page with traces, and its JSON object."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import attrs

from leadline.checker.bounds import bounds_text
from leadline.checker.support.messages import counted
from leadline.reports.diagnosis import Diagnosis, lines
from leadline.reports.document import Block, Cell, Document, Heading, Items, Paragraph, Span, Table, table, words
from leadline.reports.document.html import document_page
from leadline.reports.html import Chapter, chapter
from leadline.reports.kafka.bugs import Bug, BugResult, UnmodelledBug
from leadline.reports.kafka.narrative import told
from leadline.reports.origin import Origin
from leadline.reports.runs.phrases import states_text
from leadline.reports.traces.story import story_of

PARTS = {
    "affected": "",
    "as released": ", as it was released",
    "fixed": ", which fixed it",
    "put back": ", with the old rule",
    "later": "",
}
"""The words that follow a release, by the kind of release (see `BugSearch.part`)."""


@attrs.frozen(eq=False)
class BugsReport:
    """The results of searches for known bugs.

    Attributes:
        outcomes: the searches with their results, grouped by bug.
        unreached: the bugs that the model cannot show.
        diagnoses: the diagnoses of bugs, keyed by ticket. Empty if no diagnosis was requested.
    """

    outcomes: Sequence[BugResult]
    unreached: Sequence[UnmodelledBug]
    diagnoses: Mapping[str, Diagnosis] = attrs.field(factory=dict)

    @property
    def by_bug(self) -> list[tuple[Bug, list[BugResult]]]:
        """The bugs in the report, each with the results of its searches."""
        return [(bug, list(own)) for bug, own in itertools.groupby(self.outcomes, key=lambda each: each.run.bug)]


def bugs_document(report: BugsReport, links: Mapping[str, str] | None = None) -> Document:
    """Return the document of searches for known bugs.

    Parameters:
        links: the links to the traces, keyed by ticket, if the document is shown together with them.
    """
    names = [bug.ticket for bug, _ in report.by_bug] or [bug.ticket for bug in report.unreached]
    title = "a known bug of Kafka" if len(names) == 1 else "Known bugs of Kafka"
    blocks = [
        *itertools.chain(*(bug_blocks(own, (links or {}).get(bug.ticket, "")) for bug, own in report.by_bug)),
        *reasons(report),
        *unreached_blocks(report.unreached),
    ]
    return Document(f"{names[0]}: {title}" if len(names) == 1 else title, tuple(blocks))


def bug_blocks(own: Sequence[BugResult], link: str = "") -> Iterator[Block]:
    """Yield what is known of a bug, and its searches. `link` is the link to its trace, or empty."""
    bug, sentence = own[0].run.bug, own[0].result.properties[0].property.sentence
    yield from (Heading(_names(bug)), Paragraph(words(bug.sentence)))
    if bug.note:
        yield Paragraph(words(bug.note))
    if (about := told(own[0])) is not None:
        yield Items(tuple(words(Span(name, "strong"), f": {text}") for name, text in about.lines.items()))
    yield Paragraph(words(f"It violates `{bug.property}`: {sentence}."))
    yield Paragraph(words("Searched with ", Span(f"-b {bounds_text(bug.bounds)}", "code"), ":"), "quiet")
    for bounds in dict.fromkeys(map(bounds_text, bug.bounds_in.values())):
        names = ", ".join(name for name, each in bug.bounds_in.items() if bounds_text(each) == bounds)
        yield Paragraph(words(f"In {names} with ", Span(f"-b {bounds}", "code"), "."), "quiet")
    rows: list[tuple[Cell | str, ...]] = []
    for each in own:
        if each.run.part == "later" and each.as_expected:  # these share a row
            continue
        verdict = each.result.verdict.value
        size = Span(size_text(each), "", link if each is own[0] else "")
        said = verdict if each.as_expected else f"{verdict}, expected {each.run.expected}"
        rows.append((release_text(each), Cell(words(said), verdict), Cell((size,))))
    if (later := later_text(own)) is not None:
        name, sizes = later
        rows.append((name, Cell(words("holds"), "holds"), sizes))
    yield table(f"searches for {bug.ticket}", ("release", "verdict", "size"), rows)


def reasons(report: BugsReport) -> Iterator[Block]:
    """Yield the diagnosis of each bug that was diagnosed, and the command that compares the releases."""
    for bug, own in report.by_bug:
        if (diagnosis := report.diagnoses.get(bug.ticket)) is not None:
            yield from (Paragraph((Span(line),)) for line in lines(diagnosis))
            if command := comparison(own):
                yield Paragraph(words("side by side: ", Span(command, "code")), "command")


def unreached_blocks(unreached: Sequence[UnmodelledBug]) -> Iterator[Block]:
    """Yield the bugs that the model cannot show, with the reasons."""
    for bug in unreached:
        yield from (Heading(_names(bug)), Paragraph(words(bug.sentence)))
        yield Paragraph(words(f"not reached: {bug.reason}"), "note")


def archive_table(bugs: Sequence[Bug], unreached: Sequence[UnmodelledBug]) -> Table:
    """Return the table of bugs that `leadline bugs --list` shows."""
    rows = [(bug.ticket, bug.sentence, ", ".join(bug.affected), ", ".join(bug.fixed) or "by design") for bug in bugs]
    rows += [(bug.ticket, f"{bug.sentence} Not reached: {bug.reason}", "", "") for bug in unreached]
    return table("known bugs", ("bug", "what happens", "affected", "fixed in"), rows)


def _names(bug: Bug | UnmodelledBug) -> str:
    return bug.ticket + (f" ({', '.join(bug.also)})" if bug.also else "")


def release_text(outcome: BugResult) -> str:
    """Return a phrase for the release of a search, as in ``kafka/2.8.1, which fixed it``."""
    name, part = outcome.run.spec.name, outcome.run.part
    if part == "put back" and outcome.run.bug.defaults:
        return f"{name} -b {bounds_text(outcome.run.bug.defaults)}, the old default"
    if part == "avoided":
        return f"{name} -b {bounds_text(outcome.run.bug.avoided)}"
    if part == "fixed" and any("+" in each for each in outcome.run.bug.fixed):
        return f"{name}, with the fix"
    return f"{name}{PARTS[part]}"


def size_text(outcome: BugResult) -> str:
    """Return the length of the trace that a search found, or the number of distinct states if it found none."""
    if outcome.trace_length:
        return f"trace of {outcome.trace_length}"
    return states_text(outcome.result.statistics)


def later_text(outcomes: Sequence[BugResult]) -> tuple[str, str] | None:
    """Return two phrases: one names the later releases in which the property holds, and one gives their numbers of
    states. Return None if there are none.
    """
    later = [each for each in outcomes if each.run.part == "later" and each.as_expected]
    if not later:
        return None
    states = sorted(outcome.result.statistics.distinct for outcome in later)
    sizes = f"{states[0]:,} to {states[-1]:,} states" if states[0] != states[-1] else counted(states[0], "state")
    if most := max(outcome.result.statistics.open for outcome in later):
        sizes += f", up to {most:,} of them open"
    first, last = later[0].run.spec.name, later[-1].run.spec.name
    return first if len(later) == 1 else f"{first} to {last}, {len(later)} releases", sizes


def comparison(outcomes: Sequence[BugResult]) -> str:
    """Return the command that compares the last affected release with the fixed release. Return "" if the fixed release
    was not searched, or if the bug violates a liveness property, which `leadline diff` cannot check.
    """
    last = {outcome.run.part: outcome.run for outcome in outcomes}
    if "fixed" not in last or last["fixed"].spec.liveness:
        return ""
    bug, names = outcomes[0].run.bug, f"{last['affected'].spec.name} {last['fixed'].spec.name}"
    return f"leadline diff {names} -b {bounds_text(bug.bounds)} -i {bug.property}"


def bugs_page(report: BugsReport) -> str:
    """Return the HTML page of known bugs. It shows a trace of each bug in the first affected release."""
    chapters, links = list[Chapter](), dict[str, str]()
    for bug, own in report.by_bug:
        if own[0].trace_length:
            story = story_of(own[0].result.properties[0].traces[0])
            chapters.append(chapter(len(chapters) + 1, story, f"A trace of {bug.ticket} in {own[0].run.spec.name}"))
            links[bug.ticket] = chapters[-1].start.name
    return document_page(bugs_document(report, links), Origin.now(), chapters)


def bugs_object(report: BugsReport) -> dict[str, object]:
    """Return a report on known bugs as an object for `json.dumps`."""
    bugs = []
    for bug, own in report.by_bug:
        said: dict[str, object] = {
            "ticket": bug.ticket,
            "also": bug.also,
            "sentence": bug.sentence,
            "property": bug.property,
            "narrative": about.lines if (about := told(own[0])) is not None else {},
            "runs": [_run_object(outcome) for outcome in own],
        }
        if (diagnosis := report.diagnoses.get(bug.ticket)) is not None:
            said["diagnosis"] = attrs.asdict(diagnosis)
        bugs.append(said)
    return {"bugs": bugs, "unreached": [attrs.asdict(bug) for bug in report.unreached]}


def _run_object(outcome: BugResult) -> dict[str, object]:
    spec = outcome.run.spec
    return {
        "spec": spec.name,
        "bounds": attrs.asdict(spec.bounds),
        "expected": outcome.run.expected,
        "verdict": outcome.result.verdict.value,
        "trace_length": outcome.trace_length,
        "distinct_states": outcome.result.statistics.distinct,
    }
