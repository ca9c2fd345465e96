"""The HTML page of a verdict matrix."""

from __future__ import annotations

from pathlib import Path

from tests.browser.chromium import chromium, needs_chromium
from tests.browser.opened_page import Opened
from tests.suite.command import call

MATRIX = """\
title = "Two designs"
specs = ["atomic/hw-truncation", "atomic/kip-320"]
properties = ["strong_isr"]
[[configurations]]
name = "as they are"
[[configurations]]
name = "two records"
note = "The log has room for both."
bounds = { records = 2 }
"""


def _written(folder: Path) -> Path:
    (folder / "matrix.toml").write_text(MATRIX)
    run = call("matrix", "matrix.toml", "--html", "matrix.html", folder=folder)
    assert (run.code, run.err) == (0, "")
    return folder / "matrix.html"


def test_each_violated_cell_links_to_its_decisive_steps_and_to_the_command_that_shows_all(tmp_path: Path) -> None:
    page = _written(tmp_path).read_text()
    assert "strong_isr is violated in hw-truncation; nothing was found in kip-320" in page
    assert page.count('class="decisive"') == 1  # the default of records is 2, so both searches are the same
    assert "atomic/hw-truncation violates strong_isr" in page
    assert "leadline explore atomic/hw-truncation -i strong_isr --html trace.html" in page
    assert "The log has room for both." in page


def test_one_spec_is_shown_alone(tmp_path: Path) -> None:
    _written(tmp_path)
    both = call("matrix", "matrix.toml", folder=tmp_path).out
    one = call("matrix", "matrix.toml", "--spec", "atomic/kip-320", folder=tmp_path).out
    assert ("hw-truncation" in both, "hw-truncation" in one) == (True, False)
    assert (both.count("holds ("), one.count("holds ("), one.count("violated (")) == (2, 2, 0)
    run = call("matrix", "matrix.toml", "--spec", "atomic/kip-32", folder=tmp_path)
    assert run.complaint == "the matrix has no spec 'atomic/kip-32': did you mean 'atomic/kip-320'?"


@needs_chromium
def test_a_cell_opens_its_decisive_steps_and_closes_them(tmp_path: Path) -> None:
    file = _written(tmp_path)
    for browser in chromium():
        opened = Opened(browser, file)
        steps = opened.page.locator(".decisive")
        assert not steps.is_visible()
        opened.page.locator("td.violated a").first.click()
        assert steps.is_visible()
        steps.get_by_text("close").click()
        assert not steps.is_visible()
        assert opened.complaints == []
