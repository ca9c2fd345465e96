"""The formats of a trace, each read by its tool, or by the tool's own rules."""

from __future__ import annotations

import functools
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import attrs
import itf_py
import networkx as nx
import pytest
from playwright.sync_api import Page

from leadline.checker import Spec, Trace, action, invariant
from leadline.checker.drawing import Cell, Drawing, Mark, Message, Row
from leadline.checker.engines import ENGINES
from leadline.checker.engines.oracle import explore
from leadline.checker.traces.graph import neighbourhood
from leadline.checker.traces.itf import decode_trace
from leadline.invariants.catalog import CATALOG
from leadline.reports.terminal import trace as terminal
from leadline.reports.traces.dot import dot
from leadline.reports.traces.mermaid import MOST_CHARACTERS, mermaid
from leadline.reports.traces.shiviz import PATTERN, shiviz
from leadline.reports.traces.story import Story, story_of, story_of_file
from tests.browser.chromium import MERMAID, chromium, needs_chromium, needs_mermaid
from tests.specs.two_phase_commit import tm_commits_too_soon, two_phase_commit
from tests.suite.command import STAIRS, Run, call, write

LOSS = "atomic-hw-truncation-strong_isr.itf.json"

needs_graphviz = pytest.mark.skipif(
    shutil.which("dot") is None, reason="there is no dot here: apt-get install graphviz"
)


DRAWN = ("loss", "kip-279", "kip-320-first-try", "two-phase")
NASTY = "nasty"


def loss() -> Trace[Any]:
    """The loss of committed data before 0.11, in ten states."""
    return explore(CATALOG["atomic/hw-truncation"].with_properties(["strong_isr"])).properties[0].traces[0]


def traces() -> Iterator[Trace[Any]]:
    """Counterexamples of specs that say how they are drawn, and of one that does not."""
    yield loss()
    for name in ("atomic/kip-279", "atomic/kip-320-first-try"):
        spec = CATALOG[name].with_bounds({"brokers": 3, "log_size": 1, "records": 1, "max_epoch": 2})
        yield ENGINES["compiled"](spec.with_properties(["strong_isr"])).properties[0].traces[0]
    two_phases = two_phase_commit(3, tm_commits_too_soon)
    yield next(item.traces[0] for item in explore(two_phases).properties if item.traces)


