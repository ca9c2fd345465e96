"""The playground in a real browser: a spec is edited and searched, its trace is walked, a search is stopped."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, Page, expect

from leadline.reports.playground.build import FOLDER, build
from tests.browser.chromium import chromium, needs_chromium

PYODIDE = FOLDER / "node_modules" / "pyodide"

pytestmark = [
    needs_chromium,
    pytest.mark.browser,
    pytest.mark.skipif(not PYODIDE.is_dir(), reason="Pyodide is not installed: make test does, with npm"),
]

browser = pytest.fixture(scope="module")(chromium)


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that prints nothing."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a playground that has just been built."""
    folder = tmp_path_factory.mktemp("playground")
    build(PYODIDE, folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(scope="module")
def opened(browser: Browser, address: str) -> Iterator[tuple[Page, list[str], list[str]]]:
    """The page, once it is ready, with all that it complains of and asks for."""
    page = browser.new_page()
    complaints, requests = list[str](), list[str]()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(address)
    yield page, complaints, requests
    page.close()


def says(page: Page, text: str) -> None:
    """Wait until the page says a text."""
    page.wait_for_function(
        "text => document.getElementById('said').textContent.includes(text)", arg=text, timeout=120_000
    )


def test_the_counter_of_the_readme_is_searched_and_its_trace_walked(
    opened: tuple[Page, list[str], list[str]], address: str
) -> None:
    page, complaints, requests = opened
    says(page, "ready")
    page.click("#search")
    says(page, "violated: no_lost_update - spec.py:spec")
    frame = page.frame_locator("#result")
    place = frame.locator("footer.stepper output")
    expect(place).to_have_text("5 / 5")
    frame.locator("button[data-go=back]").dispatch_event("click")  # a frame that is new may miss a click of the mouse
    expect(place).to_have_text("4 / 5")
    frame.locator("ol.steps a[data-step='2']").click()
    expect(place).to_have_text("2 / 5")
    expect(frame.locator("section:visible details.source")).to_have_count(1)  # the lines that ran are known here, too
    assert complaints == [], "the content policy of the playground allows the script of the page"
    assert all(url.startswith((address, "about:")) for url in requests), "nothing is loaded from elsewhere"


def test_what_was_edited_is_searched_and_a_mistake_is_told(opened: tuple[Page, list[str], list[str]]) -> None:
    page, _, _ = opened
    source = page.input_value("#source")
    page.fill("#source", source.replace("state.counter == sum", "state.counter <= sum"))
    page.click("#search")
    says(page, "holds - spec.py:spec")
    page.fill("#source", "def (")
    page.click("#search")
    says(page, "cannot load spec.py, line 1: SyntaxError")
    page.fill("#source", source)


def test_a_shipped_spec_is_searched_with_bounds(opened: tuple[Page, list[str], list[str]]) -> None:
    page, _, _ = opened
    page.select_option("#spec", "atomic/kip-101")
    page.fill("#bounds", "max_epoch=2")
    page.click("#search")
    says(page, "violated: epochs_monotonic_in_log")


def test_a_search_is_stopped_and_another_begun(opened: tuple[Page, list[str], list[str]]) -> None:
    page, _, _ = opened
    page.select_option("#spec", "")
    page.fill("#bounds", "")
    endless = "\nimport itertools\n\nfor _ in itertools.count():\n    pass\n"
    source = page.input_value("#source")
    page.fill("#source", source + endless)
    page.click("#search")
    says(page, "searching")
    page.click("#stop")
    says(page, "ready")
    page.fill("#source", source)
    page.click("#search")
    says(page, "violated: no_lost_update")


def test_nothing_of_a_spec_leaves_the_page(opened: tuple[Page, list[str], list[str]]) -> None:
    page, complaints, _ = opened
    page.evaluate("fetch('https://example.org/').catch(() => 0)")
    page.wait_for_timeout(100)
    assert any("Content Security Policy" in text for text in complaints)
