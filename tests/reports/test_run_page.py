"""The page of a run: what `explore`, `fuzz` and `show` make of a result."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from playwright.sync_api import Browser

from leadline.checker import Limits, Result
from leadline.checker.coverage import CoverageCounts, FieldCoverage, FunctionCoverage, InstanceCoverage, SourceLine
from leadline.checker.engines import ENGINES, EXHAUSTIVE
from leadline.checker.engines.progress import MOST_SAMPLES, Pace, paced
from leadline.checker.errors import LeadlineError
from leadline.checker.properties import Kind
from leadline.checker.result import (
    FIRST_VIOLATION,
    ActionCount,
    Learning,
    LivenessCounts,
    OrbitCounts,
    Statistics,
    Verdict,
    Verified,
    WalkCounts,
    WholeRead,
    Widest,
)
from leadline.invariants.catalog import CATALOG
from leadline.reports.cli import running
from leadline.reports.cli.outputs import Files
from leadline.reports.diagnosis import Change, Diagnosis
from leadline.reports.document import Plot
from leadline.reports.html.plots import drawn
from leadline.reports.html.run import run_page, title_of, with_traces
from leadline.reports.kafka.known_bugs import KnownBug
from leadline.reports.origin import Origin
from leadline.reports.runs.document import run_document
from leadline.reports.runs.json_report import read_run, result_object
from leadline.reports.runs.run_view import PropertyView, RunView, view_of_result
from tests.browser.chromium import chromium, needs_chromium
from tests.browser.opened_page import Opened
from tests.suite.command import STAIRS, call, write


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium."""
    yield from chromium()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with stairs."""
    return write(tmp_path, stairs=STAIRS)


def small(**changes: Any) -> Result:
    """A result that took no time."""
    result = ENGINES["oracle"](CATALOG["atomic/kip-320"].with_bounds({"log_size": 1, "records": 1}))
    return attrs.evolve(result, **changes)


# Plots


def test_the_plot_of_a_deep_search_is_one_shape_and_not_one_for_each_depth() -> None:
    plots = [Plot("", "depth", "", tuple(range(depth + 1)), (1,) * depth) for depth in (10, 500)]
    few, many = (drawn(plot, "plot").count("<path") for plot in plots)
    assert many <= few + 5  # another number of ticks


def test_a_witness_that_is_never_shown_is_not_called_violated(folder: Path) -> None:
    write(folder, short=STAIRS.replace("state.height == state.top", "state.height > state.top"))
    assert call("explore", "short.py", "-i", "top_reached", "--html", "o.html", folder=folder).code == 1
    assert "violated: never shown: top_reached" in (folder / "o.html").read_text(encoding="utf-8")


# The pace of a search


@pytest.mark.parametrize("engine", EXHAUSTIVE)
def test_every_engine_tells_how_fast_it_was(engine: str) -> None:
    spec = CATALOG["atomic/kip-101"].with_bounds({"brokers": 3, "log_size": 1, "records": 1})
    result = paced(lambda progress: ENGINES[engine](spec, Limits(keep_going=True), progress))
    samples, statistics = result.statistics.samples, result.statistics
    assert samples[-1] == (round(statistics.seconds, 3), statistics.distinct)
    assert list(samples) == sorted(samples)
    assert len(samples) > 1 or engine == "compiled"  # which may be done before it tells anything


def test_a_search_that_is_done_before_it_tells_anything_has_one_sample() -> None:
    result = small()
    assert paced(lambda progress: result).statistics.samples == (
        (round(result.statistics.seconds, 3), result.statistics.distinct),
    )


def test_of_a_long_search_some_samples_are_kept_the_last_one_among_them_and_told_on() -> None:
    told: list[Statistics] = []
    pace = Pace(told.append)
    for tenth in range(20_001):
        pace(Statistics(seconds=tenth / 10, distinct=tenth * 7))
    seconds = [second for second, _ in pace.samples]
    assert MOST_SAMPLES / 3 <= len(seconds) <= MOST_SAMPLES
    assert (seconds[0], pace.samples[-1]) == (0.0, (2000.0, 140_000))
    assert max(later - sooner for sooner, later in itertools.pairwise(seconds)) < 2000 / MOST_SAMPLES * 4
    assert len(told) == 20_001


def test_rates_are_of_the_time_between_two_samples() -> None:
    samples = ((1.0, 10), (1.0, 10), (3.0, 40), (4.0, 40), (5.0, 40), (6.0, 42))
    view = view_of_result(small())
    shown = attrs.evolve(view, statistics=attrs.evolve(view.statistics, samples=samples, seconds=6.0))
    (plot,) = (block for block in run_document(shown).blocks if isinstance(block, Plot) and block.across == "seconds")
    assert plot.edges == (0.0, 1.0, 3.0, 4.0, 5.0, 6.0)
    assert plot.numbers == (10.0, 15.0, 0.0, 0.0, 2.0)


# The page


def test_a_run_is_read_as_it_was_written() -> None:
    result = paced(lambda progress: ENGINES["oracle"](small().spec, Limits(), progress))
    run = view_of_result(result, Origin("0.1", "leadline explore", "2026-01-01T00:00:00+00:00"))
    read = read_run(json.loads(json.dumps(result_object(run, {}))))
    assert read == run


def test_no_field_of_a_run_is_lost_when_it_is_written() -> None:
    learning = Learning({"up": 3}, {"safe": 2}, called=4, by_oracle=5, memory=6, widest=Widest("State.log", 7, "tuple"))
    walked = WalkCounts(1, 2, 3, 4, True, (0, 1), (2, 3), 5, 6, {"up": 7})
    line = SourceLine(8, "return", "partly", (9, 0))
    covered = CoverageCounts(
        {"up()": InstanceCoverage(1, 2, 3)},
        {"safe": 4},
        {"State.log": FieldCoverage(2, True, ("0", "1"))},
        (FunctionCoverage("up", "stairs.py", (line,)),),
        sampled=5,
    )
    statistics = Statistics(
        distinct=1,
        generated=2,
        depth=3,
        queue=4,
        expanded=3_001,
        successors=6_002,
        out_degree_min=7,
        out_degree_max=8,
        deadlocks=9,
        seconds=10.123456,
        actions={"up": ActionCount(11, 12)},
        level_done=0.13,
        memory=14,
        calls=15,
        learning=learning,
        compared=16,
        whole_reads=(WholeRead("json.dumps", "dumped", "stairs.py", 9, "whole states", ("up",), 28),),
        levels=(17, 18),
        outside=19,
        samples=((0.5, 20), (1.5, 21)),
        shards=22,
        skew=0.23,
        spilled=24,
        walked=walked,
        covered=covered,
        verified=Verified(checked=25, drawn=26, made=27),
        liveness=LivenessCounts(components=29, largest=30, open=31, seconds=3.2),
        orbits=OrbitCounts(permutations=32, declared=33, states=34),
        activity="shortening",
    )
    seen = PropertyView(
        name="safe",
        kind=Kind.WITNESS,
        sentence="nothing is lost",
        source="KIP-101",
        verdict=Verdict.HOLDS,
        trace_length=1,
        premise=True,
        never="nothing",
        by_design="acks=1 promises less",
        known_bugs=(KnownBug("KAFKA-13141", {"crashes": 1}),),
    )
    run = RunView(
        spec="stairs",
        bounds={"top": 3, "acks": "all"},
        engine="compiled",
        settings={"seed": 1},
        verdict=Verdict.VIOLATED,
        stop=FIRST_VIOLATION,
        note="a remark",
        warning="a warning",
        statistics=statistics,
        properties=(seen,),
        origin=Origin("0.1", "leadline explore", "2026-01-01T00:00:00+00:00"),
        diagnosis=Diagnosis("safe", (Change("rule", "truncation=fetch", "prevents", "kafka/2.8", ("KIP-595",)),)),
        known_bugs_outside=("KAFKA-13141",),
        sought=("safe",),
    )
    for kind, value in ((Statistics, statistics), (RunView, run), (PropertyView, seen)):
        for field in attrs.fields(kind):
            if not field.eq:  # says nothing of the result
                continue
            assert getattr(value, field.name) != field.default, f"this test gives {field.name} no value of its own"
    assert read_run(json.loads(json.dumps(result_object(run, {})))) == run


@needs_chromium
def test_explore_writes_the_page_of_its_run_with_an_example_of_each_witness(browser: Browser, folder: Path) -> None:
    run = call("explore", "stairs.py", "-b", "top=3", "--html", "run.html", folder=folder)
    assert (run.code, run.err) == (1, "")
    opened = Opened(browser, folder / "run.html")
    assert opened.page.locator("h1").inner_text() == "violated: third_step_free - stairs.py:spec"
    assert opened.page.locator("summary .violated").inner_text() == "violated: third_step_free"
    opened.page.locator("details.run summary").click()
    assert opened.page.locator(".plot").count() == 1  # too short for a rate
    rows = opened.page.locator("details.run table").first.locator("tbody tr")
    assert [row.split("\t")[:3] for row in rows.all_inner_texts()] == [
        ["on_stairs", "incomplete", ""],
        ["third_step_free", "violated", "4 states"],
        ["top_reached", "shown", "4 states"],
    ]
    rows.nth(2).get_by_role("link").click()
    opened.wait_for("t2-s4")
    assert (opened.complaints, opened.requests) == ([], [(folder / "run.html").as_uri()])


def test_the_cause_of_a_violation_is_said_before_its_trace_and_only_there(tmp_path: Path) -> None:
    run = call("explore", "kafka/2.8", "-b", "acks=all", "--html", "run.html", folder=tmp_path)
    assert run.code == 1
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    cause = "committed_never_lost holds with diverging_fetch=ignored, the rule of kafka/2.8.1"
    assert cause in " ".join(run.out.split())
    assert page.count(cause) == 1
    assert page.index(cause) < page.index("<article")
    known = "KAFKA-13141 is known to violate committed_never_lost"
    assert page.index(cause) < page.index(known) < page.index("<article")
    assert "<h1>violated: committed_never_lost and 8 other properties - kafka/2.8</h1>" in page
    bounds = "crashes=1, isr_shrinks=-1"
    assert page.count(bounds) == page.count("<article") + 1  # once in each trace, once in the search: not in the list


def test_the_title_does_not_say_holds_without_bounds() -> None:
    result = small()
    view = view_of_result(result)
    assert title_of(view) == "holds within its bounds - atomic/kip-320"
    assert title_of(attrs.evolve(view, bounds={})) == "holds - atomic/kip-320"


def test_fuzz_writes_the_page_of_its_run(folder: Path) -> None:
    assert call("fuzz", "stairs.py", "-b", "top=3", "--html", "run.html", folder=folder).code == 1
    page = (folder / "run.html").read_text(encoding="utf-8")
    assert "random (examples=10000,steps=50,seed=0)" in page.replace(", ", ",")
    assert 'id="t1-s4"' in page


@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_long_search_has_its_rate_over_time_and_its_note(browser: Browser, tmp_path: Path, scheme: str) -> None:
    samples = tuple((second / 2, 1000 * second) for second in range(1, 30))
    result = small(note="the last checkpoint was not saved: <no room>")
    result.statistics.samples, result.statistics.seconds = samples, 14.5
    (tmp_path / "run.html").write_text(
        run_page("a run", [with_traces(result, view_of_result(result), "a run")]), encoding="utf-8"
    )
    opened = Opened(browser, tmp_path / "run.html", color_scheme=scheme)
    plots = opened.page.locator(".plot")
    assert plots.count() == 2
    assert (
        plots.nth(1).get_attribute("aria-label") == "distinct states a second, over 14.5 seconds: from 2,000 to 2,000"
    )
    assert "distinct states a second" in plots.nth(1).inner_text()
    assert opened.page.locator(".run .note").inner_text() == "the last checkpoint was not saved: <no room>"
    assert opened.complaints == []


def test_a_saved_result_makes_the_page_of_its_run_wherever_it_was_moved(folder: Path) -> None:
    options = ["--json", "r.json", "--trace-out", "traces", "--html", "run.html", "-i", "third_step_free"]
    assert call("explore", "stairs.py", "-b", "top=3", *options, folder=folder).code == 1
    run = call("show", "r.json", "--html", "again.html", "--spec", "stairs.py", folder=folder)
    assert (run.code, run.out, run.err) == (0, "saved again.html: 1 trace\n", "")
    pages = [(folder / name).read_text(encoding="utf-8") for name in ("run.html", "again.html")]
    assert pages[0] == pages[1]
    moved = folder / "moved"
    moved.mkdir()
    for file in (folder / "r.json", *(folder / "traces").iterdir()):
        file.rename(moved / file.name)
    assert call("show", "moved/r.json", "--html", "moved.html", "--spec", "stairs.py", folder=folder).code == 0
    assert (folder / "moved.html").read_text(encoding="utf-8") == pages[1]


def test_a_result_that_is_not_whole_ends_in_one_line(folder: Path) -> None:
    call("explore", "stairs.py", "--json", "r.json", folder=folder)
    content = json.loads((folder / "r.json").read_text(encoding="utf-8"))
    del content["states_per_depth"]
    (folder / "r.json").write_text(json.dumps(content), encoding="utf-8")
    complaint = call("show", "r.json", "--html", "x.html", folder=folder).complaint
    assert complaint == "r.json was not written by this version of leadline: create it again with --json"
    (folder / "r.json").write_text("{", encoding="utf-8")
    assert "is not valid JSON" in call("show", "r.json", "--html", "x.html", folder=folder).complaint


def test_what_a_spec_raises_is_not_blamed_on_the_result(folder: Path) -> None:
    call("explore", "stairs.py", "-b", "top=3", "--json", "r.json", "--trace-out", ".", folder=folder)
    drawing = "bounds=Bounds(),\n    drawing=Drawing(rows=lambda state: {}['row']),\n"
    drawn = STAIRS.replace("bounds=Bounds(),\n", drawing).replace(
        "\nfrom leadline.checker", "\nfrom leadline.checker.drawing import Drawing\nfrom leadline.checker"
    )
    write(folder, stairs=drawn)
    complaint = call("show", "r.json", "--html", "x.html", "--spec", "stairs.py", folder=folder).complaint
    assert complaint.startswith("the drawing's rows raised KeyError: 'row'")


@pytest.mark.parametrize("command", ["explore", "fuzz"])
def test_a_page_that_cannot_be_written_is_refused_before_the_search(folder: Path, command: str) -> None:
    complaint = call(command, "stairs.py", "--html", "no/x.html", folder=folder).complaint
    assert complaint == "cannot write no/x.html: No such file or directory"


def test_the_page_of_a_running_search_is_written_and_a_full_disk_does_not_end_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages: list[str] = []

    def update(files: Files, name: str, subject: object) -> None:
        written(files, name, subject)
        pages.append((folder / "run.html").read_text(encoding="utf-8"))
        raise LeadlineError("cannot write run.html: No space left on device")

    written = Files.update
    monkeypatch.setattr(Files, "update", update)
    monkeypatch.setattr(running, "PAGE_SECONDS", 0)
    run = call("explore", "stairs.py", "-b", "top=3", "--engine", "oracle", "--html", "run.html", folder=folder)
    assert run.code == 1
    assert "incomplete: the search is still running: load this page again later" in re.sub("<[^>]*>", "", pages[0])
    assert "still running" not in (folder / "run.html").read_text(encoding="utf-8")
