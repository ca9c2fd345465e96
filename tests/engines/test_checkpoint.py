"""A stopped search continues from its checkpoint, and ends with the same counts."""

from __future__ import annotations

import contextlib
import enum
import errno
import functools
import io
import json
import logging
import os
import pickle
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import attrs
import numpy as np
import psutil
import pytest
from numpy.typing import NDArray

from leadline.checker import LeadlineError, Limits, Spec, Verdict, action
from leadline.checker.engines import oracle
from leadline.checker.engines.compiled import checkpoint, kernel, store
from leadline.checker.engines.compiled.levels import Level
from leadline.checker.engines.compiled.storage import Storage
from leadline.checker.engines.compiled.store import Store
from leadline.checker.engines.learning.packing import Packing
from leadline.checker.engines.learning.workers import Workers
from leadline.checker.settings import CompiledSettings, Tuning
from leadline.checker.support.durable import sealed, unsealed
from leadline.checker.support.locks import FolderLock
from leadline.invariants.catalog import CATALOG
from tests.specs import learning
from tests.specs.agreement import Wide, answers
from tests.suite.command import STAIRS, call, run_leadline, write
from tests.suite.samples import sampled

SPEC = CATALOG["atomic/kip-279"]
KEEP_GOING = Limits(keep_going=True)
SMALL = Tuning(block=50)


@functools.cache
def all_answers() -> Any:
    """The answers of a search of `SPEC` that nothing stops."""
    return answers(learning.explore(SPEC, KEEP_GOING))


@pytest.mark.parametrize("seed", sampled([3, 0, 7], 3))
def test_a_search_that_is_cut_off_anywhere_goes_on(seed: int, tmp_path: Path) -> None:
    expected = all_answers()
    folder = tmp_path / "saved"
    first = Limits(keep_going=True, max_states=100 + 61 * seed)
    learning.explore(SPEC, first, settings=CompiledSettings(checkpoint=folder, checkpoint_every=1e-9, tuning=SMALL))
    for more in range(2):
        most = Limits(keep_going=True, max_states=300 + 200 * more + 61 * seed)
        learning.explore(SPEC, most, settings=CompiledSettings(resume=folder, checkpoint_every=1e-9, tuning=SMALL))
    assert (
        answers(learning.explore(SPEC, KEEP_GOING, settings=CompiledSettings(resume=folder, workers=3, tuning=SMALL)))
        == expected
    )
    assert (
        answers(learning.explore(SPEC, KEEP_GOING, settings=CompiledSettings(resume=folder, tuning=SMALL))) == expected
    )


def saved_states(folder: Path) -> int:
    """How many states a checkpoint has, at least."""
    path = folder / "search.json"
    with contextlib.suppress(OSError):
        found: int = json.loads(unsealed(path.read_bytes(), path))["search"]["counters"][kernel.STATES]
        return found
    return 0


