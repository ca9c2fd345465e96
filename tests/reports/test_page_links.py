"""Links and keys of a page scroll their target into view, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from leadline.checker import Limits, Result
from leadline.checker.engines import ENGINES
from leadline.invariants.catalog import CATALOG
from leadline.reports.document import Cell, Document, Span, table
from leadline.reports.document.html import document_html
from leadline.reports.html.run import names, run_page, with_traces
from leadline.reports.runs.run_view import view_of_result
from tests.browser.chromium import chromium, needs_chromium
from tests.browser.opened_page import Opened
from tests.suite.samples import sampled

IN_VIEW = """
() => {
  const heading = document.querySelector("section:not([hidden]) h2").getBoundingClientRect();
  const room = innerHeight - document.querySelector(".stepper").offsetHeight;
  return -1 < heading.top && heading.bottom <= room;  // scrolling ends at whole pixels
}"""
"""Whether the heading of the state that is shown is in the window, and not behind the buttons at its foot."""

SIZES = [{"width": 1280, "height": 800}, {"width": 400, "height": 800}]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium."""
    yield from chromium()


def searched(name: str, properties: list[str], **bounds: int) -> Result:
    """A search of a shipped spec, with two traces of each violation."""
    spec = CATALOG[name].with_bounds(bounds).with_properties(properties)
    return ENGINES["oracle"](spec, Limits(traces=2))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of three checks: one holds, one is violated as expected, and the last one is violated unexpectedly."""
    witnesses = ["record_committed", "leader_changes"]
    holds = searched("atomic/kip-320", ["strong_isr", *witnesses], log_size=1, records=1)
    loses = searched("atomic/hw-truncation", ["strong_isr", "record_committed"])
    every = [
        with_traces(holds, view_of_result(holds), "holds"),
        with_traces(loses, view_of_result(loses), "loses, as expected"),
        with_traces(loses, view_of_result(loses), "a surprise", "expected holds, but strong_isr is violated"),
    ]
    file = tmp_path_factory.mktemp("links") / "index.html"
    titles = [Cell((Span(each.title, "", name),)) for each, name in zip(every, names(every), strict=True)]
    rows = [(title, each.failure or "ok") for title, each in zip(titles, every, strict=True)]
    above = document_html(Document("checks", (table("checks", ("check", "result"), rows),)))
    file.write_text(run_page("checks", every, above=above), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def one_trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of one run with one trace."""
    file = tmp_path_factory.mktemp("trace") / "index.html"
    result = ENGINES["oracle"](CATALOG["atomic/hw-truncation"].with_properties(["strong_isr"]))
    file.write_text(run_page("one", [with_traces(result, view_of_result(result), "one")]), encoding="utf-8")
    return file


def unfold(page: Page) -> None:
    """Open all that is folded."""
    page.locator("details").evaluate_all("all => all.forEach(it => { it.open = true; })")


@needs_chromium
@pytest.mark.parametrize("size", sampled(SIZES, 2), ids=lambda size: str(size["width"]))
def test_every_link_to_a_trace_or_a_step_brings_it_into_view(
    browser: Browser, file: Path, size: dict[str, int]
) -> None:
    opened = Opened(browser, file, viewport=size)
    page = opened.page
    unfold(page)
    outside = page.locator("a[href^='#t']:not(article a)")
    targets = outside.evaluate_all("all => all.map(it => it.hash.slice(1))")
    assert len(targets) == 16  # two to each trace, from the list of all and from its run
    for number, target in enumerate(targets):
        outside.nth(number).click()
        opened.wait_for(target)
        assert page.evaluate(IN_VIEW), target
    for name in ("t1", "t6"):
        page.goto(f"{file.as_uri()}#{name}")
        page.locator(f"#{name}").wait_for()
        within = page.locator(f"#{name} a[href^='#t']:visible")
        for number in range(within.count()):
            link = within.nth(number)
            target = str(link.get_attribute("href")).removeprefix("#")
            link.click()
            opened.wait_for(target)
            assert page.evaluate(IN_VIEW), target


