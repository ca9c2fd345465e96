"""What several commands share: naming a spec and its bounds, choosing properties, writing results."""

from __future__ import annotations

import contextlib
import functools
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import attrs
import click

from checker.bounds import parse_bounds
from checker.errors import LeadlineError
from checker.itf import SUFFIX, write_trace
from checker.progress import Progress, paced
from checker.properties import Property
from checker.result import Result, Verdict
from checker.spec import Spec
from checker.visible import visible
from reports.exit_codes import OF_VERDICT
from reports.html.run import run_found, run_page
from reports.json_report import result_object
from reports.lines import say, say_json
from reports.loading import load_spec
from reports.terminal import console, heading, progress_line, result_view, show_traces

Command = TypeVar("Command", bound=Callable[..., Any])


def spec_options(command: Callable[..., int]) -> Callable[..., int]:
    """The argument SPEC with its rules and bounds, and the choice of properties.

    The command gets rules as part of the spec's name, as in ``kafka/3.7+elr=on``.
    """

    @functools.wraps(command)
    def with_rules(*args: Any, spec: str, rules: tuple[str, ...], **kwargs: Any) -> int:
        return command(*args, spec="+".join([spec, *rules]), **kwargs)

    decorated = with_rules
    for decorate in (
        click.option("--no-invariants", is_flag=True, help="Check no property at all: only search and count."),
        click.option(
            "-i",
            "--invariant",
            "names",
            multiple=True,
            metavar="NAME",
            help="Check only this property, a witness too (repeat for more); by default all of the spec's.",
        ),
        click.option(
            "-b",
            "--bounds",
            multiple=True,
            metavar="NAME=VALUE,...",
            help="Change bounds, e.g. -b brokers=3,max_epoch=2. `leadline specs SPEC` lists them.",
        ),
        click.option(
            "--rule",
            "rules",
            multiple=True,
            metavar="NAME=VALUE",
            help="Change a rule of a release, e.g. --rule elr=on (repeat for more); the same as kafka/3.7+elr=on. "
            "`leadline specs SPEC` lists them.",
        ),
        click.argument("spec"),
    ):
        decorated = decorate(decorated)
    return decorated


def output_options(command: Command) -> Command:
    """Where results and traces go. The command passes them on to `run`."""
    for decorate in (
        click.option(
            "--html",
            metavar="FILE",
            type=click.Path(dir_okay=False, path_type=Path),
            help="Write a page of the run and its traces, to look at in a browser.",
        ),
        click.option(
            "--json",
            "json_file",
            metavar="FILE|-",
            help="Write the result as a JSON object to a file; - is standard output, and nothing else goes there.",
        ),
        click.option(
            "--trace-out",
            metavar="DIR",
            type=click.Path(file_okay=False, path_type=Path),
            help="Save each counterexample in this folder, in the Informal Trace Format (.itf.json).",
        ),
    ):
        command = decorate(command)
    return command


def chosen_spec(
    reference: str,
    bounds: tuple[str, ...],
    names: tuple[str, ...],
    no_invariants: bool,
    loaded: dict[Path, ModuleType] | None = None,
) -> Spec[Any]:
    """The spec that the command line names, with its bounds and properties. See `load_spec`.

    Raises:
        LeadlineError: a name that is not known, a bound that is not possible.
    """
    spec = load_spec(reference, loaded=loaded).with_bounds(parse_bounds(",".join(bounds)))
    if no_invariants:
        if names:
            raise LeadlineError("-i and --no-invariants exclude each other: give one of them")
        return spec.with_properties([])
    wanted = [name.strip() for text in names for name in text.split(",")]
    return spec.with_properties(wanted) if wanted else spec


class MemorySize(click.ParamType[int]):
    """A size as a person writes it: a number, and a unit K, M, G or T."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of bytes."""
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) *([KMGT])(?:i?B)?", value.strip(), re.IGNORECASE)
        size = int(float(found[1]) * 1024 ** ("KMGT".index(found[2].upper()) + 1)) if found else 0
        if size < 1:
            self.fail(f"{value!r} is no size: write a number and K, M, G or T, as in 800M or 12G", param, ctx)
        return size


@contextmanager
def only_the_result_on_stdout(json_file: str | None) -> Iterator[None]:
    """Where standard output is for the JSON object, what a spec prints while it runs goes to standard error."""
    with contextlib.redirect_stdout(sys.stderr) if json_file == "-" else contextlib.nullcontext():
        yield


