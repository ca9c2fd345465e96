"""Kafka's releases: the table of rules, its columns, and what-ifs."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from leadline.checker.errors import SpecError
from leadline.invariants.catalog import CATALOG, find
from leadline.model.kafka.protocols import Protocol
from leadline.model.kafka.published import PUBLISHED
from leadline.model.kafka.releases import COLUMNS, DESIGNS, RELEASES, RULES_OF_STARTS, Column, column_of
from leadline.model.kafka.rules import RULES, TABLE
from tests.suite.command import call

BEYOND = {
    ("hw_checkpoint", "older"),
    ("election_order", "replicas"),
    ("directories", "any-lost"),
}
"""Rules that no column has: model/left-out.md says what they are for, and what was searched with them."""

FIELDS = {field.name for field in attrs.fields(Protocol)} - {"name", "summary"}


def test_every_value_of_a_rule_sets_the_same_fields() -> None:
    for rule in RULES:
        assert len({frozenset(value.sets) for value in rule.values}) == 1, rule.name
        assert all(value.sets.keys() <= FIELDS and value.sentence and value.source for value in rule.values)


def test_no_two_rules_set_the_same_field() -> None:
    fields = [field for rule in RULES for field in rule.values[0].sets]
    assert len(fields) == len(set(fields))


def test_every_value_is_that_of_a_column_or_says_why_not() -> None:
    unused = {
        (rule.name, value.name)
        for rule in RULES
        for value in rule.values
        if all(column.values[rule.name] != value.name for column in COLUMNS)
        and all(within.get(rule.name) != value.name for within in RULES_OF_STARTS.values())
    }
    assert unused == {
        ("response_hw", "new"),
        ("response_hw", "old"),
        ("elr", "on-unchecked"),
        ("last_known_leader", "forgotten"),
        *BEYOND,
    }


def test_no_two_columns_are_the_same() -> None:
    for columns in (DESIGNS, RELEASES):
        rules = [(tuple(sorted(column.values.items())), column.bounds, column.controller) for column in columns]
        assert len({str(each) for each in rules}) == len(columns)


@pytest.mark.parametrize("column", RELEASES, ids=lambda column: column.name)
def test_a_release_names_its_controller_and_the_rules_that_changed(column: Column) -> None:
    assert column.controller in ("ZooKeeper", "KRaft")
    assert all(column.values[rule] == value for rule, value in column.changed.items())


def test_every_published_release_has_one_column() -> None:
    names = [name for column in COLUMNS for name in (column.name, *column.aliases)]
    assert len(names) == len(set(names))
    assert {f"kafka/{version}" for version in PUBLISHED} <= set(names)
    for column in RELEASES:
        first = PUBLISHED.index(column.versions[0])
        assert PUBLISHED[first : first + len(column.versions)] == column.versions, column.name


@pytest.mark.parametrize(
    ("name", "column", "why"),
    [
        ("kafka/2.1.1", "kafka/2.1", "no rule of the model differs in Kafka 2.1.0 to 2.1.1"),
        ("kafka/2.3", "kafka/2.2", "no rule of the model differs in Kafka 2.2.0 to 2.3.1"),
        ("kafka/3.5.0-zk", "kafka/3.4.1-zk", "no rule of the model differs in Kafka 3.4.1 to 3.5.0 with ZooKeeper"),
        ("kafka/2.8.2", "kafka/2.8.1", "no rule of the model differs in Kafka 2.8.1 to 2.8.2"),
        ("kafka/2.0", "kafka/2.0.0", ""),
    ],
)
def test_a_release_stands_for_its_column_under_its_own_name(name: str, column: str, why: str) -> None:
    spec, same = find(name), CATALOG[column]
    assert spec is not None
    assert (spec.name, spec.bounds) == (name, same.bounds)
    assert spec.note == f"stands for {column}" + (f": {why}" if why else "")
    assert same.note == ""
    (state,), (other,) = spec.initials(), same.initials()
    rules = [field for field in FIELDS if getattr(state.protocol, field) != getattr(other.protocol, field)]
    assert rules == []


def test_a_what_if_of_a_patch_release_has_its_name() -> None:
    spec = find("kafka/3.8.1+elr=on")
    assert spec is not None
    assert spec.name == "kafka/3.8.1+elr=on"
    assert spec.note.startswith("stands for kafka/3.8+elr=on: ")


def test_a_run_is_headed_by_the_name_that_was_asked_for(tmp_path: Path) -> None:
    small = "records=0,crashes=0,max_epoch=0"
    run = call("explore", "kafka/3.8.1", "-b", small, "-i", "leader_in_isr", folder=tmp_path)
    assert run.code == 0
    assert run.lines[0].startswith("kafka/3.8.1")
    assert "kafka/3.8.1 stands for kafka/3.8: no rule of the model differs in Kafka 3.8.0 to 3.8.1" in run.out


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        (
            "kafka/3.6.9",
            "unknown release 'kafka/3.6.9': the known releases of this minor version are "
            "kafka/3.6.0, kafka/3.6.1, kafka/3.6.2",
        ),
        ("kafka/3.6.9-zk", "kafka/3.6.0-zk, kafka/3.6.1-zk, kafka/3.6.2-zk"),
        ("kafka/9.9", "unknown spec 'kafka/9.9'"),
    ],
)
def test_a_release_that_was_never_published_is_refused(tmp_path: Path, name: str, complaint: str) -> None:
    run = call("explore", name, folder=tmp_path)
    assert run.code == 2
    assert complaint in " ".join(run.complaint.split())


def test_acks_is_1_by_default_before_3_0() -> None:
    defaults = {column.name: column.bounds.acks for column in RELEASES}
    assert (defaults["kafka/2.8.1"], defaults["kafka/3.0"], defaults["kafka/3.2-kraft"]) == ("1", "all", "all")


def test_a_what_if_is_a_release_with_one_rule_changed() -> None:
    what_if, release = column_of("kafka/3.7+elr=on"), column_of("kafka/3.7")
    assert what_if is not None
    assert release is not None
    assert what_if.values == {**release.values, "elr": "on"}
    assert what_if.protocol().has_elr
    assert not release.protocol().has_elr


def test_a_rule_that_a_release_has_already_changes_nothing() -> None:
    assert column_of("kafka/4.1+elr=on") is column_of("kafka/4.1")


def test_a_protocol_needs_a_value_for_every_rule() -> None:
    values = dict(RELEASES[0].values)
    del values["elr"]
    with pytest.raises(SpecError, match="there is no value for rule elr"):
        TABLE.fields(values)


def test_a_protocol_has_no_value_for_an_unknown_rule() -> None:
    with pytest.raises(SpecError, match="there is no rule ell"):
        TABLE.fields({**RELEASES[0].values, "ell": "on"})


def test_specs_lists_rules_values_and_sources(tmp_path: Path) -> None:
    run = call("specs", "kafka/4.1", "--rules", folder=tmp_path)
    assert run.code == 0
    assert all(rule.name in run.out for rule in RULES)
    held = [line.split()[0] for line in run.lines if " * " in line]
    assert sorted(held) == sorted(column_values("kafka/4.1"))


def column_values(name: str) -> list[str]:
    column = column_of(name)
    assert column is not None
    return list(column.values.values())


def test_explore_takes_a_rule(tmp_path: Path) -> None:
    small = "records=0,crashes=0,max_epoch=0"
    run = call("explore", "kafka/3.7", "--rule", "elr=on", "-b", small, "-i", "leader_in_isr", folder=tmp_path)
    assert run.code == 0
    assert run.lines[0].startswith("kafka/3.7+elr=on")


def test_the_table_of_releases_is_that_of_the_model() -> None:
    text = (Path(__file__).parents[2] / "model" / "releases.md").read_text()
    for column in RELEASES:
        changed = ", ".join(f"`{rule}={value}`" for rule, value in column.changed.items())
        (row,) = (line for line in text.splitlines() if line.startswith(f"| `{column.name}` |"))
        assert row == f"| `{column.name}` | {column.span} | {column.controller} | {changed} |"
