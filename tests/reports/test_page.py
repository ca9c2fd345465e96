"""The page of traces, in a real browser."""

from __future__ import annotations

import functools
import io
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import attrs
import pytest
from matplotlib.image import imread
from playwright.sync_api import Browser
from pypdf import PdfReader

from leadline.checker import Spec, Trace, action, component, invariant
from leadline.checker.engines import ENGINES
from leadline.checker.engines.oracle import explore
from leadline.checker.traces.itf import write_trace
from leadline.invariants.catalog import CATALOG
from leadline.reports.html import chapter, page
from leadline.reports.traces.mermaid import mermaid
from leadline.reports.traces.story import story_of
from tests.browser.chromium import chromium, needs_chromium
from tests.browser.opened_page import Opened
from tests.suite.command import STAIRS, call, write


@functools.cache
def loss() -> Trace[Any]:
    """The first scenario of the articles: committed data is lost when brokers restart one after the other."""
    spec = CATALOG["rpc/hw-truncation"].with_properties(["committed_never_lost"])
    return ENGINES["compiled"](spec).properties[0].traces[0]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium."""
    yield from chromium()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the articles' loss of data."""
    folder = tmp_path_factory.mktemp("page")
    write_trace(loss(), folder / "loss.itf.json")
    run = call("show", "loss.itf.json", "--html", "loss.html", folder=folder)
    assert (run.code, run.out, run.err) == (0, "saved loss.html: 1 trace\n", "")
    return folder / "loss.html"


@needs_chromium
def test_the_page_opens_from_a_file_with_no_complaint_and_asks_for_nothing_else(browser: Browser, file: Path) -> None:
    opened = Opened(browser, file)
    assert opened.states == ["t1-s12"]  # where the property is violated
    for _ in loss().states:
        opened.page.keyboard.press("ArrowLeft")
    assert opened.complaints == []
    assert opened.requests == [file.as_uri()]


