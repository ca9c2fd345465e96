"""The result of an audit."""

from __future__ import annotations

from typing import Literal

import attrs

from leadline.checker.properties import Property
from leadline.checker.result import Verdict
from leadline.model.disk.log_table import LogTable

Shape = tuple[object, ...]
"""A value that is equal for violations with the same shape. See `leadline.invariants.audit.shapes`."""

Severity = Literal["error", "note"]


@attrs.frozen
class Finding:
    """A violation or note that an audit reports.

    Attributes:
        check: the name of the property, or the subject of the note.
        severity: ``error`` for a violation of the property; ``note`` for other information.
        topic, partition: the partition; None if it concerns a whole directory.
        brokers: the brokers concerned.
        offset: the first offset concerned; None if there is none.
        sentence: what was found.
        context: likely causes and similar facts, one sentence each.
        situation: facts about the partition, a sentence each: where its logs diverge, which brokers can be elected.
        path: a file or directory to inspect.
        shape: the shape of the violation, if specs have the property too. See `shape_of`.
    """

    check: str
    severity: Severity
    topic: str | None
    partition: int | None
    brokers: tuple[int, ...]
    offset: int | None
    sentence: str
    context: tuple[str, ...] = ()
    situation: tuple[str, ...] = ()
    path: str = ""
    shape: Shape | None = None

    @property
    def text(self) -> str:
        """The sentence, context and situation as one text."""
        return ". ".join(part.rstrip(".") for part in (self.sentence, *self.context, *self.situation))


@attrs.frozen
class UndecidedCheck:
    """A property that could not be decided.

    Attributes:
        check: the name of the property; empty if the reason concerns all properties.
        reason: the reason.
    """

    check: str
    reason: str


@attrs.frozen(eq=False)
class AuditResult:
    """The result of an audit of one or more clusters.

    Attributes:
        findings: the findings, errors first.
        reasons: the reasons why the audit is incomplete, a sentence each; empty if it is complete.
        checks: the properties that were checked.
        open: the names of the properties that could not be decided everywhere.
        brokers, partitions, batches, size: the numbers of brokers, partitions and batches read, and the size of the
            batches in bytes.
        seconds: wall-clock seconds.
        tables: the logs of partitions with errors, as views show them, by topic and partition.
    """

    findings: tuple[Finding, ...]
    reasons: tuple[str, ...]
    checks: tuple[Property, ...]
    open: frozenset[str]
    brokers: int
    partitions: int
    batches: int
    size: int
    seconds: float
    tables: dict[tuple[str, int], LogTable] = attrs.field(factory=dict)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that are violations."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def verdict(self) -> Verdict:
        """Violated if there is an error; otherwise incomplete if something is undecided; otherwise holds."""
        if self.errors:
            return Verdict.VIOLATED
        return Verdict.INCOMPLETE if self.reasons else Verdict.HOLDS

    def verdict_on(self, check: Property) -> Verdict:
        """The verdict on one property."""
        if any(finding.check == check.name for finding in self.errors):
            return Verdict.VIOLATED
        return Verdict.INCOMPLETE if check.name in self.open else Verdict.HOLDS
