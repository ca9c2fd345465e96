"""`leadline audit`, as people and programs use it."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from tests.disks.clusters import short_archive, small_cluster, standard_batches
from tests.disks.data_directories import Disk, Log, batch
from tests.reports.schema_files import SCHEMAS
from tests.suite.command import COMMAND, Run, call, environment, read_until, run_leadline, terminal


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A folder with the directories of three brokers, with nothing wrong."""
    small_cluster(tmp_path / "whole").write()
    return tmp_path


@pytest.fixture
def broken(whole: Path) -> Path:
    """The same folder, with another cluster, whose broker 3 lacks a committed record."""
    cluster = small_cluster(whole / "broken")
    log = cluster.log(3)
    log.segments, log.high_watermark, log.recovery_point = [(0, standard_batches()[:3])], 6, 6
    cluster.write()
    return whole


def digest(folder: Path) -> str:
    """All that is in a folder, names and content."""
    found = sorted((str(path), path.read_bytes() if path.is_file() else b"") for path in folder.rglob("*"))
    return hashlib.sha256(repr(found).encode()).hexdigest()


def test_nothing_wrong_ends_with_0(whole: Path) -> None:
    before = digest(whole)
    run = run_leadline("audit", "whole", folder=whole)
    assert (run.code, run.err) == (0, "")
    assert "\nholds: nothing is wrong\n3 brokers, 1 partition, 27 batches, " in run.out
    assert digest(whole) == before


def test_something_wrong_ends_with_1_and_says_what_to_do_and_how_it_can_come_about(
    broken: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "leadline.reports.kafka.audit.counterexamples.SHIPPED", short_archive(tmp_path_factory.mktemp("archive"))
    )
    before = digest(broken)
    run = call("audit", "broken", folder=broken)
    assert run.code == 1
    shown = " ".join(run.out.split())
    for words in (
        "topic-0: strong_isr, weak_isr strong_isr offset 6 is below the high watermark 10 of broker 1",
        "A known bug ends in the same way: KAFKA-15221: A delayed fetch shows that a follower has caught up",
        "Brokers 1 and 2, in the ISR, have everything below the high watermark 10 and can be elected safely.",
        "How this can happen: KAFKA-15221: A delayed fetch shows",
        "12/12 ",
        "violated: strong_isr, weak_isr, in 1 partition ",
    ):
        assert words in shown, run.out
    assert "weak_isr offset" not in shown  # it is said once that the ISR lacks something
    assert digest(broken) == before


def test_what_cannot_be_decided_ends_with_3(whole: Path) -> None:
    for path in whole.rglob(".kafka_cleanshutdown"):
        path.unlink()
    run = call("audit", "whole", folder=whole)
    assert run.code == 3
    assert "\nundecided: the directories are not of one moment, which strong_isr, weak_isr, " in run.out
    assert "incomplete: nothing wrong was found, but not everything could be decided\n" in run.out
    assert call("audit", "whole", "--stopped", folder=whole).code == 0


def test_the_object_for_programs(broken: Path) -> None:
    run = call(
        "audit", "broken/broker-1", "broken/broker-2", "broken/broker-3", "--json", "-", "--no-traces", folder=broken
    )
    assert run.code == 1
    content = run.json
    assert set(content) == {"verdict", "reason", "brokers", "partitions", "batches", "seconds", "findings"}
    assert (content["verdict"], content["reason"]) == ("violated", None)
    assert (content["brokers"], content["partitions"], content["batches"]) == (3, 1, 26)
    assert [(finding["check"], finding["brokers"]) for finding in content["findings"]] == [
        ("strong_isr", [1, 3]),
        ("weak_isr", [1, 3]),
    ]
    finding = content["findings"][0]
    assert set(finding) == {"check", "severity", "topic", "partition", "brokers", "offset", "text"}
    assert (finding["severity"], finding["topic"], finding["partition"], finding["offset"]) == ("error", "topic", 0, 6)
    assert "can be elected safely" in finding["text"]
    one = call("audit", "broken/broker-3", "--json", "one.json", "--no-traces", folder=broken)
    assert one.code == 3
    content = json.loads((broken / "one.json").read_text())
    assert (content["verdict"], content["findings"]) == ("incomplete", [])
    assert content["reason"] == (
        "the replicas of 1 partition on broker 1 were not given; the replicas of 1 partition on broker 2 were not given"
    )


