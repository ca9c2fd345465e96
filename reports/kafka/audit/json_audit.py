"""The result of an audit as a JSON object, for programs."""

from __future__ import annotations

from leadline.checker.result import Verdict
from leadline.invariants.audit.result import AuditResult


def audit_object(result: AuditResult) -> dict[str, object]:
    """Return an audit as an object for `json.dumps`.

    Returns:
        The object. Its field ``verdict`` is ``holds``, ``violated`` or ``incomplete``. ``reason`` says why some
        properties could not be decided, and may be present even if there is a violation. ``brokers``, ``partitions``
        and ``batches`` are counts. ``seconds`` is wall-clock time. A finding of severity ``note`` is not an error.
    """
    return {
        "verdict": result.verdict.value,
        "reason": "; ".join(result.reasons) if result.verdict is not Verdict.HOLDS and result.reasons else None,
        "brokers": result.brokers,
        "partitions": result.partitions,
        "batches": result.batches,
        "seconds": round(result.seconds, 3),
        "findings": [
            {
                "check": finding.check,
                "severity": finding.severity,
                "topic": finding.topic,
                "partition": finding.partition,
                "brokers": list(finding.brokers),
                "offset": finding.offset,
                "text": finding.text,
            }
            for finding in result.findings
        ],
    }
