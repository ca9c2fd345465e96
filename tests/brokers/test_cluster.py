"""A cluster owns its processes. The Java here is not real: see `fake_java`."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

import psutil
import pytest

from leadline.brokers.class_data import can_archive, class_archive
from leadline.brokers.cluster import Cluster, nodes_of
from leadline.brokers.errors import BrokerError
from leadline.brokers.java import java_for
from leadline.brokers.ports import Ports, free_ports
from leadline.brokers.processes import OwnedProcess
from leadline.brokers.releases import BrokerRelease, broker_release
from tests.brokers.fake_java import install

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="real brokers run on Linux only")

KRAFT, ZOOKEEPER = broker_release("4.1.1"), broker_release("2.8.0")


@pytest.fixture(autouse=True)
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The Java and the jars of this file, and no others."""
    variables = {**install(tmp_path, KRAFT), **install(tmp_path, ZOOKEEPER)}
    with mock.patch.dict(os.environ, variables):
        yield variables


def cluster(folder: Path, release: BrokerRelease = KRAFT, brokers: int = 2, **more: Any) -> Cluster:
    """A cluster of few brokers, without proxies."""
    ports = more.pop("ports", None) or Ports.without_proxy(nodes_of(release, brokers))
    return Cluster(release, folder / "cluster", brokers=brokers, ports=ports, **more)


def wait_for(condition: Any, seconds: float = 20) -> bool:
    """Whether a condition becomes true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def gone(pid: int) -> bool:
    """Whether a process has ended, though perhaps nobody asked for its exit code."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize("release", [KRAFT, ZOOKEEPER], ids=lambda release: release.name)
def test_all_processes_start_and_end_with_the_block(tmp_path: Path, release: BrokerRelease) -> None:
    with cluster(tmp_path, release) as running:
        running.start()
        pids = running.pids()
        assert set(pids.values()) == {"controller" if release.kraft else "zookeeper", 0, 1}
        assert all("launcher" not in " ".join(psutil.Process(pid).cmdline()) for pid in pids)
        assert "started" in running.log_file(0).read_text() or not release.kraft
    assert all(map(gone, pids))
    assert running.pids() == {}


def test_a_broker_is_killed_and_started_again_on_the_same_port(tmp_path: Path) -> None:
    with cluster(tmp_path) as running:
        running.start()
        first, log = running.pid(1), running.log_file(1)
        running.kill(1)
        assert running.pid(1) is None
        assert running.pid(0) is not None
        running.start_broker(1)
        assert running.pid(1) not in (None, first)
        assert running.log_file(1) != log
        assert running.data_directory(1).is_dir()


def test_a_paused_broker_does_not_run_and_can_be_killed(tmp_path: Path) -> None:
    with cluster(tmp_path) as running:
        running.start([0, 1])
        pid = running.pid(0)
        assert pid is not None
        running.pause(0)
        assert psutil.Process(pid).status() == psutil.STATUS_STOPPED
        running.resume(0)
        assert wait_for(lambda: psutil.Process(pid).status() != psutil.STATUS_STOPPED)
        running.pause(0)
        running.kill(0)
        assert gone(pid)


def test_processes_outlive_the_thread_that_started_them(tmp_path: Path) -> None:
    with cluster(tmp_path) as running:
        thread = threading.Thread(target=running.start)
        thread.start()
        thread.join()
        time.sleep(0.2)
        assert len(running.pids()) == 3


