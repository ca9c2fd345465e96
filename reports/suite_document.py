"""Say what the result of a suite is: a table of its checks, of which the unexpected come first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leadline.checker.result import Verdict
from leadline.checker.support.messages import counted
from leadline.reports.document import Block, Cell, Document, Fold, Span, Table, table, words
from leadline.reports.runs.phrases import states_text
from leadline.reports.suite import Outcome, as_expected

Row = tuple[Cell | str, ...]


def suite_document(outcomes: Sequence[Outcome], planned: int, links: Sequence[str] = ()) -> Document:
    """Return the document of a suite.

    Parameters:
        outcomes: the checks that were run, with their results.
        planned: the number of checks in the suite.
        links: the link to each check, if the document is shown together with them.
    """
    said = as_expected([outcome.exit_code for outcome in outcomes], planned)
    return Document(f"leadline: {said}", tuple(_blocks(outcomes, links or [""] * len(outcomes))))


def _blocks(outcomes: Sequence[Outcome], links: Sequence[str]) -> Iterator[Block]:
    rows = [(bool(each.failure), _row(each, link)) for each, link in zip(outcomes, links, strict=True)]
    failed, passed = ([row for is_failed, row in rows if is_failed is wanted] for wanted in (True, False))
    if failed:
        yield _table("checks that are not as expected", failed)
    if failed and passed:
        yield Fold(words(f"{counted(len(passed), 'check')} as expected"), (_table("checks as expected", passed),))
    elif passed:
        yield _table("checks", passed)


def _table(name: str, rows: Sequence[Row]) -> Table:
    return table(name, ("check", "", "expected", "found", "distinct states", "trace", "time"), rows)


def _row(outcome: Outcome, link: str) -> Row:
    check, result = outcome.prepared.check, outcome.result
    lengths = [len(item.traces[0]) for item in result.properties if item.verdict is Verdict.VIOLATED and item.traces]
    nothing = f"holds vacuously: {', '.join(outcome.saying_nothing)}" if outcome.saying_nothing else ""
    again = (Span(". To repeat it: "), Span(outcome.prepared.check_command, "code")) if outcome.failure else ()
    found = "; ".join(filter(None, (result.verdict.value, outcome.failure, nothing)))
    return (
        Cell((Span(outcome.prepared.title, "", link),)),
        Cell(words("FAIL" if outcome.failure else "ok"), "violated" if outcome.failure else "holds"),
        f"{check.expect} {check.violates or ''}".rstrip(),
        Cell((Span(found), *again), "violated" if outcome.failure else ""),
        states_text(result.statistics).replace(" states", "").replace(" state", ""),
        f"{min(lengths)}" if lengths else "",
        f"{result.statistics.seconds:.1f} s",
    )
