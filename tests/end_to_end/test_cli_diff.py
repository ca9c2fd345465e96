"""`leadline diff`: behaviours of one spec that another does not have."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import attrs
import pytest

import leadline.reports.cli.diff
from leadline.checker import Limits, Result, Spec, SpecError
from leadline.checker.engines import ENGINES
from leadline.checker.engines.oracle import explore
from leadline.checker.result import Stop, StopKind
from leadline.checker.traces.divergence import first_parting, follow
from leadline.invariants.catalog import CATALOG
from leadline.reports.differences import Change, Difference, changes
from leadline.reports.loading import load_spec
from tests.browser.chromium import chromium, needs_chromium
from tests.browser.opened_page import Opened
from tests.suite.command import STAIRS, call, write

KINDS = (
    STAIRS
    + """

@action("the climber sets its {foot} foot one step higher, up to the second", foot=("left", "right"))
def up(state: Climber, foot: str) -> Iterator[Climber]:
    if state.height < min(state.top, 2):
        yield evolve(state, height=state.height + 1)


careful = evolve(spec, name="careful", actions=[up, down, fly])


@action("the climber leaps all the way down")
def down(state: Climber) -> Iterator[Climber]:
    if state.height > 0:
        yield evolve(state, height=0)


leaping = evolve(spec, name="leaping", actions=[*spec.actions[:1], down, fly])


@action("the climber flies over the stairs")
def fly(state: Climber) -> Iterator[Climber]:
    if state.height == 0:
        yield evolve(state, height=state.top + 1)


flying = evolve(spec, name="flying", actions=[careful.actions[0], down, fly])
"""
)
"""Stairs; then stairs with at most two steps up, with a way down that is a leap, and with a flight over the stairs."""


EARLY = """
import attrs

from leadline.invariants.families.kafka import KAFKA
from leadline.model.kafka.broker import Replica
from leadline.model.kafka.releases import column_of


def nearly(leader: Replica, offset: int) -> bool:
    return offset >= leader.high_watermark - 1


column = column_of("kafka/4.3")
spec = KAFKA.spec(column, attrs.evolve(column.protocol(), name="early", admits=nearly))
"""
"""Kafka 4.3 with a rule of its own, which lets followers join the ISR too early."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with three kinds of stairs."""
    return write(tmp_path, stairs=KINDS)


def test_what_kip_279_mends_in_kip_101_is_shown_where_it_happens(tmp_path: Path) -> None:
    options = ("-b", "max_epoch=2", "-i", "strong_isr", "--html", "page.html")
    run = call("diff", "atomic/kip-101", "atomic/kip-279", *options, folder=tmp_path)
    assert (run.code, run.err) == (1, "")
    assert "what differs in rules and bounds: truncates_to<" in (tmp_path / "page.html").read_text(encoding="utf-8")
    (at,) = (index for index, line in enumerate(run.lines) if "11 states alike; from there on:" in line)
    assert run.lines[at + 1].split() == ["atomic/kip-101", "atomic/kip-279"]
    tail = "\n".join(run.lines[at:])
    assert "broker 1 loses m0, m1 from offset 0               broker 1 loses m1 from offset 1" in tail
    assert "atomic/kip-101: strong_isr is violated: " in tail
    assert "atomic/kip-279 takes the same actions, and strong_isr is true at their end" in tail


def test_two_releases_tell_the_story_of_the_bug_and_the_rules_that_differ(tmp_path: Path) -> None:
    run = call("diff", "kafka/2.8", "kafka/2.8.1", "-b", "acks=all", "-i", "committed_never_lost", folder=tmp_path)
    assert (run.code, run.err) == (1, "")
    (at,) = (index for index, line in enumerate(run.lines) if line == "what happened")
    told = " ".join(" ".join(run.lines[at:]).split())
    assert "counted broker 1 assumes that broker 0's log end offset is 1, but broker 0 does not have m1" in told
    assert "kafka/2.8.1 does not take handle_alter_partition(leader=1) here" in told
    assert "rule diverging_fetch: counted → ignored (what a leader does with the offset of a diverging fetch)" in told
    assert "counted: it takes the offset as the follower's log end offset" in told
    assert "ignored: it ignores the offset (KAFKA-13141)" in told
    assert [line.split(":")[0] for line in run.lines if line.startswith(("rule ", "bound "))] == [
        "rule diverging_fetch",
        "rule late_diverging",
        "rule start_test",
    ]


def test_the_order_of_the_specs_does_not_matter_for_which_one_is_bad(tmp_path: Path) -> None:
    run = call("diff", "atomic/kip-279", "atomic/kip-101", "-b", "max_epoch=2", "-i", "strong_isr", folder=tmp_path)
    assert "atomic/kip-101: strong_isr is violated: " in run.out


