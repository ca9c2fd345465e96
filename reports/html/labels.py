"""Place the labels of arrows so that no two labels overlap.

Several positions along an arrow are tried for its label, beginning with the middle. The label is placed at the first
position where it overlaps no label that is already placed, and where its own arrow is the nearest one. The widths of
texts are estimated. The page sets these widths with `textLength`, so that every browser uses them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import attrs

FONT = 10.5
"""The size of the labels' font, in pixels."""

HEIGHT = 12
"""The height of a label, in pixels."""

NARROW = frozenset("ijltfrI.,:;|'()[] ")
"""The characters that have about half the usual width."""

WIDE = frozenset("mwMW@")
"""The characters that have nearly twice the usual width."""

NEAR = 3
"""The number of pixels by which a label must be nearer to its own arrow than to any other arrow."""

PLACES = tuple(sorted((step / 40 for step in range(3, 38)), key=lambda share: abs(share - 0.5)))
"""The positions along an arrow that are tried for its label, as fractions of the length of the arrow."""

ABOVE = 5
"""The distance between a level arrow and the middle of its label, in pixels."""


DOT = 5
"""The radius of a dot, in pixels."""

REACH = 30
"""The distance above and below an arrow within which its label can overlap others, in pixels."""


@attrs.frozen
class Segment:
    """An arrow, from its tail to its head."""

    x1: float
    y1: float
    x2: float
    y2: float

    def at(self, share: float) -> tuple[float, float]:
        """Return the point at the given fraction of the arrow's length."""
        return self.x1 + (self.x2 - self.x1) * share, self.y1 + (self.y2 - self.y1) * share

    def is_near(self, other: Segment) -> bool:
        """Return whether the vertical ranges of two arrows overlap, or almost do. An arrow never points up."""
        return self.y1 < other.y2 + REACH and other.y1 < self.y2 + REACH

    def distance(self, x: float, y: float) -> float:
        """Return the distance between a point and the arrow."""
        dx, dy = self.x2 - self.x1, self.y2 - self.y1
        length = dx * dx + dy * dy
        share = max(0.0, min(1.0, ((x - self.x1) * dx + (y - self.y1) * dy) / length)) if length else 0.0
        near = self.at(share)
        return math.hypot(x - near[0], y - near[1])


@attrs.frozen
class Label:
    """The label of an arrow.

    Attributes:
        x: the horizontal position of the label's centre.
        y: the vertical position of the label's centre.
        width: the estimated width of the text.
        text: the text of the label. It is shortened if there is not enough room.
    """

    x: float
    y: float
    width: float
    text: str

    def overlaps(self, other: Label) -> bool:
        """Return whether two labels overlap."""
        near_in_x = abs(self.x - other.x) < (self.width + other.width) / 2 + 2
        return near_in_x and abs(self.y - other.y) < HEIGHT

    def covers(self, x: float, y: float) -> bool:
        """Return whether the label covers part of the dot that has the given centre."""
        return abs(self.x - x) < self.width / 2 + DOT and abs(self.y - y) < HEIGHT / 2 + DOT


def text_width(text: str) -> float:
    """Return the estimated width of a label's text, in pixels."""
    return FONT * sum(0.35 if each in NARROW else 0.97 if each in WIDE else 0.6 for each in text)


def placed(
    arrows: Sequence[tuple[Segment, str]], dots: Sequence[tuple[float, float]], left: float, right: float
) -> list[Label | None]:
    """Place the label of each arrow.

    Parameters:
        arrows: the arrows, each with the text of its label.
        dots: the positions of the dots on the lanes, which labels avoid if possible.
        left: the minimum horizontal position of a label.
        right: the maximum horizontal position of a label.

    Returns:
        The label of each arrow, or None if there is not even room for a shortened label.
    """
    labels: list[Label | None] = [None] * len(arrows)
    # short arrows have the fewest positions, so they are placed first
    order = sorted(range(len(arrows)), key=lambda number: _length(arrows[number][0]))
    for number in order:
        own, text = arrows[number]
        others = [segment for other, (segment, _) in enumerate(arrows) if other != number and segment.is_near(own)]
        there = [label for label in labels if label is not None and own.y1 - REACH < label.y < own.y2 + REACH]
        near = [(x, y) for x, y in dots if own.y1 - REACH < y < own.y2 + REACH]
        possible = [
            label
            for shortened in _shortened(text)
            for label in _candidates(own, shortened, left, right)
            if not any(map(label.overlaps, there)) and _is_nearest(label, own, others)
        ]
        clear = (label for label in possible if not any(label.covers(*dot) for dot in near))
        labels[number] = next(clear, possible[0] if possible else None)
    return labels


def _length(segment: Segment) -> float:
    return math.hypot(segment.x2 - segment.x1, segment.y2 - segment.y1)


def _shortened(text: str) -> Iterator[str]:
    """Yield a text, and then shorter and shorter versions of it."""
    yield text
    for separator in (", ", " "):
        head = text.partition(separator)[0]
        if head != text:
            yield f"{head}…"


def _candidates(segment: Segment, text: str, left: float, right: float) -> Iterator[Label]:
    width = text_width(text)
    if width > right - left:
        return
    level = segment.y1 == segment.y2
    for share in PLACES:
        x, y = segment.at(share)
        x = min(max(x, left + width / 2), right - width / 2)
        yield Label(x, y - ABOVE if level else y, width, text)
        if level:
            yield Label(x, y + ABOVE + 1, width, text)


def _is_nearest(label: Label, own: Segment, others: Sequence[Segment]) -> bool:
    room = own.distance(label.x, label.y) + NEAR
    return all(other.distance(label.x, label.y) > room for other in others)
