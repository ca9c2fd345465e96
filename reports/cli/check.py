"""`leadline check`: run a suite, as CI does."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click
from rich.console import Console
from rich.text import Text

from checker.errors import LeadlineError
from checker.names import counted
from checker.result import Verdict
from checker.visible import visible
from reports.cli.options import Attempts, check_output, check_output_folder, writing
from reports.exit_codes import AS_EXPECTED, INCOMPLETE, VIOLATED
from reports.findings import findings, not_run
from reports.github import summary, workflow_commands
from reports.html.run import run_found, run_page
from reports.junit import junit as junit_xml
from reports.sarif import sarif as sarif_log
from reports.suite import SHIPPED, Outcome, as_expected, find_suite, read_suite
from reports.terminal import STYLES, console, progress_line, show_traces

_file = click.Path(path_type=Path, dir_okay=False)
_folder = click.Path(path_type=Path, file_okay=False)


@click.command(short_help="Run a suite of checks, as CI does.")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--junit", metavar="FILE", type=_file, help="Write JUnit XML: a test case for each check and property.")
@click.option("--sarif", metavar="FILE", type=_file, help="Write SARIF, for code scanning.")
@click.option("--markdown", metavar="FILE", type=_file, help="Append a summary, as for $GITHUB_STEP_SUMMARY.")
@click.option("--html", metavar="DIR", type=_folder, help="Write a page of the run and its traces: DIR/index.html.")
@click.option("--github", is_flag=True, help="Print workflow commands that put findings beside the code.")
def check(
    file: Path | None,
    junit: Path | None,
    sarif: Path | None,
    markdown: Path | None,
    html: Path | None,
    github: bool,
) -> int:
    """Run the checks of a suite and compare each with what is expected of it.

    FILE is a TOML file; without it, leadline.toml or [tool.leadline] in pyproject.toml of this folder;
    without these, the shipped suite, which checks every shipped protocol.

    \b
    [[check]]
    spec = "atomic/kip-101"
    bounds = { max_epoch = 2 }
    expect = "violated"
    violates = "strong_isr"

    The trace of the first violation is shown, and of the first that was not expected. Exit code 0: all
    as expected; 1: something is not; 2: a mistake in the suite; 3: something was incomplete.
    """
    out = console()
    path = file or find_suite(Path())
    if path is None:
        out.print("no leadline.toml and no [tool.leadline] here: running the shipped suite", style="dim")
    checks = read_suite(path or SHIPPED)
    for output in filter(None, (junit, sarif, markdown)):
        check_output(output)
    if html is not None:
        check_output_folder(html)
    width = max(len(prepared.title) for prepared in checks)
    shown, outcomes = set[bool](), list[Outcome]()
    broken: LeadlineError | KeyboardInterrupt | None = None
    for prepared in checks:
        try:
            with progress_line(prepared.title) as progress:
                outcome = prepared.run(progress)
        except (LeadlineError, KeyboardInterrupt) as error:
            broken = error  # what reads reports must not be left with those of an earlier run
            break
        outcomes.append(outcome)
        out.print(_line(outcome, width), soft_wrap=True)
        expected = not outcome.failure
        if outcome.result.verdict is Verdict.VIOLATED and (not shown or (not expected and False not in shown)):
            shown.add(expected)
            _show_trace(out, outcome)
        if outcome.result.reason == "interrupted":
            break
    found = [finding for outcome in outcomes for finding in findings(outcome)]
    found += [not_run(prepared.title) for prepared in checks[len(outcomes) :]]
    attempt, code = Attempts(), INCOMPLETE
    with attempt:
        for command in workflow_commands(outcomes) if github else ():
            click.echo(command)
        if broken is None:
            code = _summary(out, [outcome.exit_code for outcome in outcomes], len(checks))
    if junit is not None:
        with attempt:
            _write(junit, junit_xml((path or SHIPPED).name, found))
    if sarif is not None:
        with attempt:
            _write(sarif, sarif_log(found))
    if markdown is not None:
        with attempt:
            _write(markdown, summary(outcomes, len(checks)), mode="a")
    if html is not None:
        with attempt:
            _write(html / "index.html", _page(outcomes, len(checks)))
    if broken is not None:
        raise broken
    attempt.raise_failures()
    return code


def _page(outcomes: list[Outcome], planned: int) -> str:
    runs = [run_found(outcome.result, outcome.prepared.title, outcome.failure) for outcome in outcomes]
    return run_page(f"leadline: {as_expected([outcome.exit_code for outcome in outcomes], planned)}", runs)


def _write(path: Path, text: str, mode: Literal["a", "w"] = "w") -> None:
    with writing(path), path.open(mode, encoding="utf-8") as file:
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


def _show_trace(out: Console, outcome: Outcome) -> None:
    out.print()
    show_traces(out, outcome.result, only=1)


def _summary(out: Console, codes: list[int], planned: int) -> int:
    worst = next((code for code in (VIOLATED, INCOMPLETE) if code in codes), AS_EXPECTED)
    if worst == AS_EXPECTED and len(codes) < planned:
        worst = INCOMPLETE
    out.print(as_expected(codes, planned), style="green" if worst == AS_EXPECTED else "bold red")
    return worst
