"""Where results go besides the terminal: files that can be written to, and what is written to them."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

from leadline.checker.errors import LeadlineError
from leadline.checker.result import Result, Verdict
from leadline.checker.support.durable import replace_file
from leadline.checker.traces.itf import SUFFIX, write_trace


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


def save_traces(result: Result, folder: Path, attempt: Attempts) -> dict[str, list[Path]]:
    """Write every counterexample of a result to a folder.

    Parameters:
        attempt: what each of them is written in.

    Returns:
        The files of each property by its name, in the order of its traces.
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
    """The spec, its unusual bounds and the seed, so that the traces of other runs are not written over."""
    bounds = result.spec.bounds
    values = [(field, getattr(bounds, field.name)) for field in attrs.fields(type(bounds))]
    given = [f"{field.name}{value}" for field, value in values if value != field.default]
    given += [f"seed{result.settings['seed']}"] if "seed" in result.settings else []
    return "-".join(map(_file_name, (result.spec.name, *given)))


def _file_name(text: str) -> str:
    """A text as a part of a file's name, without what leads to another folder."""
    return re.sub(r"[^\w.-]+", "-", text).strip("-.")


def write_output(path: Path, text: str) -> None:
    """Write a file as a whole or not at all. Raises LeadlineError: it cannot be written; names it.

    A link stays a link. Where the file may be written but no other file in its folder, it is written in place.
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


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """While a file is written. Raises LeadlineError: it cannot be; names it."""
    try:
        yield
    except OSError as error:
        raise LeadlineError(f"cannot write {path}: {error.strerror or error}") from error
