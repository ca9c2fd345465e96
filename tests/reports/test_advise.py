"""`leadline advise`: files of settings, the releases before and after an upgrade, and what is said of known bugs."""

from __future__ import annotations

import io
import json
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import attrs
import jsonschema
import pytest
from pypdf import PdfReader

from leadline.checker.engines.progress import Progress
from leadline.model.kafka.releases import RELEASES
from leadline.reports.kafka.advice import path
from leadline.reports.kafka.advice.advice import TO_USERS, Concern, Group, advise, harm_of
from leadline.reports.kafka.advice.cluster import Cluster, clusters
from leadline.reports.kafka.advice.decisions import SAME_STEPS, Decider, Status
from leadline.reports.kafka.advice.document import notes
from leadline.reports.kafka.advice.json_advice import SCHEMA
from leadline.reports.kafka.advice.properties import read_properties
from leadline.reports.kafka.advice.settings import Kind, Settings, known_settings, read_settings
from leadline.reports.kafka.bugs import REPLICATION, TRANSACTIONS, Archive, Bug, read_archive
from leadline.reports.loading import load_spec
from tests.browser.chromium import chromium, needs_chromium
from tests.browser.opened_page import Opened
from tests.suite.command import call

ARCHIVE = read_archive()

ZOOKEEPER = "zookeeper.connect=zk1:2181,zk2:2181/kafka\n"
KRAFT = "process.roles=broker,controller\n"

BROKER = """\
############################# Server Basics #############################
! a second form of comment
broker.id=${BROKER_ID}
broker.rack : {{ rack }}
  listeners = SASL_SSL://:9093, \\
              PLAINTEXT://localhost:9092
listener.name.internal.sasl.enabled.mechanisms=PLAIN
log.dirs\t/data/1,/data/2

process.roles=broker
min.insync.replicas = 1
min.insync.replicas=2
retention.ms=1000
acks=all
min.insync.replica=2
com.example.plugin.level=high
replica.lag.time.max.ms=30000
num.io.threads=8
"""
"""A file with the traits of files in use: comments, placeholders, a continued line, repeated and misplaced settings."""


def written(folder: Path, text: str, name: str = "server.properties") -> Path:
    """A file of settings."""
    path = folder / name
    path.write_bytes(text.encode())
    return path


def settings_of(folder: Path, text: str, replication_factor: int | None = None) -> Settings:
    return read_settings(written(folder, text), replication_factor=replication_factor)


def upgrade(
    folder: Path, before: str, after: str, text: str, replication_factor: int | None = None
) -> tuple[Cluster, Cluster]:
    return clusters(before, after, settings_of(folder, text, replication_factor))


@pytest.fixture
def steps_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """What searches say of the steps of an upgrade takes a minute, and is tested in `test_upgrade_path.py`."""
    monkeypatch.setattr(path, "searched", lambda *_: ((), "not searched"))


def nothing_is_searched(title: str) -> AbstractContextManager[Progress]:
    raise AssertionError(f"{title} is searched")


def silent(title: str) -> AbstractContextManager[Progress]:
    return nullcontext(lambda statistics: None)


def bug_of(ticket: str) -> Bug:
    return next(bug for bug in ARCHIVE.bugs if bug.ticket == ticket)


def decided(cluster: Cluster, bug: Bug, seconds: float = 60) -> tuple[Status, str]:
    decision = Decider(Archive(bugs=[bug]), seconds, silent).decide(attrs.evolve(bug, besides=[]), cluster)
    return decision.status, decision.reason


# --- files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "windows"])
def test_a_file_is_read_as_java_reads_it(tmp_path: Path, end: str) -> None:
    entries = read_properties(written(tmp_path, BROKER.replace("\n", end)))
    assert entries["listeners"].value == "SASL_SSL://:9093, PLAINTEXT://localhost:9092"
    assert (entries["broker.rack"].value, entries["log.dirs"].value) == ("{{ rack }}", "/data/1,/data/2")
    last = entries["min.insync.replicas"]
    assert (last.value, last.place) == ("2", "server.properties:12")
    assert [name for name, entry in entries.items() if entry.is_placeholder] == ["broker.id", "broker.rack"]


