"""Say what a hunt found: the causes with their traces, what was searched, and what was not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from leadline.checker.bounds import bounds_text
from leadline.checker.support.messages import counted
from leadline.reports.document import Block, Cell, Document, Fold, Heading, Items, Paragraph, Span, Words, table, words
from leadline.reports.document.html import document_page
from leadline.reports.html import Chapter, chapter
from leadline.reports.hunt.cures import base_spec
from leadline.reports.hunt.report import Cause, HuntReport, SpecHunt, lines
from leadline.reports.hunt.traces import trace_of
from leadline.reports.origin import Origin
from leadline.reports.traces.story import story_of

Links = Mapping[tuple[str, str], str]
"""The link to the trace of a cause, keyed by the spec and the name of the cause."""


def hunt_page(report: HuntReport) -> str:
    """Return the HTML page of a hunt, with the traces of its causes."""
    chapters, links = list[Chapter](), dict[tuple[str, str], str]()
    for own in report.specs:
        for cause in own.causes:
            if (trace := trace_of(cause)) is not None:
                heading = f"{cause.kind}: {cause.name}, in {cause.spec}"
                chapters.append(chapter(len(chapters) + 1, story_of(trace), heading))
                links[own.reference, cause.name] = chapters[-1].start.name
    return document_page(hunt_document(report, links), Origin.now(), chapters)


def hunt_document(report: HuntReport, links: Links | None = None) -> Document:
    """Return the document of a hunt.

    Parameters:
        links: the links to the traces, if the document is shown together with them.
    """
    said = [Paragraph(words(line)) for line in lines(report)]
    said += [Paragraph(words("The hunt was interrupted."), "incomplete")] if report.interrupted else []
    said += [Paragraph(words(counted(round(report.seconds), "second")), "quiet")]
    return Document("What was found in a hunt", tuple(_blocks(report, links or {})), conclusion=tuple(said))


def _blocks(report: HuntReport, links: Links) -> Iterator[Block]:
    for own in report.specs:
        yield Heading(own.reference)
        if not own.causes:
            yield Paragraph(words("no cause was found"))
        for cause in own.causes:
            yield from _cause(cause)
    if report.causes:
        head = ("cause", "ends with", *(own.reference for own in report.specs))
        rows: list[tuple[Cell | str, ...]] = [
            (first.kind, first.name, *(_length(found.get(own.reference), own, links) for own in report.specs))
            for found in report.causes.values()
            for first in [next(iter(found.values()))]
        ]
        yield table("causes, with the number of states of a shortest trace", head, rows)
    for own in report.specs:
        yield from _situations(own)
        yield from _searches(own)


def _situations(own: SpecHunt) -> Iterator[Block]:
    """Say which situations were reached and within which bounds, and which not: of these, nothing is shown to hold."""
    if not own.wanted:
        return
    if own.unreached:
        yield Paragraph(words(f"situations of {own.reference} not reached: {', '.join(own.unreached)}"), "incomplete")
    spec = base_spec(own.reference)
    known = {item.name: item for item in (*spec.checks, *spec.optional)}
    rows = [
        (
            each.name,
            known[each.name].sentence if each.name in known else "",
            f"{each.length}",
            each.search,
            bounds_text({name: value for name, value in each.bounds.items() if value not in (0, False, "")}),
        )
        for each in own.situations
    ]
    head = ("situation", "", "states", "search", "bounds")
    said = words(f"situations of {own.reference} reached: {len(rows)} of {len(own.wanted)}")
    yield Fold(said, (table(f"situations of {own.reference}", head, rows),))


def _cause(cause: Cause) -> Iterator[Block]:
    yield Paragraph(words(f"{cause.kind}: {cause.name}"), "holds" if cause.is_known else "violated")
    said = [cause.sentence, cause.by_design]
    if cause.fixes:
        how = "holds with" if cause.decided else "has a trace that is impossible (nothing more was decided) with"
        said.append(f"{cause.violates} {how} {' or '.join(cause.fixes)}".replace("with without", "without"))
    elif cause.is_only_listed:
        said.append("its cause has not been looked for")
    else:
        said.append(f"no cure was found for {cause.violates} within {bounds_text(cause.bounds)}")
    said.append(f"a {'shortest ' * cause.is_shortest}trace of {cause.length} states: {cause.complaint}".rstrip(": "))
    if cause.search:
        said.append(f"found after {cause.cpu_seconds:.1f} s of processor time: {cause.search}")
    texts: list[Words] = [(Span(text),) for text in said if text]
    texts += [(Span(f"{number:>3}  {step}"),) for number, step in enumerate(cause.steps, start=2)]
    yield Items(tuple(texts))
    if cause.command:
        yield Paragraph((Span(cause.command, "code"),), "command")


def _length(cause: Cause | None, own: SpecHunt, links: Links) -> Cell:
    if cause is None:
        return Cell(words("-"), "idle")
    return Cell(words(Span(str(cause.length), "", links.get((own.reference, cause.name), ""))))


def _searches(own: SpecHunt) -> Iterator[Block]:
    incomplete = []
    for search in own.incomplete:
        hidden = f"; not searched: {', '.join(search.not_searched)}" if search.not_searched else ""
        incomplete.append(words(f"incomplete: {search.name} ({search.distinct:,} states{hidden})"))
    if incomplete:
        yield Items(tuple(incomplete))
    if own.searches:
        rows = [
            (
                each.name,
                Cell(
                    words(", without ".join([each.verdict, *filter(None, [", ".join(each.not_searched)])])),
                    each.verdict,
                ),
                f"{each.distinct:,}{f', {each.open:,} open' if each.open else ''}",
                f"{each.behaviours:,}" if each.behaviours else "",
                f"{each.seconds}",
            )
            for each in own.searches
        ]
        head = ("search", "verdict", "distinct states", "random behaviours", "seconds")
        said = words(f"what was searched of {own.reference}: {counted(len(rows), 'search', 'searches')}")
        yield Fold(said, (table(f"searches of {own.reference}", head, rows),))
    if own.left:
        first, others = own.left[0], len(own.left) - 1
        text = words(f"not made: {first}{f' and {others} more' if others else ''}")
        yield Fold(text, (Items(tuple(words(name) for name in own.left)),))
