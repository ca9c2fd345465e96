"""GitHub workflow commands, which show findings next to the code, and job summaries in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from leadline.checker.support.escapes import visible
from leadline.reports.ci.findings import Finding, findings
from leadline.reports.document.markdown import escaped, markdown
from leadline.reports.suite import Outcome
from leadline.reports.suite_document import suite_document
from leadline.reports.traces.mermaid import mermaid
from leadline.reports.traces.story import story_of

MOST_BYTES = 1_000_000
"""The maximum number of bytes of a summary: GitHub does not show summaries above 1 MiB."""


def workflow_commands(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """Yield a workflow command for each unexpected finding. The command refers to the property's function.

    GitHub shows only the first ten commands of a job step. Therefore failures come first, and an incomplete check has
    only one command.
    """
    failed, left_open = list[Finding](), list[Finding]()
    for outcome in outcomes:
        found = findings(outcome)
        wrong = [finding for finding in found if finding.status == "failed"]
        failed += wrong
        left_open += [finding for finding in found if finding.status == "incomplete" and not wrong][:1]
    for finding in (*failed, *left_open):
        place = finding.location
        where = {"file": visible(place.path), "line": str(place.line)} if place is not None else {}
        said = {**where, "title": f"{finding.check}: {finding.name}"}
        given = ",".join(f"{name}={_property(value)}" for name, value in said.items())
        yield f"::error {given}::{_data(finding.explained())}"


def _data(text: str) -> str:
    return text.replace("%", "%25")  # line breaks would need it too, but visible texts have none


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def summary(outcomes: Sequence[Outcome], planned: int, most: int = MOST_BYTES) -> str:
    """Return a summary of a suite's run: a table of the checks, and a diagram of each unexpected counterexample.

    If all results are as expected, there is a diagram of the first expected counterexample.

    Parameters:
        outcomes: the checks that were run, with their results.
        planned: the number of checks in the suite.
        most: the maximum size of the summary in bytes. Diagrams that do not fit are left out, and the summary says how
            many are missing.
    """
    text = markdown(suite_document(outcomes, planned))
    left_out = 0
    for finding in _drawn(outcomes):
        assert finding.trace is not None
        diagram = (
            f"\n<details><summary>{escaped(finding.check)}: {escaped(finding.explained())}</summary>\n\n"
            f"```mermaid\n{mermaid(story_of(finding.trace))}```\n\n</details>\n"
        )
        if len((text + diagram).encode("utf-8")) + 200 > most:
            left_out += 1
        else:
            text += diagram
    return text + (f"\n{left_out} more traces are left out here for want of room.\n" if left_out else "")


def _drawn(outcomes: Sequence[Outcome]) -> list[Finding]:
    """Return the findings for which the summary draws a trace."""
    found = [finding for outcome in outcomes for finding in findings(outcome)]
    with_trace = [item for item in found if item.trace is not None and item.trace.about is not None]
    wrong = [item for item in with_trace if item.status == "failed"]
    expected = [item for item in with_trace if item.property is not None and not item.property.kind.is_witness]
    return wrong or expected[:1]
