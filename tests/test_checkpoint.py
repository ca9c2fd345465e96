"""A search that was ended goes on from its checkpoint, and ends with the same figures."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from checker import LeadlineError, Limits, compiled
from checker.compiled import checkpoint, search
from invariants.catalog import CATALOG
from tests.cli import leadline
from tests.test_compiled import answers

SPEC = CATALOG["atomic/kip-279"]
KEEP_GOING = Limits(keep_going=True)


@pytest.mark.parametrize("seed", range(8))
def test_a_search_that_is_cut_off_anywhere_goes_on(seed: int, tmp_path: Path) -> None:
    expected = answers(compiled.explore(SPEC, KEEP_GOING))
    folder = tmp_path / "saved"
    with mock.patch.multiple(search, BLOCK=50, CHECKPOINT_SECONDS=0):
        compiled.explore(SPEC, Limits(keep_going=True, max_states=100 + 61 * seed), checkpoint=folder)
        for more in range(2):
            most = 300 + 200 * more + 61 * seed
            compiled.explore(SPEC, Limits(keep_going=True, max_states=most), resume=folder)
        assert answers(compiled.explore(SPEC, KEEP_GOING, resume=folder, workers=3)) == expected
        assert answers(compiled.explore(SPEC, KEEP_GOING, resume=folder)) == expected


def test_a_search_goes_on_deeper(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    first = compiled.explore(SPEC, Limits(depth=6), checkpoint=folder)
    assert (first.reason, first.statistics.depth) == ("reached depth 6", 6)
    deeper = compiled.explore(SPEC, Limits(depth=9), resume=folder)
    assert answers(deeper) == answers(compiled.explore(SPEC, Limits(depth=9)))


def test_kill_9_in_the_middle_and_resume(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    bounds = {"brokers": 3, "log_size": 2, "records": 2}
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from checker import compiled\n"
        "from checker.compiled import search\n"
        "from invariants.catalog import CATALOG\n"
        "search.CHECKPOINT_SECONDS, search.BLOCK = 0.2, 500\n"
        f"spec = CATALOG['atomic/kip-320'].with_bounds({bounds!r}).with_properties([])\n"
        "compiled.explore(spec, checkpoint=Path(sys.argv[1]))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(folder)])
    deadline = time.monotonic() + 60
    while not (folder / "search.pickle").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    killed = process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert killed, "the search was over too soon to be killed"
    spec = CATALOG["atomic/kip-320"].with_bounds(bounds).with_properties([])
    with mock.patch.multiple(search, CHECKPOINT_SECONDS=0.2, BLOCK=500):  # which count as code
        resumed = compiled.explore(spec, resume=folder)
    assert answers(resumed) == answers(compiled.explore(spec))


def test_what_is_not_whole_does_not_count(tmp_path: Path) -> None:
    """Killed while the arrays grow: the last `search.pickle` says how many entries count."""
    folder = tmp_path / "saved"
    compiled.explore(SPEC, Limits(keep_going=True, depth=7), checkpoint=folder)
    for name in folder.glob("*.bin"):
        with name.open("ab") as file:
            file.write(b"half a sta")
    assert answers(compiled.explore(SPEC, KEEP_GOING, resume=folder)) == answers(compiled.explore(SPEC, KEEP_GOING))


def test_killed_before_the_first_checkpoint(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    checkpoint.Checkpoint(folder).begin(SPEC, KEEP_GOING)
    assert answers(compiled.explore(SPEC, KEEP_GOING, resume=folder)) == answers(compiled.explore(SPEC, KEEP_GOING))


@pytest.mark.parametrize(
    ("spec", "limits", "message"),
    [
        (CATALOG["atomic/kip-101"], Limits(), "is a checkpoint of atomic/kip-279: it cannot go on as this"),
        (SPEC.with_bounds({"max_epoch": 2}), Limits(), "other bounds, brokers=2,log_size=2,records=2,max_epoch=1"),
        (SPEC.with_properties(["weak_isr"]), Limits(), "other properties, "),
        (SPEC, Limits(keep_going=True), "a search without --keep-going"),
        (SPEC, Limits(traces=2), "a search with --traces 1"),
    ],
)
def test_a_checkpoint_of_something_else_is_refused(spec: Any, limits: Limits, message: str, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    compiled.explore(SPEC, Limits(depth=3), checkpoint=folder)
    with pytest.raises(LeadlineError, match=message):
        compiled.explore(spec, limits, resume=folder)


OWN = """
from collections.abc import Iterator
from attrs import frozen
from checker import Spec, action
from helper import STEP

@frozen
class Counter:
    value: int = 0

@action()
def count(state: Counter) -> Iterator[Counter]:
    if state.value < 9:
        yield Counter(state.value + STEP)

spec = Spec(name="count", initial_states=lambda bounds: [Counter()], actions=[count])
"""


@pytest.mark.parametrize(("name", "old", "new"), [("count.py", "< 9", "< 8"), ("helper.py", "1", "2")])
def test_a_checkpoint_of_other_code_is_refused(name: str, old: str, new: str, tmp_path: Path) -> None:
    (tmp_path / "count.py").write_text(OWN)
    (tmp_path / "helper.py").write_text("STEP = 1")
    assert leadline("explore", "count.py", "--checkpoint", "saved", folder=tmp_path).code == 0
    assert leadline("explore", "count.py", "--resume", "saved", folder=tmp_path).code == 0
    (tmp_path / name).write_text((tmp_path / name).read_text().replace(old, new))
    refused = leadline("explore", "count.py", "--resume", "saved", folder=tmp_path)
    assert "saved is a checkpoint of other code: the spec or leadline has changed since" in refused.complaint


def test_folders_that_will_not_do(tmp_path: Path) -> None:
    with pytest.raises(LeadlineError, match="holds no checkpoint to resume"):
        compiled.explore(SPEC, resume=tmp_path)
    folder = tmp_path / "saved"
    compiled.explore(SPEC, Limits(depth=3), checkpoint=folder)
    with pytest.raises(LeadlineError, match="holds a search already: go on with --resume"):
        compiled.explore(SPEC, checkpoint=folder)
    (folder / "parents.bin").write_bytes(b"")
    with pytest.raises(LeadlineError, match=r"parents.bin is damaged: it is too short"):
        compiled.explore(SPEC, resume=folder)
    (folder / "search.pickle").write_bytes(b"no pickle")
    with pytest.raises(LeadlineError, match=r"search.pickle is damaged"):
        compiled.explore(SPEC, resume=folder)
    assert json.loads((folder / "spec.json").read_text())["spec"] == "atomic/kip-279"
    (tmp_path / "file").write_text("")
    with pytest.raises(LeadlineError, match="cannot write"):
        compiled.explore(SPEC, checkpoint=tmp_path / "file" / "saved")
