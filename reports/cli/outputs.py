"""Write the results of commands to files."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import attrs
import click

from leadline.checker.errors import LeadlineError
from leadline.checker.result import Result, Verdict
from leadline.checker.support.durable import replace_file
from leadline.checker.support.escapes import visible
from leadline.checker.traces.itf import SUFFIX, write_trace
from leadline.reports.formats import Format
from leadline.reports.lines import say

Command = TypeVar("Command", bound=Callable[..., int])


def check_output_folder(folder: Path) -> None:
    """Create a folder if it does not exist. Raise LeadlineError if files cannot be written to the folder."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()


def check_output(path: Path) -> None:
    """Raise LeadlineError if a file cannot be written."""
    with writing(path):
        if path.exists():
            path.open("a").close()
        else:
            tempfile.TemporaryFile(dir=path.parent).close()


STANDARD_OUTPUT = Path("-")


def format_options(formats: Mapping[str, Format]) -> Callable[[Command], Command]:
    """Return a decorator that adds an option for each format. The name of the option is the name of the format."""

    def decorate(command: Command) -> Command:
        for name, form in reversed(list(formats.items())):
            is_folder = form.metavar == "DIR"
            kind = click.Path(path_type=Path, file_okay=not is_folder, dir_okay=is_folder)
            if form.metavar:
                command = click.option(f"--{name}", metavar=form.metavar, type=kind, help=form.help)(command)
            else:
                command = click.option(f"--{name}", is_flag=True, help=form.help)(command)
        return command

    return decorate


class Files:
    """The files to which a command writes its reports."""

    def __init__(self, formats: Mapping[str, Format], wanted: Mapping[str, Path | bool | None]) -> None:
        """Check that the files can be written.

        Parameters:
            formats: the available formats, keyed by name.
            wanted: the value of each option, keyed by the name of the format. The value is None if the format is not
                requested.

        Raises:
            LeadlineError: if a file or folder cannot be written. The message names the file or folder.
        """
        self._formats = formats
        self._paths: dict[str, Path] = {}
        for name, value in wanted.items():
            if value is True:
                self._paths[name] = STANDARD_OUTPUT
            elif value == Path() and formats[name].metavar != "DIR":  # as from "$GITHUB_STEP_SUMMARY" outside of CI
                raise LeadlineError(f"--{name} has an empty name: pass the name of a file")
            elif isinstance(value, Path) and formats[name].metavar == "DIR":
                check_output_folder(value)
                self._paths[name] = value / "index.html"
            elif isinstance(value, Path):
                if value != STANDARD_OUTPUT:
                    check_output(value)
                elif "-" not in formats[name].metavar:
                    raise LeadlineError(
                        f"the output of --{name} cannot be written to standard output: pass the name of a file"
                    )
                self._paths[name] = value

    @property
    def on_standard_output(self) -> bool:
        """Whether a report is written to standard output."""
        return STANDARD_OUTPUT in self._paths.values()

    @property
    def saved(self) -> list[Path]:
        """The paths of the files that are written, excluding standard output."""
        return [path for path in self._paths.values() if path != STANDARD_OUTPUT]

    @property
    def only_a_report(self) -> bool:
        """True if a report that `-` was passed for is written to standard output. No other text may then be printed
        there.
        """
        named = (name for name, path in self._paths.items() if path == STANDARD_OUTPUT)
        return any("-" in self._formats[name].metavar for name in named)

    def print(self, subject: object) -> None:
        """Print the reports that were requested for standard output."""
        for name, path in self._paths.items():
            if path == STANDARD_OUTPUT and (text := self._formats[name].write(subject)):
                if name in ("answers", "markdown"):  # CI systems obey no JSON, and commands are meant for them
                    say(text)
                else:
                    click.echo(text.removesuffix("\n"))

    def save(self, subject: object, attempt: Attempts) -> None:
        """Write the reports that were requested as files.

        Parameters:
            attempt: collects the errors.
        """
        for name, path in self._paths.items():
            if path != STANDARD_OUTPUT:
                form = self._formats[name]
                with attempt:
                    (_append if form.appends else write_output)(path, form.write(subject))

    def write(self, subject: object, about: str = "") -> None:
        """Print and save all reports that were requested. Raise the errors when all others have been written.

        Parameters:
            about: what the line about each saved file says after its name.
        """
        attempt = Attempts()
        with attempt:
            self.print(subject)
        self.save(subject, attempt)
        attempt.raise_failures()
        for path in self.saved:
            say(f"saved {visible(str(path))}{about}", err=self.only_a_report)

    def update(self, name: str, subject: object) -> None:
        """Write the report in the given format now, if the user requested it as a file. Raise LeadlineError if writing
        fails.
        """
        path = self._paths.get(name, STANDARD_OUTPUT)
        if path != STANDARD_OUTPUT:
            write_output(path, self._formats[name].write(subject))


class Attempts:
    """Collects errors, so that an error in one file does not prevent the next files from being written.

    Each file is written in its own ``with`` statement.
    """

    def __init__(self) -> None:
        self._failures: list[LeadlineError] = []
        self._output_failure: OSError | None = None

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        if isinstance(error, LeadlineError):
            self._failures.append(error)
        elif isinstance(error, OSError):
            self._output_failure = error
        return isinstance(error, LeadlineError | OSError)

    def raise_failures(self) -> None:
        """Raise the collected errors. An error on standard output is raised first, because it may be a closed pipe."""
        if self._output_failure is not None:
            raise self._output_failure
        if self._failures:
            raise LeadlineError("; ".join(map(str, self._failures)))


def save_traces(result: Result, folder: Path, attempt: Attempts) -> dict[str, list[Path]]:
    """Write all counterexamples in a result to a folder.

    Parameters:
        folder: the folder, which must exist.
        attempt: collects the errors.

    Returns:
        The paths of the written files, keyed by the name of the property. The paths for a property are in the order of
        its traces.
    """
    files: dict[str, list[Path]] = {}
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
                files.setdefault(item.property.name, []).append(path)
    return files


def _file_stem(result: Result) -> str:
    """Return the common prefix of trace file names: the name of the spec, its changed bounds, and the seed."""
    bounds = result.spec.bounds
    values = [(field, getattr(bounds, field.name)) for field in attrs.fields(type(bounds))]
    given = [f"{field.name}{value}" for field, value in values if value != field.default]
    given += [f"seed{result.settings['seed']}"] if "seed" in result.settings else []
    return "-".join(map(_file_name, (result.spec.name, *given)))


def _file_name(text: str) -> str:
    """Remove the characters that are not allowed in file names, such as path separators."""
    return re.sub(r"[^\w.-]+", "-", text).strip("-.")


def write_output(path: Path, text: str) -> None:
    """Write a file completely or not at all. Raise LeadlineError if the file cannot be written.

    If the path is a symbolic link, its target is written. If the file is writable but its folder is not, the file is
    overwritten in place.
    """
    with writing(path):
        target = Path(os.path.realpath(path))
        if target.is_file() and not os.access(target.parent, os.W_OK):
            target.write_text(text, encoding="utf-8")
            return
        mode = target.stat().st_mode if target.is_file() else None
        replace_file(target, text.encode("utf-8", errors="surrogatepass"))
        if mode is not None:
            target.chmod(mode & 0o7777)


def _append(path: Path, text: str) -> None:
    with writing(path), path.open("a", encoding="utf-8") as file:
        file.write(text)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert any error that occurs while a file is written into a LeadlineError that names the file."""
    try:
        yield
    except OSError as error:
        raise LeadlineError(f"cannot write {path}: {error.strerror or error}") from error
