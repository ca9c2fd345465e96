"""`leadline explore` and `leadline specs`, as a person and as a program use them."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from textwrap import dedent
from typing import Any

import attrs
import pytest
from rich.console import Console

from leadline.checker.bounds import bounds_text
from leadline.checker.engines import EXHAUSTIVE
from leadline.checker.result import Statistics
from leadline.invariants.catalog import CATALOG
from leadline.reports.terminal.progress import estimated_total, labelled, progress_line, progress_lines
from leadline.reports.terminal.run import heading
from tests.suite.command import (
    COMMAND,
    ESCAPE,
    STAIRS,
    call,
    environment,
    interrupted,
    on_terminal,
    run_leadline,
    write,
)

KIP_320 = ("explore", "atomic/kip-320")
ENDLESS = "brokers=3,log_size=3,records=3,max_epoch=3"
"""Bounds with which a search takes many minutes."""

ATOMIC_BOUNDS = {"brokers": 2, "log_size": 2, "records": 2, "max_epoch": 1}


@pytest.fixture
def stairs(tmp_path: Path) -> Path:
    """A folder with the stairs."""
    return write(tmp_path, stairs=STAIRS)


SENTENCES = {
    "on_stairs": "the climber stays on the stairs",
    "third_step_free": "nobody is on the third step",
    "top_reached": "the climber reaches the top",
}


def without_calls(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries of properties or actions but for the calls that were learned."""
    assert all(item["calls_learned"] >= 0 for item in entries)
    return [{key: value for key, value in item.items() if key != "calls_learned"} for item in entries]


def entry(name: str, verdict: str, length: int | None = None, *files: str, kind: str = "invariant") -> dict[str, Any]:
    """A property's entry in the JSON object."""
    return {
        "name": name,
        "kind": kind,
        "sentence": SENTENCES[name],
        "source": "common sense" if name == "on_stairs" else "",
        "verdict": verdict,
        "premise_true": None,
        "never_true": "",
        "by_design": "",
        "known_bugs": [],
        "trace_length": length,
        "trace_file": files[0] if files else None,
        "trace_files": list(files),
    }


def action(name: str, generated: int, distinct: int) -> dict[str, Any]:
    """An action's entry in the JSON object."""
    return {"name": name, "generated": generated, "distinct": distinct}


def verdicts(result: dict[str, Any]) -> dict[str, str]:
    """The verdict on each property of a JSON object."""
    return {item["name"]: item["verdict"] for item in result["properties"]}


# Exit codes and the JSON object


def test_a_spec_that_holds_ends_in_0_and_its_json_object_has_every_count_right(stairs: Path) -> None:
    run = run_leadline("explore", "stairs.py:spec", "--engine", "oracle", "--json", "-", folder=stairs)
    assert (run.code, run.err) == (0, "")
    seconds = run.json.pop("seconds")
    assert 0 <= seconds < 60
    ((told, distinct),) = run.json["distinct_states_by_second"][-1:]
    assert (told, distinct) == (round(seconds, 3), 3)
    made = run.json["leadline"]
    assert (made["version"], made["command"]) == (
        version("leadline"),
        "leadline explore stairs.py:spec --engine oracle --json -",
    )
    assert abs(datetime.fromisoformat(made["date"]) - datetime.now(UTC)) < timedelta(minutes=1)
    plain = {key: without_calls(run.json[key]) for key in ("properties", "actions")}
    assert {**run.json, **plain, "seconds": None, "distinct_states_by_second": None, "leadline": None} == {
        "leadline": None,
        "orbits": None,
        "spec": "stairs.py:spec",
        "bounds": {"top": 2},
        "engine": "oracle",
        "settings": {},
        "verdict": "holds",
        "reason": None,
        "exhausted": True,
        "note": None,
        "distinct_states": 3,
        "states_outside": 0,
        "generated_states": 7,
        "expanded_states": 3,
        "depth": 3,
        "queue": 0,
        "memory_bytes": 0,
        "calls_learned": 0,
        "calls_compared": 0,
        "whole_reads": [],
        "verified": None,
        "calls_not_learned": 0,
        "calls_by_oracle": 0,
        "memory_of_calls_bytes": 0,
        "widest_part": None,
        "costliest_function": None,
        "walked": None,
        "coverage": None,
        "seconds": None,
        "out_degree": {"min": 1, "mean": 2.0, "max": 3},
        "deadlocks": 0,
        "successors": 6,
        "stopped_by": None,
        "level_done": None,
        "shards": 0,
        "skew": 0.0,
        "spilled": 0,
        "activity": "",
        "diagnosis": None,
        "liveness": None,
        "known_bugs_outside": [],
        "warning": "",
        "sought": [],
        "states_per_depth": [1, 1, 1],
        "distinct_states_by_second": None,
        "properties": [
            entry("on_stairs", "holds"),
            entry("third_step_free", "holds"),
            entry("top_reached", "holds", 3, kind="witness"),
        ],
        "actions": [action("up", 4, 2), action("down", 2, 0), action("fly", 0, 0)],
    }