def test_each_setting_is_used_or_named(tmp_path: Path) -> None:
    found: dict[Kind, list[str]] = {}
    remarks = settings_of(tmp_path, BROKER).remarks
    for remark in remarks:
        found.setdefault(remark.kind, []).append(remark.name)
    assert found == {
        "abstract": ["broker.id", "broker.rack", "log.dirs", "replica.lag.time.max.ms"],
        "unrelated": ["listeners", "listener.name.internal.sasl.enabled.mechanisms", "num.io.threads"],
        "used": ["process.roles", "min.insync.replicas"],
        "misplaced": ["retention.ms", "acks"],
        "unknown": ["min.insync.replica", "com.example.plugin.level"],
    }
    texts = {remark.name: remark.text for remark in remarks}
    assert texts["min.insync.replica"].endswith("did you mean min.insync.replicas?")
    assert texts["acks"].endswith("see --producer-config")


def test_security_settings_belong_to_brokers_and_producers(tmp_path: Path) -> None:
    names = ["sasl.mechanism", "sasl.jaas.config", "security.protocol", "ssl.truststore.location"]
    producer = written(tmp_path, "".join(f"{name}=x\n" for name in names), "producer.properties")
    remarks = read_settings(written(tmp_path, ""), producer=producer).remarks
    assert {remark.name: remark.kind for remark in remarks} == dict.fromkeys(names, "unrelated")


NEW_SETTINGS = ("controller.quorum.auto.join.enable", "group.streams.session.timeout.ms", "cordoned.log.dirs")
OLD_SETTINGS = ("port", "zookeeper.clientCnxnSocket", "log.message.format.version")


@pytest.mark.parametrize("name", [*NEW_SETTINGS, *OLD_SETTINGS])
def test_settings_of_the_newest_and_of_old_releases_are_known(tmp_path: Path, name: str) -> None:
    (remark,) = settings_of(tmp_path, f"{name}=x\n").remarks
    assert remark.kind in ("unrelated", "abstract")


def test_every_setting_with_a_reason_is_a_known_setting() -> None:
    known = known_settings()
    assert set(known.abstract) <= {*known.broker, *known.topic, *known.producer}
    assert len(known.broker) == len(set(known.broker)) > 300


def test_a_topic_overrides_the_brokers_and_acks_come_from_the_producers(tmp_path: Path) -> None:
    topic = written(tmp_path, "min.insync.replicas=3\nflush.messages=1\n", "topic.properties")
    producer = written(tmp_path, "acks=-1\nlinger.ms=5\n", "producer.properties")
    settings = read_settings(written(tmp_path, BROKER), topic, producer, 4)
    before, _ = clusters("3.7", "4.0", settings)
    assert before.bounds == {"acks": "all", "min_insync_replicas": 3, "unclean_leader_election": False}
    assert before.settings["min_insync_replicas"].origin == "topic.properties:1"
    assert (before.replicas, before.flushes_each) == (4, True)


WRONG = {
    "min.insync.replicas=two": "is not allowed: expected a whole number of at least 1",
    "min.insync.replicas=2 # racks": "is not allowed: expected a whole number of at least 1 (write a comment on a "
    "separate line)",
    "min.insync.replicas=0": "is not allowed: expected a whole number of at least 1",
    "default.replication.factor=12": "is out of range: it must be at most 9",
    "unclean.leader.election.enable=yes": "is not allowed: expected true or false",
    "min.insync.replicas={{ min_isr }}": "is a placeholder: replace it with a value, or remove the "
    "line to use the default of the release",
    "inter.broker.protocol.version=latest": "is not allowed: expected version 0.10.2.0 or later, such as 2.8",
    "inter.broker.protocol.version=3.9": "is newer than --from 3.6: expected that version or an older one",
}
"""What is said of lines of a file."""

UNREADABLE = {
    "{% if secure %}": "server.properties:2: '{% if secure %}' is a template statement, not a setting: fill in "
    "the template, and pass the result",
    "name=\\u12": r"server.properties:2: invalid escape \u12: write \u followed by four hexadecimal digits",
    "process.roles=broker": "the --config file names both ZooKeeper and KRaft: write --from 3.6 (KRaft) or "
    "--from 3.6-zk (ZooKeeper)",
}


