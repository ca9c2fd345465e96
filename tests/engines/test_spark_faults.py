"""Executors and drivers are killed in the middle of a search, also on a real cluster: its figures stay exact."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import attrs
import psutil
import pytest

from leadline.checker import Spec
from leadline.checker.engines.spark import launch as distributed
from leadline.checker.engines.spark.session import Session
from leadline.checker.result import Result
from leadline.checker.settings import SparkSettings, SparkTuning
from leadline.invariants.catalog import CATALOG
from tests.specs import learning
from tests.specs.agreement import spark_answers as answers
from tests.suite.command import environment
from tests.suite.samples import EVERY, sampled

pytestmark = pytest.mark.usefixtures("all_cores")

BOUNDS = {"brokers": 2, "log_size": 2, "records": 2, "max_epoch": 2}
SIZES = SparkTuning(large=300, small=200)

DRIVER = f"""
import json, sys
from leadline.checker.engines.spark import launch as distributed
from leadline.checker.settings import SparkSettings, SparkTuning, Tuning
from leadline.invariants.catalog import CATALOG
tuning = {SIZES!r}
spec = CATALOG["atomic/kip-320"].with_bounds({BOUNDS!r}).with_properties([])
master, place = sys.argv[1:3]
conf = dict(setting.split("=", 1) for setting in sys.argv[3:])
settings = SparkSettings(master=master, work_dir=place, conf=conf, shards=4, keep_files=True, tuning=tuning)
found = distributed.explore(spec, settings=settings).statistics
print(json.dumps([found.distinct, found.generated, found.depth, {{k: v.distinct for k, v in found.actions.items()}}]))
"""

COMMAND = f"""
import attrs, sys
from leadline.checker.engines.spark import launch
from leadline.checker.settings import SparkTuning, Tuning
from leadline.reports.cli import main
search = launch.explore
def explore(spec, limits, progress, settings):
    return search(spec, limits, progress, attrs.evolve(settings, tuning={SIZES!r}))
launch.explore = explore
sys.argv[0] = "leadline"
main()
"""


def the_spec() -> Spec[Any]:
    return CATALOG["atomic/kip-320"].with_bounds(BOUNDS).with_properties([])


@functools.cache
def uninterrupted() -> Result:
    """What a search finds that nothing happens to."""
    return learning.explore(the_spec())


def figures() -> list[Any]:
    found = uninterrupted().statistics
    return [
        found.distinct,
        found.generated,
        found.depth,
        {name: count.distinct for name, count in found.actions.items()},
    ]


@contextlib.contextmanager
def process(*command: str, **changes: str) -> Iterator[subprocess.Popen[str]]:
    """A process that is ended, with all that it started, however the test ends."""
    started = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(**changes)
    )
    try:
        yield started
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            parent = psutil.Process(started.pid)
            for child in (*parent.children(recursive=True), parent):
                with contextlib.suppress(psutil.NoSuchProcess):
                    child.kill()
        started.communicate(timeout=60)


def wait_for(what: Callable[[], Any], running: subprocess.Popen[str]) -> Any:
    """Wait until something is true, while a process runs."""
    deadline = time.monotonic() + 120
    while not (found := what()):
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def levels(place: Path) -> int:
    """How many levels are written."""
    return len(list((place / "levels").glob("*/*.json")))


@pytest.mark.skipif(not EVERY, reason="EVERY=1 kills a driver, and without it a signal ends one")
def test_a_driver_is_killed_and_resumed(spark: Session, tmp_path: Path) -> None:
    place = tmp_path / "work"
    with process(sys.executable, "-c", DRIVER, "local[2]", str(place)) as driver:
        wait_for((place / "search.json").exists, driver)
        begun = levels(place)
        wait_for(lambda: levels(place) > begun + 1, driver)
        assert driver.poll() is None
        children = psutil.Process(driver.pid).children(recursive=True)
        assert any(child.name() == "java" for child in children)
        os.kill(driver.pid, signal.SIGKILL)
        driver.wait()
        assert not psutil.wait_procs(children, timeout=20)[1]
    killed_at = levels(place)
    resumed = distributed.explore(the_spec(), session=spark, settings=SparkSettings(resume=str(place), tuning=SIZES))
    assert resumed.statistics.depth > killed_at
    assert answers(resumed) == answers(uninterrupted())


QUICK_TO_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""As the engine starts Java on one machine: optimized code would take longer to make than it saves."""

