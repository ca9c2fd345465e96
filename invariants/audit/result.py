"""The result of an audit."""

from __future__ import annotations

from typing import Literal

import attrs

from leadline.checker.properties import Property
from leadline.checker.result import Verdict
from leadline.model.disk.log_table import LogTable

Shape = tuple[object, ...]
"""A value that is equal for two violations of one shape. See `leadline.invariants.audit.shapes`."""

Severity = Literal["error", "note"]


@attrs.frozen
class Finding:
    """Something that an audit found.

    Attributes:
        check: the name of the property, or of what the note is about.
        severity: ``error`` if the property is violated; ``note`` if it is explained, or merely worth knowing.
        topic, partition: which partition; None if it is about a whole directory.
        brokers: the brokers it is about.
        offset: the offset at which it begins; None if there is none.
        sentence: what is wrong.
        context: its likely cause and similar, a sentence each.
        situation: facts about the partition, a sentence each: where its logs diverge, who can be elected.
        path: a file or directory to look at.
        shape: of a violation of a property of the specs, what it has in common with others. See `shape_of`.
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
        """The sentence with its context, as one text."""
        return ". ".join(part.rstrip(".") for part in (self.sentence, *self.context, *self.situation))


@attrs.frozen
class UndecidedCheck:
    """A property that could not be decided.

    Attributes:
        check: the property's name.
        reason: why.
    """

    check: str
    reason: str


@attrs.frozen(eq=False)
class AuditResult:
    """What an audit of a cluster, or of several, found.

    Attributes:
        findings: what was found, errors first.
        reasons: why the audit is not complete, a sentence each; empty if it is.
        checks: the properties that were checked.
        open: those of them that could not be decided everywhere, by their names.
        brokers, partitions, batches, size: the number of brokers, partitions and batches read, and their bytes.
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
        """Violated if anything is wrong, else incomplete if something is undecided, else holds."""
        if self.errors:
            return Verdict.VIOLATED
        return Verdict.INCOMPLETE if self.reasons else Verdict.HOLDS

    def verdict_on(self, check: Property) -> Verdict:
        """What is known of one property."""
        if any(finding.check == check.name for finding in self.errors):
            return Verdict.VIOLATED
        return Verdict.INCOMPLETE if check.name in self.open else Verdict.HOLDS