@pytest.mark.parametrize("line", [*WRONG, *UNREADABLE])
def test_what_is_not_allowed_is_one_line(tmp_path: Path, line: str) -> None:
    written(tmp_path, f"{ZOOKEEPER}{line}\n")
    run = call("advise", "--from", "3.6", "--to", "3.9", "--config", "server.properties", folder=tmp_path)
    assert run.complaint == (UNREADABLE.get(line) or f"server.properties:2: {line} {WRONG[line]}")


@pytest.mark.parametrize("value", ["-2", "ALL", ""])
def test_acks_that_kafka_does_not_have_are_refused(tmp_path: Path, value: str) -> None:
    written(tmp_path, ZOOKEEPER)
    written(tmp_path, f"acks={value}\n", "producer.properties")
    files = ("--config", "server.properties", "--producer-config", "producer.properties")
    run = call("advise", "--from", "3.6", "--to", "3.9", *files, folder=tmp_path)
    assert run.complaint == f"producer.properties:1: acks={value} is not allowed: expected all, -1, 1 or 0"


# --- releases ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", RELEASES, ids=lambda column: column.name)
def test_every_published_release_is_found_with_its_controller(tmp_path: Path, column: object) -> None:
    (own,) = (each for each in RELEASES if each is column)
    text = ZOOKEEPER if own.controller == "ZooKeeper" else KRAFT
    for version in own.versions:
        before, _ = upgrade(tmp_path, version, version, text)
        assert before.column.controller == own.controller
        assert {**before.column.values, "elr": ""} == {**own.values, "elr": ""}


@pytest.mark.parametrize(
    ("before", "after", "text", "complaint"),
    [
        ("3.6", "3.9", "", "says whether the cluster uses ZooKeeper or KRaft (--config): write --from 3.6"),
        (
            "2.8",
            "4.1",
            KRAFT,
            "server.properties:1: process.roles is a setting for clusters with KRaft, but leadline models 2.8 only "
            "with ZooKeeper: pass --from with a release that uses KRaft, 3.0 or later",
        ),
        (
            "4.0",
            "4.1",
            ZOOKEEPER,
            "zookeeper.connect is a setting for clusters with ZooKeeper, but leadline models 4.0 only with KRaft: "
            "pass --from with a release that uses ZooKeeper, 3.9 or earlier",
        ),
        ("4.1", "3.9", KRAFT, "--to 3.9 is older than --from 4.1: choose a newer release"),
        ("3.6", "3.9-zk", KRAFT, "--to 3.9-zk uses ZooKeeper, but the cluster uses KRaft"),
        ("2.9", "4.1", ZOOKEEPER, "--from 2.9: unknown spec 'kafka/2.9'"),
        (
            "2.8",
            "3.6.7",
            ZOOKEEPER,
            "--to 3.6.7: unknown release 'kafka/3.6.7': the known releases of this minor version are",
        ),
    ],
)
def test_releases_that_do_not_fit_are_refused(
    tmp_path: Path, before: str, after: str, text: str, complaint: str
) -> None:
    written(tmp_path, text)
    run = call("advise", "--from", before, "--to", after, "--config", "server.properties", folder=tmp_path)
    assert complaint in run.complaint


def test_an_upgraded_cluster_has_no_eligible_leader_replicas_unless_it_is_said(tmp_path: Path) -> None:
    _, plain = upgrade(tmp_path, "3.9", "4.1", KRAFT)
    assert (plain.column.name, plain.column.values["elr"]) == ("kafka/4.1+elr=off", "off")
    assert any("eligible.leader.replicas.version is taken to be 0" in note for note in plain.notes)
    _, enabled = upgrade(tmp_path, "3.9", "4.1+elr=on", KRAFT)
    assert enabled.column.values["elr"] == "on"


def test_kraft_obeys_unclean_elections_since_3_9_only(tmp_path: Path) -> None:
    before, after = upgrade(tmp_path, "3.8", "3.9", f"{KRAFT}unclean.leader.election.enable=true\n")
    values = [each.settings["unclean_leader_election"] for each in (before, after)]
    assert [each.value for each in values] == [False, True]
    assert "KAFKA-12670" in values[0].origin


