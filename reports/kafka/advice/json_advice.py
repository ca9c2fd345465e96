"""Advice on an upgrade as a JSON object, for programs.

Its JSON Schema is ``advise.schema.json`` in this folder. `VERSION` is increased when the format changes in a way that
existing programs may not be able to read.
"""

from __future__ import annotations

from pathlib import Path

import attrs

from leadline.reports.kafka.advice.advice import Advice, Concern, Finding
from leadline.reports.kafka.advice.cluster import Cluster
from leadline.reports.kafka.advice.decisions import Decision, Status
from leadline.reports.origin import Origin

VERSION = 1
"""The version of the format. New fields may be added without a new version."""

SCHEMA = Path(__file__).resolve().with_name("advise.schema.json")
"""The JSON Schema of the object."""


def advice_object(advice: Advice, origin: Origin) -> dict[str, object]:
    """Return advice as an object for `json.dumps`.

    Parameters:
        origin: the version, command and date of the run.
    """
    return {
        "format": "leadline advise",
        "format_version": VERSION,
        "leadline": attrs.asdict(origin),
        "from": _cluster(advice.before),
        "to": _cluster(advice.after),
        "bugs": [_finding(each) for each in advice.findings],
        "rules": [dict(zip(("question", "before", "after", "source"), rule, strict=True)) for rule in advice.rules],
        "path": [attrs.asdict(step) for step in advice.path],
        "settings": [attrs.asdict(remark) for remark in advice.settings.remarks],
        "archive": {"searchable": advice.searched, "not_searchable": [bug.ticket for bug in advice.unmodelled]},
        "quorum": advice.quorum and attrs.asdict(advice.quorum, value_serializer=_plain),
        "interrupted": advice.interrupted,
    }


def _plain(_instance: object, _field: object, value: object) -> object:
    return value.value if isinstance(value, Status) else value


def _cluster(cluster: Cluster) -> dict[str, object]:
    return {
        "version": cluster.version,
        "spec": cluster.column.name,
        "controller": cluster.column.controller,
        "settings": {name: attrs.asdict(given) for name, given in cluster.settings.items()},
        "replicas": cluster.replicas,
        "follower_reads": cluster.follower_reads,
        "not_promised": cluster.not_promised,
        "notes": list(cluster.notes),
    }


def _finding(finding: Finding) -> dict[str, object]:
    bug = finding.bug
    return {
        "ticket": bug.ticket,
        "also": bug.also,
        "sentence": bug.sentence,
        "group": finding.group.value,
        "property": bug.property,
        "promise": finding.concern is Concern.PROMISE,
        "harm": finding.harm,
        "before": decision_object(finding.before),
        "after": decision_object(finding.after),
        "feature": finding.feature or None,
    }


def decision_object(decision: Decision) -> dict[str, object]:
    """Return a decision as an object for `json.dumps`."""
    return {
        "status": decision.status.value,
        "reason": decision.reason or None,
        "command": decision.command or None,
    }
