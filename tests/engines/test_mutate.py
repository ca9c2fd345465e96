"""`leadline mutate`: the changes, the fates of mutants, and the report."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import attrs
import psutil
import pytest

from leadline.checker import invariant
from leadline.checker.mutation.changes import mutations_of
from leadline.checker.mutation.run import Fate, Outcome, Way, judged, originals
from leadline.checker.support.durable import replace_file
from leadline.reports.loading import load_spec
from leadline.reports.mutation import is_open, why_it_stays
from tests.suite.command import COMMAND, call, environment

TANK = """
from collections.abc import Iterator

from attrs import evolve, frozen

from leadline.checker import Spec, action, invariant, witness

DOUBLE = lambda level: 2 * level


@frozen
class Tank:
    level: int = 0
    valve: bool = False

    def room(self) -> int:
        return 3 - self.level


def gate(function):
    def gated(state: Tank) -> Iterator[Tank]:
        if not state.valve:
            yield from function(state)

    return gated


@action("the tank is filled")
@gate
def fill(state: Tank) -> Iterator[Tank]:
    if state.room() > 0:
        yield evolve(state, level=state.level + 1, valve=DOUBLE(state.level) > 3)


@action("the tank is emptied")
def drain(state: Tank) -> Iterator[Tank]:
    wanted = 0
    while wanted < 0:
        wanted = 0
    if state.valve:
        yield evolve(state, level=wanted, valve=False)


@invariant("the tank does not overflow")
def no_overflow(state: Tank) -> bool:
    return state.level <= 3


@witness("the tank is full")
def full(state: Tank) -> bool:
    return state.level == 3


spec = Spec(name="tank", initial_states=lambda _: [Tank()], actions=[fill, drain], properties=[no_overflow, full])
"""
GATED = "tank.py gate.gated: yield from function(state) => yield from ()"
FATES = {
    "action gated skipped": "killed",
    "action drain skipped": "survived",
    "tank.py Tank.room: 3 - self.level => 3 + self.level": "equivalent",
    "tank.py fill: 1 => 2": "killed",
    GATED: "not mutated",
    "tank.py fill: state.room() > 0 => True": "equivalent",
    "tank.py fill: evolve(state, level=state.level + 1, valve=DOUBLE(state.level) > 3) => "
    "evolve(state, level=state.level + 1)": "survived",
    "tank.py drain: wanted < 0 => False": "equivalent",
    "tank.py drain: wanted < 0 => wanted <= 0": "incomplete",
    "tank.py drain: evolve(state, level=wanted, valve=False) => evolve(state, valve=False)": "survived",
    "tank.py drain: state.valve => not state.valve": "survived",
}


@pytest.fixture
def tank(tmp_path: Path) -> Path:
    """A spec in which some mistakes are noticed, and some are not."""
    (tmp_path / "tank.py").write_text(TANK)
    return tmp_path


def test_each_mutant_is_searched(tank: Path) -> None:
    spec = load_spec(str(tank / "tank.py"))
    chosen = [each for each in mutations_of(spec).possible if each.name in FATES]
    way = Way(engine="oracle", max_seconds=2, workers=2)
    outcomes = list(judged(spec, chosen, originals(spec, chosen, way), way))
    assert {each.name: each.fate.value for each in outcomes} == FATES
    by_name = {each.name: each for each in outcomes}
    assert by_name["action gated skipped"].violated == {"full": 0}
    assert by_name["tank.py fill: 1 => 2"].violated == {"no_overflow": 3}
    lines = {each.name: each.line for each in chosen}
    assert TANK.splitlines()[(lines["tank.py fill: 1 => 2"] or 0) - 1].strip().startswith("yield evolve(state, level=")
    assert lines["action drain skipped"] is None
    assert "a variable of the enclosing function" in by_name[GATED].text
    assert "only a witness could notice" in by_name["action drain skipped"].text
    assert [len(list(each(next(iter(spec.initials()))))) for each in spec.actions] == [1, 0], "not changed in here"


def test_engines_agree_on_mutants(tank: Path) -> None:
    spec = load_spec(str(tank / "tank.py"))
    names = ("action gated skipped", "tank.py fill: 1 => 2", "tank.py drain: wanted < 0 => False")
    chosen = [each for each in mutations_of(spec).possible if each.name in names]
    both = []
    for engine in ("oracle", "compiled"):
        way = Way(engine=engine, all_properties=True)
        found = judged(spec, chosen, originals(spec, chosen, way), way)
        both.append([(each.name, each.fate, each.violated, each.distinct, each.generated) for each in found])
    assert both[0] == both[1]


def test_what_is_not_mutated_is_said(tank: Path) -> None:
    refused = dict(mutations_of(load_spec(str(tank / "tank.py"))).refused)
    assert refused["tank.py line 8"] == "it is a lambda"


LEAK = """
class Places:
    def __call__(self, _):
        return [0]


