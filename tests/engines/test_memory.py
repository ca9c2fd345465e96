"""Every limit on memory is known before it is hit: a search ends with a report that names it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from leadline.checker import Limits, Verdict
from leadline.checker.engines import memory, oracle
from leadline.checker.engines.memory import Memory, control_groups
from leadline.invariants.catalog import CATALOG
from tests.suite.command import COMMAND, environment, write
from tests.suite.samples import sampled

MIB = 2**20


def system(folder: Path, membership: str, mounts: dict[str, str], files: dict[str, str]) -> Path:
    """Files as the kernel presents them.

    Parameters:
        membership: of `/proc/self/cgroup`.
        mounts: where each hierarchy is mounted, relative to the folder: its root, type and options.
        files: of the control groups, relative to the folder.

    Returns:
        What stands for `/proc/self`.
    """
    proc = folder / "proc"
    proc.mkdir()
    (proc / "cgroup").write_text(membership)
    lines = [
        f"25 1 0:22 {what.split()[0]} {folder / place} rw shared:9 - {' '.join(what.split()[1:])}\n"
        for place, what in mounts.items()
    ]
    (proc / "mountinfo").write_text("24 1 0:21 / / rw - ext4 /dev/root rw,memory\n" + "".join(lines))
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return proc


def limits(proc: Path) -> list[tuple[str, int]]:
    """The limit and the use of each control group that has a limit."""
    return [(ceiling.reached.removeprefix("memory came close to "), ceiling.used()) for ceiling in control_groups(proc)]


UNIFIED = {"sys": "/ cgroup2 cgroup2 rw,nsdelegate"}


def test_a_nested_group_of_version_2_and_those_around_it(tmp_path: Path) -> None:
    """As systemd's MemoryMax= and Slurm set them. Files that were read lately are not counted, others are."""
    proc = system(tmp_path, "0::/user.slice/job.scope\n", UNIFIED, {
        "sys/user.slice/job.scope/memory.max": "419430400\n",
        "sys/user.slice/job.scope/memory.high": "max\n",
        "sys/user.slice/job.scope/memory.current": str(300 * MIB),
        "sys/user.slice/job.scope/memory.stat": f"anon 7\ninactive_file {250 * MIB}\nactive_file 9\n",
        "sys/user.slice/memory.max": "max\n",
        "sys/user.slice/memory.high": str(1024 * MIB),
        "sys/user.slice/memory.current": str(500 * MIB),
        "sys/user.slice/memory.stat": "anon 7\n",
    })  # fmt: skip
    assert limits(proc) == [
        ("the control group's limit of 400.0 MiB", 50 * MIB),
        ("the control group's limit of 1.0 GiB", 500 * MIB),
    ]


def test_a_container_sees_its_own_part_of_version_2_only(tmp_path: Path) -> None:
    """With and without its own namespace."""
    files = {"sys/memory.max": str(400 * MIB), "sys/memory.current": str(100 * MIB), "sys/memory.stat": ""}
    for number, membership in enumerate(["0::/\n", "0::/docker/abc\n", "0::/../../elsewhere\n"]):
        folder = tmp_path / str(number)
        folder.mkdir()
        mounts = {"sys": "/docker/abc cgroup2 cgroup2 rw"} if "docker" in membership else UNIFIED
        proc = system(folder, membership, mounts, files)
        assert limits(proc) == [("the control group's limit of 400.0 MiB", 100 * MIB)]


@pytest.mark.parametrize("membership", ["4:memory:/docker/abc\n0::/\n", "9:cpu:/\n4:cpuset,memory:/docker/abc\n0::/\n"])
@pytest.mark.parametrize("root", ["/", "/docker/abc"])
def test_a_group_of_version_1(membership: str, root: str, tmp_path: Path) -> None:
    """The unified hierarchy beside it has no memory controller, and the group around has no limit."""
    inside = "sys/memory/docker/abc" if root == "/" else "sys/memory"
    mounts = {"sys/memory": f"{root} cgroup cgroup rw,memory", "sys/unified": "/ cgroup2 cgroup2 rw"}
    proc = system(tmp_path, membership, mounts, {
        f"{inside}/memory.limit_in_bytes": str(400 * MIB),
        f"{inside}/memory.usage_in_bytes": str(300 * MIB),
        f"{inside}/memory.stat": f"inactive_file 5\ntotal_inactive_file {100 * MIB}\n",
        "sys/memory/docker/memory.limit_in_bytes": str(2**63 - 4096),
    })  # fmt: skip
    assert limits(proc) == [("the control group's limit of 400.0 MiB", 200 * MIB)]


def test_a_system_without_control_groups(tmp_path: Path) -> None:
    assert limits(tmp_path / "nothing") == []
    assert limits(system(tmp_path, "", {}, {})) == []


