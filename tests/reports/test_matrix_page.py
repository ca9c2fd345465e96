"""The HTML page of a verdict matrix."""

from __future__ import annotations

import io
from pathlib import Path

import attrs
import pytest
from rich.console import Console

from leadline.checker.errors import LeadlineError
from leadline.reports.document import Cell, Document, Fold, Heading, Items, Paragraph, Span, Table, table, words
from leadline.reports.document.html import document_page
from leadline.reports.document.terminal import document_view
from leadline.reports.matrix_document import document_of
from leadline.reports.matrix_overview import overview, with_overview
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


def test_a_release_is_shown_by_the_column_for_which_it_stands() -> None:
    rows = [("group/3.2", "holds"), ("group/3.4.1", "violated")]
    document = Document("Groups", (table("verdicts", ("release", "safe"), rows),))
    alias, own = document_of(document, "group/3.9.2"), document_of(document, "group/3.4.1")
    assert alias.blocks[1:] == own.blocks
    said = "group/3.9.2 stands for group/3.4.1: no rule of the model differs in Kafka 3.4.1 to 3.9.2."
    assert alias.blocks[0] == Paragraph(words(said))
    with pytest.raises(LeadlineError, match=r"the matrix has no spec 'group/2\.8'"):
        document_of(document, "group/2.8")


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


LONG = "with the bounds of no ticket: outdated log end (22)"


def _cell(looks: str, text: str = "") -> Cell:
    return Cell((Span(text or looks, "", "steps"),), looks)


def _tables() -> Document:
    """Two tables of three releases, of which the second does not have the first release."""
    head = ("release", "records are lost", "records are lost although fewer brokers stopped than the topic allows")
    rows = {
        "kafka/2.8": [("violated", "holds")],
        "kafka/3.0": [("by-design", "holds"), ("incomplete", "by-design")],
        "kafka/4.0": [("holds", "violated"), ("holds", "violated")],
    }
    tables = [
        Table(
            name,
            head,
            tuple((Cell((Span(spec, "code"),)), *map(_cell, own[place])) for spec, own in rows.items() if own[place:]),
        )
        for place, name in enumerate(("crashes", "losses"))
    ]
    summaries = Items(((Span("crashes", "strong", "table-1"),),))
    blocks = (Paragraph(words("Made.")), Paragraph(words("holds")), Paragraph(words("not decided")), summaries)
    return Document("Losses", (*blocks, Heading("crashes", "table-1"), tables[0], Heading("losses"), tables[1]))


def test_an_overview_counts_the_configurations_and_calls_nothing_kept_that_is_not_decided() -> None:
    *_, table = overview(_tables())
    assert isinstance(table, Table)
    assert table.head == ("release", "1", "2", "searched")
    assert [[cell.text[0].text for cell in row] for row in table.rows] == [
        ["kafka/2.8", "1", "-", "1"],
        ["kafka/3.0", "?", "d", "2"],
        ["kafka/4.0", "-", "2", "2"],
    ]
    written = io.StringIO()
    Console(width=80, file=written).print(document_view(Document("Losses", overview(_tables()))))
    assert "kafka/3.0  ?  d " in written.getvalue()  # side by side


def test_a_page_begins_with_the_overview_and_folds_the_details_of_its_legend() -> None:
    document, shown = _tables(), with_overview(_tables(), overview(_tables()))
    assert shown.blocks[1:4] == overview(document)
    (fold,) = (block for block in shown.blocks if isinstance(block, Fold))
    assert fold.blocks == (document.blocks[2],)
    assert {*document.blocks} - {*shown.blocks} == {document.blocks[2]}  # nothing is left out
    counts = Table("states", ("release", "distinct states"), ((_cell("", "kafka/4.0"), _cell("holds", "12")),))
    assert overview(Document("States", (counts,))) == ()


@needs_chromium
def test_no_verdict_is_outside_the_screen_of_a_phone(tmp_path: Path) -> None:
    document = _tables()
    (table, _) = (block for block in document.blocks if isinstance(block, Table))
    long = attrs.evolve(table, rows=((_cell("code", "kafka/2.8"), *[_cell("violated", LONG)] * 2),))
    file = tmp_path / "page.html"
    file.write_text(document_page(attrs.evolve(document, blocks=(*document.blocks[:5], long))))
    for browser in chromium():
        opened = Opened(browser, file, viewport={"width": 390, "height": 844})
        rights = opened.page.evaluate(
            """[...document.querySelectorAll("table.long td, table.long td a")].map(cell => {
              const box = cell.getBoundingClientRect();
              return Math.max(box.right, box.left + cell.scrollWidth);
            })"""
        )
        assert len(rights) == 4
        assert max(rights) <= 390
