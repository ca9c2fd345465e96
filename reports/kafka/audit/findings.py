"""The findings of an audit in the form that CI systems need."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import attrs

from leadline.checker.result import Verdict
from leadline.checker.support.escapes import visible
from leadline.invariants.audit.result import AuditResult
from leadline.invariants.audit.result import Finding as AuditFinding
from leadline.reports.ci.findings import Finding, SourceLocation, location_of
from leadline.reports.kafka.audit.counterexamples import Counterexample
from leadline.reports.kafka.audit.document import partition_name, verdict_sentence

COMPLETE = "everything could be decided"
"""The name of the finding on an audit as a whole."""


@attrs.frozen(eq=False)
class AuditReport:
    """The contents of a report on an audit.

    Attributes:
        directories: the names of the audited directories, as one line of text.
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
