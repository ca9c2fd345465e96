"""`leadline check`: run a suite, as CI does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import attrs
import click
from rich.console import Console
from rich.text import Text

from leadline.checker.errors import LeadlineError
from leadline.checker.result import Verdict
from leadline.checker.support.names import counted
from leadline.checker.support.visible import visible
from leadline.reports.ci.findings import findings, not_run
from leadline.reports.ci.github import summary, workflow_commands
from leadline.reports.ci.junit import junit as junit_xml
from leadline.reports.ci.sarif import sarif as sarif_log
from leadline.reports.cli.options import coverage_option
from leadline.reports.cli.outputs import Attempts, check_output, check_output_folder, write_output, writing
from leadline.reports.exit_codes import AS_EXPECTED, INCOMPLETE, VIOLATED
from leadline.reports.html.run import run_page, with_traces
from leadline.reports.origin import Origin
from leadline.reports.runs.phrases import gaps
from leadline.reports.runs.run_view import view_of_result
from leadline.reports.suite import SHIPPED, Outcome, PreparedCheck, as_expected, find_suite, read_suite
from leadline.reports.terminal.run import STYLES, console, progress_line, show_traces

_file = click.Path(path_type=Path, dir_okay=False)
_folder = click.Path(path_type=Path, file_okay=False)


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--shipped", is_flag=True, help="Run the shipped suite, which checks every shipped protocol.")
@click.option("--junit", metavar="FILE", type=_file, help="Write JUnit XML: a test case for each check and property.")
@click.option("--sarif", metavar="FILE", type=_file, help="Write SARIF, for code scanning.")
@click.option("--markdown", metavar="FILE", type=_file, help="Append a Markdown summary, for $GITHUB_STEP_SUMMARY.")
@click.option(
    "--html", metavar="DIR", type=_folder, help="Write an HTML page of the run and its traces: DIR/index.html."
)
@coverage_option
@click.option("--github", is_flag=True, help="Print GitHub workflow commands that annotate the code with findings.")
def check(
    file: Path | None,
    shipped: bool,
    junit: Path | None,
    sarif: Path | None,
    markdown: Path | None,
    html: Path | None,
    coverage: bool,
    github: bool,
) -> int:
    """Run the checks of a suite, and compare each result with the expected one.

    FILE is a TOML file. By default, it is leadline.toml in the current folder, or else pyproject.toml with a table
    [tool.leadline].

    \b
    [[check]]
    spec = "atomic/kip-101"
    bounds = { max_epoch = 2 }
    expect = "violated"
    violates = "strong_isr"

    The traces of the first violation and of the first unexpected violation are shown.

    Exit code 0: every check is as expected; 1: a check is not; 2: there is no suite, or it is
    invalid; 3: a check is incomplete.
    """
    if shipped and file is not None:
        raise click.UsageError("--shipped is for the shipped suite: leave out FILE")
    out, path = console(), SHIPPED if shipped else file or find_suite(Path())
    if path is None:
        raise LeadlineError(
            "there is no leadline.toml here, and no [tool.leadline] in a pyproject.toml: name a suite's file, or give "
            "--shipped to run the shipped suite"
        )
    checks = read_suite(path)
    reports = Reports(path.name, junit, sarif, markdown, html)
    reports.check()
    outcomes, broken = _run(out, checks, coverage)
    attempt, code = Attempts(), INCOMPLETE
    with attempt:
        for command in workflow_commands(outcomes) if github else ():
            click.echo(command)
        if broken is None:
            code = _summary(out, [outcome.exit_code for outcome in outcomes], len(checks))
    reports.write(checks, outcomes, attempt)
    if broken is not None:
        raise broken
    attempt.raise_failures()
    return code


def _run(
    out: Console, checks: Sequence[PreparedCheck], coverage: bool
) -> tuple[list[Outcome], LeadlineError | KeyboardInterrupt | None]:
    """Run checks one after another, and print a line for each, with the traces that are shown.

    Parameters:
        out: where to print.
        checks: the checks.
        coverage: whether what they have not tried is shown, too.

    Returns:
        The outcomes, and what the spec of a check did that ended the run, if one did.
    """
    width = max(len(prepared.title) for prepared in checks)
    shown, outcomes = set[bool](), list[Outcome]()
    for prepared in checks:
        try:
            with progress_line(prepared.title) as progress:
                outcome = prepared.run(progress, coverage)
        except (LeadlineError, KeyboardInterrupt) as error:  # or the reports of an earlier run would stay
            return outcomes, error
        outcomes.append(outcome)
        out.print(_line(outcome, width), soft_wrap=True)
        for line in gaps(view_of_result(outcome.result), reported=outcome.reported_gaps):
            out.print(f"      {line}", style="yellow", soft_wrap=True)
        expected = not outcome.failure
        if outcome.result.verdict is Verdict.VIOLATED and (not shown or (not expected and False not in shown)):
            shown.add(expected)
            out.print()
            show_traces(out, outcome.result, only=1)
        if outcome.result.interrupted:
            break
    return outcomes, None


@attrs.frozen
class Reports:
    """The reports that were asked for.

    Attributes:
        suite: the name of the suite's file.
        junit, sarif, markdown: their files; None: not wanted.
        html: the folder of the page; None: not wanted.
    """

    suite: str
    junit: Path | None
    sarif: Path | None
    markdown: Path | None
    html: Path | None

    def check(self) -> None:
        """Refuse what cannot be written to, before anything is searched. Raises LeadlineError."""
        for output in filter(None, (self.junit, self.sarif, self.markdown)):
            check_output(output)
        if self.html is not None:
            check_output_folder(self.html)

    def write(self, checks: Sequence[PreparedCheck], outcomes: Sequence[Outcome], attempt: Attempts) -> None:
        """Write them.

        Parameters:
            checks: the checks that were planned.
            outcomes: those that were run, with their results.
            attempt: what each of them is written in.
        """
        found = [finding for outcome in outcomes for finding in findings(outcome)]
        found += [not_run(prepared.title) for prepared in checks[len(outcomes) :]]
        if self.junit is not None:
            with attempt:
                write_output(self.junit, junit_xml(self.suite, found))
        if self.sarif is not None:
            with attempt:
                write_output(self.sarif, sarif_log(found))
        if self.markdown is not None:
            with attempt:
                _append(self.markdown, summary(outcomes, len(checks)))
        if self.html is not None:
            with attempt:
                write_output(self.html / "index.html", _page(outcomes, len(checks)))


def _page(outcomes: Sequence[Outcome], planned: int) -> str:
    origin = Origin.now()
    runs = [
        with_traces(each.result, view_of_result(each.result, origin), each.prepared.title, each.failure)
        for each in outcomes
    ]
    return run_page(f"leadline: {as_expected([outcome.exit_code for outcome in outcomes], planned)}", runs)


def _append(path: Path, text: str) -> None:
    with writing(path), path.open("a", encoding="utf-8") as file:
        file.write(text)


def _line(outcome: Outcome, width: int) -> Text:
    result, good = outcome.result, not outcome.failure
    line = Text("ok    " if good else "FAIL  ", style="green" if good else "bold red")
    line.append(f"{outcome.prepared.title:<{width}}  ", style="default not bold")
    line.append(result.verdict.value, style=STYLES[result.verdict])
    lengths = [len(item.traces[0]) for item in result.properties if item.verdict is Verdict.VIOLATED and item.traces]
    size = f"trace of {min(lengths)}" if lengths else counted(result.statistics.distinct, "state")
    line.append(f", {size}", style="default not bold")
    line.append(f"  {result.statistics.seconds:.1f} s", style="dim not bold")
    if not good:
        line.append(f"\n      {visible(outcome.failure)}", style="default not bold")
    return line


def _summary(out: Console, codes: list[int], planned: int) -> int:
    worst = next((code for code in (VIOLATED, INCOMPLETE) if code in codes), AS_EXPECTED)
    if worst == AS_EXPECTED and len(codes) < planned:
        worst = INCOMPLETE
    out.print(as_expected(codes, planned), style="green" if worst == AS_EXPECTED else "bold red")
    return worst
