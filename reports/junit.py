"""JUnit XML: what Jenkins, GitLab and others show of a run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from reports.findings import Finding
from reports.terminal import plain_text

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold, however they are written."""

ELEMENTS = {"passed": "system-out", "failed": "failure", "incomplete": "error"}
"""What is in the test case of a finding, by its status: what is incomplete is an error, never skipped."""


def junit(name: str, found: Sequence[Finding]) -> str:
    """Findings as JUnit XML: a test case each, with its trace as text.

    Parameters:
        name: what the suite is called.
        found: the findings.
    """
    statuses = [finding.status for finding in found]
    counts = {
        "tests": str(len(found)),
        "failures": str(statuses.count("failed")),
        "errors": str(statuses.count("incomplete")),
        "time": _time(sum(finding.seconds for finding in found)),
    }
    root = ElementTree.Element("testsuites", counts, name="leadline")
    suite = ElementTree.SubElement(root, "testsuite", counts, name=_xml(name))
    for finding in found:
        about = {"classname": _xml(finding.check), "name": _xml(finding.name), "time": _time(finding.seconds)}
        case = ElementTree.SubElement(suite, "testcase", about)
        said = ElementTree.SubElement(case, ELEMENTS[finding.status])
        said.text = _xml(plain_text(finding.trace) if finding.trace is not None else finding.message)
        if finding.status != "passed":
            said.attrib |= {"type": finding.status, "message": _xml(finding.message)}
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _time(seconds: float) -> str:
    return f"{seconds:.3f}"


def _xml(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