def test_a_search_goes_on_deeper(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    first = learning.explore(SPEC, Limits(depth=6), settings=CompiledSettings(checkpoint=folder))
    assert (first.reason, first.statistics.depth) == ("reached depth 6", 6)
    deeper = learning.explore(SPEC, Limits(depth=9), settings=CompiledSettings(resume=folder))
    assert answers(deeper) == answers(learning.explore(SPEC, Limits(depth=9)))


def test_kill_9_in_the_middle_and_resume(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    bounds = {"brokers": 3, "log_size": 2, "records": 2}
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from leadline.checker.engines import compiled\n"
        "from leadline.checker.settings import CompiledSettings, Tuning\n"
        "from leadline.invariants.catalog import CATALOG\n"
        f"spec = CATALOG['atomic/kip-320'].with_bounds({bounds!r}).with_properties([])\n"
        "settings = CompiledSettings(checkpoint=Path(sys.argv[1]), checkpoint_every=0.2, tuning=Tuning(block=500))\n"
        "compiled.explore(spec, settings=settings)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(folder)])
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline and not saved_states(folder) > 1:
        time.sleep(0.05)
    killed = process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert killed, "the search was over too soon to be killed"
    spec = CATALOG["atomic/kip-320"].with_bounds(bounds).with_properties([])
    resumed = learning.explore(spec, settings=CompiledSettings(resume=folder, tuning=Tuning(block=500)))
    assert answers(resumed) == answers(learning.explore(spec))


def test_what_is_not_whole_does_not_count(tmp_path: Path) -> None:
    """Killed while files are written: `search.json` says which of them count."""
    folder = tmp_path / "saved"
    learning.explore(SPEC, Limits(keep_going=True, depth=7), settings=CompiledSettings(checkpoint=folder))
    for name in folder.glob("levels/*/*/*.states"):
        with name.open("ab") as file:
            file.write(b"half a sta")
    (own,) = folder.glob("levels/*")
    (own / "0099.json").write_bytes(b"half a par")
    (folder / "search.json.1.new").write_bytes(b"half a pos")
    assert answers(learning.explore(SPEC, KEEP_GOING, settings=CompiledSettings(resume=folder))) == all_answers()


def test_killed_before_the_first_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    with checkpoint.opened(checkpoint.Checkpoint(Storage(folder)), SPEC, KEEP_GOING, is_new=True) as saved:
        assert saved is None
    assert answers(learning.explore(SPEC, KEEP_GOING, settings=CompiledSettings(resume=folder))) == all_answers()


@pytest.mark.parametrize(
    ("spec", "limits", "message"),
    [
        (
            CATALOG["atomic/kip-101"],
            Limits(),
            "contains a search of atomic/kip-279: it cannot be resumed by",
        ),
        (
            SPEC.with_bounds({"max_epoch": 2}),
            Limits(),
            "with different bounds, brokers=2,log_size=2,records=2,max_epoch=1",
        ),
        (SPEC.with_properties(["weak_isr"]), Limits(), "with different properties, "),
        (SPEC, Limits(keep_going=True), "that was run without --keep-going"),
        (SPEC, Limits(traces=2), "that was run with --traces 1"),
    ],
)
def test_a_checkpoint_of_something_else_is_refused(spec: Any, limits: Limits, message: str, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    learning.explore(SPEC, Limits(depth=3), settings=CompiledSettings(checkpoint=folder))
    with pytest.raises(LeadlineError, match=message):
        learning.explore(spec, limits, settings=CompiledSettings(resume=folder))


OWN = """
from collections.abc import Iterator
from attrs import frozen
from leadline.checker import Spec, action
from helper import STEP
import rules.most

@frozen
class Counter:
    value: int = 0

@action()
def count(state: Counter) -> Iterator[Counter]:
    if state.value < 9 and state.value < rules.most.most():
        yield Counter(state.value + STEP)

spec = Spec(name="count", initial_states=lambda bounds: [Counter()], actions=[count])
"""


def test_a_checkpoint_of_other_code_is_refused(tmp_path: Path) -> None:
    (tmp_path / "count.py").write_text(OWN)
    (tmp_path / "helper.py").write_text("STEP = 1")
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "__init__.py").write_text("")
    (tmp_path / "rules" / "most.py").write_text("def most(): return 20")
    part = run_leadline("explore", "count.py", "--checkpoint", "saved", "--max-states", "3", folder=tmp_path)
    assert (part.code, part.lines[-2:]) == (3, ["to continue this search: --resume saved", ""])
    ended = run_leadline("explore", "count.py", "--resume", "saved", folder=tmp_path)
    assert (ended.code, "--resume" in ended.out) == (0, False)
    changes = [("rules/most.py", "20", "30"), ("helper.py", "1", "2"), ("count.py", "< 9", "< 8")]
    for name, old, new in sampled(changes, 3):
        file = tmp_path / name
        before = file.read_text()
        file.write_text(before.replace(old, new))
        refused = run_leadline("explore", "count.py", "--resume", "saved", folder=tmp_path)
        assert "saved contains a search from before a change to the spec, its data or" in refused.complaint, name
        file.write_text(before)


def counting(most: int) -> Spec[Any]:
    @action()
    def count(wide: Wide) -> Iterator[Wide]:
        if wide.numbers[0] < most:
            yield Wide((wide.numbers[0] + 1,))

    return Spec(name="count", initial_states=lambda bounds: [Wide((0,))], actions=[count])


def test_what_a_function_is_closed_over_counts_as_code(tmp_path: Path) -> None:
    learning.explore(counting(5), settings=CompiledSettings(checkpoint=tmp_path / "saved"))
    assert learning.explore(counting(5), settings=CompiledSettings(resume=tmp_path / "saved")).statistics.distinct == 6
    with pytest.raises(LeadlineError, match="from before a change to the spec"):
        learning.explore(counting(50), settings=CompiledSettings(resume=tmp_path / "saved"))


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(keep_going=True, depth=3), "reached depth 3"),
        (Limits(keep_going=True, max_states=10), "reached 10 states"),
    ],
)
def test_smaller_limits_stop_a_search_that_goes_on(limits: Limits, reason: str, tmp_path: Path) -> None:
    first = learning.explore(
        SPEC, Limits(keep_going=True, depth=6), settings=CompiledSettings(checkpoint=tmp_path / "saved")
    )
    again = learning.explore(SPEC, limits, settings=CompiledSettings(resume=tmp_path / "saved"))
    assert again.verdict is Verdict.INCOMPLETE
    assert again.reason == reason
    assert again.statistics.distinct == first.statistics.distinct