def test_the_scarcest_limit_is_the_one_that_counts(tmp_path: Path) -> None:
    used = 380 * MIB
    proc = system(tmp_path, "0::/\n", UNIFIED, {
        "sys/memory.max": str(400 * MIB), "sys/memory.current": str(used), "sys/memory.stat": "",
    })  # fmt: skip
    found = Memory(None, proc=proc)
    assert found.scarcest.reached == "memory came close to the control group's limit of 400.0 MiB"
    assert found.exceeded() == found.scarcest.reached  # less than the reserve is left
    (tmp_path / "sys/memory.current").write_text(str(200 * MIB))
    assert found.exceeded() is None
    assert found.exceeded(168 * MIB) is None
    assert found.exceeded(168 * MIB + 1) == found.scarcest.reached
    assert Memory(10, proc=proc).exceeded() == "reached 10 bytes of memory"


FORKED = """
import os
import signal
from leadline.checker.engines.memory import Memory

shared = bytearray(os.urandom(2**26))
reading, writing = os.pipe()
if not (child := os.fork()):
    shared[: 2**25] = bytes(2**25)
    os.write(writing, b"x")
    signal.pause()
os.read(reading, 1)
alone, both = Memory(None).ceilings[0].used(), Memory(None, lambda: [child]).ceilings[0].used()
os.kill(child, 9)
print(both - alone)
"""


def test_helpers_count_and_what_they_share_counts_once() -> None:
    """A process that was forked and has written to half of what it shares.

    The parent is a small process of its own: a fork of this one would also copy what its collector touches.
    """
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60, check=True)
    assert 2**25 * 0.99 < int(done.stdout) < 2**25 * 1.3


# --- for real ---

GROWING = """
import time
from collections.abc import Iterator
from attrs import frozen
from leadline.checker import Spec, action, component

@frozen
class Row:
    numbers: tuple[int, ...] = component()

@action(place=range(6))
def up(state: Row, place: int) -> Iterator[Row]:
    if state.numbers[place] < 40:
        yield Row((*state.numbers[:place], state.numbers[place] + 1, *state.numbers[place + 1 :]))

@action()
def hoard(state: Row) -> Iterator[Row]:
    if sum(state.numbers) == 3:
        kept = []
        while True:
            kept.append(bytes(1000))
    yield from ()

spec = Spec(name="growing", initial_states=lambda bounds: [Row((0,) * 6)], actions=[up])
hoarding = Spec(name="hoarding", initial_states=lambda bounds: [Row((0,) * 6)], actions=[up, hoard])
"""


@contextlib.contextmanager
def group(limit: int) -> Iterator[Path]:
    """A control group with a limit. Skips the test where none can be made."""
    name = f"leadline-test-{os.getpid()}"
    for place, file in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        made = Path(place) / name
        try:
            made.mkdir()
        except OSError:
            continue
        try:
            if not (made / file).exists():
                continue
            (made / file).write_text(str(limit))
            yield made
            return
        finally:
            time.sleep(0.1)
            made.rmdir()
    pytest.skip("no control group can be made here: control groups are tested with files that stand for them only")


def in_group(made: Path, *arguments: str, folder: Path) -> tuple[int, str]:
    """Run the command in a control group."""
    enter = f'echo $$ > {made}/cgroup.procs && exec "$@"'
    command = ["sh", "-c", enter, "sh", COMMAND, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments",
    sampled(
        [("explore", "growing.py:spec", "--workers", "2"), ("explore", "growing.py:hoarding", "--engine", "oracle")], 2
    ),
)
def test_a_container_of_400_mb_ends_with_a_report(arguments: tuple[str, ...], tmp_path: Path) -> None:
    # 50 MB a second: what grows faster than a busy machine looks is the system's to end. Zeros would not do:
    # a page of zeros takes no memory until it is touched.
    slowly = GROWING.replace("kept.append(bytes(1000))", 'kept.append(b"x" * 1_000_000); time.sleep(0.02)')
    write(tmp_path, growing=slowly)
    with group(400 * MIB) as made:
        code, shown = in_group(made, *arguments, folder=tmp_path)
    assert code == 3, shown
    assert "incomplete: memory came close to the control group's limit of 400.0 MiB" in shown
    assert "distinct state" in shown


@pytest.mark.parametrize(("kind", "what"), sampled([("v", "address-space"), ("d", "data-segment")], 2))
def test_ulimit_ends_a_search_with_a_report(kind: str, what: str, tmp_path: Path) -> None:
    write(tmp_path, growing=GROWING)
    script = f'ulimit -{kind} 1500000 && exec "$@"'
    command = ["sh", "-c", script, "sh", COMMAND, "explore", "growing.py:hoarding", "--workers", "1"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 3, done
    assert f"incomplete: memory came close to the {what} limit of 1.4 GiB" in done.stdout


def test_the_oracle_keeps_to_its_limit() -> None:
    result = oracle.explore(CATALOG["atomic/kip-101"], Limits(max_memory=10))
    assert (result.verdict, result.reason) == (Verdict.INCOMPLETE, "reached 10 bytes of memory")


def test_memory_is_looked_at_cheaply() -> None:
    """Ten times a second, by the thread that watches."""
    found = Memory(None)
    began = time.perf_counter()
    for _ in range(100):
        found.exceeded()
    assert time.perf_counter() - began < 1, "a look at the limits takes 10 ms and more"
    assert memory.used() > 0
    assert sys.platform != "linux" or found.ceilings
