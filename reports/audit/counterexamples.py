"""Counterexamples that match findings of an audit: interleavings that can lead to the state of the disks.

A counterexample matches a finding if it ends in the same kind of violation; names do not matter. See
`leadline.invariants.audit.shapes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import attrs

from leadline.checker.bounds import bounds_text
from leadline.checker.result import Verdict
from leadline.checker.support.messages import counted
from leadline.checker.trace import Trace, complaints_at_end
from leadline.invariants.audit.result import AuditResult, Finding, Shape
from leadline.invariants.audit.shapes import shape_of
from leadline.invariants.view import Complaint, PartitionView
from leadline.reports.suite import SHIPPED, read_suite

MOST_NAMED = 3
"""The most counterexamples of one shape that are named."""


@attrs.frozen(eq=False)
class Counterexample:
    """A known counterexample.

    Attributes:
        title: its title.
        trace: the trace.
        shape: the shape of the violation at its end.
    """

    title: str
    trace: Trace[PartitionView]
    shape: Shape

    @property
    def command(self) -> str:
        """The command that finds this counterexample."""
        spec, about = self.trace.spec, self.trace.about
        changed = {
            name: value
            for name, value in attrs.asdict(spec.bounds).items()
            if value != getattr(type(spec.bounds)(), name)
        }
        bounds = f" -b {bounds_text(changed)}" if changed else ""
        return f"leadline explore {spec.name}{bounds}{f' -i {about.name}' if about is not None else ''}"


def known(checks: Iterable[str], tell: Callable[[str], None] = lambda title: None) -> Iterator[Counterexample]:
    """Search for the counterexamples to the given properties in the shipped suite.

    Parameters:
        checks: the names of the properties.
        tell: called with the title of each search before it begins.
    """
    wanted = set(checks)
    for prepared in read_suite(SHIPPED):
        if prepared.check.violates not in wanted or prepared.check.engine == "fuzz":
            continue
        tell(prepared.title)
        result = prepared.run(None).result
        for item in result.properties:
            if item.verdict is Verdict.VIOLATED and item.property.name in wanted and item.traces:
                yield counterexample(prepared.title, item.traces[0])
        if result.interrupted:
            return


def counterexample(title: str, trace: Trace[PartitionView]) -> Counterexample:
    """Return a trace as a counterexample, with its shape."""
    assert trace.about is not None
    complaints = complaints_at_end(trace.spec, trace.about, trace.states)
    located = [complaint for complaint in complaints if isinstance(complaint, Complaint)]
    return Counterexample(title, trace, shape_of(trace.about.name, trace.states[-1], located))


def with_counterexamples(
    result: AuditResult, tell: Callable[[str], None] = lambda title: None
) -> tuple[AuditResult, list[Counterexample]]:
    """Match an audit's findings with counterexamples.

    Returns:
        The audit, whose findings name the matching counterexamples, and the shortest counterexample of each shape.
    """
    shapes = {finding.shape for finding in result.errors if finding.shape is not None}
    if not shapes:
        return result, []
    found: dict[Shape, list[Counterexample]] = {}
    with suppress(KeyboardInterrupt):  # the audit itself is complete, and must be reported
        for each in known({str(shape[0]) for shape in shapes}, tell):
            if each.shape in shapes:
                found.setdefault(each.shape, []).append(each)
    for alike in found.values():
        alike.sort(key=lambda each: len(each.trace))
    findings = tuple(_with_examples(finding, found.get(finding.shape or (), [])) for finding in result.findings)
    return attrs.evolve(result, findings=findings), [alike[0] for alike in found.values()]


def _with_examples(finding: Finding, alike: list[Counterexample]) -> Finding:
    if not alike:
        return finding
    names = "; ".join(
        f"{each.title} ({each.trace.spec.name}, {counted(len(each.trace), 'state')})" for each in alike[:MOST_NAMED]
    )
    sentence = f"a known counterexample ends in the same way: {names}. To search for it: {alike[0].command}"
    return attrs.evolve(finding, context=(*finding.context, sentence))
