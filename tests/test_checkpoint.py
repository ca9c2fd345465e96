"""A search that was ended goes on from its checkpoint, and ends with the same figures."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from checker import LeadlineError, Limits, Spec, Verdict, action, compiled, oracle
from checker.compiled import checkpoint, search
from invariants.catalog import CATALOG
from tests.cli import leadline
from tests.test_compiled import Wide, answers

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


@pytest.mark.parametrize(
    ("name", "old", "new"), [("count.py", "< 9", "< 8"), ("helper.py", "1", "2"), ("rules/most.py", "20", "30")]
)
def test_a_checkpoint_of_other_code_is_refused(name: str, old: str, new: str, tmp_path: Path) -> None:
    (tmp_path / "count.py").write_text(OWN)
    (tmp_path / "helper.py").write_text("STEP = 1")
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "__init__.py").write_text("")
    (tmp_path / "rules" / "most.py").write_text("def most(): return 20")
    assert leadline("explore", "count.py", "--checkpoint", "saved", folder=tmp_path).code == 0
    assert leadline("explore", "count.py", "--resume", "saved", folder=tmp_path).code == 0
    (tmp_path / name).write_text((tmp_path / name).read_text().replace(old, new))
    refused = leadline("explore", "count.py", "--resume", "saved", folder=tmp_path)
    assert "saved is a checkpoint of other code: the spec or leadline has changed since" in refused.complaint


def counting(most: int) -> Spec[Any]:
    @action()
    def count(wide: Wide) -> Iterator[Wide]:
        if wide.numbers[0] < most:
            yield Wide((wide.numbers[0] + 1,))

    return Spec(name="count", initial_states=lambda bounds: [Wide((0,))], actions=[count])


def test_what_a_function_is_closed_over_counts_as_code(tmp_path: Path) -> None:
    compiled.explore(counting(5), checkpoint=tmp_path / "saved")
    assert compiled.explore(counting(5), resume=tmp_path / "saved").statistics.distinct == 6
    with pytest.raises(LeadlineError, match="other code"):
        compiled.explore(counting(50), resume=tmp_path / "saved")


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(keep_going=True, depth=3), "reached depth 3"),
        (Limits(keep_going=True, max_states=10), "reached 10 states"),
    ],
)
def test_smaller_limits_stop_a_search_that_goes_on(limits: Limits, reason: str, tmp_path: Path) -> None:
    first = compiled.explore(SPEC, Limits(keep_going=True, depth=6), checkpoint=tmp_path / "saved")
    again = compiled.explore(SPEC, limits, resume=tmp_path / "saved")
    assert again.verdict is Verdict.INCOMPLETE
    assert again.reason == reason
    assert again.statistics.distinct == first.statistics.distinct


def test_a_search_that_goes_on_finds_all_traces(tmp_path: Path) -> None:
    """The earlier run's tables are not saved, and its steps are needed for traces."""
    spec = CATALOG["atomic/hw-truncation"]
    compiled.explore(spec, Limits(traces=4, depth=6), checkpoint=tmp_path / "saved")
    resumed = compiled.explore(spec, Limits(traces=4), resume=tmp_path / "saved")
    assert answers(resumed) == answers(oracle.explore(spec, Limits(traces=4)))
    for item in resumed.properties:
        for trace in item.traces:
            assert trace.states[0] in spec.initials()
            assert all(step.after in spec.take(step.instance, step.before) for step in trace.steps)


def test_a_search_that_goes_on_finds_what_is_violated_later(tmp_path: Path) -> None:
    """What an earlier run saw of a state's parent counts only for what the predicate read there."""
    spec = CATALOG["atomic/hw-truncation"]
    expected = answers(oracle.explore(spec, KEEP_GOING))
    for depth in range(2, 9):
        folder = tmp_path / str(depth)
        compiled.explore(spec, Limits(keep_going=True, depth=depth), checkpoint=folder)
        assert answers(compiled.explore(spec, KEEP_GOING, resume=folder)) == expected


def test_a_result_is_not_lost_with_its_last_checkpoint(tmp_path: Path) -> None:
    with mock.patch.object(checkpoint.Checkpoint, "save", side_effect=LeadlineError("the disk is full")):
        result = compiled.explore(SPEC, KEEP_GOING, checkpoint=tmp_path / "saved")
    assert result.note == "the last checkpoint was not saved: the disk is full"
    assert answers(result) == answers(compiled.explore(SPEC, KEEP_GOING))


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
