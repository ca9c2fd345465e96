"""Convert the result of checking a recording to an object for programs, and to findings for CI systems.

The JSON Schema of the object is ``conform.schema.json`` in this folder. `VERSION` is increased when the format changes
in a way that existing programs may not be able to read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs

from leadline.brokers.conformance.check import Checked
from leadline.checker.conformance import Answer, Rejection
from leadline.model.kafka.state import Partition
from leadline.reports.ci.findings import Finding
from leadline.reports.kafka.conformance.report import ConformanceReport
from leadline.reports.kafka.conformance.text import explained
from leadline.reports.origin import Origin

VERSION = 1
"""The version of the format. New fields may be added without a new version."""

SCHEMA = Path(__file__).resolve().with_name("conform.schema.json")
"""The JSON Schema of the object."""

STATUSES = {Answer.CONFORMS: "passed", Answer.REJECTED: "failed", Answer.UNDECIDED: "incomplete"}


def conformance_object(report: ConformanceReport, origin: Origin) -> dict[str, Any]:
    """Return a report as an object for `json.dumps`. The schema describes its fields.

    Parameters:
        origin: the version, command and date of the run.
    """
    return {
        "format": "leadline conform",
        "format_version": VERSION,
        "leadline": attrs.asdict(origin),
        "exit_code": report.exit_code,
        "recording": str(report.path),
        "partition": report.name,
        "release": report.read.about.get("release"),
        "assignment": list(report.read.assignment),
        "own": None if report.own is None else report.own.column.name,
        "specs": [_spec(each) for each in report.checked],
        "rules": [
            {
                "rule": rule.rule,
                "value": rule.value,
                "confirmed": rule.confirmed,
                "others": {name: answer.value for name, answer in rule.answers.items()},
            }
            for rule in report.rules
        ],
        "explained_by": None
        if report.explained_by is None
        else [{"rule": rule, "value": value} for rule, value in report.explained_by],
        "seconds": round(report.seconds, 3),
    }


def _spec(checked: Checked) -> dict[str, Any]:
    result = checked.conformance
    return {
        "spec": checked.column.name,
        "answer": result.answer.value,
        "reason": result.reason or None,
        "explained": result.observations,
        "observations": checked.observations,
        "hidden_steps": result.hidden_steps,
        "largest": result.largest,
        "actions": dict(sorted(result.actions.items())),
        "not_followed": dict(checked.notes),
        "rejection": None if result.rejection is None else _rejection(result.rejection),
    }


def _rejection(rejection: Rejection[Partition]) -> dict[str, Any]:
    observation = rejection.observation
    return {
        "number": rejection.number,
        "observation": observation.label,
        "earliest": observation.earliest,
        "latest": None if observation.latest == float("inf") else observation.latest,
        "frames": list(observation.source) if isinstance(observation.source, tuple) else [],
        "states": rejection.states,
        "why": [candidate.why for candidate in rejection.candidates],
        "before": [step.label for step in rejection.candidates[0].path] if rejection.candidates else [],
    }


def conformance_findings(report: ConformanceReport) -> list[Finding]:
    """Return findings for the requested spec or the recording's own release. If there is neither, return findings for
    all specs.
    """
    found = [report.own] if report.own is not None else list(report.checked)
    return [
        Finding(
            f"conformance to {each.column.name}",
            f"{report.path.name} {report.name}",
            STATUSES[each.conformance.answer],  # type: ignore[arg-type]
            " ".join(line.strip() for line in explained(report, each) if line.strip()),
            seconds=report.seconds if number == 0 else 0.0,
        )
        for number, each in enumerate(found)
    ]
