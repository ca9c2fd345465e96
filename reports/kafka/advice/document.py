"""Say what advice there is: the settings in effect, the known bugs, the rules that change, and the settings' files."""

from __future__ import annotations

from collections.abc import Iterator

from leadline.checker.support.messages import counted
from leadline.reports.document import Block, Document, Fold, Heading, Items, Paragraph, Section, Span, table, words
from leadline.reports.kafka.advice import text
from leadline.reports.kafka.advice.advice import Advice, Concern, Finding
from leadline.reports.kafka.advice.path import blocks_of_path
from leadline.reports.kafka.advice.settings import Remark


def advice_document(advice: Advice) -> Document:
    """Return the document of advice."""
    title = f"Upgrade from {advice.title}" if advice.is_upgrade else f"Known bugs of {advice.title}"
    return Document(title, (*_blocks(advice), Paragraph(words(advice.nothing), "note")))


def _blocks(advice: Advice) -> Iterator[Block]:
    sections, remarks = list(text.sections(advice)), list(text.remarks(advice))
    summaries = [
        words(Span(section.title, "", f"section-{number}"), f": {section.summary}")
        for number, section in enumerate(sections, start=1)
    ]
    for sentence, own in remarks:
        if own[0].kind in ("unknown", "misplaced"):
            summaries.append((Span(sentence, "", "settings"), Span(f": {', '.join(remark.name for remark in own)}")))
    if advice.path:
        summaries.append(words(Span("the upgrade, step by step", "", "path"), f": {counted(len(advice.path), 'step')}"))
    yield Items(tuple(summaries))
    versions = (advice.before.version, advice.after.version) if advice.is_upgrade else (advice.after.version,)
    rows = [row[: len(versions) + 1] for row in text.rows(advice)]
    yield table("settings in effect", ("setting in effect", *versions), rows)
    yield from (Paragraph((Span(f"note: {note}"),), "note") for note in text.notes(advice))
    yield from (Paragraph((Span(line),)) for line in text.not_promised(advice))
    for number, section in enumerate(sections, start=1):
        yield Heading(section.title, f"section-{number}")
        if not section.findings:
            yield Paragraph(words(section.nothing))
        for concern, findings in section.findings.items():
            yield Paragraph(words(f"{concern.value}:"), "quiet")
            for finding in findings:
                yield from _finding(finding)
    if advice.is_upgrade:
        yield from blocks_of_path(advice.path)
        rules = table("rules that change", ("rule", "before", "after", "source"), advice.rules)
        heading = words(f"rules of replication that change: {len(advice.rules)}")
        yield Fold(heading, (rules,)) if advice.rules else Paragraph(heading)
    yield Heading("the settings in the files", "settings")
    for number, (sentence, own) in enumerate(remarks, start=1):
        is_open = own[0].kind in ("unknown", "misplaced")
        yield Section(words(sentence), (_remarks(own),), f"settings-{number}", is_open)


def _finding(finding: Finding) -> Iterator[Block]:
    looks = "violated" if finding.concern is Concern.PROMISE else "strong"
    yield Paragraph((Span(finding.bug.ticket, looks), Span(f"  {finding.harm}")))
    yield Items(tuple(map(words, (finding.bug.sentence, *finding.reasons))))
    yield from (Paragraph((Span(command, "code"),), "command") for command in finding.commands)


def _remarks(own: list[Remark]) -> Items:
    if not any(remark.text for remark in own):
        return Items((words(", ".join(remark.name for remark in own)),))
    return Items(tuple((Span(remark.name, "code"), Span(f" ({remark.place}): {remark.text}")) for remark in own))