_PROGRAM = """
import sys, time
from pathlib import Path
from leadline.brokers.class_data import can_archive, class_archive
from leadline.brokers.cluster import Cluster, nodes_of
from leadline.brokers.java import java_for
from leadline.brokers.ports import Ports
from leadline.brokers.releases import broker_release
release = broker_release("4.1.1")
with Cluster(release, Path(sys.argv[1]), brokers=2, ports=Ports.without_proxy(nodes_of(release, 2))) as cluster:
    cluster.start()
    print(*cluster.pids(), flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda sent: sent.name)
def test_no_process_is_left_when_the_parent_ends(tmp_path: Path, environment: dict[str, str], sent: int) -> None:
    command = [sys.executable, "-c", _PROGRAM, str(tmp_path / "cluster")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, **environment}, text=True
    ) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 3
        parent.send_signal(sent)
    assert wait_for(lambda: all(map(gone, pids)))


def test_an_archive_of_classes_is_used_by_later_starts(tmp_path: Path) -> None:
    java = java_for(KRAFT)
    assert not can_archive(java)
    own = tmp_path / "java-home" / "lib" / "server" / "classes.jsa"
    own.parent.mkdir(parents=True)
    own.touch()
    assert can_archive(java)
    with cluster(tmp_path) as running:
        running.start([0])
        running.archive_classes(0)
        assert class_archive(KRAFT, java).read_text() == "archive"
        assert running.pid(0) is None
        running.start_broker(0)
        (pid,) = running.pids()
        assert f"-XX:SharedArchiveFile={class_archive(KRAFT, java)}" in psutil.Process(pid).cmdline()


def test_a_busy_port_is_named_with_the_process_that_uses_it(tmp_path: Path) -> None:
    ports = Ports.without_proxy(nodes_of(KRAFT, 2))
    with (
        closing(socket.create_server(("127.0.0.1", ports.real[1]))),
        cluster(tmp_path, ports=ports) as running,
        pytest.raises(BrokerError, match=rf"broker 1 .* port {ports.real[1]} .* in use by process {os.getpid()}"),
    ):
        running.start()


def test_a_process_that_ends_just_after_it_was_asked_has_ended(tmp_path: Path) -> None:
    process = OwnedProcess("it", ["/bin/true"], tmp_path / "log", tmp_path)
    asked = 0

    def has_ended() -> bool:
        nonlocal asked
        asked += 1
        if asked == 1:  # it is running when it is asked, and ends before the answer is used
            assert process._process.wait(30) == 0
            return False
        return process.status == 0

    process.wait(has_ended, 30.0)
    assert asked == 2


def test_a_broker_that_does_not_come_up_says_why(tmp_path: Path) -> None:
    fail = "java.lang.RuntimeException: Log directory /data is in use"
    with cluster(tmp_path, per_broker={1: {"fail": fail}}) as running:
        with pytest.raises(BrokerError) as caught:
            running.start()
        pids = running.pids()
    text = str(caught.value)
    assert text.startswith("broker 1 of Kafka 4.1.1 ended before it was ready (exit code 1): ")
    assert fail in text
    assert "\n" not in text
    assert all(map(gone, pids))


def test_a_broker_that_says_nothing_is_given_up(tmp_path: Path) -> None:
    with (
        mock.patch("leadline.brokers.cluster.START_SECONDS", 1),
        mock.patch("leadline.brokers.cluster.timeout_scale", return_value=1.0),
        cluster(tmp_path, per_broker={1: {"silent": "true"}}) as running,
        pytest.raises(BrokerError, match=r"broker 1 of Kafka 4\.1\.1 was not ready after 1 seconds: .*unfenced"),
    ):
        running.start([1])


def test_what_only_a_stopped_broker_allows_is_refused(tmp_path: Path) -> None:
    with cluster(tmp_path) as running:
        running.start([0])
        with pytest.raises(BrokerError, match="broker 0 is running: kill it before truncating its log"):
            running.cut_log(0, "topic", 0, 0)
        with pytest.raises(BrokerError, match="broker 0 is already running"):
            running.start_broker(0)
        with pytest.raises(BrokerError, match="broker 1 has not been started"):
            running.kill(1)


def test_other_systems_and_impossible_folders_are_refused(tmp_path: Path) -> None:
    ports = Ports.without_proxy(nodes_of(KRAFT, 1))
    with pytest.raises(BrokerError, match="a,b must not contain a comma"):
        Cluster(KRAFT, tmp_path / "a,b", brokers=1, ports=ports)
    with mock.patch("sys.platform", "darwin"), pytest.raises(BrokerError, match="only on Linux, not on darwin"):
        Cluster(KRAFT, tmp_path, brokers=1, ports=ports)


def test_a_metadata_log_is_read_of_kraft_only(tmp_path: Path) -> None:
    with pytest.raises(BrokerError, match=r"Kafka 2\.8\.0 has no metadata log"):
        cluster(tmp_path, ZOOKEEPER).controller_metadata()


def test_ports_are_free_different_and_not_given_to_outgoing_connections() -> None:
    ports = free_ports(["controller", *range(20)])
    assert len(set(ports.values())) == 21
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        assert max(ports.values()) < int(file.read().split()[0])
