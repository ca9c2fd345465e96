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
from leadline.reports.ci.findings import Finding
from leadline.reports.kafka.conformance.report import Report
from leadline.reports.kafka.conformance.text import explained
from leadline.reports.kafka.conformance.whole import GroupReport, WholeReport
from leadline.reports.origin import Origin

VERSION = 1
"""The version of the format. New fields may be added without a new version."""

SCHEMA = Path(__file__).resolve().with_name("conform.schema.json")
"""The JSON Schema of the object."""

STATUSES = {Answer.CONFORMS: "passed", Answer.REJECTED: "failed", Answer.UNDECIDED: "incomplete"}


def conformance_object(report: WholeReport, origin: Origin) -> dict[str, Any]:
    """Return a report as an object for `json.dumps`. The schema describes its fields.

    Parameters:
        origin: the version, command and date of the run.
    """
    part = report.partition
    rules = () if part is None else part.rules
    explained_by = None if part is None else part.explained_by
    return {
        "format": "leadline conform",
        "format_version": VERSION,
        "leadline": attrs.asdict(origin),
        "exit_code": report.exit_code,
        "recording": str(report.path),
        "partition": None if part is None else part.name,
        "release": report.parts[0].read.about.get("release"),
        "assignment": [] if part is None else list(part.read.assignment),
        **_results(part),
        "rules": [
            {
                "rule": rule.rule,
                "value": rule.value,
                "confirmed": rule.confirmed,
                "others": {name: answer.value for name, answer in rule.answers.items()},
            }
            for rule in rules
        ],
        "explained_by": None
        if explained_by is None
        else [{"rule": rule, "value": value} for rule, value in explained_by],
        "groups": [_group(each) for each in report.groups],
        "not_checked": list(report.unchecked),
        "seconds": round(sum(each.seconds for each in report.parts), 3),
    }


def _group(report: GroupReport) -> dict[str, Any]:
    read = report.read
    return {
        "group": read.group,
        "protocol": read.protocol,
        "exit_code": report.exit_code,
        "members": list(read.members),
        **_results(report),
    }


def _results(report: Report | None) -> dict[str, Any]:
    if report is None:
        return {"own": None, "specs": []}
    own = None if report.own is None else report.own.column.name
    return {"own": own, "specs": [_spec(each) for each in report.checked]}


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


def _rejection(rejection: Rejection[Any]) -> dict[str, Any]:
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


def conformance_findings(report: WholeReport) -> list[Finding]:
    """Return findings for the partition and for each group: for the requested spec or the recording's own release. If
    there is neither, return findings for all specs.
    """
    return [
        Finding(
            f"conformance to {each.column.name}",
            f"{part.path.name} {part.name}",
            STATUSES[each.conformance.answer],  # type: ignore[arg-type]
            " ".join(line.strip() for line in explained(part, each) if line.strip()),
            seconds=part.seconds if number == 0 else 0.0,
        )
        for part in report.parts
        for number, each in enumerate([part.own] if part.own is not None else part.checked)
    ]