def test_more_insync_replicas_than_replicas_are_told(tmp_path: Path) -> None:
    before, _ = upgrade(tmp_path, "3.6", "3.7", f"{KRAFT}min.insync.replicas=3\n", replication_factor=2)
    assert before.notes[-1] == (
        "min.insync.replicas=3 is more than the 2 replicas: writes with acks=all are refused before Kafka 3.7, and "
        "need 2 members of the ISR since then (KAFKA-15583)"
    )


@pytest.mark.usefixtures("steps_are_not_searched")
def test_unclean_elections_that_take_effect_with_the_upgrade_are_told(tmp_path: Path) -> None:
    """The loss that was possible before stays, although the settings do not promise anything any more."""
    text = f"{KRAFT}unclean.leader.election.enable=true\nmin.insync.replicas=2\n"
    before, after = upgrade(tmp_path, "3.8", "3.9", text, replication_factor=2)
    bug = bug_of("KAFKA-15495")
    archive = Archive(bugs=[attrs.evolve(bug, bounds=bug.bounds | {"records": 1, "max_epoch": 1})])
    advice = advise(before, after, settings_of(tmp_path, text), archive, Decider(archive, 60, silent))
    (finding,) = advice.findings
    assert finding.group is Group.STAYS
    assert finding.after.status is Status.NOT_PROMISED
    assert any("takes effect with the upgrade: before, KRaft ignores" in note for note in notes(advice))


def test_a_cluster_with_zookeeper_gets_kraft_where_there_is_nothing_else(tmp_path: Path) -> None:
    before, after = upgrade(tmp_path, "2.8", "4.1", ZOOKEEPER)
    assert (before.column.controller, after.column.controller) == ("ZooKeeper", "KRaft")
    assert any("migration from ZooKeeper" in note for note in after.notes)
    assert upgrade(tmp_path, "2.8", "3.9", ZOOKEEPER)[1].column.name == "kafka/3.9-zk"


@pytest.mark.usefixtures("steps_are_not_searched")
def test_an_older_protocol_leaves_the_bugs_of_that_release_undecided(tmp_path: Path) -> None:
    text = f"{ZOOKEEPER}inter.broker.protocol.version=1.1\n"
    before, after = upgrade(tmp_path, "2.8.1", "3.9", text)
    assert before.older is not None
    assert before.older.name.startswith("kafka/1.1")
    archive = Archive(bugs=[attrs.evolve(bug_of("KAFKA-7128"), besides=[])])
    advice = advise(before, after, settings_of(tmp_path, text), archive, Decider(archive, 60, nothing_is_searched))
    assert [(each.group, each.before.status) for each in advice.findings] == [(Group.UNDECIDED, Status.UNDECIDED)]
    assert upgrade(tmp_path, "2.8.1", "3.9", f"{ZOOKEEPER}inter.broker.protocol.version=2.8\n")[0].older is None


@pytest.mark.parametrize(("version", "said"), [("3.7.0", True), ("3.7.1", False), ("3.8", False)])
def test_what_a_release_does_beyond_the_model_is_told(tmp_path: Path, version: str, said: bool) -> None:
    """`leadline explore` and `leadline specs` say it of the same name."""
    _, after = upgrade(tmp_path, version, version, KRAFT)
    assert any("KAFKA-16234" in note for note in after.notes) is said
    assert ("KAFKA-16234" in load_spec(f"kafka/{version}").note) is said


@pytest.mark.usefixtures("steps_are_not_searched")
def test_advice_is_not_about_transactions(tmp_path: Path) -> None:
    before, after = upgrade(tmp_path, "3.5", "4.1", KRAFT)
    archive = ARCHIVE.of_family(TRANSACTIONS)
    assert archive.bugs
    advice = advise(before, after, settings_of(tmp_path, KRAFT), archive, Decider(archive, 60, nothing_is_searched))
    assert (advice.findings, advice.searched, advice.unmodelled) == ([], 0, [])
    assert "The archive has 0 bugs of replication that a search can show, and 0 that none can" in advice.nothing


TRANSACTIONS_PAGE = Path(__file__).parents[2] / "reports" / "pages" / "transactions.md"