def test_a_search_that_goes_on_finds_all_traces(tmp_path: Path) -> None:
    """The earlier run's tables are not saved, and its steps are needed for traces."""
    spec = CATALOG["atomic/hw-truncation"]
    learning.explore(spec, Limits(traces=4, depth=6), settings=CompiledSettings(checkpoint=tmp_path / "saved"))
    resumed = learning.explore(spec, Limits(traces=4), settings=CompiledSettings(resume=tmp_path / "saved"))
    assert answers(resumed) == answers(oracle.explore(spec, Limits(traces=4)))
    for item in resumed.properties:
        for trace in item.traces:
            assert trace.states[0] in spec.initials()
            assert all(step.after in spec.take(step.instance, step.before) for step in trace.steps)


def test_a_search_that_goes_on_finds_what_is_violated_later(tmp_path: Path) -> None:
    """Evidence from an earlier run about a state's parent is used only for the parts that the predicate read."""
    spec = CATALOG["atomic/hw-truncation"]
    expected = answers(oracle.explore(spec, KEEP_GOING))
    for depth in sampled(range(2, 9), 3):
        folder = tmp_path / str(depth)
        learning.explore(spec, Limits(keep_going=True, depth=depth), settings=CompiledSettings(checkpoint=folder))
        assert answers(learning.explore(spec, KEEP_GOING, settings=CompiledSettings(resume=folder))) == expected


@contextlib.contextmanager
def small_files(size: int) -> Iterator[Callable[[], None]]:
    """Limit the size of files, as on a full disk, until the block ends or the returned function is called."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def give_back() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield give_back
    finally:
        give_back()


class Once(logging.Handler):
    """Calls something when there is a message."""

    def __init__(self, call: Callable[[], None]) -> None:
        super().__init__()
        self.call, self.messages = call, list[str]()

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())
        self.call()


def test_a_search_goes_on_when_a_checkpoint_fails(tmp_path: Path) -> None:
    """The next checkpoint, and the last one, are whole again."""
    folder, log = tmp_path / "saved", logging.getLogger("leadline")
    expected = all_answers()
    with small_files(3072) as give_back:
        log.addHandler(once := Once(give_back))
        result = learning.explore(
            SPEC, KEEP_GOING, settings=CompiledSettings(checkpoint=folder, checkpoint_every=1e-9, tuning=SMALL)
        )
    log.removeHandler(once)
    assert answers(attrs.evolve(result, note="")) == expected
    assert result.note.startswith("a checkpoint was not saved: cannot write ")
    assert result.note.endswith(": File too large")
    assert once.messages == [result.note.replace("saved:", "saved, but the search continues:")]
    assert (
        answers(learning.explore(SPEC, KEEP_GOING, settings=CompiledSettings(resume=folder, tuning=SMALL))) == expected
    )


def test_a_result_is_not_lost_with_its_last_checkpoint(tmp_path: Path) -> None:
    """The earlier checkpoint is still valid."""
    folder, expected = tmp_path / "saved", all_answers()
    with small_files(4096):
        result = learning.explore(SPEC, KEEP_GOING, settings=CompiledSettings(checkpoint=folder))
    assert result.note.startswith("the last checkpoint was not saved: cannot write ")
    assert answers(attrs.evolve(result, note="")) == expected
    assert answers(learning.explore(SPEC, KEEP_GOING, settings=CompiledSettings(resume=folder))) == expected


def test_a_disk_that_is_full_at_the_start_is_an_error(tmp_path: Path) -> None:
    with (
        small_files(1024),
        pytest.raises(LeadlineError, match=r"cannot write .*\.states: File too large"),
    ):
        learning.explore(SPEC, KEEP_GOING, settings=CompiledSettings(checkpoint=tmp_path / "saved"))
    assert not list(tmp_path.rglob("*.new"))


def test_states_of_local_classes_are_saved(tmp_path: Path) -> None:
    @attrs.frozen
    class Local:
        number: int = 0

    @attrs.frozen
    class Holder:
        held: Local

    @action()
    def hold(state: Holder) -> Iterator[Holder]:
        if state.held.number < 5:
            yield Holder(Local(state.held.number + 1))

    spec = Spec(name="local", initial_states=lambda bounds: [Holder(Local())], actions=[hold])
    learning.explore(spec, Limits(depth=3), settings=CompiledSettings(checkpoint=tmp_path / "saved"))
    resumed = learning.explore(spec, settings=CompiledSettings(resume=tmp_path / "saved"))
    assert answers(resumed) == answers(learning.explore(spec))


class Silent:
    """Its `repr` does not show its content."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Silent) and self.number == other.number

    def __hash__(self) -> int:
        return hash(self.number)

    def __repr__(self) -> str:
        return "Silent()"


