"""A process that is asked to end does so with a report, however it is asked; and no spec ends it by itself."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from leadline.brokers.releases import broker_release
from leadline.reports.cli.app import COMMANDS
from tests.brokers import fake_java
from tests.disks.data_directories import Disk, Log, batch
from tests.suite.command import COMMAND, STAIRS, environment, interrupted, run_leadline, write
from tests.suite.samples import EVERY

SLOW = """
import os, time
from collections.abc import Iterator
from attrs import frozen
from leadline.checker import Spec, action

@frozen
class Clock:
    hour: int = 0

@action()
def tick(state: Clock) -> Iterator[Clock]:
    if state.hour == 3:
        open("begun", "w").close()
        time.sleep(60)
    yield Clock(state.hour + 1)

spec = Spec(name="slow", initial_states=lambda bounds: [Clock()], actions=[tick])
"""


WATCHED = SLOW.replace("Spec, action", "Spec, action, invariant").replace(
    "actions=[tick])", "actions=[tick], properties=[early])"
)
EARLY = '@invariant("it is early")\ndef early(state: Clock) -> bool:\n    return state.hour < 9\n\n'
WATCHED = WATCHED.replace("spec =", f"{EARLY}spec =")
"""The same with a property, which a hunt needs."""


@pytest.fixture(autouse=True)
def hangups_are_heard() -> Iterator[None]:
    """Also where tests run with SIGHUP ignored, as with nohup: the commands would inherit that."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path, slow=SLOW, watched=WATCHED)


