"""The path of an upgrade in `leadline advise`: its steps, commands, and what stored tables say of them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from leadline.checker.errors import LeadlineError
from leadline.model.kafka.releases import KRAFT, ZOOKEEPER
from leadline.reports.document import Cell, Span, Table, plain
from leadline.reports.kafka.advice import path
from leadline.reports.kafka.advice.cluster import clusters
from leadline.reports.kafka.advice.path import Step, blocks_of_path, steps_of
from leadline.reports.kafka.advice.settings import Given, Settings
from leadline.reports.matrix import Configuration, Matrix

NO_TABLES = "these tables are old"


@pytest.fixture(autouse=True)
def _no_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: str) -> tuple[Matrix, Mapping[str, Table]]:
        raise LeadlineError(NO_TABLES)

    monkeypatch.setattr(path, "_tables", refused)


def steps(before: str, after: str, controller: str, **given: object) -> tuple[Step, ...]:
    values = {name.replace("_", "."): Given(value, "file:1") for name, value in given.items()}  # type: ignore[arg-type]
    settings = Settings(values, {controller: "file:2"}, ())
    old, new = clusters(before, after, settings)
    return steps_of(old, new, settings)


def commands(found: tuple[Step, ...]) -> list[str]:
    return [command for step in found for command in step.commands]


def test_brokers_with_zookeeper_restart_twice() -> None:
    found = steps("2.4", "3.9-zk", ZOOKEEPER)
    assert [step.title for step in found] == [
        "keep the level of 2.4, in the file of every broker",
        "restart brokers with 3.9, one at a time",
        "restart brokers with the level of 3.9, one at a time",
    ]
    assert found[0].commands == ("inter.broker.protocol.version=2.4", "log.message.format.version=2.4")
    assert found[2].commands[0].startswith("inter.broker.protocol.version=3.9")
    assert "log.message.format.version=3.0" not in commands(steps("3.0", "3.9-zk", ZOOKEEPER))


def test_a_patch_release_has_no_level_of_its_own() -> None:
    assert len(steps("2.8.0", "2.8.1", ZOOKEEPER)) == 2


def test_zookeeper_is_left_at_3_9() -> None:
    titles = [step.title for step in steps("2.8", "4.3", ZOOKEEPER)]
    assert titles[1:4] == [
        "restart brokers with 3.9, one at a time",
        "restart brokers with the level of 3.9, one at a time",
        "migrate from ZooKeeper to KRaft",
    ]
    assert titles[4] == "restart controllers and brokers with 4.3, one at a time"
    assert [step.title for step in steps("3.9-zk", "4.3", ZOOKEEPER)] == titles[3:]


def test_the_release_version_raises_eligible_leader_replicas() -> None:
    found = steps("3.9", "4.3", KRAFT, min_insync_replicas=2)
    keep, raised = found[1].commands
    assert found[1].title.endswith("and eligible leader replicas")
    assert keep.endswith("--add-config min.insync.replicas=2")
    assert raised.endswith("upgrade --release-version 4.3")
    assert any("every partition has a leader" in check for check in found[1].checks)
    assert found[2].title.startswith("only to go back")
    assert steps("3.6", "3.9", KRAFT)[1].commands[0].endswith("upgrade --metadata 3.9")


@pytest.mark.parametrize(
    ("before", "after", "is_open"),
    [("3.8", "3.9", True), ("4.0", "4.1", True), ("3.6", "3.7", False), ("4.1", "4.3", False)],
)
def test_metadata_version_goes_back_only_where_no_record_changed(before: str, after: str, is_open: bool) -> None:
    raised = steps(before, after, KRAFT)[1]
    assert any(f"downgrade --metadata {before}" in check for check in raised.checks) == is_open


def test_an_upgrade_from_the_preview_of_kraft_is_not_documented() -> None:
    (step,) = steps("3.2-kraft", "3.9", KRAFT)
    assert "no upgrade from it" in step.unsearched


def test_one_release_has_no_path() -> None:
    assert steps("3.9", "3.9", KRAFT) == ()


def test_tables_that_are_refused_are_said_to_be() -> None:
    assert [step.unsearched for step in steps("3.6", "3.9", KRAFT)] == [NO_TABLES, NO_TABLES]


def test_a_step_says_what_the_tables_have_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    configurations = [
        Configuration(name="restarts", bounds={"roll": "releases"}),
        Configuration(name="levels rise", bounds={"roll": "levels"}),
    ]
    matrix = Matrix(specs=[], configurations=configurations, properties=["leader_possible", "log_matching"])

    def cell(text: str, looks: str) -> Cell:
        return Cell((Span(text),), looks)

    head, mix = ("release", "leader_possible", "log_matching"), cell("kafka/3.6..3.9", "")
    tables = {
        "restarts": Table("restarts", head, ((mix, cell("violated (5)", "violated"), cell("holds (9)", "holds")),)),
        "levels rise": Table("levels rise", head, ((mix, cell("holds (9)", "holds"), cell("?", "incomplete")),)),
    }
    monkeypatch.setattr(path, "_tables", lambda name: (matrix, tables if name == "rolls" else {}))
    restarts, rises = steps("3.6", "3.9", KRAFT)
    assert restarts.found[0].violated == {"leader_possible": "violated (5)"}
    assert restarts.found[0].command == "leadline explore kafka/3.6..3.9 -b roll=releases"
    assert rises.found[0].undecided
    said = "\n".join(plain(text) for block in blocks_of_path((restarts, rises)) for text in getattr(block, "texts", ()))
    assert "leader_possible is violated (5): leadline explore kafka/3.6..3.9" in said
    assert "Instead: Raise the feature only while every partition has" in said
    assert 'Searches show it: leadline bugs "raised without a leader"' in said
    assert "levels rise: something is not decided" in said
    other = steps("3.6", "3.8", KRAFT)
    assert other[0].unsearched == "no table has kafka/3.6..3.8: leadline explore kafka/3.6..3.8"