def test_both_directions_are_shown_if_each_spec_has_its_own_counterexample(folder: Path) -> None:
    specs = ("stairs.py:spec", "stairs.py:flying")
    run = call("diff", *specs, "-b", "top=3", "--html", "d.html", folder=folder)
    assert (run.code, run.err) == (1, "")
    assert sum("alike; from there on:" in line for line in run.lines) == 2
    told = " ".join(run.out.split())
    page = (folder / "d.html").read_text()
    assert f"only {specs[0]} violates third_step_free, in a trace of 4 states" in told
    assert f"only {specs[1]} violates on_stairs, in a trace of 2 states" in told
    assert f"why {specs[1]} violates on_stairs" in page
    assert f"<h1>What differs between {specs[0]} and {specs[1]}</h1>" in page
    assert f"leadline diff {specs[1]} {specs[0]} -b top=3 -i on_stairs" in page


def test_a_search_of_the_second_spec_that_does_not_end_is_limited(folder: Path) -> None:
    with mock.patch.object(leadline.reports.cli.diff, "MOST_STATES", 2):
        run = call("diff", "stairs.py:spec", "stairs.py:careful", "-b", "top=3", folder=folder)
    assert (run.code, run.err) == (1, "")
    told = " ".join(run.out.split())
    wanted = "no counterexample was found that stairs.py:careful has and stairs.py:spec does not have in "
    assert f"{wanted}2 states; the search is incomplete" in told


def test_a_counterexample_that_the_other_does_not_take_says_where_it_stops(folder: Path) -> None:
    run = call("diff", "stairs.py:spec", "stairs.py:careful", "-b", "top=3", folder=folder)
    assert (run.code, run.err) == (1, "")
    assert "    3 states alike; from there on:" in run.lines
    told = " ".join(run.out.split())
    assert "does not take up(foot=left) here (the climber sets its left foot one step higher)" in told


def test_without_a_counterexample_it_is_the_shortest_behaviour_of_one_only(folder: Path) -> None:
    run = call("diff", "stairs.py:spec", "stairs.py:leaping", folder=folder)
    assert (run.code, run.err) == (1, "")
    assert "    3 states alike; from there on:" in run.lines
    assert "stairs.py:leaping leads elsewhere" in run.lines
    loaded: dict[Path, ModuleType] = {}
    left, right = (load_spec(f"stairs.py:{name}", folder, loaded) for name in ("spec", "leaping"))
    parting = first_parting(left, right)
    assert parting is not None
    assert [state.height for state in parting.first.states] == [0, 1, 2, 1]
    assert [state.height for state in parting.second.states] == [0, 1, 2, 0]


def test_specs_that_behave_alike_end_in_0(folder: Path) -> None:
    run = call("diff", "stairs.py:spec", "stairs.py:careful", folder=folder)
    assert (run.code, run.out) == (0, "stairs.py:spec and stairs.py:careful have the same behaviours\n")


def test_a_limit_is_no_answer(folder: Path) -> None:
    with mock.patch.object(leadline.reports.cli.diff, "MOST_STATES", 2):
        run = call("diff", "stairs.py:spec", "stairs.py:leaping", folder=folder)
    assert (run.code, run.out) == (
        3,
        "incomplete: stairs.py:spec and stairs.py:leaping do not differ in the 2 states searched\n",
    )


def test_specs_of_different_kinds_cannot_be_compared(folder: Path) -> None:
    with pytest.raises(SpecError, match="cannot be compared, because their states have different classes; "):
        first_parting(load_spec("stairs.py:spec", folder), CATALOG["atomic/kip-101"])


def test_a_behaviour_is_followed_into_the_same_states_where_that_is_possible() -> None:
    trace = explore(CATALOG["atomic/hw-truncation"].with_properties(["strong_isr"])).properties[0].traces[0]
    same = follow(trace, CATALOG["atomic/hw-truncation"])
    assert (same.second.states, same.refused, same.shared) == (trace.states, None, len(trace))
    other = follow(trace, CATALOG["atomic/kip-320"])
    assert str(other.refused) == "become_follower(broker=1, epoch=0)"
    assert other.shared == len(other.second) == 5