@action("the tank leaks at {place}", place=Places())
def leak(state: Tank, place: int) -> Iterator[Tank]:
    if state.level > 0 and place > 0:
        yield evolve(state, level=state.level - 1)


@invariant("a tank in the air is closed", premise=lambda state: state.level > 9)
def closed_in_the_air(state: Tank) -> bool:
    return state.level < 9 or not state.valve


spec = Spec("""


def test_functions_that_give_parameters_are_changed_and_what_is_vacuous_is_named(tank: Path) -> None:
    leaking = TANK.replace("[fill, drain]", "[fill, drain, leak]").replace("=[no_", "=[closed_in_the_air, no_")
    (tank / "tank.py").write_text(leaking.replace("\nspec = Spec(", LEAK))
    run = call(
        "mutate", "tank.py", "--engine", "oracle", "--only", "Places.__call__: 0 => 1", "--json", "-", folder=tank
    )
    (mutant,) = run.json["mutants"]
    assert mutant["fate"] == "survived"
    assert "new steps: leak 5" in mutant["text"]
    arguments = ("--kind", "action", "--all-properties", "--markdown", "summary.md")
    run = call("mutate", "tank.py", "--engine", "oracle", *arguments, folder=tank)
    assert "vacuous in the original, where their premises are never true: closed_in_the_air" in run.out
    assert "no_overflow kills no mutant of tank.py:spec" in run.out
    assert max(map(len, run.lines)) <= 100
    summary = (tank / "summary.md").read_text()
    assert "vacuous in the original, where their premises are never true: closed_in_the_air" in summary
    assert "| `full` | 1 | `action gated skipped` |" in summary


def test_a_report_can_be_written_to_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    end = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    replace_file(tmp_path / "pipe", b"a report")
    assert os.read(end, 100) == b"a report"
    os.close(end)


def test_survivors_can_be_explained(tank: Path) -> None:
    arguments = ("mutate", "tank.py", "--engine", "oracle", "--only", "action")
    run = call(*arguments, folder=tank)
    assert run.code == 1
    assert "1 mutant not explained" in run.out
    (tank / "known.toml").write_text('[[explained]]\nmutant = "action drain skipped"\nwhy = "it may stay full"\n')
    run = call(*arguments, "--explained", "known.toml", folder=tank)
    assert run.code == 0
    assert "explained: it may stay full" in " ".join(run.out.split())
    (tank / "known.toml").write_text('[[explained]]\nmutant = "action drained skipped"\nwhy = "it may stay full"\n')
    run = call(*arguments, "--explained", "known.toml", folder=tank)
    assert run.code == 2
    assert "did you mean 'action drain skipped'" in run.complaint


def test_a_mutant_that_should_survive_and_is_killed_is_a_surprise(tank: Path) -> None:
    (tank / "known.toml").write_text(
        '[[explained]]\nmutant = "action gated skipped"\nwhy = "it is full from the beginning"\n'
    )
    run = call(
        "mutate", "tank.py", "--engine", "oracle", "--only", "gated skipped", "--explained", "known.toml", folder=tank
    )
    assert run.code == 1
    assert "explained as a survivor, but killed: action gated skipped" in run.out


def test_a_catalogued_mistake_that_changes_nothing_has_to_be_explained() -> None:
    unchanged = Outcome(name="", kind="code", fate=Fate.EQUIVALENT)
    assert not is_open(unchanged)
    assert is_open(attrs.evolve(unchanged, kind="mistake"))


def test_several_specs_are_searched_one_after_the_other(tank: Path) -> None:
    (tank / "tower.py").write_text(TANK.replace("3 - self.level", "2 - self.level"))
    arguments = ("mutate", "tank.py", "tower.py", "--engine", "oracle", "--only", "action", "--json")
    run = call(*arguments, "run.json", folder=tank)
    assert run.code == 1
    first, second = json.loads((tank / "run.json").read_text())["reports"]
    assert [each["spec"] for each in (first, second)] == ["tank.py:spec", "tower.py:spec"]
    assert second["originals"][0]["left_out"] == ["full"]
    again = call(*arguments, "-", "--resume", "run.json", folder=tank).json["reports"]
    assert [each["mutants"] for each in again] == [first["mutants"], second["mutants"]]


def test_why_a_property_stays_is_in_its_docstring() -> None:
    @invariant("it is true")
    def true(state: object) -> bool:
        """Of everything.

        This property is kept because
        it is true.
        """
        return True

    assert why_it_stays(true) == "This property is kept because it is true."


def test_a_run_is_resumed(tank: Path) -> None:
    arguments = ("mutate", "tank.py", "--engine", "oracle", "--only", "action", "--json")
    assert call(*arguments, "run.json", folder=tank).code == 1
    saved = json.loads((tank / "run.json").read_text())
    assert saved["counts"]["killed"] == saved["counts"]["survived"] == 1
    (survived,) = (each for each in saved["mutants"] if each["fate"] == "survived")
    survived["text"] = "as it was saved"
    (tank / "run.json").write_text(json.dumps(saved))
    resumed = call(*arguments, "again.json", "--resume", "run.json", folder=tank)
    assert resumed.code == 1
    assert "as it was saved" in resumed.out
    (tank / "tank.py").write_text(TANK + "# changed\n")
    assert call(*arguments, "again.json", "--resume", "run.json", folder=tank).complaint == (
        "cannot resume from run.json: the code has changed since it was written"
    )


def test_a_run_of_a_spec_that_reads_files_is_not_resumed(tank: Path) -> None:
    (tank / "tank.py").write_text(TANK.replace("return 3 - self.level", "return int(open('most').read()) - self.level"))
    (tank / "most").write_text("3")
    arguments = ("mutate", "tank.py", "--engine", "oracle", "--only", "action", "--json", "run.json")
    assert call(*arguments, folder=tank).code == 1
    assert call(*arguments, "--resume", "run.json", folder=tank).complaint == (
        "cannot resume from run.json: tank.py:spec uses open, so that what it reads may have changed"
    )


def test_an_original_that_is_not_exhausted_says_nothing(tank: Path) -> None:
    run = call("mutate", "tank.py", "--engine", "oracle", "--max-states", "2", folder=tank)
    assert run.code == 3
    assert "was not searched completely: reached 2 states" in run.out


def test_a_mutant_of_code_is_shown_with_its_line(tank: Path) -> None:
    line = 1 + TANK.splitlines().index("    wanted = 0")
    listed = call("mutate", "tank.py", "--only", "drain: 0 => 1", "--list", folder=tank)
    assert listed.lines[0] == f"tank.py drain: 0 => 1  line {line}"
    arguments = ("mutate", "tank.py", "--engine", "oracle", "--only", "drain: 0 => 1", "--html", "page.html")
    run = call(*arguments, "--max-seconds", "0.5", "--json", "run.json", folder=tank)
    assert str(line) in run.out.split()
    assert f"line {line}</span>" in (tank / "page.html").read_text()
    assert json.loads((tank / "run.json").read_text())["mutants"][-1]["line"] >= line


def test_the_report_says_what_can_be_done_about_an_incomplete_search(tank: Path) -> None:
    arguments = ("mutate", "tank.py", "--engine", "oracle", "--only", "drain: state.valve => True", "--max-states", "4")
    (tank / "tank.py").write_text(TANK.replace("level=wanted", "level=state.level - 1"))
    run = call(*arguments, folder=tank)
    assert run.code == 3
    assert "1 mutant not searched completely: raise --max-states or --max-seconds, choose smaller bounds" in run.out
    assert "not explained" not in run.out


def test_a_sample_is_the_same_each_time(tank: Path) -> None:
    arguments = ("mutate", "tank.py", "--list", "--sample", "5")
    lists = [call(*arguments, *seed, folder=tank).out for seed in ((), ("--seed", "0"), ("--seed", "1"))]
    assert lists[0] == lists[1] != lists[2]
    assert lists[0].count("\n") == lists[2].count("\n") == 5


def test_a_page_is_written(tank: Path) -> None:
    run = call("mutate", "tank.py", "--engine", "oracle", "--kind", "action", "--html", "page.html", folder=tank)
    assert run.code == 1, run
    page = (tank / "page.html").read_text()
    assert "action drain skipped" in page
    assert "it is a lambda" not in page, "no code is mutated"


def test_mistakes_in_the_rules_of_kafka_are_found(tmp_path: Path) -> None:
    bounds = ("-b", "records=1,max_epoch=1")
    run = call(
        "mutate", "rpc/kip-320", *bounds, "--only", "mistake hw-of", "--all-properties", "--json", "-", folder=tmp_path
    )
    content = run.json
    fates = {each["name"]: each["fate"] for each in content["mutants"]}
    assert fates == {
        "mistake hw-of-leader-alone": "killed",
        "mistake hw-of-caught-up": "killed",
        "mistake hw-of-all-that-fetch": "survived",
    }
    assert run.code == 0, "the survivor is explained by the table of mistakes"
    alone = {each["name"]: each["alone"] for each in content["properties"]}
    assert "mistake hw-of-leader-alone" not in alone["strong_isr"]


def has_busy_child(pid: int) -> bool:
    """Whether a child of a process has used a second of CPU time: only the last mutant does, which runs for ever."""
    with suppress(psutil.NoSuchProcess):
        return any(child.cpu_times().user > 1 for child in psutil.Process(pid).children())
    return False


def test_ctrl_c_leaves_a_report(tank: Path) -> None:
    command = [COMMAND, "mutate", "tank.py", "--engine", "oracle", "--json", "run.json", "--workers", "1"]
    process = subprocess.Popen(
        [*command, "--only", "wanted < 0", "--max-seconds", "100"],
        cwd=tank,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not has_busy_child(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 3, printed
    assert "incomplete: interrupted" in printed
    assert json.loads((tank / "run.json").read_text())["stopped"].startswith("interrupted")