def test_a_violation_ends_in_1_and_its_json_object_has_the_length_and_the_file_of_the_trace(stairs: Path) -> None:
    run = run_leadline("explore", "stairs.py", "-b", "top=3", "--json", "-", "--trace-out", "traces", folder=stairs)
    assert (run.code, run.err) == (1, "")
    file = "traces/stairs.py-spec-top3-third_step_free.itf.json"
    assert (stairs / file).is_file()
    result = run.json
    assert (result["verdict"], result["reason"], result["bounds"]) == ("violated", None, {"top": 3})
    assert (result["distinct_states"], result["generated_states"], result["depth"], result["queue"]) == (4, 9, 4, 1)
    assert result["out_degree"] == {"min": 2, "mean": 2.667, "max": 3}
    assert without_calls(result["actions"]) == [action("up", 6, 3), action("down", 2, 0), action("fly", 0, 0)]
    assert without_calls(result["properties"]) == [
        entry("on_stairs", "incomplete"),
        entry("third_step_free", "violated", 4, file),
        entry("top_reached", "holds", 4, kind="witness"),
    ]


@pytest.mark.parametrize(
    ("option", "value", "reason", "distinct", "depth"),
    [
        ("--depth", "3", "reached depth 3", 17, 3),
        ("--max-states", "100", "reached 100 states", 100, 5),
        ("--max-seconds", "0.001", "reached 0.001 seconds", None, None),
    ],
)
def test_a_limit_ends_in_3_with_its_reason(
    tmp_path: Path, option: str, value: str, reason: str, distinct: int | None, depth: int | None
) -> None:
    run = call(*KIP_320, option, value, "--json", "-", folder=tmp_path)
    assert (run.code, run.err) == (3, "")
    assert (run.json["verdict"], run.json["reason"]) == ("incomplete", reason)
    assert set(verdicts(run.json).values()) <= {"incomplete", "holds"}  # of a witness it is known that it holds
    assert verdicts(run.json)["strong_isr"] == "incomplete"
    if distinct is not None:
        assert (run.json["distinct_states"], run.json["depth"]) == (distinct, depth)
    shown = call(*KIP_320, option, value, folder=tmp_path)
    assert (shown.code, shown.err) == (3, "")
    assert f"incomplete: {reason}" in shown.lines
    assert not re.search(r"\bholds\b", shown.out)


def test_a_limit_that_is_not_reached_does_not_make_a_run_incomplete(tmp_path: Path) -> None:
    limits = ("--depth", "16", "--max-states", "957", "--max-seconds", "600")
    run = call(*KIP_320, *limits, "--json", "-", folder=tmp_path)
    assert (run.code, run.json["verdict"], run.json["distinct_states"]) == (0, "holds", 957)


def test_without_a_terminal_the_report_says_verdicts_counts_and_what_was_never_enabled(stairs: Path) -> None:
    run = call("explore", "stairs.py", "--engine", "oracle", folder=stairs)
    assert (run.code, run.err) == (0, "")
    assert run.lines[:-2] == [
        "stairs.py:spec  top=2  oracle",
        "property         verdict  trace     description",
        "on_stairs        holds              the climber stays on the stairs",
        "third_step_free  holds              nobody is on the third step",
        "top_reached      shown    3 states  the climber reaches the top",
        "",
        "action      generated  new states",
        "up                  4           2",
        "down                2           0",
        "fly     never enabled",
        "",
        "holds: every reachable state was searched",
        "3 distinct states, 7 generated, depth 3, 0 on queue",
    ]
    assert re.fullmatch(r"out-degree 1 to 3, mean 2\.00; \d+\.\d s", run.lines[-2])


