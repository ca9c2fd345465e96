"""The exit codes of all commands."""

from __future__ import annotations

AS_EXPECTED = 0
VIOLATED = 1
USAGE = 2
INCOMPLETE = 3

OF_VERDICT = {"holds": AS_EXPECTED, "violated": VIOLATED, "incomplete": INCOMPLETE}
"""Exit codes by the name of the verdict, so that the command starts without importing the engines."""
