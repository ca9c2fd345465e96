"""Kafka's releases: the table of rules, its columns, and what-ifs."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from leadline.checker.errors import SpecError
from leadline.invariants.catalog import CATALOG, find
from leadline.model.kafka.protocols import Protocol
from leadline.model.kafka.releases import COLUMNS, DESIGNS, RELEASES, Column, column_of
from leadline.model.kafka.rules import RULES, protocol_of
from tests.suite.command import call

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
    }
    assert unused == {("response_hw", "new"), ("response_hw", "old"), ("elr", "on-unchecked")}


def test_no_two_columns_are_the_same() -> None:
    for columns in (DESIGNS, RELEASES):
        rules = [(tuple(sorted(column.values.items())), column.bounds, column.controller) for column in columns]
        assert len({str(each) for each in rules}) == len(columns)


@pytest.mark.parametrize("column", RELEASES, ids=lambda column: column.name)
def test_a_release_names_its_controller_and_the_rules_that_changed(column: Column) -> None:
    assert column.controller in ("ZooKeeper", "KRaft")
    assert all(column.values[rule] == value for rule, value in column.changed.items())


def test_an_alias_stands_for_its_release() -> None:
    assert find("kafka/3.9") is CATALOG["kafka/3.7"]
    assert find("kafka/2.3") is CATALOG["kafka/2.2"]
    names = [name for column in COLUMNS for name in (column.name, *column.aliases)]
    assert len(names) == len(set(names))


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
    with pytest.raises(SpecError, match="has no value for rule elr"):
        protocol_of("mine", "a protocol", values)


def test_specs_lists_rules_values_and_sources(tmp_path: Path) -> None:
    run = call("specs", "kafka/4.1", folder=tmp_path)
    assert run.code == 0
    assert all(rule.name in run.out for rule in RULES)
    assert all(f"* {value}" in run.out for value in column_values("kafka/4.1"))


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
    text = (Path(__file__).parents[2] / "model" / "README.md").read_text()
    for column in RELEASES:
        changed = ", ".join(f"`{rule}={value}`" for rule, value in column.changed.items())
        (row,) = (line for line in text.splitlines() if line.startswith(f"| `{column.name}` |"))
        assert f"| {column.controller} | {changed}" in row
        assert all(f"`{alias}`" in row for alias in column.aliases)