def test_a_run_that_was_cut_short_does_not_claim_that_an_action_is_never_enabled(stairs: Path) -> None:
    run = call("explore", "stairs.py", "--depth", "1", folder=stairs)
    assert run.code == 3
    assert "never" not in run.out
    assert run.out.count("not enabled yet") == 3


# Options


def test_json_to_a_file_leaves_the_report_on_standard_output(stairs: Path) -> None:
    run = call("explore", "stairs.py", "--json", "result.json", folder=stairs)
    assert run.code == 0
    assert "holds: every reachable state was searched" in run.lines
    assert json.loads((stairs / "result.json").read_text(encoding="utf-8"))["distinct_states"] == 3


def test_what_a_spec_prints_does_not_get_between_the_json_object_and_its_reader(tmp_path: Path) -> None:
    chatty = STAIRS.replace("    if state.height > 0:", '    print("one step down")\n    if state.height > 0:')
    write(tmp_path, chatty=f'print("loaded")\n{chatty}')
    run = run_leadline("explore", "chatty.py", "--json", "-", folder=tmp_path)
    assert run.json["distinct_states"] == 3
    assert "loaded\n" in run.err
    assert "one step down\n" in run.err


def test_several_invariants_can_be_chosen_one_by_one_or_in_a_list(tmp_path: Path) -> None:
    chosen = [
        ("-i", "weak_isr", "-i", "hw_monotonic"),
        ("-i", "weak_isr,hw_monotonic"),
        ("-i", "hw_monotonic, weak_isr"),
    ]
    for options in chosen:
        run = call(*KIP_320, *options, "--json", "-", folder=tmp_path)
        assert run.code == 0
        assert verdicts(run.json) == {"weak_isr": "holds", "hw_monotonic": "holds"}


def test_an_invariant_chosen_alone_is_searched_to_its_own_first_violation(tmp_path: Path) -> None:
    run = call("explore", "atomic/hw-truncation", "-i", "strong_isr", "--json", "-", folder=tmp_path)
    assert run.code == 1
    (strong_isr,) = run.json["properties"]
    assert (strong_isr["name"], strong_isr["verdict"], strong_isr["trace_length"]) == ("strong_isr", "violated", 10)


def test_a_search_that_checks_no_property_does_not_say_that_anything_holds(tmp_path: Path) -> None:
    run = call("explore", "atomic/hw-truncation", "--no-invariants", "--html", "run.html", folder=tmp_path)
    assert (run.code, "searched: every reachable state; no property was checked" in run.lines) == (0, True)
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    for text in (run.out, page):
        assert "no property was checked" in text
        assert "holds:" not in text


def test_no_invariants_searches_the_whole_space_of_a_spec_that_has_violations(tmp_path: Path) -> None:
    run = call("explore", "atomic/hw-truncation", "--no-invariants", "--json", "-", folder=tmp_path)
    assert (run.code, run.json["verdict"], run.json["properties"]) == (0, "holds", [])
    assert (run.json["distinct_states"], run.json["depth"]) == (1251, 16)


def test_bounds_may_be_given_in_several_options(tmp_path: Path) -> None:
    one = call(*KIP_320, "-b", "log_size=1,records=1", "--json", "-", folder=tmp_path)
    two = call(*KIP_320, "-b", "log_size=1", "-b", "records=1", "--json", "-", folder=tmp_path)
    assert one.json["bounds"] == two.json["bounds"] == {**ATOMIC_BOUNDS, "log_size": 1, "records": 1}
    assert one.json["distinct_states"] == two.json["distinct_states"] < 957


def test_keep_going_searches_on_after_a_violation_and_judges_every_property(stairs: Path) -> None:
    run = call("explore", "stairs.py", "-b", "top=3", "--keep-going", "--json", "-", folder=stairs)
    assert run.code == 1
    assert verdicts(run.json) == {"on_stairs": "holds", "third_step_free": "violated", "top_reached": "holds"}
    assert (run.json["generated_states"], run.json["queue"], run.json["out_degree"]["min"]) == (10, 0, 1)