@pytest.mark.parametrize(
    ("version", "says", "violated", "holds"),
    [
        ("2.8", "does not prevent this before 3.6", ["txn/2.6", "txn/2.6+time_out=re-initialise"], []),
        ("3.7", "prevents this", ["txn/3.6"], ["txn/3.6+time_out=re-initialise"]),
        ("4.1", "Clients since 4.0 prevent it", ["txn/4.0-client-2.5"], ["txn/4.0"]),
    ],
)
def test_producers_with_transactions_are_told_what_depends_on_them(
    tmp_path: Path, version: str, says: str, violated: list[str], holds: list[str]
) -> None:
    """The page of transactions, which is made from searches, says the same."""
    text = ZOOKEEPER if version == "2.8" else KRAFT
    written(tmp_path, text)
    written(tmp_path, "transactional.id=orders\n", "producer.properties")
    settings = read_settings(tmp_path / "server.properties", None, tmp_path / "producer.properties", None)
    _, after = clusters(version, version, settings)
    assert [remark.kind for remark in settings.remarks if remark.name == "transactional.id"] == ["abstract"]
    told = [note for note in after.notes if "no_aborted_read" in note or "this" in note]
    assert any(says in note for note in told)
    _, without = clusters(version, version, settings_of(tmp_path, text))
    assert not any("transactional.id" in note for note in without.notes)
    page = TRANSACTIONS_PAGE.read_text().partition("## one late request\n")[2].partition("\n## ")[0]
    cells = {row.split("|")[1].strip(" `"): row.split("|")[2] for row in page.splitlines() if row.startswith("| `")}
    assert all("violated" in cells[name] for name in violated)
    assert all("holds" in cells[name] for name in holds)


# --- decisions --------------------------------------------------------------------------------------------------


def test_settings_of_the_archive_need_no_search(tmp_path: Path) -> None:
    text = f"{ZOOKEEPER}unclean.leader.election.enable=true\nmin.insync.replicas=2\n"
    before, _ = upgrade(tmp_path, "3.2", "3.9", text)
    decision = Decider(ARCHIVE, 60, nothing_is_searched).decide(bug_of("KAFKA-15583"), before)
    assert decision.status is Status.POSSIBLE
    command = "leadline explore kafka/3.2 -b records=1,"
    assert decision.command.startswith(command)


def test_a_search_with_the_fix_of_another_bug_says_so(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, ZOOKEEPER)
    old, new = clusters("2.8", "2.8.1", settings)
    decision = Decider(ARCHIVE, 60, silent).decide(bug_of("KAFKA-13207"), old)
    assert "+diverging_fetch=ignored" in decision.command
    assert decision.reason.endswith("searched with the fix of KAFKA-13141, which would be found first")
    assert "KAFKA-13141" not in Decider(ARCHIVE, 60, silent).decide(bug_of("KAFKA-14704"), new).reason


def test_a_setting_that_avoids_a_bug_is_named(tmp_path: Path) -> None:
    before, _ = upgrade(tmp_path, "3.2", "3.9", f"{ZOOKEEPER}min.insync.replicas=2\n", replication_factor=2)
    bug = bug_of("KAFKA-15583")
    unasked = attrs.evolve(bug, bounds=bug.bounds | {"unclean_elections": 0})
    status, reason = decided(before, unasked)
    assert (status, reason) == (Status.AVOIDED, "unclean.leader.election.enable=false (the default of Kafka 3.2)")


def test_the_archive_decides_which_setting_matters(tmp_path: Path) -> None:
    """With another configuration in the archive, the same settings allow the bug without a search."""
    before, _ = upgrade(tmp_path, "3.2", "3.9", f"{ZOOKEEPER}min.insync.replicas=2\n")
    bug = bug_of("KAFKA-15583")
    planted = attrs.evolve(bug, bounds=bug.bounds | {"unclean_leader_election": False})
    decision = Decider(ARCHIVE, 60, nothing_is_searched).decide(planted, before)
    assert decision.status is Status.POSSIBLE


def test_a_bug_that_other_settings_do_not_avoid_is_found_by_a_search(tmp_path: Path) -> None:
    before, _ = upgrade(tmp_path, "2.8", "3.9", f"{ZOOKEEPER}min.insync.replicas=2\n")
    assert decided(before, bug_of("KAFKA-13141")) == (
        Status.POSSIBLE,
        "found by a search with these settings and 2 brokers",
    )


