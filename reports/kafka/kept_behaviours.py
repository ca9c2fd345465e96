"""The counterexamples that are kept of known bugs, as steps without states.

None is trusted: the steps are executed in the model before they are used.

`tests/documents/counterexamples.py` writes the file.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leadline.checker.trace import Trace
from leadline.checker.traces.replay import executed

if TYPE_CHECKING:
    from leadline.reports.kafka.bugs import BugSearch

FILE = Path(__file__).parent / "broker_runs" / "counterexamples.jsonl"


def kept_steps(ticket: str, release: str) -> list[list[str]]:
    """Return the steps of the counterexample for a bug in a release or, if the file does not contain it, of those in
    other releases, which may be possible in this one, too.
    """
    own = read_kept(FILE).get((ticket, release))
    return [own] if own else [steps for (other, _), steps in read_kept(FILE).items() if other == ticket]


def kept(run: BugSearch, file: Path = FILE) -> Trace[Any] | None:
    """Read the counterexample for a search from the file, and return it.

    Returns:
        The counterexample, or None if the file does not contain it or the model no longer allows its steps.
    """
    steps = read_kept(file).get(key_of(run))
    return None if steps is None else executed(run.spec, steps)


def key_of(run: BugSearch) -> tuple[str, str]:
    """Return the key of the counterexample for a search in `read_kept`."""
    return run.bug.ticket, run.spec.name


@functools.cache
def read_kept(file: Path) -> dict[tuple[str, str], list[str]]:
    """Return the steps of the counterexamples in a file, keyed by the bug and the name of the spec."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {(told["ticket"], told["spec"]): told["steps"] for told in map(json.loads, lines)}