def test_keep_going_in_hw_truncation_finds_both_violations_at_their_shortest(tmp_path: Path) -> None:
    options = ("--keep-going", "-i", "weak_isr", "-i", "strong_isr", "--json", "-")
    run = call("explore", "atomic/hw-truncation", *options, folder=tmp_path)
    assert {item["name"]: item["trace_length"] for item in run.json["properties"]} == {"weak_isr": 9, "strong_isr": 10}
    assert run.json["distinct_states"] == 1251


def test_three_traces_are_shown_and_written_to_three_different_files_that_replay(stairs: Path) -> None:
    asked = ("--traces", "3", "--trace-out", "new/traces")
    run = call("explore", "stairs.py", "-b", "top=3", *asked, folder=stairs)
    assert run.code == 1
    assert run.out.count("third_step_free is violated") == 3
    files = sorted((stairs / "new" / "traces").iterdir())
    assert [file.name for file in files] == [
        f"stairs.py-spec-top3-third_step_free-{number}.itf.json" for number in (1, 2, 3)
    ]
    steps = set()
    for file in files:
        assert f"saved new/traces/{file.name}" in run.lines
        states = json.loads(file.read_text(encoding="utf-8"))["states"]
        steps.add(json.dumps([state["#meta"] for state in states]))
        replayed = call("replay", str(file), "--spec", "stairs.py", folder=stairs)
        assert (replayed.code, replayed.out) == (
            0,
            "as recorded: stairs.py:spec, 4 states, which violates third_step_free\n",
        )
    assert len(steps) == 3


def test_three_traces_of_a_kafka_protocol_differ_and_replay(tmp_path: Path) -> None:
    asked = ("-i", "strong_isr", "--traces", "3", "--trace-out", ".", "--json", "-")
    run = call("explore", "atomic/hw-truncation", *asked, folder=tmp_path)
    (strong_isr,) = run.json["properties"]
    assert strong_isr["trace_file"] == strong_isr["trace_files"][0]
    assert len({(tmp_path / file).read_text(encoding="utf-8") for file in strong_isr["trace_files"]}) == 3
    for file in strong_isr["trace_files"]:
        assert call("replay", file, folder=tmp_path).code == 0


# How it looks


def test_output_is_plain_where_there_is_no_terminal(tmp_path: Path) -> None:
    run = run_leadline("explore", "atomic/hw-truncation", folder=tmp_path)
    assert (run.code, run.err) == (1, "")
    assert "\x1b" not in run.out
    assert "┃*" in run.out  # what changed is marked by a star instead of a colour
    assert run.width <= 100


def test_on_a_terminal_of_80_columns_changes_are_coloured_and_every_line_fits(tmp_path: Path) -> None:
    run = on_terminal("explore", "atomic/hw-truncation", folder=tmp_path)
    assert run.code == 1
    assert "\x1b[1;33mleads" in run.out  # changed
    assert "\x1b[1;31mweak_isr is violated" in run.out
    assert "*" not in ESCAPE.sub("", run.out)
    assert run.width <= 80
    assert not any(line.endswith("…") for line in run.lines)


def test_no_color_on_a_terminal_is_plain(tmp_path: Path) -> None:
    run = on_terminal("explore", "atomic/hw-truncation", folder=tmp_path, NO_COLOR="1")
    assert run.code == 1
    assert "\x1b" not in run.out
    assert "leads*" in run.out
    assert run.width <= 80


def test_text_in_square_brackets_is_shown_as_it_is_written(tmp_path: Path) -> None:
    text = STAIRS.replace("one climber on some stairs", "one climber [bold] on stairs[/]")
    text = text.replace("the climber goes one step down", "height[now] goes down")
    text = text.replace("the highest step", "steps[red] in all").replace("nobody is on", "[nobody] is on")
    write(tmp_path, brackets=text)
    shown = call("specs", "brackets.py", folder=tmp_path)
    assert shown.code == 0
    for words in ("one climber [bold] on stairs[/]", "height[now] goes down", "steps[red] in all", "[nobody] is on"):
        assert words in shown.out
    assert "[nobody] is on the third step" in call("explore", "brackets.py", "-b", "top=3", folder=tmp_path).out