@attrs.frozen
class Outputs:
    """Where a result goes besides the terminal; None: not there.

    Attributes:
        json_file: the file of the JSON object; ``-`` is standard output.
        trace_out: the folder of the counterexamples.
        html: the file of the page.
    """

    json_file: str | None
    trace_out: Path | None
    html: Path | None


def check_outputs(outputs: Outputs) -> None:
    """Refuse what cannot be written to before a search, which may be long, is begun.

    Raises:
        LeadlineError: names the file or folder.
    """
    if outputs.trace_out is not None:
        check_output_folder(outputs.trace_out)
    if outputs.json_file not in (None, "-"):
        check_output(Path(outputs.json_file))
    if outputs.html is not None:
        check_output(outputs.html)


def check_output_folder(folder: Path) -> None:
    """Make a folder, and refuse one that cannot be written to. See `check_outputs`."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()


def check_output(path: Path) -> None:
    """Refuse a file that cannot be written to. See `check_outputs`."""
    with writing(path):
        if path.exists():
            path.open("a").close()
        else:
            tempfile.TemporaryFile(dir=path.parent).close()


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
    if json_file != "-":
        with attempt:
            show_traces(out, result, titled=False)
            out.print(result_view(result))
    files = save_traces(result, outputs.trace_out, attempt) if outputs.trace_out is not None else {}
    if json_file != "-":
        with attempt:
            for paths in files.values():
                for path in paths:
                    say(f"saved {visible(str(path))}")
    if json_file == "-":
        with attempt:
            say_json(result_object(result, files), indent=2)
    elif json_file is not None:
        with attempt, writing(Path(json_file)):
            Path(json_file).write_text(json.dumps(result_object(result, files), indent=2) + "\n", encoding="utf-8")
    if outputs.html is not None:
        with attempt, writing(outputs.html):
            title = f"leadline: {result.spec.name}"
            outputs.html.write_text(run_page(title, [run_found(result, result.spec.name)]), encoding="utf-8")
    attempt.raise_failures()
    return OF_VERDICT[result.verdict.value]


class Attempts:
    """Things to write, each in a ``with`` of this, of which none is lost because another cannot be written."""

    def __init__(self) -> None:
        self._failures: list[LeadlineError] = []
        self._output_failure: OSError | None = None

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: Any) -> bool:
        if isinstance(error, LeadlineError):
            self._failures.append(error)
        elif isinstance(error, OSError):
            self._output_failure = error
        return isinstance(error, LeadlineError | OSError)

    def raise_failures(self) -> None:
        """Raise what was raised. An error of standard output comes first: whoever read it may have gone."""
        if self._output_failure is not None:
            raise self._output_failure
        if self._failures:
            raise LeadlineError("; ".join(map(str, self._failures)))


def save_traces(result: Result, folder: Path, attempt: Attempts) -> dict[Property, list[Path]]:
    """Write every counterexample of a result to a folder.

    Parameters:
        attempt: what each of them is written in.

    Returns:
        The files of each property, in the order of its traces.
    """
    files: dict[Property, list[Path]] = {}
    for item in result.properties:
        if item.verdict is not Verdict.VIOLATED:
            continue
        for number, trace in enumerate(item.traces, start=1):
            stem = _file_stem(result)
            suffix = f"-{number}" if len(item.traces) > 1 else ""
            path = folder / f"{stem}-{_file_name(item.property.name)}{suffix}{SUFFIX}"
            with attempt, writing(path):
                folder.mkdir(parents=True, exist_ok=True)
                write_trace(trace, path)
                files.setdefault(item.property, []).append(path)
    return files


def _file_stem(result: Result) -> str:
    """The spec, its unusual bounds and the seed, so that the traces of other runs are not written over."""
    bounds = result.spec.bounds
    values = [(field, getattr(bounds, field.name)) for field in attrs.fields(type(bounds))]
    given = [f"{field.name}{value}" for field, value in values if value != field.default]
    given += [f"seed{result.settings['seed']}"] if "seed" in result.settings else []
    return "-".join(map(_file_name, (result.spec.name, *given)))


def _file_name(text: str) -> str:
    """A text as a part of a file's name, without what leads to another folder."""
    return re.sub(r"[^\w.-]+", "-", text).strip("-.")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """While a file is written. Raises LeadlineError: it cannot be; names it."""
    try:
        yield
    except OSError as error:
        raise LeadlineError(f"cannot write {path}: {error.strerror or error}") from error
