"""Reproduce known bugs repeatedly on real brokers, and write a page with the results.

``python -m tests.documents.successes --tries 10 [TICKET...]`` reproduces bugs, and adds the results
to a file next to the page. Without --tries, it only writes the page again.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from leadline.brokers.errors import NotExecutable
from leadline.brokers.reproduction import Judgement
from leadline.checker.errors import LeadlineError
from leadline.checker.trace import Trace
from leadline.reports.hunt.cures import archive_with_causes
from leadline.reports.kafka.broker_runs.schedules import affected_release, bug_of, fixed_release, schedules_of
from leadline.reports.kafka.bugs import NO_TICKET, Archive, Bug, BugSearch
from leadline.reports.kafka.kept_behaviours import kept

PAGE = Path(__file__).resolve().parents[2] / "reports" / "pages" / "reality.md"
RESULTS = PAGE.with_suffix(".jsonl")
CONFIRMED = PAGE.with_name("confirmed.md")
TRY_SECONDS = 900.0
MOST_COUNTED = 10

FAILED = "failed"
"""The judgement of a reproduction that ended without a report."""

_TEMPORARY = re.compile(r"\S*/leadline-[^/\s]+/")
"""A folder that exists only during a replay."""

_GOOD = {Judgement.REPRODUCED.value, Judgement.ABSENT.value}

_INTRODUCTION = """\
# Known bugs on real brokers

What real brokers have shown of each bug of the archive (`leadline bugs --list`), and of each cause for which no ticket
was found ([findings](findings/README.md)). `leadline reproduce TICKET` replays
the counterexample of the model on a release with the bug, and the same schedule on a release with the fix. A success
means that every step was as in the model of the release: on the one the property is violated, and the other departs
from the schedule where its model does. If no release with the fix can take the same schedule, the control is the
release with the bug, without the event that decides.

`make real TRIES=10` writes this page. A line counts the last ten tries at most. The seconds are the median of a replay
on each of the two releases, with the start of the brokers, on a machine with two cores that had other work. An idle
machine takes a fraction of the time.
"""

_CONFIRMED = """\

## Rules of the model that recordings of brokers confirm

A rule is confirmed if a recording conforms to the release, and does not with any other value of the rule. Pairs of
rules and actions likewise. [confirmed.md](confirmed.md) says which they are, and why the others are not confirmed.
"""


@attrs.frozen
class Try:
    """The result of replaying a bug on one release.

    Attributes:
        release: the release of the brokers.
        judgement: the conclusion, which is the value of a `Judgement`, or `FAILED`.
        reason: the reason for the conclusion.
        seconds: the duration of the replay in seconds.
        date: the date of the replay in ISO 8601 format.
        left_out: the event that was left out of the replay, or an empty string.
    """

    ticket: str
    release: str
    judgement: str
    reason: str
    seconds: float
    date: str
    left_out: str = ""


def main(arguments: Sequence[str] | None = None) -> None:
    """Reproduce bugs as often as the command line requests, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=0, help="how many times to reproduce each bug")
    parser.add_argument(
        "tickets", nargs="*", help="the tickets of the bugs to reproduce; the default is all reproducible bugs"
    )
    given = parser.parse_args(arguments)
    archive = archive_with_causes()
    archive = attrs.evolve(archive, bugs=[bug for bug in archive.about(None)[0] if not bug.by_design], mixes=[])
    unmade = _unmade(archive)
    if given.tickets:
        chosen = [bug_of(archive, ticket) for ticket in given.tickets]
    else:
        chosen = [bug for bug in archive.bugs if bug.ticket not in unmade]
    for bug in [each for _ in range(given.tries) for each in chosen]:
        with RESULTS.open("a", encoding="utf-8") as file:
            for found in _tried(bug):
                file.write(json.dumps(attrs.asdict(found)) + "\n")
                print(f"{found.ticket} {found.release}: {found.judgement}, {found.seconds:.0f} s", flush=True)
        PAGE.write_text(page(archive, unmade, read_tries(RESULTS)), encoding="utf-8")
    PAGE.write_text(page(archive, unmade, read_tries(RESULTS)), encoding="utf-8")


