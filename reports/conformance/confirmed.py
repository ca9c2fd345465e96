"""Write a page that shows, for each release, which of the model's rules and actions are confirmed by recordings.

``python -m leadline.reports.conformance.confirmed FOLDER`` prints the page for the recordings in a folder.
"""

from __future__ import annotations

import itertools
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import attrs

from leadline.brokers.conformance.check import check
from leadline.brokers.conformance.partition import PartitionRecording
from leadline.checker.conformance import Answer
from leadline.checker.errors import LeadlineError
from leadline.checker.support.messages import counted
from leadline.model.kafka.actions import actions_of
from leadline.model.kafka.releases import Column
from leadline.model.kafka.rules import RULES
from leadline.reports.conformance.report import conformance_report, other_values

_INTRODUCTION = """\
# What real brokers have confirmed

Which rules and actions of the model recordings of real brokers confirm. A recording that does not exercise a rule
conforms with every value of it, so conforming alone says little.

- A **rule** is confirmed if a recording conforms to the spec of its release, and does not with any other value of the
  rule.
- A **pair of rules** is confirmed if a recording confirms both, and does not conform with other values of both either:
  no change of the one makes up for a change of the other.
- An **action** is confirmed if a recording does not conform to the spec without this action.

`make page-confirmed` writes this page from the recordings in
[`tests/conformance/recordings`](../../tests/conformance/recordings). Each shows one bug, or its absence, or a random
behaviour that was made on brokers (`walk-...`). Rules and actions that they do not confirm may still be right.
"""

_DIFFERENCES = """\
## Differences that were found

What brokers did otherwise than the model of their release, or otherwise than recordings were read, and what was done.

- **KAFKA-13207.** Of 65 recordings that a prototype followed, one was not a behaviour of the model, because the model
  lacked this bug of 2.8.0. It has been added to the model.
- **A refused record that is in the log.** In a run of `leadline conform --release 3.9.1 --chaos 1`, a leader was
  paused. When it went on, it appended a record (frame 2588, a produce request with acks=all), sent it in the answer
  to a fetch that had waited (2589), and learned that it was deposed. It then refused the record with
  NOT_LEADER_OR_FOLLOWER, but with its offset, 131 (2600): `DelayedProduce` in Kafka's code keeps the offset. The
  model was right, but the recording was read as if nothing had been appended. Mended: an answer with an offset shows
  an append.
- **A broker that fetches before it is registered.** In `walk-4.1.1`, broker 2 is killed and started while its session
  lasts. The controller refuses its registration thirteen times with DUPLICATE_BROKER_REGISTRATION (frame 242 is the
  first), and meanwhile it sends its leader a fetch request (247). In the model, a start and a registration are one
  step. Listed in [model/README.md](../../model/README.md#following-recordings): such a fetch counts only for what the
  leader makes of it, and a recording in which the broker changes its log before it is registered is refused.
"""


@attrs.frozen
class Confirmed:
    """What the recordings of one release confirm.

    Attributes:
        column: the release.
        recordings: the names of the recordings.
        rules: the names of the confirmed rules.
        pairs: the confirmed pairs of rules.
        actions: the names of the confirmed actions.
    """

    column: Column
    recordings: tuple[str, ...]
    rules: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    actions: frozenset[str]


def confirmed_by(path: Path) -> Confirmed:
    """Return the rules, pairs of rules and actions that a recording of one partition confirms.

    Raises:
        LeadlineError: if the recording cannot be checked, does not name a release of the model, or does not conform to
            the model of this release.
    """
    report = conformance_report(path, None, None, rules=True, keeps_logs=False)
    if report.own is None or report.own.conformance.answer is not Answer.CONFORMS:
        raise LeadlineError(f"{path} does not conform to the model of its release")
    read, column = report.read, report.own.column
    rules = [rule.rule for rule in report.rules if rule.confirmed]
    pairs = {pair for pair in itertools.combinations(rules, 2) if _rejects_changes(read, column, *pair)}
    return Confirmed(
        column,
        (path.stem,),
        frozenset(rules),
        frozenset(pairs),
        frozenset(name for name in _actions(column) if _needs(read, column, name)),
    )


