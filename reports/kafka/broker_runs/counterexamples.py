"""Keep the counterexamples that earlier searches for known bugs found, so that a reproduction does not have to search.

`counterexamples.jsonl` contains the steps of each counterexample, without states. The steps are executed in the model
before they are used. If the model no longer allows a counterexample, a search finds another one.
"""

from __future__ import annotations

from typing import Any

from leadline.checker.errors import LeadlineError
from leadline.checker.result import Verdict
from leadline.checker.trace import Trace
from leadline.reports.kafka.bugs import BugSearch
from leadline.reports.kafka.kept_behaviours import kept
from leadline.reports.terminal.progress import progress_line


def counterexample(run: BugSearch) -> Trace[Any]:
    """Return a counterexample for a bug: the one saved in the file or, if there is none, one that a search finds.

    Parameters:
        run: the search for the bug.

    Raises:
        LeadlineError: if the search finds no counterexample.
    """
    return kept(run) or searched(run)


def searched(run: BugSearch) -> Trace[Any]:
    """Search for a counterexample, and show the progress of the search.

    Raises:
        LeadlineError: if there is no counterexample.
        KeyboardInterrupt: if the search was interrupted.
    """
    with progress_line(f"{run.bug.ticket} {run.spec.name}") as progress:
        result = run.searched(progress).result
    if result.interrupted:
        raise KeyboardInterrupt
    if result.verdict is not Verdict.VIOLATED:
        raise LeadlineError(f"{run.spec.name} has no counterexample for {run.bug.ticket}")
    return result.properties[0].traces[0]
