"""The archive of bugs, and the command that runs it."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

import attrs
import pytest

from leadline.checker import Spec, Verdict
from leadline.checker.engines import ENGINES
from leadline.checker.errors import LeadlineError, SpecError
from leadline.checker.result import Result
from leadline.invariants.catalog import column_of
from leadline.model.kafka.releases import RELEASES
from leadline.model.rules import RuleColumn
from leadline.reports.cli.bugs import Forecast
from leadline.reports.kafka.bugs import (
    CONTROL,
    GROUPS,
    IMAGES,
    QUORUM,
    REPLICATION,
    TRANSACTIONS,
    Bug,
    BugSearch,
    Expected,
    family_of,
    fix_of,
    read_archive,
)
from leadline.reports.kafka.known_bugs import known_bugs_within
from leadline.reports.loading import load_spec
from tests.suite.archive import ARCHIVE, runs_of
from tests.suite.command import call
from tests.suite.samples import EVERY, sampled

CHEAP = "KAFKA-13916"
"""A bug whose runs take a second or two in all."""
CHEAPEST = "KAFKA-18575"
"""A bug whose runs take half a second."""


def test_the_archive_has_the_bugs_that_everybody_knows() -> None:
    known = {name for bug in ARCHIVE.bugs for name in (bug.ticket, *bug.also)}
    assert known >= {
        *("KIP-101", "KAFKA-1211", "KAFKA-6361", "KAFKA-6880", "KAFKA-7128", "KAFKA-7164", "KAFKA-7415", "KAFKA-1120"),
        *("KAFKA-7235", "KAFKA-2334", "KAFKA-13141", "KAFKA-14704", "KAFKA-13916", "KAFKA-14140", "KAFKA-14617"),
        *("KAFKA-13207", "KAFKA-3410", "KAFKA-15221", "KAFKA-15583", "KAFKA-15495", "KAFKA-18106"),
    }


@pytest.mark.parametrize("bug", ARCHIVE.bugs, ids=lambda bug: bug.ticket)
def test_what_is_asserted_of_a_bug_makes_sense(bug: Bug) -> None:
    """Its releases, rules, property and bounds exist, and the rules are those that changed where it was fixed."""
    runs = runs_of(bug)
    affected = [run.spec.name for run in runs if run.part == "affected"]
    assert all(name.startswith(of) for name, of in zip(affected, bug.affected, strict=True))
    assert [run.part for run in runs].count("put back") == len(bug.fixed)
    assert bool(bug.rules) + bool(bug.defaults) == bool(bug.fixed)
    for name in bug.fixed:
        column = column_of(name)
        assert column is not None
        assert not bug.rules or any(column.values[rule] != value for rule, value in bug.rules.items())


def test_a_bug_is_looked_for_in_all_releases_after_the_one_that_mended_it() -> None:
    (bug,) = ARCHIVE.about("KAFKA-2334")[0]
    later = [run.spec.name for run in runs_of(bug) if run.part == "later"]
    names = [column.name for column in RELEASES]
    assert [name.partition("+")[0] for name in later] == names[names.index("kafka/2.2") + 1 :]


def test_a_release_with_another_bug_that_would_be_found_first_is_searched_as_it_was_released_too() -> None:
    (bug,) = ARCHIVE.about("KAFKA-14704")[0]
    whole = [run for run in runs_of(bug) if run.part == "as released"]
    assert [(run.spec.name, run.expected) for run in whole] == [("kafka/2.8", "violated")]
    mended = next(run for run in runs_of(bug) if run.part == "affected")
    assert mended.spec.name == "kafka/2.8+diverging_fetch=ignored"
    assert mended.spec.bounds == whole[0].spec.bounds
    (other,) = ARCHIVE.about("KAFKA-13141")[0]
    assert all(run.part != "as released" for run in ARCHIVE.runs(other))


def unlisted(bug: Bug) -> list[BugSearch]:
    """A search for each release that has the rules of a bug, but is not listed as affected: see `Bug.elsewhere`."""
    affected = {release(name).name for name in bug.affected}
    runs = []
    for each in load_spec(bug.affected[0]).family.like(release(bug.affected[0])):
        has_rules = bool(bug.rules) and all(each.values[rule] == value for rule, value in bug.rules.items())
        if has_rules and each.name not in affected:
            expected: Expected = "violated" if each.name in bug.elsewhere else "holds"
            runs.append(BugSearch(bug, ARCHIVE.searched(bug, each.name), expected, "unlisted"))
    return runs


def beside(bug: Bug) -> list[BugSearch]:
    """A search for each release right before or after the affected ones that no other search is about."""
    affected = {release(name).name for name in bug.affected}
    searched = {run.spec.name.partition("+")[0] for run in (*runs_of(bug), *UNLISTED_OF[id(bug)])}
    found = dict[str, str]()
    for column in {(each.kind, each.line): each for each in map(release, bug.affected)}.values():
        like = load_spec(bug.affected[0]).family.like(column)
        same = {each.name for each in like for name in map(release, bug.affected) if each.values == name.values}
        for pair in itertools.pairwise([each.name for each in like if each.line == column.line]):
            if len(affected.intersection(pair)) == 1:
                (listed,) = affected.intersection(pair)
                found |= dict.fromkeys(set(pair) - affected - same - searched, listed)
    specs = [
        load_spec(name).with_bounds(bug.bounds_for(listed)).with_properties([bug.property])
        for name, listed in found.items()
    ]
    return [BugSearch(bug, spec, "holds", "beside") for spec in specs if is_modelled(spec)]


def is_modelled(spec: Spec[Any]) -> bool:
    """Whether a release has what the bounds of a bug say: to 3.8, there is no kraft.version 1."""
    try:
        return bool(spec.initials())
    except SpecError:
        return False


def release(name: str) -> RuleColumn:
    column = column_of(name)
    assert column is not None
    return column


UNLISTED_OF = {id(bug): unlisted(bug) for bug in ARCHIVE.bugs}
UNLISTED = [run for runs in UNLISTED_OF.values() for run in runs]


def test_releases_that_have_the_rules_of_a_bug_but_not_the_bug_say_why() -> None:
    found = {(run.bug.ticket, run.spec.name.partition("+")[0]) for run in UNLISTED if run.expected == "violated"}
    assert found == {(bug.ticket, name) for bug in ARCHIVE.bugs for name in bug.elsewhere}
    assert all(bug.note for bug in ARCHIVE.bugs if bug.elsewhere)


@pytest.mark.parametrize("run", sampled(UNLISTED, 12), ids=lambda run: f"{run.bug.ticket} {run.spec.name}")
def test_a_release_with_the_rules_of_a_bug_is_affected_or_does_not_have_it(run: BugSearch) -> None:
    """The lists of releases are what searches say: whoever has the rules of a bug was searched for it."""
    assert run.searched().as_expected


BESIDE = [run for bug in ARCHIVE.bugs for run in beside(bug)]


@pytest.mark.parametrize("run", BESIDE, ids=lambda run: f"{run.bug.ticket} {run.spec.name}")
def test_a_release_beside_the_affected_ones_does_not_have_the_bug(run: BugSearch) -> None:
    """It does not have all rules of the bug. It violates the property at most by other bugs of the archive: with the
    fix of each that it has, and of each that comes with a fix, it does not.

    The other releases beside a list are those that fixed the bug, or have its rules.
    """
    base = column = run.spec.column
    assert base is not None
    assert not run.bug.rules or any(column.values[rule] != value for rule, value in run.bug.rules.items())
    if ENGINES["compiled"](run.spec).verdict is not Verdict.HOLDS:
        others = [
            other for other in ARCHIVE.bugs if family_of(other) == family_of(run.bug) and other.fixed and other.rules
        ]
        while having := [other for other in others if other.rules.items() <= column.values.items()]:
            values = dict(column.values) | fix_of(having[0], column)
            column = base.with_rules({rule: value for rule, value in values.items() if base.values[rule] != value})
        fixed = load_spec(column.name).with_bounds(attrs.asdict(run.spec.bounds)).with_properties([run.bug.property])
        assert ENGINES["compiled"](fixed).verdict is Verdict.HOLDS, column.name


AS_RELEASED = [run for bug in ARCHIVE.bugs for run in runs_of(bug) if run.part == "as released"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "run",
    AS_RELEASED if EVERY else [*{run.bug.ticket: run for run in reversed(AS_RELEASED)}.values()][::2],
    ids=lambda run: f"{run.bug.ticket} {run.spec.name}",
)
def test_every_affected_release_has_its_bug_as_it_was_released(run: BugSearch) -> None:
    assert run.searched().as_expected


def test_the_tickets_about_transactions() -> None:
    own = ARCHIVE.of_family(TRANSACTIONS)
    assert {bug.ticket for bug in own.bugs} == {
        *(
            "KAFKA-6119",
            "KAFKA-14053",
            "KIP-890",
            "KAFKA-17507",
            "KAFKA-14884",
            "KAFKA-18575",
            "KAFKA-20357",
            "KAFKA-20716",
        ),
    }
    assert {bug.ticket for bug in own.unreached} == {
        "no ticket: transaction.version lowered",
        *("KAFKA-9600", "KAFKA-9666", "KAFKA-16352", "KAFKA-18464", "KAFKA-18660", "KAFKA-19367", "KAFKA-20090"),
        "KAFKA-20785",
    }
    families = [ARCHIVE.of_family(family) for family in (REPLICATION, TRANSACTIONS, CONTROL, GROUPS, QUORUM, IMAGES)]
    assert sum(len(each.bugs) for each in families) == len(ARCHIVE.bugs)
    assert sum(len(each.unreached) for each in families) == len(ARCHIVE.unreached)


def test_the_tickets_about_controllers() -> None:
    own = ARCHIVE.of_family(CONTROL)
    assert {bug.ticket for bug in own.bugs} == {
        *("KIP-380", "KAFKA-6082", "KAFKA-2729", "KAFKA-3143", "KAFKA-532", "KAFKA-1096", "KAFKA-13972"),
        *("KAFKA-14154", "KAFKA-18635", "KAFKA-14808", "KAFKA-7235", "KAFKA-9672", "KAFKA-13407"),
    }
    assert {bug.ticket for bug in own.unreached} == {
        *("KAFKA-4447", "KAFKA-1188", "KAFKA-9539", "KAFKA-5879", "KAFKA-6638", "KAFKA-16121"),
    }


def test_the_tickets_about_quorums() -> None:
    own = ARCHIVE.of_family(QUORUM)
    assert {bug.ticket for bug in own.bugs} == {
        *("KAFKA-12181", "KAFKA-14205", "KAFKA-17333", "KAFKA-15489", "KAFKA-16164", "no ticket: former candidate"),
        *("no ticket: missed change of voters", "no ticket: unknown leader", "no ticket: resigned stranger"),
        *("KAFKA-14238", "KAFKA-15312", "no ticket: older snapshot"),
    }


@pytest.mark.parametrize(
    "bug", [*ARCHIVE.of_family(QUORUM).bugs, *ARCHIVE.of_family(IMAGES).bugs], ids=lambda bug: bug.ticket
)
def test_a_bug_of_quorums_or_images_is_where_the_archive_says_and_nowhere_else(bug: Bug) -> None:
    """One release of each part is searched: the first affected, the fixed, the last one."""
    runs = runs_of(bug) if EVERY else [*{run.part: run for run in runs_of(bug)}.values()]
    assert [run.spec.name for run in runs if not run.searched().as_expected] == []


def test_the_tickets_about_groups() -> None:
    own = ARCHIVE.of_family(GROUPS)
    assert {bug.ticket for bug in own.bugs} == {
        *("KAFKA-9752", "KAFKA-12890", "KAFKA-12984", "KAFKA-13419", "KAFKA-14639", "no ticket: sync timer"),
        *("KAFKA-4682", "KAFKA-20634", "KAFKA-16147", "KAFKA-16249"),
        *("no ticket: lost response", "no ticket: outdated commit", "no ticket: own instance"),
        *("no ticket: unclaimed partition", "no ticket: late static member"),
        *("KAFKA-20640", "no ticket: downgraded group", "no ticket: late classic member"),
    }
    assert {bug.ticket for bug in own.unreached} == {
        "KAFKA-7909",
        "KAFKA-8500",
        "KAFKA-20442",
        *("KAFKA-19449", "KAFKA-18150", "KAFKA-19546"),
    }


SECONDS = {"KAFKA-14639"}
"""Bugs of groups whose searches take longer. tests/model/test_groups.py has them, too."""


@pytest.mark.parametrize(
    "bug",
    [bug for bug in ARCHIVE.of_family(GROUPS).bugs if EVERY or bug.ticket not in SECONDS],
    ids=lambda bug: bug.ticket,
)
def test_a_bug_of_groups_is_where_the_archive_says_and_nowhere_else(bug: Bug) -> None:
    """One release of each part is searched: the first affected, the fixed, the last one."""
    runs = runs_of(bug) if EVERY else [*{run.part: run for run in runs_of(bug)}.values()]
    assert [run.spec.name for run in runs if not run.searched().as_expected] == []


def test_a_bug_of_groups_is_outside_a_search_with_other_settings_or_fewer_failures() -> None:
    """A bug that needs no setting of consumers occurs with each. The sync timer needs two perturbations."""
    spec = load_spec("group/3.0")
    static = ["no ticket: unclaimed partition", "no ticket: late static member"]
    assert [bug.ticket for bug in ARCHIVE.outside(spec)] == ["KAFKA-14639", "no ticket: sync timer", *static]
    larger = spec.with_bounds({"cooperative": True, "clients": 3, "perturbations": 2})
    assert [bug.ticket for bug in ARCHIVE.outside(larger)] == static
    assert [bug.ticket for bug in known_bugs_within(larger, "stable_at_rest")] == ["no ticket: sync timer"]
    assert [bug.ticket for bug in ARCHIVE.possible(load_spec("group/2.8").with_bounds({"static": True}))] == [
        *("KAFKA-12890", "KAFKA-13419", "no ticket: sync timer"),
    ]


OF_CONTROLLERS = [run for bug in ARCHIVE.of_family(CONTROL).bugs for run in runs_of(bug)]


def spaces(runs: list[BugSearch]) -> list[list[BugSearch]]:
    """The searches, with those of the same release within the same bounds together."""
    found: dict[object, list[BugSearch]] = {}
    for run in runs:
        found.setdefault((run.spec.name, run.spec.bounds), []).append(run)
    return [*found.values()]


def last(found: list[list[BugSearch]]) -> list[list[BugSearch]]:
    """The searches of the last release without each bug; with ``EVERY=1``, of all of them."""
    by_ticket: dict[str, list[list[BugSearch]]] = {}
    for runs in found:
        by_ticket.setdefault(runs[0].bug.ticket, []).append(runs)
    return found if EVERY else [each[-1] for each in by_ticket.values()]


IN_TEST_CONTROL = {
    *("KAFKA-6082", "KAFKA-7235", "KAFKA-9672", "KAFKA-13407", "KAFKA-13972", "KAFKA-14154", "KAFKA-14808"),
    "KAFKA-18635",
}
"""Bugs that tests/model/test_control.py searches for, with the lengths of their traces."""


@pytest.mark.parametrize(
    "bug",
    [bug for bug in ARCHIVE.of_family(CONTROL).bugs if EVERY or bug.ticket not in IN_TEST_CONTROL],
    ids=lambda bug: bug.ticket,
)
def test_a_bug_of_controllers_is_where_the_archive_says(bug: Bug) -> None:
    """A rule that is put back in a release may make it an affected one, which is searched once.

    One release of each part is searched: the first affected, the first in which the rule is put back.
    """
    runs = [run for run in OF_CONTROLLERS if run.bug is bug and run.expected == "violated"]
    assert runs
    if not EVERY:
        runs = [*{run.part: run for run in reversed(runs)}.values()]
    assert [each[0].spec.name for each in spaces(runs) if not each[0].searched().as_expected] == []


@pytest.mark.parametrize(
    "runs",
    sampled(last(spaces([run for run in OF_CONTROLLERS if run.expected == "holds"])), 2),
    ids=lambda runs: runs[0].spec.name,
)
def test_no_other_release_has_a_bug_of_controllers(runs: list[BugSearch]) -> None:
    """One search looks for all bugs that are not to be found in a release within the same bounds."""
    properties = {run.bug.property for run in runs}
    result = ENGINES["compiled"](
        load_spec(runs[0].spec.name).with_bounds(runs[0].bug.bounds).with_properties(properties)
    )
    assert result.exhausted
    assert {item.property.name: item.verdict for item in result.properties} == dict.fromkeys(properties, Verdict.HOLDS)


def test_a_bug_of_controllers_before_the_first_release_cannot_be_replayed(tmp_path: Path) -> None:
    run = call("reproduce", "KAFKA-532", folder=tmp_path)
    assert (run.code, run.err.strip()) == (
        2,
        "leadline: KAFKA-532 was fixed before Kafka 0.10.2, the first release that can be run",
    )


@pytest.mark.parametrize("bug", ARCHIVE.of_family(TRANSACTIONS).bugs, ids=lambda bug: bug.ticket)
def test_a_bug_of_transactions_is_where_the_archive_says_and_nowhere_else(bug: Bug) -> None:
    """The searches take milliseconds. A release of brokers with any client is affected, or later than the fix."""
    runs = [run.searched() for run in runs_of(bug)]
    assert [run.run.spec.name for run in runs if not run.as_expected] == []


def test_a_search_of_a_release_of_transactions_names_the_known_bugs() -> None:
    spec = load_spec("txn/3.5.2")
    assert [bug.ticket for bug in ARCHIVE.outside(spec)] == ["KAFKA-20357", "KAFKA-20716"]
    assert [bug.ticket for bug in known_bugs_within(spec, "no_hanging_transaction")] == ["KAFKA-14053"]
    assert known_bugs_within(load_spec("txn/kip-360"), "no_hanging_transaction") == ()


def test_the_rule_of_a_bug_of_transactions_is_named(tmp_path: Path) -> None:
    run = call("bugs", "KAFKA-6119", folder=tmp_path)
    assert run.code == 0
    assert "no_lost_write holds with expiry=higher-epoch, the rule of txn/1.0 and later (KAFKA-6119)" in run.out


def test_a_bug_of_transactions_that_a_broker_cannot_show_says_why(tmp_path: Path) -> None:
    run = call("reproduce", "KAFKA-20716", "--plan", folder=tmp_path)
    reason = "there is one broker, and no other can be elected"
    assert (run.code, run.out.strip()) == (3, f"KAFKA-20716: step 7 cannot be made from outside: {reason}")


def test_nothing_in_the_archive_is_a_result() -> None:
    text = (Path(__file__).parents[2] / "reports" / "kafka" / "bugs.toml").read_text()
    assert not any(f"\n{key} =" in text for key in ("verdict", "trace_length", "distinct_states"))


def test_the_bug_of_a_ticket_comes_before_those_that_only_mention_it() -> None:
    found = [bug.ticket for bug in ARCHIVE.about("kafka-7235")[0]]
    assert found[0] == "KAFKA-7235"
    assert "KAFKA-1120" in found


def test_bugs_that_cannot_be_reached_say_why() -> None:
    assert ARCHIVE.unreached
    assert all(bug.reason for bug in ARCHIVE.unreached)


def test_the_story_of_a_bug(tmp_path: Path) -> None:
    run = call("bugs", CHEAP.lower(), "--json", "bugs.json", "--html", "bugs.html", folder=tmp_path)
    assert run.code == 0, run.out
    (found,) = json.loads((tmp_path / "bugs.json").read_text())["bugs"]
    (bug,) = ARCHIVE.about(CHEAP)[0]
    assert (found["ticket"], found["also"], found["sentence"]) == (bug.ticket, bug.also, bug.sentence)
    for each in found["runs"]:
        assert each["verdict"] == each["expected"]
        assert (each["trace_length"] is None) == (each["verdict"] == "holds")
        assert each["distinct_states"] > 0
        assert each["bounds"]["brokers"] == 2
    specs = [each["spec"] for each in found["runs"]]
    assert specs[:3] == ["kafka/3.2-kraft", "kafka/3.3", "kafka/3.3+isr_eligibility=any"]
    assert f"{len(specs)} of {len(specs)} runs as expected" in run.out
    assert "isr_members_active is violated" in run.out
    assert "side by side: leadline diff kafka/3.2-kraft kafka/3.3 -b records=0,acks=all," in run.out
    page = (tmp_path / "bugs.html").read_text()
    assert CHEAP in page
    assert f"<h2>A trace of {CHEAP} in kafka/3.2-kraft</h2>" in page


def test_searches_on_two_cores_say_the_same_and_a_saved_one_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bug,) = ARCHIVE.about(CHEAPEST)[0]
    searches = {repr(run.spec.name) for run in runs_of(bug)}
    on_one = call("bugs", CHEAPEST, folder=tmp_path)
    search, made = BugSearch.search, tmp_path / "made"

    def noted(run: BugSearch, *args: Any, **settings: Any) -> Result:
        with made.open("a") as file:
            file.write(f"{os.getpid()}\n")
        return search(run, *args, **settings)

    monkeypatch.setattr(BugSearch, "search", noted)
    on_two = call("bugs", CHEAPEST, "--save", "kept.jsonl", folder=tmp_path, PYTHON_CPU_COUNT="2")
    processes = made.read_text().split()
    assert len(processes) == len(searches)
    assert str(os.getpid()) not in processes
    assert (on_two.code, on_two.out) == (on_one.code, on_one.out)
    assert len((tmp_path / "kept.jsonl").read_text().splitlines()) == len(searches)

    def refused(*_: object, **__: object) -> None:
        raise LeadlineError("searched again")

    monkeypatch.setattr(BugSearch, "search", refused)
    again = call("bugs", CHEAPEST, "--save", "kept.jsonl", folder=tmp_path, PYTHON_CPU_COUNT="2")
    assert (again.code, again.out) == (on_one.code, on_one.out)
    (tmp_path / "kept.jsonl").write_text("")
    assert (call("bugs", CHEAPEST, "--save", "kept.jsonl", folder=tmp_path, PYTHON_CPU_COUNT="2")).err.endswith(
        "searched again\n"
    )


def test_a_forecast_is_of_the_searches_that_were_made(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("leadline.reports.cli.bugs.time.monotonic", lambda: now)
    forecast = Forecast(4)
    assert forecast.text() == "search 1 of 4"
    now, forecast.done = 130.0, 1
    assert forecast.text() == "search 2 of 4, about 1:30 left"


def test_json_to_standard_output_is_all_that_goes_there(tmp_path: Path) -> None:
    run = call("bugs", "KAFKA-12751", "--json", "-", folder=tmp_path)
    assert run.code == 0
    assert [each["ticket"] for each in json.loads(run.out)["unreached"]] == ["KAFKA-12751"]


def test_the_list_runs_nothing(tmp_path: Path) -> None:
    run = call("bugs", "--list", folder=tmp_path)
    assert run.code == 0
    tickets = [*(bug.ticket for bug in ARCHIVE.bugs), *(each.ticket for each in ARCHIVE.unreached)]
    assert all(ticket in run.out for ticket in tickets)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[bugs", "is not valid TOML"),
        ("[[bugs]]\nticket = 3", "is not an archive of bugs"),
    ],
)
def test_an_archive_that_makes_no_sense_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "bugs.toml").write_text(text)
    with pytest.raises(LeadlineError, match=complaint):
        read_archive(tmp_path / "bugs.toml")


def test_a_release_that_is_none_is_refused() -> None:
    bug = Bug(ticket="KAFKA-0", sentence="", property="log_matching", affected=["kafka/9.9"], fixed=[])
    with pytest.raises(LeadlineError, match=r"KAFKA-0: the archive of bugs names kafka/9\.9, which is not a release"):
        ARCHIVE.runs(bug)