@attrs.frozen
class Holds:
    silent: Silent


def test_values_that_look_alike_are_saved(tmp_path: Path) -> None:
    @action()
    def speak(state: Holds) -> Iterator[Holds]:
        yield Holds(Silent((state.silent.number + 1) % 9))

    spec = Spec(name="silent", initial_states=lambda bounds: [Holds(Silent(0))], actions=[speak])
    learning.explore(spec, Limits(depth=5), settings=CompiledSettings(checkpoint=tmp_path / "saved"))
    resumed = learning.explore(spec, settings=CompiledSettings(resume=tmp_path / "saved"))
    assert answers(resumed) == answers(learning.explore(spec))
    assert resumed.statistics.distinct == 9


def test_values_with_the_same_hash_are_refused(tmp_path: Path) -> None:
    def number() -> Any:
        class Number(enum.Enum):
            ONE = 1

        return Number.ONE

    one, other = number(), number()  # of two classes with one name

    @action()
    def change(state: Holds) -> Iterator[Holds]:
        yield Holds(other)

    spec = Spec(name="alike", initial_states=lambda bounds: [Holds(one)], actions=[change])
    result = learning.explore(spec, settings=CompiledSettings(checkpoint=tmp_path / "saved"))
    assert result.note.endswith("cannot save <Number.ONE: 1>, because a different value has the same hash")


def test_a_search_that_saw_some_initial_states_only_is_not_saved(tmp_path: Path) -> None:
    spec = Spec(
        name="several",
        initial_states=lambda bounds: [Wide((number,)) for number in range(9)],
        actions=counting(20).actions,
    )
    folder = tmp_path / "saved"
    few = learning.explore(spec, Limits(max_states=5), settings=CompiledSettings(checkpoint=folder))
    assert few.reason == "reached 5 states"
    assert answers(learning.explore(spec, settings=CompiledSettings(resume=folder))) == answers(learning.explore(spec))


def test_folders_that_will_not_do(tmp_path: Path) -> None:
    with pytest.raises(LeadlineError, match="does not contain a search to resume"):
        learning.explore(SPEC, settings=CompiledSettings(resume=tmp_path))
    folder = tmp_path / "saved"
    learning.explore(SPEC, Limits(depth=3), settings=CompiledSettings(checkpoint=folder))
    with pytest.raises(LeadlineError, match="already contains a search: continue it with --resume"):
        learning.explore(SPEC, settings=CompiledSettings(checkpoint=folder))
    next(folder.glob("levels/*/0001/*.states")).write_bytes(b"")
    with pytest.raises(LeadlineError, match=r"\.states is damaged: it has changed since it was written"):
        learning.explore(SPEC, settings=CompiledSettings(resume=folder))
    assert json.loads((folder / "spec.json").read_text())["spec"] == "atomic/kip-279"
    (tmp_path / "file").write_text("")
    with pytest.raises(LeadlineError, match="cannot write"):
        learning.explore(SPEC, settings=CompiledSettings(checkpoint=tmp_path / "file" / "saved"))


