"""Labels of arrows: each at its own arrow, none on another, measured in a real browser."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from leadline.checker import Trace
from leadline.checker.action import ActionInstance
from leadline.checker.spec import Spec
from leadline.invariants.catalog import CATALOG
from leadline.reports.html import chapter, page
from leadline.reports.html.diagram import diagram_of
from leadline.reports.html.labels import Segment, placed
from leadline.reports.traces.story import story_of
from tests.browser.chromium import chromium, needs_chromium
from tests.browser.opened_page import Opened

MEASURED = """
() => {
  const svg = document.querySelector(".happenings svg");
  const arrows = [...svg.querySelectorAll(".arrow line")].map(
    line => ["x1", "y1", "x2", "y2"].map(name => Number(line.getAttribute(name))));
  return [...svg.querySelectorAll(".label")].map(text => {
    const box = text.getBBox(), x = box.x + box.width / 2, y = box.y + box.height / 2;
    const distances = arrows.map(([x1, y1, x2, y2]) => {
      const [dx, dy] = [x2 - x1, y2 - y1];
      const share = Math.max(0, Math.min(1, ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy)));
      return Math.hypot(x - x1 - share * dx, y - y1 - share * dy);
    });
    return {
      text: text.textContent, own: Number(text.dataset.arrow), distances,
      left: box.x, right: box.x + box.width, top: box.y + 1, bottom: box.y + box.height - 1,
    };
  });
}"""
"""The labels of the diagram: their boxes, and how far their middles are from each arrow."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium."""
    yield from chromium()


def random_trace(spec: Spec[Any], steps: int, seed: int) -> Trace[Any]:
    """A behaviour whose steps are chosen at random."""
    generator = random.Random(seed)
    states, instances = [spec.initials()[0]], list[ActionInstance[Any]]()
    while len(instances) < steps and (possible := list(spec.successors(states[-1]))):
        instance, state = generator.choice(possible)
        instances.append(instance)
        states.append(state)
    return Trace(spec, states, instances)


NUMBERS_END = 24
"""Where the numbers of the steps end, in pixels from the left."""

THREE_BROKERS = CATALOG["rpc/kip-320"].with_bounds({"brokers": 3, "records": 4, "max_epoch": 3, "crashes": 3})


@needs_chromium
@pytest.mark.parametrize("seed", range(4))
def test_no_labels_overlap_and_each_is_nearest_to_its_own_arrow(browser: Browser, tmp_path: Path, seed: int) -> None:
    story = story_of(random_trace(THREE_BROKERS, 20, seed))
    (tmp_path / "random.html").write_text(page("random", [chapter(1, story)]), encoding="utf-8")
    labels = Opened(browser, tmp_path / "random.html").page.evaluate(MEASURED)
    assert len(labels) > 15
    for number, label in enumerate(labels):
        assert label["left"] >= NUMBERS_END, label
        nearest = min(range(len(label["distances"])), key=label["distances"].__getitem__)
        assert nearest == label["own"], label["text"]
        for other in labels[:number]:
            apart = label["right"] <= other["left"] or other["right"] <= label["left"]
            assert apart or label["bottom"] <= other["top"] or other["bottom"] <= label["top"], (label, other)


def test_nearly_every_arrow_has_a_label() -> None:
    arrows = [
        arrow
        for seed in range(5)
        for arrow in diagram_of(story_of(random_trace(THREE_BROKERS, 20, seed)).diagram).arrows
    ]
    assert sum(arrow.label is None for arrow in arrows) <= len(arrows) / 50


def test_an_arrow_ends_in_the_row_of_the_step_in_which_its_message_arrives_or_is_lost() -> None:
    found = []
    for seed in range(5):
        diagram = diagram_of(story_of(random_trace(THREE_BROKERS, 20, seed)).diagram)
        tops = dict(diagram.steps)
        for arrow in diagram.arrows:
            if arrow.looks != "waiting":
                assert tops[arrow.step] <= arrow.y2 <= tops[arrow.step] + diagram.step_height, arrow
                found.append(arrow.looks)
    assert {"sent", "lost"} == set(found)


def test_a_label_is_shortened_or_left_out_where_there_is_no_room() -> None:
    arrow = Segment(40, 19, 124, 57)
    assert [label and label.text for label in placed([(arrow, "one, two")], [], 30, 200)] == ["one, two"]
    assert placed([(arrow, "one"), (arrow, "two")], [], 30, 200) == [None, None]  # neither arrow is the nearer one
    assert [label and label.text for label in placed([(arrow, "LeaderAndIsr, epoch 1")], [], 30, 110)] == [
        "LeaderAndIsr…"
    ]
