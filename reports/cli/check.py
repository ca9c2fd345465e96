"""The command `leadline check`, which runs a suite of checks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from leadline.checker.engines.learning.workers import usable_cores
from leadline.checker.errors import LeadlineError
from leadline.checker.result import Verdict
from leadline.checker.support.escapes import visible
from leadline.reports.cli.completion import complete_check
from leadline.reports.cli.options import coverage_option, diagnose_option, verify_option
from leadline.reports.cli.outputs import Attempts, Files, format_options
from leadline.reports.cli.running import only_the_result_on_stdout
from leadline.reports.cli.watch import watch_option
from leadline.reports.exit_codes import AS_EXPECTED
from leadline.reports.formats import FORMATS
from leadline.reports.lines import say
from leadline.reports.runs.phrases import gaps, states_text, vacuous
from leadline.reports.runs.run_view import view_of_result
from leadline.reports.side_by_side import SideBySide
from leadline.reports.suite import (
    ANSWERS,
    SHIPPED,
    Outcome,
    PreparedCheck,
    SuiteRun,
    find_suite,
    read_suite,
    suite_and_names,
)
from leadline.reports.terminal.console import STYLES, console
from leadline.reports.terminal.progress import progress_line, text_progress
from leadline.reports.terminal.trace import show_traces


@click.command()
@click.argument("words", nargs=-1, metavar="[FILE] [NAME]...", shell_complete=complete_check)
@click.option("--shipped", is_flag=True, help="Run the shipped suite, which checks every shipped protocol.")
@format_options(FORMATS["suite"])
@watch_option
@diagnose_option
@coverage_option
@verify_option
def check(
    words: tuple[str, ...],
    shipped: bool,
    diagnose: float | None,
    coverage: bool,
    verify: float | None,
    **wanted: Path | bool | None,
) -> int:
    """Run the checks of a suite, and compare each result with the expected one. With NAMEs, run only these checks.

    FILE is a TOML file. The default is leadline.toml in the current folder or, if that file does not exist, the table
    [tool.leadline] in pyproject.toml. FILE can also be the word answers: a shipped suite of questions from readers of
    the articles on Kafka's high watermark.

    \b
    [[check]]
    spec = "atomic/kip-101"
    bounds = { max_epoch = 2 }
    expect = "violated"
    violates = "strong_isr"

    \b
    leadline check "the lease is safe"
    leadline check --junit report.xml --sarif report.sarif
    leadline check answers --answers answers.md

    A check with the expected result takes one line. Of a violation that was not expected, a trace is shown. The reports
    have all traces, and say what each search covered.

    Exit code 0: every check is as expected; 1: a check is not as expected; 2: there is no suite, or it is
    invalid; 3: a check is incomplete.
    """
    file, names = suite_and_names(words)
    if shipped and file is not None:
        raise click.UsageError("--shipped cannot be used with FILE: pass only one of them")
    path = SHIPPED if shipped else file or find_suite(Path())
    if path is None:
        raise LeadlineError(
            "there is no leadline.toml in this folder, and no [tool.leadline] in a pyproject.toml: pass the file of a "
            "suite, or --shipped to run the shipped suite"
        )
    checks = read_suite(path, names)
    files = Files(FORMATS["suite"], wanted)
    out = console(quiet=files.only_a_report)
    with only_the_result_on_stdout(files.only_a_report):
        outcomes, broken = _run(out, checks, coverage, verify, diagnose)
    run, attempt = SuiteRun(path.name, checks, outcomes), Attempts()
    with attempt:
        files.print(run)
        if broken is None:
            out.print(run.summary, style="green" if run.exit_code == AS_EXPECTED else "bold red")
            if path == ANSWERS and not files.only_a_report:
                again = checks[0].check_command if len(checks) == 1 else "leadline check answers"
                say(f"what happens, step by step: {again} --answers -")
    files.save(run, attempt)
    if broken is not None:
        raise broken
    attempt.raise_failures()
    return run.exit_code


def _run(
    out: Console, checks: Sequence[PreparedCheck], coverage: bool, verify: float | None, diagnose: float | None
) -> tuple[list[Outcome], LeadlineError | KeyboardInterrupt | None]:
    """Run checks, those with small searches side by side. Print one line for each check in the order of the suite, and
    a trace of each unexpected violation.

    Parameters:
        coverage: whether to measure coverage.
        verify: the fraction of learned results to verify (see `CompiledSettings`), or None to use the setting of each
            check.
        diagnose: the time limit in seconds for finding the cause of an unexpected violation, or None for the default.

    Returns:
        The outcomes, and the exception that ended the run early. The exception is None if all checks were run.
    """
    cores = usable_cores()
    # The first search is made here, so that the engine is compiled once. Coverage cannot be sent between processes.
    with SideBySide(checks[1:] if cores > 1 and not coverage else [], cores, verify) as others:
        return _in_order(out, checks, others, coverage, verify, diagnose)


def _in_order(
    out: Console,
    checks: Sequence[PreparedCheck],
    others: SideBySide,
    coverage: bool,
    verify: float | None,
    diagnose: float | None,
) -> tuple[list[Outcome], LeadlineError | KeyboardInterrupt | None]:
    width, outcomes = max(len(prepared.title) for prepared in checks), list[Outcome]()
    for number, prepared in enumerate(checks, start=1):
        try:
            with text_progress(f"check {number} of {len(checks)}") as show:
                show(prepared.title)
                outcome = others.outcome(prepared)
            if outcome is None:
                with progress_line(prepared.title) as progress:
                    outcome = prepared.run(progress, coverage, verify)
            with progress_line(f"{prepared.title}: what decides it") as progress:
                outcome = outcome.diagnosed(diagnose, progress)
        except (LeadlineError, KeyboardInterrupt) as error:  # the reports of an earlier run must be replaced
            return outcomes, error
        outcomes.append(outcome)
        _show(out, outcome, width)
        if outcome.result.interrupted:
            break
        if outcome.diagnosis is not None and outcome.diagnosis.interrupted:
            return outcomes, KeyboardInterrupt()
    return outcomes, None


def _show(out: Console, outcome: Outcome, width: int) -> None:
    """Print the line of an outcome and what belongs to it."""
    out.print(_line(outcome, width), soft_wrap=True)
    for text in outcome.causes:
        out.print(Padding(Text(visible(text)), (0, 0, 0, 6)))
    view = view_of_result(outcome.result)
    if view.statistics.covered is None and (note := vacuous(view)):  # with coverage, it is one of the gaps
        out.print(Padding(Text(note, style="dim"), (0, 0, 0, 6)))
    for line in gaps(view, reported=outcome.reported_gaps):
        out.print(f"      {line}", style="yellow", soft_wrap=True)
    if outcome.failure:
        out.print(Text(f"      to repeat it: {outcome.prepared.check_command}"), soft_wrap=True)
    if outcome.failure and outcome.result.verdict is Verdict.VIOLATED:
        out.print()
        show_traces(out, outcome.result, only=1)


def _line(outcome: Outcome, width: int) -> Text:
    result, good = outcome.result, not outcome.failure
    line = Text("ok    " if good else "FAIL  ", style="green" if good else "bold red")
    line.append(f"{outcome.prepared.title:<{width}}  ", style="default not bold")
    line.append(result.verdict.value, style=STYLES[result.verdict])
    lengths = [len(item.traces[0]) for item in result.properties if item.verdict is Verdict.VIOLATED and item.traces]
    size = f"trace of {min(lengths)}" if lengths else states_text(result.statistics)
    line.append(f", {size}", style="default not bold")
    line.append(f"  {result.statistics.seconds:.1f} s", style="dim not bold")
    if not good:
        line.append(f"\n      {visible(outcome.failure)}", style="default not bold")
    return line