# --- one search at a time ---


def test_a_folder_that_is_in_use_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    learning.explore(SPEC, Limits(depth=3), settings=CompiledSettings(checkpoint=folder))
    using = re.escape(f"another search (process {os.getpid()} on {socket.gethostname()}) is using {folder}: wait")
    lock = FolderLock(folder)
    with pytest.raises(LeadlineError, match=using):
        learning.explore(SPEC, settings=CompiledSettings(resume=folder))
    with pytest.raises(LeadlineError, match=using):
        learning.explore(SPEC, settings=CompiledSettings(checkpoint=folder))
    lock.release()
    assert learning.explore(SPEC, Limits(depth=3), settings=CompiledSettings(resume=folder)).reason == "reached depth 3"
    assert sorted(path.name for path in folder.iterdir()) == ["levels", "search.json", "spec.json"]


STOPPED = """
import sys
from pathlib import Path
from leadline.checker.engines import compiled
from leadline.checker.settings import CompiledSettings
from leadline.invariants.catalog import CATALOG
spec = CATALOG["atomic/kip-320"].with_bounds({"brokers": 3, "log_size": 2, "records": 2, "max_epoch": 3})
settings = CompiledSettings(checkpoint=Path(sys.argv[1]), checkpoint_every=0.2, workers=3)
compiled.explore(spec.with_properties([]), settings=settings)
"""


def test_a_process_that_is_suspended_keeps_its_folder_and_one_that_is_killed_does_not(tmp_path: Path) -> None:
    """Also while it has helpers, which inherit its open files."""
    folder = tmp_path / "saved"
    with subprocess.Popen([sys.executable, "-c", STOPPED, str(folder)]) as process:
        try:
            deadline = time.monotonic() + 60
            while not (psutil.Process(process.pid).children() and saved_states(folder) > 1):
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.05)
            process.send_signal(signal.SIGSTOP)
            with pytest.raises(LeadlineError, match=rf"another search \(process {process.pid} on "):
                FolderLock(folder)
        finally:
            process.kill()
            process.wait()
    FolderLock(folder).release()


def test_a_file_system_without_locks_is_noted(tmp_path: Path) -> None:
    with mock.patch("fcntl.flock", side_effect=OSError(errno.ENOLCK, "No locks available")):
        result = learning.explore(SPEC, Limits(depth=3), settings=CompiledSettings(checkpoint=tmp_path / "saved"))
    assert (
        result.note
        == f"{tmp_path / 'saved'} could not be locked, so another search could overwrite it: No locks available"
    )


# --- damage ---


def flipped(data: bytes, place: int, bit: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]


