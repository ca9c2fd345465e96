"""The exit codes: the one table."""

from __future__ import annotations

from checker.result import Verdict

AS_EXPECTED = 0
VIOLATED = 1
USAGE = 2
INCOMPLETE = 3

OF_VERDICT = {
    Verdict.HOLDS: AS_EXPECTED,
    Verdict.VIOLATED: VIOLATED,
    Verdict.INCOMPLETE: INCOMPLETE,
}