def test_consumers_do_not_read_from_followers_unless_a_selector_is_set(tmp_path: Path) -> None:
    selector = "replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector\n"
    bug = attrs.evolve(bug_of("KAFKA-14704"), besides=[])
    without, _ = upgrade(tmp_path, "3.2", "3.9", ZOOKEEPER)
    assert decided(without, bug)[0] is Status.AVOIDED
    reading, _ = upgrade(tmp_path, "3.2", "3.9", ZOOKEEPER + selector)
    decision = Decider(Archive(bugs=[bug]), 60, nothing_is_searched).decide(bug, reading)
    assert decision.status is Status.POSSIBLE


def test_a_violation_by_design_does_not_hide_a_bug(tmp_path: Path) -> None:
    """Before 0.11, unclean elections are the default, and lose records in fewer steps than the bug of the ticket."""
    before, _ = upgrade(tmp_path, "0.10.2", "2.8", ZOOKEEPER)
    assert before.bounds["unclean_leader_election"] is True
    status, reason = decided(before, bug_of("KAFKA-1211"))
    assert (status, reason) == (Status.POSSIBLE, SAME_STEPS)


def test_a_promise_that_the_settings_do_not_make_is_not_called_avoided(tmp_path: Path) -> None:
    before, _ = upgrade(tmp_path, "2.8", "3.9", f"{ZOOKEEPER}min.insync.replicas=2\n", replication_factor=2)
    assert before.bounds["acks"] == "1"
    bug = bug_of("KAFKA-15495")
    smaller = attrs.evolve(bug, bounds=bug.bounds | {"records": 1, "max_epoch": 1})
    assert decided(before, smaller)[0] is Status.NOT_PROMISED


def test_a_search_that_is_not_complete_decides_nothing(tmp_path: Path) -> None:
    before, _ = upgrade(tmp_path, "3.2", "3.9", f"{ZOOKEEPER}min.insync.replicas=2\n")
    status, reason = decided(before, bug_of("KAFKA-15583"), seconds=0.0001)
    assert status is Status.UNDECIDED
    assert "was not complete" in reason


@pytest.mark.usefixtures("steps_are_not_searched")
@pytest.mark.parametrize(
    ("choice", "group"), [("", Group.FIXED), ("true", Group.NOT_PROMISED), ("false", Group.AVOIDED)]
)
def test_a_bug_that_a_default_fixed_stays_if_the_file_has_the_old_value(
    tmp_path: Path, choice: str, group: Group
) -> None:
    text = ZOOKEEPER + (f"unclean.leader.election.enable={choice}\n" if choice else "")
    producer = written(tmp_path, "acks=all\n", "producer.properties")
    settings = read_settings(written(tmp_path, text), producer=producer)
    archive = Archive(bugs=[attrs.evolve(bug_of("KIP-106"), besides=[])])
    advice = advise(*clusters("0.10.2", "2.4", settings), settings, archive, Decider(archive, 60, silent))
    assert [finding.group for finding in advice.findings] == [group]


@pytest.mark.usefixtures("steps_are_not_searched")
def test_what_an_old_release_loses_by_another_defect_is_not_newly_possible(tmp_path: Path) -> None:
    """The archive does not list 2.3, whose leaders can add a broker that shuts down to the ISR as well."""
    bug = bug_of("KAFKA-14140")
    archive = Archive(bugs=[bug])
    assert not archive.affects(bug, upgrade(tmp_path, "2.3", "3.0", ZOOKEEPER)[0].column)
    settings = settings_of(tmp_path, ZOOKEEPER)
    advice = advise(*clusters("2.3", "3.0", settings), settings, archive, Decider(archive, 60, silent))
    (finding,) = advice.findings
    assert finding.group is Group.STAYS
    assert finding.before.reason.endswith("although the archive does not list 2.3")
    newer = attrs.evolve(bug, rules=bug.rules | {"isr_write": "controller"})
    advice = advise(*clusters("2.3", "3.0", settings), settings, Archive(bugs=[newer]), Decider(archive, 60, silent))
    assert [each.group for each in advice.findings] == [Group.NEW]