def damages(name: str, data: bytes, draw: random.Random) -> Iterator[bytes]:
    """Damage to a file by a disk, an incomplete copy or another process."""
    for _ in sampled(range(30), 3):
        yield flipped(data, draw.randrange(len(data)), draw.randrange(8))
    for _ in sampled(range(8), 3):
        yield data[: draw.randrange(len(data))]
    first = draw.randrange(len(data))
    yield data[:first] + bytes(min(4096, len(data) - first)) + data[first + 4096 :]  # a hole
    yield bytes(len(data))
    yield data[first:] + data[:first]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint in the middle of a search."""
    folder = tmp_path_factory.mktemp("whole") / "saved"
    learning.explore(SPEC, attrs.evolve(KEEP_GOING, depth=9), settings=CompiledSettings(checkpoint=folder))
    return folder


@pytest.mark.parametrize("name", ["spec.json", "search.json", "levels/*/0002.json", "levels/*/0002/*.states"])
def test_damage_is_refused_with_the_name_of_the_file_or_changes_nothing(name: str, whole: Path, tmp_path: Path) -> None:
    """16 damages of each file; with ``EVERY=1`` 41, 164 in all."""
    (original,) = whole.glob(name)
    expected, draw, refusals = all_answers(), random.Random(name), 0
    data = original.read_bytes()
    tried = list(damages(name, data, draw))
    for number, damaged in enumerate(tried):
        folder = tmp_path / str(number)
        shutil.copytree(whole, folder)
        (folder / original.relative_to(whole)).write_bytes(damaged)
        refusal = ""
        try:
            found = learning.explore(SPEC, KEEP_GOING, settings=CompiledSettings(resume=folder))
        except LeadlineError as error:
            refusal = str(error)
        if refusal:
            refusals += 1
            assert str(folder / original.relative_to(whole)) in refusal or f"{folder} contains a search of " in refusal
            assert "\n" not in refusal
        else:
            assert answers(found) == expected
            assert damaged == data or name == "spec.json"  # a blank in it may become another one
        shutil.rmtree(folder)
    assert refusals >= 0.8 * len(tried)


def rewritten(folder: Path, change: Callable[[dict[str, Any], dict[str, NDArray[Any]]], object]) -> None:
    """Change the position of a checkpoint and its last states, and give them matching checksums."""
    path, storage = folder / "search.json", Storage(folder)
    found = json.loads(unsealed(path.read_bytes(), path))
    ((own, number),) = found["parts"]
    ((block,),) = Level.loaded(storage, part := checkpoint.part_file(own, number)).blocks
    arrays = dict(np.load(folder / block.file))
    change(found, arrays)
    np.savez(file := io.BytesIO(), **arrays)
    (folder / block.file).write_bytes(data := file.getvalue())
    block = attrs.evolve(block, bytes=len(data), checksum=zlib.crc32(data))
    (folder / part).write_bytes(Level([0], [[block]]).dumped())
    path.write_bytes(sealed(json.dumps(found).encode()))


IMPOSSIBLE: dict[str, Callable[[dict[str, Any], dict[str, NDArray[Any]]], object]] = {
    "states that are equal": lambda saved, arrays: arrays["state"].__setitem__(400, arrays["state"][70]),
    "a hole of zeros": lambda saved, arrays: arrays["state"].__setitem__(slice(200, 300), 0),
    "a parent behind its state": lambda saved, arrays: arrays["parent"].__setitem__(400, 402),
    "parents in another order": lambda saved, arrays: arrays["parent"].__setitem__(400, 0),
    "an action that there is not": lambda saved, arrays: arrays["arrival"].__setitem__(400, 999),
    "a level that ends behind the states": lambda saved, arrays: set_progress(saved, "level_end", 10**9),
    "a position that is text": lambda saved, arrays: set_progress(saved, "next", "1"),
    "a sighting that is not a state": lambda saved, arrays: saved["search"]["progression"]["seen"][0].append(10**9),
    "fewer values than are used": lambda saved, arrays: saved["values"][0].clear(),
    "another number of slots": lambda saved, arrays: saved["values"].pop(),
    "slots that share bits": lambda saved, arrays: arrays["packing places"].__setitem__(0, arrays["packing places"][1]),
    "fewer rows than are counted": lambda saved, arrays: arrays.update(parent=arrays["parent"][:-1]),
    "a part that is left out": lambda saved, arrays: saved["parts"].clear(),
}


def set_progress(saved: dict[str, Any], name: str, value: object) -> None:
    saved["search"]["progression"][name] = value


def test_what_is_rewritten_unchanged_is_resumed(whole: Path, tmp_path: Path) -> None:
    """So the next test can fail."""
    folder = tmp_path / "saved"
    shutil.copytree(whole, folder)
    rewritten(folder, lambda saved, arrays: None)
    found = learning.explore(SPEC, attrs.evolve(KEEP_GOING, depth=9), settings=CompiledSettings(resume=folder))
    assert found.reason == "reached depth 9"


@pytest.mark.parametrize("what", sampled([*IMPOSSIBLE], 2))
def test_what_no_search_can_have_saved_is_refused_whatever_its_checksums(
    what: str, whole: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "saved"
    shutil.copytree(whole, folder)
    rewritten(folder, IMPOSSIBLE[what])
    with pytest.raises(
        LeadlineError, match=r"is damaged: |cannot be resumed because the spec or its data has changed: "
    ):
        learning.explore(SPEC, KEEP_GOING, settings=CompiledSettings(resume=folder))


def test_an_old_format_is_refused(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    shutil.copytree(whole, folder)
    written = json.loads((folder / "spec.json").read_text())
    del written["checksum"]
    (folder / "spec.json").write_text(json.dumps({**written, "format": 2}))
    with pytest.raises(
        LeadlineError, match="contains a search of a different version of leadline: it cannot be resumed by this search"
    ):
        learning.explore(SPEC, KEEP_GOING, settings=CompiledSettings(resume=folder))


@pytest.mark.parametrize("begin", [lambda kept: kept.check(1, [1000], 1), lambda kept: kept.rebuild()])
def test_control_c_is_heard_while_a_checkpoint_is_loaded(
    begin: Callable[[Store], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two slices of the states, when they are looked through and when they are entered in the table."""
    monkeypatch.setattr(store, "INTERRUPTIBLE", 100)
    kept = Store(Packing([1000]), 1, 2**20, Workers(1), 1000)
    kept.states[:1000, 0], kept.parents[:1000], kept.arrivals[:1000] = range(1000), 0, 0
    kept.counters[kernel.STATES] = 1000
    run, heard = Workers.run, 0

    def pressed(self: Workers, loop: Callable[..., Any], *rest: Any, **named: Any) -> Any:
        def interrupted(*arguments: Any) -> Any:
            nonlocal heard
            heard += 1
            signal.raise_signal(signal.SIGINT)
            return loop(*arguments)

        return run(self, interrupted, *rest, **named)

    begin(kept)
    with mock.patch.object(Workers, "run", pressed), pytest.raises(KeyboardInterrupt):
        begin(kept)
    assert heard == 1


