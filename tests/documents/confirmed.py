"""Write a page that shows, for each release, which of the model's rules and actions are confirmed by recordings.

``python -m tests.documents.confirmed FOLDER`` prints the page for the recordings in a folder and its
subfolders.
"""

from __future__ import annotations

import itertools
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import attrs

from leadline.brokers.conformance.check import Checks
from leadline.brokers.conformance.reading import partitions_of
from leadline.brokers.recording import read_recording
from leadline.brokers.releases import broker_release
from leadline.checker.conformance import Answer
from leadline.checker.errors import LeadlineError
from leadline.checker.support.messages import counted
from leadline.checker.trace import Trace
from leadline.model.kafka.actions import actions_of
from leadline.model.kafka.releases import Column, column_of
from leadline.model.kafka.rules import RULES
from leadline.model.kafka.state import Partition
from leadline.reports.kafka.conformance.prediction import NOT_BY_WALKS, Behaviour
from leadline.reports.kafka.conformance.report import conformance_report, other_values
from leadline.reports.kafka.conformance.walks import planned_walks

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
behaviour that was made on brokers (`walk-...`), which was chosen because it would confirm many rules. The
[findings](findings/README.md) show the rules of reassignments, directories and settings. Rules and actions that no
recording confirms may still be right. [recording.md](../../brokers/recording.md#what-is-not-read) says what of a
recording is not read, and [recordings.md](../../model/recordings.md#differences-that-were-found) what brokers did
otherwise than the model.
"""

_NOT_CONFIRMED = """\
## Why rules are not confirmed

For each release, {walks} random walks of the model, of at most 18 steps that can be made on brokers, were compared with
each other value of each rule, as a recorder would see them.

- *confirmed*: a recording confirms the rule.
- *N walks*: no recording confirms the rule yet. N of these walks would if they were made on brokers.
- Otherwise, no walk makes a difference that a recorder sees. The table names the values that none of them contradicts:
  the walks do the same with these values, or the values allow more, and what allows more contradicts no recording.

[recordings.md](../../model/recordings.md#why-rules-are-not-confirmed) gives the reasons.

"""

WALKS = 150
WALKED = ("0.10.2.2", "0.11.0.3", "2.8.0", "3.4.1", "3.9.1", "4.1.1")


@attrs.frozen
class Confirmed:
    """The rules and actions that the recordings of one release confirm.

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
    """Return the rules, pairs of rules and actions that a recording confirms, of its last partition.

    Raises:
        LeadlineError: if the recording cannot be checked, does not name a release of the model, or does not conform to
            the model of this release.
    """
    topic, partition = partitions_of(read_recording(path))[-1]
    report = conformance_report(path, None, f"{topic}-{partition}", rules=True, keeps_logs=False)
    if report.own is None or report.own.conformance.answer is not Answer.CONFORMS:
        raise LeadlineError(f"{path} does not conform to the model of its release")
    read, column = report.read, report.own.column
    assert isinstance(column, Column)
    rules = [rule.rule for rule in report.rules if rule.confirmed]
    checks = Checks(read, keeps_logs=False)
    checks.check(column)
    pairs = {pair for pair in itertools.combinations(rules, 2) if _rejects_changes(checks, column, *pair)}
    return Confirmed(
        column,
        (path.stem,),
        frozenset(rules),
        frozenset(pairs),
        frozenset(name for name in _actions(column) if _needs(checks, column, name)),
    )


def _rejects_changes(checks: Checks, column: Column, one: str, other: str) -> bool:
    changes = itertools.product(other_values(column, one), other_values(column, other))
    what_ifs = (column.with_rules({one: first, other: second}) for first, second in changes)
    return all(checks.check(each).conformance.answer is Answer.REJECTED for each in what_ifs)


def _needs(checks: Checks, column: Column, action: str) -> bool:
    return checks.check(column, without=action).conformance.answer is Answer.REJECTED


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
    tables = [
        *_shares(releases),
        *_rules(releases),
        *_not_confirmed(releases),
        *_pairs(releases),
        *_confirmed_actions(releases),
    ]
    return "\n".join([_INTRODUCTION, *tables]).rstrip("\n") + "\n"


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


def _not_confirmed(releases: Sequence[Confirmed]) -> Iterator[str]:
    yield _NOT_CONFIRMED.format(walks=WALKS).rstrip("\n") + "\n"
    known = {each.column.name: each.rules for each in releases}
    found = [_reasons(version, known) for version in WALKED]
    yield from _table(
        ("rule", *(f"`{name}`" for name, _ in found)),
        ((f"`{rule.name}`", *(reasons[rule.name] for _, reasons in found)) for rule in RULES),
    )


def _reasons(version: str, known: Mapping[str, frozenset[str]]) -> tuple[str, dict[str, str]]:
    """Return the name of a release's spec, and a cell for each rule: why recordings confirm it or do not."""
    release = broker_release(version)
    column = column_of(release.spec)
    assert column is not None
    walks = itertools.islice(planned_walks(release, 0, candidates=1), WALKS)
    found = told_apart((plan.trace for _, plan in walks), column)
    cells = {
        rule: counted(walks, "walk") if walks else _listed(values) or "two walks together"
        for rule, (walks, values) in found.items()
    }
    return column.name, cells | dict.fromkeys(known.get(column.name, ()), "confirmed")


def told_apart(traces: Iterable[Trace[Partition]], column: Column) -> dict[str, tuple[int, tuple[str, ...]]]:
    """Return, for each rule, how many of the given behaviours would confirm it, and the values that none of them
    contradicts.
    """
    values = {rule.name: other_values(column, rule.name) for rule in RULES}
    left, walks = {rule: set(others) for rule, others in values.items()}, dict.fromkeys(values, 0)
    for trace in traces:
        behaviour = Behaviour(trace)
        if not behaviour.is_explained_by(column):
            continue
        for rule, others in values.items():
            kept = {value for value in others if behaviour.is_explained_by(column.with_rules({rule: value}))}
            left[rule] &= kept
            walks[rule] += not kept and rule not in NOT_BY_WALKS
    return {
        rule: (walks[rule], tuple(value for value in others if value in left[rule] or rule in NOT_BY_WALKS))
        for rule, others in values.items()
    }


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
    paths = sorted(Path(sys.argv[1]).rglob("*.jsonl"))
    print(page(by_release(map(confirmed_by, paths))), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
