"""Run a search for a command, and show its progress and its result."""

from __future__ import annotations

import contextlib
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from leadline.checker.engines.progress import Progress, paced
from leadline.checker.engines.set_order import with_order_checked
from leadline.checker.errors import LeadlineError
from leadline.checker.result import PropertyResult, Result, Statistics, Stop, StopKind, Verdict
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.reports.cli.outputs import Attempts, Files, check_output_folder, save_traces
from leadline.reports.cli.saved_first import replayed_first, with_saved
from leadline.reports.diagnosis import Diagnosis, diagnose
from leadline.reports.exit_codes import OF_VERDICT
from leadline.reports.lines import say
from leadline.reports.origin import Origin
from leadline.reports.runs.run_view import FinishedRun, view_of_result
from leadline.reports.terminal.console import console
from leadline.reports.terminal.progress import progress_line
from leadline.reports.terminal.run import heading, result_view
from leadline.reports.terminal.trace import show_traces
from leadline.reports.traces.looks import Look, check_looks, result_looked_at

PAGE_SECONDS = 5.0
"""The time in seconds between two versions of the page of a running search."""

STILL_RUNNING = Stop(StopKind.TIME, "the search is still running: load this page again later")


@contextmanager
def only_the_result_on_stdout(only_a_report: bool) -> Iterator[None]:
    """Redirect the output of the spec to standard error if standard output may contain only a JSON object."""
    with contextlib.redirect_stdout(sys.stderr) if only_a_report else contextlib.nullcontext():
        yield


def run(
    search: Callable[[Progress | None], Result],
    spec: Spec[object],
    engine: str,
    settings: Mapping[str, object],
    files: Files,
    trace_out: Path | None,
    diagnosis_seconds: float = 0,
    looks: Sequence[str] = (),
) -> int:
    """Run a search, show its result, and write the requested files.

    Parameters:
        search: a function that runs the search. Its argument is a callback that receives the progress.
        settings: the settings of the engine, which the heading shows.
        trace_out: the folder to which the counterexamples are written, or None to write none. Those that an earlier run
            wrote are replayed first.
        diagnosis_seconds: the time limit in seconds for finding the cause of a violation, or 0 to skip this step.
        looks: expressions whose values are shown in each state of a counterexample.

    Returns:
        The exit code.
    """
    if trace_out is not None:
        check_output_folder(trace_out)
    looked = list(map(Look.of, looks))
    if looked:
        check_looks(looked, spec, spec.initials()[0])
    with only_the_result_on_stdout(files.only_a_report):
        saved = replayed_first(spec, trace_out, files.only_a_report) if trace_out is not None else {}
    watched = not files.only_a_report and console().is_terminal
    if watched:  # the search may take long; without a terminal, nothing is printed until it has ended
        console().print(heading(spec, engine, settings))
    with only_the_result_on_stdout(files.only_a_report), progress_line("" if watched else spec.name) as progress:
        shown = _with_page(progress, files, spec, engine, settings)
        result = with_saved(with_order_checked(spec, lambda: paced(search, shown)), saved)
    with only_the_result_on_stdout(files.only_a_report), progress_line("what decides it") as progress:
        diagnosis = diagnose(result, diagnosis_seconds, progress) if diagnosis_seconds else None
    if not files.only_a_report and not watched:
        console().print(heading(spec, engine, settings))
    code = report(result_looked_at(result, looked), files, trace_out, diagnosis)
    place = next((settings[name] for name in ("resume", "checkpoint", "work_dir") if name in settings), None)
    ended = result.stop is None or result.stop.kind in (StopKind.VIOLATION, StopKind.OPEN)
    if place is not None and not ended:
        say(f"to continue this search: --resume {visible(shlex.quote(str(place)))}", err=files.only_a_report)
    return code


def _with_page(
    progress: Progress, files: Files, spec: Spec[object], engine: str, settings: Mapping[str, object]
) -> Progress:
    """Return a function that shows the progress of a search, and from time to time also writes its page."""
    due = time.monotonic() + PAGE_SECONDS
    undecided = tuple(PropertyResult(item, Verdict.INCOMPLETE) for item in spec.checks)

    def show(statistics: Statistics) -> None:
        nonlocal due
        progress(statistics)
        if time.monotonic() >= due:
            so_far = Result(spec, engine, STILL_RUNNING, statistics, undecided, settings)
            with contextlib.suppress(LeadlineError):  # the file is written again at the end, which reports an error
                files.update("html", FinishedRun(so_far, view_of_result(so_far, Origin.now()), {}))
            due = time.monotonic() + PAGE_SECONDS

    return show


def report(result: Result, files: Files, trace_out: Path | None, diagnosis: Diagnosis | None = None) -> int:
    """Show a result, and then write the requested files. If one file cannot be written, the others are still written.

    Parameters:
        trace_out: the folder to which the counterexamples are written, or None to write none.
        diagnosis: the cause of the first violation, or None if no diagnosis was requested.

    Returns:
        The exit code.

    Raises:
        LeadlineError: if files could not be written. The message names all of these files.
        OSError: if the result could not be written to standard output.
    """
    out, attempt = console(), Attempts()
    shown = view_of_result(result, Origin.now(), diagnosis)
    if not files.only_a_report:
        with attempt:
            show_traces(out, result, titled=False)
            out.print(result_view(shown))
    saved = save_traces(result, trace_out, attempt) if trace_out is not None else {}
    if not files.only_a_report:
        with attempt:
            for path in [path for paths in saved.values() for path in paths]:
                say(f"saved {visible(str(path))}")
    finished = FinishedRun(result, shown, saved)
    with attempt:
        files.print(finished)
    files.save(finished, attempt)
    attempt.raise_failures()
    return OF_VERDICT[shown.verdict.value]
