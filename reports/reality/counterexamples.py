"""Keep the counterexamples that earlier searches for known bugs found, so that a reproduction does not have to search.

`counterexamples.jsonl` contains the steps of each counterexample, without states. The steps are executed in the model
before they are used. If the model no longer allows a counterexample, a search finds another one.

``python -m leadline.reports.reality.counterexamples [TICKET...]`` searches for the counterexamples that are missing
from the file.
"""

from __future__ import annotations

import argparse
import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leadline.brokers.errors import Unmakeable
from leadline.checker.errors import LeadlineError
from leadline.checker.result import Verdict
from leadline.checker.spec import Spec
from leadline.checker.support.durable import replace_file
from leadline.checker.trace import Trace, complaint_at_end
from leadline.reports.bugs import BugSearch
from leadline.reports.hunt.cures import archive_with_causes
from leadline.reports.reality.schedules import affected_release, bug_of, mended_release, schedules_of
from leadline.reports.terminal.progress import progress_line

FILE = Path(__file__).with_name("counterexamples.jsonl")


def counterexample(run: BugSearch) -> Trace[Any]:
    """Return a counterexample for a bug: the one saved in the file or, if there is none, one that a search finds.

    Parameters:
        run: the search for the bug.

    Raises:
        LeadlineError: if the search finds no counterexample.
    """
    return kept(run) or searched(run)


def kept(run: BugSearch, file: Path = FILE) -> Trace[Any] | None:
    """Read the counterexample for a search from the file, and return it.

    Returns:
        The counterexample, or None if the file does not contain it or the model no longer allows its steps.
    """
    steps = _read(file).get(_key(run))
    return None if steps is None else executed(run.spec, steps)


def kept_steps(ticket: str, release: str) -> list[list[str]]:
    """Return the steps of the counterexample for a bug in a release or, if the file does not contain it, of those in
    other releases, which may be possible in this one, too.
    """
    own = _read(FILE).get((ticket, release))
    return [own] if own else [steps for (other, _), steps in _read(FILE).items() if other == ticket]


def searched(run: BugSearch) -> Trace[Any]:
    """Search for a counterexample, and show the progress of the search.

    Raises:
        LeadlineError: if there is no counterexample.
    """
    with progress_line(f"{run.bug.ticket} {run.spec.name}") as progress:
        result = run.searched(progress).result
    if result.verdict is not Verdict.VIOLATED:
        raise LeadlineError(f"{run.spec.name} has no counterexample for {run.bug.ticket}")
    return result.properties[0].traces[0]


def executed(spec: Spec[Any], steps: Sequence[str]) -> Trace[Any] | None:
    """Execute the given steps in a spec, and return a behaviour that violates the spec's property.

    Parameters:
        spec: the spec, with one property.
        steps: the action instances, as `repr` writes them.

    Returns:
        The behaviour, or None if no behaviour with these steps violates the property.
    """
    known = {repr(instance): instance for instance in spec.instances}
    if not {*steps} <= {*known}:
        return None
    (about,), instances = spec.checks, [known[step] for step in steps]

    def continued(states: list[Any]) -> list[Any] | None:
        if len(states) > len(instances):
            return None if complaint_at_end(spec, about, states) is None else states
        within = spec.is_within(states[-1])
        successors = spec.take(instances[len(states) - 1], states[-1]) if within else []
        found = (continued([*states, successor]) for successor in successors)
        return next(filter(None, found), None)

    states = next(filter(None, (continued([state]) for state in spec.initials())), None)
    return None if states is None else Trace(spec, states, instances, about)


def _key(run: BugSearch) -> tuple[str, str]:
    return run.bug.ticket, run.spec.name


@functools.cache
def _read(file: Path) -> dict[tuple[str, str], list[str]]:
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {(told["ticket"], told["spec"]): told["steps"] for told in map(json.loads, lines)}


def _written(run: BugSearch) -> Trace[Any]:
    """Return the counterexample for a search. Add it to the file if the file does not contain it yet."""
    found = kept(run)
    if found is None:
        found = searched(run)
        every = _read(FILE) | {_key(run): [repr(instance) for instance in found.instances]}
        lines = [json.dumps({"ticket": key[0], "spec": key[1], "steps": every[key]}) for key in sorted(every)]
        replace_file(FILE, ("\n".join(lines) + "\n").encode())
        _read.cache_clear()
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Search for missing counterexamples in the releases that `leadline reproduce` uses, and add them to the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tickets", nargs="*", help="the tickets of the bugs to search for; the default is all bugs")
    archive = archive_with_causes()
    chosen = parser.parse_args(arguments).tickets or [bug.ticket for bug in archive.bugs]
    for bug in (bug_of(archive, ticket) for ticket in chosen):
        try:
            affected = affected_release(bug, None)
            schedules_of(archive, bug, affected, mended_release(bug, affected, None), _written)
        except (Unmakeable, LeadlineError) as error:
            print(f"{bug.ticket}: {error}", flush=True)
        else:
            print(f"{bug.ticket}: can be made", flush=True)


if __name__ == "__main__":
    main()
