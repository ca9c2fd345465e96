"""Finds the version of an installed Java runtime."""

from __future__ import annotations

import re
import subprocess


def java_version(java: str) -> int | None:
    """Return the major version of a Java executable, or None if it cannot be run."""
    try:
        process = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?([0-9]+)', process.stderr + process.stdout)
    return int(found[1]) if found else None
