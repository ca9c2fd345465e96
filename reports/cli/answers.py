"""The command `leadline answers`, which writes a suite's questions and answers as a page of Markdown."""

from __future__ import annotations

from pathlib import Path

import click

from leadline.reports.ci.markdown import answers_page
from leadline.reports.exit_codes import AS_EXPECTED, INCOMPLETE, VIOLATED
from leadline.reports.lines import say
from leadline.reports.suite import Outcome, read_suite
from leadline.reports.terminal.progress import progress_line

SHIPPED = Path(__file__).resolve().parent.parent / "answers" / "suite.toml"


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--title",
    default="What readers ask, answered by runs",
    show_default=True,
    metavar="TEXT",
    help="Title of the page.",
)
def answers(file: Path | None, title: str) -> int:
    """Run the checks of a suite, and write their questions and answers to standard output as Markdown.

    FILE is a suite file, as for `leadline check`. The name of each check is a question, and its note is the answer.
    Without FILE, the shipped suite is used. It answers questions from readers of the articles on Kafka's high
    watermark.

    Exit code 0: every check is as expected; 1: a check is not as expected, and the page names it; 2: the suite is
    invalid; 3: the run was interrupted, and the page shows only the checks that were completed.
    """
    outcomes: list[Outcome] = []
    is_whole = True
    for prepared in read_suite(file or SHIPPED):
        with progress_line(prepared.title) as progress:
            outcome = prepared.run(progress)
        if outcome.result.interrupted:
            is_whole = False
            break
        outcomes.append(outcome)
    shown = file or SHIPPED.relative_to(SHIPPED.parent.parent.parent)
    say("\n".join(answers_page(title, shown, outcomes)))
    if any(outcome.failure for outcome in outcomes):
        return VIOLATED
    return AS_EXPECTED if is_whole else INCOMPLETE
