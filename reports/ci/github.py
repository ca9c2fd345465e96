"""GitHub workflow commands, which show findings next to the code, and job summaries in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from leadline.checker.result import Verdict
from leadline.checker.support.escapes import visible
from leadline.reports.ci.findings import Finding, findings
from leadline.reports.ci.markdown import cell
from leadline.reports.suite import Outcome, as_expected
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
    lines = [f"### leadline: {as_expected([outcome.exit_code for outcome in outcomes], planned)}", ""]
    lines += ["| | check | expected | found | distinct states | trace | time |", "|---|---|---|---|---:|---:|---:|"]
    lines += [_row(outcome) for outcome in outcomes]
    text = "\n".join([*lines, ""])
    left_out = 0
    for finding in _drawn(outcomes):
        assert finding.trace is not None
        diagram = (
            f"\n<details><summary>{cell(finding.check)}: {cell(finding.explained())}</summary>\n\n"
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


def _row(outcome: Outcome) -> str:
    check, result, unspoken = outcome.prepared.check, outcome.result, outcome.result.statistics.open
    lengths = [len(item.traces[0]) for item in result.properties if item.verdict is Verdict.VIOLATED and item.traces]
    cells = [
        ":x:" if outcome.failure else ":white_check_mark:",
        cell(outcome.prepared.title),
        f"{check.expect}{f' {cell(check.violates)}' if check.violates else ''}",
        f"{result.verdict.value}{f'; {cell(outcome.failure)}' if outcome.failure else ''}{_says_nothing(outcome)}",
        f"{result.statistics.distinct:,}{f' ({unspoken:,} open)' if unspoken else ''}",
        str(min(lengths)) if lengths else "",
        f"{result.statistics.seconds:.1f} s",
    ]
    return f"| {' | '.join(cells)} |"


def _says_nothing(outcome: Outcome) -> str:
    names = outcome.saying_nothing
    return f"; premise never true: {cell(', '.join(names))}" if names else ""
