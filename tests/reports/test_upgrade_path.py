"""The path of an upgrade in `leadline advise`: its steps, commands, and what stored tables say of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from leadline.checker.errors import LeadlineError
from leadline.model.kafka.releases import KRAFT, ZOOKEEPER
from leadline.reports.document import Cell, Items, Paragraph, Span, Table, plain, words
from leadline.reports.kafka.advice import mix_searches
from leadline.reports.kafka.advice.cluster import clusters
from leadline.reports.kafka.advice.path import Step, blocks_of_path, blocks_of_searches, steps_of
from leadline.reports.kafka.advice.settings import Given, Remark, Settings, Voters
from leadline.reports.matrix import Configuration, Matrix, matrix_file, read_matrix

NO_TABLES = "these tables are old"


@pytest.fixture(autouse=True)
def _no_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: str) -> tuple[Matrix, Mapping[str, Table]]:
        raise LeadlineError(NO_TABLES)

    monkeypatch.setattr(mix_searches, "_tables", refused)


def steps(before: str, after: str, controller: str, **given: object) -> tuple[Step, ...]:
    values = {name.replace("_", "."): Given(value, "file:1") for name, value in given.items()}  # type: ignore[arg-type]
    remarks = [Remark(name, str(each.value), each.origin, "abstract", "") for name, each in values.items()]
    settings = Settings(values, {controller: "file:2"}, tuple(remarks), Voters(3, False, "file:3"))
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
    assert found[0].commands == ("inter.broker.protocol.version=2.4",)
    assert found[0].before[0].startswith("the ZooKeeper servers have a version that 3.9 works with")
    assert "begins with the level of 3.9, which brokers of 2.4 do not understand" in found[0].before[1]
    assert "the controller comes last" in found[1].before[0]
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
    assert titles[4] == "restart controllers with 4.3, one at a time, and the active one last"
    assert [step.title for step in steps("3.9-zk", "4.3", ZOOKEEPER)] == titles[3:]


def test_only_metadata_version_rises_and_other_features_are_choices() -> None:
    *_, rises, elr, voters = steps("3.9", "4.3", KRAFT, min_insync_replicas=2)
    assert [command.partition("upgrade ")[2] for command in rises.commands] == ["--metadata 4.3"]
    assert any("--release-version 4.3 here, which raises all features" in check for check in rises.checks)
    assert (rises.later, elr.later, voters.later) == (False, True, True)
    keep, raised = elr.commands
    assert keep.endswith("--add-config min.insync.replicas=2")
    assert raised.endswith("upgrade --feature eligible.leader.replicas.version=1")
    assert any("every partition has a leader" in check for check in elr.before)
    assert elr.checks[0].endswith("downgrade --feature eligible.leader.replicas.version=0")
    assert voters.commands[0].endswith("upgrade --feature kraft.version=1")
    assert voters.before[0] == "there is no way back"
    assert "kraft.version" not in str(steps("3.9", "4.0", KRAFT)[-1].commands)  # KAFKA-18979
    *_, last = steps("3.6", "3.9", KRAFT)
    assert (last.commands[0][-14:], len(last.checks)) == ("--metadata 3.9", 1)


def test_eligible_leader_replicas_that_the_user_wants_are_no_choice() -> None:
    *_, elr, _ = steps("4.0", "4.1+elr=on", KRAFT)
    assert (elr.title, elr.later) == ("raise eligible leader replicas (KIP-966)", False)
    assert not any("eligible" in step.title for step in steps("4.1+elr=on", "4.3", KRAFT))


def test_controllers_come_first_unless_nodes_are_both() -> None:
    controllers, brokers, *_ = steps("3.9", "4.3", KRAFT, process_roles="broker")
    assert controllers.title == "restart controllers with 4.3, one at a time, and the active one last"
    assert "controller.properties" in controllers.commands[1]
    assert any("Kafka documents no order" in each for each in controllers.before)
    assert brokers.title == "restart brokers with 4.3, one at a time"
    nodes, *_ = steps("3.9", "4.3", KRAFT, process_roles="broker,controller")
    assert nodes.title == "restart all nodes with 4.3, one at a time, and the active controller last"


@pytest.mark.parametrize(
    ("before", "after", "is_open"),
    [("3.8", "3.9", True), ("4.0", "4.1", True), ("3.6", "3.7", False), ("4.1", "4.3", False), ("4.3", "4.4", False)],
)
def test_metadata_version_goes_back_only_where_no_record_changed(before: str, after: str, is_open: bool) -> None:
    raised = steps(before, after, KRAFT)[2]
    assert any(f"downgrade --metadata {before}" in check for check in raised.before) == is_open


def test_an_upgrade_from_the_preview_of_kraft_is_not_documented() -> None:
    (step,) = steps("3.2-kraft", "3.9", KRAFT)
    assert "no upgrade from it" in step.unsearched


def test_directories_and_clients_are_looked_at_first() -> None:
    first = steps("3.3", "4.4", KRAFT, log_dirs="/one,/two")[0].before
    assert any("kafka-log-dirs.sh" in check for check in first)
    assert any("brokers of 3.3 do not support several directories" in check for check in first)
    assert any("DeprecatedRequestsPerSec" in check for check in first)
    other = steps("3.9", "4.0", KRAFT, log_dirs="/one")[0].before
    assert not any("director" in check for check in other)
    assert not any("KIP-896" in check for check in steps("4.0", "4.3", KRAFT)[0].before)


def test_what_a_release_cannot_write_is_said_before_restarts_with_it() -> None:
    said = {
        version: [each for step in steps("3.6", version, KRAFT, process_roles=roles) for each in step.before]
        for version, roles in {
            "3.7": "broker",
            "3.7.0": "broker,controller",
            "3.7.1": "broker",
            "3.8": "broker",
        }.items()
    }
    named = {version: [each for each in before if "KAFKA-16583" in each] for version, before in said.items()}
    assert {version: len(found) for version, found in named.items()} == {"3.7": 1, "3.7.0": 1, "3.7.1": 0, "3.8": 0}
    assert said["3.7"][0] == said["3.7.0"][0] == named["3.7"][0]  # before the first restart, of controllers
    assert "a broker does not start, and a controller halts. Upgrade to 3.7.1 or later instead." in named["3.7"][0]


def test_lowered_replicas_are_left_out_of_snapshots() -> None:
    *_, elr, _ = found = steps("3.9", "4.1", KRAFT)
    (said,) = (each for step in found for each in (*step.before, *step.checks) if "left out of snapshots" in each)
    assert said == elr.checks[1]
    assert "elect none. Lower eligible.leader.replicas.version only while all replicas" in said
    assert said.endswith('leadline bugs "left out of snapshots"')


def test_one_release_has_no_path() -> None:
    assert steps("3.9", "3.9", KRAFT) == ()


def test_tables_that_are_refused_are_said_to_be() -> None:
    assert [step.unsearched for step in steps("3.6", "3.9", KRAFT)] == ["", NO_TABLES, NO_TABLES]


def cell(text: str, looks: str) -> Cell:
    return Cell((Span(text),), looks)


def test_a_step_says_what_the_tables_have_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    rolls = ["releases", "levels", "features", "back"]
    configurations = [Configuration(name=f"to {roll}", bounds={"roll": roll}) for roll in rolls]
    specs, properties = ["kafka/3.9..4.3"], ["leader_possible", "log_matching"]
    matrix = Matrix(specs=specs, configurations=configurations, properties=properties)
    head, mix, holds = ("release", *properties), cell("kafka/3.9..4.3", ""), cell("holds (9)", "holds")
    violated = cell("violated (5), only in the mix", "violated")
    rows = {
        "to releases": (mix, violated, holds),
        "to levels": (mix, holds, cell("?", "incomplete")),
        "to features": (mix, violated, holds),
        "to back": (mix, violated, holds),
    }
    tables = {name: Table(name, head, (row,)) for name, row in rows.items()}
    monkeypatch.setattr(mix_searches, "_tables", lambda name: (matrix, tables if name == "rolls" else {}))
    _, restarts, rises, elr, _ = found = steps("3.9", "4.3", KRAFT)
    assert restarts.found[0].violated == {"leader_possible": "violated (5), only in the mix"}
    assert restarts.found[0].command == "leadline explore kafka/3.9..4.3 -b roll=releases"
    assert [each.undecided for each in rises.found] == [True]
    assert [each.roll for each in elr.found] == ["features", "back"]
    said = [plain(text) for block in blocks_of_searches(found) for text in getattr(block, "texts", ())]
    of_rolls = {
        roll: next(line for line in said if line.startswith(f"to {roll}: ")) for roll in rolls if roll != "levels"
    }
    for line in of_rolls.values():
        assert "it should hold that repairs alone can lead to a leader" in line
        assert "leader_possible is violated in a trace of 5 states, only in the mix: leadline explore" in line
    assert "avoids it" not in of_rolls["releases"]
    assert of_rolls["features"].endswith('What avoids it: leadline bugs "raised without a leader"')
    assert of_rolls["back"].endswith('What avoids it: leadline bugs "lowered replicas"')
    assert "something is not decided, if to levels" in said


def test_a_mix_without_tables_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mix_searches, "_tables", lambda name: (read_matrix(matrix_file(Path(name))), {}))
    *_, rises = steps("3.6", "3.8", KRAFT)
    assert rises.unsearched == ""
    (found,) = rises.found
    assert (found.mix, list(found.violated), found.undecided) == ("kafka/3.6..3.8", ["registered_at_new_level"], False)
    (avoided,) = (each for each in rises.before if "KAFKA-16952" in each)
    assert avoided.startswith("Raise metadata.version with brokers and controllers of 3.9 or later")


def test_what_must_be_so_comes_before_the_commands() -> None:
    found = steps("3.3", "4.3", KRAFT, min_insync_replicas=2)
    assert ["Java 17" in each for each in found[0].before[:4]] == [False, True, False, False]
    assert "metadata.version is 3.3-IV3 or later" in found[0].before[2]
    assert "nothing checks controllers at this level" in found[2].before[0]
    assert "--bootstrap-controller" in steps("3.9", "4.3", KRAFT)[2].before[0]
    said = [*blocks_of_path(found)]
    command = Paragraph((Span(found[2].commands[-1], "code"),), "command")
    assert said.index(Items(tuple(map(words, found[2].before)))) < said.index(command)


def test_the_level_that_files_name_is_kept() -> None:
    own = {"inter_broker_protocol_version": "2.1", "log_message_format_version": "1.0"}
    found = steps("2.8", "3.9-zk", ZOOKEEPER, **own)
    assert found[0].commands == ("inter.broker.protocol.version=2.1", "log.message.format.version=1.0")
    assert "remove log.message.format.version, which has no effect any more" in found[2].commands


def test_before_3_0_the_message_format_rises_last() -> None:
    found = steps("2.1", "2.8", ZOOKEEPER, log_message_format_version="2.1")
    assert len(steps("2.1", "2.8", ZOOKEEPER)) == 3  # without an own format, there is nothing to raise
    assert "log.message.format.version=0.10.2" in commands(steps("0.10.2", "2.8", ZOOKEEPER))
    assert found[3].commands[0].startswith("log.message.format.version=2.8")
    assert (
        "kafka-topics.sh --zookeeper HOST:PORT --describe --under-replicated-partitions (of 2.1)" in found[0].checks[0]
    )
