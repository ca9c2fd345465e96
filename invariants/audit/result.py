"""The result of an audit."""

from __future__ import annotations

from typing import Literal

import attrs

from leadline.checker.properties import Property
from leadline.checker.result import Verdict
from leadline.invariants.audit.releases import ReleaseRange
from leadline.model.disk.log_table import LogTable

Shape = tuple[object, ...]
"""The shape of a violation: a value that is equal for similar violations. See `leadline.invariants.audit.shapes`."""

Severity = Literal["error", "note"]


@attrs.frozen
class Finding:
    """A violation or note that an audit reports.

    Attributes:
        check: the name of the property, or the subject of the note.
        severity: ``error`` for a violation of the property, or ``note`` for any other information.
        topic, partition: the topic name and the partition number, or None if the finding concerns a whole directory.
        brokers: the brokers that the finding concerns.
        offset: the first offset that the finding concerns, or None if it does not concern an offset.
        sentence: the description of the violation or the note.
        context: sentences about likely causes and about further violations.
        situation: sentences about the partition, such as the offsets at which its logs diverge and the electable
            brokers.
        path: a file or directory to inspect.
        shape: the shape of the violation (see `shape_of`), or None if no spec has this property.
        releases: the releases that could have written the logs, or None if `shape` is None.
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
    releases: ReleaseRange | None = None

    @property
    def text(self) -> str:
        """The sentence, the context and the situation as one text."""
        return ". ".join(part.rstrip(".") for part in (self.sentence, *self.context, *self.situation))


@attrs.frozen
class UndecidedCheck:
    """A property that could not be decided.

    Attributes:
        check: the name of the property, or an empty string if the reason concerns all properties.
        reason: the reason why the property could not be decided, or an empty string if no reason is known.
    """

    check: str
    reason: str


@attrs.frozen(eq=False)
class AuditResult:
    """The result of an audit of one or more clusters.

    Attributes:
        findings: the findings, errors first.
        reasons: sentences that say why the audit is incomplete. Empty if the audit is complete.
        checks: the properties that were checked.
        open: the names of the properties that are undecided for at least one partition.
        brokers, partitions: the number of brokers, not counting nodes that are only controllers, and the number of
            partitions, not counting the metadata log.
        batches, size: the number of batches that were read, and the size of the segments in bytes.
        seconds: the duration of the audit in seconds.
        tables: for each partition with errors, a table of its logs. The keys are the topic and the partition number.
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
        """``violated`` if there is an error, otherwise ``incomplete`` if a property is undecided, otherwise
        ``holds``.
        """
        if self.errors:
            return Verdict.VIOLATED
        return Verdict.INCOMPLETE if self.reasons else Verdict.HOLDS

    def verdict_on(self, check: Property) -> Verdict:
        """Return the verdict on one property."""
        if any(finding.check == check.name for finding in self.errors):
            return Verdict.VIOLATED
        return Verdict.INCOMPLETE if check.name in self.open else Verdict.HOLDS
