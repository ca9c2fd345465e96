"""Running a search for a command: what is searched, how far it is, what it found."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from leadline.checker.engines.progress import Progress, paced
from leadline.checker.result import Result
from leadline.checker.spec import Spec
from leadline.checker.support.visible import visible
from leadline.reports.cli.outputs import Attempts, Outputs, check_outputs, save_traces, write_output
from leadline.reports.exit_codes import OF_VERDICT
from leadline.reports.html.run import run_page, title_of, with_traces
from leadline.reports.lines import say, say_json
from leadline.reports.origin import Origin
from leadline.reports.runs.json_report import result_object
from leadline.reports.runs.run_view import view_of_result
from leadline.reports.terminal.run import console, heading, progress_line, result_view, show_traces


@contextmanager
def only_the_result_on_stdout(json_file: str | None) -> Iterator[None]:
    """Where standard output is for the JSON object, what a spec prints while it runs goes to standard error."""
    with contextlib.redirect_stdout(sys.stderr) if json_file == "-" else contextlib.nullcontext():
        yield


def run(
    search: Callable[[Progress | None], Result],
    spec: Spec[Any],
    engine: str,
    settings: dict[str, Any],
    outputs: Outputs,
) -> int:
    """Say what is searched, search it, show the result and save what was asked for.

    Parameters:
        search: the engine, to be called with a progress function.
        spec, engine, settings: what is searched, and how.
        outputs: where the result and its traces go.

    Returns:
        The exit code.
    """
    check_outputs(outputs)
    json_file = outputs.json_file
    watched = json_file != "-" and console().is_terminal
    if watched:  # the search may be long; elsewhere nothing is printed before it is known to end well
        console().print(heading(spec, engine, settings))
    with only_the_result_on_stdout(json_file), progress_line("" if watched else spec.name) as progress:
        result = paced(search, progress)
    if json_file != "-" and not watched:
        console().print(heading(spec, engine, settings))
    return report(result, outputs)


def report(result: Result, outputs: Outputs) -> int:
    """Show a result, and then save what was asked for. What fails keeps nothing else from being shown or saved.

    Returns:
        The exit code.

    Raises:
        LeadlineError: something could not be saved; names all of it.
        OSError: standard output could not be written to.
    """
    json_file, out, attempt = outputs.json_file, console(), Attempts()
    shown = view_of_result(result, Origin.now())
    if json_file != "-":
        with attempt:
            show_traces(out, result, titled=False)
            out.print(result_view(shown))
    files = save_traces(result, outputs.trace_out, attempt) if outputs.trace_out is not None else {}
    if json_file != "-":
        with attempt:
            for path in [path for paths in files.values() for path in paths]:
                say(f"saved {visible(str(path))}")
    if json_file == "-":
        with attempt:
            say_json(result_object(shown, files), indent=2)
    elif json_file is not None:
        with attempt:
            write_output(Path(json_file), json.dumps(result_object(shown, files), indent=2) + "\n")
    if outputs.html is not None:
        with attempt:
            write_output(outputs.html, run_page(title_of(shown), [with_traces(result, shown)]))
    attempt.raise_failures()
    return OF_VERDICT[shown.verdict.value]