CONF = (
    *("spark.executor.cores=1", "spark.executor.memory=512m", "spark.driver.host=127.0.0.1"),
    *(f"spark.{which}.extraJavaOptions={QUICK_TO_START}" for which in ("driver", "executor")),
)


@contextlib.contextmanager
def command(place: Path, master: str = "local[2]", *more: str) -> Iterator[subprocess.Popen[str]]:
    """The command, searching with a work directory."""
    bounds = ",".join(f"{name}={value}" for name, value in BOUNDS.items())
    arguments = ("explore", "atomic/kip-320", "-b", bounds, "--no-invariants", "--engine", "spark")
    where = ("--master", master, "--work-dir", str(place), *more)
    with process(sys.executable, "-c", COMMAND, *arguments, *where) as driver:
        yield driver


def wait_for_a_level(place: Path, driver: subprocess.Popen[str]) -> None:
    """Wait until Spark has searched a level."""
    wait_for((place / "search.json").exists, driver)
    begun = levels(place)
    wait_for(lambda: levels(place) > begun, driver)


def assert_it_goes_on(spark: Session, place: Path) -> None:
    """A search that is resumed from a work directory has the counts of an uninterrupted one."""
    resumed = distributed.explore(the_spec(), session=spark, settings=SparkSettings(resume=str(place), tuning=SIZES))
    assert answers(resumed) == answers(uninterrupted())


@pytest.mark.parametrize(
    ("when", "number"),
    sampled([("searching", signal.SIGTERM), ("starting", signal.SIGINT)], 2),
)
def test_a_signal_ends_in_a_partial_report(spark: Session, tmp_path: Path, when: str, number: signal.Signals) -> None:
    """Java and its Python workers end too, and no library has a word to say."""
    with command(tmp_path) as driver:
        wait_for(lambda: started("SparkSubmit", driver.pid), driver)
        if when == "searching":
            wait_for_a_level(tmp_path, driver)
        children = psutil.Process(driver.pid).children(recursive=True)
        driver.send_signal(number)
        out, err = driver.communicate(timeout=60)
    assert (driver.returncode, err) == (3, "")
    assert "incomplete: interrupted" in out.splitlines()
    assert not psutil.wait_procs(children, timeout=10)[1]
    assert_it_goes_on(spark, tmp_path)


@pytest.mark.skipif(not EVERY, reason="EVERY=1 kills the driver's Java, and without it an executor's")
def test_the_drivers_java_is_killed(spark: Session, tmp_path: Path) -> None:
    with command(tmp_path) as driver:
        wait_for_a_level(tmp_path, driver)
        (java,) = started("SparkSubmit", driver.pid)
        java.kill()
        out, err = driver.communicate(timeout=60)
    assert (driver.returncode, out) == (2, "")
    ended = "Spark failed: its Java process ended with signal 9"
    assert err == f"leadline: {ended}: continue the search with --resume {tmp_path}\n"
    assert_it_goes_on(spark, tmp_path)


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@contextlib.contextmanager
def cluster(folder: Path, hidden: Path | None = None) -> Iterator[str]:
    """A standalone cluster on this machine: a master and two workers, each in its own process.

    Parameters:
        folder: for the workers.
        hidden: a folder in whose place workers see another, an empty one, as machines without a shared disk do.
    """
    import pyspark

    from leadline.checker.engines.spark.java import java_home

    home = java_home()
    changes = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_JAVA_OPTS": QUICK_TO_START}
    changes |= {"JAVA_HOME": str(home)} if home else {}
    start, port = str(Path(pyspark.__file__).parent / "bin" / "spark-class"), free_port()
    url = f"spark://127.0.0.1:{port}"
    of_spark = "org.apache.spark.deploy"
    with contextlib.ExitStack() as stack:
        options: tuple[str, ...] = ("--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        master = stack.enter_context(process(start, f"{of_spark}.master.Master", *options, **changes))
        wait_for(lambda: not socket.socket().connect_ex(("127.0.0.1", port)), master)
        for number in range(2):
            changes["SPARK_WORKER_DIR"] = str(folder / f"worker-{number}")
            options = ("--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g", url)
            hide = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(hidden)) if hidden else ()
            stack.enter_context(process(*hide, start, f"{of_spark}.worker.Worker", *options, **changes))
        yield url


