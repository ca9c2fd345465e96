"""The exit codes of all commands."""

from __future__ import annotations

AS_EXPECTED = 0
VIOLATED = 1
USAGE = 2
INCOMPLETE = 3

OF_VERDICT = {"holds": AS_EXPECTED, "violated": VIOLATED, "incomplete": INCOMPLETE}
"""The exit code of each verdict. The keys are names, so that the command can start without importing the engines."""
