"""Running a search for a command, showing its progress and its result."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from leadline.checker.engines.progress import Progress, paced
from leadline.checker.engines.set_order import with_order_checked
from leadline.checker.result import Result
from leadline.checker.spec import Spec
from leadline.checker.support.escapes import visible
from leadline.reports.cli.outputs import Attempts, Files, Outputs, save_traces
from leadline.reports.exit_codes import OF_VERDICT
from leadline.reports.formats import FinishedRun
from leadline.reports.lines import say
from leadline.reports.origin import Origin
from leadline.reports.runs.run_view import view_of_result
from leadline.reports.terminal.console import console
from leadline.reports.terminal.progress import progress_line
from leadline.reports.terminal.run import heading, result_view
from leadline.reports.terminal.trace import show_traces


@contextmanager
def only_the_result_on_stdout(json_file: str | None) -> Iterator[None]:
    """If the JSON object goes to standard output, redirect what a spec prints to standard error."""
    with contextlib.redirect_stdout(sys.stderr) if json_file == "-" else contextlib.nullcontext():
        yield


def run(
    search: Callable[[Progress | None], Result],
    spec: Spec[object],
    engine: str,
    settings: Mapping[str, object],
    outputs: Outputs,
) -> int:
    """Run a search, show its result, and write the files that were asked for.

    Parameters:
        search: runs the search, given a progress function.
        spec: the spec.
        engine: the name of the engine.
        settings: the settings of the engine, for the heading.
        outputs: the files for the result and its traces.

    Returns:
        The exit code.
    """
    files, json_file = outputs.checked(), outputs.json_file
    watched = json_file != "-" and console().is_terminal
    if watched:  # the search may take long; without a terminal, nothing is printed until it has ended
        console().print(heading(spec, engine, settings))
    with only_the_result_on_stdout(json_file), progress_line("" if watched else spec.name) as progress:
        result = with_order_checked(spec, lambda: paced(search, progress))
    if json_file != "-" and not watched:
        console().print(heading(spec, engine, settings))
    return report(result, outputs, files)


def report(result: Result, outputs: Outputs, files: Files[FinishedRun]) -> int:
    """Show a result, and then write the files that were asked for. An error in one does not prevent the others.

    Parameters:
        result: the result.
        outputs: the files that were asked for.
        files: the same without the traces, checked.

    Returns:
        The exit code.

    Raises:
        LeadlineError: files could not be written; the message names all of them.
        OSError: standard output could not be written to.
    """
    out, attempt = console(), Attempts()
    shown = view_of_result(result, Origin.now())
    if not files.only_json:
        with attempt:
            show_traces(out, result, titled=False)
            out.print(result_view(shown))
    saved = save_traces(result, outputs.trace_out, attempt) if outputs.trace_out is not None else {}
    if not files.only_json:
        with attempt:
            for path in [path for paths in saved.values() for path in paths]:
                say(f"saved {visible(str(path))}")
    finished = FinishedRun(result, shown, saved)
    with attempt:
        files.print(finished)
    files.save(finished, attempt)
    attempt.raise_failures()
    return OF_VERDICT[shown.verdict.value]
