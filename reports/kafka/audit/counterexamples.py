"""Find known bugs that match the findings of an audit. A trace of each bug shows how the disks can get into such a
state.

A known bug matches a finding if two conditions are met: the trace of the bug ends in the same kind of violation, and a
release that has the bug could have written the logs. See `leadline.invariants.audit.shapes` and
`leadline.invariants.audit.releases`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import attrs

from leadline.checker.properties import Property
from leadline.checker.support.messages import counted
from leadline.checker.trace import Trace
from leadline.invariants.audit.partition import OF_SPECS
from leadline.invariants.audit.releases import ReleaseRange
from leadline.invariants.audit.result import AuditResult, Finding, Shape
from leadline.invariants.audit.shapes import LOST, shape_of, shape_of_fenced_elections
from leadline.invariants.leadership import leaders_elected_alive
from leadline.invariants.promises import LOSS_PROPERTIES
from leadline.invariants.view import Complaint, PartitionView
from leadline.model.kafka.state import Partition
from leadline.reports.kafka.bugs import NO_TICKET, SHIPPED, Bug, read_archive
from leadline.reports.kafka.kept_behaviours import kept
from leadline.reports.loading import command_for_trace

MOST_NAMED = 3
"""The maximum number of bugs that are named for one finding."""


@attrs.frozen(eq=False)
class Counterexample:
    """A counterexample that shows a known bug.

    Attributes:
        releases: the range of releases that could have written the logs.
        shapes: the kinds of violations at the end of the trace.
    """

    bug: Bug
    trace: Trace[PartitionView]
    releases: ReleaseRange
    shapes: frozenset[Shape]

    @property
    def title(self) -> str:
        """The ticket of the bug, and a sentence that describes the bug."""
        return f"{self.bug.ticket}: {self.bug.sentence.rstrip('.')}"

    @property
    def command(self) -> str:
        """The command that searches for this counterexample."""
        return command_for_trace(self.trace)

    def matches(self, finding: Finding) -> bool:
        """Return whether the trace ends in the same kind of violation as a finding, and whether a release with the bug
        could have written the logs.
        """
        return finding.shape in self.shapes and finding.releases == self.releases


def known(releases: ReleaseRange, tell: Callable[[str], None] = lambda title: None) -> Iterator[Counterexample]:
    """Search for each known bug that affects a release in the given range. Search in the last affected release of the
    range, unless a trace of it is kept.

    Parameters:
        tell: a function that is called with the ticket of each bug before the search for the bug begins.

    Raises:
        KeyboardInterrupt: if a search was interrupted.
    """
    archive = read_archive(SHIPPED)
    for bug in archive.bugs:
        if not any(_column_name(name) in releases.names for name in bug.affected):
            continue
        tell(f"{bug.ticket} ({releases.text})")
        runs = [run for run in archive.runs(bug) if run.part == "affected"]
        run = [run for run in runs if _column_name(run.spec.name) in releases.names][-1]
        trace = kept(run)
        if trace is None:
            result = run.searched()
            if result.interrupted:
                raise KeyboardInterrupt
            trace = next(iter(result.result.properties[0].traces), None)
        if trace is not None:
            yield Counterexample(bug, trace, releases, shapes_at_end(trace))


def _column_name(reference: str) -> str:
    """Return the catalog name of the release in a reference such as ``kafka/4.1+elr=on``, without the changed rules."""
    return reference.partition("+")[0]


def shapes_at_end(trace: Trace[PartitionView]) -> frozenset[Shape]:
    """Return the kinds of violations in the last state of a trace that can also be observed on disks. The election of a
    fenced broker in the last step can be observed in the metadata log.
    """
    shapes = {
        shape_of(check.name, trace.states[-1], complaints)
        for check in OF_SPECS
        if (complaints := _complaints(check, trace.states[-1]))
    }
    for before, after in zip(trace.states[-2:-1], trace.states[-1:], strict=True):
        if isinstance(before, Partition) and _complaints(leaders_elected_alive, before, after):
            shapes.add(shape_of_fenced_elections(after.quorum.leader in before.quorum.isr | before.quorum.elr))
    if trace.about is not None and trace.about.name in LOSS_PROPERTIES:
        shapes.add(LOST)
    return frozenset(shapes)


def _complaints(check: Property, *states: PartitionView) -> list[Complaint]:
    return [complaint for complaint in check.complaints(*states) if isinstance(complaint, Complaint)]


def with_counterexamples(
    result: AuditResult, tell: Callable[[str], None] = lambda title: None
) -> tuple[AuditResult, list[Counterexample]]:
    """Add the matching known bugs to the findings of an audit.

    Returns:
        The audit with the known bugs added, and the shortest matching counterexample for each finding. If no trace
        of a bug ends like a finding, the finding says so. Of a loss, any bug that loses records can be the cause, so
        that it has no counterexample. If a search is interrupted, the findings name only the bugs
        that were found before the interrupt.
    """
    found: list[Counterexample] = []
    complete = True
    ranges = {finding.releases for finding in result.errors if finding.releases is not None}
    try:
        for releases in sorted(ranges, key=lambda each: each.text):
            found += known(releases, tell)
    except KeyboardInterrupt:  # the audit itself is complete, and must be reported
        complete = False
    found.sort(key=lambda each: len(each.trace))
    findings = tuple(_with_examples(finding, found, complete=complete) for finding in result.findings)
    shortest = [next(_matching(finding, found), None) for finding in result.errors if finding.shape != LOST]
    examples = [each for each in found if any(each is other for other in shortest)]
    return attrs.evolve(result, findings=findings), examples


def _matching(finding: Finding, examples: Iterable[Counterexample]) -> Iterator[Counterexample]:
    return (each for each in examples if each.matches(finding))


def _with_examples(finding: Finding, found: list[Counterexample], *, complete: bool) -> Finding:
    if finding.releases is None:
        return finding
    alike = [*_matching(finding, found)]
    if alike and finding.shape == LOST:
        names = ", ".join(each.bug.ticket.removeprefix(NO_TICKET) for each in alike)
        sentence = (
            f"{counted(len(alike), 'known bug')} of {finding.releases.text} can lose committed records, and the disks "
            f"do not say which one did: {names}. `leadline bugs NAME` says what one needs, and how to check for it"
        )
    elif alike:
        names = "; ".join(
            f"{each.title} ({each.trace.spec.name}, {counted(len(each.trace), 'state')})" for each in alike[:MOST_NAMED]
        )
        sentence = f"a known bug ends in the same way: {names}. To search for it: {alike[0].command}"
    elif complete:
        sentence = (
            f"no archived trace ends exactly so: each bug that `leadline bugs` has for {finding.releases.text} ends "
            "another way in its shortest trace, which does not rule the bug out"
        )
    else:
        sentence = "the search for known bugs that explain it was interrupted"
    return attrs.evolve(finding, context=(*finding.context, sentence))
