"""Convert the results of checks to findings, which CI systems show. The status of a finding is passed, failed or
incomplete.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import attrs

from leadline.checker.properties import Property
from leadline.checker.result import PropertyResult, Verdict
from leadline.checker.support.escapes import visible
from leadline.checker.trace import Trace
from leadline.reports.diagnosis import Diagnosis, lines
from leadline.reports.exit_codes import INCOMPLETE
from leadline.reports.suite import Check, Outcome, PreparedCheck, SuiteRun

WHOLE = "as expected"
"""The name of the finding that is about an entire check."""


@attrs.frozen
class SourceLocation:
    """A line in a source file. The path is relative to the working directory if possible, or else to the import
    path.
    """

    path: str
    line: int


@attrs.frozen(eq=False)
class Finding:
    """The result of a check, or of one property in a check. All strings have been escaped with `visible`.

    Attributes:
        check: the check's title.
        name: the property's name, or `WHOLE` if the finding is about the whole check.
        status: ``passed``, ``failed``, or ``incomplete`` if the expected verdict was not reached.
        message: one line that describes the problem or, if the status is ``passed``, the result.
        property: the property, or None if the finding is about a whole check.
        trace: the trace, or None if there is no trace.
        seconds: the running time of the check, if this is the first finding of the check.
        location: the source location of the finding, or None if it is unknown.
        diagnosis: the diagnosis of the violation, or None if it was not diagnosed.
        command: the command that repeats the check. Empty if there is none, or if the check passed.
    """

    check: str = attrs.field(converter=visible)
    name: str = attrs.field(converter=visible)
    status: Literal["passed", "failed", "incomplete"]
    message: str = attrs.field(converter=visible)
    property: Property | None = None
    trace: Trace[object] | None = None
    seconds: float = 0.0
    location: SourceLocation | None = None
    diagnosis: Diagnosis | None = None
    command: str = ""

    def remarks(self) -> list[str]:
        """Return the sentences of the diagnosis, and how to repeat the check. Hidden characters are escaped with
        `visible`.
        """
        causes = [visible(line) for line in lines(self.diagnosis)] if self.diagnosis is not None else []
        return [*causes, *([f"To repeat it: {self.command}"] if self.command else [])]

    def explained(self) -> str:
        """Return the message, followed by the remarks."""
        return ". ".join([self.message, *self.remarks()])


def findings(outcome: Outcome) -> list[Finding]:
    """Return the findings of a check. The first finding is about the whole check, unless the finding of a property
    already explains the failure.

    If a property is undecided because the search ended early as expected, there is no finding for it, because it
    neither passed nor failed.
    """
    own = list(_of_properties(outcome))
    explained = any(finding.status != "passed" for finding in own)
    found = own if explained else [_whole(outcome), *own]
    again = outcome.prepared.check_command
    found = [each if each.status == "passed" else attrs.evolve(each, command=again) for each in found]
    return [attrs.evolve(found[0], seconds=outcome.result.statistics.seconds), *found[1:]]


def suite_findings(run: SuiteRun) -> list[Finding]:
    """Return the findings for all checks in a suite, including checks that were not run."""
    found = [finding for outcome in run.outcomes for finding in findings(outcome)]
    return found + [not_run(each.title, each.check_command) for each in run.checks[len(run.outcomes) :]]


def not_run(check: str, command: str = "") -> Finding:
    """Return the finding for a check that was not run, or for a check whose spec raised an error."""
    return Finding(check, WHOLE, "incomplete", "it was not run to its end", command=command)


def _whole(outcome: Outcome) -> Finding:
    check, result, title = outcome.prepared.check, outcome.result, outcome.prepared.title
    if not outcome.failure:
        return Finding(title, WHOLE, "passed", f"expected {check.expect}, found {result.verdict.value}")
    return Finding(title, WHOLE, "incomplete" if outcome.exit_code == INCOMPLETE else "failed", outcome.failure)


def _of_properties(outcome: Outcome) -> Iterator[Finding]:
    check, result = outcome.prepared.check, outcome.result
    for item in result.properties:
        trace = next(iter(item.traces), None)
        about = (item.property, trace)
        title, name, said = outcome.prepared.title, item.property.name, _said(item)
        place = location_of(item.property, outcome.prepared)
        match item.verdict:
            case Verdict.INCOMPLETE:
                if not outcome.verdicts_as_expected:
                    reason = f"{name} is incomplete: {result.reason}"
                    yield Finding(title, name, "incomplete", reason, *about, location=place)
            case Verdict.VIOLATED if not (outcome.verdicts_as_expected or _is_expected(item, check)):
                own = outcome.diagnosis if outcome.diagnosis is not None and outcome.diagnosis.name == name else None
                yield Finding(title, name, "failed", said, *about, location=place, diagnosis=own)
            case Verdict.HOLDS if check.violates is not None and item is result.of(check.violates):
                yield Finding(title, name, "failed", f"expected to be violated, but {said}", *about, location=place)
            case _:
                yield Finding(title, name, "passed", said, *about)


def _is_expected(item: PropertyResult, check: Check) -> bool:
    """Return whether a check expects the property of a result to be violated."""
    return check.violates is not None and item.property.is_named(check.violates)


def _said(item: PropertyResult) -> str:
    """Return the verdict on a property as text, with the reason for the violation or the property's own sentence."""
    trace = next(iter(item.traces), None)
    if item.verdict is Verdict.VIOLATED:
        verb = "is never shown" if item.property.kind.is_witness else "is violated"
        why = trace.complaint if trace is not None else ""
        return f"{item.property.name} {verb}: {why or item.property.sentence}"
    verdict = "is shown" if item.property.kind.is_witness else "holds"
    if item.says_nothing:
        verdict = f"holds vacuously, as {item.never} is never true"
    return f"{item.property.name} {verdict}: {item.property.sentence}"


def location_of(item: Property, prepared: PreparedCheck | None = None) -> SourceLocation | None:
    """Return the source location at which a CI system shows a violation.

    The location is the function of the property if its file is in the working directory. Otherwise, for example for a
    shipped property, the location is the check in the suite file.

    Parameters:
        prepared: the check, or None if the finding is not about a check.

    Returns:
        The location, or None if neither the property nor the check has a source file.
    """
    here = Path.cwd()
    if (own := location_in_folder(item.written)) is not None:
        return own
    function = inspect.unwrap(item.written)
    code = function.__code__ if inspect.isfunction(function) else None
    path = Path(code.co_filename).resolve() if code is not None and Path(code.co_filename).is_file() else None
    if prepared is not None and prepared.file.resolve().is_relative_to(here):
        return SourceLocation(prepared.file.resolve().relative_to(here).as_posix(), prepared.line)
    if code is None or path is None:
        return None
    unresolved = Path(code.co_filename)  # in the repository, `leadline` is a folder of links
    imported_from = unresolved.parents[len(function.__module__.split(".")) - (path.name != "__init__.py")]
    return SourceLocation(unresolved.relative_to(imported_from).as_posix(), code.co_firstlineno)


def location_in_folder(written: Callable[..., object]) -> SourceLocation | None:
    """Return the source location of a function, or None if its file is not in the working directory."""
    function, here = inspect.unwrap(written), Path.cwd()
    code = function.__code__ if inspect.isfunction(function) else None
    if code is None or not (path := Path(code.co_filename).resolve()).is_file() or not path.is_relative_to(here):
        return None
    return SourceLocation(path.relative_to(here).as_posix(), code.co_firstlineno)