def started(*arguments: str, folder: Path, before: str = "") -> subprocess.Popen[str]:
    """The command, once its spec is in the middle of a call."""
    process = subprocess.Popen(
        ["sh", "-c", f'{before}exec "$@"', "sh", COMMAND, *arguments],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 240  # loops may have to be compiled first
    while not (folder / "begun").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_ends_a_search_with_a_report_and_a_last_checkpoint(number: signal.Signals, folder: Path) -> None:
    process = started("explore", "slow.py", "--checkpoint", "saved", "--json", "result.json", folder=folder)
    process.send_signal(number)
    process.send_signal(signal.SIGHUP)  # a shell and a terminal both may
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (3, "")
    assert "incomplete: interrupted" in out.splitlines()
    assert (folder / "result.json").exists()
    if number != signal.SIGTERM:
        return
    again = run_leadline("explore", "slow.py", "--resume", "saved", "--depth", "4", folder=folder)
    assert (again.code, "4 distinct states" in again.out) == (3, True)


@pytest.mark.parametrize("engine", ["oracle", "fuzz"])
def test_the_other_engines_report_too(engine: str, folder: Path) -> None:
    command = ("fuzz", "slow.py") if engine == "fuzz" else ("explore", "slow.py", "--engine", engine)
    process = started(*command, folder=folder)
    process.terminate()
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (3, "")
    assert "incomplete: interrupted" in out.splitlines()


SUITE = '[[check]]\nspec = "slow.py"\nexpect = "holds"\n'

MATRIX = """
specs = ["fast.py", "slow.py"]
properties = []
[[configurations]]
name = "plain"
bounds = {}
[[configurations]]
name = "again"
bounds = {}
"""

LONG = {
    "check": ["check", "suite.toml"],
    "conform": ["conform", "recording.jsonl"],
    "diff": ["diff", "slow.py", "slow.py"],
    "explore": ["explore", "slow.py"],
    "fuzz": ["fuzz", "slow.py"],
    "hunt": ["hunt", "watched.py"],
    "matrix": ["matrix", "matrix.toml"],
    "mutate": ["mutate", "slow.py"],
    "replay": ["replay", "ends.itf.json", "--spec", "loads.py"],
    "serve": ["serve", "loads.py"],
    "specs": ["specs", "loads.py"],
    "show": ["show", "slow.py"],
}
"""A run of a command that is in the middle of something long when the file `begun` is there."""

OPTIONS = {
    "advise": ["--from", "2.8", "--to", "3.0", "--config", "broker.properties"],
    "audit": ["disk", "--workers", "1"],
    "reproduce": ["KAFKA-6361", "--release", "1.1.1"],  # this counterexample is not kept
}
"""The arguments of commands that take no spec."""

SHOWN = {"advise": r"kafka/", "audit": r"of 700 partitions", "bugs": r"search [2-9] of", "reproduce": r"kafka/"}
"""What commands that take no spec show on a terminal when they are in the middle of something long."""


def write_nothing(folder: Path) -> None:
    """Open a pipe, so that its reader waits for the first line."""
    with (folder / "recording.jsonl").open("w"):
        (folder / "begun").touch()
        time.sleep(60)


SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
ENDING = [command for command in COMMANDS if command != "record"]


@pytest.mark.parametrize(
    ("command", "number"),
    [
        pytest.param(command, number, id=f"{command}-{number.name}")
        for place, command in enumerate(ENDING)
        if EVERY or place % 2 == 0 or command in SHOWN
        for number in (SIGNALS if EVERY else SIGNALS[place % 3 :][:1])
    ],
)
def test_every_command_ends_on_one_signal(
    command: str, number: signal.Signals, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Except `record`, which waits for a signal to complete its recording. All signals are handled alike, and so are
    they in all commands that load a spec, of which every second is tried without ``EVERY=1``.
    """
    java = fake_java.install(folder, broker_release("4.1.1"), hangs=folder / "begun")
    for name in ("JAVA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, java[name])
    write(folder, loads="open('begun', 'w').close()\nimport time\ntime.sleep(60)\n", fast=STAIRS)
    (folder / "suite.toml").write_text(SUITE)
    (folder / "matrix.toml").write_text(MATRIX)
    (folder / "ends.itf.json").write_text('{"vars": ["a"], "states": [{"a": 1}]}')
    if command in SHOWN:
        disk = Disk(folder / "disk", 1)
        disk.logs = {("many", index): Log([(0, [batch(0)])], None, 1, 1) for index in range(700)}
        disk.write()
        (folder / "broker.properties").write_text("zookeeper.connect=host\nmin.insync.replicas=2\n")
        run = interrupted(command, *OPTIONS.get(command, ()), folder=folder, when=SHOWN[command], number=number)
        assert run.code == 3, run
        return
    if command == "conform":
        os.mkfifo(folder / "recording.jsonl")
        threading.Thread(target=write_nothing, args=[folder], daemon=True).start()
    process = started(*LONG[command], folder=folder)
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 3, (out, err)
    assert "Traceback" not in err


def test_an_interrupted_matrix_shows_what_was_searched(folder: Path) -> None:
    write(folder, fast=STAIRS)
    (folder / "matrix.toml").write_text(MATRIX)
    process = started("matrix", "matrix.toml", "--html", "page.html", folder=folder)
    process.terminate()
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (3, "leadline: interrupted after 1 of 4 searches\n")
    assert re.search(r"^fast\.py:spec +3$", out, re.MULTILINE), out
    assert "plain" in out
    assert "again" not in out
    assert "interrupted" in (folder / "page.html").read_text()


def test_a_signal_that_is_ignored_stays_so(folder: Path) -> None:
    """As under nohup."""
    process = started("explore", "slow.py", folder=folder, before="trap '' HUP; ")
    process.send_signal(signal.SIGHUP)
    time.sleep(0.3)
    assert process.poll() is None
    process.terminate()
    assert process.communicate(timeout=60)[0]
    assert process.returncode == 3


LEARNING = """
from collections.abc import Iterator
from attrs import frozen
from leadline.checker import Spec, action

@frozen
class Number:
    value: int = 1

@action(factor=range(40))
def grow(state: Number, factor: int) -> Iterator[Number]:
    yield Number(state.value * 40 + factor)

spec = Spec(name="learning", initial_states=lambda bounds: [Number()], actions=[grow])
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_to_all_processes_of_a_search_leaves_none(number: signal.Signals, tmp_path: Path) -> None:
    """As from a terminal that is closed, or from Slurm."""
    write(tmp_path, learning=LEARNING)
    process = subprocess.Popen(
        [COMMAND, "explore", "learning.py", "--workers", "3", "--checkpoint", "saved"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline, helpers = time.monotonic() + 60, list[psutil.Process]()
    while not (helpers := psutil.Process(process.pid).children()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (3, "")
    assert "incomplete: interrupted" in out.splitlines()
    assert not psutil.wait_procs(helpers, timeout=10)[1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_signal_in_the_first_moments_is_one_line(number: signal.Signals, tmp_path: Path) -> None:
    """From the moment on at which Python has begun to load us; until then, it is Python's."""
    code = (
        "import os, signal, sys\n"
        "from leadline.reports.cli import main\n"
        f"load, number = __import__, {int(number)}\n"
        "def sent(name, *rest, **named):\n"
        "    if name == 'click':\n"
        "        signal.raise_signal(number)\n"
        "    return load(name, *rest, **named)\n"
        "import builtins\n"
        "builtins.__import__ = sent\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "leadline: interrupted\n")


# --- a spec that ends its process ---


@pytest.mark.parametrize("engine", ["compiled", "oracle", "fuzz"])
def test_a_spec_that_ends_its_process_is_an_error(engine: str, tmp_path: Path) -> None:
    body = "    if state.height < state.top:\n"
    write(tmp_path, stairs=STAIRS.replace(body, f"    import os\n    os._exit(0)\n{body}", 1))
    command = ("fuzz", "stairs.py") if engine == "fuzz" else ("explore", "stairs.py", "--engine", engine)
    complaint = run_leadline(*command, folder=tmp_path).complaint
    assert "action up(foot=left) must not exit, but raised SystemExit: os._exit(0)" in complaint


def test_a_file_that_ends_its_process_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, it="import os\nos._exit(0)\n")
    assert run_leadline("explore", "it.py", folder=tmp_path).complaint.startswith(
        "cannot load it.py, line 2: SystemExit"
    )


def test_a_thread_that_a_spec_has_started_does_not_keep_the_process(tmp_path: Path) -> None:
    write(tmp_path, stairs=f"import threading, time\nthreading.Thread(target=time.sleep, args=[600]).start()\n{STAIRS}")
    run = run_leadline("explore", "stairs.py", "-i", "on_stairs", "--json", "result.json", folder=tmp_path)
    assert (run.code, run.err) == (0, "")
    assert "on_stairs" in run.out