@needs_chromium
@pytest.mark.parametrize("size", SIZES, ids=["desktop", "phone"])
def test_keys_and_buttons_bring_the_state_into_view_once(browser: Browser, file: Path, size: dict[str, int]) -> None:
    opened = Opened(browser, file, viewport=size)
    page = opened.page
    unfold(page)
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    assert not page.evaluate(IN_VIEW)
    page.keyboard.press("Home")
    assert opened.states == ["t1-s1"]
    assert page.evaluate(IN_VIEW)
    place = page.evaluate("scrollY")
    assert place > 0
    for key in ("ArrowRight", "End", "ArrowLeft", "Home"):
        page.keyboard.press(key)
        assert page.evaluate("scrollY") == place
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.get_by_role("button", name="step forward").click()
    assert opened.states == ["t1-s2"]
    assert page.evaluate("scrollY") == place


@needs_chromium
def test_a_state_that_is_in_view_is_stepped_without_scrolling(browser: Browser, one_trace: Path) -> None:
    opened = Opened(browser, one_trace, viewport={"width": 1280, "height": 900})
    assert opened.page.evaluate(IN_VIEW)
    for key in ("ArrowRight", "End", "ArrowLeft"):
        opened.page.keyboard.press(key)
        assert opened.page.evaluate("scrollY") == 0
    opened.page.locator(".steps a").nth(3).click()
    opened.wait_for("t1-s4")
    assert opened.page.evaluate("scrollY") == 0


@needs_chromium
def test_a_link_from_elsewhere_opens_at_its_state(browser: Browser, file: Path) -> None:
    for name, state in (("t3-s10", "t3-s10"), ("t3", "t3-s10")):
        opened = Opened(browser, file, f"#{name}", viewport=SIZES[0])
        assert opened.states == [state]
        assert opened.page.evaluate(IN_VIEW)


@needs_chromium
def test_a_page_of_checks_opens_on_what_was_not_expected(browser: Browser, file: Path) -> None:
    opened = Opened(browser, file, viewport=SIZES[0])
    page = opened.page
    assert opened.states == ["t1-s10"]
    about = page.locator("article:visible .about").inner_text()
    assert "check 3: a surprise: expected holds, but strong_isr is violated" in about
    assert page.evaluate(IN_VIEW)
    listed = page.locator("nav a")
    assert listed.count() == 8
    assert page.locator("nav a:visible").count() == 4
    assert ["is violated" in text for text in listed.all_text_contents()] == [True] * 4 + [False] * 4
    notes = [note.partition(":")[0] for note in page.locator("article .note").all_text_contents()]
    assert notes == [f"check {number}" for number in (3, 3, 2, 2, 3, 1, 1, 2)]
    page.goto(f"{file.as_uri()}#t6-s1")
    opened.wait_for("t6-s1")
    assert page.locator("nav a[aria-current]").is_visible()  # a witness unfolds the list that it is in


@needs_chromium
@pytest.mark.parametrize(("check", "state"), [("holds", "t6-s5"), ("loses, as expected", "t3-s9")])
def test_from_a_run_the_keys_step_through_its_own_trace(browser: Browser, file: Path, check: str, state: str) -> None:
    opened = Opened(browser, file, viewport=SIZES[0])
    page = opened.page
    unfold(page)
    page.locator("[aria-label=checks]").get_by_role("link", name=check, exact=True).click()
    details = page.locator("details.run").filter(has=page.locator("summary", has_text=f"{check}:"))
    details.locator("table").first.wait_for()
    assert details.evaluate("it => Math.abs(it.getBoundingClientRect().top) < 2")
    page.keyboard.press("ArrowLeft")
    assert opened.states == [state]
    assert page.evaluate(IN_VIEW)


@needs_chromium
def test_nothing_is_wider_than_a_phone(browser: Browser, file: Path) -> None:
    page = Opened(browser, file, viewport=SIZES[1]).page
    unfold(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


@needs_chromium
def test_a_run_that_holds_is_shown_before_its_witnesses(browser: Browser, tmp_path: Path) -> None:
    result = searched("atomic/kip-320", ["strong_isr", "record_committed"], log_size=1, records=1)
    (tmp_path / "run.html").write_text(
        run_page("a run", [with_traces(result, view_of_result(result), "a run")]), encoding="utf-8"
    )
    opened = Opened(browser, tmp_path / "run.html", viewport=SIZES[0])
    places = [opened.page.locator(what).first.bounding_box() for what in ("details.run", "article")]
    assert places[0] is not None
    assert places[1] is not None
    assert places[0]["y"] < places[1]["y"]
