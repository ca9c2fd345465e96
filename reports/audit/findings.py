"""The findings of an audit in the form that CI systems need, and the audit as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from leadline.checker.result import Verdict
from leadline.checker.support.escapes import visible
from leadline.checker.support.messages import counted
from leadline.invariants.audit.result import AuditResult
from leadline.invariants.audit.result import Finding as AuditFinding
from leadline.reports.audit.counterexamples import Counterexample
from leadline.reports.audit.terminal import partition_name, verdict_sentence
from leadline.reports.ci.findings import Finding, SourceLocation, location_of
from leadline.reports.ci.markdown import cell
from leadline.reports.traces.mermaid import mermaid
from leadline.reports.traces.story import story_of

COMPLETE = "everything could be decided"
"""The name of the finding on an audit as a whole."""

MOST_ROWS = 200
"""The maximum number of findings in a Markdown table."""


@attrs.frozen(eq=False)
class AuditReport:
    """The contents of a report on an audit.

    Attributes:
        directories: the names of the audited directories, as one line of text.
        result: the audit.
        examples: the counterexamples that match the findings of the audit.
    """

    directories: str = attrs.field(converter=visible)
    result: AuditResult
    examples: Sequence[Counterexample]


def audit_findings(result: AuditResult) -> list[Finding]:
    """Return the findings of an audit: its violations, the properties that hold, and whether the audit is complete.

    Notes are not findings, because they are not errors.
    """
    found = []
    for check in result.checks:
        errors = [finding for finding in result.errors if finding.check == check.name]
        for error in errors:
            name = partition_name(error.topic, error.partition)
            location = _directory(error) or location_of(check)
            found.append(Finding(name, check.name, "failed", error.text, check, location=location))
        if errors:
            continue
        if result.verdict_on(check) is Verdict.INCOMPLETE:
            message = f"{check.name} is incomplete: {'; '.join(result.reasons)}"
            found.append(Finding("audit", check.name, "incomplete", message, check, location=location_of(check)))
        else:
            found.append(Finding("audit", check.name, "passed", f"{check.name} holds: {check.sentence}", check))
    if result.reasons:
        found.append(Finding("audit", COMPLETE, "incomplete", "; ".join(result.reasons)))
    else:
        found.append(Finding("audit", COMPLETE, "passed", verdict_sentence(result), seconds=result.seconds))
    return found


def _directory(error: AuditFinding) -> SourceLocation | None:
    """Return the directory in which a violation was found, relative to the working directory if possible."""
    if not error.path or "://" in error.path:
        return None
    path = Path(error.path).absolute()
    return SourceLocation((path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path).as_posix(), 1)


def audit_markdown(result: AuditResult, examples: Sequence[Counterexample]) -> str:
    """Return an audit as Markdown: the verdict, a table of the findings, and a counterexample that matches a
    finding.
    """
    return "\n".join([*_markdown(result, examples), ""])


def _markdown(result: AuditResult, examples: Sequence[Counterexample]) -> Iterator[str]:
    counts = f"{counted(result.brokers, 'broker')}, {counted(result.partitions, 'partition')}"
    yield from (f"### leadline audit: {result.verdict.value}", "")
    yield from (f"{verdict_sentence(result)}; {counts}, {counted(result.batches, 'batch', 'batches')}.", "")
    if result.findings:
        yield "| | partition | check | brokers | offset | |"
        yield "|---|---|---|---|---:|---|"
    for finding in result.findings[:MOST_ROWS]:
        cells = [
            ":x:" if finding.severity == "error" else ":information_source:",
            cell(partition_name(finding.topic, finding.partition)),
            f"`{finding.check}`",
            ", ".join(map(str, finding.brokers)),
            "" if finding.offset is None else str(finding.offset),
            cell(finding.text),
        ]
        yield f"| {' | '.join(cells)} |"
    if len(result.findings) > MOST_ROWS:
        yield from ("", f"{len(result.findings) - MOST_ROWS:,} more findings are left out here.")
    for reason in result.reasons:
        yield from ("", f"Undecided: {cell(reason)}.")
    for example in examples[:1]:
        yield from ("", f"<details><summary>{cell(example.title)}: how this can happen</summary>", "", "```mermaid")
        yield from (mermaid(story_of(example.trace)).rstrip(), "```", "", "</details>")