@needs_chromium
def test_keys_step_forward_and_back_and_every_state_has_a_link(browser: Browser, file: Path) -> None:
    opened = Opened(browser, file, "#t1-s1")
    for key, state in [
        ("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2), ("End", 12), ("ArrowRight", 12), ("Home", 1),
        ("ArrowLeft", 1),
    ]:  # fmt: skip
        opened.page.keyboard.press(key)
        assert opened.states == [f"t1-s{state}"]
        assert opened.page.url.endswith(f"#t1-s{state}")
        assert opened.page.locator("output").inner_text() == f"{state} / 12"
        assert opened.page.locator(".band.now").get_attribute("data-step") == str(state)
    linked = Opened(browser, file, "#t1-s6")
    assert linked.states == ["t1-s6"]
    assert linked.page.locator("section:visible h2").inner_text() == "6/12 broker 1 crashes HW lost"
    linked.page.get_by_role("button", name="step forward").click()
    assert linked.states == ["t1-s7"]
    linked.page.locator(".steps a").nth(8).click()
    linked.wait_for("t1-s9")


@needs_chromium
def test_the_high_watermark_and_log_end_are_drawn_where_the_trace_has_them(browser: Browser, file: Path) -> None:
    opened = Opened(browser, file, "#t1-s1")
    seen = []
    for state in loss().states:
        for broker, replica in enumerate(state.replicas):
            found = opened.marks(2 + broker)
            assert found == {"HW": replica.high_watermark, "LEO": replica.log.end_offset}
            seen.append(found["HW"])
        opened.page.keyboard.press("ArrowRight")
    assert set(seen) == {0, 1}  # it moves


@needs_chromium
def test_a_mark_is_drawn_at_the_edge_of_its_offset(browser: Browser, file: Path) -> None:
    opened = Opened(browser, file, "#t1-s5")
    log = opened.page.locator("section:visible .row-log").nth(2)
    cell, line = log.locator(".cell rect").bounding_box(), log.locator("[data-mark=HW] line").bounding_box()
    assert cell is not None
    assert line is not None
    assert line["x"] + line["width"] / 2 == pytest.approx(cell["x"] + cell["width"], abs=3)


@needs_chromium
def test_the_last_state_says_what_is_violated_and_the_top_links_to_it(browser: Browser, file: Path) -> None:
    opened = Opened(browser, file, "#t1-s1")
    opened.page.locator(".happened a").last.click()
    opened.wait_for("t1-s12")
    text = opened.page.locator("section:visible .broken").inner_text()
    assert "committed_never_lost is violated" in text
    assert loss().complaint in text


@needs_chromium
def test_crashes_break_lanes_and_lost_messages_end_in_a_bar(browser: Browser, file: Path) -> None:
    opened = Opened(browser, file)
    assert opened.page.locator(".dot.stop").count() == 2
    assert opened.page.locator(".dot.start").count() == 1
    down = len(list(filter(None, (not replica.up for state in loss().states for replica in state.replicas))))
    assert opened.page.locator(".lane.down").count() == down
    lost = [each for each in story_of(loss()).diagram.deliveries if each.lost]
    assert opened.page.locator(".arrow.lost").count() == len(lost) == 2
    ends = opened.page.locator(".arrow.lost line").evaluate_all("all => all.map(it => it.getAttribute('marker-end'))")
    assert ends == ["url(#t1-bar)"] * 2


@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_readable_in_light_and_dark(browser: Browser, file: Path, scheme: str) -> None:
    opened = Opened(browser, file, "#t1-s12", color_scheme=scheme)
    contrast = """
    element => {
      const light = text => text.match(/[\\d.]+/g).slice(0, 3).map(Number).map(part => part / 255)
        .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
      const [ground, ink] = [document.body, element].map(getComputedStyle);
      const pair = [light(ground.backgroundColor), light(ink.color)].sort((a, b) => b - a);
      return (pair[0] + 0.05) / (pair[1] + 0.05);
    }"""
    for what in ("h1", ".quiet", "section:visible td.changed", "a", ".broken strong"):
        assert opened.page.locator(what).first.evaluate(contrast) >= 4.5, what
    ground = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")


@needs_chromium
def test_on_a_phone_nothing_is_wider_than_the_screen_and_all_is_there(browser: Browser, file: Path) -> None:
    opened = Opened(browser, file, "#t1-s9", viewport={"width": 400, "height": 800}, has_touch=True)
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 400
    assert opened.page.locator("section:visible .row-log").count() == 5
    opened.page.get_by_role("button", name="step back").tap()
    assert opened.states == ["t1-s8"]
    box = opened.page.get_by_role("button", name="step back").bounding_box()
    assert box is not None
    assert min(box["width"], box["height"]) >= 40


@needs_chromium
def test_a_screen_reader_is_told_each_step_and_what_is_drawn(browser: Browser, file: Path) -> None:
    opened = Opened(browser, file, "#t1-s1")
    opened.page.keyboard.press("ArrowRight")
    assert opened.page.locator("[aria-live=polite]").inner_text() == "2/12 a producer writes a record to broker 0"
    logs = opened.page.locator("section:visible svg.log")
    assert logs.nth(1).get_attribute("aria-label") == "broker 0 holds m0 (epoch 0) at offset 0, HW 0, LEO 1"
    assert logs.nth(1).get_attribute("role") == "img"
    assert opened.page.locator(".steps a[aria-current=step]").inner_text() == "a producer writes a record to broker 0"
    buttons = opened.page.locator("button:visible").all()
    assert all(button.get_attribute("aria-label") or button.inner_text() for button in buttons)


@needs_chromium
def test_without_a_script_every_state_is_there_to_read(browser: Browser, file: Path) -> None:
    opened = Opened(browser, file, java_script_enabled=False)
    assert len(opened.states) == len(loss())


@needs_chromium
def test_a_folder_of_traces_is_one_page_with_a_list_of_them(browser: Browser, tmp_path: Path) -> None:
    write(tmp_path, stairs=STAIRS)
    call("explore", "stairs.py", "-b", "top=3", "--trace-out", ".", folder=tmp_path)
    write_trace(loss(), tmp_path / "loss.itf.json")
    run = call("show", ".", "--html", "all.html", "--spec", "stairs.py", folder=tmp_path)
    assert (run.code, run.out, run.err) == (0, "saved all.html: 2 traces\n", "")
    opened = Opened(browser, tmp_path / "all.html")
    assert opened.states == ["t1-s12"]
    opened.page.get_by_role("link", name="third_step_free is violated, 4 states").click()
    # a spec that does not say how it is drawn: its fields, before and now
    opened.wait_for("t2-s4")
    row = opened.page.locator("section:visible table").first.locator("tbody tr")
    assert row.all_inner_texts() == ["state\theight\t2\t3"]
    assert opened.page.locator(".lane-name:visible").all_text_contents() == ["state"]


@attrs.frozen
class Tag:
    text: str = "<b>bold</b>"


@attrs.frozen
class Tags:
    tags: tuple[Tag, ...] = component(each="<i>tag</i>")


@action("it says <script>document.title = 'broken'</script> & goes on")
def say(state: Tags) -> Iterator[Tags]:
    if len(state.tags[0].text) < 60 * 12:
        yield Tags((Tag(f"{state.tags[0].text}</script>\"'"),))


@invariant("no more than <59> are said")
def short(state: Tags) -> bool:
    return state.tags[0].text.count("script") < 59


def long_trace() -> Trace[Tags]:
    """A trace of 60 states, in texts that would break a page that does not escape them."""
    spec = Spec(name="tags", initial_states=lambda _: [Tags((Tag(),))], actions=[say], properties=[short])
    return explore(spec).properties[0].traces[0]


@needs_chromium
def test_a_trace_of_60_states_opens_at_once_and_no_text_of_its_is_taken_for_html(
    browser: Browser, tmp_path: Path
) -> None:
    write_trace(long_trace(), tmp_path / "tags.itf.json")
    assert call("show", "tags.itf.json", "--html", "tags.html", folder=tmp_path).code == 0
    began = time.monotonic()
    opened = Opened(browser, tmp_path / "tags.html", "#t1-s60")
    assert opened.states == ["t1-s60"]
    assert time.monotonic() - began < 3
    assert opened.complaints == []
    assert opened.page.title() != "broken"
    assert opened.page.locator("section b, section i, .diagram i").count() == 0
    assert "<b>bold</b></script>" in opened.page.locator("section:visible").inner_text()


@attrs.frozen
class Counter:
    count: int = 1


@action("the counter counts")
def count(state: Counter) -> Iterator[Counter]:
    if state.count < 500:
        yield Counter(state.count + 1)


@invariant("the counter stays below 500")
def below_500(state: Counter) -> bool:
    return state.count < 500


@needs_chromium
def test_a_trace_of_500_states_opens_in_less_than_a_second_of_processor_time(browser: Browser, tmp_path: Path) -> None:
    spec = Spec(name="counter", initial_states=lambda _: [Counter()], actions=[count], properties=[below_500])
    story = story_of(explore(spec).properties[0].traces[0])
    (tmp_path / "counter.html").write_text(page("counter", [chapter(1, story)]), encoding="utf-8")
    with browser.new_context(viewport={"width": 1280, "height": 800}) as context:
        opened = context.new_page()
        metrics = context.new_cdp_session(opened)
        metrics.send("Performance.enable", {"timeDomain": "threadTicks"})
        opened.goto((tmp_path / "counter.html").as_uri())
        opened.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
        taken = {each["name"]: each["value"] for each in metrics.send("Performance.getMetrics")["metrics"]}
        assert 0 < taken["TaskDuration"] < 1
        shown = opened.locator("section:visible")
        assert shown.get_attribute("id") == "t1-s500"
        assert "below_500 is violated" in shown.inner_text()
        box = shown.bounding_box()
        assert box is not None
        assert box["y"] < 800  # on the first screen


@needs_chromium
def test_whatever_scrolls_is_reached_with_the_keyboard(browser: Browser, file: Path) -> None:
    opened = Opened(browser, file, "#t1-s5", viewport={"width": 400, "height": 800})
    opened.page.evaluate("document.querySelectorAll('details').forEach(it => { it.open = true; })")
    opened.page.add_style_tag(content=".wide { max-width: 15rem }")
    scrolling = opened.page.evaluate(
        """() => [...document.querySelectorAll("main *")]
          .filter(it => it.checkVisibility() && /auto|scroll/.test(getComputedStyle(it).overflowX))
          .filter(it => it.scrollWidth > it.clientWidth + 1)
          .map(it => [it.className, it.tabIndex === 0 || it.querySelector("a[href], button") !== null])"""
    )
    assert len(scrolling) > 1
    assert all(reached for _, reached in scrolling), scrolling
    wide = opened.page.locator("section:visible .wide[tabindex]").last
    wide.focus()
    opened.page.keyboard.press("ArrowRight")
    assert opened.states == ["t1-s5"]  # it scrolls
    opened.page.wait_for_function("it => it.scrollLeft > 0", arg=wide.element_handle())


@needs_chromium
def test_the_page_begins_with_what_happened_and_each_line_leads_to_its_step(browser: Browser, file: Path) -> None:
    opened = Opened(browser, file, viewport={"width": 1280, "height": 800})
    lines = opened.page.locator(".happened li")
    assert [line.split(" ")[1] for line in lines.all_inner_texts()] == ["5", "6", "8", "11", "12"]
    assert lines.locator(".chip").all_inner_texts() == ["committed", "HW lost", "lost", "elected", "violated"]
    assert "truncates to its own high watermark, 0" in lines.nth(2).inner_text()
    for number, state in enumerate((5, 6, 8, 11, 12)):
        lines.nth(number).locator("a").click()
        opened.wait_for(f"t1-s{state}")
    assert "HW" in opened.page.locator(".about .legend").inner_text()
    opened.page.keyboard.press("Home")
    labels = opened.page.locator(".label.later").evaluate_all("all => all.map(it => getComputedStyle(it).opacity)")
    assert labels
    assert set(labels) == {"1"}  # what comes later can be read
    assert opened.page.locator(".number.pivot").all_text_contents() == ["5", "6", "8", "11", "12"]
    assert opened.page.title() == "committed_never_lost is violated, 12 states - rpc/hw-truncation"


@needs_chromium
def test_verdict_cause_diagram_and_state_are_on_the_first_screen(browser: Browser, file: Path) -> None:
    opened = Opened(browser, file, viewport={"width": 1280, "height": 800})
    for what in (".verdict", ".happened li:last-child", ".band.now", "section:visible h2", ".broken"):
        box = opened.page.locator(what).first.bounding_box()
        assert box is not None
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 750, what


@needs_chromium
def test_a_printed_page_holds_every_state_and_the_violation(browser: Browser, file: Path) -> None:
    opened = Opened(browser, file)
    opened.page.emulate_media(media="print")
    assert len(opened.states) == len(loss())
    assert opened.page.locator(".broken").is_visible()
    assert opened.page.locator(".steps li:visible").count() == len(loss())
    diagram = opened.page.locator(".diagram")
    assert diagram.evaluate("it => it.scrollHeight <= it.clientHeight + 1")


@needs_chromium
def test_the_pdf_of_a_page_holds_every_step_and_the_violation(browser: Browser, file: Path) -> None:
    pages = PdfReader(io.BytesIO(Opened(browser, file).page.pdf())).pages
    read = unicodedata.normalize("NFKC", " ".join(page.extract_text() for page in pages))  # without ligatures
    text = "".join(read.split())  # lines are broken anywhere
    for number, frame in enumerate(story_of(loss()).frames, start=1):
        assert "".join(f"{number}/12 {frame.words}".split()) in text
    for said in (*story_of(loss()).ending[:2], *(event.text for event in story_of(loss()).happened)):
        assert "".join(said.split()) in text


@needs_chromium
def test_what_is_downloaded_is_the_trace(browser: Browser, file: Path, tmp_path: Path) -> None:
    opened = Opened(browser, file)
    for name in ("trace.itf.json", "trace.mmd", "diagram.svg", "diagram.png"):
        with opened.page.expect_download() as download:
            opened.page.get_by_role("button", name=name).click()
        download.value.save_as(tmp_path / name)
    run = call("replay", "trace.itf.json", folder=tmp_path)
    assert (run.code, run.out) == (
        0,
        "as recorded: rpc/hw-truncation, 12 states, which violates committed_never_lost\n",
    )
    assert (tmp_path / "trace.mmd").read_text(encoding="utf-8") == mermaid(story_of(loss()))
    picture = ElementTree.parse(tmp_path / "diagram.svg").getroot()
    assert len(list(picture.iter("{http://www.w3.org/2000/svg}circle"))) == opened.page.locator("circle.dot").count()
    pixels = imread(tmp_path / "diagram.png")
    assert pixels.shape[:2] == (2 * int(picture.attrib["height"]), 2 * int(picture.attrib["width"]))
    assert pixels.std() > 0.01  # not an empty picture
    assert opened.complaints == []


def test_what_cannot_be_read_or_written_ends_in_2(tmp_path: Path) -> None:
    assert call("show", ".", "--html", "x.html", folder=tmp_path).complaint == "there is no .itf.json file in ."
    write_trace(loss(), tmp_path / "loss.itf.json")
    complaint = call("show", "loss.itf.json", "--html", "no/x.html", folder=tmp_path).complaint
    assert complaint == "cannot write no/x.html: No such file or directory"


def test_a_stale_trace_is_shown_as_recorded_and_ends_in_1(tmp_path: Path) -> None:
    write_trace(loss(), tmp_path / "loss.itf.json")
    run = call("show", "loss.itf.json", "--html", "x.html", "--spec", "rpc/kip-320", folder=tmp_path)
    assert run.code == 1
    assert "the trace is stale, so it is shown as recorded: " in (tmp_path / "x.html").read_text(encoding="utf-8")