def test_output_that_cannot_show_a_character_shows_another(tmp_path: Path) -> None:
    run = run_leadline("explore", "atomic/hw-truncation", folder=tmp_path, PYTHONIOENCODING="ascii")
    assert (run.code, run.err) == (1, "")
    assert "m0@0 |*" in run.out


# Interrupts, and readers that leave


@pytest.mark.parametrize("engine", EXHAUSTIVE)
def test_control_c_in_a_search_ends_in_3_with_a_partial_report(tmp_path: Path, engine: str) -> None:
    run = interrupted(*KIP_320, "-b", ENDLESS, "--engine", engine, folder=tmp_path, when=r" [1-9]\d*,\d{3} distinct")
    assert run.code == 3
    assert "Traceback" not in run.err
    lines = run.lines
    assert "incomplete: interrupted" in lines
    (count,) = re.findall(
        r"^([\d,]+) distinct states, [\d,]+ generated, depth \d+, ([\d,]+) on queue$", run.out, re.MULTILINE
    )
    distinct, queue = (int(text.replace(",", "")) for text in count)
    assert distinct >= 1000
    assert 0 < queue < distinct
    assert re.search(r"^strong_isr +incomplete\b", run.out, re.MULTILINE)


@pytest.mark.parametrize(
    "arguments",
    [("explore", "atomic/kip-320"), ("explore", "atomic/kip-320", "--json", "-"), ("specs",)],
    ids=" ".join,
)
def test_when_its_reader_has_gone_it_ends_in_3_without_a_word(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run(
        [COMMAND, *arguments], cwd=tmp_path, env=environment(), stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert (process.returncode, process.stderr) == (3, b"")


def test_head_gets_its_line_and_no_traceback(tmp_path: Path) -> None:
    piped = f"{COMMAND} explore atomic/hw-truncation -b log_size=4,records=4 --traces 40 | head -1"
    process = subprocess.run(["sh", "-c", piped], cwd=tmp_path, env=environment(), capture_output=True, check=False)
    assert process.stderr == b""
    assert process.stdout.startswith(b"atomic/hw-truncation  brokers=2,")
    assert process.stdout.count(b"\n") == 1


# What there is


def test_specs_lists_every_protocol_with_its_summary(tmp_path: Path) -> None:
    run = on_terminal("specs", folder=tmp_path)
    assert run.code == 0
    assert run.width <= 80
    names = [line.split()[0] for line in run.lines if line.startswith("atomic/")]
    assert names == [
        f"atomic/{name}" for name in ("hw-truncation", "kip-101", "kip-279", "kip-320-first-try", "kip-320")
    ]
    assert "leader epoch" in run.out


def test_specs_of_one_lists_its_bounds_actions_and_properties(stairs: Path) -> None:
    run = call("specs", "stairs.py:spec", folder=stairs)
    assert run.code == 0
    words = [" ".join(line.split()) for line in run.lines]
    for line in (
        "top 2 the highest step an integer from 0 to 9",
        "up(foot) the climber sets its {foot} foot one step higher",
        "on_stairs invariant the climber stays on the stairs common sense",
        "top_reached witness the climber reaches the top",
    ):
        assert line in words


@pytest.mark.parametrize("width", [40, 80, 100])
def test_bounds_are_wrapped_between_names(width: int) -> None:
    spec = CATALOG["kafka/4.0"]
    written = io.StringIO()
    Console(width=width, file=written).print(heading(spec, "compiled", {}))
    lines = written.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    bounds = {name: value for name, value in attrs.asdict(spec.bounds).items() if value}
    stated = bounds_text(bounds).split(",")
    others = f"({len(attrs.fields(type(spec.bounds))) - len(stated)} other bounds are 0 or false)".split()
    parts = [part for line in lines for part in re.split("[, ]+", line) if part]
    assert parts == [spec.name, *stated, *others, "compiled"]


def test_specs_of_a_protocol_fits_80_columns(tmp_path: Path) -> None:
    run = on_terminal("specs", "atomic/kip-320", "--bounds", "--actions", "--properties", folder=tmp_path)
    assert run.code == 0
    assert run.width <= 80
    for name in ("max_epoch", "replicate(leader, follower)", "strong_isr", "hw_monotonic", "step invariant"):
        assert name in run.out


def test_specs_of_a_release_fits_two_screens_and_names_everything(tmp_path: Path) -> None:
    run = call("specs", "kafka/4.1", folder=tmp_path)
    assert (run.code, run.err) == (0, "")
    assert len(run.lines) <= 80
    spec = CATALOG["kafka/4.1"]
    assert spec.column is not None
    names = {*attrs.asdict(spec.bounds), *(action.name for action in spec.actions), *spec.column.values}
    every = [item for item in spec.all_checks if not (item in spec.optional and item.kind.is_witness)]
    names |= {item.whole.name for item in every}
    assert f"and {len(spec.all_checks) - len(every)} situations for --witness" in " ".join(run.out.split())
    assert [name for name in names if name not in run.out] == []
    assert run.lines[-2] == "in full: leadline specs kafka/4.1 --bounds --actions --properties --rules"
    assert call("specs", "--rules", folder=tmp_path).complaint == "--rules requires the NAME of a spec"


def test_every_help_text_fits_80_columns_and_says_what_it_is_for(tmp_path: Path) -> None:
    for command in ("explore", "fuzz", "show", "replay", "check", "specs"):
        run = call(command, "--help", folder=tmp_path)
        assert run.code == 0
        assert run.width <= 80, [line for line in run.lines if len(line) > 80]
        assert run.lines[0].startswith(f"Usage: leadline {command} ")
        assert command in call("--help", folder=tmp_path).out


def test_where_an_earlier_violation_left_properties_open_keep_going_is_named(tmp_path: Path) -> None:
    hint = "--keep-going checks"
    first = call("explore", "atomic/hw-truncation", folder=tmp_path)
    assert hint in first.out
    assert "strong_isr               incomplete" in first.out
    assert hint not in call("explore", "atomic/hw-truncation", "--keep-going", folder=tmp_path).out
    assert hint not in call("explore", "atomic/kip-320", "--depth", "3", folder=tmp_path).out


def test_of_several_violated_properties_only_the_first_is_shown_with_a_trace(tmp_path: Path) -> None:
    run = call("explore", "kafka/2.8", "-b", "acks=all", "--diagnose", "0", folder=tmp_path)
    assert run.code == 1
    assert run.out.count("the initial state") == 1
    assert "committed_never_lost is violated: " in run.out
    text = " ".join(run.out.split())
    assert "`-i acked_never_lost` shows one to acked_never_lost" in text
    assert "checked first (committed_never_lost, acked_never_lost, durable_as_promised, " in text
    assert "the search ended at the first violation of one of them" in text
    assert "promises to users that were not decided: reads_monotonic, reads_not_taken_back; " in text
    assert "`-i reads_monotonic` checks only reads_monotonic" in text
    limits = ("--keep-going", "--max-states", "2500", "--diagnose", "0")
    limited = call("explore", "kafka/2.8", "-b", "acks=all", *limits, folder=tmp_path)
    assert (limited.code, "incomplete: reached 2,500 states" in limited.lines) == (1, True)
    alone = call("explore", "kafka/2.8", "-b", "acks=all", "-i", "follower_reads", "--diagnose", "0", folder=tmp_path)
    assert "shows one to" not in alone.out
    assert "checked first" not in alone.out
    assert "promises to users" not in alone.out


def test_a_property_with_parameters_is_quoted_in_advice_for_the_shell(tmp_path: Path) -> None:
    (tmp_path / "vote.py").write_text(
        dedent("""\
        from attrs import evolve, frozen
        from leadline.checker import Spec, action, invariant

        @frozen
        class State:
            votes: frozenset = frozenset()

        @action("{voter} votes", voter=range(2))
        def vote(state, voter):
            yield evolve(state, votes=state.votes | {voter})

        @invariant("{voter} does not vote", voter=range(2))
        def abstains(state, voter):
            return voter not in state.votes

        spec = Spec(name="vote", initial_states=lambda _: [State()], actions=[vote], properties=[abstains])
        """)
    )
    text = " ".join(call("explore", "vote.py", folder=tmp_path).out.split())
    assert "`-i 'abstains(voter=1)'` shows one to abstains(voter=1)" in text


def test_what_is_violated_by_design_does_not_end_the_search_and_comes_last(tmp_path: Path) -> None:
    run = call("explore", "kafka/2.8", "-b", "acks=1", "--diagnose", "0", "--json", "r.json", folder=tmp_path)
    text = " ".join(run.out.split())
    assert run.code == 1
    assert "committed_never_lost is violated: " in run.out
    assert "acked_never_lost is violated by design" in text
    assert text.count("acked_never_lost, KAFKA") == 0
    written = json.loads((tmp_path / "r.json").read_text())
    lengths = {item["name"]: item["trace_length"] for item in written["properties"] if item["verdict"] == "violated"}
    assert lengths["acked_never_lost"] < lengths["follower_reads"] < lengths["committed_never_lost"]
    assert "acked_never_lost" not in written["sought"]


def _explained(folder: Path, spec: str, bounds: str, name: str) -> str:
    """Return the output of a search that violates a property, on one line."""
    run = call("explore", spec, "-b", bounds, "-i", name, "--diagnose", "0", folder=folder)
    assert run.code == 1
    return " ".join(run.out.split())


def test_a_violation_is_by_design_only_if_its_trace_is_one_that_the_configuration_allows(tmp_path: Path) -> None:
    by_design = "is violated by design: "
    assert f"acked_never_lost {by_design}acks=1 does not" in _explained(
        tmp_path, "kafka/2.4", "acks=1", "acked_never_lost"
    )
    assert f"{by_design}min.insync.replicas=1 does not" in _explained(
        tmp_path, "kafka/4.1", "lossy_crashes=1", "acked_never_lost"
    )
    assert f"{by_design}unclean.leader.election.enable=true does not" in _explained(
        tmp_path, "kafka/4.1", "unclean_leader_election=true", "committed_never_lost"
    )
    both_needed = "min_insync_replicas=2,unclean_leader_election=true"
    assert by_design not in _explained(tmp_path, "kafka/3.6-zk", both_needed, "committed_never_lost")
    assert by_design not in _explained(tmp_path, "kafka/2.8", "acks=1", "committed_never_lost")
    survivable = "acks=all,lossy_crashes=1,min_insync_replicas=2"
    assert by_design not in _explained(tmp_path, "kafka/2.8", survivable, "acked_never_lost")


def test_a_known_bug_is_named_with_the_default_bounds_that_allow_it(tmp_path: Path) -> None:
    text = _explained(tmp_path, "kafka/3.9", "lossy_crashes=1", "log_matching")
    assert "KAFKA-18106 is known to violate log_matching within these bounds (`leadline bugs KAFKA-18106`)" in text
    assert "it needs missed_bounces=1, the default of kafka/3.9" in text
    assert "KAFKA-13141 is known to violate" in _explained(tmp_path, "kafka/2.8", "acks=all", "committed_never_lost")
    assert "is known to" not in _explained(tmp_path, "kafka/2.8", "acks=1", "committed_never_lost")


def test_a_witness_that_no_state_satisfies_was_never_shown_and_is_not_called_violated(tmp_path: Path) -> None:
    flies = STAIRS.replace("return state.height == state.top\n", "return state.height > state.top\n")
    run = call("explore", "flies.py", folder=write(tmp_path, flies=flies))
    assert run.code == 1
    assert "violated: never shown: top_reached" in run.lines
    assert any(re.match(r"top_reached +never shown ", line) for line in run.lines)


def test_columns_is_obeyed_and_no_line_ends_in_spaces(tmp_path: Path) -> None:
    narrow = run_leadline("explore", "atomic/hw-truncation", "--engine", "oracle", folder=tmp_path, COLUMNS="80")
    usual = run_leadline("explore", "atomic/hw-truncation", "--engine", "oracle", folder=tmp_path)
    assert max(map(len, narrow.out.split("\n"))) <= 80 < max(map(len, usual.out.split("\n"))) <= 100
    for run in (narrow, usual):
        assert [line for line in run.out.split("\n") if line != line.rstrip()] == []


def test_what_is_too_wide_of_a_state_has_lines_of_its_own(tmp_path: Path) -> None:
    wide = STAIRS.replace("top: int = 0\n", 'top: int = 0\n    a_field_with_quite_a_long_name: str = "x" * 90\n')
    run = run_leadline("explore", "wide.py", "-b", "top=3", folder=write(tmp_path, wide=wide), COLUMNS="80")
    assert run.code == 1
    assert "       state  3*       3" in run.lines
    assert run.out.count("x") >= 4 * 90
    assert "…" not in run.out


def test_every_offending_value_is_shown(tmp_path: Path) -> None:
    two = STAIRS.replace(
        '        yield f"the climber is on step {state.height}"\n',
        '        yield f"the climber is on step {state.height}"\n        yield "and may fall"\n',
    )
    run = call("explore", "two.py", "-b", "top=3", folder=write(tmp_path, two=two))
    assert "    the climber is on step 3" in run.lines
    assert "    and may fall" in run.lines


def test_two_components_of_one_broker_share_a_row_and_keep_their_columns(tmp_path: Path) -> None:
    text = STAIRS.replace("from leadline.checker import ", "from leadline.checker import component, ").replace(
        "    top: int = 0\n",
        "    top: int = 0\n"
        '    left: tuple["Foot", ...] = component(each="foot", default=())\n'
        '    right: tuple["Foot", ...] = component(each="foot", default=())\n'
        "\n\n@frozen\nclass Foot:\n    size: int = 0\n",
    )
    text = text.replace("[Climber(0, bounds.top)]", "[Climber(0, bounds.top, (Foot(41),), (Foot(42),))]")
    run = call("explore", "feet.py", "-b", "top=3", folder=write(tmp_path, feet=text))
    assert any(re.match(r" +height +top +left.size +right.size$", line) for line in run.lines), run.out
    assert any(re.match(r" +foot 0 +41 +42$", line) for line in run.lines)


# Progress where there is no terminal


def test_progress_of_several_searches_says_which_one_it_is_of(capsys: pytest.CaptureFixture[str]) -> None:
    numbers = iter((2, 3))
    with progress_line("matrix", every=0.0) as progress:
        show = labelled(progress, lambda: f"search {next(numbers)} of 9")
        show(Statistics(distinct=1_234, depth=7, seconds=5.0))
        show(Statistics(seconds=6.0, activity="at random"))
    assert capsys.readouterr().err == (
        "matrix  0:05  search 2 of 9  1,234 distinct  depth 7\nmatrix  0:06  search 3 of 9: at random\n"
    )


def test_without_a_terminal_progress_is_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_line("lab", every=0.0) as progress:
        progress(Statistics(distinct=1_234, generated=5_678, depth=7, queue=90, seconds=3_725.4, level_done=0.25))
    assert capsys.readouterr().err == (
        "lab  1:02:05  1,234 distinct  5,678 generated  0/s  depth 7, 25% of this level  queue 90\n"
    )
    with progress_line("lab", every=60.0) as progress:
        progress(Statistics(distinct=1_234, seconds=59.0))
    assert capsys.readouterr().err == ""


def test_progress_says_early_how_many_states_memory_has_room_for() -> None:
    found = Statistics(distinct=2_000_000, seconds=10.0, memory=80_000_000, free=800_000_000)
    *_, line = progress_lines(found)
    assert (
        line == "memory is enough for about 22,000,000 states, which takes another 1:40; `--disk DIR` has room for more"
    )
    known = {"levels": (100, 1_900_000, 90_000, 9_000, 900, 0)}
    for other in ({"spilled": 1}, {"free": None}, {"free": 80_000_000_000}, {"distinct": 900_000}, known):
        assert not any("memory is enough" in each for each in progress_lines(attrs.evolve(found, **other)))


def test_a_total_is_estimated_only_when_levels_shrink() -> None:
    levels = (1, 4, 8, 16, 8, 4)
    assert [estimated_total(levels[:count]) for count in range(len(levels))] == [None] * 6
    assert estimated_total((*levels, 1)) == 1 + 4 + 8 + 16 + 8 + 4 + 4  # as if 2, 1, ... followed
    assert estimated_total((1, 1, 1, 1)) is None