@pytest.mark.usefixtures("steps_are_not_searched")
def test_a_changed_rule_does_not_hide_the_other_bugs_of_a_release(tmp_path: Path) -> None:
    text = f"{KRAFT}min.insync.replicas=2\n"
    settings = settings_of(tmp_path, text)
    archive = Archive(bugs=[bug_of("KAFKA-18106"), bug_of("KAFKA-15495"), bug_of("KAFKA-1120")])
    advice = advise(*clusters("3.9", "3.9+elr=on", settings), settings, archive, Decider(archive, 60, silent))
    groups = {finding.bug.ticket: finding.group for finding in advice.findings}
    assert groups == {"KAFKA-18106": Group.STAYS, "KAFKA-15495": Group.FIXED}


@pytest.mark.usefixtures("steps_are_not_searched")
@pytest.mark.parametrize("after", ["4.1", "4.2", "4.3"])
def test_an_upgrade_does_not_change_whether_eligible_leader_replicas_are_enabled(tmp_path: Path, after: str) -> None:
    settings = settings_of(tmp_path, f"{KRAFT}min.insync.replicas=2\n")
    archive = Archive(bugs=[bug_of("KAFKA-15495")])
    for before, groups in (("4.0", [Group.STAYS]), ("4.0+elr=on-unchecked", [])):
        advice = advise(*clusters(before, after, settings), settings, archive, Decider(archive, 60, silent))
        assert [finding.group for finding in advice.findings] == groups


@pytest.mark.usefixtures("steps_are_not_searched")
def test_a_feature_that_mends_a_bug_is_named(tmp_path: Path) -> None:
    text = f"{KRAFT}min.insync.replicas=2\n"
    before, after = upgrade(tmp_path, "3.9", "4.1", text)
    archive = Archive(bugs=[bug_of("KAFKA-15495")])
    advice = advise(before, after, settings_of(tmp_path, text), archive, Decider(archive, 60, nothing_is_searched))
    (finding,) = advice.findings
    assert (finding.group, finding.feature) == (Group.STAYS, "eligible.leader.replicas.version is raised to 1")
    _, enabled = upgrade(tmp_path, "3.9", "4.1+elr=on", text)
    decider = Decider(archive, 60, nothing_is_searched)
    (fixed,) = advise(before, enabled, settings_of(tmp_path, text), archive, decider).findings
    assert fixed.group is Group.FIXED
    assert fixed.commands[-1] == "leadline bugs KAFKA-15495"


def test_no_promise_is_filed_under_internal_properties() -> None:
    """A loss without a ticket is against a promise, and what is only stuck has a heading of its own."""
    archive = read_archive().of_family(REPLICATION)
    concerns = {bug.ticket: harm_of(bug, archive)[1] for bug in archive.bugs}
    assert concerns["no ticket: forgotten proposal"] is concerns["KAFKA-13141"] is Concern.PROMISE
    assert {concerns["KAFKA-13091"], concerns["KAFKA-12686"], concerns["no ticket: override"]} == {Concern.STUCK}
    assert {concerns["KAFKA-18106"], concerns["KAFKA-6361"]} == {Concern.COPIES}
    assert concerns["KAFKA-14617"] is Concern.INTERNAL
    lost = [bug.ticket for bug in archive.bugs if bug.property.startswith(("committed_", "acked_", "durable_"))]
    assert {concerns[ticket] for ticket in lost} == {Concern.PROMISE}


# --- the command ------------------------------------------------------------------------------------------------


def test_the_terminal_the_object_and_the_page_say_the_same(tmp_path: Path) -> None:
    written(tmp_path, BROKER + "replica.selector.class=com.example.Nearest\n")
    options = ("--from", "3.7", "--to", "4.1", "--config", "server.properties")
    run = call("advise", *options, "--html", "page.html", "--json", "advice.json", folder=tmp_path)
    assert (run.code, run.err) == (0, "")
    content = json.loads((tmp_path / "advice.json").read_text())
    jsonschema.validate(content, json.loads(SCHEMA.read_text()))
    page = (tmp_path / "page.html").read_text()
    groups = {bug["ticket"]: bug["group"] for bug in content["bugs"]}
    assert groups["KAFKA-18106"] == "fixed"
    assert groups["KAFKA-15495"] == "stays"
    for bug in content["bugs"]:
        assert bug["promise"] == (bug["property"] in TO_USERS)
        assert bug["ticket"] in run.out
        assert bug["ticket"] in page
    for name in ("com.example.plugin.level", "min.insync.replica "):
        assert name in run.out
        assert name.strip() in page
    assert "none of the" in run.out
    assert "proves nothing" in page
    stays = [bug["ticket"] for bug in content["bugs"] if bug["group"] == "stays" and bug["promise"]]
    (line,) = (line for line in page.splitlines() if line.startswith("<li>") and ">stays: " in line)
    assert "KAFKA-15495" in stays
    assert all(ticket in line for ticket in stays)


