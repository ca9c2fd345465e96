"""The formats for the results of a disk audit."""

from __future__ import annotations

from leadline.reports.audit.findings import AuditReport, audit_findings, audit_markdown
from leadline.reports.audit.json_audit import audit_object
from leadline.reports.audit.page import audit_page
from leadline.reports.ci.junit import junit
from leadline.reports.ci.sarif import sarif
from leadline.reports.formats import JSON_HELP, Format
from leadline.reports.lines import json_text

AUDIT_FORMATS: dict[str, Format[AuditReport]] = {
    "json": Format(
        AuditReport,
        lambda audit: json_text(audit_object(audit.result), indent=2),
        JSON_HELP,
        "FILE|-",
    ),
    "html": Format(
        AuditReport,
        lambda audit: audit_page(f"leadline audit {audit.directories}", audit.result, audit.examples),
        "Write the results as an HTML page.",
    ),
    "junit": Format(
        AuditReport,
        lambda audit: junit("audit", audit_findings(audit.result)),
        "Write a JUnit XML report with a test case for each violation.",
    ),
    "sarif": Format(
        AuditReport, lambda audit: sarif(audit_findings(audit.result)), "Write a SARIF report, for code scanning."
    ),
    "markdown": Format(
        AuditReport,
        lambda audit: audit_markdown(audit.result, audit.examples),
        "Append a Markdown summary to FILE, for example $GITHUB_STEP_SUMMARY.",
        appends=True,
    ),
}
"""The formats for the results of an audit of disks."""
