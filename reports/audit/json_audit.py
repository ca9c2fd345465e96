"""JSON: an audit as one object, for programs."""

from __future__ import annotations

from leadline.checker.result import Verdict
from leadline.invariants.audit.result import AuditResult


def audit_object(result: AuditResult) -> dict[str, object]:
    """An audit as an object that `json.dumps` takes.

    Returns:
        ``verdict`` is ``holds``, ``violated`` or ``incomplete``, ``reason`` why not everything could be decided, also
        where something is violated; ``brokers``, ``partitions`` and ``batches`` are counts; ``seconds`` is wall-clock
        time. A finding of severity ``note`` is explained, or gives other information.
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
