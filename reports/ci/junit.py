"""Findings as JUnit XML, a format that Jenkins, GitLab and other CI systems show."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from leadline.checker.support.escapes import visible
from leadline.reports.ci.findings import Finding
from leadline.reports.terminal.trace import plain_text

ELEMENTS = {"passed": "system-out", "failed": "failure", "incomplete": "error"}
"""The element in the test case of a finding, by its status. Incomplete findings are errors, never skipped tests."""


def junit(name: str, found: Sequence[Finding]) -> str:
    """Return findings as JUnit XML. Each finding is a test case, with its trace as text."""
    statuses = [finding.status for finding in found]
    counts = {
        "tests": str(len(found)),
        "failures": str(statuses.count("failed")),
        "errors": str(statuses.count("incomplete")),
        "time": _time(sum(finding.seconds for finding in found)),
    }
    root = ElementTree.Element("testsuites", counts, name="leadline")
    suite = ElementTree.SubElement(root, "testsuite", counts, name=visible(name))
    for finding in found:
        about = {"classname": finding.check, "name": finding.name, "time": _time(finding.seconds)}
        case = ElementTree.SubElement(suite, "testcase", about)
        said = ElementTree.SubElement(case, ELEMENTS[finding.status])
        text = plain_text(finding.trace) if finding.trace is not None else finding.message
        said.text = "\n".join([text, *finding.remarks()])
        if finding.status != "passed":
            said.attrib |= {"type": finding.status, "message": finding.explained()}
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _time(seconds: float) -> str:
    return f"{seconds:.3f}"