def _rejects_changes(read: PartitionRecording, column: Column, one: str, other: str) -> bool:
    changes = itertools.product(other_values(column, one), other_values(column, other))
    what_ifs = (column.with_rules({one: first, other: second}) for first, second in changes)
    return all(check(read, each, keeps_logs=False).conformance.answer is Answer.REJECTED for each in what_ifs)


def _needs(read: PartitionRecording, column: Column, action: str) -> bool:
    return check(read, column, keeps_logs=False, without=action).conformance.answer is Answer.REJECTED


def _actions(column: Column) -> list[str]:
    return [action.name for action in actions_of(column.protocol())]


def by_release(found: Iterable[Confirmed]) -> list[Confirmed]:
    """Merge the results for recordings into one result for each release. Sort these results by release."""
    merged: dict[str, Confirmed] = {}
    for each in sorted(found, key=lambda each: (each.column.versions, each.recordings)):
        known = merged.get(each.column.name)
        merged[each.column.name] = each if known is None else _merged(known, each)
    return sorted(merged.values(), key=lambda each: [int(part) for part in each.column.versions[0].split(".")])


def _merged(one: Confirmed, other: Confirmed) -> Confirmed:
    return Confirmed(
        one.column,
        (*one.recordings, *other.recordings),
        one.rules | other.rules,
        one.pairs | other.pairs,
        one.actions | other.actions,
    )


def page(releases: Sequence[Confirmed]) -> str:
    """Return the page as Markdown."""
    tables = [*_shares(releases), *_rules(releases), *_pairs(releases), *_confirmed_actions(releases)]
    return "\n".join([_INTRODUCTION, *tables, _DIFFERENCES])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for row in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(row)} |"
    yield ""


def _shares(releases: Sequence[Confirmed]) -> Iterator[str]:
    pairs = len(RULES) * (len(RULES) - 1) // 2
    yield from _table(
        ("release", "recordings", "rules", "pairs of rules", "actions"),
        (
            (
                f"`{each.column.name}`",
                ", ".join(each.recordings),
                f"{len(each.rules)} of {len(RULES)}",
                f"{len(each.pairs)} of {pairs}",
                f"{len(each.actions)} of {len(_actions(each.column))}",
            )
            for each in releases
        ),
    )


def _rules(releases: Sequence[Confirmed]) -> Iterator[str]:
    yield "## Rules\n"
    yield "The value of each confirmed rule.\n"
    known = [rule.name for rule in RULES if any(rule.name in each.rules for each in releases)]
    yield from _table(
        ("rule", *(f"`{each.column.name}`" for each in releases)),
        (
            (f"`{rule}`", *(f"`{each.column.values[rule]}`" if rule in each.rules else "" for each in releases))
            for rule in known
        ),
    )
    others = [rule.name for rule in RULES if rule.name not in known]
    yield from _paragraph(f"No recording confirms {counted(len(others), 'rule')}: {_listed(others)}.")


def _pairs(releases: Sequence[Confirmed]) -> Iterator[str]:
    yield "## Pairs of rules\n"
    rows: dict[tuple[str, str], list[str]] = {}
    for each in releases:
        for pair in sorted(each.pairs):
            rows.setdefault(pair, []).append(each.column.name)
    yield from _table(
        ("pair", "confirmed in"), ((_listed(pair), _listed(names)) for pair, names in sorted(rows.items()))
    )


def _confirmed_actions(releases: Sequence[Confirmed]) -> Iterator[str]:
    yield "## Actions\n"
    names = dict.fromkeys(name for each in releases for name in _actions(each.column))
    known = [name for name in names if any(name in each.actions for each in releases)]
    yield from _table(
        ("action", *(f"`{each.column.name}`" for each in releases)),
        ((f"`{name}`", *("confirmed" if name in each.actions else "" for each in releases)) for name in known),
    )
    others = [name for name in names if name not in known]
    yield from _paragraph(f"No recording confirms {counted(len(others), 'action')}: {_listed(others)}.")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _paragraph(text: str) -> Iterator[str]:
    yield textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False) + "\n"


def main() -> int:
    """Print the page, and return the exit code."""
    paths = sorted(Path(sys.argv[1]).glob("*.jsonl"))
    print(page(by_release(map(confirmed_by, paths))), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
