"""What the audit says of the disks of a replay, before its last step and at the end."""

from __future__ import annotations

from pathlib import Path

from leadline.checker.errors import LeadlineError
from leadline.invariants.audit.cluster import audit, compare

BEFORE, AFTER = "before", "after"


def audited(folder: Path) -> str:
    """Return what the audit says of the copies in a folder of `leadline.brokers.driver.replay.replay`."""
    given = {name: str(folder / name) for name in (BEFORE, AFTER) if (folder / name).is_dir()}
    try:
        if BEFORE in given and AFTER in given:
            result = compare([given[BEFORE]], [given[AFTER]], workers=1)
        elif AFTER in given:
            result = audit([given[AFTER]], workers=1)
        else:
            return ""
    except LeadlineError as error:
        return f"the audit of the disks: {error}"
    found = "; ".join(finding.sentence for finding in result.errors)
    return f"the audit of the disks, before the last step and now: {found or 'no error'}"
