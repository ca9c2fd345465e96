"""Each word of specs means the same in every engine, in Hypothesis, in replay, in pytest and on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from leadline.checker import Limits, Result, Spec, SpecError, Verdict, fuzz
from leadline.checker.engines import oracle
from leadline.checker.settings import CompiledSettings, RandomSettings, SparkSettings, SparkTuning
from leadline.checker.stateful import PropertyViolated, state_machine
from leadline.checker.traces.itf import read_trace, write_trace
from leadline.checker.traces.replay import replay
from leadline.reports.testing import assert_holds, assert_violated
from tests.language.test_words import WITHOUT_NETS
from tests.specs import learning, words
from tests.specs.agreement import SMALL, answers, spark_answers
from tests.specs.words import WORDS
from tests.suite.command import call

QUICK = settings(max_examples=100, phases=[Phase.generate], deadline=None, derandomize=True, database=None)
"""Settings of Hypothesis without shrinking."""

KEEP_GOING = Limits(keep_going=True)


def lengths(result: Result) -> dict[str, int]:
    """The length of the trace to each property that does not hold, or 0 if there is none."""
    violated = [item for item in result.properties if item.verdict is Verdict.VIOLATED]
    return {item.property.name: len(item.traces[0]) if item.traces else 0 for item in violated}


def assert_replayed(spec: Spec[Any], result: Result, folder: Path) -> None:
    for trace in (trace for item in result.properties for trace in item.traces):
        write_trace(trace, folder / "trace.itf.json")
        followed = replay(spec, read_trace(folder / "trace.itf.json"))
        assert followed.states == trace.states
        assert list(map(repr, followed.steps)) == list(map(repr, trace.steps))


@pytest.mark.parametrize("word", WORDS)
def test_a_word_means_the_same_everywhere(word: str, tmp_path: Path) -> None:
    spec, distinct, violated = WORDS[word]
    expected = oracle.explore(spec, KEEP_GOING)
    assert (expected.statistics.distinct, lengths(expected)) == (distinct, violated)
    assert_replayed(spec, expected, tmp_path)
    for chosen in (WITHOUT_NETS, CompiledSettings(workers=2, tuning=SMALL)):
        found = learning.explore(spec, KEEP_GOING, settings=chosen)
        assert found.statistics.calls
        assert answers(found) == answers(expected)
        assert_replayed(spec, found, tmp_path)
    walked = fuzz(spec, KEEP_GOING, settings=RandomSettings(examples=100))
    assert walked.statistics.distinct == distinct
    assert lengths(walked) == {name: length for name, length in violated.items() if length}
    assert_replayed(spec, walked, tmp_path)
    machine = state_machine(spec)
    with pytest.raises(PropertyViolated) as caught:
        run_state_machine_as_test(machine, settings=QUICK)
    about = caught.value.trace.about
    assert about is not None
    assert about.name in violated
    for name, length in violated.items():
        if length:
            assert_violated(spec, name, length=length)
    right = [item.name for item in spec.checks if item.name not in violated]
    if right:
        assert assert_holds(spec, properties=right).statistics.distinct == distinct


@pytest.mark.slow
@pytest.mark.usefixtures("all_cores")
def test_words_mean_the_same_on_spark(spark: Any) -> None:
    from leadline.checker.engines.spark import launch as distributed

    on_spark = SparkSettings(shards=2, tuning=SparkTuning(large=1, small=1))
    # Spark gets a list of initial states, whatever makes it, and bounds that were checked
    for word in [word for word in WORDS if word not in ("check", "generator", "set")]:
        spec, _, violated = WORDS[word]
        found = distributed.explore(spec, KEEP_GOING, session=spark, settings=on_spark)
        assert lengths(found) == violated, word
        assert spark_answers(found) == spark_answers(oracle.explore(spec, KEEP_GOING)), word


PARAMETERS = f"{words.__file__}:PARAMETERS"


def run(folder: Path, *arguments: str) -> Any:
    return call(*arguments, folder=folder)


def test_a_property_with_parameters_in_reports(tmp_path: Path) -> None:
    page, junit = tmp_path / "page.html", tmp_path / "junit.xml"
    whole = run(
        tmp_path, "explore", PARAMETERS, "-i", "in_range", "--keep-going", "--html", str(page), "--json", "run.json"
    )
    assert whole.code == 1
    names = [item["name"] for item in json.loads((tmp_path / "run.json").read_text())["properties"]]
    assert names == [f"in_range(process={process})" for process in range(3)]
    text = page.read_text()
    assert "in_range(process=1)" in text
    assert "process 1 counts to one at most" in text
    one = run(tmp_path, "explore", PARAMETERS, "-i", "in_range(process=0)")
    assert (one.code, "in_range(process=0)  holds" in one.out) == (0, True)
    assert "in_range(process=1)" not in one.out
    other = run(tmp_path, "explore", PARAMETERS, "-i", "in_range(process=2)", "--trace-out", str(tmp_path))
    assert other.code == 1
    (saved,) = tmp_path.glob("*.itf.json")
    replayed = run(tmp_path, "replay", str(saved), "--spec", PARAMETERS)
    assert (replayed.code, "which violates in_range(process=2)" in replayed.out) == (0, True)
    assert run(tmp_path, "fuzz", PARAMETERS, "-i", "in_range(process=2)").code == 1
    wrong = run(tmp_path, "explore", PARAMETERS, "-i", "in_range(process=7)")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    suite = tmp_path / "leadline.toml"
    suite.write_text(f"""
[[check]]
spec = "{PARAMETERS}"
properties = ["in_range(process=0)", "steady", "counted(process=1, number=2)"]
expect = "violated"
violates = "steady(process=1, least=1)"
covers = ["counted"]

[[check]]
spec = "{PARAMETERS}"
expect = "violated"
violates = "in_range"
trace_length = 3
""")
    assert run(tmp_path, "check", str(suite), "--junit", str(junit)).code == 0
    cases = {case.get("name") for case in ElementTree.parse(junit).iter("testcase")}
    assert {"steady(process=1, least=1)", "in_range(process=2)", "counted(process=1, number=2)"} <= cases
    suite.write_text(suite.read_text().replace("steady(process=1, least=1)", "in_range(process=2)"))
    refused = run(tmp_path, "check", str(suite))
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "violates = 'in_range(process=2)' does not name a property of this check" in refused.err


@pytest.mark.parametrize(
    "name", ["in_range(process=3)", "in_range(process=)", "in_range(", "in_range()", "steady(process=1)"]
)
def test_an_instance_that_does_not_exist_is_refused(name: str) -> None:
    with pytest.raises(SpecError, match="has no property") as caught:
        WORDS["parameters"][0].with_properties([name])
    assert "\n" not in str(caught.value)