@needs_chromium
def test_both_traces_are_side_by_side_on_one_page_and_step_together(tmp_path: Path) -> None:
    options = ("-b", "max_epoch=2", "-i", "strong_isr", "--html", "d.html")
    run = call("diff", "atomic/kip-101", "atomic/kip-279", *options, folder=tmp_path)
    assert (run.code, run.lines[-2]) == (1, "saved d.html")
    for browser in chromium():
        opened = Opened(browser, tmp_path / "d.html", viewport={"width": 1400, "height": 900})
        assert opened.states == ["t1-s12", "t2-s12"]  # the first that differ
        left, right = (opened.page.locator(f"#{name}").bounding_box() for name in opened.states)
        assert left is not None
        assert right is not None
        assert left["y"] == right["y"]
        assert left["x"] + left["width"] < right["x"]
        opened.page.keyboard.press("ArrowLeft")
        assert opened.states == ["t1-s11", "t2-s11"]
        opened.page.set_viewport_size({"width": 400, "height": 800})
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 400
        assert opened.complaints == []


@needs_chromium
def test_a_trace_that_ends_before_the_one_beside_it_stays_at_its_end(folder: Path) -> None:
    call("diff", "stairs.py:spec", "stairs.py:careful", "-b", "top=3", "--html", "d.html", folder=folder)
    for browser in chromium():
        opened = Opened(browser, folder / "d.html")
        assert opened.states == ["t1-s4", "t2-s3"]
        assert opened.page.locator("article.ended").count() == 1
        assert (
            opened.page.locator("article")
            .get_by_text("stairs.py:careful does not take up(foot=left) here (the climber")
            .is_visible()
        )
        headings = opened.page.locator(".about h2").all_inner_texts()
        assert headings == ["stairs.py:spec", "stairs.py:careful"]
        states = opened.page.locator("article.ended .states")
        assert states.evaluate("it => getComputedStyle(it).opacity") == "1"  # it can be read
        opened.page.keyboard.press("ArrowLeft")
        assert opened.states == ["t1-s3", "t2-s3"]
        assert opened.page.locator("article.ended").count() == 0


def test_a_page_that_cannot_be_written_is_refused_before_the_search(folder: Path) -> None:
    complaint = call("diff", "stairs.py:spec", "stairs.py:careful", "--html", "no/d.html", folder=folder).complaint
    assert complaint == "cannot write no/d.html: No such file or directory"


@pytest.mark.parametrize(
    "command", [("diff", "stairs.py:spec", "stairs.py:careful"), ("show", "stairs.py:spec", "--max-states", "1")]
)
def test_an_interrupt_during_the_search_ends_the_command(folder: Path, command: tuple[str, ...]) -> None:
    def interrupted(spec: Spec[Any], limits: Limits, *_: object) -> Result:
        return attrs.evolve(explore(spec, limits), stop=Stop(StopKind.INTERRUPT, "interrupted"))

    with mock.patch.dict(ENGINES, compiled=interrupted):
        run = call(*command, folder=folder)
    assert (run.code, run.out, run.err.strip()) == (3, "", "leadline: interrupted")


DECIDED = [
    # Three rules differ, too, and with acks=1 the record is lost by design.
    ("kafka/2.8 kafka/3.0", "bound acks: 1 → all"),
    (
        "kafka/2.8 kafka/2.8.1 -b max_epoch=2,crashes=1,isr_shrinks=0 -i committed_never_lost",
        "rule diverging_fetch: counted → ignored",
    ),
    (
        "atomic/kip-101 atomic/kip-279 -b max_epoch=2 -i strong_isr",
        "rule truncates_to: end_of_own_last_epoch → end_of_agreement",
    ),
    ("kafka/4.3 early.py -i committed_never_lost", "rule admits: nearly → at the start of the epoch"),
]


@pytest.mark.parametrize(("arguments", "decides"), DECIDED)
def test_a_difference_names_what_decides(tmp_path: Path, arguments: str, decides: str) -> None:
    write(tmp_path, early=EARLY)
    run = call("diff", *arguments.split(), "--html", "page.html", folder=tmp_path)
    assert run.code == 1, run.err
    assert [line for line in run.lines if line.startswith(("what decides", "each of", "no single"))] == [
        f"what decides: {decides}"
    ]
    assert next(line for line in run.lines if line.startswith(("rule ", "bound "))).split()[1] == decides.split()[1]
    assert f"what decides: {decides}" in (tmp_path / "page.html").read_text()


def test_where_several_changes_or_none_decide_alone() -> None:
    first, second = load_spec("atomic/hw-truncation"), load_spec("atomic/kip-320")
    first, second = (each.with_bounds({"max_epoch": 2}).with_properties(["strong_isr"]) for each in (first, second))
    (trace,) = explore(first).properties[0].traces
    parting = follow(trace, second)
    assert [change.prevents(parting) for change in changes(first, second)] == [True, True, False, False]
    assert Difference(first, second, (parting,)).sentences[1].startswith("each of these alone decides: rule truncates")
    with mock.patch.object(Change, "prevents", return_value=False):
        assert Difference(first, second, (parting,)).sentences[1] == "no single difference decides this"