def _tried(bug: Bug) -> Iterator[Try]:
    """Reproduce a bug in a separate process, and yield the result of each replay.

    A reproduction without a report counts as a failed replay on the affected release.
    """
    command = [sys.executable, "-m", "leadline", "reproduce", bug.ticket, "--json", "-"]
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    started = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TRY_SECONDS, check=False)
        told: dict[str, Any] = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        reason = f"no report after {TRY_SECONDS:.0f} seconds"
    except ValueError:
        last = done.stderr.strip().rpartition("\n")[2]
        reason = _TEMPORARY.sub("", last) or f"no report, exit code {done.returncode}"
    else:
        for each, left_out in zip(told["replays"], ("", told["left_out"]), strict=True):
            made = (each["release"], each["judgement"], each["reason"], each["seconds"])
            yield Try(told["ticket"], *made, date, left_out)
        return
    yield Try(bug.ticket, affected_release(bug, None).name, FAILED, reason, time.monotonic() - started, date)


def read_tries(path: Path) -> list[Try]:
    """Read the results of earlier replays from a file, oldest first. If the file does not exist, return no results."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Try(**json.loads(line)) for line in lines]


def _unmade(archive: Archive) -> dict[str, str]:
    """Return the reason why each bug cannot be reproduced on real brokers, keyed by ticket. A ticket of two bugs has
    both reasons.
    """
    found: dict[str, str] = {}
    for bug in archive.bugs:
        reason = bug.on_brokers or _obstacle(archive, bug)
        if reason:
            found[bug.ticket] = f"{found[bug.ticket]}; {reason}" if bug.ticket in found else reason
    return found


def _obstacle(archive: Archive, bug: Bug) -> str:
    try:
        affected = affected_release(bug, None)
        schedules_of(archive, bug, affected, fixed_release(bug, affected, None), _known)
    except (NotExecutable, LeadlineError) as error:
        return str(error)
    return ""


def _known(run: BugSearch) -> Trace[Any]:
    found = kept(run)
    if found is None:
        raise LeadlineError("the counterexample is not known yet, because no search for it has been run")
    return found


# --- the page -----------------------------------------------------------------------------------------------


def page(archive: Archive, unmade: dict[str, str], tries: Sequence[Try]) -> str:
    """Return the page as Markdown, with a row for each bug of the archive.

    Parameters:
        archive: the archive of known bugs.
        unmade: the reasons why bugs cannot be reproduced on real brokers, keyed by ticket.
        tries: the results of the replays, oldest first.
    """
    lines = [
        _INTRODUCTION,
        "| command | on the release with the bug | on the release with the fix | seconds | last tried |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [_line(bug, tries) for bug in archive.bugs if bug.ticket not in unmade]
    lines += [_CONFIRMED, *_shares(CONFIRMED.read_text(encoding="utf-8"))]
    lines += ["", "## Bugs that brokers do not show, or not on both releases", "", "| ticket | why |", "| --- | --- |"]
    lines += [f"| {ticket} | {reason} |" for ticket, reason in unmade.items()]
    lines += [f"| {bug.ticket} | no counterexample: {bug.reason} |" for bug in archive.unreached]
    return "\n".join(lines) + "\n"


def _shares(text: str) -> list[str]:
    """Return the first table of the page of confirmed rules, which has a row for each release."""
    return text[text.index("| release |") :].split("\n\n")[0].splitlines()


def _line(bug: Bug, tries: Sequence[Try]) -> str:
    affected = affected_release(bug, None)
    fixed = fixed_release(bug, affected, None)
    own = [each for each in tries if each.ticket == bug.ticket]
    both = [_last(own, affected.name, without_event=False)]
    both.append(_last(own, (fixed or affected).name, without_event=fixed is None))
    cells = [_successes(affected.name, both[0])]
    cells.append(_successes((fixed or affected).name + ("" if fixed else ", without the event that decides"), both[1]))
    counted = list(itertools.chain(*both))
    seconds = ", ".join(f"{statistics.median(each.seconds for each in found):.0f}" for found in both if found)
    date = max((each.date for each in counted), default="not yet")
    name = bug.ticket.removeprefix(NO_TICKET)
    argument = f'"{name}"' if " " in name else name
    return f"| `leadline reproduce {argument}` | {cells[0]} | {cells[1]} | {seconds} | {date} |"


def _last(tries: Sequence[Try], release: str, *, without_event: bool) -> list[Try]:
    found = [each for each in tries if each.release == release and bool(each.left_out) == without_event]
    return found[-MOST_COUNTED:]


def _successes(release: str, tries: Sequence[Try]) -> str:
    good = [each for each in tries if each.judgement in _GOOD]
    if not tries:
        return f"{release}: not tried"
    text = f"{release}: {good[-1].judgement} {len(good)} of {len(tries)}" if good else f"{release}: 0 of {len(tries)}"
    failed = [each for each in tries if each.judgement not in _GOOD]
    return text + (f" (else: {failed[-1].reason})" if failed else "")


if __name__ == "__main__":
    main()
