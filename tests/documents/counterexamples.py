"""Keep counterexamples of known bugs for reproductions: `python -m tests.documents.counterexamples [TICKET...]`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from leadline.brokers.errors import NotExecutable
from leadline.checker.errors import LeadlineError
from leadline.checker.support.durable import replace_file
from leadline.checker.trace import Trace
from leadline.reports.hunt.cures import archive_with_causes
from leadline.reports.kafka.broker_runs.counterexamples import searched
from leadline.reports.kafka.broker_runs.schedules import affected_release, bug_of, fixed_release, schedules_of
from leadline.reports.kafka.bugs import GROUPS, IMAGES, BugSearch, family_of
from leadline.reports.kafka.kept_behaviours import FILE, kept, key_of, read_kept


def _written(run: BugSearch) -> Trace[Any]:
    """Return the counterexample for a search. Add it to the file if the file does not contain it yet."""
    found = kept(run)
    if found is None:
        found = searched(run)
        every = read_kept(FILE) | {key_of(run): [repr(instance) for instance in found.instances]}
        lines = [json.dumps({"ticket": key[0], "spec": key[1], "steps": every[key]}) for key in sorted(every)]
        replace_file(FILE, ("\n".join(lines) + "\n").encode())
        read_kept.cache_clear()
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Search for missing counterexamples in the releases that `leadline reproduce` uses, and add them to the file. Of
    bugs of consumer groups and of images, which it does not reproduce, keep the one in the last affected release.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tickets", nargs="*", help="the tickets of the bugs to search for; the default is all bugs")
    archive = archive_with_causes()
    chosen = parser.parse_args(arguments).tickets or [bug.ticket for bug in archive.bugs]
    for bug in (bug_of(archive, ticket) for ticket in chosen):
        if family_of(bug) in (GROUPS, IMAGES):
            _written([run for run in archive.runs(bug) if run.part == "affected"][-1])
        try:
            affected = affected_release(bug, None)
            schedules_of(archive, bug, affected, fixed_release(bug, affected, None), _written)
        except (NotExecutable, LeadlineError) as error:
            print(f"{bug.ticket}: {error}", flush=True)
        else:
            print(f"{bug.ticket}: can be made", flush=True)


if __name__ == "__main__":
    main()
