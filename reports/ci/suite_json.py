"""Convert the run of a suite to a JSON object for programs.

Its JSON Schema is ``check.schema.json`` in this folder. `VERSION` is increased when the format changes in a way that
existing programs may not be able to read.
"""

from __future__ import annotations

import os
from pathlib import Path

import attrs

from leadline.reports.origin import Origin
from leadline.reports.runs.json_report import result_object
from leadline.reports.runs.run_view import view_of_result
from leadline.reports.suite import Outcome, PreparedCheck, SuiteRun

VERSION = 1
"""The version of the format. New fields may be added without a new version."""

SCHEMA = Path(__file__).resolve().with_name("check.schema.json")
"""The JSON Schema of the object."""


def suite_object(run: SuiteRun, origin: Origin) -> dict[str, object]:
    """Return the run of a suite as an object for `json.dumps`.

    Parameters:
        origin: the version, command and date of the run.
    """
    done = [_check_object(outcome.prepared, outcome, origin) for outcome in run.outcomes]
    left = [_check_object(prepared, None, origin) for prepared in run.checks[len(run.outcomes) :]]
    return {
        "format": "leadline check",
        "format_version": VERSION,
        "leadline": attrs.asdict(origin),
        "suite": run.name,
        "exit_code": run.exit_code,
        "summary": run.summary,
        "checks": done + left,
    }


def _check_object(prepared: PreparedCheck, outcome: Outcome | None, origin: Origin) -> dict[str, object]:
    """Return a check and its result as an object. If the check was not run, the fields of the result are null."""
    check = prepared.check
    return {
        "name": prepared.title,
        "file": os.path.relpath(prepared.file),
        "line": prepared.line,
        "command": prepared.command,
        "check_command": prepared.check_command,
        "expect": check.expect,
        "violates": check.violates,
        "status": _status(outcome),
        "failure": None if outcome is None else outcome.failure or None,
        "result": None
        if outcome is None
        else result_object(view_of_result(outcome.result, origin, outcome.diagnosis), {}),
    }


def _status(outcome: Outcome | None) -> str:
    if outcome is None:
        return "not run"
    return {0: "passed", 1: "failed", 3: "incomplete"}[outcome.exit_code]
