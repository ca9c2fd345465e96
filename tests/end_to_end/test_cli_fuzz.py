"""`leadline fuzz`: its results, that they are reproducible, and its report if it found nothing."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from leadline.checker import fuzz
from leadline.checker.result import Verdict
from leadline.checker.settings import RandomSettings
from leadline.checker.traces.itf import decode_trace, encode_trace
from leadline.checker.traces.replay import replay
from leadline.invariants.catalog import CATALOG
from tests.suite.command import STAIRS, Run, call, interrupted, run_leadline, write
from tests.suite.samples import sampled

BEFORE_0_11 = ("fuzz", "atomic/hw-truncation", "-i", "strong_isr")
QUICK_SEED = "4"
"""A seed that finds the loss of data in a few hundred steps."""


def without_seconds(run: Run) -> dict[str, Any]:
    """The JSON object, but for what differs from run to run."""
    whole_reads = [{**each, "seconds": None} for each in run.json["whole_reads"]]
    return {
        **run.json,
        "whole_reads": whole_reads,
        "seconds": None,
        "distinct_states_by_second": None,
        "verified": None,
        "leadline": None,
    }


@pytest.mark.parametrize("seed", sampled(range(5), 3))
def test_the_default_budget_finds_the_loss_before_0_11_and_shortens_it_to_12_states_at_most(seed: int) -> None:
    spec = CATALOG["atomic/hw-truncation"]  # with all its properties: weak_isr is violated sooner
    result = fuzz(spec, settings=RandomSettings(seed=seed))
    violated = {item.property.name: len(item.traces[0]) for item in result.properties if item.traces}
    (trace,) = result.of("strong_isr").traces
    assert result.verdict is result.of("strong_isr").verdict is Verdict.VIOLATED
    assert 10 <= violated["strong_isr"] <= 12  # 10 is the shortest there is
    assert 9 <= violated["weak_isr"] <= 11
    assert replay(spec, decode_trace(encode_trace(trace))).states == trace.states


def test_the_command_has_the_default_budget_of_the_function(tmp_path: Path) -> None:
    run = call(*BEFORE_0_11, "--seed", QUICK_SEED, "--json", "-", folder=tmp_path)
    found = fuzz(
        CATALOG["atomic/hw-truncation"].with_properties(["strong_isr"]), settings=RandomSettings(seed=int(QUICK_SEED))
    )
    assert run.json["settings"] == found.settings == {"examples": 10_000, "steps": 50, "seed": 4}
    assert run.json["generated_states"] == found.statistics.generated


def test_a_violation_ends_in_1_and_is_saved_as_a_trace_that_replays(tmp_path: Path) -> None:
    run = run_leadline(*BEFORE_0_11, "--seed", QUICK_SEED, "--trace-out", "traces", folder=tmp_path)
    assert run.code == 1
    assert re.fullmatch(
        r"leadline: atomic/hw-truncation: strong_isr is violated; its trace of \d+ states is shortened later\n", run.err
    )
    file = "traces/atomic-hw-truncation-seed4-strong_isr.itf.json"
    assert f"saved {file}" in run.lines
    assert "(examples=10000,steps=50,seed=4)" in run.out.replace("\n", "")
    assert "violated: strong_isr" in run.lines
    assert re.search(r"^action +taken +new states$", run.out, re.MULTILINE)  # not all next states that were checked
    replayed = call("replay", file, folder=tmp_path)
    length = len(re.findall(r"^ *\d+/\d+  ", run.out, re.MULTILINE))
    assert (replayed.code, replayed.out) == (
        0,
        f"as recorded: atomic/hw-truncation, {length} states, which violates strong_isr\n",
    )


def test_the_same_seed_searches_the_same_in_another_process_and_another_seed_does_not(tmp_path: Path) -> None:
    first = run_leadline(*BEFORE_0_11, "--seed", QUICK_SEED, "--json", "-", folder=tmp_path, PYTHONHASHSEED="1")
    again = run_leadline(*BEFORE_0_11, "--seed", QUICK_SEED, "--json", "-", folder=tmp_path, PYTHONHASHSEED="2")
    other = call(*BEFORE_0_11, "--seed", "6", "--json", "-", folder=tmp_path)
    assert without_seconds(first) == without_seconds(again)
    assert first.json["generated_states"] != other.json["generated_states"]


def test_finding_nothing_ends_in_3_and_says_that_it_proves_nothing(tmp_path: Path) -> None:
    run = call("fuzz", "atomic/kip-320", "--examples", "15", folder=tmp_path)
    assert (run.code, run.err) == (3, "")
    assert re.search(
        r"^incomplete: [\d,]+ random behaviours of at most 50 steps are only a sample$", run.out, re.MULTILINE
    )
    assert not re.search(r"\bholds\b", run.out)
    assert re.search(r"^strong_isr +incomplete\b", run.out, re.MULTILINE)
    assert re.search(r"^record_committed +shown +\d+ states *$", run.out, re.MULTILINE)


def test_the_report_gives_the_steps_taken_the_distinct_states_and_the_mix_of_actions(tmp_path: Path) -> None:
    run = call("fuzz", "atomic/kip-320", "--examples", "300", "--json", "-", folder=tmp_path)
    assert run.code == 3
    result = run.json
    assert result["engine"] == "random"
    mix = {item["name"]: item for item in result["actions"]}
    assert list(mix) == [action.name for action in CATALOG["atomic/kip-320"].actions]
    steps = sum(item["generated"] for item in mix.values())
    assert 200 < steps < result["generated_states"]  # the others are the beginnings of behaviours
    assert all(item["generated"] > 0 for item in mix.values())
    assert sum(item["distinct"] for item in mix.values()) + 1 == result["distinct_states"]
    assert 100 < result["distinct_states"] <= 957  # no more than can be reached
    assert 10 < result["depth"] <= 51


def test_steps_bound_the_length_of_a_behaviour(tmp_path: Path) -> None:
    run = call("fuzz", "atomic/kip-320", "--examples", "15", "--steps", "7", "--json", "-", folder=tmp_path)
    assert (run.code, run.json["depth"], run.json["settings"]["steps"]) == (3, 8, 7)


def test_more_examples_take_more_steps(tmp_path: Path) -> None:
    few, more = (call("fuzz", "atomic/kip-320", "--examples", n, "--json", "-", folder=tmp_path) for n in ("5", "15"))
    assert few.json["generated_states"] * 2 < more.json["generated_states"]


def test_bounds_and_properties_are_chosen_as_for_explore(tmp_path: Path) -> None:
    write(tmp_path, stairs=STAIRS)
    run = call("fuzz", "stairs.py", "-b", "top=3", "-i", "third_step_free", "--json", "-", folder=tmp_path)
    assert run.code == 1
    assert run.json["bounds"] == {"top": 3}
    assert [(item["name"], item["trace_length"]) for item in run.json["properties"]] == [("third_step_free", 4)]
    unchecked = call("fuzz", "stairs.py", "-b", "top=3", "--no-invariants", "--examples", "5", folder=tmp_path)
    assert unchecked.code == 3
    assert "violated" not in unchecked.out


def test_control_c_ends_in_3_with_a_partial_report(tmp_path: Path) -> None:
    run = interrupted(
        "fuzz",
        "atomic/kip-320",
        "-b",
        "brokers=3",
        "--examples",
        "100000",
        folder=tmp_path,
        when=r" [1-9][\d,]* distinct",
    )
    assert run.code == 3
    assert "Traceback" not in run.err
    assert "incomplete: interrupted" in run.lines
    assert re.search(r"^[1-9][\d,]* distinct states?, [\d,]+ visits?,", run.out, re.MULTILINE)


def test_a_violation_is_told_as_soon_as_it_is_found(tmp_path: Path) -> None:
    run = run_leadline(*BEFORE_0_11, "--seed", QUICK_SEED, folder=tmp_path)
    assert run.code == 1
    told = re.findall(r"^leadline: atomic/hw-truncation: (.*)$", run.err, re.MULTILINE)
    assert len(told) == 1
    assert re.fullmatch(r"strong_isr is violated; its trace of \d+ states is shortened later", told[0])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_trace_is_shortened_keeps_the_trace(tmp_path: Path, number: int) -> None:
    run = interrupted(
        "fuzz",
        "kafka/2.8",
        "-b",
        "brokers=3,records=3,max_epoch=4,crashes=2",
        "-i",
        "follower_reads",
        "--trace-out",
        "traces",
        folder=tmp_path,
        when="is violated; its trace",
        number=number,
    )
    assert run.code == 1
    assert "Traceback" not in run.out + run.err
    assert "shortening was interrupted" in " ".join(run.lines)
    (file,) = (tmp_path / "traces").iterdir()
    again = call("replay", f"traces/{file.name}", folder=tmp_path)
    assert again.code == 0
    assert "which violates follower_reads" in again.out


def test_a_search_begins_at_the_end_of_a_saved_trace_or_at_a_witness(tmp_path: Path) -> None:
    second = '@witness("the second step")\ndef second_step(state: Climber) -> bool:\n    return state.height == 2\n\n\n'
    source = STAIRS.replace("spec = ", f"{second}spec = ").replace("top_reached]", "top_reached, second_step]")
    write(tmp_path, stairs=source)
    call("fuzz", "stairs.py", "-b", "top=3", "-i", "third_step_free", "--trace-out", "whole", folder=tmp_path)
    (whole,) = (tmp_path / "whole").glob("*.json")
    short = json.loads(whole.read_text(encoding="utf-8"))
    short["states"] = short["states"][:3]
    (tmp_path / "second.itf.json").write_text(json.dumps(short), encoding="utf-8")
    for begin in ("second.itf.json", "second_step"):
        folder = f"from-{begin}"
        words = ("-i", "third_step_free", "-b", "top=3", "--steps", "1", "--json", "-")
        assert call("fuzz", "stairs.py", *words, folder=tmp_path).code == 3, "one step from the initial state"
        run = call("fuzz", "stairs.py", *words, "--from", begin, "--trace-out", folder, folder=tmp_path)
        assert run.code == 1
        assert run.json["settings"]["from"] == begin
        assert run.json["note"].startswith("searched from the last state of a trace of 3 states")
        (file,) = (tmp_path / folder).glob("*third_step_free*")
        again = call("replay", file.relative_to(tmp_path).as_posix(), "--spec", "stairs.py", folder=tmp_path)
        assert (again.code, "4 states, which violates third_step_free" in again.out) == (0, True)


def test_a_search_for_a_witness_ends_where_it_is_shown(tmp_path: Path) -> None:
    third = '@witness("the third step")\ndef third_step(state: Climber) -> bool:\n    return state.height == 3\n\n\n'
    source = STAIRS.replace("spec = ", f"{third}spec = ").replace("top_reached]", "top_reached, third_step]")
    write(
        tmp_path,
        stairs=source.replace("    if state.height > 0:", "    assert state.height < 6\n    if state.height > 0:"),
    )
    words = ("-b", "top=9", "-i", "on_stairs", "--steps", "1", "--from", "third_step")
    assert call("fuzz", "stairs.py", *words, folder=tmp_path).code == 3
    assert "AssertionError" in call("fuzz", "stairs.py", *words[:-1], "top_reached", folder=tmp_path).err


def test_a_deadlock_on_the_way_to_a_witness_does_not_end_its_search(tmp_path: Path) -> None:
    text = '@witness("no text")\ndef text(state: Climber):\n    return "yes"\n\n\n'
    falls = '@action("falls")\ndef falls(state):\n    if state.height == 1:\n        yield Climber(0, -1)\n\n\n'
    source = STAIRS.replace("spec = ", f"{text}{falls}spec = ").replace("top_reached]", "top_reached, text]")
    write(tmp_path, stairs=source.replace("actions=[", "check_deadlock=True, actions=[falls, "))
    words = ("fuzz", "stairs.py", "-b", "top=9", "-i", "third_step_free", "--steps", "1", "--from")
    run = call(*words, "top_reached", folder=tmp_path)
    assert (run.code, run.err) == (3, "")
    assert "searched from the last state of a trace of 10 states" in run.out
    refused = call(*words, "text", folder=tmp_path)
    assert refused.code == 2
    assert re.fullmatch(r"witness text must return True or False, not 'yes' \(stairs.py, line \d+\)", refused.complaint)


def test_a_search_of_a_refinement_begins_at_a_witness(tmp_path: Path) -> None:
    refining = "rising = evolve(spec, properties=[*refines(spec, lambda state: state), top_reached])\n"
    write(tmp_path, stairs=STAIRS.replace("import Spec,", "import Spec, refines,") + refining)
    run = call("fuzz", "stairs.py:rising", "--from", "top_reached", "--examples", "9", folder=tmp_path)
    assert (run.code, run.err) == (3, "")
    assert "searched from the last state of a trace of 3 states" in run.out


@pytest.mark.parametrize(
    ("begin", "complaint"),
    [
        ("third", "--from third: stairs.py:spec has no witness of this name"),
        ("missing.itf.json", "cannot read missing.itf.json: No such file or directory"),
    ],
)
def test_a_search_cannot_begin_at_something_unknown(tmp_path: Path, begin: str, complaint: str) -> None:
    run = call("fuzz", "stairs.py", "--from", begin, folder=write(tmp_path, stairs=STAIRS))
    assert (run.code, run.out) == (2, "")
    assert run.complaint.startswith(complaint)


def test_the_time_can_be_over_before_the_beginning_is_found(tmp_path: Path) -> None:
    write(tmp_path, stairs=STAIRS.replace("state.height + 1", "max(0 for _ in iter(int, 1))"))
    run = call("fuzz", "stairs.py", "-b", "top=9", "--from", "top_reached", "--max-seconds", "0.5", folder=tmp_path)
    assert (run.code, run.out) == (3, "")
    assert run.err == "leadline: reached 0.5 seconds\n"


def test_a_trace_of_another_spec_is_not_continued(tmp_path: Path) -> None:
    write(tmp_path, stairs=STAIRS, steeper=STAIRS.replace("state.height + 1", "state.height + 2"))
    call("explore", "stairs.py", "-b", "top=3", "-i", "third_step_free", "--trace-out", ".", folder=tmp_path)
    (file,) = tmp_path.glob("*.itf.json")
    run = call("fuzz", "steeper.py", "-b", "top=3", "--from", file.name, folder=tmp_path)
    assert run.code == 2
    assert "leads to a different state" in run.complaint


def test_safety_leaves_out_what_a_random_search_cannot_check(tmp_path: Path) -> None:
    promise = "@always_eventually('the climber comes down')\ndef comes_down(state):\n    return state.height == 0\n\n\n"
    source = STAIRS.replace("import Spec,", "import Spec, always_eventually,").replace("spec = ", f"{promise}spec = ")
    write(tmp_path, stairs=source.replace("properties=[", "properties=[comes_down, "))
    refused = call("fuzz", "stairs.py", folder=tmp_path)
    assert refused.code == 2
    assert "leave them out with --safety" in refused.complaint
    run = call("fuzz", "stairs.py", "--safety", "--json", "-", folder=tmp_path)
    assert run.code in (1, 3)
    assert "comes_down" not in [item["name"] for item in run.json["properties"]]
    nothing = call("fuzz", "stairs.py", "-i", "comes_down", "--safety", folder=tmp_path)
    assert nothing.code == 2
    assert nothing.complaint == "--safety leaves nothing to check: only liveness properties were chosen"
