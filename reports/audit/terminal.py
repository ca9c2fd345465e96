"""Show the results of an audit on a terminal, grouped by partition."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.text import Text

from leadline.checker.engines import memory
from leadline.checker.result import Verdict
from leadline.checker.support.messages import counted
from leadline.invariants.audit.cluster import Done
from leadline.invariants.audit.cluster import Progress as Tell
from leadline.invariants.audit.result import AuditResult, Finding
from leadline.model.disk.directory import METADATA_TOPIC
from leadline.reports.audit.counterexamples import Counterexample
from leadline.reports.terminal.console import STYLES, console, is_plain
from leadline.reports.terminal.trace import story_view
from leadline.reports.traces.story import story_of

MOST_PARTITIONS = 20
"""The maximum number of partitions with errors, and of notes, that are shown."""

MOST_FINDINGS = 6
"""The maximum number of findings that are shown for one partition."""


def audit_view(result: AuditResult, examples: Sequence[Counterexample], *, plain: bool, width: int) -> RenderableType:
    """Return the view of an audit: the errors in each partition, a matching trace, the notes, and the verdict.

    Parameters:
        result: the audit.
        examples: the counterexamples that match the findings. The first counterexample is shown.
        plain: true to mark changed cells with a star instead of a colour.
        width: the width of the terminal in columns.
    """
    parts: list[RenderableType] = [*_errors(result)]
    for example in examples[:1]:
        parts.append(Text(f"How this can happen: {example.title}", style="bold"))
        parts += [story_view(story_of(example.trace), plain=plain, width=width), Text()]
    parts += _notes(result)
    parts += [Text(f"undecided: {reason}", style="yellow") for reason in result.reasons]
    return Group(*parts, *_summary(result))


def _errors(result: AuditResult) -> Iterator[RenderableType]:
    groups = itertools.groupby(result.errors, key=lambda finding: (finding.topic, finding.partition))
    found = [(name, list(findings)) for name, findings in groups]
    for name, findings in found[:MOST_PARTITIONS]:
        yield Text(partition_name(*name), style="bold")
        shown = without_repetition(findings)
        for finding in shown[:MOST_FINDINGS]:
            line = Text(finding.check, style="bold red")
            line.append(f"  {finding.sentence}", style="default not bold")
            yield Padding(line, (0, 0, 0, 2), expand=False)
            yield from (Padding(Text(_sentence(each)), (0, 0, 0, 6), expand=False) for each in finding.context)
        if len(shown) > MOST_FINDINGS:
            yield Padding(Text(f"... and {len(shown) - MOST_FINDINGS} more"), (0, 0, 0, 2))
        yield from (Padding(Text(_sentence(each)), (0, 0, 0, 2), expand=False) for each in findings[0].situation)
        yield Text()
    if len(found) > MOST_PARTITIONS:
        yield Text(f"... and {counted(len(found) - MOST_PARTITIONS, 'more partition')}: --json and --html have all\n")


def without_repetition(findings: Sequence[Finding]) -> list[Finding]:
    """Return a partition's findings without the violations of `weak_isr` that are also reported for `strong_isr`."""
    strong = {(finding.brokers, finding.offset) for finding in findings if finding.check == "strong_isr"}
    return [each for each in findings if each.check != "weak_isr" or (each.brokers, each.offset) not in strong]


def _notes(result: AuditResult) -> Iterator[RenderableType]:
    notes = [finding for finding in result.findings if finding.severity == "note"]
    for finding in notes[:MOST_PARTITIONS]:
        line = Text("note  ", style="dim")
        if finding.topic is not None:
            line.append(f"{partition_name(finding.topic, finding.partition)}: ", style="default not dim")
        line.append(finding.sentence, style="default not dim")
        yield line
    if len(notes) > MOST_PARTITIONS:
        yield Text(f"... and {counted(len(notes) - MOST_PARTITIONS, 'more note')}: --json and --html have all")


def _summary(result: AuditResult) -> Iterator[Text]:
    verdict = Text(result.verdict.value, style=STYLES[result.verdict])
    verdict.append(f": {verdict_sentence(result)}", style="default not bold")
    yield verdict
    yield Text(
        f"{counted(result.brokers, 'broker')}, {counted(result.partitions, 'partition')}, "
        f"{counted(result.batches, 'batch', 'batches')}, "
        f"{memory.described(result.size)}; {result.seconds:.1f} s"
    )


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


@contextmanager
def searching() -> Iterator[Callable[[str], None]]:
    """Show the name of the current search on one line, which is updated in place. Show nothing if standard error is not
    a terminal.
    """
    out = console(stderr=True)
    if not out.is_terminal or is_plain(out):
        yield lambda title: None
        return
    line = TextColumn("{task.description}", markup=False)
    with Progress(SpinnerColumn(), line, console=out, transient=True) as progress:
        task = progress.add_task("searching for known bugs that match")
        yield lambda title: progress.update(task, description=f"searching for known bugs that match: {title}")


@contextmanager
def audit_progress() -> Iterator[Tell | None]:
    """Show the progress of an audit on one line, which is updated in place. Show nothing if standard error is not a
    terminal.
    """
    out = console(stderr=True)
    if not out.is_terminal or is_plain(out):
        yield None
        return
    line = TextColumn("{task.description}", markup=False)
    with Progress(SpinnerColumn(), line, console=out, transient=True) as progress:
        task = progress.add_task("looking for partitions")

        def show(done: Done) -> None:
            rate = done.size / done.seconds if done.seconds else 0.0
            text = (
                f"{done.partitions:,} of {counted(done.planned, 'partition')}  {done.batches:,} batches  "
                f"{memory.described(done.size)}  {memory.described(rate)}/s  {counted(done.errors, 'error')}"
            )
            progress.update(task, description=text)

        yield show