@attrs.frozen
class Cluster:
    """A running cluster.

    Attributes:
        url: the address of its master.
        hidden: a folder that its workers see empty, or None if no process may be given another view of the file system.
    """

    url: str
    hidden: Path | None


@pytest.fixture(scope="module")
def running(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One cluster for all tests that need one: to start it takes longer than a search."""
    folder = tmp_path_factory.mktemp("cluster")
    hidden = folder / "hidden" if can_hide() else None
    if hidden:
        hidden.mkdir()
    with cluster(folder, hidden) as url:
        yield Cluster(url, hidden)


def started(what: str, by: int | None = None) -> list[psutil.Process]:
    """The processes that one has started, by default this one, by a word of their command line."""
    found = []
    for child in psutil.Process(by).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if any(what in word for word in child.cmdline()) and child.name() != "bash":
                found.append(child)
    return found


def test_an_executor_of_a_cluster_is_killed(running: Cluster, tmp_path: Path) -> None:
    place = tmp_path / "work"
    with process(sys.executable, "-c", DRIVER, running.url, str(place), *CONF) as driver:
        wait_for((place / "search.json").exists, driver)
        begun = levels(place)
        wait_for(lambda: levels(place) > begun, driver)
        both = started("CoarseGrainedExecutorBackend")
        assert len(both) == 2
        both[0].kill()
        out, err = driver.communicate(timeout=120)
    assert driver.returncode == 0, err
    assert json.loads(out) == figures()
    assert levels(place) > begun + 2


def can_hide() -> bool:
    """Whether a process can be given another view of the file system."""
    done = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.skipif(not EVERY, reason="EVERY=1 hides the work directory from a cluster of this machine")
def test_a_work_directory_that_workers_do_not_see_is_one_line(running: Cluster) -> None:
    """Instead of what Spark says in pages of Java."""
    hidden = running.hidden
    if hidden is None:
        pytest.skip("no process may be given another view of the file system here")
    options = [option for setting in CONF for option in ("--conf", setting)]
    with command(hidden, running.url, *options) as driver:
        out, err = driver.communicate(timeout=240)
    assert (driver.returncode, out) == (2, ""), err
    note, last = err.splitlines()
    assert note.startswith("leadline: Spark's driver listens on 127.0.0.1 without authentication")
    assert last.startswith(
        f"leadline: {socket.gethostname()} cannot access the driver's work directory {hidden}: "
        "--work-dir must name a directory that all machines share (cannot read "
    )


@pytest.mark.parametrize("killed", sampled(["expand", "keep"], 2))
def test_a_python_worker_is_killed(spark: Session, killed: str) -> None:
    """Its caches are lost, and built again."""
    run, spec, times = Session.run, the_spec(), 0

    def run_and_kill(self: Session, task: Any, *rest: Any, **named: Any) -> Any:
        nonlocal times
        if task.__name__ == killed and times < 2:
            times += 1
            for worker in started("pyspark.daemon"):
                if worker.ppid() in {daemon.pid for daemon in started("pyspark.daemon")}:
                    worker.kill()
        return run(self, task, *rest, **named)

    with mock.patch.object(Session, "run", run_and_kill):
        found = distributed.explore(spec, session=spark, settings=SparkSettings(tuning=SIZES))
    assert times == 2
    assert answers(found) == answers(uninterrupted())
