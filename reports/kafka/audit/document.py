"""Say what an audit found: the errors in each partition, the notes, and how the matching trace can happen."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from leadline.checker.engines import memory
from leadline.checker.result import Verdict
from leadline.checker.support.messages import counted
from leadline.invariants.audit.result import AuditResult, Finding
from leadline.model.disk.directory import METADATA_TOPIC
from leadline.reports.document import (
    Block,
    Cell,
    Document,
    Fold,
    Heading,
    Items,
    Paragraph,
    Section,
    Span,
    Steps,
    Words,
    table,
    words,
)
from leadline.reports.document.html import document_page
from leadline.reports.html import chapter
from leadline.reports.kafka.audit.counterexamples import Counterexample
from leadline.reports.kafka.audit.logs import drawing_of
from leadline.reports.traces.story import story_of

ON_A_PAGE = (300, 20)
"""The most partitions with errors, and the most findings of one of them, on a page and in Markdown."""

ON_A_TERMINAL = (20, 6)
"""The same on a terminal."""

MOST_NOTES = 500
"""The maximum number of notes."""

MOST_OPEN = 3
"""The number of partitions that are not folded on a page."""


def audit_page(title: str, result: AuditResult, examples: Sequence[Counterexample]) -> str:
    """Return the HTML page of an audit.

    Parameters:
        examples: the counterexamples that match the findings, whose traces the page shows.
    """
    chapters = [
        chapter(number, story_of(each.trace), f"How this can happen, in the model: {each.title}")
        for number, each in enumerate(examples, start=1)
    ]
    links = {each.title: shown.shown[-1].name for each, shown in zip(examples, chapters, strict=True)}
    return document_page(audit_document(title, result, examples, links=links), chapters=chapters)


def audit_document(
    title: str,
    result: AuditResult,
    examples: Sequence[Counterexample],
    most: tuple[int, int] = ON_A_PAGE,
    links: Mapping[str, str] | None = None,
) -> Document:
    """Return the document of an audit.

    Parameters:
        examples: the counterexamples that match the findings. The first one is shown.
        most: the maximum numbers of partitions with errors and of notes, and of findings of one partition.
        links: the links to the traces of the counterexamples, keyed by title, if they are shown with the document.
    """
    blocks = _blocks(result, examples, most, links or {})
    return Document(title, tuple(blocks), conclusion=tuple(_conclusion(result)))


def _conclusion(result: AuditResult) -> Iterator[Paragraph]:
    yield Paragraph((Span(result.verdict.value, result.verdict.value), Span(f": {verdict_sentence(result)}")))
    yield from (Paragraph((Span(f"undecided: {reason}"),), "note") for reason in result.reasons)
    counts = (
        f"{counted(result.brokers, 'broker')}, {counted(result.partitions, 'partition')}, "
        f"{counted(result.batches, 'batch', 'batches')}, {memory.described(result.size)}; {result.seconds:.1f} s"
    )
    yield Paragraph(words(counts), "quiet")


def _blocks(
    result: AuditResult, examples: Sequence[Counterexample], most: tuple[int, int], links: Mapping[str, str]
) -> Iterator[Block]:
    groups = itertools.groupby(result.errors, key=lambda finding: (finding.topic, finding.partition))
    wrong = [(name, list(found)) for name, found in groups]
    rows = []
    for number, (name, found) in enumerate(wrong[: most[0]], start=1):
        checks = ", ".join(dict.fromkeys(finding.check for finding in found))
        link = Span(partition_name(*name), "", f"partition-{number}")
        brokers = " ".join(map(str, sorted({broker for finding in found for broker in finding.brokers})))
        rows.append((Cell((link,)), Cell(words(checks), "violated"), brokers))
    if wrong:
        yield Paragraph(words("6-9@1: the records at offsets 6 to 9, written in leader epoch 1"), "quiet")
    if len(rows) > 1:
        yield table("partitions with errors", ("partition", "what is violated", "brokers"), rows)
    for number, (name, found) in enumerate(wrong[: most[0]], start=1):
        checks = ", ".join(dict.fromkeys(finding.check for finding in found))
        heading = (Span(partition_name(*name)), Span(": "), Span(checks, "violated"))
        shown = tuple(_partition(name, found, result, examples, most[1], links))
        yield Section(heading, shown, f"partition-{number}", is_open=number <= MOST_OPEN)
    if len(wrong) > most[0]:
        yield Paragraph(words(f"and {counted(len(wrong) - most[0], 'more partition')}: --json has all"), "note")
    for example in examples[:1]:
        yield Steps(f"How this can happen: {example.title}", story_of(example.trace))
    notes = [finding for finding in result.findings if finding.severity == "note"]
    if notes:
        yield Heading("notes: explained findings and other information")
        said = [
            ("" if it.topic is None else partition_name(it.topic, it.partition), it.check, Cell((Span(it.sentence),)))
            for it in notes[: min(most[0], MOST_NOTES)]
        ]
        yield table("notes", ("partition", "about", "note"), said)
        if len(notes) > len(said):
            yield Paragraph(words(f"and {counted(len(notes) - len(said), 'more note')}: --json has all"), "note")
    checks_of = [
        (check.name, Cell(words(verdict), verdict), check.sentence)
        for check in result.checks
        for verdict in [result.verdict_on(check).value]
    ]
    properties = table("properties", ("property", "verdict", "description"), checks_of)
    yield Fold((Span(f"checked: {', '.join(name for name, *_ in checks_of)}"),), (properties,))


def _partition(
    name: tuple[str | None, int | None],
    found: Sequence[Finding],
    result: AuditResult,
    examples: Sequence[Counterexample],
    most: int,
    links: Mapping[str, str],
) -> Iterator[Block]:
    topic, partition = name
    logs = result.tables.get((topic, partition)) if topic is not None and partition is not None else None
    if logs is not None:
        yield drawing_of(logs, partition_name(*name))
    shown = without_repetition(found)
    texts: list[Words] = []
    for finding in shown[:most]:
        like = next((each.title for each in examples if each.matches(finding)), "")
        said = [Span(finding.check, "violated"), Span(f"  {finding.sentence}{'.' if finding.context else ''}")]
        said += [Span(f" {_sentence(each)}", "quiet") for each in finding.context]
        said += [Span(" "), Span("the trace", "", links[like])] if like in links else []
        texts.append(tuple(said))
    if len(shown) > most:
        texts.append(words(f"... and {len(shown) - most} more"))
    yield Items(tuple(texts))
    yield from (Paragraph((Span(_sentence(each)),)) for each in found[0].situation)


def without_repetition(findings: Sequence[Finding]) -> list[Finding]:
    """Return a partition's findings without the violations of `weak_isr` that are also reported for `strong_isr`."""
    strong = {(finding.brokers, finding.offset) for finding in findings if finding.check == "strong_isr"}
    return [each for each in findings if each.check != "weak_isr" or (each.brokers, each.offset) not in strong]


def verdict_sentence(result: AuditResult) -> str:
    """Return a short sentence with the verdict of an audit."""
    match result.verdict:
        case Verdict.VIOLATED:
            names = list(dict.fromkeys(finding.check for finding in result.errors))
            return f"{', '.join(names)}, in {_where(result.errors)}"
        case Verdict.INCOMPLETE:
            return "nothing wrong was found, but not everything could be decided"
        case Verdict.HOLDS:
            return "nothing is wrong"


def _where(errors: Sequence[Finding]) -> str:
    """Return text that says where the errors are: the number of partitions, the metadata log, or the directories."""
    topics = {(finding.topic, finding.partition) for finding in errors}
    partitions = len([topic for topic, _ in topics if topic not in (None, METADATA_TOPIC)])
    places = [counted(partitions, "partition")] if partitions else []
    places += ["the metadata log"] if any(topic == METADATA_TOPIC for topic, _ in topics) else []
    places += ["the directories"] if any(topic is None for topic, _ in topics) else []
    return " and in ".join(places)


def partition_name(topic: str | None, partition: int | None) -> str:
    """Return the name of a partition, such as ``orders-0``, or ``directories`` if a finding has no partition."""
    return "directories" if topic is None else f"{topic}-{partition}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