def test_formats_for_ci_systems(broken: Path) -> None:
    outputs = ["--junit", "a.xml", "--sarif", "a.sarif", "--markdown", "a.md", "--html", "a.html", "--no-traces"]
    run = call("audit", "broken", *outputs, folder=broken)
    assert run.code == 1
    assert "How this can happen" not in run.out
    cases = ElementTree.parse(broken / "a.xml").getroot().iter("testcase")
    by_name = {(case.get("classname"), case.get("name")): case for case in cases}
    failure = by_name["topic-0", "strong_isr"].find("failure")
    assert failure is not None
    assert "offset 6 is below the high watermark" in (failure.text or "")
    assert by_name["audit", "batch_crc"].find("system-out") is not None
    assert by_name["audit", "everything could be decided"].find("error") is None
    content = json.loads((broken / "a.sarif").read_text())
    results = content["runs"][0]["results"]
    assert [(each["ruleId"], each["level"]) for each in results] == [("strong_isr", "error"), ("weak_isr", "error")]
    place = results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert place == "broken/broker-1/topic-0"
    if (schema := SCHEMAS / "sarif-2.1.0-rtm.4.json").is_file():
        jsonschema.validate(content, json.loads(schema.read_text()))
    markdown = (broken / "a.md").read_text()
    assert markdown.startswith("# leadline audit\n\n**violated**: strong_isr, weak_isr, in 1 partition\n")
    assert "\n## topic-0: **strong_isr, weak_isr**\n\n- **strong_isr**  offset 6 is below" in markdown
    for path in broken.rglob(".kafka_cleanshutdown"):
        path.unlink()
    call("audit", "broken", "--junit", "b.xml", "--markdown", "a.md", "--no-traces", folder=broken)
    cases = ElementTree.parse(broken / "b.xml").getroot().iter("testcase")
    by_name = {(case.get("classname"), case.get("name")): case for case in cases}
    assert by_name["audit", "everything could be decided"].find("error") is not None
    assert by_name["audit", "strong_isr"].find("error") is not None
    assert (broken / "a.md").read_text().count("# leadline audit\n") == 2


def test_two_moments(broken: Path) -> None:
    assert call("audit", "--before", "whole", "--after", "whole", folder=broken).code == 0
    run = call("audit", "--before", "whole", "--after", "broken", "--no-traces", folder=broken)
    assert run.code == 1
    assert "committed_kept  broker 3 had 6-9@1 (CRC " in run.out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "no data directory was given: run leadline audit DIR... with the data directories of brokers"),
        (
            ("--before", "whole"),
            "--before needs directories that were copied later: pass them with --after",
        ),
        (("nowhere",), "cannot list nowhere: No such file or directory"),
        (("empty",), "empty is not a broker's data directory and does not contain one: "),
        (("file",), "cannot list file: Not a directory"),
        (("whole", "--json", "nowhere/a.json"), "cannot write nowhere/a.json: No such file or directory"),
        (("whole", "--html", "."), "Invalid value for '--html': File '.' is a directory."),
        (("whole", "--workers", "0"), "Invalid value for '--workers': 0 is not in the range"),
    ],
)
def test_mistakes_end_with_2_and_one_line(whole: Path, arguments: tuple[str, ...], complaint: str) -> None:
    (whole / "empty").mkdir()
    (whole / "file").write_text("")
    assert call("audit", *arguments, folder=whole).complaint.startswith(complaint)


def test_names_of_directories_do_nothing_to_a_terminal(tmp_path: Path) -> None:
    hostile = tmp_path / "\x1b]0;pwned\x07\u202ename\n::error::x"
    cluster = small_cluster(hostile, [1, 2])
    cluster.disks[3] = Disk(hostile / "again", 2)
    cluster.write()
    run = call("audit", str(hostile), "--html", "a.html", "--markdown", "a.md", folder=tmp_path)
    assert run.code == 0
    said = r"\x1b]0;pwned\x07\u202ename\n::error::x/again was formatted"
    assert said.replace(" ", "") in "".join(run.out.split()).replace(r"\::", "::")
    for text in (run.out, (tmp_path / "a.html").read_text(), (tmp_path / "a.md").read_text()):
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert not any(line.startswith("::") for line in run.out.splitlines())


def test_names_that_are_not_text(tmp_path: Path) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe")
    small_cluster(Path(folder), [1]).write()
    run = call("audit", folder, "--html", "a.html", "--json", "a.json", "--junit", "a.xml", folder=tmp_path)
    assert run.code == 0


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one broker, whose many partitions give time to interrupt their audit."""
    folder = tmp_path_factory.mktemp("large")
    disk = Disk(folder / "data", 1)
    held = [batch(offset) for offset in range(3)]
    disk.logs = {("many", number): Log([(0, held)], None, 3, 3) for number in range(700)}
    disk.write()
    return folder


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_audit_with_what_was_found(large: Path, number: signal.Signals) -> None:
    with terminal(100) as (shown, written):
        process = subprocess.Popen(
            [COMMAND, "audit", "data", "--json", "-", "--workers", "1"],
            cwd=large,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=written,
            encoding="utf-8",
        )
        os.close(written)
        read_until(shown, r"of 700 partitions")
        process.send_signal(number)
        out, _ = process.communicate(timeout=30)
    run = Run(process.returncode, out)
    assert run.code == 3
    assert run.json["reason"].startswith("interrupted; ")
    assert 0 < run.json["partitions"] < 700


def test_several_processes_find_what_one_does(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leadline.invariants.audit.cluster.ALONE_FOR", 0.0)
    monkeypatch.setattr("leadline.invariants.audit.cluster.WORTH_IT", 0.0)
    run = call("audit", "data", "--json", "-", "--workers", "2", folder=large)
    assert (run.json["partitions"], run.json["batches"], run.json["findings"]) == (700, 2100, [])
