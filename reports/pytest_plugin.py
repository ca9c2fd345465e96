"""A pytest plugin that collects each check of a ``leadline.toml`` file as a test.

pytest loads the plugin wherever leadline is installed. Therefore the plugin imports no other modules of leadline until
it finds a suite.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from leadline.reports.suite import Outcome, PreparedCheck

MARK = "leadline"
"""The pytest marker of every check."""


class UnexpectedResult(Exception):
    """Raised when the result of a check is not as expected. The message contains the reason and the trace."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for the folder in which pages and traces are saved."""
    parser.getgroup("leadline", "checks of leadline.toml").addoption(
        "--leadline-out",
        metavar="DIR",
        type=Path,
        help="Write the HTML page and the traces of each failed check to DIR instead of to pytest's cache.",
    )
    parser.getgroup("leadline").addoption(
        "--leadline-diagnose",
        metavar="S",
        type=float,
        help="After an unexpected violation, spend up to S seconds searching for its cause, as leadline check "
        "--diagnose does.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker of the plugin."""
    config.addinivalue_line("markers", f"{MARK}: a check of a leadline.toml")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SuiteFile | None:
    """Return a collector for a ``leadline.toml`` file, or None for any other file."""
    return SuiteFile.from_parent(parent, path=file_path) if file_path.name == "leadline.toml" else None


class SuiteFile(pytest.File):
    """A collector of the checks in a ``leadline.toml`` file."""

    def collect(self) -> Iterator[CheckItem]:
        """Yield the checks of the file. An invalid check is a collection error."""
        from leadline.checker.errors import LeadlineError
        from leadline.reports.suite import read_suite

        try:
            checks = read_suite(self.path)
        except LeadlineError as error:
            raise self.CollectError(str(error)) from None
        for prepared in checks:
            item = CheckItem.from_parent(self, name=prepared.title)
            item.prepared = prepared
            for mark in (MARK, *prepared.check.marks):
                item.add_marker(mark)
            yield item


class CheckItem(pytest.Item):
    """A test that runs a check of a suite, and fails if the result is not as expected."""

    prepared: PreparedCheck

    def runtest(self) -> None:
        """Run the check.

        Raises:
            UnexpectedResult: if the result is not as expected.
            KeyboardInterrupt: if the search was interrupted.
        """
        with pytest.MonkeyPatch.context() as patch:
            workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
            if workers > 1 and "PYTHON_CPU_COUNT" not in os.environ:
                patch.setenv("PYTHON_CPU_COUNT", str(max(1, len(os.sched_getaffinity(0)) // workers)))
            outcome = self.prepared.run().diagnosed(self.config.getoption("--leadline-diagnose"))
        if outcome.result.interrupted or (outcome.diagnosis is not None and outcome.diagnosis.interrupted):
            raise KeyboardInterrupt
        if outcome.failure:
            raise UnexpectedResult("\n".join(_lines(outcome, self._saved(outcome))))

    def _saved(self, outcome: Outcome) -> dict[str, Path]:
        """Write the traces and the page of a failed check.

        Returns:
            The paths of the files, keyed by ``trace`` and ``page``. They are also recorded as properties in the JUnit
            XML file.
        """
        from leadline.reports.cli.outputs import Attempts, save_traces, write_output
        from leadline.reports.formats import FORMATS
        from leadline.reports.suite import SuiteRun

        folder = self._folder()
        if folder is None:
            return {}
        attempt, saved = Attempts(), dict[str, Path]()
        traces = save_traces(outcome.result, folder, attempt)
        for files in traces.values():
            saved.setdefault("trace", files[0])
        page = folder / "index.html"
        with attempt:
            folder.mkdir(parents=True, exist_ok=True)
            write_output(page, FORMATS["suite"]["html"].write(SuiteRun(self.path.name, [outcome.prepared], [outcome])))
            saved["page"] = page
        self.user_properties += [(f"leadline_{what}", str(path)) for what, path in saved.items()]
        attempt.raise_failures()
        return saved

    def _folder(self) -> Path | None:
        """Return the folder for the files of this check, or None if no folder was given and pytest has no cache."""
        given: Path | None = self.config.getoption("--leadline-out")
        cache: pytest.Cache | None = getattr(self.config, "cache", None)
        whole = cache.mkdir("leadline") if given is None and cache is not None else given
        return (
            None if whole is None else Path(os.path.relpath(whole)) / re.sub(r"[^\w.-]+", "-", self.nodeid).strip("-.")
        )

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        """Return the text of a failure: the reason, the trace, and the commands that show more."""
        from leadline.checker.errors import LeadlineError

        if isinstance(excinfo.value, UnexpectedResult | LeadlineError):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the suite file, the line on which the check begins (counted from 0), and the check's title."""
        return self.path, self.prepared.line - 1, self.name


def _lines(outcome: Outcome, saved: Mapping[str, Path]) -> Iterator[str]:
    """Yield lines of text that describe a failure.

    Parameters:
        outcome: the check with its result.
        saved: the files that were written for the check.
    """
    from leadline.checker.result import Verdict
    from leadline.reports.runs.phrases import searched
    from leadline.reports.runs.run_view import view_of_result
    from leadline.reports.terminal.trace import plain_text

    yield from (outcome.failure, searched(view_of_result(outcome.result)), *outcome.causes)
    violated = (item for item in outcome.result.properties if item.verdict is Verdict.VIOLATED)
    for trace in [trace for item in violated for trace in item.traces][:1]:
        yield from ("", plain_text(trace, titled=False))
    yield f"check again:   {outcome.prepared.check_command}"
    yield f"search again:  {outcome.prepared.command}"
    if "trace" in saved:
        given = ["--spec", outcome.prepared.spec_name] if outcome.prepared.is_python_file else []
        yield f"replay:        {shlex.join(['leadline', 'replay', str(saved['trace']), *given])}"
    if "page" in saved:
        yield f"page:          {saved['page']}"