def test_the_interval_is_an_option(tmp_path: Path) -> None:
    write(tmp_path, stairs=STAIRS)
    assert call("explore", "stairs.py", "--checkpoint", "c", "--checkpoint-every", "0.5", folder=tmp_path).code == 0
    alone = call("explore", "stairs.py", "--checkpoint-every", "5", folder=tmp_path)
    assert "--checkpoint-every requires --checkpoint or --resume" in alone.complaint


# --- other users ---


class Malice:
    """Unpickling it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("name", ["search.pickle", "search.json", "spec.json", "levels/*/0002/*.states"])
def test_no_pickle_in_a_folder_is_executed(name: str, whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    shutil.copytree(whole, folder)
    path = next(folder.glob(name), folder / name)
    path.write_bytes(sealed(pickle.dumps(Malice(tmp_path / "executed"))))
    with contextlib.suppress(LeadlineError):
        learning.explore(SPEC, KEEP_GOING, settings=CompiledSettings(resume=folder))
    assert not (tmp_path / "executed").exists()


def test_a_new_folder_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "outer" / "saved"
    learning.explore(SPEC, Limits(depth=2), settings=CompiledSettings(checkpoint=folder))
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["", "search.json", "levels", "levels/*/0002/*.states"])
def test_what_others_can_write_is_refused(name: str, whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    shutil.copytree(whole, folder)
    folder.chmod(0o755)
    path = next(folder.glob(name)) if name else folder
    path.chmod(0o777)
    with pytest.raises(LeadlineError, match=f"other users can write to {path}: if you trust its content, run chmod"):
        learning.explore(SPEC, KEEP_GOING, settings=CompiledSettings(resume=folder))
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(LeadlineError, match=f"other users can write to {shared}: if you trust its content, run chmod"):
        learning.explore(SPEC, KEEP_GOING, settings=CompiledSettings(checkpoint=shared))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("name", ["", "search.json", "levels", "levels/*/0002/*.states"])
def test_what_belongs_to_another_user_is_refused(name: str, whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    shutil.copytree(whole, folder)
    path = next(folder.glob(name)) if name else folder
    os.chown(path, 12345, 12345)
    with pytest.raises(LeadlineError, match=f"{path} belongs to a different user"):
        learning.explore(SPEC, KEEP_GOING, settings=CompiledSettings(resume=folder))