@needs_chromium
@pytest.mark.usefixtures("steps_are_not_searched")
def test_the_page_begins_with_a_summary_and_offers_its_commands(tmp_path: Path) -> None:
    written(tmp_path, BROKER)
    options = ("--from", "3.7", "--to", "4.1", "--config", "server.properties", "--html", "page.html")
    assert call("advise", *options, folder=tmp_path).code == 0
    for browser in chromium():
        opened = Opened(browser, tmp_path / "page.html", viewport={"width": 1280, "height": 800})
        links = opened.page.locator("a[href^='#section'], a[href='#settings']")
        assert links.count() >= 4
        box = links.last.bounding_box()
        assert box is not None
        assert box["y"] < 400
        for address in links.evaluate_all("all => all.map(it => it.getAttribute('href'))"):
            assert opened.page.locator(address).count() == 1
        copies = opened.page.locator("button[data-copy]")
        assert copies.count() == opened.page.locator("button[data-copy]:visible").count() > 1
        first, *_ = PdfReader(io.BytesIO(opened.page.pdf())).pages
        assert "min.insync.replicas" in first.extract_text()  # the title does not have a sheet to itself
        opened.page.set_viewport_size({"width": 360, "height": 800})
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_known_bugs_of_one_release(tmp_path: Path) -> None:
    """Nothing is said of an upgrade."""
    written(tmp_path, KRAFT + "min.insync.replicas=2\n")
    run = call(
        *("advise", "--from", "4.1.1", "--config", "server.properties", "--max-seconds", "0.01"),
        *("--html", "page.html", "--json", "advice.json"),
        folder=tmp_path,
    )
    assert run.code == 3, "searches are not complete in this time"
    assert run.lines[0] == "Known bugs of Kafka 4.1.1 with KRaft"
    assert not any(said in run.out for said in ("upgrade from", "before:", "after:", "to 4.1", "mended", "newly"))
    assert "possible with 4.1.1, by the bug or by design" in run.out
    assert "meanwhile: " in run.out
    assert 'leadline bugs "' in run.out
    assert "fixed once eligible.leader.replicas.version is raised to 1: kafka-features.sh" in " ".join(run.out.split())
    said = json.loads((tmp_path / "advice.json").read_text())
    assert {each["group"] for each in said["bugs"]} <= {"stays", "undecided"}
    page = (tmp_path / "page.html").read_text()
    assert "<title>Known bugs of Kafka 4.1.1" in page
    assert "rules of replication that change" not in page


def test_without_a_file_settings_have_their_defaults(tmp_path: Path) -> None:
    run = call("advise", "--from", "4.3", "--to", "4.4.0", "--max-seconds", "0.01", folder=tmp_path)
    assert run.code == 3, "searches are not complete in this time"
    assert "min.insync.replicas             1 (the default of Kafka 4.3)" in run.out
    assert "newly possible with 4.4.0 (which has the rules of 4.3, by its sources)" in run.out
    assert run.out.index("the upgrade, step by step\n") < run.out.index("the known bugs, with these settings")
    assert run.out.count("In rolling restarts, wait after each broker") == 1
    assert "Take a directory out" not in run.out[: run.out.index("the known bugs, with these settings")]


def test_json_on_standard_output_is_all_that_is_there(tmp_path: Path) -> None:
    written(tmp_path, KRAFT)
    """Also if searches end without a result."""
    options = ("--from", "4.2", "--to", "4.3", "--config", "server.properties", "--replication-factor", "2")
    run = call("advise", *options, "--max-seconds", "0.2", "--json", "-", folder=tmp_path)
    assert run.code == 3
    assert (run.json["format"], run.json["format_version"]) == ("leadline advise", 1)
    assert run.json["to"]["replicas"] == 2
