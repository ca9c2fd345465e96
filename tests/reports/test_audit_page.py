"""The page of an audit, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from leadline.invariants.audit.cluster import audit
from leadline.reports.kafka.audit import counterexamples
from leadline.reports.kafka.audit.counterexamples import with_counterexamples
from leadline.reports.kafka.audit.document import audit_page
from tests.browser.chromium import chromium, needs_chromium
from tests.browser.opened_page import Opened
from tests.disks.clusters import short_archive, small_cluster, standard_batches
from tests.disks.data_directories import Log, batch


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium."""
    yield from chromium()


@pytest.fixture(scope="module")
def opened(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """The page of a cluster in which two partitions are damaged and one was compacted."""
    folder = tmp_path_factory.mktemp("page")
    cluster = small_cluster(folder / "disks")
    log = cluster.log(3)
    log.segments, log.high_watermark, log.recovery_point = [(0, standard_batches()[:3])], 6, 6
    for disk in cluster.disks.values():
        other = [batch(0, 4, 0), batch(4, 2, 1, values=[f"<b>{disk.node}</b>".encode()] * 2)]
        disk.logs["other", 7] = Log([(0, other)], None, 6, 6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counterexamples, "SHIPPED", short_archive(folder))
        result, examples = with_counterexamples(audit(cluster.write(), workers=1))
    assert len(result.errors) > 4
    (folder / "page.html").write_text(audit_page("an <audit>", result, examples), encoding="utf-8")
    return Opened(browser, folder / "page.html")


@needs_chromium
def test_logs_are_drawn_with_what_differs_and_what_is_missing(opened: Opened) -> None:
    page = opened.page
    assert page.locator("h1").inner_text() == "an <audit>"
    assert page.locator("p.verdict").first.inner_text().startswith("violated: ")
    first, second = page.locator("details.run[id^=partition]").all()
    assert (first.locator("summary").inner_text(), second.locator("summary").inner_text()) == (
        "other-7: log_matching, logs_prefix_consistent",
        "topic-0: strong_isr, weak_isr",
    )
    assert first.locator("g.differs").count() == 3
    assert first.locator("text.small").all_text_contents()[:2] == ["0-3", "4-5"]
    assert second.locator("g.lacks").count() == 1
    assert second.locator("g.mark.first text").all_text_contents() == ["HW 10", "HW 10", "HW 6"]
    spoken = second.locator("svg").get_attribute("aria-label") or ""
    assert "broker 3: offsets 0-4 of epoch 0 same, offset 5 of epoch 1 same, offsets 6-9 missing, HW 6, LEO 6" in spoken
    assert opened.complaints == []


@needs_chromium
def test_a_link_leads_to_the_trace_that_is_like_it(opened: Opened) -> None:
    page = opened.page
    link = page.get_by_role("link", name="the trace").first
    link.click()
    assert page.locator("article:visible section:visible h2").inner_text().startswith("12/12")
    assert opened.complaints == []


@needs_chromium
def test_the_page_asks_for_nothing_and_is_not_wider_than_a_phone(opened: Opened) -> None:
    page = opened.page
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert {request.partition("#")[0].rpartition("/")[2] for request in opened.requests} == {"page.html"}
    page.set_viewport_size({"width": 1280, "height": 800})


def test_thousands_of_partitions_are_folded(tmp_path: Path) -> None:
    cluster = small_cluster(tmp_path, [1], with_metadata=False)
    for number in range(400):
        cluster.disks[1].logs["wrong", number] = Log([(0, [batch(0, 2).broken(), batch(2)])], None, 3, 3)
    result = audit(cluster.write(), workers=1)
    text = audit_page("many", result, [])
    assert text.count("<svg") == 300
    assert text.count('details class="run" id="partition-') == 300
    assert text.count(" open>") == 3
    assert "and 100 more partitions: --json has all" in text
    assert len(text) < 2_000_000
