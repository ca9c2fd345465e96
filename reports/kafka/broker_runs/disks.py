"""Audit the disks of the brokers in a replay: before records are lost, and at the end."""

from __future__ import annotations

from pathlib import Path

from leadline.checker.errors import LeadlineError
from leadline.invariants.audit.cluster import audit, compare

BEFORE, AFTER = "before", "after"


def audited(folder: Path) -> str:
    """Audit the disk copies that a replay wrote to a folder.

    Parameters:
        folder: the folder that was passed to `leadline.brokers.driver.replay.replay`.

    Returns:
        A sentence with the result, or an empty string if the folder has no disk copies from the end of the replay.
    """
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
    return f"the audit of the disks, before and after: {found or 'no error'}"