@functools.cache
def stories() -> dict[str, Story]:
    """The stories of these traces, and one whose sentences hold what would break a diagram."""
    made = dict(zip(DRAWN, map(story_of, traces()), strict=True))
    first = made[DRAWN[0]]
    sentence = 'the end; a "loop" # <b>alt</b> & `x` %% {y} \\ par: -->> end'
    return {
        **made,
        NASTY: attrs.evolve(first, frames=tuple(attrs.evolve(each, sentence=sentence) for each in first.frames)),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the trace of the loss."""
    made = tmp_path_factory.mktemp("formats")
    assert call("explore", "atomic/hw-truncation", "-i", "strong_isr", "--trace-out", ".", folder=made).code == 1
    return made


def shown(folder: Path, form: str, file: str = LOSS) -> Run:
    """What `leadline show` writes in a format."""
    run = call("show", file, "--format", form, folder=folder)
    assert (run.code, run.err) == (0, "")
    return run


# Space and time


def test_a_message_is_drawn_from_where_it_was_sent_to_where_it_arrived() -> None:
    diagram = story_of(loss()).diagram
    assert diagram.lanes == ("controller", "producers", "broker 0", "broker 1")
    found = [
        (message.source, message.target, message.text, each.sent, each.ended, each.lost)
        for each in diagram.deliveries
        for message in [each.message]
    ]
    assert found == [
        ("controller", "broker 0", "LeaderAndIsr, epoch 0", 1, 3, True),  # overtaken by the next one
        ("controller", "broker 1", "LeaderAndIsr, epoch 0", 1, 5, False),
        ("controller", "broker 0", "LeaderAndIsr, epoch 1", 2, 3, False),
        ("controller", "broker 1", "LeaderAndIsr, epoch 1", 2, 9, False),
        ("producers", "broker 0", "m0@1", 4, 4, False),
        ("broker 0", "broker 1", "m0@1, HW 0", 6, 6, False),
        ("broker 1", "broker 0", "LEO 1", 8, 8, False),
        ("broker 0", "controller", "ISR 0 1", 8, 8, False),
    ]
    assert [frame.lost for frame in story_of(loss()).frames][3] == (
        Message("controller", "broker 0", "LeaderAndIsr, epoch 0", "leader 0, ISR 0 1"),
    )
    assert diagram.touched[0] == ()
    assert diagram.touched[7:] == (("broker 0",), ("broker 1", "broker 0", "controller"), ("broker 1",))


def test_a_picture_has_the_cells_of_each_log_and_its_marks() -> None:
    before, after = story_of(loss()).diagram.rows[-2:]
    assert before["broker 1"].cells == (Cell("m0", "epoch 1", 1),)
    assert before["broker 1"].marks == (Mark("HW", 0), Mark("LEO", 1))
    assert before["broker 1"].badges == ("follows 0", "epoch 0")
    assert before["broker 1"].standing == ("in the ISR",)
    assert after["broker 1"].cells == ()
    assert after["broker 0"].marks == (Mark("HW", 1), Mark("LEO", 1))


def test_a_spec_without_a_drawing_has_a_lane_for_each_component() -> None:
    diagram = stories()["two-phase"].diagram
    assert diagram.deliveries == ()
    assert set(diagram.lanes) == {row for frame in stories()["two-phase"].frames for row in frame.rows}
    for number, frame in enumerate(stories()["two-phase"].frames):
        assert set(diagram.touched[number]) >= {row for row, _ in frame.changed}


# Mermaid


@attrs.frozen
class Growing:
    """A state that is drawn with one row more in each step."""

    rows: int


def growing_rows(state: Growing) -> dict[str, Row]:
    """Its rows."""
    return {f"row {number}": Row(cells=[Cell("x")]) for number in range(state.rows)}


@action("a row comes")
def grow(state: Growing) -> Iterator[Growing]:
    """One row more."""
    yield Growing(state.rows + 1)


@attrs.frozen
class NoBounds:
    """Nothing to bound."""


@pytest.mark.parametrize("first", [0, 1])
def test_rows_may_come_in_later_states(first: int) -> None:
    spec = Spec(
        name="growing",
        summary="rows that come",
        initial_states=lambda _: [Growing(first)],
        actions=[grow],
        properties=[],
        bounds=NoBounds(),
        drawing=Drawing(rows=growing_rows),
    )
    states = [Growing(first + step) for step in range(3)]
    story = story_of(Trace(spec, states, spec.instances * 2))
    assert story.diagram.lanes == tuple(f"row {number}" for number in range(first + 2))
    assert [frame.losses for frame in story.frames] == ["", "", ""]
    assert story.diagram.touched == ((), (f"row {first}",), (f"row {first + 1}",))


def test_a_state_without_variables_has_one_row() -> None:
    recorded = decode_trace({"vars": [], "states": [{}, {}]})
    story = story_of_file(recorded)
    assert story.diagram.lanes == ("state",)
    assert "Note over r0: 2." in mermaid(story)


@pytest.fixture(scope="module")
def mermaid_page() -> Iterator[Page]:
    """A page with mermaid, which returns how it parses a text."""
    for browser in chromium():
        page = browser.new_page()
        page.add_script_tag(path=MERMAID)
        yield page


def drawn(page: Page, text: str) -> str:
    """The SVG that mermaid makes of a text; it raises what mermaid says of one it cannot read."""
    script = "text => mermaid.parse(text).then(() => mermaid.render('drawn', text)).then(found => found.svg)"
    made: str = page.evaluate(script, text)
    return made


@needs_chromium
@needs_mermaid
@pytest.mark.parametrize("name", [*DRAWN, NASTY])
def test_mermaid_draws_a_sequence_diagram_with_every_row_and_arrow(mermaid_page: Page, name: str) -> None:
    story = stories()[name]
    svg = drawn(mermaid_page, mermaid(story))
    texts = " ".join(re.sub(r"<[^>]*>", "", part) for part in re.findall(r"<text.*?</text>", svg, re.DOTALL))
    assert all(row in texts for row in story.diagram.lanes)
    arrived = [each for each in story.diagram.deliveries if each.ended is not None]
    assert len(re.findall(r'class="messageText"', svg)) == len(arrived)


@needs_chromium
@needs_mermaid
def test_mermaid_shows_what_would_break_it_as_it_is(mermaid_page: Page) -> None:
    svg = drawn(mermaid_page, mermaid(stories()[NASTY]))
    read = "new DOMParser().parseFromString(svg, 'text/html').querySelectorAll('text')"
    text = " ".join(mermaid_page.evaluate(f"svg => [...{read}].map(text => text.textContent)", svg))
    assert '2. the end; a "loop" # <b>alt</b> & `x` %% {y} \\ par: -->> end' in " ".join(text.split())


@needs_chromium
@needs_mermaid
def test_the_test_of_mermaid_can_fail(mermaid_page: Page) -> None:
    with pytest.raises(Exception, match="Parse error"):
        drawn(mermaid_page, mermaid(stories()["loss"]).replace("->>", "->>>;"))


def test_of_a_long_trace_the_end_is_drawn_and_what_is_left_out_is_said() -> None:
    story = stories()["loss"]
    text = mermaid(story, most=1_000)
    assert len(text) <= 1_000 < len(mermaid(story)) < MOST_CHARACTERS
    (left_out,) = re.findall(r"(\d+) earlier states are left out", text)
    assert [int(number) for number in re.findall(r": (\d+)\. ", text)] == list(range(int(left_out) + 1, 11))
    assert "strong_isr is violated" in text


def test_of_a_very_long_trace_the_beginning_and_the_end_are_shown() -> None:
    with mock.patch.object(terminal, "MOST_STATES", 3):
        shown = terminal.plain_text(loss())
    count = len(loss())
    numbers = re.findall(r"^ *([0-9]+)/", shown, re.MULTILINE)
    assert numbers == ["1", str(count - 1), str(count)]
    assert f"{count - 3} states are left out; `leadline show FILE --format json` has all" in shown


def test_mermaid_gets_no_end_in_any_case_and_shows_it_in_its_own() -> None:
    frames = (stories()["loss"].frames[0], attrs.evolve(stories()["loss"].frames[1], sentence="the End, THE END"))
    text = mermaid(attrs.evolve(stories()["loss"], frames=frames))
    assert "2. the E#110;d, THE E#78;D" in text


# ShiViz


def events(log: str) -> list[tuple[str, dict[str, int], str]]:
    """A log as ShiViz reads it."""
    pattern = re.compile(PATTERN.replace("(?<", "(?P<"))
    found = [(m["host"], json.loads(m["clock"]), m["event"]) for m in pattern.finditer(log)]
    assert len(found) * 2 == log.count("\n")
    return found


def check_clocks(log: str) -> None:
    """What ShiViz asks of vector clocks: an event counts itself, and knows all that those it knows of knew."""
    seen: dict[tuple[str, int], dict[str, int]] = {}
    for host, clock, _ in events(log):
        assert clock[host] == 1 + max([count for known, count in seen if known == host], default=0)
        seen[host, clock[host]] = clock
        for other, count in clock.items():
            assert (other, count) in seen
            assert all(clock[known] >= least for known, least in seen[other, count].items())
        before = seen.get((host, clock[host] - 1), {})
        assert all(clock[known] >= least for known, least in before.items())


@pytest.mark.parametrize("name", DRAWN)
def test_shiviz_clocks_follow_their_rules_and_every_message(name: str) -> None:
    story = stories()[name]
    log = shiviz(story)
    check_clocks(log)
    clocks = {(host, int(text.split(".")[0])): clock for host, clock, text in events(log)}
    assert len(clocks) == sum(map(len, story.diagram.touched))
    for each in story.diagram.deliveries:
        if each.arrives and each.ended is not None:
            sender, receiver = each.message.source.replace(" ", "-"), each.message.target.replace(" ", "-")
            sent, received = clocks[sender, each.sent + 1], clocks[receiver, each.ended + 1]
            assert all(received[host] >= count for host, count in sent.items())


def test_what_is_not_known_is_not_in_a_clock() -> None:
    clocks = {(host, text.split(".")[0]): clock for host, clock, text in events(shiviz(stories()["loss"]))}
    assert clocks["broker-1", "6"] == {"broker-1": 1, "controller": 1}  # epoch 0: not yet of the second request
    assert clocks["broker-1", "10"] == {"broker-0": 3, "broker-1": 4, "controller": 2, "producers": 1}


def test_a_row_that_is_only_read_tells_the_reader_and_learns_nothing() -> None:
    """A leader raises its high watermark: it knows of both followers' logs, and they of nothing new."""

    @invariant("nothing is committed")
    def nothing_committed(state: Any) -> bool:
        return all(replica.high_watermark == 0 for replica in state.replicas)

    spec = CATALOG["atomic/kip-320"].with_bounds({"brokers": 3, "max_epoch": 1})
    kept = [action for action in spec.actions if "shrinks" not in action.name]
    changed = attrs.evolve(spec, actions=kept, properties=[nothing_committed])
    (trace,) = ENGINES["compiled"](changed).properties[0].traces
    assert trace.instances[-1].action.name == "advance_high_watermark"
    log = shiviz(story_of(trace))
    check_clocks(log)
    clocks = {(host, int(text.split(".")[0])): clock for host, clock, text in events(log)}
    leader, last = f"broker-{trace.instances[-1].arguments['leader']}", len(trace)
    for follower in {"broker-0", "broker-1", "broker-2"} - {leader}:
        before = [clock for host, clock, _ in events(log) if host == follower][-2]
        assert clocks[follower, last] == {**before, follower: before[follower] + 1}
        assert clocks[leader, last][follower] == clocks[follower, last][follower]


@pytest.mark.parametrize(
    ("clock", "wrong"), [('"controller": 2', '"controller": 3'), ('"broker-0": 3', '"broker-0": 4')]
)
def test_the_test_of_clocks_can_fail(clock: str, wrong: str) -> None:
    log = shiviz(stories()["loss"])
    assert clock in log
    with pytest.raises(AssertionError):
        check_clocks(log.replace(clock, wrong, 1))


# DOT


def read_by_graphviz(text: str) -> nx.MultiDiGraph[Any]:
    """What Graphviz's own dot reads in a text."""
    run = subprocess.run(["dot", "-Tjson0"], input=text, capture_output=True, encoding="utf-8", check=True)
    assert run.stderr == ""
    content = json.loads(run.stdout)
    graph: nx.MultiDiGraph[Any] = nx.MultiDiGraph()
    graph.add_nodes_from((node["_gvid"], node) for node in content["objects"])
    graph.add_edges_from((edge["tail"], edge["head"], edge) for edge in content.get("edges", []))
    return graph


@needs_graphviz
def test_the_neighbourhood_of_a_trace_is_the_graph_that_graphviz_reads(folder: Path) -> None:
    trace = loss()
    expected = neighbourhood(trace)
    assert set(trace.states) < set(expected)
    read = read_by_graphviz(shown(folder, "dot").out)
    assert (read.number_of_nodes(), read.number_of_edges()) == (
        expected.number_of_nodes(),
        expected.number_of_edges(),
    )
    bold = [node for node, data in read.nodes(data=True) if data.get("penwidth") == "3"]
    path = [edge for *_, edge in read.edges(data=True) if edge.get("penwidth") == "3"]
    assert (len(bold), len(path)) == (10, 9)
    assert {edge["label"] for edge in path} == {repr(instance) for instance in trace.instances}


@needs_graphviz
def test_graph_draws_the_whole_of_a_small_space(tmp_path: Path) -> None:
    run = call("show", "stairs.py", folder=write(tmp_path, stairs=STAIRS))
    assert (run.code, run.err) == (0, "")
    read = read_by_graphviz(run.out)
    assert (read.number_of_nodes(), read.number_of_edges()) == (3, 6)
    assert sorted(edge["label"] for *_, edge in read.edges(data=True)) == [
        "down()", "down()", "up(foot=left)", "up(foot=left)", "up(foot=right)", "up(foot=right)",
    ]  # fmt: skip
    assert [data["label"] for _, data in read.nodes(data=True) if data.get("peripheries") == "2"] == [
        "state: height 0  top 2\\l"
    ]
    assert [data for _, data in read.nodes(data=True) if "fillcolor" in data] == []


def test_graph_draws_the_whole_of_a_small_space_in_which_liveness_is_undecided(tmp_path: Path) -> None:
    promise = "@eventually('high up')\ndef high_up(state):\n    return state.height == 2\n\n\n"
    source = STAIRS.replace("import Spec,", "import Spec, eventually,").replace(
        "spec = Spec(", f"{promise}spec = Spec("
    )
    source = source.replace('foot=("left", "right"))', 'foot=("left", "right"), fair="weak")')
    within = "properties=[high_up], within=lambda state: state.height < 1, "
    write(tmp_path, stairs=re.sub(r"properties=\[[^]]*\],\s*", within, source))
    assert call("explore", "stairs.py", folder=tmp_path).code == 3
    whole = call("show", "stairs.py", folder=tmp_path)
    assert whole.code == 0
    assert whole.out.count('label="state:') == 2, "the state that is within, and the next one"


@needs_graphviz
def test_graph_colours_the_states_that_violate_an_invariant(tmp_path: Path) -> None:
    run = call("show", "stairs.py", "-b", "top=3", folder=write(tmp_path, stairs=STAIRS))
    coloured = [data["label"] for _, data in read_by_graphviz(run.out).nodes(data=True) if "fillcolor" in data]
    assert coloured == ["state: height 3  top 3\\l"]


@needs_graphviz
def test_graph_draws_what_is_around_the_counterexample_of_a_large_space(tmp_path: Path) -> None:
    run = call("show", "atomic/hw-truncation", "-i", "strong_isr", folder=tmp_path)
    assert (run.code, run.err) == (0, "")
    read = read_by_graphviz(run.out)
    assert len([node for node, data in read.nodes(data=True) if data.get("penwidth") == "3"]) == 10


def test_graph_refuses_a_large_space_without_a_counterexample(tmp_path: Path) -> None:
    complaint = call("show", "atomic/kip-320", folder=tmp_path).complaint
    assert complaint.startswith("atomic/kip-320 has more than 200 states, and no counterexample to draw: use")


@needs_graphviz
def test_what_dot_would_read_otherwise_is_escaped() -> None:
    @attrs.frozen
    class Odd:
        text: str

    odd = Odd('a "quote", a \\n, <b> and {x|y}')
    graph: nx.MultiDiGraph[Any] = nx.MultiDiGraph()
    graph.add_node(odd)
    spec: Spec[Any] = Spec(name="odd", initial_states=lambda _: [odd], actions=[grow])
    (_, data), *_ = read_by_graphviz(dot(spec, graph)).nodes(data=True)
    assert data["label"] == 'state: text a "quote", a \\\\n, <b> and {x|y}\\l'


# ITF, JSON, text


def test_itf_is_read_by_itf_py_and_is_what_was_saved(folder: Path) -> None:
    out = shown(folder, "itf").out
    read = itf_py.trace_from_json(json.loads(out))
    assert len(read.states) == 10
    assert json.loads(out) == json.loads((folder / LOSS).read_text(encoding="utf-8"))


def test_json_has_every_step_its_changes_and_its_messages(folder: Path) -> None:
    content = shown(folder, "json").json
    assert [state["action"] for state in content["states"]] == [None, *map(repr, loss().instances)]
    assert content["states"][-1]["changed"] == [["broker 1", column] for column in ("ISR", "LEO", "epoch", "log")]
    assert content["messages"][-1]["text"] == "ISR 0 1"
    assert content["ending"][0].startswith("strong_isr is violated")
    assert shown(folder, "json").out.isascii()  # so that it is whole in any encoding of standard output


def test_text_is_what_is_shown_without_a_format(folder: Path) -> None:
    assert shown(folder, "text").out == call("show", LOSS, folder=folder).out


def shown_without_its_spec(folder: Path, form: str) -> Run:
    """A trace of the stairs in some format, when their file is not named."""
    write(folder, stairs=STAIRS)
    call("explore", "stairs.py", "-b", "top=3", "--trace-out", ".", folder=folder)
    (file,) = folder.glob("*.itf.json")
    return call("show", file.name, "--format", form, folder=folder)


@pytest.mark.parametrize("form", ["mermaid", "shiviz", "json"])
def test_without_the_spec_a_trace_is_shown_as_it_was_recorded(tmp_path: Path, form: str) -> None:
    run = shown_without_its_spec(tmp_path, form)
    assert run.code == 0
    assert run.err.startswith(
        "leadline: the trace is shown as recorded, not replayed: stairs.py:spec is a Python file, "
    )
    assert "up(foot=left)" in run.out


@pytest.mark.parametrize("form", ["dot", "itf"])
def test_a_format_that_needs_the_model_says_so(tmp_path: Path, form: str) -> None:
    run = shown_without_its_spec(tmp_path, form)
    assert (run.code, run.out) == (2, "")
    assert f"--format {form} requires a trace that can be replayed: " in run.err
