"""The exit codes: the one table."""

from __future__ import annotations

AS_EXPECTED = 0
VIOLATED = 1
USAGE = 2
INCOMPLETE = 3

OF_VERDICT = {"holds": AS_EXPECTED, "violated": VIOLATED, "incomplete": INCOMPLETE}
"""By what a verdict is called, so that the command can begin without loading what finds verdicts."""
