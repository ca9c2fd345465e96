"""Findings in the SARIF 2.1.0 format, for code scanning."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.metadata import version
from urllib.parse import quote

import attrs

from leadline.checker.properties import Property
from leadline.checker.support.escapes import visible
from leadline.reports.ci.findings import Finding, SourceLocation, location_in_folder
from leadline.reports.traces.story import story_of

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(found: Iterable[Finding]) -> str:
    """Return findings as a SARIF log with a rule for each property and a result for each unexpected finding.

    A violation is an error, with its trace as a code flow and its diagnosis in the property bag. An incomplete finding
    is of kind ``open``, and the run is marked as not successful. A finding without a location, such as a finding about
    an entire check, is a notification.
    """
    wrong = [finding for finding in found if finding.status != "passed"]
    placed = [
        (finding, item, place)
        for finding in wrong
        if (item := finding.property) is not None and (place := finding.location) is not None
    ]
    rules = {finding.name: _rule(item) for finding, item, _ in placed}
    driver = {"name": "leadline", "version": version("leadline"), "rules": list(rules.values())}
    results = [_result(finding, place, list(rules)) for finding, _, place in placed]
    said = [
        {"level": "error", "message": {"text": f"{finding.check}: {finding.explained()}"}}
        for finding in wrong
        if finding.property is None or finding.location is None
    ]
    finished = not said and all(finding.status == "failed" for finding in wrong)
    invocation = {"executionSuccessful": finished, "toolExecutionNotifications": said}
    run = {"tool": {"driver": driver}, "invocations": [invocation], "results": results}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=False) + "\n"


def _rule(item: Property) -> dict[str, object]:
    rule: dict[str, object] = {"id": visible(item.name), "shortDescription": {"text": visible(item.sentence)}}
    if item.source:
        rule["help"] = {"text": visible(f"Source: {item.source}")}
    return rule


def _result(finding: Finding, place: SourceLocation, rules: list[str]) -> dict[str, object]:
    result: dict[str, object] = {
        "ruleId": finding.name,
        "ruleIndex": rules.index(finding.name),
        "kind": "fail" if finding.status == "failed" else "open",
        "level": "error" if finding.status == "failed" else "none",
        "message": {"text": f"{finding.check}: {finding.explained()}"},
        "locations": [_location(place)],
        "partialFingerprints": {"checkAndProperty/v1": f"{finding.check}/{finding.name}"},
    }
    if finding.trace is not None:
        actions = [location_in_folder(step.instance.action.function) for step in finding.trace.steps]
        steps = [
            {"location": {**_location(source or place), "message": {"text": frame.words}}}
            for source, frame in zip((None, *actions), story_of(finding.trace).frames, strict=True)
        ]
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    if finding.diagnosis is not None:
        result["properties"] = {"diagnosis": attrs.asdict(finding.diagnosis)}
    return result


def _location(place: SourceLocation) -> dict[str, object]:
    uri = quote(place.path)
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": place.line}}}
